package dns

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/miekg/dns"

	"stile/verdict"
)

// A Resolver, a Gate and a Zone are what judging asks.
var (
	_ verdict.LookupTXT = (*Resolver)(nil).LookupTXT
	_ verdict.LookupTXT = (*Gate)(nil).LookupTXT
	_ verdict.LookupTXT = (*Zone)(nil).LookupTXT
)

const key = "s1._domainkey.example.org."

// records makes an answer of the records, and of the rcode if there are none.
func records(t *testing.T, texts ...string) func(string, *dns.Msg) bool {
	var rrs []dns.RR
	for _, text := range texts {
		rrs = append(rrs, rr(t, text))
	}
	return func(_ string, m *dns.Msg) bool {
		m.Answer = rrs
		return true
	}
}

func rcode(code int) func(string, *dns.Msg) bool {
	return func(_ string, m *dns.Msg) bool {
		m.Rcode = code
		return true
	}
}

// chain is n CNAMEs that lead from key, and a TXT at the end.
func chain(n int) []string {
	var all []string
	from := key
	for i := range n {
		to := fmt.Sprintf("c%d.example.net.", i)
		all = append(all, from+" 300 IN CNAME "+to)
		from = to
	}
	return append(all, from+` 300 IN TXT "end"`)
}

func TestLookup(t *testing.T) {
	octets := ""
	for i := range 250 {
		octets += fmt.Sprintf(`\%03d`, i)
	}
	raw := ""
	for i := range 250 {
		raw += string([]byte{byte(i)})
	}
	tests := []struct {
		name   string
		answer func(string, *dns.Msg) bool
		want   []string
	}{
		{"one", records(t, key+` 300 IN TXT "v=DKIM1; p=AAAA"`), []string{"v=DKIM1; p=AAAA"}},
		{"strings joined", records(t, key+` 300 IN TXT "v=DKIM1; " "p=AA" "" "AA"`), []string{"v=DKIM1; p=AAAA"}},
		{"several stay several", records(t, key+` 300 IN TXT "a"`, key+` 300 IN TXT "b"`), []string{"a", "b"}},
		{"empty", records(t, key+` 300 IN TXT ""`), []string{""}},
		{"every octet", records(t, key+` 300 IN TXT "`+octets+`"`), []string{raw}},
		{"quotes", records(t, key+` 300 IN TXT "a\"b\\c\\034"`), []string{`a"b\c\034`}},
		{"owner in capitals", records(t, `S1._DomainKey.EXAMPLE.org. 300 IN TXT "a"`), []string{"a"}},
		{"alias", records(t, chain(1)...), []string{"end"}},
		{"aliases in any order", func(_ string, m *dns.Msg) bool {
			records(t, chain(8)...)("", m)
			slices.Reverse(m.Answer)
			return true
		}, []string{"end"}},
		{"beside others", records(t, key+` 300 IN A 192.0.2.1`, `x.example. 300 IN TXT "x"`, key+` 300 CH TXT "ch"`, key+` 300 IN TXT "a"`), []string{"a"}},
		{"no such name", rcode(dns.RcodeNameError), nil},
		{"no such name behind an alias", func(_ string, m *dns.Msg) bool {
			m.Rcode, m.Answer = dns.RcodeNameError, []dns.RR{rr(t, key+" 300 IN CNAME x.example.")}
			return true
		}, nil},
		{"no such name, by a plain server", func(_ string, m *dns.Msg) bool {
			m.Rcode, m.RecursionAvailable = dns.RcodeNameError, false
			return true
		}, nil},
		{"no data", rcode(dns.RcodeSuccess), nil},
		{"no data behind an alias", records(t, key+" 300 IN CNAME x.example."), nil},
		{"no data, by the authority", func(_ string, m *dns.Msg) bool {
			m.RecursionAvailable, m.Authoritative = false, true
			return true
		}, nil},
		{"no data, with NS and SOA", func(_ string, m *dns.Msg) bool {
			m.Ns = []dns.RR{rr(t, "example.org. 300 IN NS ns.example.org."), rr(t, "example.org. 300 IN SOA ns h 1 1 1 1 1")}
			return true
		}, nil},
		{"cut, then whole over TCP", func(network string, m *dns.Msg) bool {
			if network == "udp" {
				m.Truncated = true
				return true
			}
			return records(t, key+` 300 IN TXT "a"`)("", m)
		}, []string{"a"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := resolver(t, nil, serve(t, test.answer))
			for _, name := range []string{"s1._domainkey.example.org", "S1._domainkey.EXAMPLE.org."} {
				got, err := r.LookupTXT(t.Context(), name)
				if err != nil || !slices.Equal(got, test.want) {
					t.Errorf("LookupTXT(%q) = %q, %v, want %q", name, got, err, test.want)
				}
			}
		})
	}
}

func TestTruncatedInARecord(t *testing.T) {
	s := serveRaw(t, func(network string, q *dns.Msg) []byte {
		m := new(dns.Msg).SetReply(q)
		m.Answer = []dns.RR{rr(t, key+` 300 IN TXT "whole"`)}
		m.Truncated = network == "udp"
		wire, err := m.Pack()
		if err != nil {
			t.Error(err)
		}
		if network == "udp" {
			return wire[:len(wire)-3]
		}
		return wire
	})
	got, err := resolver(t, nil, s).LookupTXT(t.Context(), key)
	if err != nil || !slices.Equal(got, []string{"whole"}) {
		t.Errorf("LookupTXT = %q, %v", got, err)
	}
	if q := s.queries(); !slices.Equal(q, []string{"udp " + key, "tcp " + key}) {
		t.Errorf("asked %q", q)
	}
}

// Every failure is an error, none of them is kept, and each server is asked
// twice before it.
func TestFailures(t *testing.T) {
	big := key + " 300 IN TXT"
	for range 70 {
		big += ` "` + strings.Repeat("x", 250) + `"`
	}
	tests := []struct {
		name   string
		answer func(string, *dns.Msg) bool
		want   error
	}{
		{"SERVFAIL", rcode(dns.RcodeServerFailure), errServFail},
		{"REFUSED", rcode(dns.RcodeRefused), errRefused},
		{"FORMERR", rcode(dns.RcodeFormatError), errRefused},
		{"NOTIMP", rcode(dns.RcodeNotImplemented), errRefused},
		{"BADVERS", func(_ string, m *dns.Msg) bool {
			m.Rcode = dns.RcodeBadVers
			m.SetEdns0(udpSize, false)
			return true
		}, errRefused},
		{"silence", func(string, *dns.Msg) bool { return false }, errTimeout},
		{"silence over TCP", func(network string, m *dns.Msg) bool {
			m.Truncated = true
			return network == "udp"
		}, errTimeout},
		{"another ID", func(_ string, m *dns.Msg) bool { m.Id++; return records(t, key+` 300 IN TXT "a"`)("", m) }, errTimeout},
		{"another ID over TCP", func(network string, m *dns.Msg) bool {
			if network == "tcp" {
				m.Id++
			}
			m.Truncated = network == "udp"
			return records(t, key+` 300 IN TXT "a"`)("", m)
		}, errMalformed},
		{"another name asked", func(_ string, m *dns.Msg) bool {
			m.Question[0].Name = "s2._domainkey.example.org."
			return records(t, key+` 300 IN TXT "a"`)("", m)
		}, errQuestion},
		{"another type asked", func(_ string, m *dns.Msg) bool { m.Question[0].Qtype = dns.TypeA; return true }, errQuestion},
		{"another class asked", func(_ string, m *dns.Msg) bool { m.Question[0].Qclass = dns.ClassCHAOS; return true }, errQuestion},
		{"no question", func(_ string, m *dns.Msg) bool { m.Question = nil; return true }, errQuestion},
		{"two questions", func(_ string, m *dns.Msg) bool { m.Question = append(m.Question, m.Question[0]); return true }, errQuestion},
		{"a query", func(_ string, m *dns.Msg) bool { m.Response = false; return true }, errQuestion},
		{"an update", func(_ string, m *dns.Msg) bool { m.Opcode = dns.OpcodeUpdate; return true }, errQuestion},
		{"text at another name", records(t, `evil.example. 300 IN TXT "a"`), errMalformed},
		{"text at a name that does not exist", func(_ string, m *dns.Msg) bool {
			m.Rcode = dns.RcodeNameError
			return records(t, key+` 300 IN TXT "a"`)("", m)
		}, errMalformed},
		{"alias of itself", records(t, key+" 300 IN CNAME "+key), errChain},
		{"loop", records(t, key+" 300 IN CNAME a.example.", "a.example. 300 IN CNAME "+key), errChain},
		{"nine aliases", records(t, chain(9)...), errChain},
		{"two aliases of one name", records(t, key+" 300 IN CNAME a.example.", key+" 300 IN CNAME b.example."), errMalformed},
		{"referral", func(_ string, m *dns.Msg) bool {
			m.Ns = []dns.RR{rr(t, "example.org. 300 IN NS ns.example.org.")}
			return true
		}, errReferral},
		{"neither recursive nor authority", func(_ string, m *dns.Msg) bool { m.RecursionAvailable = false; return true }, errReferral},
		{"alias out of the authority's zone", func(_ string, m *dns.Msg) bool {
			m.RecursionAvailable, m.Authoritative = false, true
			return records(t, key+" 300 IN CNAME a.example.")("", m)
		}, errReferral},
		{"cut over TCP too", func(_ string, m *dns.Msg) bool { m.Truncated = true; return true }, errTooLarge},
		{"too large", func(network string, m *dns.Msg) bool {
			if network == "udp" {
				m.Truncated = true
				return true
			}
			return records(t, big)("", m)
		}, errTooLarge},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := serve(t, test.answer)
			r := resolver(t, nil, s)
			r.timeout = 200 * time.Millisecond
			if test.want == errTimeout {
				r.timeout = 20 * time.Millisecond
			}
			for range 2 {
				if got, err := r.LookupTXT(t.Context(), key); !errors.Is(err, test.want) || got != nil {
					t.Errorf("LookupTXT = %q, %v, want %v", got, err, test.want)
				}
			}
			udp := slices.DeleteFunc(s.queries(), func(q string) bool { return q != "udp "+key })
			if len(udp) != 4 {
				t.Errorf("asked %d times over UDP, want 4", len(udp))
			}
		})
	}
}

func TestGarbage(t *testing.T) {
	tests := []struct {
		name string
		make func(wire []byte) []byte
	}{
		{"short", func(w []byte) []byte { return w[:7] }},
		{"cut without saying so", func(w []byte) []byte { return w[:len(w)-1] }},
		{"length over the end", func(w []byte) []byte { w[len(w)-2] = 0xff; return w }},
		{"pointer to itself", func(w []byte) []byte { w[12], w[13] = 0xc0, 12; return w }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := serveRaw(t, func(_ string, q *dns.Msg) []byte {
				m := new(dns.Msg).SetReply(q)
				m.Answer = []dns.RR{rr(t, key+` 300 IN TXT "a"`)}
				wire, err := m.Pack()
				if err != nil {
					t.Error(err)
				}
				return test.make(wire)
			})
			if got, err := resolver(t, nil, s).LookupTXT(t.Context(), key); !errors.Is(err, errMalformed) {
				t.Errorf("LookupTXT = %q, %v, want %v", got, err, errMalformed)
			}
		})
	}
}

func TestNoServer(t *testing.T) {
	c, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	dead := &server{addr: c.LocalAddr().String()}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := resolver(t, nil, dead).LookupTXT(t.Context(), key); !errors.Is(err, errNetwork) {
		t.Errorf("LookupTXT: %v, want %v", err, errNetwork)
	}
	live := serve(t, records(t, key+` 300 IN TXT "a"`))
	if got, err := resolver(t, nil, dead, live).LookupTXT(t.Context(), key); err != nil || len(got) != 1 {
		t.Errorf("with a second server: %q, %v", got, err)
	}
}

func TestOrderOfServers(t *testing.T) {
	var mu sync.Mutex
	var order []string
	named := func(name string, code int) *server {
		return serve(t, func(_ string, m *dns.Msg) bool {
			mu.Lock()
			defer mu.Unlock()
			order = append(order, name)
			m.Rcode = code
			return true
		})
	}
	a, b := named("a", dns.RcodeServerFailure), named("b", dns.RcodeRefused)
	if _, err := resolver(t, nil, a, b).LookupTXT(t.Context(), key); !errors.Is(err, errRefused) {
		t.Errorf("LookupTXT: %v, want the last attempt's", err)
	}
	mu.Lock()
	defer mu.Unlock()
	if want := []string{"a", "b", "a", "b"}; !slices.Equal(order, want) {
		t.Errorf("asked %q, want %q", order, want)
	}
}

func TestBudget(t *testing.T) {
	s := serve(t, func(string, *dns.Msg) bool { return false })
	r := resolver(t, nil, s)
	r.budget = 20 * time.Millisecond
	if _, err := r.LookupTXT(t.Context(), key); !errors.Is(err, errTimeout) {
		t.Errorf("LookupTXT: %v, want %v", err, errTimeout)
	}
	if n := len(s.queries()); n != 1 {
		t.Errorf("asked %d times, want once", n)
	}
}

func TestNames(t *testing.T) {
	long := strings.Repeat("a", maxLabel)
	tests := []struct {
		name string
		ok   bool
	}{
		{"s1._domainkey.example.org", true},
		{"S-1_x._domainkey.xn--bcher-kva.example.", true},
		{long + ".example", true},
		{long + "." + long + "." + long + "." + long[:61], true},
		{long + "." + long + "." + long + "." + long[:62], false},
		{long + "a.example", false},
		{"", false},
		{".", false},
		{"a..example", false},
		{".example", false},
		{"example..", false},
		{"../../x.example", false},
		{"a b.example", false},
		{"a\x00b.example", false},
		{`a\046b.example`, false},
		{"*.example", false},
		{"bücher.example", false},
		{"a\u212aey.example", false},
	}
	s := serve(t, records(t))
	r := resolver(t, nil, s)
	for _, test := range tests {
		before := len(s.queries())
		if got, err := r.LookupTXT(t.Context(), test.name); err != nil || len(got) > 0 {
			t.Errorf("LookupTXT(%q) = %q, %v", test.name, got, err)
		}
		if asked := len(s.queries()) > before; asked != test.ok {
			t.Errorf("%q: asked %v, want %v", test.name, asked, test.ok)
		}
	}
}

func TestOneFlight(t *testing.T) {
	arrived, release := make(chan struct{}), make(chan struct{})
	s := serve(t, func(_ string, m *dns.Msg) bool {
		close(arrived) // a second query would panic
		<-release
		return records(t, key+` 300 IN TXT "a"`)("", m)
	})
	r := resolver(t, nil, s)
	r.timeout = time.Minute
	first, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	failed := make(chan error)
	go func() {
		_, err := r.LookupTXT(first, key)
		failed <- err
	}()
	<-arrived
	const callers = 20
	var started, done sync.WaitGroup
	started.Add(callers)
	for range callers {
		done.Go(func() {
			started.Done()
			got, err := r.LookupTXT(t.Context(), key)
			if err != nil || !slices.Equal(got, []string{"a"}) {
				t.Errorf("LookupTXT = %q, %v", got, err)
				return
			}
			got[0] = "changed by the caller"
		})
	}
	started.Wait()
	if err := <-failed; !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the caller whose time was over: %v", err)
	}
	close(release)
	done.Wait()
}

func TestAtOnce(t *testing.T) {
	s := serve(t, records(t))
	r := resolver(t, nil, s)
	r.budget = 10 * time.Millisecond
	for range cap(r.slots) {
		r.slots <- struct{}{}
	}
	if _, err := r.LookupTXT(t.Context(), key); !errors.Is(err, verdict.ErrBusy) {
		t.Errorf("LookupTXT: %v, want %v", err, verdict.ErrBusy)
	}
	for range cap(r.slots) {
		<-r.slots
	}
	r.budget = maxBudget
	for range cap(r.slots) + 1 { // each gives its slot back
		if _, err := r.LookupTXT(t.Context(), key); err != nil {
			t.Error(err)
		}
	}
}

func TestPanicIsAnError(t *testing.T) {
	s := serve(t, records(t))
	r := resolver(t, nil, s)
	r.observe = func(string, time.Duration) { panic("observed") }
	if _, err := r.LookupTXT(t.Context(), key); !errors.Is(err, errInternal) {
		t.Errorf("LookupTXT: %v, want %v", err, errInternal)
	}
}

func TestObserve(t *testing.T) {
	s := serve(t, func(_ string, m *dns.Msg) bool {
		switch name := m.Question[0].Name; name {
		case "a.example.":
			m.Answer = []dns.RR{rr(t, name+` 300 IN TXT "a"`)}
		case "b.example.":
			m.Rcode = dns.RcodeNameError
		default:
			m.Rcode = dns.RcodeServerFailure
		}
		return true
	})
	r := resolver(t, newClock(), s)
	var mu sync.Mutex
	var got []string
	r.observe = func(result string, took time.Duration) {
		mu.Lock()
		defer mu.Unlock()
		got = append(got, result)
		if !slices.Contains(Results, result) || took < 0 {
			t.Errorf("observed %q, %v", result, took)
		}
	}
	g := NewGate(r, func(context.Context, string) (bool, error) { return false, nil })
	for _, name := range []string{"a.example", "a.example", "b.example", "c.example"} {
		_, _ = r.LookupTXT(t.Context(), name)
	}
	g.domains = 0
	_, _ = g.LookupTXT(t.Context(), "d.example")
	mu.Lock()
	defer mu.Unlock()
	if want := []string{Answered, Cached, None, Failed, Busy}; !slices.Equal(got, want) {
		t.Errorf("observed %q, want %q", got, want)
	}
}

func TestServers(t *testing.T) {
	for _, s := range []string{"", "192.0.2.1", "192.0.2.1:", "192.0.2.1:0", ":53", "192.0.2.1:65536", "192.0.2.1:dns", "2001:db8::1:53x", "a:b:53"} {
		if _, err := New(Config{Servers: []string{s}}); err == nil {
			t.Errorf("New takes the server %q", s)
		}
	}
	for _, s := range []string{"192.0.2.1:53", "[2001:db8::1]:5353", "localhost:53"} {
		if _, err := New(Config{Servers: []string{s}}); err != nil {
			t.Errorf("New: %v", err)
		}
	}
}

func TestSystemServers(t *testing.T) {
	dir := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	tests := []struct {
		path string
		want []string
	}{
		{file("two", "search example\nnameserver 192.0.2.1\nnameserver 2001:db8::1\n"), []string{"192.0.2.1:53", "[2001:db8::1]:53"}},
		{file("none", "# nothing\n"), []string{"127.0.0.1:53"}},
		{filepath.Join(dir, "missing"), []string{"127.0.0.1:53"}},
	}
	for _, test := range tests {
		if got, err := systemServers(test.path); err != nil || !slices.Equal(got, test.want) {
			t.Errorf("%s: %q, %v, want %q", filepath.Base(test.path), got, err, test.want)
		}
	}
	if got, err := systemServers(dir); err == nil {
		t.Errorf("a directory: %q", got)
	}
}
