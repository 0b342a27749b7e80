package milter

import (
	"context"
	"errors"

	"stile/fence"
	"stile/quarantine"
	"stile/verdict"
)

// recall judges what the mailboxes accept in the light of what each accepted
// before: a repeat is flagged, a replay refused.
func (s *session) recall(ctx context.Context, c *verdict.Case, all []decision) error {
	for i := range all {
		d := &all[i]
		if d.alone.Outcome() != verdict.Accept {
			continue
		}
		var err error
		if d.proof, err = c.Proof(ctx, d.alone.Accepted()); err != nil {
			return err
		}
		if d.earlier, err = s.server.o.Store.Earlier(ctx, d.policy, d.proof); err != nil {
			return err
		}
		d.decide(c.Again(d.mailbox.Policy(), d.alone, d.proof, d.earlier))
	}
	return nil
}

// keep remembers what was accepted, and what the message hides, and returns
// when that is durable. The error
// is quarantine.ErrRaced if another copy was first since recall.
func (s *session) keep(ctx context.Context, all []decision, carriers []fence.Carrier) error {
	var hidden []quarantine.Hidden
	for _, c := range carriers {
		hidden = append(hidden, quarantine.Hidden{Place: c.Place, Class: c.Class, Count: c.N, Digest: c.Digest})
	}
	var accepted []quarantine.Acceptance
	for _, d := range all {
		if d.outcome == verdict.Accept {
			accepted = append(accepted, quarantine.Acceptance{
				Policy: d.policy, Proof: d.proof, Earlier: d.earlier, Time: s.server.o.Now(),
				ID: s.msg.id, Hidden: hidden,
			})
		}
	}
	if len(accepted) == 0 {
		return nil
	}
	return s.server.o.Store.Keep(ctx, accepted)
}

// reasonOf is the reason to defer for an error of recall.
func reasonOf(err error) (verdict.Reason, cause) {
	if errors.Is(err, verdict.ErrBody) {
		return verdict.Internal, causeSpool
	}
	return verdict.Store, causeStore
}
