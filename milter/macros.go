package milter

import (
	"slices"

	"github.com/emersion/go-milter"

	"stile/config"
)

// wantActions are the modifications that are made, and the request for macros.
const wantActions = milter.OptAddHeader | milter.OptChangeHeader | milter.OptRemoveRcpt | milter.OptSetSymList

// actionsFor are those that a configuration needs: where no mailbox gets its
// mail replaced, stile cannot change a body.
func actionsFor(c *config.Config) milter.OptAction {
	if slices.ContainsFunc(c.Mailboxes, func(m *config.Mailbox) bool { return m.Body }) {
		return wantActions | milter.OptChangeBody
	}
	return wantActions
}

// wantProtocol: header values with their leading space, without which simple
// canonicalization (RFC 6376, 3.4.1) cannot be exact; SKIP for bodies that
// nobody judges; and no command that nobody reads.
const wantProtocol = milter.OptHeaderLeadingSpace | milter.OptSkip |
	milter.OptNoHelo | milter.OptNoData | milter.OptNoUnknown

// The macros that are read (MILTER_README, "Supported macros").
const (
	macroQueueID = "i"
	macroRcpt    = "{rcpt_addr}"
)

// macroList asks for them, which beats what main.cf says, and for no others.
func macroList() map[milter.Stage][]string {
	return map[milter.Stage][]string{
		milter.StageConnect:  nil,
		milter.StageHelo:     nil,
		milter.StageMailFrom: nil,
		milter.StageRcptTo:   {macroRcpt},
		milter.StageData:     nil,
		milter.StageEOH:      nil,
		milter.StageEOM:      {macroQueueID},
	}
}

// take reads a macro once. A macro without a value is not sent, and the
// library keeps what the last command brought: without the deletion a
// recipient could be taken for the one before it.
func take(m *milter.Modifier, name string) (string, bool) {
	v, ok := m.Macros[name]
	delete(m.Macros, name)
	return v, ok && v != ""
}

// queueID is the MTA's name for the message, or "" if it is not the plain
// word that it ought to be.
func queueID(m *milter.Modifier) string {
	id, ok := take(m, macroQueueID)
	if !ok || !isQueueID(id) {
		return ""
	}
	return id
}

func isQueueID(s string) bool {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if !('0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z') {
			return false
		}
	}
	return len(s) <= 32 && s != ""
}
