package quarantine

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"slices"
	"time"

	"stile/verdict"
)

// keepProofs is how long a proof is remembered: a year, which is the most that
// max_age can be, and two days, by one of which a signed Date may have been
// ahead when its message was accepted.
const keepProofs = 367 * 24 * time.Hour

// Acceptance is one mailbox's acceptance of a message.
type Acceptance struct {
	Policy  string            // id of the mailbox
	Proof   verdict.Proof     // what it rests on
	Earlier []verdict.Earlier // what Earlier gave for it, and it was judged by
	Time    time.Time

	ID     string   // of the message; not read where it hides nothing
	Hidden []Hidden // what it hides
}

// Earlier is what a mailbox accepted before of what a proof rests on, in the
// order of the proof's signatures.
func (r *Reader) Earlier(ctx context.Context, policy string, p verdict.Proof) ([]verdict.Earlier, error) {
	if ctx.Err() != nil {
		return nil, late(ctx)
	}
	// Under WAL a reader waits for no writer, and a query that nobody can
	// interrupt costs half of one that needs two goroutines to watch for it.
	return earlier(context.WithoutCancel(ctx), r.proof, policy, p)
}

func earlier(ctx context.Context, proof *sql.Stmt, policy string, p verdict.Proof) ([]verdict.Earlier, error) {
	var all []verdict.Earlier
	for _, signature := range p.Signatures {
		var message []byte
		var first int64
		err := proof.QueryRowContext(ctx, policy, signature[:]).Scan(&message, &first)
		if errors.Is(err, sql.ErrNoRows) {
			continue
		}
		if err != nil {
			return nil, classify(err)
		}
		if len(message) != sha256.Size {
			return nil, ErrDamaged
		}
		all = append(all, verdict.Earlier{Signature: signature, Message: [sha256.Size]byte(message), First: time.UnixMilli(first).UTC()})
	}
	return all, nil
}

// Keep remembers acceptances and what the messages hide, all or none, and
// returns when that is durable.
// The first acceptance of a signature stays; a repeat adds what is new of its
// proof under the time of the first. ErrRaced says that the store no longer
// has what one of them was judged by: nothing is kept, and it is to be judged
// again. On any error the caller must not let the mail go.
func (s *Store) Keep(ctx context.Context, all []Acceptance) error {
	for _, a := range all {
		if err := a.check(); err != nil {
			return err
		}
	}
	return s.writer.do(ctx, func(ctx context.Context) error {
		for _, a := range all {
			if err := s.writer.keep(ctx, a); err != nil {
				return err
			}
			if err := s.writer.keepSightings(ctx, s.hashKey, a); err != nil {
				return err
			}
		}
		return nil
	})
}

// check reports an acceptance that the table would not take, or that would
// forget everything.
func (a Acceptance) check() error {
	if !validPolicy(a.Policy) {
		return ErrRecord
	}
	if !validTime(a.Time) {
		return ErrRecord
	}
	if len(a.Proof.Signatures) == 0 {
		return ErrRecord
	}
	return a.checkHidden()
}

func (w *writer) keep(ctx context.Context, a Acceptance) error {
	known, err := earlier(ctx, w.proof, a.Policy, a.Proof)
	if err != nil {
		return err
	}
	if !slices.EqualFunc(known, a.Earlier, sameEarlier) {
		return ErrRaced
	}
	first := a.Time.UnixMilli()
	for _, e := range known {
		first = min(first, e.First.UnixMilli())
	}
	for _, signature := range a.Proof.Signatures {
		if _, err := w.keepProof.ExecContext(ctx, a.Policy, signature[:], a.Proof.Message[:], first); err != nil {
			return classify(err)
		}
	}
	return nil
}

func sameEarlier(a, b verdict.Earlier) bool {
	return a.Signature == b.Signature && a.Message == b.Message && a.First.Equal(b.First)
}

// pruneProofs forgets the proofs that are past their time, then the oldest
// over the bound.
func (s *Store) pruneProofs(ctx context.Context) error {
	if _, err := s.deleteAll(ctx, sqlProofsUntil, s.now().Add(-keepProofs).UnixMilli(), pruneBatch); err != nil {
		return err
	}
	_, err := s.deleteOver(ctx, sqlCountProofs, sqlOldestProofs, s.proofs)
	return err
}
