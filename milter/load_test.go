package milter

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	dj "github.com/d--j/go-milter"

	"stile/tests/signed"
)

// Sessions do not disturb each other, however many messages each has.
func TestManySessions(t *testing.T) {
	spec := signed.Spec{}
	p := run(t, signed.Lookup(t, spec), nil)
	good, bad := signed.Mail(t, spec), signed.Mail(t, signed.Spec{Unsigned: true, Body: strings.Repeat("x\r\n", 100000)})
	const sessions, messages = 8, 12
	var all sync.WaitGroup
	for i := range sessions {
		c := p.dial()
		all.Go(func() {
			for j := range messages {
				raw, want := good, dj.ActionAccept
				if (i+j)%2 == 0 {
					raw, want = bad, dj.ActionDiscard
				}
				if _, a := c.deliver(raw, shopper); a.Type != want {
					t.Errorf("session %d, message %d: %+v", i, j, a)
				}
			}
		})
	}
	all.Wait()
	half := sessions * messages / 2
	for _, line := range []string{
		`stile_messages_total{policy="shopping",reason="none",verdict="accept"} %d`,
		`stile_messages_total{policy="shopping",reason="unsigned",verdict="refuse"} %d`,
		`stile_dkim_results_total{result="pass"} %d`,
	} {
		if want := fmt.Sprintf(line, half); !p.metric(want) {
			t.Errorf("no metric %q", want)
		}
	}
}

// BenchmarkMessages is the rate of whole messages over one socket, RSA-2048.
func BenchmarkMessages(b *testing.B) {
	spec := signed.Spec{Body: strings.Repeat("eggs and milk and bread\r\n", 80)}
	for _, m := range []struct {
		name string
		raw  string
		to   rcpt
	}{
		{"accept", signed.Mail(b, spec), shopper},
		{"refuse", signed.Mail(b, signed.Spec{Unsigned: true, Body: spec.Body}), shopper},
		{"unguarded", signed.Mail(b, spec), rcpt{"bob@other.example", "bob@other.example"}},
		{"accept-1MB", signed.Mail(b, signed.Spec{Body: strings.Repeat(spec.Body, 500)}), shopper},
	} {
		for _, sessions := range []int{1, 8} {
			b.Run(fmt.Sprintf("%s/%d", m.name, sessions), func(b *testing.B) {
				p := run(b, signed.Lookup(b, spec), nil)
				work := make(chan struct{})
				var all sync.WaitGroup
				for range sessions {
					c := p.dial()
					all.Go(func() {
						for range work {
							c.deliver(m.raw, m.to)
						}
					})
				}
				for b.Loop() {
					work <- struct{}{}
				}
				close(work)
				all.Wait()
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "msg/s")
			})
		}
	}
}
