package quarantine

import (
	"context"
	"database/sql"
	"errors"
	"os"
)

// maxBatch bounds the jobs of one transaction. Every transaction costs a sync
// of the disk, so what queues up during one shares the next.
const maxBatch = 128

// writer is the one connection that writes, and the goroutine that uses it.
type writer struct {
	db   *sql.DB
	conn *sql.Conn
	path string
	file os.FileInfo // of the database when it was opened
	most int         // jobs of one transaction

	repeat, fold, insert, proof, keepProof, keepSighting *sql.Stmt

	jobs    chan job
	quit    chan struct{} // closed to stop the goroutine
	stopped chan struct{} // closed when it has
}

// job is a change to the database. run may be called twice, the first time in
// a transaction that is rolled back.
type job struct {
	ctx  context.Context // its caller's
	run  func(ctx context.Context) error
	done chan error // takes one value without waiting
}

// do returns when the change is durable, or failed.
func (w *writer) do(ctx context.Context, run func(ctx context.Context) error) error {
	j := job{ctx, run, make(chan error, 1)}
	select {
	case w.jobs <- j:
	case <-ctx.Done():
		return late(ctx)
	case <-w.stopped:
		return ErrClosed
	}
	select {
	case err := <-j.done:
		return err
	case <-ctx.Done():
		return late(ctx) // it becomes durable all the same if it was begun
	case <-w.stopped:
		return j.last()
	}
}

// last is the result of a job whose writer has stopped.
func (j job) last() error {
	select {
	case err := <-j.done:
		return err
	default:
		return ErrClosed
	}
}

func (w *writer) loop() {
	defer close(w.stopped)
	for {
		select {
		case <-w.quit:
			return
		case j := <-w.jobs:
			w.commit([]job{j}, w.jobs)
		}
	}
}

// gather adds to the batch what else waits. It waits for nothing itself: the
// sync of the transaction before was time enough to queue up.
func (w *writer) gather(batch []job, more <-chan job) []job {
	for len(batch) < w.most {
		select {
		case j := <-more:
			batch = append(batch, j)
		default:
			return batch
		}
	}
	return batch
}

// commit makes the batch durable, and what joins it from more, and answers each
// job. If one job fails, none of the transaction counts, and each gets one of
// its own.
func (w *writer) commit(batch []job, more <-chan job) {
	ours, err := w.transact(&batch, more)
	if ours && len(batch) > 1 {
		for _, j := range batch {
			w.commit([]job{j}, nil)
		}
		return
	}
	for _, j := range batch {
		j.done <- err
	}
}

// transact runs the batch in one transaction. What is asked for while it runs
// joins it: it costs no sync of its own. ours says that a job failed, not the
// transaction.
func (w *writer) transact(batch *[]job, more <-chan job) (ours bool, err error) {
	// A caller's context ends its own waiting only: cut short, a transaction
	// would fail for all.
	ctx := context.Background()
	if err := w.moved(); err != nil {
		return false, err
	}
	if _, err := w.conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return false, classify(err)
	}
	defer func() {
		// A panic in a job must end neither the process nor the writer.
		if recover() != nil {
			ours, err = true, ErrInternal
		}
		if err != nil {
			// SQLite may have rolled back by itself, which is as good.
			_, _ = w.conn.ExecContext(ctx, "ROLLBACK")
		}
	}()
	for i := 0; i < len(*batch); i++ {
		if err := (*batch)[i].unlessLate(ctx); err != nil {
			return true, err
		}
		*batch = w.gather(*batch, more)
	}
	_, err = w.conn.ExecContext(ctx, "COMMIT")
	return false, classify(err)
}

// unlessLate runs the job, but not if its caller has been told by now that it is
// not done: the transaction may have waited long for the lock.
func (j job) unlessLate(ctx context.Context) error {
	if j.ctx.Err() != nil {
		return late(j.ctx)
	}
	return j.run(ctx)
}

// moved reports a database file that is no longer at its path: what is written
// to it would be durable and lost.
func (w *writer) moved() error {
	now, err := os.Stat(w.path)
	if errors.Is(err, os.ErrNotExist) {
		return ErrMoved
	}
	if err != nil {
		return classifyFile(err)
	}
	if !os.SameFile(now, w.file) {
		return ErrMoved
	}
	return nil
}

// close stops the goroutine and disconnects. A job that waits still is not
// done.
func (w *writer) close() error {
	close(w.quit)
	<-w.stopped
	for _, s := range []*sql.Stmt{w.repeat, w.fold, w.insert, w.proof, w.keepProof, w.keepSighting} {
		s.Close()
	}
	w.conn.Close()
	return classify(w.db.Close())
}
