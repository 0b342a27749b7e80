package milter

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"strconv"
	"strings"

	"stile/fence"
	"stile/metrics"
	"stile/quarantine"
	"stile/verdict"
)

// cause is the constant word by which the log names what went wrong.
type cause string

// The causes of a deferral.
const (
	causeVerdict    cause = "verdict"    // judging could not decide; the reason says why
	causeOrder      cause = "order"      // a command was out of order
	causeFrame      cause = "frame"      // a frame was not as the protocol has it
	causeNoMacro    cause = "no-macro"   // {rcpt_addr} did not come with RCPT
	causeRecipients cause = "recipients" // too many recipients
	causeForged     cause = "forged"     // too many forged fields
	causeSpool      cause = "spool"      // the body could not be kept
	causeArgument   cause = "argument"   // the MTA might not find a recipient to be taken out
	causeRoom       cause = "room"       // too many bodies that take others' places are in hand
	causeRender     cause = "render"     // the message could not be rendered
	causeStamp      cause = "stamp"      // the stamp could not be made
	causeActions    cause = "actions"    // the session began before a reload that needs more of the MTA; the next one will do
	causeEvidence   cause = "evidence"   // the original could not be kept
	causeStore      cause = "store"      // the record could not be made durable
	causeSend       cause = "send"       // the modifications could not be sent
	causePanic      cause = "panic"      // a bug; a line of its own says where
)

// causeOf names an error of prepare.
func causeOf(err error) cause {
	switch {
	case errors.Is(err, errArgument):
		return causeArgument
	case errors.Is(err, errRender):
		return causeRender
	case errors.Is(err, errActions):
		return causeActions
	default:
		return causeStamp
	}
}

// What there is to say of a connection.
const (
	connBadFrame  = "a frame is not as the protocol has it; connection closed"
	connPoorOffer = "the MTA does not offer leading spaces (HDR_LEADSPC), SKIP, the choice of macros (SETSYMLIST) " +
		"and changes of header, recipients and, where a mailbox needs it, body; connection closed"
	connReply  = "a bug: an answer to a command that takes none; connection closed"
	connUnsent = "an answer could not be sent; connection closed"
	connIdle   = "nothing came for too long; connection closed"
	connSlow   = "a frame did not come whole in time; connection closed"
	connFull   = "too many sessions; connection closed"
)

// logger writes what happens, in words of our own and validated values only.
type logger struct{ *slog.Logger }

// connection says why a connection ends.
func (l logger) connection(what string) { l.Warn("milter", slog.String("event", what)) }

// line begins every line of a message.
func (l logger) line(level slog.Level, m *message, more ...slog.Attr) {
	l.LogAttrs(context.Background(), level, "message", append([]slog.Attr{slog.String("queue", dash(m.queue))}, more...)...)
}

// outcome is the part that every decision has.
func outcome(id, policy string, o verdict.Outcome, r verdict.Reason) []slog.Attr {
	if r == "" {
		r = metrics.NoReason
	}
	return []slog.Attr{
		slog.String("id", id), slog.String("policy", policy),
		slog.String("verdict", string(o)), slog.String("reason", string(r)),
	}
}

func (l logger) accepted(s *session, d decision, hidden fence.Counts) {
	attrs := append(outcome(s.msg.id, d.policy, d.outcome, ""),
		slog.String("from", d.accepted.Entry()), slog.String("d", d.accepted.Domain()),
		slog.String("flags", words(d.accepted.Flags())), slog.String("hidden", hidden.String()),
		slog.Int64("size", s.msg.size), slog.String("client", dash(s.client)))
	// The original has the same id.
	if s.msg.original.state == quarantine.EvidenceKept {
		attrs = append(attrs, slog.String("evidence", s.msg.original.state))
	}
	l.line(slog.LevelInfo, &s.msg, attrs...)
}

// words joins flags by commas.
func words(flags []verdict.Flag) string {
	if len(flags) == 0 {
		return metrics.NoReason
	}
	all := make([]string, 0, len(flags))
	for _, f := range flags {
		all = append(all, string(f))
	}
	return strings.Join(all, ",")
}

func (l logger) refused(s *session, d decision) {
	attrs := append(outcome(d.record.ID, d.policy, d.outcome, d.reason),
		slog.String("address", dash(d.record.Address)), slog.String("addr", dash(d.record.AddressHash)),
		slog.String("proved", d.record.Proved), slog.Int64("size", s.msg.size), slog.String("client", dash(s.client)))
	attrs = append(attrs, slog.String("evidence", s.msg.original.state))
	// A repeat is named as the first is; its own original has its own id.
	if s.msg.original.state == quarantine.EvidenceKept && d.record.ID != s.msg.id {
		attrs = append(attrs, slog.String("original", s.msg.id))
	}
	if d.record.Signer != "" {
		attrs = append(attrs, slog.String("signer", d.record.Signer))
	}
	l.line(slog.LevelInfo, &s.msg, attrs...)
}

func (l logger) deferred(s *session, policy string, r verdict.Reason, why cause) {
	l.line(slog.LevelWarn, &s.msg, append(outcome(s.msg.id, policy, verdict.Defer, r),
		slog.String("cause", dash(string(why))), slog.String("client", dash(s.client)))...)
}

// passed is mail that no mailbox judged. Its body was not read to the end, so
// it has no size.
func (l logger) passed(s *session) {
	l.line(slog.LevelInfo, &s.msg, append(outcome(s.msg.id, metrics.Unguarded, verdict.Accept, ""),
		slog.String("client", dash(s.client)))...)
}

// noMailbox is a recipient that was answered 550.
func (l logger) noMailbox(s *session) {
	l.line(slog.LevelInfo, &s.msg, slog.String("id", s.msg.id),
		slog.String("event", "an address of a guarded domain is no mailbox; answered 550"),
		slog.String("client", dash(s.client)))
}

// putOff is a recipient that was answered 452.
func (l logger) putOff(s *session) {
	l.line(slog.LevelInfo, &s.msg, slog.String("id", s.msg.id),
		slog.String("event", "a recipient that cannot share a message with those before it; answered 452"),
		slog.String("client", dash(s.client)))
}

// store says what the store failed at. Its errors are constant texts.
func (l logger) store(m *message, event string, err error) {
	l.line(slog.LevelWarn, m, slog.String("id", m.id), slog.String("event", event), slog.Any("error", err))
}

// panicked says where it happened. It is called from the deferred function that
// recovers.
func (l logger) panicked(m *message) {
	l.line(slog.LevelError, m, slog.String("id", m.id),
		slog.String("event", "a bug: the handler of a message panicked"), slog.String("at", where()))
}

// where names the functions that were running, innermost first.
func where() string {
	const depth = 16
	pc := make([]uintptr, depth)
	frames := runtime.CallersFrames(pc[:runtime.Callers(5, pc)])
	var at []string
	for {
		f, more := frames.Next()
		if f.Function != "" {
			at = append(at, f.Function[strings.LastIndexByte(f.Function, '/')+1:]+":"+strconv.Itoa(f.Line))
		}
		if !more {
			return strings.Join(at, " < ")
		}
	}
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
