package config

import (
	"maps"
	"net/netip"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// key is one key of the file. Load reads by it, Describe prints it.
type key struct {
	name string
	kind kind
	def  string // TOML: what holds where the file is silent, "" for nothing
	show string // TOML: what Describe prints where that is not def
	off  bool   // Describe prints it commented out
	doc  string // what it means, for Describe
	want string // what to write, behind "write "
	set  func(b *builder, k *key, n node)
}

var topKeys = []key{
	{name: "listen", kind: kindText, def: `"unix:/var/spool/postfix/stile/stile.sock"`,
		doc:  "Where Postfix reaches stile: unix:/path, inet:127.0.0.1:8891, or systemd for\nwhatever socket systemd hands over. One at that path is taken over as well.",
		want: `listen = "unix:/path/of/socket", "inet:127.0.0.1:8891" or "systemd"`,
		set:  setListen},
	{name: "metrics", kind: kindText, def: `"127.0.0.1:9891"`,
		doc:  `Where /metrics, /healthz and /readyz answer; "" is off.`,
		want: `metrics = "127.0.0.1:9891", or "" for none`,
		set: func(b *builder, k *key, n node) {
			if n.text != "" && !hostPort(n.text, 0) {
				b.bad(k, n, "is not host:port")
			}
			b.c.Metrics = n.text
		}},
	{name: "hostname", kind: kindText, show: `"mx.estate.example"`,
		doc:  "The name of this host. Without the key it is what the system says.",
		want: `hostname = "mx.estate.example"`,
		set: func(b *builder, k *key, n node) {
			if !ldh(n.text) {
				b.bad(k, n, "is not a host name")
			}
			b.c.Hostname = n.text
		}},
	{name: "dns", kind: kindList, def: `[]`,
		doc:  "Resolvers, host:port each. Empty: those of the system.",
		want: `dns = ["192.0.2.53:53"]`,
		set: func(b *builder, k *key, n node) {
			for _, e := range b.texts(k, n) {
				if !hostPort(e.text, 1) {
					b.bad(k, e, "is not host:port")
				}
				b.c.DNS = append(b.c.DNS, e.text)
			}
		}},
	{name: "store", kind: kindText, def: `"sqlite:/var/lib/stile/quarantine.db"`,
		doc:  "The quarantine store: what is known of refused mail, never its text.",
		want: `store = "sqlite:/path/of/file"`,
		set:  setStore},
	{name: "seal_key", kind: kindText, def: `"/etc/stile/seal.key"`,
		doc:  "The private key that seals every stamp; stile key generate makes it.",
		want: `seal_key = "/etc/stile/seal.key"`,
		set: func(b *builder, k *key, n node) {
			b.c.SealKey = b.path(k, n, n.text)
		}},
	{name: "recipient_delimiter", kind: kindText, def: `"+"`,
		doc:  "The same as in Postfix. Each character ends the mailbox's name in an address.",
		want: `recipient_delimiter = "+", or "" for none`,
		set: func(b *builder, k *key, n node) {
			for _, r := range n.text {
				if !strings.ContainsRune("!#$%&'*+-./=?^_`{|}~", r) {
					b.bad(k, n, "holds a character that is no punctuation of a local part")
					break
				}
			}
			b.c.RecipientDelimiter = n.text
		}},
	{name: "same_domain", kind: kindTable, def: `{}`, show: `{ "estate.example" = ["mx.estate.example", "localhost", "[192.0.2.1]"] }`,
		doc:  "Domains of the mailboxes, each with the other names and address literals under\nwhich this host takes mail for it.",
		want: `same_domain = { "estate.example" = ["mx.estate.example", "localhost", "[192.0.2.1]"] }`,
		set:  setSameDomain},
	{name: "guarded_domains", kind: kindList, def: `[]`,
		doc:  "In such a domain an address that is no mailbox below is answered 550, never passed.",
		want: `guarded_domains = ["agents.example"]`,
		set:  setGuarded},
	{name: "max_message", kind: kindText, def: `"50MiB"`,
		doc:  "A larger message is refused; not less than message_size_limit of Postfix.",
		want: `max_message = "50MiB"`,
		set: func(b *builder, k *key, n node) {
			b.c.MaxMessage = b.size(k, n)
		}},
	{name: "authserv_id", kind: kindText, def: `""`, show: `"stile.estate.example"`, off: true,
		doc:  "Add Authentication-Results (RFC 8601) under this name to accepted mail, and delete\nfrom all mail what came under it. A name that no other filter of yours uses.",
		want: `authserv_id = "stile.estate.example", or "" for none`,
		set: func(b *builder, k *key, n node) {
			if n.text != "" && !ldh(n.text) {
				b.bad(k, n, "is not a host name")
			}
			b.c.AuthservID = n.text
		}},
	{name: "evidence", kind: kindTable, def: `{}`, set: func(b *builder, _ *key, n node) { b.read(evidenceKeys, n, "evidence.") }},
	{name: "digest", kind: kindTable, def: `{}`, set: func(b *builder, _ *key, n node) { b.read(digestKeys, n, "digest.") }},
	{name: "records", kind: kindTable, def: `{}`, set: func(b *builder, _ *key, n node) { b.read(recordKeys, n, "records.") }},
	{name: "mailbox", kind: kindList, want: "[[mailbox]], in two pairs of brackets, above the keys of each", set: setMailboxes},
}

var evidenceKeys = []key{
	{name: "recipients", kind: kindList, def: `[]`, show: `["age1…"]`, off: true,
		doc:  "Who can open the kept originals: public keys as age-keygen prints them. The\nprivate ones belong on another host. With recipients, leave none out.",
		want: `recipients = ["age1…"], with a public key of age-keygen`,
		set:  setRecipients},
	{name: "dir", kind: kindText, def: `"/var/lib/stile/evidence"`, off: true,
		doc:  "Where the sealed originals are kept; a folder for nothing else, with mode 0700.",
		want: `dir = "/var/lib/stile/evidence"`,
		set:  func(b *builder, k *key, n node) { b.c.Evidence.Dir = b.path(k, n, n.text) }},
	{name: "keep", kind: kindText, def: `"90d"`, off: true,
		doc:  "How long an original is kept.",
		want: `keep = "90d"`,
		set:  func(b *builder, k *key, n node) { b.c.Evidence.Keep = b.duration(k, n) }},
	{name: "max_bytes", kind: kindText, def: `"2GiB"`, off: true,
		doc:  "How much all of them may take. A quarter is kept for accepted mail, a quarter\nfor refused mail that claims a listed sender. What does not fit is not taken.",
		want: `max_bytes = "2GiB"`,
		set:  func(b *builder, k *key, n node) { b.c.Evidence.MaxBytes = b.size(k, n) }},
	{name: "none", kind: kindFlag, def: `false`, show: `true`,
		doc:  "true: no original is kept, and every record says so. It must be written out\nwhile refused mail is diverted and recipients is empty.",
		want: `none = true`,
		set:  func(b *builder, k *key, n node) { b.c.Evidence.None = n.flag }},
}

var digestKeys = []key{
	{name: "to", kind: kindText, def: `""`, off: true,
		doc:  "An address that is not guarded and gets a daily summary. Not built yet.",
		want: `to = ""`,
		set: func(b *builder, k *key, n node) {
			if n.text != "" {
				b.unbuilt(k, n)
			}
		}},
	{name: "at", kind: kindText, def: `"07:00"`, off: true,
		want: `at = "07:00"`,
		set: func(b *builder, k *key, n node) {
			if !clock(n.text) {
				b.bad(k, n, "is not a time of day")
			}
		}},
}

var recordKeys = []key{
	{name: "keep", kind: kindText, def: `"90d"`,
		doc:  "How long a record of the quarantine store is kept, and how many at most.",
		want: `keep = "90d"`,
		set:  func(b *builder, k *key, n node) { b.c.Records.Keep = b.duration(k, n) }},
	{name: "max", kind: kindNumber, def: `1000000`,
		want: `max = 1000000`,
		set: func(b *builder, k *key, n node) {
			if n.number < 1 || n.number > 1_000_000_000 {
				b.wrong(k, n, "%d is not between 1 and 1000000000", n.number)
			}
			b.c.Records.Max = n.number
		}},
}

func setListen(b *builder, k *key, n node) {
	network, address, _ := strings.Cut(n.text, ":")
	switch {
	case n.text == "systemd":
		b.c.Listen = Endpoint{Network: "systemd"}
	case network == "unix":
		path := b.path(k, n, address)
		// The kernel's sun_path is 108 octets with the NUL at its end.
		if len(path) > 107 {
			b.bad(k, n, "is a path of over 107 octets, too long for a socket")
		}
		b.c.Listen = Endpoint{Network: "unix", Address: path}
	case network == "inet" && hostPort(address, 0):
		b.c.Listen = Endpoint{Network: "tcp", Address: address}
	default:
		b.bad(k, n, "is no place to listen at")
	}
}

func setStore(b *builder, k *key, n node) {
	scheme, path, _ := strings.Cut(n.text, ":")
	switch scheme {
	case "sqlite":
		b.c.Store = "sqlite:" + b.path(k, n, path)
	case "postgres", "postgresql":
		b.add(n.at, "store: PostgreSQL is not built yet; write %s", k.want)
	default:
		b.bad(k, n, "is no store")
	}
}

func setSameDomain(b *builder, k *key, n node) {
	for _, canonical := range n.order {
		if !dotted(canonical) {
			b.wrong(k, n, "%q is not a domain with a dot", canonical)
		}
		names := n.table[canonical]
		if names.kind != kindList {
			b.wrong(k, names, "%s where a list belongs", names.kind)
			continue
		}
		for _, e := range b.texts(k, names) {
			if !ldh(e.text) && !literal(e.text) {
				b.bad(k, e, "is neither a host name nor an address literal")
			}
			name := foldDomain(e.text)
			if other, ok := b.c.same[name]; ok && other != fold(canonical) {
				b.wrong(k, e, "%q already stands for %q", e.text, other)
			}
			b.c.same[name] = fold(canonical)
		}
	}
	// A chain would make the outcome depend on how often the name is replaced.
	for _, name := range slices.Sorted(maps.Keys(b.c.same)) {
		canonical := b.c.same[name]
		if next, ok := b.c.same[canonical]; ok && next != canonical {
			b.wrong(k, n, "%q stands for %q, which stands for %q", name, canonical, next)
			break
		}
	}
}

func setGuarded(b *builder, k *key, n node) {
	for _, e := range b.texts(k, n) {
		if !dotted(e.text) {
			b.bad(k, e, "is not a domain with a dot")
		}
		domain := foldDomain(e.text)
		if same, ok := b.c.same[domain]; ok {
			domain = same
		}
		if !b.c.guarded[domain] {
			b.c.guarded[domain] = true
			b.c.GuardedDomains = append(b.c.GuardedDomains, domain)
			b.guardedAt = append(b.guardedAt, e.at)
		}
	}
}

// ldh reports whether s is a host name (RFC 1123, 2.1).
func ldh(s string) bool {
	if len(s) > 253 {
		return false
	}
	for l := range strings.SplitSeq(s, ".") {
		if l == "" || len(l) > 63 || l[0] == '-' || l[len(l)-1] == '-' {
			return false
		}
		if strings.Trim(fold(l), "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
			return false
		}
	}
	return true
}

func dotted(s string) bool { return ldh(s) && strings.Contains(s, ".") }

// literal reports whether s is an address literal (RFC 5321, 4.1.3).
func literal(s string) bool {
	inner := strings.TrimSuffix(strings.TrimPrefix(s, "["), "]")
	if len(inner) != len(s)-2 {
		return false
	}
	six := strings.TrimPrefix(fold(inner), "ipv6:")
	ip, err := netip.ParseAddr(six)
	return err == nil && ip.Zone() == "" && ip.Is6() == (len(six) < len(inner))
}

// hostPort reports whether s is host:port with a port of at least least.
func hostPort(s string, least uint64) bool {
	at := strings.LastIndexByte(s, ':')
	if at < 0 {
		return false
	}
	port, err := strconv.ParseUint(s[at+1:], 10, 16)
	if err != nil || port < least {
		return false
	}
	host := s[:at]
	if inner, ok := strings.CutPrefix(host, "["); ok {
		ip, err := netip.ParseAddr(strings.TrimSuffix(inner, "]"))
		return err == nil && ip.Is6() && strings.HasSuffix(inner, "]")
	}
	return ldh(host)
}

// clock reports whether s is a time of day, 00:00 to 23:59.
func clock(s string) bool {
	h, m, ok := strings.Cut(s, ":")
	return ok && twoDigits(h, 23) && twoDigits(m, 59)
}

func twoDigits(s string, max uint64) bool {
	n, err := strconv.ParseUint(s, 10, 8)
	return err == nil && len(s) == 2 && n <= max
}

// path reads a path; one that is not absolute starts at the config's folder.
func (b *builder) path(k *key, n node, path string) string {
	if path == "" {
		b.bad(k, n, "names no file")
		return ""
	}
	if strings.ContainsRune(path, 0) {
		b.bad(k, n, "holds a NUL, which no path can")
		return ""
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(b.dir, path)
	}
	return path
}

// names joins the names of keys for a message.
func names(keys []key) string {
	var all []string
	for _, k := range keys {
		all = append(all, k.name)
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}
