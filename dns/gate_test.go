package dns

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/miekg/dns"

	"stile/verdict"
)

// gated is a gate before a server that knows every name or none.
func gated(t *testing.T, known Known, ttl int) (*Gate, *server, *clock) {
	t.Helper()
	s := serve(t, func(_ string, m *dns.Msg) bool {
		m.Answer = []dns.RR{rr(t, fmt.Sprintf(`%s %d IN TXT "a"`, m.Question[0].Name, ttl))}
		return true
	})
	c := newClock()
	return NewGate(resolver(t, c, s), known), s, c
}

func unknown(context.Context, string) (bool, error) { return false, nil }

func look(t *testing.T, g *Gate, name string) error {
	t.Helper()
	got, err := g.LookupTXT(t.Context(), name)
	if err == nil && len(got) != 1 {
		t.Errorf("LookupTXT(%q) = %q", name, got)
	}
	return err
}

func TestGate(t *testing.T) {
	g, s, c := gated(t, unknown, 0)
	for i := range perMinute {
		if err := look(t, g, fmt.Sprintf("x%d._domainkey.example.org", i)); err != nil {
			t.Fatal(err)
		}
		c.move(time.Second)
	}
	for range 2 {
		if err := look(t, g, "y._domainkey.EXAMPLE.org"); !errors.Is(err, verdict.ErrBusy) {
			t.Errorf("over the bound: %v", err)
		}
	}
	if n := len(s.queries()); n != perMinute {
		t.Errorf("asked %d times, want %d", n, perMinute)
	}
	if err := look(t, g, "y._domainkey.example.net"); err != nil {
		t.Errorf("another domain: %v", err)
	}
	// The first was asked 30 seconds ago.
	c.move(30*time.Second - time.Millisecond)
	if err := look(t, g, "y._domainkey.example.org"); !errors.Is(err, verdict.ErrBusy) {
		t.Errorf("before the first minute is over: %v", err)
	}
	c.move(time.Millisecond)
	if err := look(t, g, "y._domainkey.example.org"); err != nil {
		t.Errorf("one minute after the first: %v", err)
	}
	if err := look(t, g, "z._domainkey.example.org"); !errors.Is(err, verdict.ErrBusy) {
		t.Errorf("over the bound again: %v", err)
	}
}

func TestGateKnown(t *testing.T) {
	var asked []string
	g, _, _ := gated(t, func(_ context.Context, name string) (bool, error) {
		asked = append(asked, name)
		return name == "s1._domainkey.example.org", nil
	}, 0)
	for i := range perMinute + 1 {
		_ = look(t, g, fmt.Sprintf("x%d._domainkey.example.org", i))
	}
	for range 2 * perMinute {
		if err := look(t, g, "S1._domainkey.Example.ORG."); err != nil {
			t.Fatalf("a selector that verified: %v", err)
		}
	}
	if last := asked[len(asked)-1]; last != "s1._domainkey.example.org" {
		t.Errorf("the store was asked for %q", last)
	}
}

func TestGateCacheIsFree(t *testing.T) {
	g, s, _ := gated(t, unknown, 300)
	for range 2 * perMinute {
		if err := look(t, g, "s1._domainkey.example.org"); err != nil {
			t.Fatal(err)
		}
	}
	for i := range perMinute - 1 {
		if err := look(t, g, fmt.Sprintf("x%d._domainkey.example.org", i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := look(t, g, "y._domainkey.example.org"); !errors.Is(err, verdict.ErrBusy) {
		t.Errorf("over the bound: %v", err)
	}
	if err := look(t, g, "s1._domainkey.example.org"); err != nil {
		t.Errorf("from the cache, over the bound: %v", err)
	}
	if n := len(s.queries()); n != perMinute {
		t.Errorf("asked %d times, want %d", n, perMinute)
	}
}

func TestGateStoreFails(t *testing.T) {
	g, _, _ := gated(t, func(context.Context, string) (bool, error) { return true, errors.New("store") }, 0)
	for i := range perMinute {
		if err := look(t, g, fmt.Sprintf("x%d._domainkey.example.org", i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := look(t, g, "y._domainkey.example.org"); !errors.Is(err, verdict.ErrBusy) {
		t.Errorf("over the bound: %v", err)
	}
}

func TestGateDomains(t *testing.T) {
	g, _, c := gated(t, unknown, 0)
	g.domains = 2
	steps := []struct {
		after  time.Duration
		domain string
		busy   bool
	}{
		{0, "a.example", false},
		{30 * time.Second, "b.example", false},
		{0, "c.example", true},
		{0, "a.example", false},
		{59 * time.Second, "c.example", true},    // a and b count still
		{time.Second / 2, "c.example", true},     // swept less than a second ago
		{time.Second / 2, "c.example", false},    // a and b are forgotten
		{0, "a.example", false},                  // and there is room again
		{0, "b.example", true},                   // but not more
		{2 * time.Minute, "d.example", false},    // nobody counts
		{2 * time.Minute, "bare.example", false}, // a name of another form is counted too
	}
	for i, step := range steps {
		c.move(step.after)
		if err := look(t, g, fmt.Sprintf("s%d._domainkey.%s", i, step.domain)); errors.Is(err, verdict.ErrBusy) != step.busy {
			t.Errorf("step %d, %s: %v, want busy %v", i, step.domain, err, step.busy)
		}
		if n := len(g.asked); n > g.domains {
			t.Errorf("step %d: %d domains", i, n)
		}
	}
}

func TestGateInvalidNameIsFree(t *testing.T) {
	g, s, _ := gated(t, func(context.Context, string) (bool, error) { panic("asked") }, 0)
	if got, err := g.LookupTXT(t.Context(), "a b._domainkey.example.org"); err != nil || got != nil {
		t.Errorf("LookupTXT = %q, %v", got, err)
	}
	if n := len(s.queries()); n != 0 {
		t.Errorf("asked %d times", n)
	}
}
