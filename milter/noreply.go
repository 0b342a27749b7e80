package milter

import (
	"bytes"
	"encoding/binary"

	"github.com/emersion/go-milter"
)

// wantNoReply are the commands that are not answered, as far as the MTA offers
// that: a round trip for each field is most of what a small message costs. No
// verdict leaves at any of them. RCPT may be answered 550, and an answer to
// BODY is what ends a body that nobody judges, so these two stay answered.
const wantNoReply = milter.OptNoConnReply | milter.OptNoHeloReply | milter.OptNoMailReply |
	milter.OptNoHeaderReply | milter.OptNoEOHReply

// noReplyTo is the bit that leaves a command unanswered, 0 if there is none
// that is asked for.
func noReplyTo(code milter.Code) milter.OptProtocol {
	switch code {
	case milter.CodeConn:
		return milter.OptNoConnReply
	case milter.CodeHelo:
		return milter.OptNoHeloReply
	case milter.CodeMail:
		return milter.OptNoMailReply
	case milter.CodeHeader:
		return milter.OptNoHeaderReply
	case milter.CodeEOH:
		return milter.OptNoEOHReply
	default:
		return 0
	}
}

// continueReply is the frame of the answer "continue".
const continueReply = "\x00\x00\x00\x01c"

// replies stands between what the library writes and the MTA. The library
// knows nothing of commands that are not answered and answers every one.
type replies struct {
	command milter.Code        // the one in hand
	unasked milter.OptProtocol // the no-reply bits in force
}

// negotiate notes what was agreed on: what is wanted and offered.
func (r *replies) negotiate(o offer) { r.unasked = wantNoReply & o.protocol }

// silent reports whether the MTA waits for no answer to the command in hand.
func (r *replies) silent() bool { return noReplyTo(r.command)&r.unasked != 0 }

// pass is what the MTA gets of a piece that the library writes. It is false if
// the MTA would take the piece for the answer to another command.
func (r *replies) pass(p []byte) ([]byte, bool) {
	if r.command == milter.CodeOptNeg {
		return r.answerOffer(p)
	}
	if !r.silent() {
		return p, true
	}
	// The library writes a frame of this size in one piece.
	return nil, string(p) == continueReply
}

// answerOffer adds the no-reply bits to the library's answer, a frame of
// version, actions, protocol and macros. The MTA looks at the bits, not at the
// version (Postfix, milter8.c).
func (r *replies) answerOffer(p []byte) ([]byte, bool) {
	const protocol = 4 + 1 + 4 + 4 // behind length, command, version and actions
	if len(p) < protocol+4 {
		return nil, false
	}
	answer := bytes.Clone(p)
	bits := binary.BigEndian.Uint32(p[protocol:]) | uint32(r.unasked)
	binary.BigEndian.PutUint32(answer[protocol:], bits)
	return answer, true
}
