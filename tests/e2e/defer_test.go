package e2e

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"

	_ "modernc.org/sqlite"

	"stile/tests/rig"
)

// testDNSFails: without an answer the sender keeps the mail, and a retry
// after DNS is back delivers it. What needs no look-up is settled at once.
func testDNSFails(t *testing.T) {
	w := begin(t, "")
	o := w.outage()
	for name, mood := range map[string]rig.Mood{"SERVFAIL": rig.ServFail, "silence": rig.Silent} {
		// A key that was looked up once is known for a while.
		w.DNS.SetTXT(name+"._domainkey.example.org", key().Record)
		w.DNS.SetMood(mood)
		o.sendEach(name, selector(name))
		o.sum(1)
		w.DNS.SetMood(rig.Answering)
		o.retry()
	}
	o.arrived(4)
	w.empty("shopping")
}

// testDNSSlow: while answers take their time, mail waits for them, each message
// for its own and nobody else's for it. What waits too long is deferred.
func testDNSSlow(t *testing.T) {
	w := begin(t, "")
	const n = 4
	var waiting []string
	for i, subject := range subjects(n) {
		name := fmt.Sprintf("slow%d", i)
		w.DNS.SetTXT(name+"._domainkey.example.org", key().Record)
		waiting = append(waiting, w.sign(letter(friend, shopping, subject, "eggs\r\n"), selector(name)))
	}
	w.DNS.SetMood(rig.Slow)
	answers := w.sendAtOnce(waiting, shopping)
	for i := range n {
		_, err := w.DNS.Queries.Wait(w.ctx, 0, fmt.Sprintf("slow%d._domainkey", i))
		w.do(err)
	}
	w.discarded(w.send(stranger, letter(stranger, shopping, "hello", "hello\r\n"), shopping).Data)
	w.settled(w.send(stranger, letter(stranger, desk, "hello", "hello\r\n"), desk).Data)
	w.empty("shopping")
	w.DNS.SetMood(rig.Answering)
	for range n {
		one := <-answers
		// On a machine that is busy elsewhere its time may be over by now.
		if one.Code == 451 {
			one.Reply = w.send(friend, one.raw, shopping).Data
		}
		w.settled(one.Reply)
	}
	w.sum(n+2, 0)
	if w.delivered != n+1 {
		t.Errorf("%d messages were delivered, want %d", w.delivered, n+1)
	}

	// The answer comes when nobody waits any more.
	w.DNS.SetMood(rig.Slow)
	late := w.good("late")
	w.want(451, w.send(friend, late, shopping).Data)
	w.sum(n+3, 1)
	w.DNS.SetMood(rig.Answering)
	w.settled(w.send(friend, late, shopping).Data)
	w.sum(n+3, 0)
}

// answer is what became of a message.
type answer struct {
	rig.Reply // to its end
	raw       string
}

// sendAtOnce sends each message over a connection of its own, all at once. The
// channel takes all answers.
func (w *world) sendAtOnce(all []string, to ...string) <-chan answer {
	w.t.Helper()
	answers := make(chan answer, len(all))
	clients := make([]*rig.Client, len(all))
	for i := range all {
		clients[i] = w.dial()
	}
	for i, raw := range all {
		go func() {
			r, _ := clients[i].Send(friend, to, raw) // a failed send has code 0
			answers <- answer{r.Data, raw}
		}()
	}
	return answers
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

// testStoreLocked: while another process holds the store, no record can be
// made durable and no proof remembered, so that all mail to guarded mailboxes is
// deferred; afterwards a retry is answered.
func testStoreLocked(t *testing.T) {
	w := begin(t, "")
	o := w.outage()
	unlock := w.lockStore()
	both := w.sendAtOnce([]string{w.good("groceries")}, shopping, desk)
	o.sendEach("locked")
	w.want(451, (<-both).Reply)
	o.sum(2)
	unlock()
	o.retry()
	o.arrived(2)
	if n := len(w.records()); n != 1 {
		t.Errorf("%d records, want 1: %v", n, w.records())
	}
	for _, line := range w.Stile.Log.Since(0) {
		if strings.Contains(line, "flags=duplicate") {
			t.Errorf("what was deferred was remembered as accepted: %s", line)
		}
	}
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

// testDiskFull: with no room left for a record, a proof, an original or a long
// body, mail to guarded mailboxes is deferred; with room again, a retry is
// answered.
func testDiskFull(t *testing.T) {
	w := beginWith(t, rig.Options{DiskSize: 8 << 20, Evidence: "4MiB"})
	o := w.outage()
	w.do(w.Stile.FillDisk())
	o.sendEach("full")
	o.pass(letterTo{shopping, w.sign(letter(friend, shopping, "long", strings.Repeat("eggs and milk\r\n", 64<<10)))})
	o.sum(3)
	for _, cause := range []string{"cause=store", "cause=evidence", "cause=spool"} {
		if _, err := w.Stile.Log.Wait(w.ctx, 0, cause); err != nil {
			t.Error(err)
		}
	}
	w.do(w.Stile.FreeDisk())
	o.retry()
	o.arrived(3)
	records := w.records()
	if len(records) != 1 {
		t.Fatalf("%d records, want 1: %v", len(records), records)
	}
	if _, err := w.Stile.Original(w.ctx, records[0].Text("id")); err != nil {
		t.Error(err)
	}
}
