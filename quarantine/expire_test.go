package quarantine

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// Old originals go and their records say so; younger ones and their records
// stay.
func TestPruneEvidence(t *testing.T) {
	e := directory(t)
	s, _ := fresh(t, Limits{})
	var adding sync.WaitGroup
	for n := range 1200 {
		r := record(n)
		r.Evidence = EvidenceKept
		if n == 3 {
			r.Evidence = EvidenceFull
		}
		adding.Go(func() { // together they share syncs
			if _, err := s.Add(t.Context(), r); err != nil {
				t.Error(err)
			}
		})
		if n == 3 {
			continue
		}
		// Sealing 1200 files costs 2400 syncs; here only their names count.
		path := filepath.Join(e.o.Dir, original(n, 0).name())
		if err := os.WriteFile(path, make([]byte, 10), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	adding.Wait()
	if removed, err := e.Prune(t.Context(), s, noon); err != nil || removed != 0 {
		t.Fatalf("%d removed, %v", removed, err)
	}
	if files, octets := held(e); files != 1199 || octets != 11990 {
		t.Errorf("%d files of %d octets are counted", files, octets)
	}
	at := noon.Add(e.o.Keep + 1100*time.Second)
	removed, err := e.Prune(t.Context(), s, at)
	if err != nil || removed != 1099 {
		t.Fatalf("%d removed, %v", removed, err)
	}
	sameAsOnDisk(t, e)
	all, err := s.List(t.Context(), Filter{})
	if err != nil || len(all) != 1200 {
		t.Fatalf("%d records, %v", len(all), err)
	}
	for _, r := range all {
		want := EvidenceKept
		if r.Time.Before(at.Add(-e.o.Keep)) {
			want = EvidenceExpired
		}
		if r.ID == record(3).ID {
			want = EvidenceFull
		}
		if r.Evidence != want {
			t.Errorf("the record of %v says %q, want %q", r.Time, r.Evidence, want)
		}
	}
}

// A record that cannot be written keeps its original.
func TestPruneEvidenceNeedsTheStore(t *testing.T) {
	e := directory(t)
	s, _ := fresh(t, Limits{})
	if err := e.Seal(t.Context(), original(1, 10), text(make([]byte, 10))); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Prune(t.Context(), s, noon.AddDate(1, 0, 0)); !errors.Is(err, ErrClosed) {
		t.Errorf("the error is %v", err)
	}
	sameAsOnDisk(t, e)
	if files, _ := held(e); files != 1 {
		t.Errorf("%d files", files)
	}
}

// What the administrator removes makes room, and what Discard removes does at
// once.
func TestRemovedByHand(t *testing.T) {
	e := directory(t)
	s, _ := fresh(t, Limits{})
	for n := range 3 {
		if err := e.Seal(t.Context(), original(n, 10), text(make([]byte, 10))); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Remove(filepath.Join(e.o.Dir, original(0, 0).name())); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Prune(t.Context(), s, noon); err != nil {
		t.Fatal(err)
	}
	sameAsOnDisk(t, e)
	if err := e.Discard(original(1, 10)); err != nil {
		t.Fatal(err)
	}
	sameAsOnDisk(t, e)
	if err := e.Discard(original(1, 10)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("twice: %v", err)
	}
	if files, _ := held(e); files != 1 {
		t.Errorf("%d files", files)
	}
}

// What is being sealed while the directory is counted anew counts, once, and
// what is given up meanwhile does not.
func TestCountedWhileSealing(t *testing.T) {
	e := directory(t)
	s, _ := fresh(t, Limits{})
	count := func() {
		if _, err := e.Prune(t.Context(), s, noon); err != nil {
			t.Error(err)
		}
	}
	o := original(1, 10)
	err := e.Seal(t.Context(), o, func(w io.Writer) error {
		count()
		if files, octets := held(e); files != 1 || octets != e.sealedSize(10) {
			t.Errorf("%d files of %d octets are counted while one is sealed", files, octets)
		}
		return text(make([]byte, 10))(w)
	})
	if err != nil {
		t.Fatal(err)
	}
	count()
	sameAsOnDisk(t, e)
	// The count goes on while one is given up and another is sealed.
	e.begin()
	if err := e.Seal(t.Context(), original(2, 10), func(io.Writer) error { return errors.New("no") }); err == nil {
		t.Error("it was sealed")
	}
	if err := e.Seal(t.Context(), original(3, 10), text(make([]byte, 10))); err != nil {
		t.Error(err)
	}
	fresh := newLedger(e.o.MaxBytes)
	fresh.add(o, e.sealedSize(10))
	e.finish(fresh)
	sameAsOnDisk(t, e)
	// A count that failed changes nothing.
	e.begin()
	e.finish(nil)
	sameAsOnDisk(t, e)
}
