package milter

import (
	"context"
	"errors"

	"stile/config"
	"stile/metrics"
	"stile/quarantine"
	"stile/verdict"
)

// decision is what one mailbox decided.
type decision struct {
	policy   string          // a mailbox's id, or metrics.Unguarded
	mailbox  *config.Mailbox // nil: an address of a guarded domain that is none
	outcome  verdict.Outcome
	reason   verdict.Reason
	accepted *verdict.Accepted
	verdict  verdict.Verdict
	record   quarantine.Record // of a refusal, once it is durable

	alone   verdict.Verdict   // without a look at what was accepted before
	proof   verdict.Proof     // of what it accepts
	earlier []verdict.Earlier // what was accepted before by that proof
}

// decide takes the mailbox's verdict.
func (d *decision) decide(v verdict.Verdict) {
	d.verdict, d.outcome, d.reason, d.accepted = v, v.Outcome(), v.Reason(), v.Accepted()
}

// env is what judging is handed.
func (s *session) env() verdict.Env {
	return verdict.Env{
		Lookup:     s.lookup,
		Now:        s.server.o.Now(),
		MaxMessage: s.config.MaxMessage,
	}
}

// errPanicked is what a look-up that panicked answers.
var errPanicked = errors.New("milter: a look-up failed")

// lookup asks for a key. Judging may call it from a goroutine of its own,
// where a panic would end the process.
func (s *session) lookup(ctx context.Context, name string) (records []string, err error) {
	defer func() {
		if recover() != nil {
			s.log.panicked(&s.msg)
			records, err = nil, errPanicked
		}
	}()
	return s.server.o.Lookup(ctx, name)
}

// judge has each mailbox among the recipients judge the message, once. Mail for
// nobody of ours is judged by nobody.
func (s *session) judge(ctx context.Context, c *verdict.Case) []decision {
	var all []decision
	start := s.server.o.Now()
	for _, m := range s.mailboxes() {
		v := c.Judge(ctx, m.Policy())
		d := decision{policy: m.ID, mailbox: m, alone: v}
		d.decide(v)
		all = append(all, d)
	}
	if len(all) > 0 {
		s.server.o.Metrics.Verdict(s.server.o.Now().Sub(start))
	}
	for _, r := range s.msg.recipients {
		if r.mailbox == nil {
			// Nobody's: no mailbox is addressed.
			return append(all, decision{policy: metrics.Unguarded, outcome: verdict.Refuse, reason: verdict.NotAddressed})
		}
	}
	return all
}

// anyDeferred is the reason of the first mailbox that could not decide.
func (s *session) anyDeferred(all []decision) (verdict.Reason, bool) {
	for _, d := range all {
		if d.outcome == verdict.Accept {
			continue
		}
		if d.outcome == verdict.Refuse {
			continue
		}
		// Judging ended because stile does.
		if s.server.base.Err() != nil {
			return verdict.Shutdown, true
		}
		return d.reason, true
	}
	return "", false
}

// record makes a record of every refusal and returns when all are durable.
func (s *session) record(ctx context.Context, c *verdict.Case, all []decision) error {
	for i := range all {
		d := &all[i]
		if d.outcome == verdict.Accept {
			continue
		}
		// It was settled once already, and another copy was first.
		if d.record.ID != "" {
			continue
		}
		d.record = s.sanitized(c, *d)
		id, err := s.server.o.Store.Add(ctx, d.record)
		if err != nil {
			s.server.o.Metrics.QuarantineWrite(metrics.Failed)
			d.record = quarantine.Record{}
			return err
		}
		if id == d.record.ID {
			s.server.o.Metrics.QuarantineWrite(metrics.Stored)
		} else {
			s.server.o.Metrics.QuarantineWrite(metrics.Folded)
		}
		// A repeat is counted in the row of the first, and named as it is.
		d.record.ID = id
	}
	return nil
}

// sanitized is all that is kept of a refused message.
func (s *session) sanitized(c *verdict.Case, d decision) quarantine.Record {
	claim := c.Claim()
	r := quarantine.Record{
		ID:           s.msg.id,
		Time:         s.server.o.Now(),
		Policy:       d.policy,
		Reason:       d.reason,
		Address:      claim.Reduced(),
		AddressHash:  claim.Hash(s.server.o.Store.HashKey()),
		Proved:       d.verdict.Proved(),
		ClaimsListed: d.verdict.ClaimsListed(),
		Size:         s.msg.size,
		SHA256:       s.msg.digest(),
		QueueID:      s.msg.queue,
		ClientIP:     s.client,
		Evidence:     s.msg.original.state,
	}
	if claim.Known() && r.Address == "" {
		r.Address = quarantine.Withheld
	}
	if d.reason == verdict.Misaligned {
		r.Signer = string(c.Signer())
	}
	return r
}

// remember notes the keys by which the message verified, so that a flood of
// forged selectors cannot keep them from being looked up. It decides nothing,
// so its failure is no reason to defer.
func (s *session) remember(ctx context.Context, c *verdict.Case) {
	keys := c.VerifiedKeys()
	if len(keys) == 0 {
		return
	}
	if err := s.server.o.Store.RememberKeys(ctx, keys); err != nil {
		s.log.store(&s.msg, "the keys that verified were not kept", err)
	}
}

// report counts and logs what was decided.
func (s *session) report(all []decision, e edits) {
	now := s.server.o.Now()
	s.server.o.Metrics.ForgedRemoved(e.forged)
	s.server.o.Metrics.Hidden(e.carriers)
	if len(all) == 0 {
		s.server.o.Metrics.Message(metrics.Unguarded, verdict.Accept, "", now)
		s.log.passed(s)
	}
	for _, d := range all {
		s.server.o.Metrics.Message(d.policy, d.outcome, d.reason, now)
		if d.mailbox != nil {
			s.server.o.Metrics.DKIM(d.outcome, d.reason)
		}
		if d.accepted != nil {
			s.log.accepted(s, d, e.hidden)
		} else {
			s.log.refused(s, d)
		}
	}
}
