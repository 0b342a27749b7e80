package milter

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"strings"
	"testing"

	dj "github.com/d--j/go-milter"

	"stile/stamp"
	"stile/tests/signed"
	"stile/verdict"
)

func sha(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

// Each mailbox judges by its own list; those who refuse are taken out by the
// octets of RCPT, and everyone else gets the message as stamped.
func TestSeveralRecipients(t *testing.T) {
	spec := signed.Spec{}
	p := run(t, signed.Lookup(t, spec), nil)
	raw := signed.Mail(t, spec)
	acts, a := p.dial().deliver(raw,
		rcpt{"@relay.example,@[IPv6:::1]:TRAVEL@Estate.example", "TRAVEL@estate.example"},
		rcpt{`"travel"@estate.example`, "travel@estate.example"},
		rcpt{"bob@other.example", "bob@other.example"},
		rcpt{"shopping+x@localhost", "shopping+x@localhost"},
		rcpt{"post@agents.example", "post@agents.example"},
		shopper)
	is(t, a, dj.ActionAccept)
	header, removed := applied(t, signed.Message(t, raw).Header, acts)
	if want := []string{"<TRAVEL@Estate.example>", `<"travel"@estate.example>`}; !slices.Equal(removed, want) {
		t.Errorf("taken out: %q, want %q", removed, want)
	}
	v, _, err := stamp.Open(header, "shopping", p.keys...)
	must(t, err)
	if want := []string{"shopping", "post"}; !slices.Equal(v.Policies, want) {
		t.Errorf("accepted by %q, want %q", v.Policies, want)
	}
	rows := p.records()
	if len(rows) != 1 || rows[0].Policy != "travel" || rows[0].Reason != verdict.Unlisted {
		t.Errorf("the store has %+v", rows)
	}
	for _, line := range []string{
		"policy=shopping verdict=accept", "policy=post verdict=accept", "policy=travel verdict=refuse reason=unlisted",
	} {
		if n := len(p.lines("id="+v.ID, line)); n != 1 {
			t.Errorf("%d lines with %q:\n%s", n, line, p.log)
		}
	}
}

// Refused by several, each has a record of its own.
func TestSeveralRefusals(t *testing.T) {
	p := run(t, noKeys, nil)
	_, a := p.dial().deliver(signed.Mail(t, signed.Spec{Unsigned: true}),
		shopper, rcpt{"travel@estate.example", "travel@estate.example"})
	is(t, a, dj.ActionDiscard)
	rows := p.records()
	var got []string
	for _, r := range rows {
		got = append(got, r.Policy+" "+string(r.Reason))
	}
	slices.Sort(got)
	if want := []string{"shopping unsigned", "travel unlisted"}; !slices.Equal(got, want) {
		t.Errorf("the store has %q, want %q", got, want)
	}
}

// Guarded recipients are taken out of mail that others get.
func TestRefusedButForOthers(t *testing.T) {
	p := run(t, noKeys, nil)
	acts, a := p.dial().deliver(signed.Mail(t, signed.Spec{Unsigned: true, Above: "stile-seal: x\r\n"}),
		shopper, rcpt{"bob@other.example", "bob@other.example"})
	is(t, a, dj.ActionAccept)
	if len(acts) != 2 || acts[0].Type != dj.ActionChangeHeader || acts[1].Rcpt != "<shopping@estate.example>" {
		t.Errorf("modified: %+v", acts)
	}
	if n := len(p.records()); n != 1 {
		t.Errorf("%d records", n)
	}
}

// Where the MTA might not find a recipient that has to go, nobody gets it.
func TestArgumentThatIsNotPlain(t *testing.T) {
	p := run(t, noKeys, nil)
	c := p.dial()
	odd := rcpt{"shopping(c)@estate.example", "shopping@estate.example"}
	_, a := c.deliver(signed.Mail(t, signed.Spec{Unsigned: true}), odd, rcpt{"bob@other.example", "bob@other.example"})
	isTryLater(t, a)
	if n := len(p.lines("reason=internal cause=argument")); n != 1 {
		t.Errorf("%d lines:\n%s", n, p.log)
	}
	if n := len(p.records()); n != 0 {
		t.Errorf("%d records of a deferred message", n)
	}
	// Alone it need not be found.
	_, a = c.deliver(signed.Mail(t, signed.Spec{Unsigned: true}), odd)
	is(t, a, dj.ActionDiscard)
}

func TestDeletable(t *testing.T) {
	for _, c := range []struct{ argument, want string }{
		{"a@b.example", "a@b.example"},
		{"A.B+c@B.example.", "A.B+c@B.example."},
		{`"a b"@b.example`, `"a b"@b.example`},
		{`"a\"(b"@b.example`, `"a\"(b"@b.example`},
		{"a@[IPv6:2001:db8::1]", "a@[IPv6:2001:db8::1]"},
		{"@r.example:a@b.example", "a@b.example"},
		{"@r.example,@s.example:a@b.example", "a@b.example"},
		{`@[IPv6:::1],@s.example:"a:b"@b.example`, `"a:b"@b.example`},
		{"d!a%c", "d!a%c"},
		{"", ""},
		{"@r.example", ""},
		{"@r.example:", ""},
		{" a@b.example", ""},
		{"a@b.example ", ""},
		{"a(c)@b.example", ""},
		{"(c)@r.example:a@b.example", ""},
		{"a@b.example,c@d.example", ""},
		{"x:a@b.example", ""},
		{"a\x7f@b.example", ""},
		{"a\x01@b.example", ""},
	} {
		got, err := recipient{argument: c.argument}.deletable()
		if got != c.want || (err != nil) != (c.want == "") {
			t.Errorf("%q: %q, %v; want %q", c.argument, got, err, c.want)
		}
		if err != nil && !errors.Is(err, errArgument) {
			t.Errorf("%q: %v", c.argument, err)
		}
	}
}

func TestNoMailbox(t *testing.T) {
	spec := signed.Spec{}
	p := run(t, signed.Lookup(t, spec), nil)
	nobody := rcpt{"Nobody@agents.example", "Nobody@agents.example"}
	c := p.dial()
	c.cont(c.s.Mail("friend@example.org", ""))
	c.cont(c.rcpt(shopper), nil)
	a := c.rcpt(nobody)
	if a.SMTPCode != 550 || !strings.HasPrefix(a.SMTPReply, "550 5.1.1 ") {
		t.Fatalf("the answer is %+v", a)
	}
	c.cont(c.s.DataStart())
	acts, a := c.content(signed.Mail(t, spec))
	is(t, a, dj.ActionAccept)
	if _, removed := applied(t, signed.Message(t, signed.Mail(t, spec)).Header, acts); len(removed) > 0 {
		t.Errorf("taken out: %q", removed)
	}
	if strings.Contains(strings.ToLower(p.log.String()), "nobody") {
		t.Errorf("the log quotes an argument:\n%s", p.log)
	}
}

// In a session that the MTA plays nothing is rejected at RCPT.
func TestNoMailboxSimulated(t *testing.T) {
	spec := signed.Spec{}
	p := run(t, signed.Lookup(t, spec), nil)
	nobody := rcpt{"Nobody@agents.example", "nobody@agents.example"}
	c := p.dialAs("localhost", 0, "127.0.0.1")
	acts, a := c.deliver(signed.Mail(t, spec), nobody, shopper)
	is(t, a, dj.ActionAccept)
	_, removed := applied(t, signed.Message(t, signed.Mail(t, spec)).Header, acts)
	if want := []string{"<Nobody@agents.example>"}; !slices.Equal(removed, want) {
		t.Errorf("taken out: %q, want %q", removed, want)
	}
	rows := p.records()
	if len(rows) != 1 || rows[0].Policy != "none" || rows[0].Reason != verdict.NotAddressed {
		t.Errorf("the store has %+v", rows)
	}
	// Alone, it goes no further.
	_, a = c.deliver(signed.Mail(t, spec), nobody)
	is(t, a, dj.ActionDiscard)
}

// Mail for others passes, but for fields with names of ours, however far down
// they stand; its body is not read.
func TestUnguarded(t *testing.T) {
	p := run(t, func(context.Context, string) ([]string, error) {
		t.Error("a look-up for unguarded mail")
		return nil, nil
	}, nil)
	raw := "Stile-Verdict: 1\r\nSTILE-VERDICT: 2\r\n\tfold\r\nstile-verdict:\r\nX-Stile-Other: x\r\nSubject: x\r\n" +
		strings.Repeat("X-Filler: "+strings.Repeat("y", 900)+"\r\n", 600) + "Stile-Seal: deep\r\nStilex: stays\r\n\r\nbody\r\n"
	c := p.dial()
	acts, a := c.deliver(raw, rcpt{"bob@other.example", "bob@other.example"})
	is(t, a, dj.ActionAccept)
	header, _ := applied(t, splitAll(raw), acts)
	for _, f := range header {
		if n := strings.ToLower(f.Name); strings.HasPrefix(n, "stile-") || strings.HasPrefix(n, "x-stile-") {
			t.Errorf("%s is still there", f.Name)
		}
	}
	if len(acts) != 5 || len(header) != 602 {
		t.Errorf("%d modifications, %d fields left", len(acts), len(header))
	}
	if n := len(p.lines("policy=none verdict=accept reason=none")); n != 1 {
		t.Errorf("%d lines:\n%s", n, p.log)
	}
	for _, line := range []string{
		"stile_verdict_duration_seconds_count 0", "stile_end_of_message_duration_seconds_count 1",
		"stile_forged_fields_removed_total 5",
		`stile_messages_total{policy="none",reason="none",verdict="accept"} 1`,
	} {
		if !p.metric(line) {
			t.Errorf("no metric %q", line)
		}
	}
}

// splitAll reads a header of any size.
func splitAll(raw string) (header []verdict.Field) {
	head, _, _ := strings.Cut(raw, "\r\n\r\n")
	for line := range strings.SplitSeq(head, "\r\n") {
		if line[0] == '\t' || line[0] == ' ' {
			header[len(header)-1].Value += "\r\n" + line
			continue
		}
		name, value, _ := strings.Cut(line, ":")
		header = append(header, verdict.Field{Name: name, Value: value})
	}
	return header
}
