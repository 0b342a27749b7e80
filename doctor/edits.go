package doctor

import (
	"fmt"
	"slices"
	"strings"
)

// stamp is the fields that stile inserts, as a rule of header checks sees them.
var stamp = []string{
	"Stile-Verdict: accept; id=01KBC0000000000000000000000; policy=shopping; from=friend@example.org; d=example.org",
	"Stile-Rendering: =?utf-8?q?+--_UNTRUSTED_TEXT_from_friend@example.org_-_nonce_3f9a1c0e7b2d4e61?=",
	"Stile-Seal: v1; shopping=seal+AAAA",
}

// signedFields are fields that signatures cover.
var signedFields = []string{
	"From: %s", "To: %s", "Subject: groceries", "Date: Tue, 1 Dec 2026 08:00:00 +0000", "Message-ID: <1@example.org>",
	"DKIM-Signature: v=1; a=rsa-sha256; c=relaxed/relaxed; d=example.org; s=s; h=from:to:subject:date; bh=AAAA=; b=AAAA=",
	"MIME-Version: 1.0", "Content-Type: text/plain; charset=utf-8",
}

// edits looks at what changes a message before stile sees it, so that its
// signature does not verify any more, and afterwards, so that the stamp is gone
// or says something else.
func (a *audit) edits() {
	for _, s := range a.entries() {
		a.entryEdits(s)
	}
	for _, s := range a.pf.by("cleanup") {
		a.cleanupEdits(s)
	}
	a.stampEdits()
	if a.routed {
		return // mail is handed on behind what follows
	}
	for _, r := range a.ruleTables() {
		for _, filter := range a.actions(r.tables, "FILTER") {
			a.add("filter-action", vars{"name": r.parameter}, r.parameter+" has a rule FILTER "+filter+", which acts behind stile")
		}
	}
}

// entries are the services through which mail comes in.
func (a *audit) entries() []*service { return a.pf.by("smtpd", "pickup", "qmqpd") }

func (a *audit) entryEdits(s *service) {
	if domain := s.get("remote_header_rewrite_domain"); domain != "" {
		a.addAt("header-rewrite", s, nil, a.where(s, "remote_header_rewrite_domain")+" = "+domain)
	}
	if words := items(s.get("smtpd_discard_ehlo_keywords")); slices.ContainsFunc(words, eightBit) {
		a.addAt("eightbit-off", s, vars{"value": strings.Join(slices.DeleteFunc(words, eightBit), ", ")}, a.where(s, "smtpd_discard_ehlo_keywords")+" has 8bitmime")
	}
	filter := s.get("content_filter")
	if filter == "" || a.routed {
		return
	}
	if a.stile(s, s.get("smtpd_milters")).at >= 0 {
		a.addAt("content-filter", s, nil, a.where(s, "content_filter")+" = "+filter+" gets the message behind stile")
	}
}

func eightBit(word string) bool { return strings.EqualFold(word, "8bitmime") }

// headerRewriters are the tables that change addresses in a header, with the
// parameter that says where they do.
var headerRewriters = []struct{ maps, classes string }{
	{"canonical_maps", "canonical_classes"},
	{"sender_canonical_maps", "sender_canonical_classes"},
	{"recipient_canonical_maps", "recipient_canonical_classes"},
	{"masquerade_domains", "masquerade_classes"},
}

func (a *audit) cleanupEdits(s *service) {
	for _, r := range headerRewriters {
		classes := items(s.get(r.classes))
		envelope := slices.DeleteFunc(slices.Clone(classes), func(c string) bool { return strings.HasPrefix(c, "header_") })
		if s.get(r.maps) != "" && len(envelope) < len(classes) {
			a.addAt("canonical-headers", s, vars{"name": r.classes, "value": strings.Join(envelope, ", ")},
				fmt.Sprintf("%s changes addresses in the header (%s = %s)", a.where(s, r.maps), r.classes, strings.Join(classes, ", ")))
		}
	}
	if s.get("always_add_missing_headers") == "yes" {
		a.addAt("missing-headers", s, nil, a.where(s, "always_add_missing_headers")+" = yes")
	}
	if s.get("force_mime_input_conversion") == "yes" {
		a.addAt("mime-conversion", s, nil, a.where(s, "force_mime_input_conversion")+" = yes")
	}
	if n, ok := number(s.get("header_size_limit")); ok && n < 60000 {
		a.addAt("header-size", s, nil, fmt.Sprintf("%s = %d", a.where(s, "header_size_limit"), n))
	}
	tables := items(s.get("header_checks"))
	if len(tables) == 0 {
		return
	}
	m := a.Config.Mailboxes[0]
	for _, field := range signedFields {
		switch {
		case strings.HasPrefix(field, "From"):
			field = fmt.Sprintf(field, m.Senders[0])
		case strings.HasPrefix(field, "To"):
			field = fmt.Sprintf(field, m.Address)
		}
		action := strings.ToUpper(firstItem(a.query(field, tables)))
		if slices.Contains([]string{"REPLACE", "IGNORE", "STRIP", "REJECT", "DISCARD", "HOLD"}, action) {
			name, _, _ := strings.Cut(field, ":")
			a.addAt("field-edited", s, vars{"table": tables[0]},
				fmt.Sprintf("%s has a rule %s for %s", a.where(s, "header_checks"), action, name))
		}
	}
}

// stampEdits asks the rules that see the message behind stile what they do with
// its fields.
func (a *audit) stampEdits() {
	stamped := a.gates
	if !a.routed {
		stamped = a.entries()
	}
	for _, s := range stamped {
		a.stampRules(a.cleanup(s), "milter_header_checks")
	}
	for _, transport := range a.deliverers() {
		name, _, _ := strings.Cut(transport, ":")
		s := a.pf.service(name + "/unix")
		if s != nil && (s.daemon == "smtp" || s.daemon == "lmtp") {
			a.stampRules(s, s.daemon+"_header_checks")
		}
	}
}

func (a *audit) stampRules(s *service, parameter string) {
	tables := items(s.get(parameter))
	for _, field := range stamp {
		action := strings.ToUpper(firstItem(a.query(field, tables)))
		if action == "" || slices.Contains([]string{"DUNNO", "OK", "INFO", "WARN", "PASS"}, action) {
			continue
		}
		name, _, _ := strings.Cut(field, ":")
		a.addAt("stamp-removed", s, vars{"name": parameter}, fmt.Sprintf("%s has a rule %s for %s", a.where(s, parameter), action, name))
	}
}

// deliverers are the transports that can take a message to a guarded mailbox.
func (a *audit) deliverers() []string {
	var all []string
	for _, name := range []string{"virtual_transport", "local_transport", "mailbox_transport", "relay_transport"} {
		all = append(all, a.pf.get(name))
	}
	for _, gate := range a.gates {
		all = append(all, gate.get("content_filter"))
	}
	for _, g := range a.guarded {
		if g.gate == nil {
			all = append(all, a.transport(g.address))
		}
	}
	all = slices.DeleteFunc(all, func(t string) bool { return t == "" || strings.HasPrefix(t, ":") })
	slices.Sort(all)
	return slices.Compact(all)
}
