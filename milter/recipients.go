package milter

import (
	"errors"
	"slices"
	"strings"

	"stile/config"
	"stile/metrics"
)

// recipient is one that concerns a mailbox.
type recipient struct {
	argument string          // of RCPT, without its angle brackets
	mailbox  *config.Mailbox // nil: an address of a guarded domain that is none
}

// policies are the ids of the guarded mailboxes among the recipients, in the
// order of the configuration.
func (s *session) policies() []string {
	var ids []string
	for _, m := range s.mailboxes() {
		ids = append(ids, m.ID)
	}
	if len(ids) == 0 {
		return []string{metrics.Unguarded}
	}
	return ids
}

// mailboxes are the guarded mailboxes among the recipients, each once, in the
// order of the configuration.
func (s *session) mailboxes() []*config.Mailbox {
	wanted := map[*config.Mailbox]bool{}
	for _, r := range s.msg.recipients {
		wanted[r.mailbox] = true
	}
	var all []*config.Mailbox
	for _, m := range s.config.Mailboxes {
		if wanted[m] {
			all = append(all, m)
		}
	}
	return all
}

// maxPutOff is how many recipients of one message are answered 452. Postfix
// slows a session down after so many errors, and after twice as many ends it
// (smtpd_soft_error_limit, smtpd_hard_error_limit).
const maxPutOff = 10

// putsOff reports whether a recipient has to come with a message of its own:
// where a mailbox has its mail replaced, so would everyone beside it. mailbox
// is nil for one that is no mailbox.
func (s *session) putsOff(mailbox *config.Mailbox) bool {
	// One recipient of a played session that is put off keeps the whole message
	// in the queue for ever.
	if s.simulated {
		return false
	}
	// Beyond it all get the message together, replaced for all.
	if s.msg.putOff >= maxPutOff {
		return false
	}
	return s.msg.mixes(mailbox)
}

// mixes reports whether a further recipient is another one than a mailbox that
// has its mail replaced.
func (m *message) mixes(mailbox *config.Mailbox) bool {
	replaced := mailbox != nil && mailbox.Body
	if replaced && m.others > 0 {
		return true
	}
	return slices.ContainsFunc(m.recipients, func(r recipient) bool {
		return r.mailbox != mailbox && (replaced || r.mailbox != nil && r.mailbox.Body)
	})
}

// addRecipient notes a recipient that concerns a mailbox.
func (m *message) addRecipient(r recipient) cause {
	m.recipientSize += len(r.argument) + perEntry
	if m.recipientSize > maxRecipients {
		return causeRecipients
	}
	m.recipients = append(m.recipients, r)
	return ""
}

// errArgument: the MTA might not find the recipient by its argument.
var errArgument = errors.New("milter: a recipient's argument is not plain")

// deletable is the text by which the MTA finds the recipient: the argument's
// own bytes without a leading source route (RFC 5321, appendix C), with which
// it finds none. It compares addresses as it parsed them; what two parsings
// could read as two, comments and white space, is an error, since a recipient
// that is not found gets the mail.
func (r recipient) deletable() (string, error) {
	address := r.argument
	if strings.HasPrefix(address, "@") {
		at := outside(address, func(c byte) bool { return c == ':' })
		if at < 0 {
			return "", errArgument
		}
		address = address[at+1:]
	}
	if address == "" {
		return "", errArgument
	}
	if outside(address, isOdd) >= 0 {
		return "", errArgument
	}
	return address, nil
}

// isOdd holds for what is no part of a plain address outside quotes.
func isOdd(c byte) bool { return c <= ' ' || c == 127 || strings.IndexByte("()<>,;:", c) >= 0 }

// outside finds the first octet for which holds is true outside quoted strings
// and address literals (RFC 5321, 4.1.2), or -1. An octet that such a part
// leaves open ends at is one that holds.
func outside(s string, holds func(byte) bool) int {
	quoted, literal := false, false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case quoted && c == '\\':
			i++
		case c == '"' && !literal:
			quoted = !quoted
		case quoted:
		case c == '[':
			literal = true
		case c == ']':
			literal = false
		case !literal && holds(c):
			return i
		}
	}
	return -1
}
