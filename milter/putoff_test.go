package milter

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	dj "github.com/d--j/go-milter"

	"stile/fence"
	"stile/stamp"
	"stile/tests/signed"
)

// A mailbox of which the mail is replaced shares a message with nobody.
func TestPutOff(t *testing.T) {
	alias := rcpt{"shop+x@localhost", "shop+x@localhost"}
	nobody := rcpt{"nobody@agents.example", "nobody@agents.example"}
	for _, c := range []struct {
		name    string
		to      []rcpt
		replies []int // of RCPT, 0 is continue
	}{
		{"alone", []rcpt{shopper}, []int{0}},
		{"under two names", []rcpt{shopper, alias, shopper}, []int{0, 0, 0}},
		{"then an unguarded one", []rcpt{shopper, bob}, []int{0, 452}},
		{"behind an unguarded one", []rcpt{bob, shopper, bob}, []int{0, 452, 0}},
		{"then a guarded one", []rcpt{shopper, traveler, alias}, []int{0, 452, 0}},
		{"behind a guarded one", []rcpt{traveler, shopper, bob}, []int{0, 452, 0}},
		{"two of them", []rcpt{shopper, poster}, []int{0, 452}},
		{"none of them", []rcpt{traveler, bob}, []int{0, 0}},
		{"no mailbox", []rcpt{nobody, shopper, nobody}, []int{550, 0, 550}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := replacing(t, noKeys, 1<<20, "post")
			m := p.dial()
			m.cont(m.s.Mail("friend@example.org", ""))
			n, refused := 0, 0
			for i, r := range c.to {
				a := m.rcpt(r)
				if want := c.replies[i]; want == 0 && a.Type != dj.ActionContinue || want != 0 && int(a.SMTPCode) != want {
					t.Errorf("%s: %+v, want %d", r.argument, a, c.replies[i])
				}
				if a.SMTPCode == 550 {
					refused++
				}
				if a.SMTPCode != 452 {
					continue
				}
				n++
				if !strings.HasPrefix(a.SMTPReply, "452 4.5.3 ") {
					t.Errorf("the answer is %q", a.SMTPReply)
				}
			}
			if got := len(p.lines("level=INFO", "answered 452")); got != n {
				t.Errorf("%d lines:\n%s", got, p.log)
			}
			for code, want := range map[int]int{452: n, 550: refused} {
				if !p.metric(fmt.Sprintf("stile_recipient_replies_total{reply=\"%d\"} %d", code, want)) {
					t.Errorf("%d is not counted %d times", code, want)
				}
			}
		})
	}
}

// Those put off are as if they had not been named: the message in hand is for
// the others, and theirs comes later.
func TestPutOffComesLater(t *testing.T) {
	spec := signed.Spec{}
	p := replacing(t, signed.Lookup(t, spec), 1<<20)
	m := p.dial()
	m.cont(m.s.Mail("friend@example.org", ""))
	m.cont(m.rcpt(bob), nil)
	if a := m.rcpt(shopper); a.SMTPCode != 452 {
		t.Fatalf("%+v", a)
	}
	m.cont(m.s.DataStart())
	acts, a := m.content(signed.Mail(t, spec))
	is(t, a, dj.ActionAccept)
	if len(acts) > 0 || len(p.lines("policy=shopping")) > 0 {
		t.Errorf("the mailbox was asked: %+v\n%s", acts, p.log)
	}
	raw := signed.Mail(t, spec)
	acts, a = m.deliver(raw, shopper)
	is(t, a, dj.ActionAccept)
	replaced(t, raw, acts)
}

// After ten all get the message together, replaced for all.
func TestPutOffTenTimes(t *testing.T) {
	spec := signed.Spec{}
	p := replacing(t, signed.Lookup(t, spec), 1<<20)
	m := p.dial()
	for range 2 { // each message has its ten
		m.cont(m.s.Mail("friend@example.org", ""))
		m.cont(m.rcpt(bob), nil)
		for i := range 10 {
			if a := m.rcpt(shopper); a.SMTPCode != 452 {
				t.Fatalf("%d: %+v", i, a)
			}
		}
		m.cont(m.rcpt(shopper), nil)
		m.cont(m.rcpt(traveler), nil)
		m.cont(m.s.DataStart())
		raw := signed.Mail(t, spec)
		acts, a := m.content(raw)
		is(t, a, dj.ActionAccept)
		text, removed := replaced(t, raw, acts)
		if want := []string{"<travel@estate.example>"}; !slices.Equal(removed, want) {
			t.Errorf("taken out: %q", removed)
		}
		mail, _ := read(t, text)
		if to := mail.Header.Get("To"); to != "shopping@estate.example" {
			t.Errorf("To: %s", to)
		}
	}
}

// A session that the MTA plays is never put off: all get the message together,
// and of two limits the smaller one holds.
func TestPutOffSimulated(t *testing.T) {
	spec := signed.Spec{Body: strings.Repeat("eggs\r\n", 20000)}
	for _, smaller := range []int{0, 2} {
		p := replacing(t, signed.Lookup(t, spec), 1<<20, "post")
		p.server.o.Config.Mailboxes[smaller].BodyLimit = fence.MinBody
		m := p.dialAs("localhost", 0, "127.0.0.1")
		raw := signed.Mail(t, spec)
		acts, a := m.deliver(raw, poster, bob, shopper)
		is(t, a, dj.ActionAccept)
		text, _ := replaced(t, raw, acts)
		message, body := read(t, text)
		if to := message.Header.Get("To"); to != "shopping@estate.example, post@agents.example" {
			t.Errorf("To: %s", to)
		}
		if _, err := fence.ParseBody(body, fence.MinBody); err != nil {
			t.Error(err)
		}
		for _, policy := range []string{"shopping", "post"} {
			if _, _, err := stamp.Open(splitAll(text), policy, p.keys...); err != nil {
				t.Errorf("%s: %v", policy, err)
			}
		}
	}
}

// Where the mailbox refuses the message, the others get it as they would
// without it.
func TestReplaceNotForRefused(t *testing.T) {
	spec := signed.Spec{From: "agency@travel.example", Domain: "travel.example"}
	p := replacing(t, signed.Lookup(t, spec), 1<<20)
	m := p.dialAs("localhost", 0, "127.0.0.1")
	raw := signed.Mail(t, spec)
	acts, a := m.deliver(raw, shopper, traveler, bob)
	is(t, a, dj.ActionAccept)
	header, removed := applied(t, splitAll(raw), acts) // and no other body
	if want := []string{"<shopping@estate.example>"}; !slices.Equal(removed, want) {
		t.Errorf("taken out: %q", removed)
	}
	if _, _, err := stamp.Open(header, "travel", p.keys...); err != nil {
		t.Error(err)
	}
}
