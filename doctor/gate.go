package doctor

import (
	"slices"
	"strings"
)

// behindGate looks at the two services of a route: the client that carries mail
// to the server with stile, and that server.
func (a *audit) behindGate(gate *service) {
	for _, g := range a.guarded {
		if g.gate != gate {
			continue
		}
		transport, _, _ := strings.Cut(a.transport(g.address), ":")
		client := a.pf.service(transport + "/unix")
		relay := client.daemon + "_fallback_relay"
		if fallback := client.get(relay); fallback != "" {
			a.addAt("gate-fallback", client, vars{"name": relay},
				a.where(client, relay)+" = "+fallback+": mail that the server with stile does not take goes there")
		}
		break
	}
	if gate.get("content_filter") == "" {
		a.addAt("gate-loop", gate, nil, a.where(gate, "content_filter")+" is empty: mail that stile let pass is routed to stile again")
	}
}

// deliversAhead looks for what stands above the transport map and delivers,
// instead of handing the message back to Postfix.
func (a *audit) deliversAhead() {
	for _, s := range a.pf.by("smtpd", "pickup", "qmqpd") {
		if filter := s.get("content_filter"); filter != "" && !slices.Contains(a.gates, s) && a.delivers(filter) {
			a.addAt("content-filter-delivers", s, nil, a.where(s, "content_filter")+" = "+filter+" delivers mail before it is routed to stile")
		}
	}
	for _, r := range a.ruleTables() {
		for _, filter := range a.actions(r.tables, "FILTER") {
			if a.delivers(filter) {
				a.add("filter-delivers", vars{"name": r.parameter}, r.parameter+" has a rule FILTER "+filter+", which delivers mail before it is routed to stile")
			}
		}
	}
}

// delivers reports whether a transport ends the message's way through Postfix.
func (a *audit) delivers(filter string) bool {
	transport, _, _ := strings.Cut(filter, ":")
	s := a.pf.service(transport + "/unix")
	return s != nil && slices.Contains([]string{"virtual", "local", "lmtp"}, s.daemon)
}

// ruleTable is tables that can hold an action such as FILTER, and the parameter
// that names them.
type ruleTable struct {
	parameter string
	tables    []string
}

func (a *audit) ruleTables() []ruleTable {
	var found []ruleTable
	for _, name := range []string{"header_checks", "mime_header_checks", "nested_header_checks", "body_checks", "milter_header_checks"} {
		found = append(found, ruleTable{name, a.tablesOf(name)})
	}
	for _, name := range []string{
		"smtpd_client_restrictions", "smtpd_helo_restrictions", "smtpd_sender_restrictions", "smtpd_relay_restrictions",
		"smtpd_recipient_restrictions", "smtpd_data_restrictions", "smtpd_end_of_data_restrictions",
	} {
		all := a.tablesOf(name)
		for i, item := range all {
			if strings.HasPrefix(item, "check_") && strings.HasSuffix(item, "_access") && i+1 < len(all) {
				found = append(found, ruleTable{name, all[i+1 : i+2]})
			}
		}
	}
	return found
}

// actions are the arguments of an action wherever tables have it.
func (a *audit) actions(tables []string, action string) []string {
	var all []string
	for _, table := range tables {
		for line := range strings.Lines(a.rules(table)) {
			words := items(strings.TrimSpace(strings.Trim(line, "{} \t\r\n")))
			if len(words) > 0 && strings.HasPrefix(words[0], "#") {
				continue
			}
			for i, word := range words {
				if strings.EqualFold(word, action) && i+1 < len(words) {
					all = append(all, strings.Trim(words[i+1], "{}"))
				}
			}
		}
	}
	return all
}
