package milter

import (
	"context"
	"errors"
	"io"

	"stile/metrics"
	"stile/quarantine"
	"stile/verdict"
)

// errNoRoom: the original has to be kept, there is no room, and to refuse it
// openly is not the answer.
var errNoRoom = errors.New("milter: there is no room for the original")

// original is the message as evidence, before its file is made: the zero value
// where nobody wants it kept.
type original struct {
	quarantine.Original
	state string // one of quarantine's evidence states
}

// keepsOriginal reports whether the original is kept for this mailbox.
func (d decision) keepsOriginal() bool { return d.outcome == verdict.Refuse }

// keep seals the original, if a mailbox wants it kept, and returns when it is
// durable. What has no room is told by the state where it can be refused
// openly, and is an error where the message has to wait.
func (s *session) keep(ctx context.Context, c *verdict.Case, all []decision) error {
	s.msg.original = s.original(c, all)
	o := &s.msg.original
	if s.server.o.Evidence == nil {
		return nil
	}
	if o.Policy == "" {
		return nil
	}
	err := s.seal(ctx, o.Original)
	if err == nil {
		o.state = quarantine.EvidenceKept
		s.server.o.Metrics.Evidence(metrics.Kept)
		s.server.showHeld()
		return nil
	}
	if !errors.Is(err, quarantine.ErrNoRoom) {
		s.server.o.Metrics.Evidence(metrics.Failed)
		return err
	}
	o.state = quarantine.EvidenceFull
	s.server.o.Metrics.Evidence(metrics.Full)
	// A friend's mail is not lost for want of room.
	if o.Kind != quarantine.KindOther {
		return errNoRoom
	}
	// What the MTA would bounce is diverted.
	if s.simulated {
		return nil
	}
	// One answer for all recipients: 550 would keep it from the others.
	if s.left(all) > 0 {
		return errNoRoom
	}
	return nil
}

// original describes the message: the mailboxes that want it kept, and the best
// that can be said of its sender.
func (s *session) original(c *verdict.Case, all []decision) original {
	claim := c.Claim()
	o := original{state: quarantine.EvidenceNone}
	o.ID, o.Kind, o.Size = s.msg.id, quarantine.KindOther, s.msg.size
	o.AddressHash = claim.Hash(s.server.o.Store.HashKey())
	for _, d := range all {
		// Only a listed sender who is proved is accepted, by whichever mailbox.
		if d.outcome == verdict.Accept {
			o.Kind = quarantine.KindAccepted
		}
		if d.verdict.ClaimsListed() && o.Kind == quarantine.KindOther {
			o.Kind = quarantine.KindClaimed
		}
		if !d.keepsOriginal() {
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

// discard removes an original whose records were not made, so that the sender's
// retry does not keep it twice. Where the store did not say whether it made
// them, it stays.
func (s *session) discard(ctx context.Context) {
	if s.msg.original.state != quarantine.EvidenceKept || ctx.Err() != nil {
		return
	}
	if err := s.server.o.Evidence.Discard(s.msg.original.Original); err != nil {
		s.log.store(&s.msg, "an original without a record was not removed", err)
	}
	s.server.showHeld()
}

// openlyRefused reports whether there was no room for mail that can be refused
// openly.
func (s *session) openlyRefused() bool {
	return s.msg.original.state == quarantine.EvidenceFull && !s.simulated
}

// showHeld has the metrics show what is kept.
func (s *Server) showHeld() {
	for _, h := range s.o.Evidence.Held() {
		s.o.Metrics.EvidenceHeld(string(h.Kind), h.Files, h.Octets)
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
