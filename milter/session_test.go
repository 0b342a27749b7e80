package milter

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	dj "github.com/d--j/go-milter"

	"stile/fence"
	"stile/stamp"
	"stile/tests/signed"
	"stile/verdict"
)

func TestAccept(t *testing.T) {
	spec := signed.Spec{Above: "Stile-Verdict: accept\r\nX-STILE-Seal: one\r\nx-stile-seal: two\r\nReply-To: x@evil.example\r\n"}
	p := run(t, signed.Lookup(t, spec), nil)
	raw := signed.Mail(t, spec)
	acts, a := p.dial().deliver(raw, shopper)
	is(t, a, dj.ActionAccept)

	header, removed := applied(t, signed.Message(t, raw).Header, acts)
	if len(removed) > 0 {
		t.Errorf("recipients taken out: %q", removed)
	}
	v, text, err := stamp.Open(header, "shopping", p.keys...)
	must(t, err)
	if v.From != "friend@example.org" || v.Domain != "example.org" || !slices.Equal(v.Policies, []string{"shopping"}) {
		t.Errorf("the stamp says %+v", v)
	}
	f, err := fence.Parse(text)
	must(t, err)
	if !f.Quoted("eggs\nmilk") {
		t.Errorf("the fence does not show the body:\n%s", text)
	}
	for _, name := range []string{"X-Stile-Seal", "Reply-To"} {
		if slices.ContainsFunc(header, func(f verdict.Field) bool { return f.Is(name) }) {
			t.Errorf("%s is still there", name)
		}
	}
	if header[0].Name != stamp.VerdictName {
		t.Errorf("%s stands on top", header[0].Name)
	}

	lines := p.lines("msg=message")
	if len(lines) != 1 {
		t.Fatalf("%d lines:\n%s", len(lines), p.log)
	}
	want := "queue=4QfT3z0Kbz1 id=" + v.ID + " policy=shopping verdict=accept reason=none from=friend@example.org d=example.org"
	if !strings.Contains(lines[0], want) {
		t.Errorf("the line lacks %q: %s", want, lines[0])
	}
	if known, err := p.store.KnownKey(context.Background(), "s1._domainkey.example.org"); err != nil || !known {
		t.Errorf("the key is not remembered: %v, %v", known, err)
	}
	if n := len(p.records()); n != 0 {
		t.Errorf("%d records of accepted mail", n)
	}
}

// Every octet between the MTA and the signature counts under simple
// canonicalization (RFC 6376, 3.4.1).
func TestExactBytes(t *testing.T) {
	spec := signed.Spec{
		Simple: true,
		From:   " \t Friend   <friend@example.org>\t",
		Header: "To:shopping@estate.example\r\nX-Empty:\r\nX-Blank:  \r\nSubject:\tmany\r\n\t folds \r\n  here\r\nX-Last:\tx  \r\n",
		Body:   "a  b \r\n\r\n.\r\n\xff\r\n\r\n\r\n",
	}
	p := run(t, signed.Lookup(t, spec), nil)
	_, a := p.dial().deliver(signed.Mail(t, spec), shopper)
	is(t, a, dj.ActionAccept)
}

func TestRefuse(t *testing.T) {
	long := strings.Repeat("X-Filler: "+strings.Repeat("x", 1000)+"\r\n", 300)
	for _, c := range []struct {
		reason verdict.Reason
		spec   signed.Spec
		from   string // envelope
	}{
		{verdict.TooLarge, signed.Spec{Above: strings.Repeat("X-A: b\r\n", 600)}, ""},
		{verdict.TooLarge, signed.Spec{Above: long}, ""},
		{verdict.TooLarge, signed.Spec{Body: strings.Repeat("0123456789abcdef\r\n", 70000)}, ""},
		{verdict.MalformedHeader, signed.Spec{Above: "X-A: b\x07c\r\n"}, ""},
		{verdict.FromCount, signed.Spec{Above: "From: other@example.org\r\n"}, ""},
		{verdict.DuplicateField, signed.Spec{Above: "Subject: other\r\n"}, ""},
		{verdict.AddressCount, signed.Spec{From: "friend@example.org, x@example.org"}, ""},
		{verdict.FromSyntax, signed.Spec{From: "friend at example.org"}, ""},
		{verdict.Unlisted, signed.Spec{From: "mallory@evil.example", Domain: "evil.example"}, ""},
		{verdict.Automatic, signed.Spec{Above: "Auto-Submitted: auto-generated\r\n"}, "<>"},
		{verdict.Unsigned, signed.Spec{Unsigned: true}, ""},
		{verdict.Misaligned, signed.Spec{Domain: "tenant.onmicrosoft.com"}, ""},
		{verdict.LengthTag, signed.Spec{Tags: "l=3;"}, ""},
		{verdict.NotAddressed, signed.Spec{Header: "To: someone@else.example\r\nSubject: x\r\n"}, ""},
		{verdict.Stale, signed.Spec{NoTime: true, Tags: "t=1500000000;"}, ""},
		{verdict.BadSignature, signed.Spec{Alter: func(b string) string { return b + "and bread\r\n" }}, ""},
		{verdict.BadKey, signed.Spec{Selector: "gone"}, ""},
	} {
		t.Run(string(c.reason), func(t *testing.T) {
			known := signed.Spec{Domain: c.spec.Domain}
			p := run(t, signed.Lookup(t, known), nil)
			raw := signed.Mail(t, c.spec)
			client := p.dial()
			from := "friend@example.org"
			if c.from != "" {
				from = ""
			}
			client.envelope(from, shopper)
			acts, a := client.content(raw)
			is(t, a, dj.ActionDiscard)
			if len(acts) > 0 {
				t.Errorf("refused mail is modified: %+v", acts)
			}
			rows := p.records()
			if len(rows) != 1 {
				t.Fatalf("%d records", len(rows))
			}
			r := rows[0]
			if r.Reason != c.reason || r.Policy != "shopping" || r.QueueID != "4QfT3z0Kbz1" || r.ClientIP != "192.0.2.7" {
				t.Errorf("the record says %+v", r)
			}
			if r.Size != int64(len(raw)) {
				t.Errorf("size %d, want %d", r.Size, len(raw))
			}
			if want := sha(raw); r.SHA256 != want {
				t.Errorf("digest %s, want %s", r.SHA256, want)
			}
			want := fmt.Sprintf("queue=4QfT3z0Kbz1 id=%s policy=shopping verdict=refuse reason=%s", r.ID, c.reason)
			if n := len(p.lines("level=INFO", want)); n != 1 {
				t.Errorf("%d lines with %q:\n%s", n, want, p.log)
			}
		})
	}
}

func TestSigner(t *testing.T) {
	spec := signed.Spec{Domain: "tenant.onmicrosoft.com"}
	p := run(t, signed.Lookup(t, spec), nil)
	_, a := p.dial().deliver(signed.Mail(t, spec), shopper)
	is(t, a, dj.ActionDiscard)
	if r := p.records()[0]; r.Signer != "onmicrosoft" || !r.ClaimsListed {
		t.Errorf("the record says %+v", r)
	}
}

// A second refusal of the same kind folds into the first one's row, and the log
// names the row.
func TestRepeatsFold(t *testing.T) {
	p := run(t, noKeys, nil)
	c := p.dial()
	for range 2 {
		_, a := c.deliver(signed.Mail(t, signed.Spec{Unsigned: true}), shopper)
		is(t, a, dj.ActionDiscard)
	}
	rows := p.records()
	if len(rows) != 1 || rows[0].Count != 2 {
		t.Fatalf("the store has %+v", rows)
	}
	if n := len(p.lines("id=" + rows[0].ID)); n != 2 {
		t.Errorf("%d lines name the row:\n%s", n, p.log)
	}
}

func TestDefer(t *testing.T) {
	spec := signed.Spec{}
	for _, c := range []struct {
		name   string
		lookup verdict.LookupTXT
		reason verdict.Reason
	}{
		{"no answer", func(context.Context, string) ([]string, error) { return nil, errors.New("no answer CANARY") }, verdict.DNS},
		{"busy", func(context.Context, string) ([]string, error) { return nil, fmt.Errorf("CANARY: %w", verdict.ErrBusy) }, verdict.Busy},
		{"panic", func(context.Context, string) ([]string, error) { panic("CANARY") }, verdict.DNS},
	} {
		t.Run(c.name, func(t *testing.T) {
			var fail atomic.Bool
			fail.Store(true)
			p := run(t, func(ctx context.Context, name string) ([]string, error) {
				if fail.Load() {
					return c.lookup(ctx, name)
				}
				return signed.Lookup(t, spec)(ctx, name)
			}, nil)
			client := p.dial()
			acts, a := client.deliver(signed.Mail(t, spec), shopper)
			id := isTryLater(t, a)
			if len(acts) > 0 {
				t.Errorf("a deferred message is modified: %+v", acts)
			}
			if n := len(p.lines("level=WARN", "id="+id+" policy=shopping verdict=defer reason="+string(c.reason))); n != 1 {
				t.Errorf("%d lines:\n%s", n, p.log)
			}
			if strings.Contains(p.log.String(), "CANARY") {
				t.Errorf("the log quotes an error:\n%s", p.log)
			}
			if n := len(p.records()); n > 0 {
				t.Errorf("%d records of a deferred message", n)
			}
			fail.Store(false)
			_, a = client.deliver(signed.Mail(t, spec), shopper)
			is(t, a, dj.ActionAccept)
		})
	}
}

// One mailbox that cannot decide decides for all: nothing is written.
func TestDeferIsForAll(t *testing.T) {
	p := run(t, func(context.Context, string) ([]string, error) { return nil, errors.New("down") }, nil)
	_, a := p.dial().deliver(signed.Mail(t, signed.Spec{}),
		rcpt{"travel@estate.example", "travel@estate.example"}, shopper, rcpt{"bob@other.example", "bob@other.example"})
	id := isTryLater(t, a)
	if n := len(p.records()); n > 0 {
		t.Errorf("%d records", n)
	}
	for _, policy := range []string{"shopping", "travel"} {
		if n := len(p.lines("id=" + id + " policy=" + policy + " verdict=defer reason=dns")); n != 1 {
			t.Errorf("%s: %d lines:\n%s", policy, n, p.log)
		}
	}
}

func TestStoreFails(t *testing.T) {
	p := run(t, noKeys, nil)
	must(t, p.store.Close())
	_, a := p.dial().deliver(signed.Mail(t, signed.Spec{Unsigned: true}), shopper)
	id := isTryLater(t, a)
	if n := len(p.lines("id=" + id + " policy=shopping verdict=defer reason=store cause=store")); n != 1 {
		t.Errorf("%d lines:\n%s", n, p.log)
	}
}

// A panic anywhere in deciding is 451, and the process and the session live.
func TestPanic(t *testing.T) {
	spec := signed.Spec{}
	p := run(t, signed.Lookup(t, spec), nil)
	sealer := p.server.o.Sealer
	p.server.o.Sealer = nil
	c := p.dial()
	_, a := c.deliver(signed.Mail(t, spec), shopper)
	id := isTryLater(t, a)
	if n := len(p.lines("id="+id+" ", "cause=panic")); n != 1 {
		t.Errorf("%d lines:\n%s", n, p.log)
	}
	if n := len(p.lines("level=ERROR", "milter.(*session).stamp")); n != 1 {
		t.Errorf("%d lines say where:\n%s", n, p.log)
	}
	p.server.o.Sealer = sealer
	_, a = c.deliver(signed.Mail(t, spec), shopper)
	is(t, a, dj.ActionAccept)
}
