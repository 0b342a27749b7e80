package quarantine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"

	"filippo.io/age"
)

// Seal keeps an original and returns when it is durable. write writes the
// message, o.Size octets in all; it is called once, and not where the quota has
// no room, which is ErrNoRoom. On any error nothing is kept and the caller must
// not let the mail go.
func (e *Evidence) Seal(ctx context.Context, o Original, write func(io.Writer) error) (err error) {
	if err := o.check(); err != nil {
		return err
	}
	if err := e.Ready(); err != nil {
		return err
	}
	size := e.sealedSize(o.Size)
	if err := e.reserve(o, size); err != nil {
		return err
	}
	kept := false
	defer func() {
		// Also when write panics. What cannot be removed takes room still.
		there := kept || !e.clear(o)
		e.settle(o, size, there)
	}()
	if err := e.seal(ctx, o, size, write); err != nil {
		return err
	}
	kept = true
	return nil
}

// reserve counts an original in before a byte of it is written, if there is
// room: of two that are sealed at once each sees the other.
func (e *Evidence) reserve(o Original, size int64) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	name := o.name()
	// An ID is made once; a second original under it would replace the first.
	if _, twice := e.sealing[name]; twice {
		return evidenceError(syscall.EEXIST)
	}
	if _, err := e.root.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
		return evidenceError(syscall.EEXIST)
	}
	if !e.ledger.fits(o, size) {
		return ErrNoRoom
	}
	e.ledger.add(o, size)
	e.sealing[name] = entry{o, size, true}
	e.note(e.sealing[name])
	return nil
}

// note writes into the journal, if there is one.
func (e *Evidence) note(n entry) {
	if e.journal != nil {
		e.journal[n.name()] = n
	}
}

// settle ends a reservation: the original is there, or nothing of it.
func (e *Evidence) settle(o Original, size int64, there bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.sealing, o.name())
	if !there {
		e.ledger.remove(o, size)
		e.note(entry{o, size, false})
	}
}

// clear removes what is there of an original that was not kept, and reports
// whether nothing is left. Both names are this original's alone, since reserve
// found neither.
func (e *Evidence) clear(o Original) bool {
	gone := true
	for _, name := range []string{temporary + o.name(), o.name()} {
		if err := e.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			gone = false
		}
	}
	return gone
}

// seal writes the file under another name, so that at every moment what has an
// original's name is whole and on disk.
func (e *Evidence) seal(ctx context.Context, o Original, size int64, write func(io.Writer) error) error {
	f, err := e.root.OpenFile(temporary+o.name(), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return evidenceError(err)
	}
	if err := e.encrypt(ctx, f, o, size, write); err != nil {
		_ = f.Close()
		return err
	}
	if err := e.sync(f); err != nil {
		_ = f.Close()
		return evidenceError(err)
	}
	if err := f.Close(); err != nil {
		return evidenceError(err)
	}
	if err := e.root.Rename(temporary+o.name(), o.name()); err != nil {
		return evidenceError(err)
	}
	// Without this the name may not be there after a power cut.
	if err := e.sync(e.dir); err != nil {
		return evidenceError(err)
	}
	return nil
}

// encrypt seals what write writes into f. Of the message no more than age's
// own buffer, 64 KiB, is in memory.
func (e *Evidence) encrypt(ctx context.Context, f io.Writer, o Original, size int64, write func(io.Writer) error) error {
	sealed := &counter{}
	to, err := age.Encrypt(io.MultiWriter(f, sealed), e.o.Recipients...)
	if err != nil {
		return evidenceError(err)
	}
	plain := &source{ctx: ctx, to: to, left: o.Size}
	if err := write(plain); err != nil {
		return plain.why(err)
	}
	if err := to.Close(); err != nil {
		return evidenceError(err)
	}
	// The quota was asked for this size, and less than was announced is not the
	// message.
	if sealed.n != size {
		return errSize
	}
	return nil
}

var errSize = fmt.Errorf("%w: the original is not of the size that was said", ErrEvidence)

// source passes a message on to be sealed, as far as its size was announced and
// its time is not over.
type source struct {
	ctx  context.Context
	to   io.Writer
	left int64
}

func (s *source) Write(p []byte) (int, error) {
	if s.ctx.Err() != nil {
		return 0, late(s.ctx)
	}
	// The disk does not get more than there was room for.
	if int64(len(p)) > s.left {
		return 0, errSize
	}
	n, err := s.to.Write(p)
	s.left -= int64(n)
	if err != nil {
		return n, evidenceError(err)
	}
	return n, nil
}

// why is the error of a write that failed: ours where it is, else the constant
// one, since the writer's may be anything.
func (s *source) why(err error) error {
	if s.ctx.Err() != nil {
		return late(s.ctx)
	}
	if errors.Is(err, ErrEvidence) {
		return err
	}
	return evidenceError(err)
}
