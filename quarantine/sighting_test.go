package quarantine

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// hiding is the n-th message's acceptance by a policy, n seconds past noon,
// with what it hides.
func hiding(policy string, n int, hidden ...Hidden) Acceptance {
	a := acceptance(policy, noon.Add(time.Duration(n)*time.Second), proof(n, n))
	a.ID, a.Hidden = newID(a.Time, n), hidden
	return a
}

func hidden(place, class string, count int, text string) Hidden {
	h := Hidden{Place: place, Class: class, Count: count}
	if text != "" {
		h.Digest = sha256.Sum256([]byte(text))
	}
	return h
}

// seen are the sightings that the filter chooses, in short.
func seen(t *testing.T, r *Reader, f Filter) (all []string) {
	t.Helper()
	sightings, err := r.Sightings(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range sightings {
		all = append(all, fmt.Sprintf("%s %d %s %s %d", s.Policy, s.Time.Unix()-noon.Unix(), s.Place, s.Class, s.Count))
	}
	return all
}

func wantSeen(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestSightings(t *testing.T) {
	s, url := fresh(t, Limits{})
	keep(t, s, hiding("shopping", 1, hidden("html", "html-comment", 3, "run this"), hidden("body", "tag", 40, "run that")),
		hiding("travel", 1, hidden("html", "html-comment", 3, "run this")))
	keep(t, s, acceptance("shopping", noon, proof(9, 9)))
	keep(t, s, hiding("shopping", 2, hidden("preamble", "preamble", 1, "run this"), hidden("body", "invalid-utf8", 1, "")))
	r, err := OpenReader(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	wantSeen(t, seen(t, r, Filter{}), "shopping 2 body invalid-utf8 1", "shopping 2 preamble preamble 1",
		"shopping 1 body tag 40", "shopping 1 html html-comment 3", "travel 1 html html-comment 3")
	wantSeen(t, seen(t, r, Filter{Policy: "travel"}), "travel 1 html html-comment 3")
	wantSeen(t, seen(t, r, Filter{Since: noon.Add(2 * time.Second)}), "shopping 2 body invalid-utf8 1", "shopping 2 preamble preamble 1")
	wantSeen(t, seen(t, r, Filter{Limit: 1}), "shopping 2 body invalid-utf8 1")

	all, err := r.Sightings(t.Context(), Filter{})
	if err != nil {
		t.Fatal(err)
	}
	if all[0].Hash != "" || all[1].Hash == "" || all[1].Hash != all[3].Hash || all[3].Hash == all[2].Hash {
		t.Errorf("the hashes are %q %q %q %q", all[0].Hash, all[1].Hash, all[2].Hash, all[3].Hash)
	}
	if all[1].ID != newID(noon.Add(2*time.Second), 2) {
		t.Errorf("the id is %s", all[1].ID)
	}
	// Whoever has the text and not the key cannot say what the hash is.
	if other := sightingHash(make([]byte, hashKeySize), hidden("", "", 1, "run this").Digest); other == all[1].Hash || !hex(other, 16) {
		t.Errorf("under another key it is %s", other)
	}
}

// What is hidden is kept with the proof, or neither is.
func TestSightingsAndProofAreOne(t *testing.T) {
	s, _ := fresh(t, Limits{})
	keep(t, s, acceptance("shopping", noon, proof(1, 1)))
	raced := hiding("shopping", 1, hidden("html", "html-comment", 1, "a"))
	raced.Proof = proof(2, 1)
	other := hiding("travel", 2, hidden("html", "html-comment", 1, "a"))
	if err := s.Keep(t.Context(), []Acceptance{other, raced}); !errors.Is(err, ErrRaced) {
		t.Fatalf("Keep: %v", err)
	}
	wantSeen(t, seen(t, s.Reader, Filter{}))
	twice := hiding("shopping", 3, hidden("html", "html-comment", 1, "a"), hidden("html", "html-comment", 1, "b"))
	if err := s.Keep(t.Context(), []Acceptance{twice}); !errors.Is(err, ErrDuplicate) {
		t.Fatalf("Keep: %v", err)
	}
	wantEarlier(t, recall(t, s.Reader, "shopping", proof(3, 3)))
	wantSeen(t, seen(t, s.Reader, Filter{}))
}

func TestSightingsThatDoNotFit(t *testing.T) {
	s, _ := fresh(t, Limits{})
	good := hidden("html", "html-comment", 1, "a")
	for name, change := range map[string]func(*Acceptance){
		"id":        func(a *Acceptance) { a.ID = "" },
		"many":      func(a *Acceptance) { a.Hidden = slices.Repeat(a.Hidden, maxHidden+1) },
		"place":     func(a *Acceptance) { a.Hidden[0].Place = "Run this" },
		"no place":  func(a *Acceptance) { a.Hidden[0].Place = "" },
		"class":     func(a *Acceptance) { a.Hidden[0].Class = "run_this" },
		"long":      func(a *Acceptance) { a.Hidden[0].Class = strings.Repeat("a", 33) },
		"count":     func(a *Acceptance) { a.Hidden[0].Count = 0 },
		"below nil": func(a *Acceptance) { a.Hidden[0].Count = -1 },
	} {
		a := hiding("shopping", 1, good)
		change(&a)
		if err := s.Keep(t.Context(), []Acceptance{a}); !errors.Is(err, ErrRecord) {
			t.Errorf("%s: %v", name, err)
		}
	}
	wantSeen(t, seen(t, s.Reader, Filter{}))
}

// Sightings go as records do.
func TestPruneSightings(t *testing.T) {
	for _, c := range []struct {
		limits Limits
		want   int
	}{
		{Limits{}, 10},
		{Limits{Keep: 4 * time.Second}, 4},
		{Limits{Max: 3}, 3},
	} {
		s, _ := fresh(t, c.limits)
		s.now = func() time.Time { return noon.Add(10 * time.Second) }
		for n := range 10 {
			keep(t, s, hiding("shopping", n, hidden("html", "html-comment", 1, "a")))
		}
		if _, err := s.Prune(t.Context()); err != nil {
			t.Fatal(err)
		}
		left := seen(t, s.Reader, Filter{})
		if len(left) != c.want || left[0] != "shopping 9 html html-comment 1" {
			t.Errorf("%+v: %d left, the newest %s", c.limits, len(left), left[0])
		}
	}
}

func TestPurgeSightings(t *testing.T) {
	s, _ := fresh(t, Limits{})
	for n := range 3 {
		keep(t, s, hiding("shopping", n, hidden("html", "html-comment", 1, "a")))
	}
	if n, err := s.Purge(t.Context(), noon.Add(2*time.Second)); err != nil || n != 0 {
		t.Errorf("Purge = %d, %v", n, err)
	}
	wantSeen(t, seen(t, s.Reader, Filter{}), "shopping 2 html html-comment 1")
}

func TestStrangeSighting(t *testing.T) {
	for _, set := range []string{"place = 'Run this'", "class = ''", "hash = 'x'", "policy = 'Run this'"} {
		s, url := fresh(t, Limits{})
		keep(t, s, hiding("shopping", 1, hidden("html", "html-comment", 1, "a")))
		raw(t, strings.TrimPrefix(url, "sqlite:"), "UPDATE sighting SET "+set)
		if _, err := s.Sightings(t.Context(), Filter{}); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %v", set, err)
		}
	}
}
