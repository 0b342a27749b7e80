package milter

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"stile/tests/signed"
	"stile/verdict"
)

// failing reads a text until it is told to fail.
type failing struct {
	*strings.Reader
	fails bool
}

func (f *failing) ReadAt(p []byte, off int64) (int, error) {
	if f.fails {
		return 0, io.ErrUnexpectedEOF
	}
	return f.Reader.ReadAt(p, off)
}

// A body that cannot be read any more after judging is not shown in part.
func TestRenderFails(t *testing.T) {
	spec := signed.Spec{}
	p := prepare(t, noKeys)
	m := signed.Message(t, signed.Mail(t, spec))
	body, err := io.ReadAll(m.Body)
	must(t, err)
	f := &failing{Reader: strings.NewReader(string(body))}
	m.Body = io.NewSectionReader(f, 0, int64(len(body)))
	v := verdict.Open(m, verdict.Env{Lookup: signed.Lookup(t, spec), Now: time.Now()}).Judge(context.Background(), signed.Policy(t))
	if v.Accepted() == nil {
		t.Fatalf("not accepted: %s", v.Reason())
	}
	s := &session{server: p.server, log: p.server.log, config: p.server.config.Load()}
	s.msg.begin(time.Now(), p.spool, 0)
	all := []decision{{policy: "shopping", mailbox: p.server.o.Config.Mailboxes[0], outcome: verdict.Accept, accepted: v.Accepted()}}
	if _, err := s.prepare(all); err != nil {
		t.Fatalf("it can be read, but: %v", err)
	}
	f.fails = true
	if _, err := s.prepare(all); !errors.Is(err, errRender) {
		t.Errorf("it cannot be read, but: %v", err)
	}
	for err, want := range map[error]cause{errRender: causeRender, errStamp: causeStamp, errArgument: causeArgument} {
		if got := causeOf(err); got != want {
			t.Errorf("%v is called %s", err, got)
		}
	}
}

// A stamp that would not be read back stops the message.
func TestStampFails(t *testing.T) {
	spec := signed.Spec{}
	p := run(t, signed.Lookup(t, spec), func(s *Server) { s.o.Config.Mailboxes[0].ID = "not an id" })
	acts, a := p.dial().deliver(signed.Mail(t, spec), shopper)
	isTryLater(t, a)
	if len(acts) > 0 {
		t.Errorf("modified: %+v", acts)
	}
	if n := len(p.lines("reason=internal cause=stamp")); n != 1 {
		t.Errorf("%d lines:\n%s", n, p.log)
	}
}

// The library logs a failed write's error: it is constant text.
func TestWriteFails(t *testing.T) {
	ours, theirs := net.Pipe()
	must(t, theirs.Close())
	c := &conn{Conn: ours, limits: usual}
	if _, err := c.Write(make([]byte, maxUnsent)); err != nil {
		t.Errorf("Write of what is held back: %v", err)
	}
	if _, err := c.Write([]byte("x")); err != errLost {
		t.Errorf("Write: %v", err)
	}
}

// cut is a connection that takes some octets of a write and fails, once.
type cut struct {
	net.Conn
	writes int
}

func (c *cut) Write(p []byte) (int, error) {
	if c.writes++; c.writes > 1 {
		return len(p), nil
	}
	return len(p) / 2, os.ErrDeadlineExceeded
}

// Nothing follows a frame that went out in part.
func TestWriteIsCut(t *testing.T) {
	ours, theirs := net.Pipe()
	defer theirs.Close()
	broken := &cut{Conn: ours}
	c := &conn{Conn: broken, limits: usual}
	for range 2 {
		if _, err := c.Write([]byte("half")); err != nil {
			t.Fatal(err)
		}
		if err := c.flush(); err != errLost {
			t.Errorf("flush: %v", err)
		}
	}
	if broken.writes != 1 {
		t.Errorf("%d writes", broken.writes)
	}
}
