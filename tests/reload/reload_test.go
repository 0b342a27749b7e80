package reload

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"stile/tests/rig"
)

// binary is stile, compiled once for all tests.
var binary string

type test struct {
	name string
	run  func(*testing.T)
}

var reloads = []test{
	{"lists", testLists},
	{"signal", testSignal},
}

var restarts = []test{
	{"under-load", testUnderLoad},
	{"session-goes-on", testSessionGoesOn},
	{"connection-waits", testConnectionWaits},
}

func TestMain(m *testing.M) {
	flag.Parse()
	if testing.Short() {
		for _, x := range reloads {
			fmt.Println("not run: TestReload/" + x.name)
		}
		for _, x := range restarts {
			fmt.Println("not run: TestRestart/" + x.name)
		}
		fmt.Println("not run: TestUnits")
		return
	}
	os.Exit(rig.WithBinary(&binary, m.Run))
}

func TestReload(t *testing.T) {
	for _, x := range reloads {
		t.Run(x.name, x.run)
	}
}

func TestRestart(t *testing.T) {
	for _, x := range restarts {
		t.Run(x.name, x.run)
	}
}

// testLists changes a file of senders while mail comes in: a sender who is added
// is accepted from then on; a file that is half-written, and one that is gone,
// changes nothing.
func testLists(t *testing.T) {
	w := begin(t)
	l := w.load()
	l.goesOn(clients)
	before := w.one(aunt, post, "before")
	w.happens(func() {
		beside := w.senders + ".new"
		w.do(os.WriteFile(beside, []byte("# family\n"+friend+"\n"+aunt+"\n"), 0o644))
		w.do(os.Rename(beside, w.senders))
	}, "msg=reload", "trigger=list", "in force")
	after := w.one(aunt, post, "after")
	w.happens(func() { w.do(os.WriteFile(w.senders, []byte("# family\n"+friend+"\naun"), 0o644)) },
		"msg=reload", "trigger=list", "cannot be read")
	half := w.one(aunt, post, "half")
	w.happens(func() { w.do(os.Remove(w.senders)) }, "msg=reload", "trigger=list", "cannot be read")
	gone := w.one(aunt, post, "gone")
	w.happens(func() { w.do(os.WriteFile(w.senders, []byte(friend+"\n"), 0o644)) },
		"msg=reload", "trigger=list", "in force")
	removed := w.one(aunt, post, "removed")
	l.goesOn(clients)

	fates := []string{before, after, half, gone, removed}
	if got, want := fmt.Sprint(fates), "[recorded delivered delivered delivered recorded]"; got != want {
		t.Errorf("the fates are %s, want %s", got, want)
	}
	l.end(fates...)
}

// testSignal sends SIGHUP while mail comes in: a mailbox that is added is
// guarded from then on; a configuration that cannot be read, or that would
// leave a mailbox open, changes nothing.
func testSignal(t *testing.T) {
	w := begin(t)
	l := w.load()
	l.goesOn(clients)
	hangUp := func() { w.do(w.Stile.HangUp()) }
	const desk = "desk@estate.example"
	before := w.one(aunt, desk, "before") // passes, unjudged
	w.edit("[[mailbox]]", "[[mailbox]]\nid = \"desk\"\naddress = \""+desk+"\"\nsenders = [\""+friend+"\"]\n[[mailbox]]")
	w.happens(hangUp, "msg=reload", "trigger=signal", "in force")
	_, err := w.States.Wait(w.ctx, 0, "RELOADING=1 MONOTONIC_USEC=")
	w.do(err)
	after := w.one(aunt, desk, "after")
	w.edit("id = \"desk\"", "id = ")
	w.happens(hangUp, "msg=reload", "trigger=signal", "cannot be read")
	broken := w.one(aunt, desk, "broken")
	w.edit("id = ", "id = \"desk\"")
	w.edit("\""+desk+"\"", `"desks@estate.example"`)
	w.happens(hangUp, "msg=reload", "trigger=signal", "dropped=[desk]")
	dropped := w.one(aunt, desk, "dropped")
	l.goesOn(clients)

	fates := []string{before, after, broken, dropped}
	if got, want := fmt.Sprint(fates), "[delivered recorded recorded recorded]"; got != want {
		t.Errorf("the fates are %s, want %s", got, want)
	}
	unread, err := w.Postfix.Mailbox("desk").Unread()
	w.do(err)
	if len(unread) != 1 {
		t.Errorf("%d messages at the desk", len(unread))
	}
	l.end(fates[1:]...)
}

// testUnderLoad restarts the daemon while mail comes in.
func testUnderLoad(t *testing.T) {
	w := begin(t)
	l := w.load()
	for range 2 {
		l.goesOn(4 * clients)
		w.restart(func() {})
	}
	l.goesOn(clients)
	l.end()
}

// testSessionGoesOn has the daemon told to stop between two messages of a
// client's session: the client does not notice.
func testSessionGoesOn(t *testing.T) {
	w := begin(t)
	c, err := rig.Dial(w.ctx, w.Postfix.Addr)
	w.do(err)
	send := func(subject string) {
		t.Helper()
		r, err := w.send(c, friend, shopping, subject)
		w.do(err)
		if fate, err := w.fate(r); err != nil || fate != "delivered" {
			t.Errorf("%s: %s %v", subject, fate, err)
		}
	}
	send("first")
	stopped := make(chan error, 1)
	go func() { stopped <- w.Stile.Stop(w.ctx) }()
	_, err = w.States.Wait(w.ctx, 0, "STOPPING=1")
	w.do(err)
	send("second")
	send("third")
	c.Close()
	w.do(<-stopped)
}

// testConnectionWaits has a client come while no daemon runs: it waits for the
// next one. The configuration names the socket by its path, and it is taken over.
func testConnectionWaits(t *testing.T) {
	w := beginAt(t, func(path string) string { return "unix:" + path })
	type result struct {
		fate string
		err  error
	}
	waiting := make(chan result, 1)
	w.restart(func() {
		mark := w.Postfix.Log.Len()
		go func() {
			fate, err := w.alone(friend, shopping, "waits")
			waiting <- result{fate, err}
		}()
		_, err := w.Postfix.Log.Wait(w.ctx, mark, "postfix/smtpd", ": connect from ")
		w.do(err)
	})
	if got := <-waiting; got.err != nil || got.fate != "delivered" {
		t.Errorf("its fate: %+v", got)
	}
}
