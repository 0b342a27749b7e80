package e2e

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"stile/tests/rig"
)

// testManyInOneConnection sends forty messages of five kinds over one
// connection: no verdict leaks into the next message.
func testManyInOneConnection(t *testing.T) {
	w := begin(t, "")
	c := w.dial()
	send := func(to, raw string) rig.Reply {
		r, err := c.Send(friend, []string{to}, raw)
		w.do(err)
		return r.Data
	}
	for i := range 8 {
		subject := fmt.Sprintf("number %d", i)
		w.settled(send(shopping, w.good(subject)))
		w.discarded(send(shopping, letter(friend, shopping, subject, "not signed\r\n")))
		w.want(550, send(counter, letter(friend, counter, subject, "not signed\r\n")))
		w.want(550, send("anyone@agents.example", w.good(subject)))
		w.settled(send(desk, letter(stranger, desk, subject, "not guarded\r\n")))
		if i == 3 {
			r, err := c.Command("EHLO again.example")
			w.do(err)
			w.want(250, r)
		}
		// A transaction that is given up leaves nothing behind either.
		for _, line := range []string{"MAIL FROM:<" + stranger + ">", "RCPT TO:<" + counter + ">", "RSET"} {
			r, err := c.Command(line)
			w.do(err)
			w.want(250, r)
		}
	}
	box := w.Postfix.Mailbox("shopping")
	for i := range 8 {
		got := w.arrives(box)
		if !strings.Contains(got, "Stile-Seal: ") {
			t.Errorf("message %d has no stamp:\n%s", i, got)
		}
		if strings.Contains(got, "not signed") {
			t.Errorf("an unsigned message arrived:\n%s", got)
		}
	}
	w.empty("counter")
	if n, err := w.Postfix.Mailbox("desk").Unread(); err != nil || len(n) != 8 {
		t.Errorf("%d messages in the unguarded mailbox, want 8 (%v)", len(n), err)
	}
	if n, err := box.Unread(); err != nil || len(n) != 0 {
		t.Errorf("%d messages too many (%v)", len(n), err)
	}
}

// testReset gives transactions up and sends others over the same connection:
// neither the recipients nor the verdict of one are those of the next.
func testReset(t *testing.T) {
	w := begin(t, "")
	c := w.dial()
	bad := letter(stranger, shopping, "hello", "hello\r\n")
	steps := []struct {
		from, givenUp string // of the transaction before
		to, raw       string
		code          int
	}{
		{friend, shopping, desk, bad, 250},
		{stranger, desk, shopping, bad, 250},
		{friend, desk, counter, letter(stranger, counter, "hello", "hello\r\n"), 550},
		{stranger, counter, shopping, bad, 250},
		{stranger, travel, shopping, w.good("groceries"), 250},
		{friend, shopping, shopping, bad, 250},
	}
	for _, s := range steps {
		for _, line := range []string{"MAIL FROM:<" + s.from + ">", "RCPT TO:<" + s.givenUp + ">", "RSET"} {
			r, err := c.Command(line)
			w.do(err)
			w.want(250, r)
		}
		r, err := c.Send(friend, []string{s.to}, s.raw)
		w.do(err)
		w.want(s.code, r.Data)
		if s.code == 250 {
			_, err = w.Postfix.Fate(w.ctx, r.Data.QueueID())
			w.do(err)
		}
	}
	w.read("shopping", "shopping")
	w.take("desk")
	w.sum(len(steps), 0)
}

// testLarge sends a message whose body is over what is held in memory: it is
// spooled to a file that has no name, is accepted and leaves nothing behind.
func testLarge(t *testing.T) {
	w := begin(t, "")
	line := strings.Repeat("0123456789abcdef", 4) + "\r\n"
	raw := w.sign(letter(friend, shopping, "long", strings.Repeat(line, 3<<20/len(line))))

	w.DNS.SetMood(rig.Silent) // the daemon waits, with the message in hand
	answered := make(chan rig.Result, 1)
	c := w.dial()
	go func() {
		r, _ := c.Send(friend, []string{shopping}, raw) // a failed send has code 0
		answered <- r
	}()
	_, err := w.DNS.Queries.Wait(w.ctx, 0, "s1._domainkey.example.org")
	w.do(err)
	if n := unlinked(t, w.Stile.PID()); n != 1 {
		t.Errorf("the daemon has %d unlinked files open, want 1", n)
	}
	named, err := os.ReadDir(filepath.Dir(w.Stile.Config))
	w.do(err)
	for _, e := range named {
		if info, err := e.Info(); err == nil && info.Size() > 1<<20 {
			t.Errorf("%s has %d octets", e.Name(), info.Size())
		}
	}
	w.DNS.SetMood(rig.Answering) // the resolver's own retry is answered
	r := <-answered
	if r.Data.Code == 451 { // or, if it gave up first, ours
		r = w.send(friend, raw, shopping)
	}
	w.settled(r.Data)
	got := w.read("shopping", "shopping")
	if got.verdict.Text != "cut" {
		t.Errorf("text=%s, want cut", got.verdict.Text)
	}
	if !strings.HasSuffix(got.raw, line+line) {
		t.Error("the body is not as it came")
	}
	if n := unlinked(t, w.Stile.PID()); n != 0 {
		t.Errorf("the daemon has %d unlinked files open after the message, want 0", n)
	}

	over := w.sign(letter(friend, shopping, "too long", strings.Repeat(line, 9<<20/len(line))))
	w.discarded(w.send(friend, over, shopping).Data)
	if r := newest(w.records()); r.Text("reason") != "too-large" {
		t.Errorf("9 MiB: %v", r)
	}
}

// unlinked counts the files without a name that a process has open, and checks
// that none but the owner may read them.
func unlinked(t *testing.T, pid int) int {
	t.Helper()
	dir := fmt.Sprintf("/proc/%d/fd", pid)
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		target, err := os.Readlink(path)
		if err != nil || !strings.HasPrefix(target, "/") || !strings.HasSuffix(target, " (deleted)") {
			continue
		}
		info, err := os.Stat(path)
		if err != nil {
			continue // closed by now
		}
		n++
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v, want 0600", target, info.Mode())
		}
	}
	return n
}

// testGarbage writes garbage to the milter's socket: the daemon lives, and
// mail goes on.
func testGarbage(t *testing.T) {
	w := begin(t, "")
	pid := w.Stile.PID()
	for name, bytes := range map[string]string{
		"nothing":         "",
		"a huge length":   "\xff\xff\xff\xffO",
		"a zero length":   "\x00\x00\x00\x00",
		"HTTP":            "GET / HTTP/1.1\r\nHost: x\r\n\r\n",
		"short options":   "\x00\x00\x00\x02O\x00",
		"body first":      "\x00\x00\x00\x05Bxxxx",
		"unknown command": "\x00\x00\x00\x0dO\x00\x00\x00\x06\x00\x00\x01\xff\x00\x1f\xff\xff" + "\x00\x00\x00\x01\x01",
		"half a packet":   "\x00\x00\x00\x0dO\x00\x00",
		"no NUL in MAIL":  "\x00\x00\x00\x0dO\x00\x00\x00\x06\x00\x00\x01\xff\x00\x1f\xff\xff" + "\x00\x00\x00\x03Mxx",
	} {
		conn, err := net.Dial("unix", w.Stile.Socket)
		w.do(err)
		_, err = conn.Write([]byte(bytes))
		w.do(err)
		w.do(conn.(*net.UnixConn).CloseWrite())
		buf := make([]byte, 4096)
		for { // until it hangs up
			if _, err := conn.Read(buf); err != nil {
				break
			}
		}
		w.do(conn.Close())
		t.Logf("%s: it hung up", name)
	}
	w.settled(w.send(friend, w.good("groceries"), shopping).Data)
	w.read("shopping", "shopping")
	if w.Stile.PID() != pid {
		t.Error("the daemon is not the one that was started")
	}
}
