package reload

import (
	"fmt"
	"sync"
	"sync/atomic"

	"stile/tests/rig"
)

// clients is how many send at once, each a few messages in a session.
const (
	clients    = 3
	inASession = 3
)

// load is mail that is being sent.
type load struct {
	w     *world
	stop  atomic.Bool
	sent  atomic.Int64
	group sync.WaitGroup

	mu    sync.Mutex
	grown chan struct{} // closed and replaced at each message that was answered
	fates map[string]int
	errs  []error
}

// load begins to send mail to both mailboxes: what friend writes they accept,
// what comes from a stranger they refuse.
func (w *world) load() *load {
	l := &load{w: w, grown: make(chan struct{}), fates: map[string]int{}}
	for n := range clients {
		l.group.Go(func() {
			for session := 0; !l.stop.Load(); session++ {
				if err := l.session(fmt.Sprintf("load-%d-%d", n, session)); err != nil {
					l.mu.Lock()
					l.errs = append(l.errs, err)
					l.mu.Unlock()
					return
				}
			}
		})
	}
	return l
}

// session sends a few messages over one connection.
func (l *load) session(name string) error {
	c, err := rig.Dial(l.w.ctx, l.w.Postfix.Addr)
	if err != nil {
		return err
	}
	defer c.Close()
	from := []string{friend, "mallory@example.org"}
	to := []string{shopping, post}
	for i := range inASession {
		l.sent.Add(1)
		r, err := l.w.send(c, from[i%2], to[i/2%2], fmt.Sprintf("%s-%d", name, i))
		if err != nil {
			return err
		}
		fate, err := l.w.fate(r)
		if err != nil {
			return err
		}
		l.mu.Lock()
		l.fates[fate]++
		close(l.grown)
		l.grown = make(chan struct{})
		l.mu.Unlock()
	}
	return nil
}

// goesOn waits until so many more messages have met their fate.
func (l *load) goesOn(messages int) {
	l.w.t.Helper()
	for range messages {
		l.mu.Lock()
		grown := l.grown
		l.mu.Unlock()
		select {
		case <-grown:
		case <-l.w.ctx.Done():
			l.w.t.Fatal("no mail goes through any more")
		}
	}
}

// end stops the load and fails the test unless every message is accounted for
// and none was deferred. others are the fates of what the test sent itself.
func (l *load) end(others ...string) {
	l.w.t.Helper()
	l.stop.Store(true)
	l.group.Wait()
	for _, err := range l.errs {
		l.w.t.Error(err)
	}
	sent := int(l.sent.Load()) + len(others)
	for _, fate := range others {
		l.fates[fate]++
	}
	delivered := 0
	for _, name := range []string{"shopping", "agents"} {
		unread, err := l.w.Postfix.Mailbox(name).Unread()
		l.w.do(err)
		delivered += len(unread)
	}
	recorded, deferred := l.w.records(), l.fates["deferred"]
	l.w.t.Logf("sent %d: %d delivered, %d recorded, %d deferred", sent, delivered, recorded, deferred)
	if sent != delivered+recorded+deferred {
		l.w.t.Errorf("sent %d, and %d delivered + %d recorded + %d deferred", sent, delivered, recorded, deferred)
	}
	if deferred != 0 {
		l.w.t.Errorf("%d deferred", deferred)
	}
	if delivered != l.fates["delivered"] || recorded != l.fates["recorded"] {
		l.w.t.Errorf("Postfix tells of other fates: %v", l.fates)
	}
	if delivered == 0 || recorded == 0 {
		l.w.t.Error("the load was not mixed")
	}
}
