package dns

import (
	"net"
	"sync"
	"testing"
	"time"

	"github.com/miekg/dns"
)

// server is a name server on loopback, over UDP and TCP of one port.
type server struct {
	addr string

	mu    sync.Mutex
	asked []string // network and name of each query
}

// serve starts a server. answer fills in a reply that repeats the question; if
// it returns false nothing is sent.
func serve(t *testing.T, answer func(network string, reply *dns.Msg) bool) *server {
	t.Helper()
	return serveRaw(t, func(network string, query *dns.Msg) []byte {
		reply := new(dns.Msg).SetReply(query)
		reply.RecursionAvailable = true
		if !answer(network, reply) {
			return nil
		}
		wire, err := reply.Pack()
		if err != nil {
			t.Error(err)
		}
		return wire
	})
}

// serveRaw starts a server that sends the octets of answer, none if nil.
func serveRaw(t *testing.T, answer func(network string, query *dns.Msg) []byte) *server {
	t.Helper()
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &server{addr: tcp.Addr().String()}
	udp, err := net.ListenPacket("udp", s.addr)
	if err != nil {
		t.Fatal(err)
	}
	for network, ds := range map[string]*dns.Server{"udp": {PacketConn: udp}, "tcp": {Listener: tcp}} {
		ds.Handler = dns.HandlerFunc(func(w dns.ResponseWriter, query *dns.Msg) {
			s.mu.Lock()
			s.asked = append(s.asked, network+" "+query.Question[0].Name)
			s.mu.Unlock()
			if wire := answer(network, query); wire != nil {
				_, _ = w.Write(wire)
			}
		})
		up := make(chan struct{})
		ds.NotifyStartedFunc = func() { close(up) }
		done := make(chan error, 1)
		go func() { done <- ds.ActivateAndServe() }()
		<-up
		t.Cleanup(func() {
			if err := ds.Shutdown(); err != nil {
				t.Error(err)
			}
			if err := <-done; err != nil {
				t.Error(err)
			}
		})
	}
	return s
}

// queries is what was asked so far.
func (s *server) queries() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.asked...)
}

// rr parses one record of a master file.
func rr(t testing.TB, text string) dns.RR {
	t.Helper()
	r, err := dns.NewRR(text)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// clock is a clock that stands until it is moved.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func newClock() *clock { return &clock{at: time.Date(2026, 11, 30, 20, 57, 13, 0, time.UTC)} }

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) move(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// resolver makes a Resolver that asks the servers and reads the clock.
func resolver(t *testing.T, c *clock, servers ...*server) *Resolver {
	t.Helper()
	cfg := Config{Timeout: 5 * time.Second}
	for _, s := range servers {
		cfg.Servers = append(cfg.Servers, s.addr)
	}
	r, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if c != nil {
		r.now = c.now
	}
	return r
}
