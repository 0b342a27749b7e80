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
	w.empty("shopping")

	w.do(w.Stile.Start(w.ctx))
	w.settled(w.send(friend, raw, shopping).Data)
	w.read("shopping", "shopping")
	w.empty("shopping")
}

// testKilledWhileItReads kills the daemon at each command of a message: the
// sender's MTA keeps the mail, and its retry to the daemon's next life delivers
// it once.
func testKilledWhileItReads(t *testing.T) {
	commands := map[string]byte{"MAIL": 'M', "RCPT": 'R', "header": 'L', "end of header": 'N', "body": 'B', "end of message": 'E'}
	for name, at := range commands {
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			w := begin(t, "")
			sender, err := w.Sender(w.ctx)
			w.do(err)
			var once sync.Once
			proxy, err := w.Stile.Interpose(rig.Tap{Command: func(command byte) {
				if command == at {
					once.Do(w.Stile.Kill)
				}
			}})
			w.do(err)
			w.hand(sender, w.good("groceries"), shopping)
			_, err = sender.Log.Wait(w.ctx, 0, "postfix/smtp", "status=deferred")
			w.do(err)
			w.empty("shopping")
			proxy.Close()
			w.oneAfterRestart(sender)
		})
	}
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
	w.empty("shopping")
	w.DNS.SetMood(rig.Answering)
	w.oneAfterRestart(sender)
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

// oneAfterRestart starts the daemon again: what the sender deferred arrives,
// once.
func (w *world) oneAfterRestart(sender *rig.Postfix) {
	w.t.Helper()
	w.do(w.Stile.Start(w.ctx))
	w.retry(sender)
	w.read("shopping", "shopping")
	w.empty("shopping")
	if records := w.records(); len(records) != 0 {
		w.t.Errorf("mail that was delivered left records: %v", records)
	}
}
