package config

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"stile/verdict"
)

// The bounds on what is read.
const (
	maxConfig = 1 << 20  // octets of the config
	maxList   = 16 << 20 // octets of a list of senders
)

// DefaultMaxMessage is max_message where the config is silent, in octets.
const DefaultMaxMessage = 50 << 20

// Load reads the config at path and the lists that it names. A relative path
// in it starts at the config's own folder. The error is *[Error] values joined.
func Load(path string) (*Config, error) {
	doc, failure := readFile(path, maxConfig)
	if failure != "" {
		return nil, &Error{File: path, Text: failure}
	}
	return load(path, doc)
}

// readFile reads a file that is at most limit octets long; what keeps it from
// that is told as a sentence.
func readFile(path string, limit int64) (doc []byte, failure string) {
	f, err := os.Open(path)
	if err != nil {
		return nil, "the file cannot be read: " + cause(err)
	}
	defer f.Close()
	doc, err = io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, "the file cannot be read: " + cause(err)
	}
	if int64(len(doc)) > limit {
		return nil, "the file is longer than a config or a list can be"
	}
	return doc, ""
}

// cause is what the system said, without the path, which the reader has already.
func cause(err error) string {
	var pe *os.PathError
	if errors.As(err, &pe) {
		return pe.Err.Error()
	}
	return err.Error()
}

func load(path string, doc []byte) (*Config, error) {
	root, failure := parse(path, doc)
	if failure != nil {
		return nil, failure
	}
	b := newBuilder(path, doc)
	b.read(topKeys, root, "")
	b.finish(root)
	if len(b.all) > 0 {
		return nil, b.err()
	}
	b.warn()
	return b.c, nil
}

// builder makes a Config of the tree, noting all that is wrong.
type builder struct {
	problems
	dir string
	end position // the file's last line
	c   *Config
	m   *Mailbox // the one being read

	recipients   node // of evidence
	ids          map[string]position
	addresses    []placed // recipients, in the file's order
	guardedAt    []position
	at           map[*Mailbox]position
	render       map[*Mailbox]position // where it says how mail is rendered
	also         map[*Mailbox][]node
	entries      map[*Mailbox][]node // senders
	senderFailed map[*Mailbox]bool   // an entry or the file was bad and is told already
}

// placed is an address of a mailbox and where it stands.
type placed struct {
	node
	key     string
	mailbox *Mailbox
}

func newBuilder(path string, doc []byte) *builder {
	lines := strings.Count(string(doc), "\n")
	if len(doc) > 0 && doc[len(doc)-1] != '\n' {
		lines++
	}
	dir, err := filepath.Abs(filepath.Dir(path))
	if err != nil {
		dir = filepath.Dir(path)
	}
	return &builder{
		dir: dir,
		end: position{file: path, line: max(lines, 1)},
		c: &Config{
			Hostname: systemName(), path: path, doc: doc,
			same: map[string]string{}, guarded: map[string]bool{}, known: map[string]*Mailbox{},
		},
		ids: map[string]position{}, at: map[*Mailbox]position{}, render: map[*Mailbox]position{}, also: map[*Mailbox][]node{},
		entries: map[*Mailbox][]node{}, senderFailed: map[*Mailbox]bool{},
	}
}

func systemName() string {
	if name, err := os.Hostname(); err == nil && ldh(name) {
		return name
	}
	return "localhost"
}

// read goes through a table by its keys. section stands before a key's name in
// what is told of it.
func (b *builder) read(keys []key, t node, section string) {
	known := make(map[string]bool, len(keys))
	for _, k := range keys {
		known[k.name] = true
	}
	for _, name := range t.order {
		if !known[name] {
			b.add(t.table[name].at, "unknown key %q; the keys here are %s", name, names(keys))
		}
	}
	for i := range keys {
		k := keys[i]
		n, ok := t.table[k.name]
		k.name = section + k.name
		if !ok {
			if k.def == "" {
				continue
			}
			n = parseLiteral(k.def, t.at)
		}
		if n.kind != k.kind {
			b.wrong(&k, n, "%s where %s belongs", n.kind, k.kind)
			continue
		}
		k.set(b, &k, n)
	}
}

// parseLiteral reads a default, so that the file's silence and the default
// written out take the same way.
func parseLiteral(toml string, at position) node {
	root, err := parse(at.file, []byte("default = "+toml))
	if err != nil {
		panic("config: a default is not TOML")
	}
	n := root.table["default"]
	n.at = at
	return n
}

// bad says that a text is not what the key takes.
func (b *builder) bad(k *key, n node, why string) { b.wrong(k, n, "%q %s", n.text, why) }

// wrong says what is wrong with a key's value and what to write.
func (b *builder) wrong(k *key, n node, format string, args ...any) {
	want := k.want
	if want == "" {
		want = "[" + k.name + "] above its keys"
	}
	b.add(n.at, k.name+": "+format+"; write "+want, args...)
}

func (b *builder) unbuilt(k *key, n node) {
	b.add(n.at, "%s is not built yet; write %s or leave it out", k.name, k.want)
}

// texts are the elements of a list that are texts; others are told.
func (b *builder) texts(k *key, n node) []node {
	var all []node
	for _, e := range n.list {
		if e.kind != kindText {
			b.wrong(k, e, "%s where a text belongs", e.kind)
			continue
		}
		all = append(all, e)
	}
	return all
}

func (b *builder) size(k *key, n node) int64 {
	octets, ok := size(n.text)
	if !ok {
		b.bad(k, n, "is not a size: a whole number and B, KiB, MiB, GiB or TiB")
	}
	return octets
}

func (b *builder) duration(k *key, n node) time.Duration {
	d, ok := duration(n.text)
	if !ok {
		b.bad(k, n, "is not a time span: a whole number and s, m, h, d or w")
	}
	return d
}

// address notes a recipient of the mailbox being read.
func (b *builder) address(k *key, n node) {
	if !verdict.ValidAddress(n.text) {
		b.bad(k, n, "is not an address")
		return
	}
	b.addresses = append(b.addresses, placed{n, k.name, b.m})
}

// sender notes an entry of the list of the mailbox being read.
func (b *builder) sender(at position, text string) {
	if !verdict.ValidAddress(text) {
		b.add(at, "%q is not an address that a list can hold; write it in full and in ASCII, as friend@example.org", text)
		b.senderFailed[b.m] = true
		return
	}
	b.m.Senders = append(b.m.Senders, text)
	b.entries[b.m] = append(b.entries[b.m], node{at: at, text: text})
}

// sendersFile reads a list: one address a line, # begins a comment at the
// start of a line or behind white space.
func (b *builder) sendersFile(at position, path string) {
	// Looked at before it is read: what is written meanwhile shows later.
	b.c.Lists = append(b.c.Lists, List{path, Look(path)})
	doc, failure := readFile(path, maxList)
	if failure != "" {
		b.add(at, "senders_file: %s: %s", path, failure)
		b.senderFailed[b.m] = true
		return
	}
	line := 0
	for text := range strings.Lines(string(doc)) {
		line++
		if entry := strings.TrimSpace(beforeComment(text)); entry != "" {
			b.sender(position{file: path, line: line}, entry)
		}
	}
}

// beforeComment cuts a comment off. "#" may stand in a local part, so it only
// begins one at the start or behind white space.
func beforeComment(line string) string {
	for i := range len(line) {
		if line[i] == '#' && (i == 0 || line[i-1] == ' ' || line[i-1] == '\t') {
			return line[:i]
		}
	}
	return line
}

// finish checks what needs the whole file, and makes the policies.
func (b *builder) finish(root node) {
	if len(b.c.Mailboxes) == 0 {
		b.add(b.end, "no mailbox is guarded; write [[mailbox]] with id, address and senders")
	}
	b.checkEvidence(root)
	first := map[string]placed{}
	for _, p := range b.addresses {
		local, domain, _ := b.c.split(p.text)
		canonical := local + "@" + domain
		if other, ok := first[canonical]; ok {
			b.add(p.at, "%s: %q is given twice, first on line %d; an address belongs to one mailbox", p.key, p.text, other.at.line)
			continue
		}
		first[canonical] = p
		b.c.known[canonical] = p.mailbox
	}
	for _, m := range b.c.Mailboxes {
		senders, err := verdict.NewSenders(m.Senders)
		if err != nil {
			b.add(b.at[m], "the senders of this mailbox make no list")
		}
		m.policy.Senders = senders
		m.policy.Addressee = b.c.addressee(m)
	}
}

// addressee tells whether an address of To or Cc is the mailbox, under any of
// its names or one that forwards to it.
func (c *Config) addressee(m *Mailbox) func(string) bool {
	also := make(map[string]bool, len(m.AlsoAddressed))
	for _, a := range m.AlsoAddressed {
		if local, domain, ok := c.split(a); ok {
			also[local+"@"+domain] = true
		}
	}
	return func(address string) bool {
		if known, _ := c.Resolve(address); known == m {
			return true
		}
		local, domain, ok := c.split(address)
		if !ok {
			return false
		}
		return also[local+"@"+domain] || also[c.cut(local)+"@"+domain]
	}
}
