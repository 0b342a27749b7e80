package doctor

import (
	"cmp"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"stile/config"
)

// guarded is an address that stile guards.
type guarded struct {
	address string // as the config spells it
	mailbox *config.Mailbox
	gate    *service // the server with stile that it is routed to, nil is none
}

// wiring finds out through which services mail reaches the guarded addresses,
// and whether stile stands in each.
func (a *audit) wiring() {
	for _, m := range a.Config.Mailboxes {
		for _, address := range append([]string{m.Address}, m.Aliases...) {
			a.guarded = append(a.guarded, guarded{address: address, mailbox: m})
		}
	}
	for i := range a.guarded {
		g := &a.guarded[i]
		g.gate = a.gate(g.address)
		if g.gate != nil && !slices.Contains(a.gates, g.gate) {
			a.gates = append(a.gates, g.gate)
		}
	}
	for _, gate := range a.gates {
		a.entry(gate)
		a.behindGate(gate)
	}
	// Where stile stands in a server of its own only, an address that is not
	// routed there was forgotten.
	plain := &service{pf: a.pf}
	a.routed = a.allRouted() || len(a.gates) > 0 && a.stile(plain, plain.get("smtpd_milters")).at < 0
	if a.routed {
		a.forgotten()
		a.deliversAhead()
		return
	}
	for _, s := range a.pf.by("smtpd") {
		if !slices.Contains(a.gates, s) {
			a.entry(s)
		}
	}
	a.local()
	a.bounces()
}

// allRouted reports whether every guarded address is routed to stile.
func (a *audit) allRouted() bool {
	return !slices.ContainsFunc(a.guarded, func(g guarded) bool { return g.gate == nil })
}

// forgotten tells of addresses that are not routed.
func (a *audit) forgotten() {
	for _, g := range a.guarded {
		if g.gate == nil {
			a.add("address-not-routed", vars{"address": g.address, "domain": domainOf(g.address)},
				fmt.Sprintf("transport_maps does not send %s through the server in which stile stands", g.address))
		}
	}
}

// gate is the server that the transport map sends an address to, if stile is
// among its milters.
func (a *audit) gate(address string) *service {
	transport, nexthop, _ := strings.Cut(a.transport(address), ":")
	s := a.pf.service(transport + "/unix")
	if s == nil || s.daemon != "smtp" && s.daemon != "lmtp" {
		return nil
	}
	host, port := splitNexthop(nexthop)
	for _, server := range a.pf.by("smtpd") {
		if server.typ != "inet" || !serves(server.name, host, port) {
			continue
		}
		if a.stile(server, server.get("smtpd_milters")).at >= 0 {
			return server
		}
	}
	return nil
}

// splitNexthop reads [host]:port and host:port.
func splitNexthop(nexthop string) (host, port string) {
	port = "25"
	if i := strings.LastIndexByte(nexthop, ':'); i > strings.LastIndexByte(nexthop, ']') {
		nexthop, port = nexthop[:i], nexthop[i+1:]
	}
	return strings.Trim(nexthop, "[]"), port
}

// serves reports whether a service of type inet listens on loopback at the
// port, or at that very host.
func serves(name, host, port string) bool {
	at, number := "", name
	if i := strings.LastIndexByte(name, ':'); i >= 0 {
		at, number = strings.Trim(name[:i], "[]"), name[i+1:]
	}
	return samePort(number, port) && (loopbackName(at) == loopbackName(host) || at == "" && loopbackName(host) == "localhost")
}

func samePort(x, y string) bool {
	numberX, errX := net.LookupPort("tcp", x)
	numberY, errY := net.LookupPort("tcp", y)
	return errX == nil && errY == nil && numberX == numberY
}

// entry looks at one smtpd(8) that mail for a guarded address comes through.
func (a *audit) entry(s *service) {
	list := s.get("smtpd_milters")
	found := a.stile(s, list)
	if strings.Contains(","+strings.ReplaceAll(s.get("receive_override_options"), " ", ",")+",", ",no_milters,") {
		a.addAt("milters-off", s, vars{"value": without(s.get("receive_override_options"), "no_milters")},
			a.where(s, "receive_override_options")+" has no_milters, so that no milter sees its mail")
	}
	if found.at < 0 {
		a.absent(s, list)
		return
	}
	if a.stile(s, s.under("yes", "smtpd_milters")).at < 0 {
		a.addAt("smtpd-under-stress", s, vars{"value": joined(list)},
			a.where(s, "smtpd_milters")+" is without stile while the server is busy (stress=yes)")
	}
	if maps := s.get("smtpd_milter_maps"); maps != "" {
		a.addAt("milter-maps", s, nil, a.where(s, "smtpd_milter_maps")+" = "+maps+" chooses other milters, or none, by client")
	}
	if proxy := s.get("smtpd_proxy_filter"); proxy != "" {
		a.addAt("proxy-filter", s, nil, a.where(s, "smtpd_proxy_filter")+" = "+proxy+", so that milters see no message")
	}
	a.order(s, "smtpd_milters", found)
	a.behaviour(s, "smtpd_milters", found)
}

// absent says that stile does not stand in a server.
func (a *audit) absent(s *service, list string) {
	id := "smtpd-without-stile"
	if s.overrides("smtpd_milters") && a.stile(s, a.pf.get("smtpd_milters")).at >= 0 {
		id = "smtpd-override"
	}
	a.addAt(id, s, vars{"value": joined(list, a.definition(s))}, a.where(s, "smtpd_milters")+" has no stile in it")
}

// where names the setting and the place where it stands.
func (a *audit) where(s *service, name string) string {
	if s.overrides(name) {
		return "master.cf: " + s.id() + ": " + name
	}
	return "main.cf: " + name
}

// joined writes lists of milters as one.
func joined(lists ...string) string {
	var all []string
	for _, list := range lists {
		all = append(all, items(list)...)
	}
	return strings.Join(all, ", ")
}

// without takes an item off a list.
func without(list, item string) string {
	return strings.Join(slices.DeleteFunc(items(list), func(i string) bool { return i == item }), ", ")
}

// order looks at what stands beside stile in a list.
func (a *audit) order(s *service, name string, found standing) {
	if found.again {
		a.addAt("stile-twice", s, vars{"name": name}, a.where(s, name)+" has stile in it twice")
	}
	if found.behind > 0 {
		var others []string
		for _, item := range items(s.get(name)) {
			if ours, _ := a.ours(s, milters(item)[0].address); !ours {
				others = append(others, item)
			}
		}
		a.addAt("milter-behind", s, vars{"name": name, "value": joined(strings.Join(others, " "), a.definition(s))},
			fmt.Sprintf("%s has milters behind stile: %d", a.where(s, name), found.behind))
	}
}

// behaviour looks at what Postfix does with stile when it answers late, or not.
func (a *audit) behaviour(s *service, name string, found standing) {
	if found.outside {
		moved := found.milter
		moved.address = a.address()
		a.addAt("socket-chroot", s, vars{"setting": a.redefined(s, name, found, moved.String())},
			fmt.Sprintf("%s: %s is chrooted, and in there %s is another path", a.where(s, name), s.id(), found.address))
	}
	action, set := a.option(s, name, found, "default_action", "milter_default_action")
	if action != "tempfail" && action != "shutdown" {
		id := map[string]string{"accept": "action-accept", "quarantine": "action-quarantine"}[action]
		a.addAt(cmp.Or(id, "action-reject"), s, vars{"setting": set("tempfail")},
			a.where(s, name)+": the default action while stile does not answer is "+action)
	}
	for _, option := range []string{"connect_timeout", "command_timeout", "content_timeout"} {
		text, set := a.option(s, name, found, option, "milter_"+option)
		a.timeout(s, name, option, text, set)
	}
	protocol, set := a.option(s, name, found, "protocol", "milter_protocol")
	if n, err := strconv.Atoi(firstItem(protocol)); err == nil && n < 6 {
		a.addAt("protocol-old", s, vars{"setting": set("6")}, fmt.Sprintf("%s: the milter protocol is version %d", a.where(s, name), n))
	}
}

func firstItem(list string) string {
	if all := items(list); len(all) > 0 {
		return all[0]
	}
	return ""
}

// option is what stands beside stile's address, or else the parameter, and the
// setting that gives it another value.
func (a *audit) option(s *service, list string, found standing, option, parameter string) (value string, set func(string) string) {
	value, ok := found.options[option]
	if !ok {
		return s.get(parameter), func(to string) string { return parameter + " = " + to }
	}
	return value, func(to string) string {
		changed := milter{found.address, maps.Clone(found.options)}
		changed.options[option] = to
		return a.redefined(s, list, found, changed.String())
	}
}

// redefined is the setting that has stile's entry in a list say something else:
// of the parameter that defines it, if there is one, or else of the list.
func (a *audit) redefined(s *service, list string, found standing, entry string) string {
	if name, ok := strings.CutPrefix(a.definition(s), "$"); ok && strings.Contains(s.lookup(list), name) {
		return name + " = " + entry
	}
	all := items(s.get(list))
	all[found.at] = entry
	return list + " = " + strings.Join(all, ", ")
}

// The time that stile takes for its decision is 20 seconds at most, and a
// client waits ten minutes for the answer to a message (RFC 5321, 4.5.3.2.6).
const (
	shortest = 25 * time.Second
	longest  = 9 * time.Minute
)

func (a *audit) timeout(s *service, name, option, text string, set func(string) string) {
	d, ok := postfixTime(text)
	if !ok {
		return
	}
	if option == "content_timeout" && d < shortest || d < time.Second {
		a.addAt("timeout-short", s, vars{"setting": set("120s")}, fmt.Sprintf("%s: %s is %s", a.where(s, name), option, text))
	}
	if d > longest {
		a.addAt("timeout-long", s, vars{"setting": set("120s")}, fmt.Sprintf("%s: %s is %s", a.where(s, name), option, text))
	}
}

// postfixTime reads a time of Postfix's: a number and s, m, h, d or w.
func postfixTime(text string) (time.Duration, bool) {
	units := map[byte]time.Duration{'s': time.Second, 'm': time.Minute, 'h': time.Hour, 'd': 24 * time.Hour, 'w': 7 * 24 * time.Hour}
	unit := time.Second
	if text != "" && units[text[len(text)-1]] > 0 {
		unit = units[text[len(text)-1]]
		text = text[:len(text)-1]
	}
	n, err := strconv.ParseInt(text, 10, 32)
	return time.Duration(n) * unit, err == nil
}

// local looks at mail that comes by sendmail(1) and by QMQP.
func (a *audit) local() {
	for _, s := range a.pf.by("pickup", "qmqpd") {
		if slices.Contains(items(s.get("receive_override_options")), "no_milters") {
			a.addAt("milters-off", s, vars{"value": without(s.get("receive_override_options"), "no_milters")},
				a.where(s, "receive_override_options")+" has no_milters, so that no milter sees its mail")
		}
		cleanup := a.cleanup(s)
		list := cleanup.get("non_smtpd_milters")
		found := a.stile(cleanup, list)
		if found.at < 0 {
			a.addAt("pickup-without-stile", cleanup, vars{"value": joined(list, a.definition(s))},
				a.where(cleanup, "non_smtpd_milters")+" has no stile in it: mail by "+map[string]string{"pickup": "sendmail(1)", "qmqpd": "QMQP"}[s.daemon]+" is not judged")
			continue
		}
		a.order(cleanup, "non_smtpd_milters", found)
		a.behaviour(cleanup, "non_smtpd_milters", found)
	}
}

// cleanup is the service that writes what another one takes.
func (a *audit) cleanup(s *service) *service {
	if c := a.pf.service(s.get("cleanup_service_name") + "/unix"); c != nil {
		return c
	}
	return &service{pf: a.pf}
}

// bounces looks at the mail that Postfix makes itself.
func (a *audit) bounces() {
	for _, s := range a.pf.by("bounce") {
		if classes := items(s.get("internal_mail_filter_classes")); !slices.Contains(classes, "bounce") {
			a.addAt("bounces-unfiltered", s, vars{"value": strings.Join(append(classes, "bounce"), ", ")},
				a.where(s, "internal_mail_filter_classes")+" does not have bounce")
		}
	}
}
