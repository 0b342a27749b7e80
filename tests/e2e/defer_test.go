package e2e

import (
	"database/sql"
	"strings"
	"testing"

	_ "modernc.org/sqlite"

	"stile/tests/rig"
)

// testDNSFails: without an answer the sender keeps the mail, and a retry
// after DNS is back delivers it. Nothing is recorded as refused.
func testDNSFails(t *testing.T) {
	for name, mood := range map[string]rig.Mood{"SERVFAIL": rig.ServFail, "silence": rig.Silent} {
		t.Run(name, func(t *testing.T) {
			w := begin(t, "")
			sender, err := w.Sender(w.ctx)
			w.do(err)
			w.DNS.SetMood(mood)
			raw := w.good("groceries")
			w.hand(sender, raw, shopping)
			_, err = sender.Log.Wait(w.ctx, 0, "postfix/smtp", "status=deferred", "451")
			w.do(err)
			w.empty("shopping")

			w.DNS.SetMood(rig.Answering)
			w.retry(sender)
			if got := w.read("shopping", "shopping"); got.body() != "Subject: groceries\neggs\nmilk" {
				t.Errorf("the fence shows %q", got.body())
			}
			w.empty("shopping")
			if records := w.records(); len(records) != 0 {
				t.Errorf("deferred mail left records: %v", records)
			}
		})
	}
}

// testDeferHoldsAll: what one recipient defers is deferred for all of them,
// the unguarded one too.
func testDeferHoldsAll(t *testing.T) {
	w := begin(t, "")
	w.DNS.SetMood(rig.ServFail)
	raw := w.good("groceries")
	w.want(451, w.send(friend, raw, shopping, travel, desk).Data)
	w.empty("shopping", "travel", "desk")
	w.DNS.SetMood(rig.Answering)
	w.settled(w.send(friend, raw, shopping, travel, desk).Data)
	w.read("shopping", "shopping")
	w.read("desk", "shopping")
	w.empty("shopping", "travel", "desk")
}

// hand gives a message to a sender's Postfix, which will pass it on.
func (w *world) hand(sender *rig.Postfix, raw string, to ...string) {
	w.t.Helper()
	c, err := rig.Dial(w.ctx, sender.Addr)
	w.do(err)
	defer c.Close()
	r, err := c.Send(friend, to, raw)
	w.do(err)
	w.want(250, r.Data)
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

// testStoreLocked: while another process holds the store, no record can be
// made durable and no proof remembered, so that all mail to guarded mailboxes is
// deferred; afterwards a retry is answered.
func testStoreLocked(t *testing.T) {
	w := begin(t, "")
	good := w.good("groceries")
	raw := w.sign(letter(stranger, shopping, "hello", "hello\r\n"), domain("evil.example"))
	unlock := w.lockStore()
	w.want(451, w.send(stranger, raw, shopping).Data)
	w.want(451, w.send(friend, good, shopping).Data)
	w.want(451, w.send(friend, good, shopping, desk).Data)
	w.empty("shopping", "desk")
	unlock()
	if records := w.records(); len(records) != 0 {
		t.Errorf("records of mail that was not answered: %v", records)
	}
	w.discarded(w.send(stranger, raw, shopping).Data)
	if records := w.records(); len(records) != 1 {
		t.Errorf("%d records, want 1: %v", len(records), records)
	}
	w.settled(w.send(friend, good, shopping).Data)
	if got := w.read("shopping", "shopping"); strings.Contains(got.raw, "duplicate") {
		t.Errorf("what was deferred was remembered as accepted:\n%s", got.raw)
	}
	w.empty("shopping")
}

// lockStore holds the store's write lock as another process would.
func (w *world) lockStore() (unlock func()) {
	w.t.Helper()
	db, err := sql.Open("sqlite", w.Stile.Store)
	w.do(err)
	db.SetMaxOpenConns(1)
	_, err = db.ExecContext(w.ctx, "BEGIN EXCLUSIVE")
	w.do(err)
	return func() {
		w.t.Helper()
		_, err := db.ExecContext(w.ctx, "ROLLBACK")
		w.do(err)
		w.do(db.Close())
	}
}
