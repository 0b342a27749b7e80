package doctor

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"stile/config"
)

// smtp looks at how Postfix speaks with clients.
func (a *audit) smtp() {
	body := slices.ContainsFunc(a.Config.Mailboxes, func(m *config.Mailbox) bool { return m.Body })
	reject := slices.ContainsFunc(a.Config.Mailboxes, func(m *config.Mailbox) bool { return m.Reject })
	for _, s := range a.pf.by("smtpd") {
		if !a.routed {
			a.strict(s)
		}
		// A mailbox of its own message answers 452 ten times at most.
		if n, ok := number(s.get("smtpd_hard_error_limit")); ok && body && n <= 10 {
			a.addAt("error-limit", s, nil, fmt.Sprintf("%s = %d", a.where(s, "smtpd_hard_error_limit"), n))
		}
		if reject && s.get("soft_bounce") == "yes" {
			a.addAt("soft-bounce", s, nil, a.where(s, "soft_bounce")+" = yes")
		}
		if n, ok := number(s.get("message_size_limit")); ok && !a.routed && (n == 0 || n > a.Config.MaxMessage) {
			a.addAt("message-size", s, vars{"value": strconv.FormatInt(a.Config.MaxMessage, 10)},
				fmt.Sprintf("%s = %d is more than stile's max_message, %d", a.where(s, "message_size_limit"), n, a.Config.MaxMessage))
		}
	}
	for _, s := range a.pf.by("cleanup") {
		if s.get("cleanup_replace_stray_cr_lf") == "no" {
			a.addAt("stray-line-end", s, nil, a.where(s, "cleanup_replace_stray_cr_lf")+" = no")
		}
	}
}

// strict looks at the settings against a message that is hidden in another.
func (a *audit) strict(s *service) {
	if a.pf.known("smtpd_forbid_bare_newline") && s.get("smtpd_forbid_bare_newline") == "no" {
		value := "yes" // releases that take only yes and no do not have the reply code either
		if a.pf.known("smtpd_forbid_bare_newline_reject_code") {
			value = "normalize"
		}
		a.addAt("bare-newline", s, vars{"value": value}, a.where(s, "smtpd_forbid_bare_newline")+" = no")
	}
	if a.pf.known("smtpd_forbid_unauth_pipelining") && s.get("smtpd_forbid_unauth_pipelining") == "no" {
		a.addAt("unauth-pipelining", s, nil, a.where(s, "smtpd_forbid_unauth_pipelining")+" = no")
	}
}

func number(text string) (int64, bool) {
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	return n, err == nil
}
