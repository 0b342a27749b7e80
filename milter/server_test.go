package milter

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	dj "github.com/d--j/go-milter"

	"stile/tests/signed"
)

// closed waits until the other side has closed the connection.
func closed(t testing.TB, nc net.Conn) {
	t.Helper()
	must(t, nc.SetReadDeadline(time.Now().Add(10*time.Second)))
	if _, err := io.ReadAll(nc); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatal("the connection is still open")
	}
}

func dialRaw(t testing.TB, p *place, input string) net.Conn {
	t.Helper()
	nc, err := net.Dial("unix", p.socket)
	must(t, err)
	t.Cleanup(func() { _ = nc.Close() })
	if input != "" {
		_, err = io.WriteString(nc, input)
		must(t, err)
	}
	return nc
}

// exposition is what a scrape reads.
func (p *place) exposition() string {
	p.t.Helper()
	w := httptest.NewRecorder()
	p.metrics.Handler(func(context.Context) error { return nil }).ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	return w.Body.String()
}

// metric reports whether the exposition has the line.
func (p *place) metric(line string) bool {
	p.t.Helper()
	return strings.Contains("\n"+p.exposition(), "\n"+line+"\n")
}

func TestSessionLimit(t *testing.T) {
	p := run(t, noKeys, func(s *Server) { s.o.MaxSessions = 2 })
	first, _ := p.dial(), p.dial()
	third := dialRaw(t, p, "")
	closed(t, third)
	if n := len(p.lines(connFull)); n != 1 {
		t.Errorf("%d lines:\n%s", n, p.log)
	}
	for _, line := range []string{"stile_sessions 2", "stile_sessions_refused_total 1"} {
		if !p.metric(line) {
			t.Errorf("no metric %q", line)
		}
	}
	// One that ends makes room. Its end is seen when its place is free.
	must(t, first.s.Close())
	for !p.metric("stile_sessions 1") {
	}
	p.dial()
}

func TestIdleSessionsEnd(t *testing.T) {
	p := run(t, noKeys, func(s *Server) { s.limits.idle, s.limits.frame = 20*time.Millisecond, time.Minute })
	closed(t, dialRaw(t, p, untilRcpt))
	if n := len(p.lines(connIdle)); n != 1 {
		t.Errorf("%d lines:\n%s", n, p.log)
	}
}

func TestSlowFramesEnd(t *testing.T) {
	p := run(t, noKeys, func(s *Server) { s.limits.frame = 20 * time.Millisecond })
	closed(t, dialRaw(t, p, untilRcpt+headerFrame[:12]))
	if n := len(p.lines(connSlow)); n != 1 {
		t.Errorf("%d lines:\n%s", n, p.log)
	}
}

// A message in hand is finished, the next one of its session deferred, and
// Serve returns when the session ends.
func TestStop(t *testing.T) {
	spec := signed.Spec{}
	p := run(t, signed.Lookup(t, spec), func(s *Server) { s.limits.linger = time.Minute })
	c := p.dial()
	c.envelope("friend@example.org", shopper)
	p.stop()
	p.refuses()
	_, a := c.content(signed.Mail(t, spec))
	is(t, a, dj.ActionAccept)
	_, a = c.deliver(signed.Mail(t, spec), shopper)
	id := isTryLater(t, a)
	if n := len(p.lines("id=" + id + " policy=shopping verdict=defer reason=shutdown")); n != 1 {
		t.Errorf("%d lines:\n%s", n, p.log)
	}
	must(t, c.s.Close())
	must(t, <-p.ended)
}

// refuses waits until no connection is taken any more.
func (p *place) refuses() {
	for {
		nc, err := net.Dial("unix", p.socket)
		if err != nil {
			return
		}
		_ = nc.Close()
	}
}

// Between two messages a session ends when the server does.
func TestStopIdle(t *testing.T) {
	p := run(t, noKeys, nil)
	idle, early := dialRaw(t, p, offerFrame+connectFrame), dialRaw(t, p, "")
	for !p.metric("stile_sessions 2") {
	}
	p.stop()
	must(t, <-p.ended)
	closed(t, idle)
	closed(t, early)
}

// A message in hand has more time than a session between two messages.
func TestStopWaitsForMessages(t *testing.T) {
	spec := signed.Spec{}
	p := run(t, signed.Lookup(t, spec), func(s *Server) { s.limits.linger = 20 * time.Millisecond })
	c := p.dial()
	c.envelope("friend@example.org", shopper)
	idle := dialRaw(t, p, offerFrame+connectFrame)
	for !p.metric("stile_sessions 2") {
	}
	p.stop()
	closed(t, idle)
	_, a := c.content(signed.Mail(t, spec))
	is(t, a, dj.ActionAccept)
	must(t, <-p.ended)
}

// When the time to finish is over, what is being judged is deferred.
func TestStopJudging(t *testing.T) {
	asked := make(chan struct{})
	p := run(t, func(ctx context.Context, _ string) ([]string, error) {
		close(asked)
		<-ctx.Done()
		return nil, ctx.Err()
	}, func(s *Server) { s.o.Grace, s.limits.abandon = 50*time.Millisecond, time.Minute })
	c := p.dial()
	go func() {
		<-asked
		p.stop()
	}()
	_, a := c.deliver(signed.Mail(t, signed.Spec{}), shopper)
	isTryLater(t, a)
	if n := len(p.lines("verdict=defer reason=shutdown")); n != 1 {
		t.Errorf("%d lines:\n%s", n, p.log)
	}
	must(t, <-p.ended)
}

// A session that does not end by itself is cut off.
func TestStopCuts(t *testing.T) {
	p := run(t, noKeys, func(s *Server) { s.o.Grace, s.limits.abandon = 20*time.Millisecond, 20*time.Millisecond })
	c := p.dial()
	c.envelope("friend@example.org", shopper)
	p.stop()
	must(t, <-p.ended)
	if _, err := c.s.HeaderEnd(); err == nil {
		t.Error("the session goes on")
	}
}

// Deciding has a time; what is not decided by then is deferred.
func TestDecisionTakesTooLong(t *testing.T) {
	p := run(t, func(ctx context.Context, _ string) ([]string, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}, func(s *Server) { s.limits.decision = 20 * time.Millisecond })
	_, a := p.dial().deliver(signed.Mail(t, signed.Spec{}), shopper)
	isTryLater(t, a)
	if n := len(p.lines("verdict=defer reason=dns")); n != 1 {
		t.Errorf("%d lines:\n%s", n, p.log)
	}
}

// flaky is a listener that fails a few times first.
type flaky struct {
	net.Listener
	mu     sync.Mutex
	errs   []error
	failed chan struct{} // one for each failure
}

func (l *flaky) Accept() (net.Conn, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.errs) > 0 {
		err := l.errs[0]
		l.errs = l.errs[1:]
		l.failed <- struct{}{}
		return nil, &net.OpError{Op: "accept", Net: "unix", Err: os.NewSyscallError("accept4", err)}
	}
	return l.Listener.Accept()
}

func TestAcceptIsTriedAgain(t *testing.T) {
	p := prepare(t, noKeys)
	ln, err := net.Listen("unix", p.socket)
	must(t, err)
	p.serve(&flaky{Listener: ln, errs: []error{syscall.EMFILE, syscall.ECONNABORTED, syscall.ENFILE}, failed: make(chan struct{}, 3)})
	p.dial()
	if n := len(p.lines("trying again")); n != 3 {
		t.Errorf("%d lines:\n%s", n, p.log)
	}
}

// The wait between two attempts ends with the server.
func TestAcceptWaitEnds(t *testing.T) {
	p := prepare(t, noKeys)
	p.server.limits.backOff = time.Hour
	ln, err := net.Listen("unix", p.socket)
	must(t, err)
	failing := &flaky{Listener: ln, errs: []error{syscall.EMFILE}, failed: make(chan struct{}, 1)}
	p.serve(failing)
	<-failing.failed
	p.stop()
	must(t, <-p.ended)
}

// An error that does not pass ends Serve, and every session.
func TestAcceptFails(t *testing.T) {
	p := prepare(t, noKeys)
	ln, err := net.Listen("unix", p.socket)
	must(t, err)
	err = p.server.Serve(context.Background(), &flaky{Listener: ln, errs: []error{syscall.EBADF}, failed: make(chan struct{}, 1)})
	if !errors.Is(err, syscall.EBADF) {
		t.Errorf("Serve: %v", err)
	}
	if _, err := net.Dial("unix", p.socket); err == nil {
		t.Error("it still listens")
	}
}
