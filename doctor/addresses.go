package doctor

import (
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strings"

	"stile/config"
)

// alias is an entry of a table that turns a recipient into others.
type alias struct {
	parameter, table string
	key              string // as the table has it, lower case
	targets          []string
}

// rewriters are the parameters whose tables change a recipient after the milter
// has seen it.
var rewriters = []string{"virtual_alias_maps", "canonical_maps", "recipient_canonical_maps", "alias_maps"}

// tables looks for recipients that lead into a guarded mailbox and are not
// listed. Mail that is routed to stile is routed there behind all of these.
func (a *audit) tables() {
	if a.allRouted() {
		return
	}
	var aliases []alias
	for _, parameter := range rewriters {
		for _, table := range a.tablesOf(parameter) {
			l := a.list(table)
			if l.unread {
				a.unread(direct(table))
			}
			for _, e := range l.entries {
				aliases = append(aliases, alias{parameter, direct(table), e[0], a.targets(e[1])})
			}
		}
	}
	leads := leading{a: a, keys: map[string]*config.Mailbox{}, files: a.boxes()}
	for more := true; more; {
		more = false
		for _, l := range aliases {
			m := leads.entry(l)
			if m != nil && leads.keys[l.node()] == nil {
				leads.keys[l.node()] = m
				more = true
				a.unlisted(l, m)
			}
		}
	}
	a.copies(leads)
}

// node is the key, and whether it is one of local(8)'s.
func (l alias) node() string {
	if l.parameter == "alias_maps" {
		return "local:" + l.key
	}
	return l.key
}

// targets are the addresses and files of an entry's value. What runs a command
// leads nowhere that can be seen.
func (a *audit) targets(value string) []string {
	var all []string
	for _, t := range strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == ' ' || r == '\t' }) {
		t = strings.Trim(t, `"`)
		if path, ok := strings.CutPrefix(t, ":include:"); ok {
			text, err := readFile(path)
			if err != nil {
				a.unread(path)
			}
			all = append(all, items(text)...)
			continue
		}
		all = append(all, strings.TrimPrefix(t, `\`))
	}
	return all
}

// leading is what is known to lead into a guarded mailbox.
type leading struct {
	a     *audit
	keys  map[string]*config.Mailbox // by alias.node
	files map[string]*config.Mailbox // by the path of a mailbox
}

// entry is the guarded mailbox that an entry leads to.
func (l leading) entry(e alias) *config.Mailbox {
	for _, t := range e.targets {
		if m := l.target(t); m != nil {
			return m
		}
	}
	return nil
}

// target is the guarded mailbox that an address or a file leads to without
// being routed to stile.
func (l leading) target(t string) *config.Mailbox {
	if strings.HasPrefix(t, "/") {
		return l.files[filepath.Clean(t)]
	}
	address := l.a.qualified(t)
	if m, _ := l.a.Config.Resolve(address); m != nil && l.a.gate(address) == nil {
		return m
	}
	local, domain := localOf(address), domainOf(address)
	here := slices.Contains(l.a.localNames(), domain)
	for _, key := range []string{address, "@" + domain} {
		if m := l.keys[key]; m != nil {
			return m
		}
	}
	if !here {
		return nil
	}
	if m := l.keys["local:"+local]; m != nil {
		return m
	}
	return l.keys[local]
}

// qualified is an address with a domain.
func (a *audit) qualified(address string) string {
	if strings.Contains(address, "@") {
		return strings.ToLower(address)
	}
	return strings.ToLower(address) + "@" + strings.ToLower(a.pf.get("myorigin"))
}

// localNames are the domains of mydestination that it names itself.
func (a *audit) localNames() []string {
	return slices.DeleteFunc(items(strings.ToLower(a.pf.get("mydestination"))), func(i string) bool {
		return strings.ContainsAny(i, ":/")
	})
}

// unlisted tells of an entry unless the address it stands for is that mailbox in
// stile's config as well.
func (a *audit) unlisted(l alias, m *config.Mailbox) {
	v := vars{"id": m.ID, "file": a.File}
	if domain, all := strings.CutPrefix(l.key, "@"); all {
		if slices.Contains(a.Config.GuardedDomains, domain) {
			return // there an address that is no mailbox is refused
		}
		v["domain"] = domain
		a.add("catch-all", v, fmt.Sprintf("%s: %s: every address of %s leads to the mailbox %s", l.parameter, l.table, domain, m.ID))
		return
	}
	addresses := []string{l.key}
	if !strings.Contains(l.key, "@") {
		addresses = []string{a.qualified(l.key)}
		if l.parameter == "alias_maps" && !slices.Contains(a.localNames(), domainOf(addresses[0])) {
			addresses = nil
		}
		for _, domain := range a.localNames() {
			addresses = append(addresses, l.key+"@"+domain)
		}
	}
	for _, address := range addresses {
		if listed, _ := a.Config.Resolve(address); listed != m {
			v["address"] = address
			a.add("alias-unlisted", v, fmt.Sprintf("%s: %s: %s leads to the mailbox %s and is not one of its aliases", l.parameter, l.table, address, m.ID))
			return
		}
	}
}

// copies looks at what has mail delivered a second time, behind the milter.
func (a *audit) copies(leads leading) {
	tell := func(id, parameter, address string) {
		if m := leads.target(address); address != "" && m != nil {
			a.add(id, vars{"name": parameter}, fmt.Sprintf("%s has %s, which leads to the mailbox %s", parameter, address, m.ID))
		}
	}
	tell("bcc-into-mailbox", "always_bcc", a.pf.get("always_bcc"))
	tell("catch-all-local", "luser_relay", a.pf.get("luser_relay"))
	for _, parameter := range []string{"sender_bcc_maps", "recipient_bcc_maps"} {
		for _, table := range a.tablesOf(parameter) {
			l := a.list(table)
			if l.unread {
				a.unread(direct(table))
			}
			for _, e := range l.entries {
				tell("bcc-into-mailbox", parameter, e[1])
			}
		}
	}
	for _, r := range a.ruleTables() {
		for _, action := range []string{"REDIRECT", "BCC"} {
			for _, address := range a.actions(r.tables, action) {
				tell("bcc-into-mailbox", r.parameter, address)
			}
		}
	}
	if slices.Contains(a.tablesOf("internal_mail_filter_classes"), "notify") {
		return
	}
	classes := a.tablesOf("notify_classes")
	for _, n := range []struct {
		parameter string
		classes   []string
	}{
		{"bounce_notice_recipient", []string{"bounce"}},
		{"2bounce_notice_recipient", []string{"2bounce"}},
		{"delay_notice_recipient", []string{"delay"}},
		{"error_notice_recipient", []string{"policy", "protocol", "resource", "software", "data"}},
	} {
		if slices.ContainsFunc(n.classes, func(c string) bool { return slices.Contains(classes, c) }) {
			tell("notices-into-mailbox", n.parameter, a.pf.get(n.parameter))
		}
	}
}

// addresses looks at the guarded addresses themselves.
func (a *audit) addresses() {
	for _, g := range a.guarded {
		a.deliverable(g)
		if g.gate == nil {
			a.otherNames(g)
		}
		a.shared(g)
	}
	a.delimiter()
}

// deliverable says whether Postfix would deliver to the address.
func (a *audit) deliverable(g guarded) {
	domain, address := domainOf(g.address), strings.ToLower(g.address)
	if a.queryAddress(address, a.tablesOf("virtual_alias_maps"), "@"+domain) != "" {
		return
	}
	for _, class := range []struct{ domains, recipients string }{
		{"mydestination", "local_recipient_maps"},
		{"virtual_mailbox_domains", "virtual_mailbox_maps"},
		{"relay_domains", "relay_recipient_maps"},
	} {
		if !a.inList(domain, class.domains) {
			continue
		}
		tables := a.tablesOf(class.recipients)
		if len(tables) > 0 && a.queryAddress(address, tables, "@"+domain, localOf(address)) == "" {
			a.add("not-deliverable", vars{"name": class.recipients, "address": g.address},
				fmt.Sprintf("%s does not know %s", class.recipients, g.address))
		}
		return
	}
	a.add("domain-elsewhere", vars{"address": g.address, "domain": domain},
		fmt.Sprintf("Postfix delivers no mail for %s: it is in none of mydestination, virtual_mailbox_domains and relay_domains", domain))
}

// otherNames looks for other names that a mailbox in mydestination has: each
// name of this host and each of its address literals.
func (a *audit) otherNames(g guarded) {
	names := a.localNames()
	if !slices.Contains(names, domainOf(g.address)) {
		return
	}
	transport, _, _ := strings.Cut(a.pf.get("local_transport"), ":")
	if s := a.pf.service(transport + "/unix"); s != nil && s.daemon == "virtual" {
		return // which asks for whole addresses: see shared
	}
	for _, name := range append(names, a.literals()...) {
		if m, _ := a.Config.Resolve(localOf(g.address) + "@" + name); m != g.mailbox {
			a.add("host-name-unlisted", vars{"name": name, "domain": domainOf(g.address), "file": a.File},
				fmt.Sprintf("mail for %s@%s is delivered to %s as well", localOf(g.address), name, g.address))
		}
	}
}

// literals are the addresses of this host that Postfix takes mail for.
func (a *audit) literals() []string {
	var ips []net.IP
	own, _ := net.InterfaceAddrs() // none where they cannot be had
	for _, item := range append(a.tablesOf("inet_interfaces"), a.tablesOf("proxy_interfaces")...) {
		if ip := net.ParseIP(strings.Trim(item, "[]")); ip != nil {
			ips = append(ips, ip)
		}
		for _, n := range own {
			in, ok := n.(*net.IPNet)
			if ok && (item == "all" || item == "loopback-only" && in.IP.IsLoopback()) && !in.IP.IsLinkLocalUnicast() {
				ips = append(ips, in.IP)
			}
		}
	}
	protocols := a.tablesOf("inet_protocols")
	var found []string
	for _, ip := range ips {
		protocol, literal := "ipv4", "["+ip.String()+"]"
		if ip.To4() == nil {
			protocol, literal = "ipv6", "[IPv6:"+ip.String()+"]" // RFC 5321, 4.1.3
		}
		if slices.Contains(protocols, "all") || slices.Contains(protocols, protocol) {
			found = append(found, literal)
		}
	}
	return found
}

// boxes are the files of the guarded mailboxes, as far as they can be seen.
func (a *audit) boxes() map[string]*config.Mailbox {
	files := map[string]*config.Mailbox{}
	for _, g := range a.guarded {
		if slices.Contains(a.localNames(), domainOf(g.address)) {
			files[filepath.Join(a.pf.get("mail_spool_directory"), localOf(g.address))] = g.mailbox
		}
		if box := a.box(g.address); box != "" {
			files[filepath.Join(a.pf.get("virtual_mailbox_base"), box)] = g.mailbox
		}
	}
	return files
}

// box is the file that virtual(8) delivers an address to, below its base.
func (a *audit) box(address string) string {
	if !a.virtually(domainOf(address)) {
		return ""
	}
	return a.queryAddress(strings.ToLower(address), a.tablesOf("virtual_mailbox_maps"), "@"+domainOf(address))
}

// virtually reports whether virtual(8) delivers a domain.
func (a *audit) virtually(domain string) bool {
	parameter := "virtual_transport"
	if slices.Contains(a.localNames(), domain) {
		parameter = "local_transport"
	} else if !a.inList(domain, "virtual_mailbox_domains") {
		return false
	}
	transport, _, _ := strings.Cut(a.pf.get(parameter), ":")
	s := a.pf.service(transport + "/unix")
	return s != nil && s.daemon == "virtual"
}

// shared looks for other addresses that are delivered to the same file.
func (a *audit) shared(g guarded) {
	box := a.box(g.address)
	if box == "" {
		return
	}
	for _, table := range a.tablesOf("virtual_mailbox_maps") {
		for _, e := range a.list(table).entries {
			if e[1] != box || !strings.Contains(e[0], "@") {
				continue
			}
			m, refused := a.Config.Resolve(e[0])
			if m == g.mailbox || refused {
				continue
			}
			if a.virtually(domainOf(e[0])) && a.gate(e[0]) == nil {
				a.add("mailbox-shared", vars{"address": e[0], "id": g.mailbox.ID, "file": a.File},
					fmt.Sprintf("virtual_mailbox_maps delivers mail for %s to the mailbox of %s", e[0], g.address))
			}
		}
	}
}

// delimiter compares what ends the name of a mailbox here and there.
func (a *audit) delimiter() {
	for _, c := range a.pf.get("recipient_delimiter") {
		if strings.ContainsRune(a.Config.RecipientDelimiter, c) {
			continue
		}
		for _, g := range a.guarded {
			if !slices.Contains(a.Config.GuardedDomains, domainOf(g.address)) {
				a.add("delimiter-differs", vars{"value": a.Config.RecipientDelimiter + string(c), "file": a.File},
					fmt.Sprintf("Postfix delivers %s%cx@%s to %s, and recipient_delimiter in %s does not have %q", localOf(g.address), c, domainOf(g.address), g.address, a.File, c))
				return
			}
		}
	}
}
