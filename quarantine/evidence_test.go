package quarantine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"filippo.io/age"
)

// identity is what opens the originals of these tests.
var identity = sync.OnceValue(func() *age.X25519Identity {
	i, err := age.GenerateX25519Identity()
	if err != nil {
		panic(err)
	}
	return i
})

func options(dir string) EvidenceOptions {
	return EvidenceOptions{Dir: dir, Recipients: []age.Recipient{identity().Recipient()}, MaxBytes: 64 << 20, Keep: 24 * time.Hour}
}

// directory opens a new evidence directory for the test.
func directory(t testing.TB, change ...func(*EvidenceOptions)) *Evidence {
	t.Helper()
	o := options(filepath.Join(t.TempDir(), "evidence"))
	for _, c := range change {
		c(&o)
	}
	e, err := OpenEvidence(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	return e
}

// original is a plain one.
func original(n int, size int) Original {
	return Original{ID: newID(noon.Add(time.Duration(n)*time.Second), n), Kind: KindOther, AddressHash: "00112233", Policy: "shopping", Size: int64(size)}
}

// text writes b, in pieces.
func text(b []byte) func(io.Writer) error {
	return func(w io.Writer) error {
		for len(b) > 0 {
			n := min(len(b), 10_000)
			if _, err := w.Write(b[:n]); err != nil {
				return err
			}
			b = b[n:]
		}
		return nil
	}
}

// plain is what the identity makes of a sealed original.
func plain(t testing.TB, dir, id string) []byte {
	t.Helper()
	f, _, err := OpenOriginal(dir, id)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := age.Decrypt(f, identity())
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// entries are the names in the directory.
func entries(t testing.TB, dir string) (names []string) {
	t.Helper()
	all, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		names = append(names, e.Name())
	}
	return names
}

// held is all that is counted.
func held(e *Evidence) (files, octets int64) {
	for _, k := range Kinds {
		f, o := e.Held(k)
		files, octets = files+f, octets+o
	}
	return files, octets
}

// byKind is what is counted of each kind.
func byKind(e *Evidence) string {
	var all []int64
	for _, k := range Kinds {
		f, o := e.Held(k)
		all = append(all, f, o)
	}
	return fmt.Sprint(all)
}

// The original comes back to the byte, the file is of the size that the quota
// was asked for, and nothing of the text is in it.
func TestSealed(t *testing.T) {
	e := directory(t)
	for n, size := range []int{0, 1, 27, chunk - 1, chunk, chunk + 1, 3 * chunk, 1_000_003} {
		b := []byte(strings.Repeat("Canary: 9f2c41d0a7b3\r\n\x00\xff", size/24+1))[:size]
		o := original(n, size)
		if err := e.Seal(t.Context(), o, text(b)); err != nil {
			t.Fatalf("%d octets: %v", size, err)
		}
		if got := plain(t, e.o.Dir, o.ID); !bytes.Equal(got, b) {
			t.Errorf("of %d octets %d other ones came back", size, len(got))
		}
		path := filepath.Join(e.o.Dir, o.name())
		sealed, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if int64(len(sealed)) != e.sealedSize(int64(size)) {
			t.Errorf("%d octets sealed are %d, not the %d that were reserved", size, len(sealed), e.sealedSize(int64(size)))
		}
		if bytes.Contains(sealed, []byte("9f2c41d0a7b3")) {
			t.Errorf("the text of %d octets is in the file", size)
		}
		info, err := os.Stat(path)
		if err != nil || info.Mode() != 0o600 {
			t.Errorf("mode %v, %v", info.Mode(), err)
		}
	}
	if info, err := os.Stat(e.o.Dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the directory: %v, %v", info.Mode(), err)
	}
	all, err := Originals(e.o.Dir)
	if err != nil || len(all) != 8 {
		t.Fatalf("%d originals, %v", len(all), err)
	}
	files, octets := held(e)
	var sum int64
	for i, o := range all {
		sum += o.Size
		if o.Kind != KindOther || o.Policy != "shopping" || o.AddressHash != "00112233" || !o.Time().Equal(noon.Add(time.Duration(7-i)*time.Second)) {
			t.Errorf("number %d is %+v of %v", i, o, o.Time())
		}
	}
	if files != 8 || octets != sum {
		t.Errorf("%d files of %d octets are counted; there are 8 of %d", files, octets, sum)
	}
	if _, _, err := OpenOriginal(e.o.Dir, newID(noon, 77)); !errors.Is(err, ErrNotFound) {
		t.Errorf("an original that is not there: %v", err)
	}
}

// Every recipient opens every original, and whoever is none does not.
func TestRecipients(t *testing.T) {
	other, err := age.GenerateHybridIdentity()
	if err != nil {
		t.Fatal(err)
	}
	e := directory(t, func(o *EvidenceOptions) { o.Recipients = []age.Recipient{other.Recipient()} })
	o := original(1, 5)
	if err := e.Seal(t.Context(), o, text([]byte("hello"))); err != nil {
		t.Fatal(err)
	}
	f, _, err := OpenOriginal(e.o.Dir, o.ID)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var none *age.NoIdentityMatchError
	if _, err := age.Decrypt(f, identity()); !errors.As(err, &none) {
		t.Errorf("another identity: %v", err)
	}
	if _, err := OpenEvidence(EvidenceOptions{Dir: t.TempDir()}); !errors.Is(err, ErrEvidence) {
		t.Errorf("without recipients: %v", err)
	}
	mixed := []age.Recipient{other.Recipient(), identity().Recipient()}
	if _, err := OpenEvidence(EvidenceOptions{Dir: t.TempDir(), Recipients: mixed}); !errors.Is(err, ErrEvidence) {
		t.Errorf("recipients that age does not mix: %v", err)
	}
}

// Whatever goes wrong while it is sealed, nothing is left and nothing counted,
// and the next one is sealed.
func TestSealingFails(t *testing.T) {
	b := bytes.Repeat([]byte("x"), 3*chunk)
	for _, c := range []struct {
		name  string
		write func(context.CancelFunc) func(io.Writer) error
		want  error
	}{
		{"the writer fails", func(context.CancelFunc) func(io.Writer) error {
			return func(w io.Writer) error { _, _ = w.Write(b); return errors.New("CANARY") }
		}, ErrEvidence},
		{"less than was said", func(context.CancelFunc) func(io.Writer) error { return text(b[1:]) }, ErrEvidence},
		{"more than was said", func(context.CancelFunc) func(io.Writer) error { return text(append(b[:len(b):len(b)], 'x')) }, ErrEvidence},
		{"more, and it does not stop", func(context.CancelFunc) func(io.Writer) error {
			return func(w io.Writer) error {
				_, err := w.Write(append(b[:len(b):len(b)], b...))
				if err == nil {
					t.Error("more was taken than there was room for")
				}
				return nil
			}
		}, ErrEvidence},
		{"its time is over", func(cancel context.CancelFunc) func(io.Writer) error {
			return func(w io.Writer) error { cancel(); return text(b)(w) }
		}, context.Canceled},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := directory(t)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			o := original(1, len(b))
			err := e.Seal(ctx, o, c.write(cancel))
			if !errors.Is(err, c.want) || strings.Contains(err.Error(), "CANARY") {
				t.Fatalf("the error is %v", err)
			}
			emptyAgain(t, e)
			if err := e.Seal(t.Context(), o, text(b)); err != nil {
				t.Errorf("the next one: %v", err)
			}
		})
	}
	t.Run("the writer panics", func(t *testing.T) {
		e := directory(t)
		func() {
			defer func() { _ = recover() }()
			_ = e.Seal(t.Context(), original(1, len(b)), func(w io.Writer) error { _, _ = w.Write(b); panic("bug") })
		}()
		emptyAgain(t, e)
	})
	t.Run("the directory is moved away", func(t *testing.T) {
		e := directory(t)
		if err := os.Rename(e.o.Dir, e.o.Dir+".old"); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := e.Seal(t.Context(), original(1, len(b)), text(b)); !errors.Is(err, ErrEvidence) {
				t.Errorf("the error is %v", err)
			}
			if err := os.MkdirAll(e.o.Dir, 0o700); err != nil {
				t.Fatal(err)
			}
		}
		emptyAgain(t, e)
	})
	t.Run("it is there already", func(t *testing.T) {
		e := directory(t)
		o := original(1, len(b))
		if err := e.Seal(t.Context(), o, text(b)); err != nil {
			t.Fatal(err)
		}
		if err := e.Seal(t.Context(), o, text(b)); !errors.Is(err, syscall.EEXIST) {
			t.Errorf("a second one under its ID: %v", err)
		}
		if !bytes.Equal(plain(t, e.o.Dir, o.ID), b) {
			t.Error("the first one is gone")
		}
	})
	t.Run("it is being sealed already", func(t *testing.T) {
		e := directory(t)
		o := original(1, len(b))
		err := e.Seal(t.Context(), o, func(w io.Writer) error {
			if err := e.Seal(t.Context(), o, text(b)); !errors.Is(err, syscall.EEXIST) {
				t.Errorf("a second one under its ID: %v", err)
			}
			return text(b)(w)
		})
		if err != nil {
			t.Fatal(err)
		}
		if files, octets := held(e); files != 1 || octets != e.sealedSize(o.Size) {
			t.Errorf("%d files of %d octets are counted", files, octets)
		}
	})
	t.Run("a value does not fit", func(t *testing.T) {
		e := directory(t)
		for _, change := range []func(*Original){
			func(o *Original) { o.ID = "../../etc/passwd" },
			func(o *Original) { o.Kind = "CANARY" },
			func(o *Original) { o.Kind, o.AddressHash = KindClaimed, "" },
			func(o *Original) { o.AddressHash = "CANARY/." },
			func(o *Original) { o.Policy = "a/b" },
			func(o *Original) { o.Policy = "" },
			func(o *Original) { o.More = -1 },
			func(o *Original) { o.Size = -1 },
		} {
			o := original(1, 1)
			change(&o)
			if err := e.Seal(t.Context(), o, text([]byte("x"))); !errors.Is(err, ErrRecord) || strings.Contains(err.Error(), "CANARY") {
				t.Errorf("%+v: %v", o, err)
			}
		}
		emptyAgain(t, e)
	})
}

// emptyAgain fails the test if anything is there or counted.
func emptyAgain(t *testing.T, e *Evidence) {
	t.Helper()
	if names := entries(t, e.o.Dir); len(names) > 0 {
		t.Errorf("there is %q", names)
	}
	files, octets := held(e)
	if files != 0 || octets != 0 || len(e.sealing) != 0 {
		t.Errorf("%d files of %d octets are counted, %d are being sealed", files, octets, len(e.sealing))
	}
}

// The file is on disk before it has its name, and the name before Seal returns;
// where the disk says no to either, nothing is kept.
func TestSealIsDurable(t *testing.T) {
	b := make([]byte, 1000)
	o := original(1, len(b))
	file, name := "file "+temporary+o.name(), "directory "+o.name()
	for _, c := range []struct {
		fails int // the how manieth sync does
		want  []string
	}{{1, []string{file}}, {2, []string{file, name}}, {3, []string{file, name}}} {
		e := directory(t)
		var seen []string
		e.sync = func(f *os.File) error {
			names := entries(t, e.o.Dir)
			if len(names) != 1 {
				t.Fatalf("there is %q", names)
			}
			info, err := f.Stat()
			if err != nil {
				t.Fatal(err)
			}
			what := "directory "
			if !info.IsDir() {
				what = "file "
				if info.Size() != e.sealedSize(o.Size) {
					t.Errorf("the file is synced at %d octets", info.Size())
				}
			}
			if seen = append(seen, what+names[0]); len(seen) == c.fails {
				return syscall.EIO
			}
			return f.Sync()
		}
		err := e.Seal(t.Context(), o, text(b))
		if fmt.Sprint(seen) != fmt.Sprint(c.want) {
			t.Errorf("synced were %q, want %q", seen, c.want)
		}
		if c.fails > 2 {
			if err != nil {
				t.Errorf("sealing: %v", err)
			}
			continue
		}
		if !errors.Is(err, syscall.EIO) {
			t.Errorf("the error is %v", err)
		}
		emptyAgain(t, e)
	}
}

// What there is no room for is not even begun, and what is there stays.
func TestNoRoom(t *testing.T) {
	e := directory(t, func(o *EvidenceOptions) { o.MaxBytes = 40_000 })
	n := 0
	for ; ; n++ {
		err := e.Seal(t.Context(), original(n, 3000), text(make([]byte, 3000)))
		if errors.Is(err, ErrNoRoom) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	before := entries(t, e.o.Dir)
	if want := 20_000 / int(e.sealedSize(3000)); n != want || len(before) != want {
		t.Errorf("%d were kept, %d are there, want %d", n, len(before), want)
	}
	err := e.Seal(t.Context(), original(n, 3000), func(io.Writer) error { t.Error("it was begun"); return nil })
	if !errors.Is(err, ErrNoRoom) {
		t.Errorf("once more: %v", err)
	}
	// A friend's mail has its room all the same, and so has a claim.
	o := original(100, 3000)
	o.Kind = KindAccepted
	if err := e.Seal(t.Context(), o, text(make([]byte, 3000))); err != nil {
		t.Errorf("accepted mail: %v", err)
	}
	o = original(101, 500)
	o.Kind = KindClaimed
	if err := e.Seal(t.Context(), o, text(make([]byte, 500))); err != nil {
		t.Errorf("a claim: %v", err)
	}
	if now := entries(t, e.o.Dir); len(now) != len(before)+2 {
		t.Errorf("of %q is left %q", before, now)
	}
}

// Many at once are together within the quota, and what is counted is what is
// there, also for whoever opens the directory next.
func TestConcurrentSealing(t *testing.T) {
	e := directory(t, func(o *EvidenceOptions) { o.MaxBytes = 200_000 })
	s, _ := fresh(t, Limits{})
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for i := range 12 {
				n := 100*w + i
				o := original(n, 1000*(1+n%7))
				o.Kind, o.AddressHash = Kinds[n%3], fmt.Sprintf("%08x", n%5)
				err := e.Seal(context.Background(), o, text(make([]byte, o.Size)))
				if err != nil && !errors.Is(err, ErrNoRoom) {
					t.Errorf("%+v: %v", o, err)
				}
				if i%4 == 0 {
					if _, err := e.Prune(context.Background(), s, noon); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	wg.Wait()
	sameAsOnDisk(t, e)
	kept := byKind(e)
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := OpenEvidence(e.o)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if byKind(again) != kept {
		t.Errorf("before %s, opened anew %s", kept, byKind(again))
	}
}

func sameAsOnDisk(t *testing.T, e *Evidence) {
	t.Helper()
	var sum int64
	all, err := Originals(e.o.Dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range all {
		sum += o.Size
	}
	files, octets := held(e)
	if files != int64(len(all)) || octets != sum || sum > e.o.MaxBytes || len(all) != len(entries(t, e.o.Dir)) {
		t.Errorf("%d files of %d octets are counted; there are %d of %d, and %d entries", files, octets, len(all), sum, len(entries(t, e.o.Dir)))
	}
}

// A process that is killed in the middle of sealing leaves nothing that looks
// like an original or counts as one.
func TestKilledWhileSealing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "evidence")
	said, process, end := child(t, "seal", dir)
	if said != "sealing" {
		t.Fatalf("the child said %q", said)
	}
	if err := process.Kill(); err != nil {
		t.Fatal(err)
	}
	end()
	if names := entries(t, dir); len(names) != 1 || !strings.HasPrefix(names[0], temporary) {
		t.Fatalf("it left %q", names)
	}
	if all, err := Originals(dir); err != nil || len(all) > 0 {
		t.Errorf("%+v are listed, %v", all, err)
	}
	e, err := OpenEvidence(options(dir))
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	emptyAgain(t, e)
}

// A disk that fills up is a failure and no answer; nothing of what did not fit
// is left.
func TestDiskFull(t *testing.T) {
	said, _, end := child(t, "full", t.TempDir(), namespaces)
	defer end()
	if want := "true true 0 0 0 <nil>"; said != want {
		t.Errorf("the child said %q, want %q", said, want)
	}
}

// A disk that can only be read is told before a message is in hand, and then.
func TestReadOnly(t *testing.T) {
	said, _, end := child(t, "readonly", t.TempDir(), namespaces)
	defer end()
	if want := "true true true"; said != want {
		t.Errorf("the child said %q, want %q", said, want)
	}
}

// namespaces lets a child mount.
func namespaces(c *exec.Cmd) {
	c.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
}

// What a process left unfinished goes, what is not ours stays, and neither
// counts.
func TestOpenTidies(t *testing.T) {
	e := directory(t)
	o := original(1, 100)
	if err := e.Seal(t.Context(), o, text(make([]byte, 100))); err != nil {
		t.Fatal(err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	strange := []string{"notes.txt", "lost+found", o.ID + ".eml.age", strings.Replace(o.name(), "shopping", "Shopping", 1)}
	for _, name := range append([]string{temporary + o.name()}, strange...) {
		if err := os.WriteFile(filepath.Join(e.o.Dir, name), make([]byte, 1000), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	again, err := OpenEvidence(e.o)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if got := entries(t, e.o.Dir); len(got) != 1+len(strange) {
		t.Errorf("there is %q", got)
	}
	if files, octets := held(again); files != 1 || octets != e.sealedSize(100) {
		t.Errorf("%d files of %d octets are counted", files, octets)
	}
}

func TestOpenEvidenceFails(t *testing.T) {
	e := directory(t)
	if _, err := OpenEvidence(e.o); !errors.Is(err, ErrHeld) {
		t.Errorf("a directory that is in use: %v", err)
	}
	shared := t.TempDir()
	if err := os.Chmod(shared, 0o750); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenEvidence(options(shared)); !errors.Is(err, ErrShared) {
		t.Errorf("one that a group may enter: %v", err)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenEvidence(options(file)); !errors.Is(err, syscall.ENOTDIR) {
		t.Errorf("a file: %v", err)
	}
	if _, err := OpenEvidence(options(filepath.Join(t.TempDir(), "no", "such"))); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("one in a folder that is not there: %v", err)
	}
}
