package dns

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"
	"pgregory.net/rapid"
)

func TestCacheTimes(t *testing.T) {
	text := func(ttl int) string { return fmt.Sprintf(`%s %d IN TXT "a"`, key, ttl) }
	soa := func(ttl, minimum int) []dns.RR {
		return []dns.RR{rr(t, fmt.Sprintf("example.org. %d IN SOA ns h 1 1 1 1 %d", ttl, minimum))}
	}
	tests := []struct {
		name   string
		rcode  int
		answer []dns.RR
		ns     []dns.RR
		kept   time.Duration
	}{
		{"key", 0, []dns.RR{rr(t, text(300))}, nil, 300 * time.Second},
		{"key of TTL 0", 0, []dns.RR{rr(t, text(0))}, nil, 0},
		{"key of a day", 0, []dns.RR{rr(t, text(86400))}, nil, time.Hour},
		{"the least of several", 0, []dns.RR{rr(t, text(300)), rr(t, text(200))}, nil, 200 * time.Second},
		{"the alias's", 0, []dns.RR{rr(t, key+" 100 IN CNAME a.example."), rr(t, `a.example. 300 IN TXT "a"`)}, nil, 100 * time.Second},
		{"no name", dns.RcodeNameError, nil, soa(300, 30), 30 * time.Second},
		{"no data", 0, nil, soa(20, 300), 20 * time.Second},
		{"no name for a day", dns.RcodeNameError, nil, soa(86400, 86400), time.Minute},
		{"no name, without SOA", dns.RcodeNameError, nil, nil, 0},
		{"failure", dns.RcodeServerFailure, nil, soa(300, 300), 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := serve(t, func(_ string, m *dns.Msg) bool {
				m.Rcode, m.Answer, m.Ns = test.rcode, test.answer, test.ns
				return true
			})
			c := newClock()
			r := resolver(t, c, s)
			asks := func() bool {
				before := len(s.queries())
				_, _ = r.LookupTXT(t.Context(), key)
				return len(s.queries()) > before
			}
			if !asks() {
				t.Fatal("the first look-up did not ask")
			}
			if test.kept > 0 {
				c.move(test.kept - time.Millisecond)
				if asks() {
					t.Error("asked again within the TTL")
				}
				c.move(time.Millisecond)
			}
			if !asks() {
				t.Error("did not ask again when the TTL was over")
			}
		})
	}
}

func TestCacheIsNotShared(t *testing.T) {
	r := resolver(t, newClock(), serve(t, records(t, key+` 300 IN TXT "a"`)))
	for range 3 {
		got, err := r.LookupTXT(t.Context(), key)
		if err != nil || !slices.Equal(got, []string{"a"}) {
			t.Fatalf("LookupTXT = %q, %v", got, err)
		}
		got[0] = "changed by the caller"
	}
}

func TestNegativesPushNoKeyOut(t *testing.T) {
	c, now := newCache(), newClock().now()
	c.put(key, answer{[]string{"a"}, time.Hour}, now)
	for i := range 2 * maxEntries {
		c.put(fmt.Sprintf("x%d.example.", i), answer{ttl: time.Minute}, now)
	}
	if _, ok := c.get(key, now); !ok {
		t.Error("the key is gone")
	}
	if n := len(c.none.byName); n > maxEntries {
		t.Errorf("%d negatives kept", n)
	}
}

func TestLeastRecentlyUsedGoesFirst(t *testing.T) {
	c, now := newCache(), newClock().now()
	c.keys = newRoom(2, maxBytes)
	put := func(name string) { c.put(name, answer{[]string{name}, time.Hour}, now) }
	put("a.")
	put("b.")
	c.get("a.", now)
	put("c.")
	for name, want := range map[string]bool{"a.": true, "b.": false, "c.": true} {
		if _, ok := c.get(name, now); ok != want {
			t.Errorf("%s kept: %v, want %v", name, ok, want)
		}
	}
}

// Whatever is put, the bounds hold, the count of octets is right, and a name
// is kept as one kind at most.
func TestCacheBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, now := newCache(), newClock().now()
		c.keys, c.none = newRoom(5, 2000), newRoom(3, 2000)
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			name := rapid.SampledFrom([]string{"a.", "b.", "c.", "d.", "e.", "f.", "g."}).Draw(t, "name")
			a := answer{ttl: time.Duration(rapid.IntRange(0, 100).Draw(t, "ttl")) * time.Second}
			if n := rapid.IntRange(0, 2500).Draw(t, "octets"); n > 0 {
				a.txt = []string{strings.Repeat("x", n)}
			}
			c.put(name, a, now)
			got, ok := c.get(name, now)
			if ok && !slices.Equal(got, a.txt) {
				t.Fatal("an older answer was kept")
			}
			now = now.Add(time.Duration(rapid.IntRange(0, 50).Draw(t, "pause")) * time.Second)
			for _, room := range []*room{&c.keys, &c.none} {
				held := 0
				for el := room.order.Front(); el != nil; el = el.Next() {
					held += el.Value.(*entry).size()
				}
				if held != room.held || held > room.bytes || len(room.byName) > room.entries || len(room.byName) != room.order.Len() {
					t.Fatalf("%d octets counted as %d, %d names, %d in order", held, room.held, len(room.byName), room.order.Len())
				}
			}
		}
	})
}
