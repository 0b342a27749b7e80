package milter

import (
	"slices"
	"strings"
	"testing"

	dj "github.com/d--j/go-milter"

	"stile/stamp"
	"stile/tests/signed"
	"stile/verdict"
)

// rejecting makes mailboxes answer 550.
func rejecting(ids ...string) func(*Server) {
	return func(s *Server) {
		for _, m := range s.o.Config.Mailboxes {
			m.Reject = slices.Contains(ids, m.ID)
		}
	}
}

// refusedID fails the test unless the answer is the one text of a refusal, and
// gives the id in it.
func refusedID(t *testing.T, a *dj.Action) string {
	t.Helper()
	id, ok := strings.CutPrefix(a.SMTPReply, "550 5.7.1 Message refused (id ")
	if a.SMTPCode != 550 || !ok || len(id) != 27 || id[26] != ')' {
		t.Fatalf("the answer is %+v", a)
	}
	return id[:26]
}

// 550 is answered only where every recipient is guarded, refuses and rejects,
// and never to what the MTA plays itself.
func TestReject(t *testing.T) {
	nobody := rcpt{"nobody@agents.example", "nobody@agents.example"}
	all := []string{"shopping", "travel", "post"}
	for _, c := range []struct {
		name      string
		rejects   []string
		to        []rcpt
		spec      signed.Spec
		simulated bool
		null      bool
		want      string // became, "rejected"
		removed   int
	}{
		{"one", all, []rcpt{shopper}, signed.Spec{Unsigned: true}, false, false, "rejected", 0},
		{"one, null sender", all, []rcpt{shopper}, signed.Spec{Unsigned: true}, false, true, "rejected", 0},
		{"one that diverts", nil, []rcpt{shopper}, signed.Spec{Unsigned: true}, false, false, "discard", 0},
		{"one twice", all, []rcpt{shopper, {"shop@estate.example", "shop@estate.example"}}, signed.Spec{Unsigned: true}, false, false, "rejected", 0},
		{"all", all, []rcpt{shopper, traveler, poster}, signed.Spec{Unsigned: true}, false, false, "rejected", 0},
		{"all, and one diverts", []string{"shopping", "travel"}, []rcpt{shopper, traveler, poster}, signed.Spec{Unsigned: true}, false, false, "discard", 0},
		{"one diverts, and is not there", []string{"shopping", "travel"}, []rcpt{shopper, traveler}, signed.Spec{Unsigned: true}, false, false, "rejected", 0},
		{"beside somebody else", all, []rcpt{shopper, bob}, signed.Spec{Unsigned: true}, false, false, "passed", 1},
		{"beside one who accepts", all, []rcpt{shopper, traveler}, signed.Spec{}, false, false, "accept shopping", 1},
		{"accepted", all, []rcpt{shopper}, signed.Spec{}, false, false, "accept shopping", 0},
		{"from sendmail(1)", all, []rcpt{shopper}, signed.Spec{Unsigned: true}, true, false, "discard", 0},
		{"a bounce of the MTA's", all, []rcpt{shopper}, signed.Spec{Unsigned: true}, true, true, "discard", 0},
		{"from sendmail(1), an address that is no mailbox", all, []rcpt{nobody}, signed.Spec{Unsigned: true}, true, false, "discard", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := run(t, signed.Lookup(t, signed.Spec{}), rejecting(c.rejects...))
			client := p.dial()
			if c.simulated {
				client = p.dialAs("localhost", 0, "127.0.0.1")
			}
			from := "friend@example.org"
			if c.null {
				from = ""
			}
			client.envelope(from, c.to...)
			raw := signed.Mail(t, c.spec)
			acts, a := client.content(raw)
			if c.want == "rejected" {
				id := refusedID(t, a)
				if len(acts) > 0 {
					t.Errorf("modified: %+v", acts)
				}
				// Whoever asks with the id finds the record.
				if n := len(p.lines("id="+id, "verdict=refuse reason=")); n == 0 {
					t.Errorf("no line has the id %s:\n%s", id, p.log)
				}
				if !slices.ContainsFunc(p.reasonIDs(), func(s string) bool { return s == id }) {
					t.Errorf("no record has the id %s", id)
				}
				return
			}
			want(t, "became", became(t, p, raw, acts, a), c.want)
			if a.Type == dj.ActionAccept {
				_, removed := applied(t, signed.Message(t, raw).Header, acts)
				want(t, "taken out", len(removed), c.removed)
			}
		})
	}
}

func (p *place) reasonIDs() (ids []string) {
	for _, r := range p.records() {
		ids = append(ids, r.ID)
	}
	return ids
}

// Whatever it was refused for, the sender hears the same; the session goes on.
func TestRejectSaysNothing(t *testing.T) {
	spec := signed.Spec{}
	p := run(t, signed.Lookup(t, spec), rejecting("shopping"))
	c := p.dial()
	good := signed.Mail(t, spec)
	_, a := c.deliver(good, shopper)
	is(t, a, dj.ActionAccept)
	texts := map[string]bool{}
	for _, raw := range []string{
		signed.Mail(t, signed.Spec{Unsigned: true}),
		signed.Mail(t, signed.Spec{From: "mallory@evil.example"}),
		signed.Mail(t, signed.Spec{Above: "From: x@y.example\r\n"}),
		signed.Mail(t, signed.Spec{Alter: func(b string) string { return b + "x\r\n" }}),
		"X-A: b\r\n" + good, // replayed
	} {
		_, a := c.deliver(raw, shopper)
		id := refusedID(t, a)
		texts[strings.Replace(a.SMTPReply, id, "", 1)] = true
	}
	want(t, "texts", len(texts), 1)
	want(t, "records", len(p.records()), 5)
	// A repeat is named by the row that it is counted in.
	_, a = c.deliver(signed.Mail(t, signed.Spec{Unsigned: true}), shopper)
	rows, err := p.store.Get(t.Context(), refusedID(t, a))
	must(t, err)
	want(t, "repeats", rows[0].Count, 2)
	_, a = c.deliver(good, shopper)
	is(t, a, dj.ActionAccept)
}

// Authentication-Results of our id go from all mail that passes; on accepted
// mail stands one of ours.
func TestAuthResults(t *testing.T) {
	spec := signed.Spec{Above: "Authentication-Results: other.example; none\r\n" +
		"authentication-results: (c) \"MX.Estate.example\" 1;\r\n dkim=pass header.d=bank.example\r\n" +
		"ARC-Authentication-Results: i=1; mx.estate.example; none\r\n"}
	names := func(header []verdict.Field) (all []string) {
		for _, f := range header {
			if f.Is(stamp.AuthResultsName) {
				all = append(all, strings.ReplaceAll(f.Value, "\r\n", ""))
			}
		}
		return all
	}
	ours := " mx.estate.example; dkim=pass header.d=example.org header.a=rsa-sha256"
	other, forged := " other.example; none", ` (c) "MX.Estate.example" 1; dkim=pass header.d=bank.example`
	for _, c := range []struct {
		name, id string
		spec     signed.Spec
		to       []rcpt
		want     []string
	}{
		{"accepted", "mx.estate.example", signed.Spec{}, []rcpt{shopper}, []string{ours, other}},
		{"accepted, and somebody else", "mx.estate.example", signed.Spec{}, []rcpt{bob, shopper}, []string{ours, other}},
		{"refused, but for somebody else", "mx.estate.example", signed.Spec{Unsigned: true}, []rcpt{bob, shopper}, []string{other}},
		{"for somebody else", "mx.estate.example", signed.Spec{}, []rcpt{bob}, []string{other}},
		{"accepted, off", "", signed.Spec{}, []rcpt{shopper}, []string{other, forged}},
		{"for somebody else, off", "", signed.Spec{}, []rcpt{bob}, []string{other, forged}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := run(t, signed.Lookup(t, spec), func(s *Server) { s.o.Config.AuthservID = c.id })
			c.spec.Above = spec.Above
			raw := signed.Mail(t, c.spec)
			acts, a := p.dial().deliver(raw, c.to...)
			is(t, a, dj.ActionAccept)
			header, _ := applied(t, signed.Message(t, raw).Header, acts)
			if got := names(header); !slices.Equal(got, c.want) {
				t.Errorf("there are %q, want %q", got, c.want)
			}
			if n := slices.IndexFunc(header, func(f verdict.Field) bool { return f.Is("ARC-Authentication-Results") }); n < 0 {
				t.Error("ARC-Authentication-Results is gone")
			}
		})
	}
}

// However large its fields, what is remembered of mail for others is little.
func TestAuthResultsBounded(t *testing.T) {
	p := run(t, noKeys, func(s *Server) { s.o.Config.AuthservID = "mx.estate.example" })
	field := "Authentication-Results: mx.estate.example; x=" + strings.Repeat("y", 50<<10) + "\r\n"
	raw := strings.Repeat(field+"Authentication-Results: other.example; x="+strings.Repeat("y", 50<<10)+"\r\n", 10) + "Subject: x\r\n\r\nbody\r\n"
	acts, a := p.dial().deliver(raw, bob)
	is(t, a, dj.ActionAccept)
	header, _ := applied(t, splitAll(raw), acts)
	want(t, "fields left", len(header), 11)
}
