package quarantine

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"time"
)

const (
	foldWithin = time.Hour      // from a row's first time
	pruneBatch = 1000           // rows deleted at once, so that records need not wait
	maxKeys    = 100000         // names of keys remembered
	maxProofs  = 1000000        // signatures remembered
	seenAgain  = 24 * time.Hour // a known key is noted again after this time
	readyFor   = 5 * time.Second
	readySize  = 64 << 10 // octets that Ready writes, more than any record takes
)

// Store is a store that is written to. It is safe for concurrent use.
type Store struct {
	*Reader
	writer *writer
	limits Limits
	keys   int   // names of keys remembered, at most
	proofs int64 // signatures remembered, at most
	now    func() time.Time
	closed sync.Once
	noted  noted

	mu      sync.Mutex // of what follows
	checked time.Time
	ready   error
}

// Close waits for the transaction in hand and ends the store. Jobs that wait
// get ErrClosed.
func (s *Store) Close() error {
	err := ErrClosed
	// The writer goes last: the last connection that may write tidies the WAL up.
	s.closed.Do(func() { err = errors.Join(s.Reader.Close(), s.writer.close()) })
	return err
}

// Add keeps a record and returns when it is durable. A repeat - the same
// policy, reason and address hash as a row whose first time is less than an
// hour away - is counted in that row, and the row's ID is returned; a record
// without an address hash folds with none. The record's Last and Count are not
// read. A value that does not fit is ErrRecord; on any error the caller must
// not let the mail go.
func (s *Store) Add(ctx context.Context, r Record) (id string, err error) {
	r.Last, r.Count = r.Time, 1
	if r.ClientIP != "" {
		r.ClientIP = canonicalIP(r.ClientIP)
		if r.ClientIP == "" {
			r.ClientIP = "-" // fits nothing
		}
	}
	if err := r.check(); err != nil {
		return "", err
	}
	var row string
	err = s.writer.do(ctx, func(ctx context.Context) error {
		var err error
		row, err = s.writer.add(ctx, &r)
		return err
	})
	if err != nil {
		return "", err
	}
	return row, nil
}

// add counts the record in the row that it repeats, or makes a row of it.
func (w *writer) add(ctx context.Context, r *Record) (string, error) {
	at := r.Time.UnixMilli()
	hour := foldWithin.Milliseconds()
	var row string
	err := w.repeat.QueryRowContext(ctx, r.Policy, string(r.Reason), r.AddressHash, at-hour, at+hour).Scan(&row)
	if errors.Is(err, sql.ErrNoRows) {
		return r.ID, w.put(ctx, r)
	}
	if err != nil {
		return "", classify(err)
	}
	_, err = w.fold.ExecContext(ctx, at, row, r.Policy)
	return row, classify(err)
}

func (w *writer) put(ctx context.Context, r *Record) error {
	_, err := w.insert.ExecContext(ctx, r.ID, r.Policy, r.Time.UnixMilli(), r.Last.UnixMilli(), string(r.Reason),
		r.Address, r.AddressHash, r.Proved, r.ClaimsListed, r.Signer, r.Size, r.SHA256, r.QueueID, r.ClientIP,
		r.Evidence, r.Count)
	return classify(err)
}

// Purge deletes the records whose first time is before that one, and the
// sightings of before it, and returns the number of records.
func (s *Store) Purge(ctx context.Context, before time.Time) (int64, error) {
	n, err := s.deleteAll(ctx, sqlDeleteBefore, before.UnixMilli(), pruneBatch)
	if err != nil {
		return n, err
	}
	_, err = s.deleteAll(ctx, sqlSightingsUntil, before.UnixMilli(), pruneBatch)
	return n, err
}

// Prune deletes what is over the limits: records older than Keep, then the
// oldest until Max are left; the same of sightings; and of the proofs of accepted mail those that are
// older than a year, then the oldest over a million. It returns the number of
// records. It should run every few minutes: between two runs the store grows
// as mail comes.
func (s *Store) Prune(ctx context.Context) (deleted int64, err error) {
	if s.limits.Keep > 0 {
		if deleted, err = s.Purge(ctx, s.now().Add(-s.limits.Keep)); err != nil {
			return deleted, err
		}
	}
	if s.limits.Max > 0 {
		n, err := s.deleteOver(ctx, sqlCount, sqlDeleteOldest, s.limits.Max)
		deleted += n
		if err != nil {
			return deleted, err
		}
		if _, err := s.deleteOver(ctx, sqlCountSightings, sqlOldestSightings, s.limits.Max); err != nil {
			return deleted, err
		}
	}
	return deleted, s.pruneProofs(ctx)
}

// deleteOver deletes the oldest rows until most are left.
func (s *Store) deleteOver(ctx context.Context, count, oldest string, most int64) (deleted int64, err error) {
	var rows int64
	if err := s.db.QueryRowContext(ctx, count).Scan(&rows); err != nil {
		return 0, ended(ctx, err)
	}
	for over := rows - most; over > 0; {
		n, err := s.deleteBatch(ctx, oldest, min(over, pruneBatch))
		if err != nil {
			return deleted, err
		}
		deleted, over = deleted+n, over-max(n, 1)
	}
	return deleted, nil
}

// deleteAll deletes in batches until none is full.
func (s *Store) deleteAll(ctx context.Context, query string, args ...any) (deleted int64, err error) {
	for {
		n, err := s.deleteBatch(ctx, query, args...)
		deleted += n
		if err != nil || n < pruneBatch {
			return deleted, err
		}
	}
}

func (s *Store) deleteBatch(ctx context.Context, query string, args ...any) (deleted int64, err error) {
	var n int64
	err = s.writer.do(ctx, func(ctx context.Context) error {
		r, err := s.writer.conn.ExecContext(ctx, query, args...)
		if err != nil {
			return classify(err)
		}
		n, err = r.RowsAffected()
		return classify(err)
	})
	if err != nil {
		return 0, err
	}
	return n, nil
}

// expire notes in the records of originals that they are kept no longer.
func (s *Store) expire(ctx context.Context, gone []Original) error {
	return s.writer.do(ctx, func(ctx context.Context) error {
		for _, o := range gone {
			if _, err := s.writer.conn.ExecContext(ctx, sqlExpire, EvidenceExpired, o.ID, EvidenceKept); err != nil {
				return classify(err)
			}
		}
		return nil
	})
}

// RememberKeys notes keys, s._domainkey.d, by which a signature verified here.
// Kept are the 100,000 that were noted last, each as the SHA-256 of its name. A
// key that was noted within a day costs no write.
func (s *Store) RememberKeys(ctx context.Context, names []string) error {
	now := s.now()
	var due [][]byte
	for _, name := range names {
		hashed := keyName(name)
		if s.noted.after(hashed, now.Add(-seenAgain)) {
			continue
		}
		seen, err := s.seen(ctx, hashed)
		if err != nil {
			return err
		}
		if now.Sub(seen) >= seenAgain {
			due = append(due, hashed)
		} else {
			s.noted.add(hashed, seen)
		}
	}
	if len(due) == 0 {
		return nil
	}
	err := s.writer.do(ctx, func(ctx context.Context) error {
		for _, name := range due {
			if _, err := s.writer.conn.ExecContext(ctx, sqlRemember, name, now.UnixMilli()); err != nil {
				return classify(err)
			}
		}
		_, err := s.writer.conn.ExecContext(ctx, sqlForget, s.keys)
		return classify(err)
	})
	if err != nil {
		return err
	}
	for _, name := range due {
		s.noted.add(name, now)
	}
	return nil
}

// Ready reports whether a record could be made durable now: it makes a row of
// its own durable that is larger than any record, so that it fails before they
// do. That happens at most every five seconds; in between it repeats its
// answer.
func (s *Store) Ready(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	if !s.checked.IsZero() && now.Sub(s.checked) < readyFor {
		return s.ready
	}
	err := s.writer.do(ctx, func(ctx context.Context) error {
		_, err := s.writer.conn.ExecContext(ctx, sqlReady, make([]byte, readySize))
		return classify(err)
	})
	// That a caller's time was over says nothing of the store.
	if ctx.Err() != nil {
		return err
	}
	s.ready, s.checked = err, now
	return err
}
