package quarantine

import (
	"context"
	"errors"
	"maps"
	"time"
)

// expired is how many originals Prune removes at once.
const expired = 500

// Prune removes the originals that are older than Keep at the time now and
// returns their number. Their records say so first: one that says "kept" has
// its original. Then it counts the directory anew, so that there is room where
// the administrator removed files. It should run every few minutes.
func (e *Evidence) Prune(ctx context.Context, s *Store, now time.Time) (removed int, err error) {
	e.sweep.Lock()
	defer e.sweep.Unlock()
	if e.o.Keep > 0 {
		if removed, err = e.expire(ctx, s, now.Add(-e.o.Keep)); err != nil {
			return removed, err
		}
	}
	return removed, e.count()
}

func (e *Evidence) expire(ctx context.Context, s *Store, before time.Time) (removed int, err error) {
	for {
		batch, err := e.olderThan(before)
		if err != nil {
			return removed, err
		}
		if len(batch) == 0 {
			return removed, nil
		}
		if err := s.expire(ctx, batch); err != nil {
			return removed, err
		}
		for _, o := range batch {
			if err := e.drop(o, o.Size); err != nil {
				return removed, err
			}
			removed++
		}
	}
}

// olderThan is some of the originals of before that time.
func (e *Evidence) olderThan(t time.Time) ([]Original, error) {
	var batch []Original
	err := each(e.o.Dir, func(o Original) error {
		if o.Time().Before(t) {
			batch = append(batch, o)
		}
		if len(batch) == expired {
			return errFound
		}
		return nil
	})
	if errors.Is(err, errFound) {
		err = nil
	}
	return batch, err
}

// Discard removes an original that nothing refers to.
func (e *Evidence) Discard(o Original) error {
	info, err := e.root.Lstat(o.name())
	if err != nil {
		return evidenceError(err)
	}
	return e.drop(o, info.Size())
}

// drop removes a file and counts it out. One that cannot be removed still
// counts.
func (e *Evidence) drop(o Original, size int64) error {
	if err := e.root.Remove(o.name()); err != nil {
		return evidenceError(err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.ledger.remove(o, size)
	e.note(entry{o, size, false})
	return nil
}

// count makes the ledger of the directory as it is. Sealing goes on meanwhile:
// what it does is in the journal, which beats what was read.
func (e *Evidence) count() error {
	e.begin()
	fresh := newLedger(e.o.MaxBytes)
	err := each(e.o.Dir, func(o Original) error {
		e.mu.Lock()
		defer e.mu.Unlock()
		if _, ours := e.journal[o.name()]; !ours {
			fresh.add(o, o.Size)
		}
		return nil
	})
	if err != nil {
		fresh = nil
	}
	e.finish(fresh)
	return err
}

// begin opens the journal.
func (e *Evidence) begin() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.journal = maps.Clone(e.sealing)
}

// finish closes it and takes the new ledger, if there is one.
func (e *Evidence) finish(fresh *ledger) {
	e.mu.Lock()
	defer e.mu.Unlock()
	journal := e.journal
	e.journal = nil
	if fresh == nil {
		return
	}
	for _, n := range journal {
		if n.there {
			fresh.add(n.Original, n.size)
		}
	}
	e.ledger = fresh
}
