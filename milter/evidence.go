package milter

import (
	"context"
	"errors"
	"io"
	"slices"

	"stile/metrics"
	"stile/quarantine"
	"stile/verdict"
)

// original is the message as evidence, and what became of it.
type original struct {
	quarantine.Original
	state string // one of quarantine's evidence states
}

// keepsOriginal reports whether the original is kept for this mailbox: what it
// refuses, and what it gets in no other form.
func (d decision) keepsOriginal(replaced bool) bool { return d.outcome == verdict.Refuse || replaced }

// kind is what the mailbox's decision says of the sender.
func (d decision) kind() quarantine.Kind {
	switch {
	// Whoever has a friend's message can send it again and again.
	case d.outcome == verdict.Accept && !slices.Contains(d.accepted.Flags(), verdict.Duplicate):
		return quarantine.KindAccepted
	case d.verdict.ClaimsListed():
		return quarantine.KindClaimed
	}
	return quarantine.KindOther
}

// better is the kind that stands higher on the list.
func better(a, b quarantine.Kind) quarantine.Kind {
	if slices.Index(quarantine.Kinds, a) <= slices.Index(quarantine.Kinds, b) {
		return a
	}
	return b
}

// preserve seals the original, if a mailbox wants it kept, and returns when it
// is durable; called again, it does what is left to do. For want of room a
// message waits, unless it can be refused openly, or diverted where the MTA
// would bounce it: then the state says so.
func (s *session) preserve(ctx context.Context, c *verdict.Case, all []decision) error {
	// Another decision does not make it another message.
	if s.msg.original.state == quarantine.EvidenceKept {
		return nil
	}
	s.msg.original = original{state: quarantine.EvidenceNone}
	replaced := bodyLimit(all) > 0
	if !slices.ContainsFunc(all, func(d decision) bool { return d.keepsOriginal(replaced) }) {
		return nil
	}
	if s.server.o.Evidence == nil {
		return lossOf(all)
	}
	o := &s.msg.original
	o.Original = s.original(c, all)
	err := s.seal(ctx, o.Original)
	switch {
	case err == nil:
		o.state = quarantine.EvidenceKept
		s.server.o.Metrics.Evidence(metrics.Kept)
		return nil
	case !errors.Is(err, quarantine.ErrNoRoom):
		s.server.o.Metrics.Evidence(metrics.Failed)
		return err
	}
	s.server.o.Metrics.Evidence(metrics.Full)
	o.state = quarantine.EvidenceFull
	// A friend's mail is not lost for want of room.
	if o.Kind != quarantine.KindOther {
		return err
	}
	if s.simulated {
		return nil
	}
	// One answer for all recipients: 550 would keep it from the others, and 250
	// would say that it was taken for all.
	if s.left(all) > 0 {
		return err
	}
	return nil
}

// errLoss: nothing of the original would be left.
var errLoss = errors.New("milter: the message is to be replaced and its original cannot be kept")

// lossOf is what it means that nothing is kept.
func lossOf(all []decision) error {
	if bodyLimit(all) > 0 {
		return errLoss
	}
	return nil
}

// original describes the message: the mailboxes that want it kept, and the best
// that can be said of its sender.
func (s *session) original(c *verdict.Case, all []decision) quarantine.Original {
	claim := c.Claim()
	o := quarantine.Original{
		ID: s.msg.id, Kind: quarantine.KindOther, Size: s.msg.size,
		AddressHash: claim.Hash(s.server.o.Store.HashKey()),
	}
	replaced := bodyLimit(all) > 0
	for _, d := range all {
		o.Kind = better(o.Kind, d.kind())
		if !d.keepsOriginal(replaced) {
			continue
		}
		if o.Policy == "" {
			o.Policy = d.policy
		} else {
			o.More++
		}
	}
	return o
}

// seal seals the message as it was handed over.
func (s *session) seal(ctx context.Context, o quarantine.Original) error {
	// What is over max_message was not kept by the spool either; a part is not
	// the original.
	if !s.msg.whole() {
		return quarantine.ErrNoRoom
	}
	return s.server.o.Evidence.Seal(ctx, o, s.msg.writeTo)
}

// discard removes an original of which no record was made, so that the sender's
// retry does not keep it twice. Where the store did not say whether it made one,
// it stays.
func (s *session) discard(ctx context.Context, all []decision) {
	if s.msg.original.state != quarantine.EvidenceKept {
		return
	}
	if ctx.Err() != nil {
		return
	}
	for _, d := range all {
		if d.record.ID != "" {
			return
		}
	}
	if err := s.server.o.Evidence.Discard(s.msg.original.Original); err != nil {
		s.log.store(&s.msg, "an original without a record was not removed", err)
	}
}

// whole reports whether every octet that was handed over was kept.
func (m *message) whole() bool {
	return m.size == int64(m.headerSize)+m.rest.kept+int64(len("\r\n"))+m.body.kept
}

// writeTo writes the message as it was handed over, octet for octet.
func (m *message) writeTo(w io.Writer) error {
	for _, f := range m.header {
		if _, err := io.WriteString(w, f.Name+":"+f.Value+"\r\n"); err != nil {
			return err
		}
	}
	if _, err := io.Copy(w, m.rest.section()); err != nil {
		return err
	}
	if _, err := io.WriteString(w, "\r\n"); err != nil {
		return err
	}
	_, err := io.Copy(w, m.body.section())
	return err
}
