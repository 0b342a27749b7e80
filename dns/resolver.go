package dns

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/miekg/dns"
	"golang.org/x/sync/singleflight"

	"stile/verdict"
)

// Defaults and bounds of a Resolver.
const (
	defaultTimeout = 2 * time.Second  // of one attempt
	maxBudget      = 10 * time.Second // of one look-up, all attempts together
	maxAtOnce      = 64               // look-ups on the wire at once
	rounds         = 2                // times that each server is asked
	systemConfig   = "/etc/resolv.conf"
)

// What became of a look-up, as Config.Observe is told. The list is closed.
const (
	Answered = "answer" // records were found
	None     = "none"   // there is no record
	Failed   = "error"  // no answer now
	Busy     = "busy"   // a bound kept the Resolver from asking
	Cached   = "cached" // records, or none, from the cache
)

// Results lists what Config.Observe can be told.
var Results = []string{Answered, None, Failed, Busy, Cached}

// Config says how to look names up.
type Config struct {
	// Servers are recursive name servers as host:port, asked in this order.
	// None: the system's, read once from /etc/resolv.conf.
	Servers []string

	// Timeout is that of one attempt; 0 is two seconds.
	Timeout time.Duration

	// Observe, if set, is told of every look-up: its result, one of Results,
	// and how long it took. It is called from several goroutines.
	Observe func(result string, took time.Duration)
}

// Resolver looks TXT records up. It is safe for concurrent use.
type Resolver struct {
	servers []string
	timeout time.Duration
	budget  time.Duration
	observe func(string, time.Duration)
	now     func() time.Time
	cache   *cache
	flights singleflight.Group
	slots   chan struct{} // one for each look-up on the wire
}

// New makes a Resolver. A server that is no host:port, or a resolv.conf that
// is there but cannot be read, is an error.
func New(c Config) (*Resolver, error) {
	servers := slices.Clone(c.Servers)
	for _, s := range servers {
		if !hostPort(s) {
			return nil, fmt.Errorf("dns: the name server %q is not host:port", s)
		}
	}
	if len(servers) == 0 {
		var err error
		if servers, err = systemServers(systemConfig); err != nil {
			return nil, err
		}
	}
	r := &Resolver{
		servers: servers,
		timeout: c.Timeout,
		budget:  maxBudget,
		observe: c.Observe,
		now:     time.Now,
		cache:   newCache(),
		slots:   make(chan struct{}, maxAtOnce),
	}
	if r.timeout <= 0 {
		r.timeout = defaultTimeout
	}
	if r.observe == nil {
		r.observe = func(string, time.Duration) {}
	}
	return r, nil
}

// hostPort reports whether s names a server to dial.
func hostPort(s string) bool {
	host, port, err := net.SplitHostPort(s)
	if err != nil {
		return false
	}
	if host == "" {
		return false
	}
	n, err := strconv.ParseUint(port, 10, 16)
	return err == nil && n > 0
}

// systemServers reads the name servers of resolv.conf. A file that is not
// there, or names none, means the one on this host (resolv.conf(5)).
func systemServers(path string) ([]string, error) {
	local := []string{"127.0.0.1:53"}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return local, nil
	}
	if err != nil {
		return nil, fmt.Errorf("dns: the system's name servers: %w", err)
	}
	c, err := dns.ClientConfigFromReader(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("dns: the system's name servers: %w", err)
	}
	if len(c.Servers) == 0 {
		return local, nil
	}
	var servers []string
	for _, host := range c.Servers {
		servers = append(servers, net.JoinHostPort(host, c.Port))
	}
	return servers, nil
}

// LookupTXT is the TXT records at name, the strings of each joined, in the
// order of the answer. It is a verdict.LookupTXT: no record, or a name that no
// record can stand at, is an empty slice without an error. The name is
// absolute, with or without a last dot. A look-up ends with ctx, and after ten
// seconds at the latest; callers that ask for one name at once share an answer.
func (r *Resolver) LookupTXT(ctx context.Context, name string) ([]string, error) {
	return r.lookup(ctx, name, func(context.Context, string) error { return nil })
}

// lookup is LookupTXT; admit is asked before a question that the cache does
// not answer is put.
func (r *Resolver) lookup(ctx context.Context, name string, admit func(context.Context, string) error) ([]string, error) {
	name, ok := canonical(name)
	if !ok {
		return nil, nil
	}
	start := r.now()
	if txt, ok := r.cache.get(name, start); ok {
		r.observe(Cached, r.now().Sub(start))
		return txt, nil
	}
	if err := admit(ctx, name); err != nil {
		r.observe(Busy, r.now().Sub(start))
		return nil, err
	}
	// The flight does not end with the caller that began it: others wait for
	// the same answer.
	flight := r.flights.DoChan(name, func() (any, error) {
		return r.fly(context.WithoutCancel(ctx), name)
	})
	select {
	case <-ctx.Done():
		return nil, fmt.Errorf("dns: no answer before the caller's time was over: %w", ctx.Err())
	case f := <-flight:
		if f.Err != nil {
			return nil, f.Err
		}
		return slices.Clone(f.Val.([]string)), nil
	}
}

// fly is one look-up on the wire, and what becomes of its answer.
func (r *Resolver) fly(ctx context.Context, name string) (txt []string, err error) {
	// A flight has a goroutine of its own: a panic in it, or in Observe, would
	// end the whole process instead of deferring one message.
	defer func() {
		if recover() != nil {
			txt, err = nil, errInternal
		}
	}()
	start, result := r.now(), Failed
	defer func() { r.observe(result, r.now().Sub(start)) }()
	ctx, cancel := context.WithTimeout(ctx, r.budget)
	defer cancel()
	select {
	case r.slots <- struct{}{}:
		defer func() { <-r.slots }()
	case <-ctx.Done():
		result = Busy
		return nil, fmt.Errorf("dns: too many look-ups at once: %w", verdict.ErrBusy)
	}
	// The flight before this one may have landed since the caller looked.
	if txt, ok := r.cache.get(name, r.now()); ok {
		result = Cached
		return txt, nil
	}
	a, err := r.ask(ctx, name)
	if err != nil {
		return nil, err
	}
	result = None
	if len(a.txt) > 0 {
		result = Answered
	}
	r.cache.put(name, a, r.now())
	return a.txt, nil
}
