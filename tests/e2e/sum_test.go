package e2e

import (
	"fmt"
	"os"
	"strings"

	"stile/tests/rig"
)

// policies are the mailboxes and by which policy each is guarded, "" if by none.
var policies = map[string]string{
	"shopping": "shopping", "travel": "travel", "counter": "counter", "agents": "errands", "desk": "",
}

// sum checks what holds at every moment: each message, of one recipient, was
// delivered, recorded or deferred, and what lies in a guarded mailbox was judged.
// What Postfix took must be settled or discarded.
func (w *world) sum(sent, deferred int) {
	w.t.Helper()
	keys := w.sealKeys()
	for mailbox, policy := range policies {
		unread, err := w.Postfix.Mailbox(mailbox).Unread()
		w.do(err)
		for _, path := range unread {
			if policy != "" {
				w.judged(readMail(w.t, path), policy, keys)
			}
			w.do(os.Remove(path))
			w.delivered++
		}
	}
	for w.LMTP.Unread() > 0 {
		w.readLMTP()
	}
	recorded := int(messagesIn(w.records()))
	if w.delivered+recorded+deferred != sent {
		w.t.Errorf("%d delivered, %d recorded and %d deferred are not the %d that were sent",
			w.delivered, recorded, deferred, sent)
	}
}

// outage is a sender's Postfix that hands mail over while something fails: it
// keeps what is deferred and sends it again.
type outage struct {
	*world
	sender *rig.Postfix
	sent   int
	held   []string // queue ids of what it keeps
}

func (w *world) outage() *outage {
	w.t.Helper()
	sender, err := w.Sender(w.ctx)
	w.do(err)
	return &outage{world: w, sender: sender}
}

// sendEach sends one message for each outcome.
func (o *outage) sendEach(subject string, changes ...func(*rig.Signing)) {
	o.t.Helper()
	o.pass(
		letterTo{shopping, o.sign(letter(friend, shopping, subject, "eggs\r\nmilk\r\n"), changes...)},
		letterTo{shopping, letter(stranger, shopping, subject, "hello\r\n")},
		letterTo{desk, letter(stranger, desk, subject, "hello\r\n")})
}

// letterTo is a message for one recipient.
type letterTo struct{ to, raw string }

// pass hands messages to the sender's Postfix and waits until that has tried to
// pass on each of them.
func (o *outage) pass(all ...letterTo) {
	o.t.Helper()
	mark := o.sender.Log.Len()
	var ids []string
	for _, m := range all {
		ids = append(ids, o.hand(o.sender, m.raw, m.to))
	}
	o.sent += len(all)
	for _, id := range ids {
		o.tried(mark, id)
	}
}

// tried waits until a message was tried and, if it went on, until it came to
// its end.
func (o *outage) tried(mark int, id string) {
	o.t.Helper()
	line, err := o.sender.Tried(o.ctx, mark, id)
	o.do(err)
	if !strings.Contains(line, "status=sent") {
		o.held = append(o.held, id)
		return
	}
	_, err = o.sender.Fate(o.ctx, id)
	o.do(err)
	_, err = o.Postfix.Fate(o.ctx, rig.QueueID(line))
	o.do(err)
}

// sum is the world's, with what the sender's Postfix holds, which must be so
// many messages.
func (o *outage) sum(deferred int) {
	o.t.Helper()
	held, err := o.sender.Queue(o.ctx)
	o.do(err)
	if held != deferred {
		o.t.Errorf("the sender holds %d messages, want %d", held, deferred)
	}
	o.world.sum(o.sent, held)
}

// retry has the sender send again what it holds: nothing is left.
func (o *outage) retry() {
	o.t.Helper()
	mark, again := o.sender.Log.Len(), o.held
	o.held = nil
	o.do(o.sender.Flush(o.ctx))
	for _, id := range again {
		o.tried(mark, id)
	}
	o.sum(0)
}

// arrived wants so many messages to have been delivered by now.
func (o *outage) arrived(n int) {
	o.t.Helper()
	if o.delivered != n {
		o.t.Errorf("%d messages were delivered, want %d", o.delivered, n)
	}
}

// subjects names messages apart.
func subjects(n int) (names []string) {
	for i := range n {
		names = append(names, fmt.Sprintf("number %d", i))
	}
	return names
}
