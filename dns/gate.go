package dns

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"stile/verdict"
)

// Bounds of a Gate.
const (
	perMinute  = 30    // look-ups of unknown selectors a minute, for each domain
	maxDomains = 10000 // domains that had one in the last minute
)

// Known reports whether a signature verified here before by the key at name,
// s._domainkey.d in lower case.
type Known func(ctx context.Context, name string) (bool, error)

// Gate stands before a Resolver. Mail that claims a listed sender can name any
// selector; so for each domain only 30 selectors a minute that never verified
// here are looked up, and one domain's flood costs no other domain anything. A
// selector that once verified is always looked up, and what the cache answers
// costs nothing. It is safe for concurrent use.
type Gate struct {
	resolver *Resolver
	known    Known

	mu      sync.Mutex
	asked   map[string][]time.Time // by domain: the look-ups of the last minute, oldest first
	swept   time.Time
	domains int // bound
}

// NewGate puts a gate before r.
func NewGate(r *Resolver, known Known) *Gate {
	return &Gate{resolver: r, known: known, asked: make(map[string][]time.Time), domains: maxDomains}
}

// LookupTXT is that of the Resolver. Over the bound it does not ask; the error
// wraps verdict.ErrBusy.
func (g *Gate) LookupTXT(ctx context.Context, name string) ([]string, error) {
	return g.resolver.lookup(ctx, name, g.admit)
}

// admit is asked about a name that the cache does not answer.
func (g *Gate) admit(ctx context.Context, name string) error {
	// A store that cannot say is one that does not know: the bound holds, and
	// what is within it is still looked up.
	known, err := g.known(ctx, strings.TrimSuffix(name, "."))
	if err == nil && known {
		return nil
	}
	_, domain, _ := strings.Cut(name, "._domainkey.")
	if !g.take(domain, g.resolver.now()) {
		return fmt.Errorf("dns: too many unknown selectors of one domain: %w", verdict.ErrBusy)
	}
	return nil
}

// take counts a look-up for the domain, if one is left.
func (g *Gate) take(domain string, now time.Time) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	asked, held := g.asked[domain]
	if !held && !g.room(now) {
		return false
	}
	for len(asked) > 0 && over(asked[0], now) {
		asked = asked[1:]
	}
	if len(asked) >= perMinute {
		g.asked[domain] = asked
		return false
	}
	g.asked[domain] = append(asked, now)
	return true
}

// room reports whether one more domain can be counted. A domain is forgotten
// only when its minute is over: forgetting it sooner would give it a new one.
func (g *Gate) room(now time.Time) bool {
	if len(g.asked) < g.domains {
		return true
	}
	if now.Sub(g.swept) < time.Second {
		return false
	}
	g.swept = now
	for domain, asked := range g.asked {
		if over(asked[len(asked)-1], now) {
			delete(g.asked, domain)
		}
	}
	return len(g.asked) < g.domains
}

// over reports whether a look-up of that time no longer counts.
func over(then, now time.Time) bool { return now.Sub(then) >= time.Minute }
