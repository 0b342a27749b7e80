package e2e

import (
	"fmt"
	"sync"
	"testing"

	"stile/tests/rig"
)

// testCrowd opens 200 connections, has a message on each at the same time, of
// four outcomes in turn, and ends them all at once.
func testCrowd(t *testing.T) {
	w := begin(t, "")
	// A key that never verified here is asked for 30 times a minute at most, and
	// the crowd would all ask for it before the first of them has it.
	w.settled(w.send(friend, w.good("the first"), shopping).Data)
	const each = 50
	type one struct {
		from, to, raw string
		code          int
		client        *rig.Client
		answer        rig.Reply
	}
	var all []*one
	for i := range each {
		subject := fmt.Sprintf("number %d", i)
		all = append(all,
			&one{from: friend, to: shopping, raw: w.good(subject), code: 250},
			&one{from: stranger, to: shopping, raw: letter(stranger, shopping, subject, "hello\r\n"), code: 250},
			&one{from: stranger, to: counter, raw: letter(stranger, counter, subject, "hello\r\n"), code: 550},
			&one{from: stranger, to: desk, raw: letter(stranger, desk, subject, "hello\r\n"), code: 250})
	}
	atOnce := func(f func(*one) error) {
		t.Helper()
		errs := make(chan error, len(all))
		var working sync.WaitGroup
		for _, m := range all {
			working.Go(func() { errs <- f(m) })
		}
		working.Wait()
		for range all {
			w.do(<-errs)
		}
	}
	atOnce(func(m *one) (err error) {
		if m.client, err = rig.Dial(w.ctx, w.Postfix.Addr); err != nil {
			return err
		}
		for _, line := range []string{"MAIL FROM:<" + m.from + ">", "RCPT TO:<" + m.to + ">", "DATA"} {
			r, err := m.client.Command(line)
			if err != nil {
				return err
			}
			if r.Code/100 > 3 {
				return fmt.Errorf("%s: %s", line, r)
			}
		}
		return nil
	})
	during, err := w.Stile.Scrape(w.ctx)
	w.do(err)
	if n := during["stile_sessions"]; n != float64(len(all)) {
		t.Errorf("%v sessions, want %d", n, len(all))
	}
	atOnce(func(m *one) (err error) {
		defer m.client.Close()
		if err = m.client.Write(m.raw); err != nil {
			return err
		}
		m.answer, err = m.client.Command(".")
		return err
	})
	for _, m := range all {
		w.want(m.code, m.answer)
		if m.code == 250 {
			_, err := w.Postfix.Fate(w.ctx, m.answer.QueueID())
			w.do(err)
		}
	}
	w.sum(1+len(all), 0)
	if w.delivered != 1+2*each {
		t.Errorf("%d messages were delivered, want %d", w.delivered, 1+2*each)
	}
}
