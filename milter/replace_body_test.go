package milter

import (
	"context"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
	"time"

	dj "github.com/d--j/go-milter"
	"github.com/emersion/go-milter"

	"stile/fence"
	"stile/stamp"
	"stile/tests/signed"
)

// How the body is encoded follows from the fence alone.
func TestReplaceEncoding(t *testing.T) {
	for _, c := range []struct {
		name, body        string
		charset, encoding string
	}{
		{"ASCII", "eggs\r\n", "us-ascii", "7bit"},
		{"a line of 900", strings.Repeat("x", 898) + "\r\n", "us-ascii", "7bit"},
		{"a line of 901", strings.Repeat("x", 899) + "\r\n", "us-ascii", "base64"},
		{"a line of 2000", strings.Repeat("x", 1998) + "\r\n", "us-ascii", "base64"},
		{"a line over 2000", strings.Repeat("x", 5000) + "\r\n", "us-ascii", "base64"},
		{"not ASCII", "Grüße\r\n", "utf-8", "base64"},
		{"what is escaped", "a\u200bb\x01\r\n", "us-ascii", "7bit"},
		{"nothing", "", "us-ascii", "7bit"},
	} {
		t.Run(c.name, func(t *testing.T) {
			spec := signed.Spec{Header: "To: shopping@estate.example\r\nContent-Type: text/plain; charset=utf-8\r\n", Body: c.body}
			p := replacing(t, signed.Lookup(t, spec), 1<<20)
			raw := signed.Mail(t, spec)
			acts, a := p.dial().deliver(raw, shopper)
			is(t, a, dj.ActionAccept)
			text, _ := replaced(t, raw, acts)
			m, body := read(t, text)
			if got := m.Header.Get("Content-Type"); got != "text/plain; charset="+c.charset {
				t.Errorf("Content-Type: %s", got)
			}
			if got := m.Header.Get("Content-Transfer-Encoding"); got != c.encoding {
				t.Errorf("Content-Transfer-Encoding: %s", got)
			}
			if _, err := fence.Parse(body); err != nil {
				t.Error(err)
			}
			_, encoded, _ := strings.Cut(text, "\r\n\r\n")
			for line := range strings.SplitSeq(encoded, "\r\n") {
				if len(line) > 900 || c.encoding == "base64" && len(line) > 76 {
					t.Errorf("a line of %d octets", len(line))
				}
			}
		})
	}
}

// A long body goes in several packets, up to the limit; the field has its own.
func TestReplaceLimit(t *testing.T) {
	for _, unit := range []string{"eggs and milk", "Käse und Brot"} {
		spec := signed.Spec{
			Header: "To: shopping@estate.example\r\nSubject: x\r\nContent-Type: text/plain; charset=utf-8\r\n",
			Body:   strings.Repeat(unit+"\r\n", 50000),
		}
		const limit = 300 << 10
		p := replacing(t, signed.Lookup(t, spec), limit)
		raw := signed.Mail(t, spec)
		acts, a := p.dial().deliver(raw, shopper)
		is(t, a, dj.ActionAccept)
		text, _ := replaced(t, raw, acts)
		_, body := read(t, text)
		f, err := fence.ParseBody(body, limit)
		must(t, err)
		if n := len(body); n > limit || n < limit-100 {
			t.Errorf("%d octets", n)
		}
		if last := f.Remarks[len(f.Remarks)-1]; last != fmt.Sprintf("%d more lines not shown", 50000-len(f.Parts[0].Lines)) {
			t.Errorf("the last remark is %q", last)
		}
		v, sealed, err := stamp.Open(splitAll(text), "shopping", p.keys...)
		must(t, err)
		if _, err := fence.Parse(sealed); err != nil || v.Text != fence.Cut {
			t.Errorf("the field: %v, text=%s", err, v.Text)
		}
	}
}

// However many messages are replaced at once, their bodies have a bounded room:
// who does not get into it in time is deferred, and who leaves makes room.
func TestReplaceRoom(t *testing.T) {
	spec := signed.Spec{}
	p := replacing(t, signed.Lookup(t, spec), maxBodies)
	m := p.dial()
	p.server.limits.decision = 100 * time.Millisecond
	must(t, p.server.bodies.Acquire(t.Context(), 1))
	waits, enough := context.WithCancel(t.Context())
	defer enough()
	go func() { _ = p.server.bodies.Acquire(waits, maxBodies) }()
	for p.server.bodies.TryAcquire(0) { // until it waits
	}
	_, a := m.deliver(signed.Mail(t, spec), shopper)
	id := isTryLater(t, a)
	if n := len(p.lines("id=" + id + " policy=shopping verdict=defer reason=busy cause=room")); n != 1 {
		t.Errorf("%d lines:\n%s", n, p.log)
	}
	if all := p.originals(); len(all) > 0 {
		t.Errorf("%d originals of a message that its sender still has", len(all))
	}
	// Who has nothing replaced does not wait.
	_, a = m.deliver(signed.Mail(t, spec), bob)
	is(t, a, dj.ActionAccept)

	enough()
	p.server.limits.decision = usual.decision
	p.server.bodies.Release(1)
	for range 2 {
		raw := signed.Mail(t, spec)
		acts, a := m.deliver(raw, shopper)
		is(t, a, dj.ActionAccept)
		replaced(t, raw, acts)
	}
}

// The change of a body is asked for only where it is made, and needed there.
func TestBodyIsNegotiated(t *testing.T) {
	const all = milter.OptAction(0x1ff)
	offer := func(actions milter.OptAction) string {
		version := binary.BigEndian.AppendUint32(nil, 6)
		protocol := "\x00\x1f\xff\xff"
		return frame(milter.CodeOptNeg, string(binary.BigEndian.AppendUint32(version, uint32(actions)))+protocol)
	}
	usual := func(t *testing.T) *place { return run(t, noKeys, nil) }
	body := func(t *testing.T) *place { return replacing(t, noKeys, 1<<20) }
	for _, c := range []struct {
		name  string
		start func(*testing.T) *place
		offer milter.OptAction
		want  string
		asks  bool
	}{
		{"not needed", usual, all, "O", false},
		{"not needed, not offered", usual, all &^ milter.OptChangeBody, "O", false},
		{"needed", body, all, "O", true},
		{"needed, not offered", body, all &^ milter.OptChangeBody, "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := c.start(t)
			replies := p.speak(offer(c.offer) + quitFrame)
			if got := codes(replies); got != c.want {
				t.Fatalf("the answers are %q, want %q", got, c.want)
			}
			if c.want == "" {
				return
			}
			actions := milter.OptAction(binary.BigEndian.Uint32([]byte(replies[0][5:])))
			if asks := actions&milter.OptChangeBody != 0; asks != c.asks {
				t.Errorf("asked for: %v", asks)
			}
		})
	}
}
