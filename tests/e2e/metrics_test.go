package e2e

import (
	"fmt"
	"strings"
	"testing"
)

// testMetrics: every series is there from the start, and each message moves
// the one that it should.
func testMetrics(t *testing.T) {
	w := begin(t, "")
	for _, page := range []string{"/healthz", "/readyz"} {
		if _, err := w.Stile.Get(w.ctx, page); err != nil {
			t.Error(err)
		}
	}
	before, err := w.Stile.Scrape(w.ctx)
	w.do(err)
	w.settled(w.send(friend, w.good("groceries"), shopping).Data)
	w.discarded(w.send(friend, letter(friend, shopping, "hello", "hello\r\n"), shopping).Data)
	w.discarded(w.send(friend, letter(friend, shopping, "hello", "hello\r\n"), shopping).Data)
	w.want(550, w.send(friend, letter(stranger, counter, "hello", "hello\r\n"), counter).Data)
	after, err := w.Stile.Scrape(w.ctx)
	w.do(err)

	want := map[string]float64{
		messages("shopping", "accept", "none"):     1,
		messages("shopping", "refuse", "unsigned"): 2,
		messages("counter", "refuse", "unlisted"):  1,
	}
	for name, value := range after {
		if !strings.HasPrefix(name, "stile_messages_total{") {
			continue
		}
		was, there := before[name]
		if !there {
			t.Errorf("%s was not there from the start", name)
		}
		if value-was != want[name] {
			t.Errorf("%s rose by %v, want %v", name, value-was, want[name])
		}
		delete(want, name)
	}
	for name := range want {
		t.Errorf("no series %s", name)
	}
}

func messages(policy, verdict, reason string) string {
	return fmt.Sprintf("stile_messages_total{policy=%q,reason=%q,verdict=%q}", policy, reason, verdict)
}
