package milter

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/emersion/go-milter"
	"github.com/oklog/ulid/v2"
	"golang.org/x/sync/semaphore"

	"stile/config"
	"stile/metrics"
	"stile/quarantine"
	"stile/stamp"
	"stile/verdict"
)

// Options are what a Server works with.
type Options struct {
	Config  *config.Config // until Use
	Store   *quarantine.Store
	Lookup  verdict.LookupTXT
	Sealer  *stamp.Sealer
	Metrics *metrics.Metrics
	Log     *slog.Logger

	Evidence    *quarantine.Evidence // for the originals; nil: none is kept
	Now         func() time.Time     // the clock; nil: the system's
	SpoolDir    string               // for bodies over 256 KiB; "": the system's folder for temporary files
	MaxSessions int                  // connections at once; 0: 256
	Grace       time.Duration        // for messages in hand when the last call is over; 0: 15 s
}

// limits are the times that a session keeps.
type limits struct {
	idle     time.Duration // until the next frame begins: more than Postfix's smtpd_timeout of 300 s
	frame    time.Duration // for the rest of a frame
	write    time.Duration // for one write
	lastCall time.Duration // from the order to stop until sessions are asked to end; they go on as ever
	linger   time.Duration // until the next frame begins, between two messages of a session that is to end
	decision time.Duration // from the end of a message to its answer: less than milter_command_timeout of 30 s
	abandon  time.Duration // from the end of Grace until connections are cut
	backOff  time.Duration // after the first failed Accept; it doubles
	maxBack  time.Duration
	beat     time.Duration // how long to wait for a connection before saying that all is well
	stuck    time.Duration // how long that may not have been said
}

// lastCall, Grace and abandon together are less than Postfix waits for the answer
// to its first packet (milter_connect_timeout, 30 s): so long the connections
// that a restart finds waiting may have to wait.
var usual = limits{
	idle:     10 * time.Minute,
	frame:    30 * time.Second,
	write:    10 * time.Second,
	lastCall: 5 * time.Second,
	linger:   time.Second,
	decision: 20 * time.Second,
	abandon:  2 * time.Second,
	backOff:  5 * time.Millisecond,
	maxBack:  time.Second,
	beat:     5 * time.Second,
	stuck:    30 * time.Second,
}

// Server is the milter.
type Server struct {
	o      Options
	limits limits
	bodies *semaphore.Weighted // octets of the bodies that take others' places
	log    logger
	config atomic.Pointer[config.Config] // for what begins from now on

	born   time.Time
	beaten atomic.Int64 // when the loop that takes connections last came round, in ns from born

	base   context.Context // ends when messages in hand are to be given up
	giveUp context.CancelFunc

	sessions sync.WaitGroup
	mu       sync.Mutex
	conns    map[*conn]struct{}
}

// New makes a Server. The options down to Log must be given.
func New(o Options) *Server {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.MaxSessions == 0 {
		o.MaxSessions = 256
	}
	if o.Grace == 0 {
		o.Grace = 15 * time.Second
	}
	s := &Server{o: o, limits: usual, log: logger{o.Log}, born: time.Now(), conns: make(map[*conn]struct{})}
	s.config.Store(o.Config)
	s.bodies = semaphore.NewWeighted(maxBodies)
	s.base, s.giveUp = context.WithCancel(context.Background())
	return s
}

// Use makes c the configuration of every message that begins from now on. A
// message in hand is judged by the one with which it began. Of c only what this
// package reads counts: what Options holds open stays.
func (s *Server) Use(c *config.Config) { s.config.Store(c) }

// Alive reports whether connections are still taken: the loop that takes them
// came round not long ago.
func (s *Server) Alive() bool {
	return time.Since(s.born)-time.Duration(s.beaten.Load()) < s.limits.stuck
}

// Serve takes connections from ln until ctx ends or taking them fails for good,
// and closes ln. Before it returns every session has ended. For some seconds
// they go on as ever, so that a client in the middle of a session does not
// notice; after that one with a message in hand may finish it within Grace, and
// what begins is answered 451. The error is nil when ctx ended. Serve is called
// once.
func (s *Server) Serve(ctx context.Context, ln net.Listener) error {
	stop := context.AfterFunc(ctx, func() { _ = ln.Close() })
	defer stop()
	err := s.accept(ctx, ln)
	_ = ln.Close()
	s.drain()
	if ctx.Err() != nil {
		return nil
	}
	return fmt.Errorf("milter: no more connections: %w", err)
}

// accept starts a session for each connection.
func (s *Server) accept(ctx context.Context, ln net.Listener) error {
	wait := s.limits.backOff
	for {
		s.beat(ln)
		nc, err := ln.Accept()
		if errors.Is(err, os.ErrDeadlineExceeded) {
			continue
		}
		if err == nil {
			wait = s.limits.backOff
			s.start(nc)
			continue
		}
		if !isTemporary(err) {
			return err
		}
		s.log.Warn("milter", slog.String("event", "a connection could not be taken; trying again"), slog.Any("error", err))
		pause := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			pause.Stop()
			return err
		case <-pause.C:
		}
		wait = min(2*wait, s.limits.maxBack)
	}
}

// beat says that the loop came round, and that it is to come round again even
// if nobody connects.
func (s *Server) beat(ln net.Listener) {
	s.beaten.Store(int64(time.Since(s.born)))
	if d, ok := ln.(interface{ SetDeadline(time.Time) error }); ok {
		_ = d.SetDeadline(time.Now().Add(s.limits.beat)) // a failure shows at Accept
	}
}

// isTemporary reports whether accepting may succeed later: the connection is
// gone, or the system is short of something.
func isTemporary(err error) bool {
	for _, e := range temporary {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// start begins a session, or closes the connection if there are too many.
func (s *Server) start(nc net.Conn) {
	cfg := s.config.Load()
	c := &conn{Conn: nc, limits: s.limits, actions: actionsFor(cfg), in: bufio.NewReaderSize(nc, readAhead)}
	c.closed = func() { s.forget(c) }
	session := &session{server: s, conn: c, log: s.log, config: cfg}
	c.session = session
	if !s.admit(c) {
		s.o.Metrics.SessionRefused()
		s.log.connection(connFull)
		_ = nc.Close()
		return
	}
	library := &milter.Server{
		NewMilter: func() milter.Milter { return session },
		Actions:   c.actions,
		Protocol:  wantProtocol,
		SymList:   macroList(),
	}
	// It returns at once: the session runs in a goroutine of its own, and the
	// second Accept fails.
	_ = library.Serve(&single{conn: c})
}

// admit counts a session in, if there is room.
func (s *Server) admit(c *conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.conns) >= s.o.MaxSessions {
		return false
	}
	s.conns[c] = struct{}{}
	s.sessions.Add(1)
	s.o.Metrics.SessionOpened()
	return true
}

// forget counts a session out.
func (s *Server) forget(c *conn) {
	s.mu.Lock()
	delete(s.conns, c)
	s.mu.Unlock()
	s.o.Metrics.SessionClosed()
	s.sessions.Done()
}

// drain ends all sessions. Until the last call is over they may end by
// themselves: a session that is closed between two messages costs its client the
// next one. Then those between two messages end soon, those with one in hand
// when it is answered or Grace is over.
func (s *Server) drain() {
	defer s.giveUp()
	ended := make(chan struct{})
	go func() {
		s.sessions.Wait()
		close(ended)
	}()
	if within(ended, s.limits.lastCall) {
		return
	}
	s.each((*conn).stop)
	if within(ended, s.o.Grace) {
		return
	}
	s.giveUp()
	if within(ended, s.limits.abandon) {
		return
	}
	s.each((*conn).abort)
	<-ended
}

func (s *Server) each(f func(*conn)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		f(c)
	}
}

func within(ended <-chan struct{}, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ended:
		return true
	case <-t.C:
		return false
	}
}

// newID makes the id of a message or a record.
func newID(now time.Time) string {
	return ulid.MustNew(ulid.Timestamp(now), rand.Reader).String()
}
