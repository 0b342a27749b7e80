package milter

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	dj "github.com/d--j/go-milter"

	"stile/config"
	"stile/fence"
	"stile/tests/signed"
)

// configured is the configuration of these tests with some text replaced.
func configured(t *testing.T, replace ...string) *config.Config {
	t.Helper()
	path := filepath.Join(t.TempDir(), "stile.toml")
	must(t, os.WriteFile(path, []byte(strings.NewReplacer(replace...).Replace(testConfig)), 0o600))
	c, err := config.Load(path)
	must(t, err)
	return c
}

// A message is judged by the configuration with which it began, the next one of
// the same session by the new one.
func TestUse(t *testing.T) {
	spec := signed.Spec{}
	p := run(t, signed.Lookup(t, spec), nil)
	unlisted := configured(t, "friend@example.org", "aunt@example.org")
	c := p.dial()

	c.cont(c.s.Mail("friend@example.org", "")) // no reply comes to MAIL, one to RCPT
	c.cont(c.rcpt(shopper), nil)
	p.server.Use(unlisted)
	c.cont(c.rcpt(rcpt{"shop@estate.example", "shop@estate.example"}), nil)
	c.cont(c.s.DataStart())
	acts, a := c.content(signed.Mail(t, spec))
	is(t, a, dj.ActionAccept)
	if len(acts) == 0 {
		t.Error("no stamp")
	}

	_, a = c.deliver(signed.Mail(t, spec), shopper)
	is(t, a, dj.ActionDiscard)
	if got := p.records(); len(got) != 1 || got[0].Reason != "unlisted" {
		t.Errorf("the records are %+v", got)
	}
}

// Recipients that are new are guarded from the next message on.
func TestUseGuardsMore(t *testing.T) {
	p := run(t, noKeys, nil)
	desk := rcpt{"desk@estate.example", "desk@estate.example"}
	c := p.dial()
	_, a := c.deliver(signed.Mail(t, signed.Spec{}), desk)
	is(t, a, dj.ActionAccept)
	p.server.Use(configured(t, "shop@estate.example", "desk@estate.example"))
	_, a = c.deliver(signed.Mail(t, signed.Spec{From: "mallory@evil.example"}), desk)
	is(t, a, dj.ActionDiscard)
}

// A session whose MTA was not asked to let bodies be changed cannot replace one:
// its mail waits for the next session.
func TestUseReplacesBodies(t *testing.T) {
	spec := signed.Spec{}
	p := keepingWith(t, signed.Lookup(t, spec), plenty, func(*Server) {})
	old := p.dial()
	next := configured(t)
	next.Mailboxes[0].Body, next.Mailboxes[0].BodyLimit = true, fence.MinBody
	p.server.Use(next)
	_, a := old.deliver(signed.Mail(t, spec), shopper)
	id := isTryLater(t, a)
	if n := len(p.lines("id="+id, "verdict=defer reason=internal cause=actions")); n != 1 {
		t.Errorf("%d lines:\n%s", n, p.log)
	}
	acts, a := p.dial().deliver(signed.Mail(t, spec), shopper)
	is(t, a, dj.ActionAccept)
	if text, _ := replaced(t, signed.Mail(t, spec), acts); !strings.Contains(text, "UNTRUSTED TEXT") {
		t.Errorf("it arrives as\n%s", text)
	}
}

// Until the last call a session goes on as if nobody had asked for an end.
func TestStopLastCall(t *testing.T) {
	specs := []signed.Spec{{Body: "one\r\n"}, {Body: "two\r\n"}}
	p := run(t, signed.Lookup(t, specs[0]), func(s *Server) { s.limits.lastCall = time.Minute })
	c := p.dial()
	p.stop()
	p.refuses()
	for _, spec := range specs {
		_, a := c.deliver(signed.Mail(t, spec), shopper)
		is(t, a, dj.ActionAccept)
	}
	must(t, c.s.Close())
	must(t, <-p.ended)
}

// The loop that takes connections comes round though nobody connects.
func TestAlive(t *testing.T) {
	p := prepare(t, noKeys)
	p.server.limits.beat, p.server.limits.stuck = time.Millisecond, time.Hour
	ln, err := net.Listen("unix", p.socket)
	must(t, err)
	p.serve(ln)
	for first := p.server.beaten.Load(); p.server.beaten.Load() == first; {
	}
	if !p.server.Alive() {
		t.Error("it is said to be stuck")
	}
	p.dial()
	p.stop()
	must(t, <-p.ended)
	p.server.limits.stuck = 0
	if p.server.Alive() {
		t.Error("it came round for the last time, and is said to be alive")
	}
}
