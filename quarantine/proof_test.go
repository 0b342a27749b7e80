package quarantine

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"stile/verdict"
)

func digest(n int) (d [32]byte) {
	d[0], d[1], d[31] = byte(n), byte(n>>8), 1
	return d
}

// proof is of a message and signatures, each known by its number.
func proof(message int, signatures ...int) verdict.Proof {
	p := verdict.Proof{Message: digest(message)}
	for _, n := range signatures {
		p.Signatures = append(p.Signatures, digest(n))
	}
	return p
}

func acceptance(policy string, at time.Time, p verdict.Proof, earlier ...verdict.Earlier) Acceptance {
	return Acceptance{Policy: policy, Proof: p, Time: at, Earlier: earlier}
}

func recall(t *testing.T, r *Reader, policy string, p verdict.Proof) []verdict.Earlier {
	t.Helper()
	all, err := r.Earlier(t.Context(), policy, p)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func keep(t *testing.T, s *Store, all ...Acceptance) {
	t.Helper()
	if err := s.Keep(t.Context(), all); err != nil {
		t.Fatal(err)
	}
}

func first(n, message int, at time.Time) verdict.Earlier {
	return verdict.Earlier{Signature: digest(n), Message: digest(message), First: at}
}

func wantEarlier(t *testing.T, got []verdict.Earlier, want ...verdict.Earlier) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("earlier: %v\nwant %v", got, want)
	}
}

func TestKeep(t *testing.T) {
	s, url := fresh(t, Limits{})
	wantEarlier(t, recall(t, s.Reader, "shopping", proof(1, 1, 2)))
	keep(t, s, acceptance("shopping", noon, proof(1, 1, 2)), acceptance("travel", noon, proof(1, 2)))

	both := []verdict.Earlier{first(1, 1, noon), first(2, 1, noon)}
	wantEarlier(t, recall(t, s.Reader, "shopping", proof(1, 1, 2)), both...)
	wantEarlier(t, recall(t, s.Reader, "shopping", proof(9, 3, 2, 1)), both[1], both[0])
	wantEarlier(t, recall(t, s.Reader, "shopping", proof(1, 3)))
	// A mailbox has proofs of its own.
	wantEarlier(t, recall(t, s.Reader, "travel", proof(1, 1, 2)), both[1])
	wantEarlier(t, recall(t, s.Reader, "post", proof(1, 1, 2)))

	// A repeat does not move the first time, and what it adds counts from there.
	later := noon.Add(time.Hour)
	keep(t, s, acceptance("shopping", later, proof(1, 1, 2, 3), both...))
	all := append(both, first(3, 1, noon))
	wantEarlier(t, recall(t, s.Reader, "shopping", proof(1, 1, 2, 3)), all...)

	// All of it outlives the process.
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = opened(t, url, Limits{})
	wantEarlier(t, recall(t, s.Reader, "shopping", proof(1, 1, 2, 3)), all...)
	r, err := OpenReader(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	wantEarlier(t, recall(t, r, "travel", proof(1, 2)), first(2, 1, noon))
}

// What was looked for and what is there when it is written must be the same,
// else nothing of it is written.
func TestKeepRaced(t *testing.T) {
	s, _ := fresh(t, Limits{})
	keep(t, s, acceptance("shopping", noon, proof(1, 1)))
	there := first(1, 1, noon)
	for name, a := range map[string]Acceptance{
		"as if it were the first":  acceptance("shopping", noon, proof(1, 1, 2)),
		"after another first time": acceptance("shopping", noon, proof(1, 1, 2), first(1, 1, noon.Add(time.Second))),
		"of another message":       acceptance("shopping", noon, proof(2, 1, 2), first(1, 2, noon)),
		"after what was forgotten": acceptance("shopping", noon, proof(1, 1, 2), there, first(2, 1, noon)),
	} {
		other := acceptance("travel", noon, proof(1, 1))
		if err := s.Keep(t.Context(), []Acceptance{other, a}); !errors.Is(err, ErrRaced) {
			t.Errorf("%s: %v", name, err)
		}
		wantEarlier(t, recall(t, s.Reader, "shopping", proof(1, 1, 2)), there)
		wantEarlier(t, recall(t, s.Reader, "travel", proof(1, 1)))
	}
}

// However many copies come at once, one is the first.
func TestKeepAtOnce(t *testing.T) {
	s, _ := fresh(t, Limits{})
	const copies = 40
	errs := make([]error, copies)
	var all sync.WaitGroup
	for i := range copies {
		all.Go(func() {
			errs[i] = s.Keep(context.Background(), []Acceptance{acceptance("shopping", noon.Add(time.Duration(i)*time.Second), proof(1, 1, 2+i))})
		})
	}
	all.Wait()
	kept := -1
	for i, err := range errs {
		switch {
		case err == nil && kept >= 0:
			t.Errorf("%d and %d are both the first", kept, i)
		case err == nil:
			kept = i
		case !errors.Is(err, ErrRaced):
			t.Errorf("%d: %v", i, err)
		}
	}
	if kept < 0 {
		t.Fatal("none was kept")
	}
	wantEarlier(t, recall(t, s.Reader, "shopping", proof(1, 1)), first(1, 1, noon.Add(time.Duration(kept)*time.Second)))
}

// The store against a plain map.
func TestKeepModel(t *testing.T) {
	s, _ := fresh(t, Limits{})
	policies := rapid.StringMatching("[a-z]{26}")
	rapid.Check(t, func(r *rapid.T) {
		policy := policies.Draw(r, "policy") // a store of its own
		model := map[[32]byte]verdict.Earlier{}
		for range rapid.IntRange(1, 12).Draw(r, "messages") {
			p := proof(rapid.IntRange(1, 3).Draw(r, "message"), rapid.SliceOfNDistinct(rapid.IntRange(1, 6), 1, 4, rapid.ID).Draw(r, "signatures")...)
			at := noon.Add(time.Duration(rapid.IntRange(0, 1000).Draw(r, "minutes")) * time.Minute)
			got, err := s.Earlier(context.Background(), policy, p)
			if err != nil {
				r.Fatal(err)
			}
			var want []verdict.Earlier
			for _, d := range p.Signatures {
				if e, ok := model[d]; ok {
					want = append(want, e)
				}
			}
			if !slices.Equal(got, want) {
				r.Fatalf("earlier: %v, want %v", got, want)
			}
			if err := s.Keep(context.Background(), []Acceptance{{Policy: policy, Proof: p, Earlier: got, Time: at}}); err != nil {
				r.Fatal(err)
			}
			for _, e := range want {
				if e.First.Before(at) {
					at = e.First
				}
			}
			for _, d := range p.Signatures {
				if _, ok := model[d]; !ok {
					model[d] = verdict.Earlier{Signature: d, Message: p.Message, First: at}
				}
			}
		}
	})
}

func TestKeepDoesNotFit(t *testing.T) {
	s, _ := fresh(t, Limits{})
	for name, a := range map[string]Acceptance{
		"policy":        acceptance("Not a policy", noon, proof(1, 1)),
		"time":          acceptance("shopping", time.Time{}, proof(1, 1)),
		"no signatures": acceptance("shopping", noon, proof(1)),
	} {
		if err := s.Keep(t.Context(), []Acceptance{a}); !errors.Is(err, ErrRecord) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestKeepFails(t *testing.T) {
	_, url := fresh(t, Limits{})
	s, err := open(t.Context(), url, Limits{}, 50*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	said, _, end := child(t, "lock", url)
	if said != "locked" {
		t.Fatalf("the child said %q", said)
	}
	if err := s.Keep(t.Context(), []Acceptance{acceptance("shopping", noon, proof(1, 1))}); !errors.Is(err, ErrLocked) {
		t.Errorf("Keep: %v", err)
	}
	end()
	wantEarlier(t, recall(t, s.Reader, "shopping", proof(1, 1)))
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Earlier(ended, "shopping", proof(1, 1)); !errors.Is(err, context.Canceled) {
		t.Errorf("Earlier in time that is over: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Keep(t.Context(), []Acceptance{acceptance("shopping", noon, proof(1, 1))}); !errors.Is(err, ErrClosed) {
		t.Errorf("Keep, closed: %v", err)
	}
	if _, err := s.Earlier(t.Context(), "shopping", proof(1, 1)); err == nil {
		t.Error("Earlier, closed: no error")
	}
}

// What waits for the lock when its caller's time is over is not kept afterwards.
func TestKeepTooLate(t *testing.T) {
	s, url := fresh(t, Limits{})
	said, _, end := child(t, "lock", url)
	if said != "locked" {
		t.Fatalf("the child said %q", said)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := s.Keep(ctx, []Acceptance{acceptance("shopping", noon, proof(1, 1))}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Keep: %v", err)
	}
	end()
	if err := s.Keep(t.Context(), []Acceptance{acceptance("shopping", noon, proof(2, 2))}); err != nil {
		t.Fatal(err)
	}
	wantEarlier(t, recall(t, s.Reader, "shopping", proof(1, 1)))
}

// It is durable as soon as Keep says so.
func TestKeepKilled(t *testing.T) {
	_, url := fresh(t, Limits{})
	said, process, end := child(t, "keep", url)
	if err := process.Kill(); err != nil {
		t.Fatal(err)
	}
	end()
	if said != "kept" {
		t.Fatalf("the child said %q", said)
	}
	s := opened(t, url, Limits{})
	wantEarlier(t, recall(t, s.Reader, "shopping", proof(1, 1, 2)), first(1, 1, noon), first(2, 1, noon))
}

func TestPruneProofs(t *testing.T) {
	s, _ := fresh(t, Limits{})
	const year = 365 * 24 * time.Hour
	for n := range 10 {
		keep(t, s, acceptance("shopping", noon.Add(time.Duration(n)*time.Second), proof(n, n)))
	}
	left := func() (n int) {
		t.Helper()
		if _, err := s.Prune(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := s.db.QueryRowContext(t.Context(), sqlCountProofs).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	for _, step := range []struct {
		now  time.Time
		most int64
		want int
	}{
		{noon, 100, 10},
		{noon.Add(year + 24*time.Hour), 100, 10},
		{noon.Add(keepProofs + 2*time.Second), 100, 8},
		{noon, 5, 5},
	} {
		s.now = func() time.Time { return step.now }
		s.proofs = step.most
		if n := left(); n != step.want {
			t.Errorf("at %v, %d at most: %d left, want %d", step.now, step.most, n, step.want)
		}
	}
	// The newest stay.
	wantEarlier(t, recall(t, s.Reader, "shopping", proof(0, 4, 5, 9)), first(5, 5, noon.Add(5*time.Second)), first(9, 9, noon.Add(9*time.Second)))
}

func TestStrangeProof(t *testing.T) {
	s, url := fresh(t, Limits{})
	keep(t, s, acceptance("shopping", noon, proof(1, 1)))
	raw(t, strings.TrimPrefix(url, "sqlite:"), "PRAGMA ignore_check_constraints = ON; UPDATE proof SET message = x'00'")
	if _, err := s.Earlier(t.Context(), "shopping", proof(1, 1)); !errors.Is(err, ErrDamaged) {
		t.Errorf("Earlier: %v", err)
	}
}

// A database of the first version keeps what it has and gets what it lacks.
func TestMigrated(t *testing.T) {
	path := filepath.Join(t.TempDir(), "quarantine.db")
	url := "sqlite:" + path
	key := strings.Repeat("5a", hashKeySize)
	raw(t, path, migrations[0]+fmt.Sprintf("INSERT INTO meta VALUES ('hash-key', x'%s'); PRAGMA application_id = %d; PRAGMA user_version = 1", key, application))
	if _, err := OpenReader(t.Context(), url); !errors.Is(err, ErrOlder) {
		t.Errorf("OpenReader: %v", err)
	}
	s := opened(t, url, Limits{})
	if got := fmt.Sprintf("%x", s.HashKey()); got != key {
		t.Errorf("the key of the hashes is %s", got)
	}
	keep(t, s, hiding("shopping", 1, hidden("html", "html-comment", 1, "a")))
}
