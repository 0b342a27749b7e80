package quarantine

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"filippo.io/age"
	"golang.org/x/sys/unix"
)

// What can be wrong with the evidence directory or with sealing into it.
var (
	// ErrNoRoom says that the quota has no room for this original. Nothing was
	// written and nothing is removed for it.
	ErrNoRoom = errors.New("quarantine: the quota has no room for the original")
	// ErrEvidence is in every other error; behind it stands what the system
	// said.
	ErrEvidence = errors.New("quarantine: the evidence directory cannot be used")
	// ErrShared says that others than the owner may enter the directory.
	ErrShared = errors.New("quarantine: the evidence directory must have mode 0700")
	// ErrHeld says that a second process wants to write to it.
	ErrHeld = errors.New("quarantine: another process writes to the evidence directory")
)

// EvidenceOptions are what an Evidence works with.
type EvidenceOptions struct {
	Dir        string          // absolute; it is made if only its last part is missing
	Recipients []age.Recipient // who can open the originals; one at least
	MaxBytes   int64           // octets of all originals together, sealed
	Keep       time.Duration   // age at which Prune removes one; 0: never
}

// Evidence is the directory of sealed originals. It is safe for concurrent use;
// one process at a time has it.
type Evidence struct {
	o        EvidenceOptions
	root     *os.Root
	dir      *os.File // for its lock and to sync it
	info     os.FileInfo
	overhead int64 // octets of a sealed message of none
	sync     func(*os.File) error

	sweep sync.Mutex // one Prune at a time

	mu      sync.Mutex // of what follows
	ledger  *ledger
	sealing map[string]entry // what is being sealed, by its file's name
	journal map[string]entry // what was sealed or given up while the directory is counted anew; else nil
}

// entry is an original that is counted, or not any more.
type entry struct {
	Original
	size  int64
	there bool
}

// OpenEvidence takes the directory, makes it if it is not there, removes what a
// process that was killed did not finish, and counts what is kept.
func OpenEvidence(o EvidenceOptions) (*Evidence, error) {
	e := &Evidence{o: o, sync: (*os.File).Sync, ledger: newLedger(o.MaxBytes), sealing: map[string]entry{}}
	var err error
	if e.overhead, err = overhead(o.Recipients); err != nil {
		return nil, err
	}
	if err := makeDir(o.Dir); err != nil {
		return nil, err
	}
	if err := e.take(); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return e, nil
}

// makeDir makes the directory for our eyes only. One that is there must be so.
func makeDir(dir string) error {
	err := os.Mkdir(dir, 0o700)
	if err == nil {
		return syncDir(filepath.Dir(dir))
	}
	if !errors.Is(err, fs.ErrExist) {
		return evidenceError(err)
	}
	return CheckEvidence(dir)
}

// CheckEvidence reports what is wrong with a directory that is there. It
// changes nothing.
func CheckEvidence(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return evidenceError(err)
	}
	if !info.IsDir() {
		return evidenceError(syscall.ENOTDIR)
	}
	// Names tell who wrote when; the files are sealed, their number is not.
	if info.Mode().Perm()&0o077 != 0 {
		return ErrShared
	}
	if err := unix.Access(dir, unix.R_OK|unix.W_OK|unix.X_OK); err != nil {
		return evidenceError(err)
	}
	return nil
}

// take opens, locks, tidies and counts.
func (e *Evidence) take() (err error) {
	if e.root, err = os.OpenRoot(e.o.Dir); err != nil {
		return evidenceError(err)
	}
	if e.dir, err = e.root.Open("."); err != nil {
		return evidenceError(err)
	}
	if e.info, err = e.dir.Stat(); err != nil {
		return evidenceError(err)
	}
	// Two that count apart are together over the quota, and what one is writing
	// looks left over to the other. The kernel lets go when a process ends.
	err = unix.Flock(int(e.dir.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return ErrHeld
	}
	if err != nil {
		return evidenceError(err)
	}
	if err := e.tidy(); err != nil {
		return err
	}
	return each(e.o.Dir, func(o Original) error {
		e.ledger.add(o, o.Size)
		return nil
	})
}

// tidy removes files that were not finished.
func (e *Evidence) tidy() error {
	d, err := e.root.Open(".")
	if err != nil {
		return evidenceError(err)
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	if err != nil {
		return evidenceError(err)
	}
	for _, name := range names {
		if !strings.HasPrefix(name, temporary) {
			continue
		}
		if err := e.root.Remove(name); err != nil {
			return evidenceError(err)
		}
	}
	return nil
}

// Close lets go of the directory.
func (e *Evidence) Close() error {
	var errs []error
	if e.dir != nil {
		errs = append(errs, e.dir.Close())
	}
	if e.root != nil {
		errs = append(errs, e.root.Close())
	}
	return errors.Join(errs...)
}

// Ready reports whether the directory is where it was opened and can be written.
func (e *Evidence) Ready() error {
	now, err := os.Stat(e.o.Dir)
	if err != nil {
		return evidenceError(err)
	}
	// A sealed file in a directory that was moved away would be durable and
	// lost.
	if !os.SameFile(now, e.info) {
		return fmt.Errorf("%w: it was moved or replaced under the running process; restart it", ErrEvidence)
	}
	if err := unix.Access(e.o.Dir, unix.W_OK|unix.X_OK); err != nil {
		return evidenceError(err)
	}
	return nil
}

// Held counts the originals of a kind that are kept, and their octets.
func (e *Evidence) Held(k Kind) (files, octets int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch k {
	case KindAccepted:
		octets = e.ledger.accepted
	case KindClaimed:
		octets = e.ledger.octetsClaimed()
	default:
		octets = e.ledger.other
	}
	return e.ledger.files[k], octets
}

// evidenceError ends what the system or a library said: the system's
// number stays, whose text is constant, and nothing of what was written or read.
func evidenceError(err error) error {
	var number syscall.Errno
	if errors.As(err, &number) {
		return fmt.Errorf("%w: %w", ErrEvidence, number)
	}
	return fmt.Errorf("%w: it failed inside", ErrEvidence)
}

// chunk is what age seals at once, and tag what that adds (age-encryption.org/v1,
// "Payload").
const (
	chunk = 64 << 10
	tag   = 16
)

// overhead is the size of a sealed message of no octets. It depends on the
// recipients alone.
func overhead(to []age.Recipient) (int64, error) {
	var size counter
	w, err := age.Encrypt(&size, to...)
	if err != nil {
		return 0, fmt.Errorf("%w: the recipients do not go together", ErrEvidence)
	}
	if err := w.Close(); err != nil {
		return 0, evidenceError(err)
	}
	return size.n, nil
}

// sealedSize is the size of a sealed message of n octets.
func (e *Evidence) sealedSize(n int64) int64 {
	chunks := max(1, (n+chunk-1)/chunk)
	return e.overhead + n + (chunks-1)*tag
}

// counter counts what is written to it.
type counter struct{ n int64 }

func (c *counter) Write(p []byte) (int, error) {
	c.n += int64(len(p))
	return len(p), nil
}

var _ io.Writer = (*counter)(nil)
