package e2e

import (
	"strings"
	"sync"
	"testing"

	"stile/tests/rig"
)

// testKilledWhileTheClientSends kills the daemon when half of the message
// has been sent: the client hears 4xx and nothing is delivered.
func testKilledWhileTheClientSends(t *testing.T) {
	w := begin(t, "")
	raw := w.good("groceries")
	c := w.dial()
	for _, step := range []struct {
		line string
		code int
	}{
		{"MAIL FROM:<" + friend + ">", 250},
		{"RCPT TO:<" + shopping + ">", 250},
		{"DATA", 354},
	} {
		r, err := c.Command(step.line)
		w.do(err)
		w.want(step.code, r)
	}
	w.do(c.Write(raw[:len(raw)/2]))
	w.Stile.Kill()
	w.do(c.Write(raw[len(raw)/2:]))
	r, err := c.Command(".")
	w.do(err)
	if r.Code/100 != 4 {
		t.Errorf("the client hears %q, want 4xx", r)
	}
	w.sum(1, 1)

	w.do(w.Stile.Start(w.ctx))
	w.settled(w.send(friend, raw, shopping).Data)
	w.sum(1, 0)
}

// testKilledWhileItReads kills the daemon at each command of a message: the
// sender's MTA keeps the mail, and its retry to the daemon's next life is
// answered as if nothing had been.
func testKilledWhileItReads(t *testing.T) {
	w := begin(t, "")
	o := w.outage()
	stages := []struct {
		name string
		code byte
	}{
		{"MAIL", 'M'}, {"RCPT", 'R'}, {"header", 'L'}, {"end of header", 'N'}, {"body", 'B'}, {"end of message", 'E'},
	}
	for _, stage := range stages {
		o.killed(rig.Tap{Command: func(packet []byte) bool { return packet[0] != stage.code }}, func() {
			o.sendEach(stage.name) // one of them meets it alive
			o.sum(3)
		})
		o.retry()
	}
	o.arrived(2 * len(stages))
}

// killed runs f while the daemon is to be killed at the first packet for which
// a function of tap is false, and starts the daemon's next life.
func (o *outage) killed(tap rig.Tap, f func()) {
	o.t.Helper()
	var once sync.Once
	kill := func(pass func([]byte) bool) func([]byte) bool {
		if pass == nil {
			return nil
		}
		return func(packet []byte) bool {
			if pass(packet) {
				return true
			}
			once.Do(o.Stile.Kill)
			return false
		}
	}
	proxy, err := o.Stile.Interpose(rig.Tap{Command: kill(tap.Command), Answer: kill(tap.Answer)})
	o.do(err)
	f()
	proxy.Close()
	o.do(o.Stile.Start(o.ctx))
}

// testKilledWhileItAnswers kills the daemon when all is decided and durable and
// the MTA has a part of what is to be done, or nothing: it does nothing of it.
func testKilledWhileItAnswers(t *testing.T) {
	w := beginWith(t, rig.Options{Evidence: "64MiB", Config: readerConfig})
	o := w.outage()
	second := func(code byte) func([]byte) bool {
		seen := 0
		return func(packet []byte) bool {
			if packet[0] == code {
				seen++
			}
			return seen < 2
		}
	}
	first := func(code byte) func([]byte) bool {
		return func(packet []byte) bool { return packet[0] != code }
	}
	long := w.sign(letter(friend, reader, "long", strings.Repeat("eggs and milk\r\n", 16<<10)))
	for _, stage := range []struct {
		name string
		raw  string
		to   string
		at   func([]byte) bool
	}{
		{"the stamp", w.good("one"), shopping, first('i')},
		{"half of the stamp", w.good("two"), shopping, second('i')},
		{"the end", w.good("three"), shopping, first('a')},
		{"a deletion", spread(w.good("four"), forged[:2]), shopping, second('m')},
		{"half of the body", long, reader, second('b')},
	} {
		o.killed(rig.Tap{Answer: stage.at}, func() {
			o.pass(letterTo{stage.to, stage.raw})
			if len(o.held) != 1 {
				t.Errorf("%s: the message was not deferred", stage.name)
			}
			o.sum(1)
		})
		o.retry()
	}
	o.arrived(5)

	// A refusal is recorded before it is answered: its sender, who did not hear
	// that, is counted once more.
	o.killed(rig.Tap{Answer: first('d')}, func() {
		o.pass(letterTo{shopping, letter(stranger, shopping, "hello", "hello\r\n")})
		if n := messagesIn(w.records()); n != 1 || len(o.held) != 1 {
			t.Errorf("%v recorded and %d deferred, want the one message in both", n, len(o.held))
		}
		o.sent++
		o.sum(1)
	})
	o.retry()
	o.arrived(5)
}

// testKilledWhileItJudges kills the daemon while it waits for DNS at the end
// of a message.
func testKilledWhileItJudges(t *testing.T) {
	w := begin(t, "")
	sender, err := w.Sender(w.ctx)
	w.do(err)
	w.DNS.SetMood(rig.Silent)
	w.hand(sender, w.good("groceries"), shopping)
	_, err = w.DNS.Queries.Wait(w.ctx, 0, "s1._domainkey.example.org")
	w.do(err)
	w.Stile.Kill()
	_, err = sender.Log.Wait(w.ctx, 0, "postfix/smtp", "status=deferred")
	w.do(err)
	w.sum(1, 1)
	w.DNS.SetMood(rig.Answering)
	w.do(w.Stile.Start(w.ctx))
	w.retry(sender)
	w.read("shopping", "shopping")
	w.sum(1, 0)
}

// testKilledWhileItRecords kills the daemon when the original is sealed and the
// record not made.
func testKilledWhileItRecords(t *testing.T) {
	w := beginWith(t, rig.Options{Evidence: "64MiB"})
	sender, err := w.Sender(w.ctx)
	w.do(err)
	raw := letter(stranger, shopping, "hello", "hello\r\n")
	unlock := w.lockStore()
	w.hand(sender, raw, shopping)
	w.do(w.Stile.Sealed(w.ctx, 1))
	w.Stile.Kill()
	unlock()
	_, err = sender.Log.Wait(w.ctx, 0, "postfix/smtp", "status=deferred")
	w.do(err)
	w.sum(1, 1)
	w.do(w.Stile.Start(w.ctx))
	w.retry(sender)
	w.sum(1, 0)
	original, err := w.Stile.Original(w.ctx, w.records()[0].Text("id"))
	w.do(err)
	if !strings.HasSuffix(original, raw) {
		t.Errorf("the original is\n%s\nwant at its end\n%s", original, raw)
	}
}

// testStopped stops the daemon in the ordinary way while it waits for DNS at
// the end of a message: it finishes the message and ends.
func testStopped(t *testing.T) {
	w := begin(t, "")
	sender, err := w.Sender(w.ctx)
	w.do(err)
	w.DNS.SetMood(rig.Silent)
	w.hand(sender, w.good("groceries"), shopping)
	_, err = w.DNS.Queries.Wait(w.ctx, 0, "s1._domainkey.example.org")
	w.do(err)
	stopped := make(chan error, 1)
	go func() { stopped <- w.Stile.Stop(w.ctx) }()
	w.do(w.Stile.Closed(w.ctx))
	w.DNS.SetMood(rig.Answering) // the resolver's own retry is answered
	_, err = sender.Log.Wait(w.ctx, 0, "postfix/smtp", "status=sent")
	w.do(err)
	w.read("shopping", "shopping")
	w.empty("shopping")
	w.do(<-stopped)
}

// hand gives a message to a sender's Postfix, which will pass it on, and returns
// its id there.
func (w *world) hand(sender *rig.Postfix, raw string, to ...string) (id string) {
	w.t.Helper()
	c, err := rig.Dial(w.ctx, sender.Addr)
	w.do(err)
	defer c.Close()
	r, err := c.Send(friend, to, raw)
	w.do(err)
	w.want(250, r.Data)
	return r.Data.QueueID()
}

// retry makes the sender's Postfix try again and waits until it has nothing more
// to send.
func (w *world) retry(sender *rig.Postfix) {
	w.t.Helper()
	mark := sender.Log.Len()
	w.do(sender.Flush(w.ctx))
	_, err := sender.Log.Wait(w.ctx, mark, "postfix/smtp", "status=sent")
	w.do(err)
	_, err = sender.Log.Wait(w.ctx, mark, "postfix/qmgr", ": removed")
	w.do(err)
}
