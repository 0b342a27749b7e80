package milter

import (
	"github.com/emersion/go-milter"

	"stile/quarantine"
)

// The answers. Texts are constant but for the message's id, so that a sender
// learns nothing from them but that: a deferral for a look-up and one for a
// full disk read the same. None holds "%", which the MTA would take for its own
// (milter-protocol: SMFIR_REPLYCODE).
var (
	replyNoMailbox = reply("550 5.1.1 No such mailbox here")
	replyAlone     = reply("452 4.5.3 Not in one message with the recipients before, send it again")
	replySkip      = milter.NewResponse(byte(milter.ActSkip), nil)
)

// replyTryLater keeps the message with its sender (RFC 3463: X.7.1).
func replyTryLater(id string) milter.Response {
	return reply("451 4.7.1 Message not decided, try again later (id " + id + ")")
}

// replyRefused is the same for every reason (RFC 3463: X.7.1).
func replyRefused(id string) milter.Response {
	return reply("550 5.7.1 Message refused (id " + id + ")")
}

// dismissal answers for a message that every mailbox refuses and nobody else
// gets: 550 if that is what all of them want, else 250 and no further.
func (s *session) dismissal(all []decision) milter.Response {
	// The MTA would send what it plays itself back, the stranger's text with it:
	// mail from sendmail(1), and bounces of its own (MILTER_README).
	if s.simulated {
		return milter.RespDiscard
	}
	// Nobody says 250 to a message whose original was to be kept and is not.
	if s.msg.original.state == quarantine.EvidenceFull {
		return replyRefused(all[0].record.ID)
	}
	for _, d := range all {
		if d.mailbox == nil {
			return milter.RespDiscard
		}
		if !d.mailbox.Reject {
			return milter.RespDiscard
		}
	}
	return replyRefused(all[0].record.ID)
}

// reply does not end what the library takes for a message, as its TempFail and
// Reject would.
func reply(text string) milter.Response {
	return milter.NewResponseStr(byte(milter.ActReplyCode), text)
}
