package verdict_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"stile/tests/signed"
	"stile/verdict"
)

// judge makes the message and judges it.
func judge(t *testing.T, s signed.Spec, p *verdict.Policy, change func(*verdict.Message, *verdict.Env)) (*verdict.Case, verdict.Verdict) {
	t.Helper()
	m := signed.Message(t, signed.Mail(t, s))
	e := verdict.Env{Lookup: signed.Lookup(t, s), Now: time.Now()}
	if change != nil {
		change(&m, &e)
	}
	c := verdict.Open(m, e)
	return c, c.Judge(context.Background(), p)
}

const toAgent = "To: shopping@estate.example\r\n"

// many is a header of n fields.
func many(n int) string { return strings.Repeat("X-A: b\r\n", n) }

func TestRefusals(t *testing.T) {
	lines := func(n int) string { return "X-A: b\r\n" + strings.Repeat(" c\r\n", n-1) }
	long := func(octets int) string { return "X-A:" + strings.Repeat("b", octets-6) + "\r\n" }
	// "" in want is acceptance. Each refusal stands beside the nearest message
	// that is accepted, where there is one.
	for _, c := range []struct {
		name string
		spec signed.Spec
		want verdict.Reason
	}{
		{"as signed", signed.Spec{}, ""},
		{"simple", signed.Spec{Simple: true}, ""},
		{"ed25519", signed.Spec{Ed25519: true}, ""},

		{"500 fields", signed.Spec{Above: many(500 - 4)}, ""},
		{"501 fields", signed.Spec{Above: many(501 - 4)}, verdict.TooLarge},
		{"field of 64 KiB", signed.Spec{Above: long(64 << 10)}, ""},
		{"field over 64 KiB", signed.Spec{Above: long(64<<10 + 1)}, verdict.TooLarge},
		{"4000 lines", signed.Spec{Above: lines(4000)}, ""},
		{"4001 lines", signed.Spec{Above: lines(4001)}, verdict.TooLarge},
		{"header over 256 KiB", signed.Spec{Above: strings.Repeat(long(64<<10), 4)}, verdict.TooLarge},

		{"no colon", signed.Spec{Above: "garbage\r\n"}, verdict.MalformedHeader},
		{"empty name", signed.Spec{Above: ": x\r\n"}, verdict.MalformedHeader},
		{"space before the colon", signed.Spec{Above: "X-A : x\r\n"}, verdict.MalformedHeader},
		{"no-break space in a name", signed.Spec{Above: "From\u00a0: mallory@evil.example\r\n"}, verdict.MalformedHeader},
		{"DEL in a name", signed.Spec{Above: "X\x7f: x\r\n"}, verdict.MalformedHeader},
		{"continuation first", signed.Spec{Above: " From: mallory@evil.example\r\n"}, verdict.MalformedHeader},
		{"NUL", signed.Spec{Above: "X-A: a\x00b\r\n"}, verdict.MalformedHeader},
		{"DEL", signed.Spec{Above: "X-A: a\x7fb\r\n"}, verdict.MalformedHeader},
		{"bare CR", signed.Spec{Above: "X-A: a\rFrom: b\r\n"}, verdict.MalformedHeader},
		{"bare LF", signed.Spec{Above: "X-A: a\nFrom: b\r\n"}, verdict.MalformedHeader},
		{"TAB", signed.Spec{Above: "X-A:\ta\tb\r\n\tc\r\n"}, ""},
		{"blank continuation", signed.Spec{Above: "X-A: a\r\n \t\r\n"}, verdict.MalformedHeader},
		{"blank continuation in the middle", signed.Spec{Above: "X-A: a\r\n \r\n b\r\n"}, verdict.MalformedHeader},

		{"two From", signed.Spec{Above: "fRoM: friend@example.org\r\n"}, verdict.FromCount},
		{"two Subjects", signed.Spec{Above: "subject: x\r\n"}, verdict.DuplicateField},
		{"MIME-Version repeated", signed.Spec{Above: "MIME-Version: 1.0\r\nMime-Version:  1.0 \r\n"}, ""},
		{"MIME-Version repeated, another", signed.Spec{Above: "MIME-Version: 1.0\r\nMime-Version: 1.1\r\n"}, verdict.DuplicateField},
		{"Content-Type repeated", signed.Spec{Above: "Content-Type: text/plain\r\nContent-Type: text/plain\r\n"}, verdict.DuplicateField},

		{"empty From", signed.Spec{From: " \t "}, verdict.AddressCount},
		{"two addresses", signed.Spec{From: "friend@example.org, mallory@evil.example"}, verdict.AddressCount},
		{"comma in quotes", signed.Spec{From: `"Friend, My" <friend@example.org>`}, ""},
		{"comma in a comment", signed.Spec{From: `friend@example.org (my, friend)`}, ""},
		{"group", signed.Spec{From: "g: friend@example.org;"}, verdict.FromSyntax},
		{"other sender", signed.Spec{From: "mallory@example.org"}, verdict.Unlisted},
		{"plus tag", signed.Spec{From: "friend+x@example.org"}, verdict.Unlisted},
		{"case", signed.Spec{From: "FRIEND@Example.ORG"}, ""},

		{"auto-replied", signed.Spec{Above: "Auto-Submitted: (x) Auto-Replied; a=b\r\n"}, verdict.Automatic},
		{"auto-generated", signed.Spec{Above: "Auto-Submitted: auto-generated\r\n"}, ""},
		{"auto_reply", signed.Spec{Above: "Precedence: bulk\r\nPrecedence: auto_reply\r\n"}, verdict.Automatic},
		{"X-Autoreply", signed.Spec{Above: "X-Autoreply: yes\r\n"}, verdict.Automatic},
		{"X-Autoreply no", signed.Spec{Above: "X-Autoreply: NO\r\n"}, ""},
		{"X-Autorespond", signed.Spec{Above: "X-Autorespond:\r\n"}, verdict.Automatic},
		{"report", signed.Spec{Above: "Content-Type: multipart/(a)Report; boundary=b\r\n"}, verdict.Automatic},

		{"unsigned", signed.Spec{Unsigned: true}, verdict.Unsigned},
		{"parent domain", signed.Spec{Domain: "org"}, verdict.Misaligned},
		{"child domain", signed.Spec{Domain: "mail.example.org"}, verdict.Misaligned},
		{"d= in capitals", signed.Spec{Domain: "Example.ORG"}, ""},
		{"d= with a dot behind", signed.Spec{Domain: "example.org."}, verdict.Misaligned},
		{"l=", signed.Spec{Tags: "l=12;"}, verdict.LengthTag},
		{"l = nothing", signed.Spec{Tags: "l =;"}, verdict.LengthTag},
		{"L=", signed.Spec{Tags: "L=5;"}, ""},

		{"to someone else", signed.Spec{Header: "To: other@estate.example\r\n"}, verdict.NotAddressed},
		{"in Cc", signed.Spec{Header: "To: other@estate.example\r\nCc: x, Agent <shopping@estate.example>\r\n"}, ""},
		{"in a group", signed.Spec{Header: "To: agents: a@b.example, shopping@estate.example;\r\n"}, ""},
		{"in a comment only", signed.Spec{Header: "To: a@b.example (shopping@estate.example)\r\n"}, verdict.NotAddressed},
		{"in a display name only", signed.Spec{Header: "To: \"shopping@estate.example\" <a@b.example>\r\n"}, verdict.NotAddressed},
		{"Cc added in transit", signed.Spec{Header: "To: other@estate.example\r\n", Above: "Cc: shopping@estate.example\r\n"}, verdict.NotAddressed},
		{"neither signed", signed.Spec{Sign: []string{"from", "subject"}}, ""},
		{"neither signed nor a time", signed.Spec{Sign: []string{"from"}, NoTime: true}, verdict.NotAddressed},
		{"absent To signed", signed.Spec{Header: "Subject: x\r\n", Sign: []string{"from", "to"}}, verdict.NotAddressed},

		{"body changed", signed.Spec{Alter: func(b string) string { return b + "pay\r\n" }}, verdict.BadSignature},
		{"empty lines added", signed.Spec{Alter: func(b string) string { return b + "\r\n\r\n" }}, ""},
		{"bare LF", signed.Spec{Alter: func(b string) string { return strings.ReplaceAll(b, "\r\n", "\n") }}, ""},
		{"duplicate tag", signed.Spec{Tags: "v=1;"}, verdict.BadSignature},
		{"empty tag", signed.Spec{Tags: ";"}, verdict.BadSignature},
		{"tag with a digit first", signed.Spec{Tags: "1x=2;"}, verdict.BadSignature},
		{"octet outside the grammar", signed.Spec{Tags: "n=\u00e9;"}, verdict.BadSignature},
		{"other method", signed.Spec{Tags: "q=http/x;"}, verdict.BadSignature},
		{"known method second", signed.Spec{Tags: "q=http/x:dns/txt;"}, ""},
		{"i= below d=", signed.Spec{Tags: "i=x@sub.example.org;"}, ""},
		{"i= elsewhere", signed.Spec{Tags: "i=@notexample.org;"}, verdict.BadSignature},
		{"i= without @", signed.Spec{Tags: "i=sub.example.org;"}, verdict.BadSignature},
		{"expired", signed.Spec{Tags: "x=1700000000;", NoTime: true}, verdict.BadSignature},
		{"expires", signed.Spec{Tags: "x=4102444800;"}, ""},
		{"expires before it was made", signed.Spec{Tags: "t=4102444800; x=4102444799;", NoTime: true}, verdict.BadSignature},
		{"t= in words", signed.Spec{Tags: "t=now;", NoTime: true}, verdict.BadSignature},
		{"From not covered", signed.Spec{Sign: []string{"to", "subject"}}, verdict.BadSignature},
		{"256 names", signed.Spec{Sign: append(slices.Repeat([]string{"x"}, 254), "from", "to")}, ""},
		{"257 names", signed.Spec{Sign: append(slices.Repeat([]string{"x"}, 255), "from", "to")}, verdict.BadSignature},
		{"empty name in h=", signed.Spec{Sign: []string{"from", "", "to"}}, verdict.BadSignature},
		{"over 16 KiB", signed.Spec{Tags: "n=" + strings.Repeat("a ", 8<<10) + "a;"}, verdict.BadSignature},
		{"selector with a slash", signed.Spec{Selector: "a/b"}, verdict.BadSignature},
		{"long selector", signed.Spec{Selector: strings.Repeat("a.", 120) + "a"}, verdict.BadSignature},
		{"oversigned, then added", signed.Spec{Sign: []string{"from", "to", "subject", "reply-to"}, Above: "Reply-To: mallory@evil.example\r\n"}, verdict.BadSignature},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, v := judge(t, c.spec, signed.Policy(t), nil)
			want := verdict.Refuse
			if c.want == "" {
				want = verdict.Accept
			}
			if v.Outcome() != want || v.Reason() != c.want {
				t.Errorf("got %s %s, want %s %s", v.Outcome(), v.Reason(), want, c.want)
			}
			if (v.Accepted() != nil) != (want == verdict.Accept) {
				t.Errorf("a message of outcome %s: Accepted() is %v", v.Outcome(), v.Accepted())
			}
		})
	}
}

func TestEnvelopeAndSize(t *testing.T) {
	auto := signed.Spec{Above: "Auto-Submitted: auto-generated\r\n"}
	_, v := judge(t, auto, signed.Policy(t), func(m *verdict.Message, _ *verdict.Env) { m.NullSender = true })
	if v.Reason() != verdict.Automatic {
		t.Errorf("null sender and Auto-Submitted: %s", v.Reason())
	}
	for _, over := range []int64{0, 1} {
		_, v := judge(t, signed.Spec{}, signed.Policy(t), func(m *verdict.Message, e *verdict.Env) { e.MaxMessage = m.Size - over })
		if got := v.Reason() == verdict.TooLarge; got != (over == 1) {
			t.Errorf("%d octets over max_message: %s %s", over, v.Outcome(), v.Reason())
		}
	}
	p := signed.Policy(t)
	p.AllowAutomatic = true
	if _, v := judge(t, signed.Spec{Above: "X-Autoreply: yes\r\n"}, p, nil); v.Outcome() != verdict.Accept {
		t.Errorf(`automatic = "accept": %s %s`, v.Outcome(), v.Reason())
	}
}

func TestAddressedSwitch(t *testing.T) {
	for _, c := range []struct {
		how  verdict.Addressed
		sign []string
		to   string
		want verdict.Reason
	}{
		{verdict.AddressedSigned, []string{"from"}, "shopping@estate.example", ""},
		{verdict.AddressedStrict, []string{"from"}, "shopping@estate.example", verdict.NotAddressed},
		{verdict.AddressedStrict, []string{"from", "to"}, "shopping@estate.example", ""},
		{verdict.AddressedStrict, []string{"from", "to"}, "x@y.example", verdict.NotAddressed},
		{verdict.AddressedOff, []string{"from", "to"}, "x@y.example", ""},
	} {
		p := signed.Policy(t)
		p.Addressed = c.how
		if _, v := judge(t, signed.Spec{Header: "To: " + c.to + "\r\n", Sign: c.sign}, p, nil); v.Reason() != c.want {
			t.Errorf("%s, h=%v, To %s: %s %s, want %q", c.how, c.sign, c.to, v.Outcome(), v.Reason(), c.want)
		}
	}
}

func TestAge(t *testing.T) {
	p := signed.Policy(t)
	p.MaxAge = 7 * 24 * time.Hour
	date := func(at time.Time) string { return toAgent + "Date: " + at.Format(time.RFC1123Z) + "\r\n" }
	now := time.Now()
	for _, c := range []struct {
		name  string
		spec  signed.Spec
		later time.Duration // by which the clock is ahead of the signature
		want  verdict.Reason
	}{
		{"t= 7 days ago", signed.Spec{}, p.MaxAge - time.Minute, ""},
		{"t= over 7 days ago", signed.Spec{}, p.MaxAge + time.Minute, verdict.Stale},
		{"t= 9 minutes ahead", signed.Spec{}, -9 * time.Minute, ""},
		{"t= 11 minutes ahead", signed.Spec{}, -11 * time.Minute, verdict.Stale},
		{"Date 7 days ago", signed.Spec{NoTime: true, Header: date(now)}, p.MaxAge - time.Minute, ""},
		{"Date over 7 days ago", signed.Spec{NoTime: true, Header: date(now)}, p.MaxAge + time.Minute, verdict.Stale},
		{"Date 23 hours ahead", signed.Spec{NoTime: true, Header: date(now)}, -23 * time.Hour, ""},
		{"Date 25 hours ahead", signed.Spec{NoTime: true, Header: date(now)}, -25 * time.Hour, verdict.Stale},
		{"t= counts before Date", signed.Spec{Header: date(now.Add(-p.MaxAge))}, time.Hour, ""},
		{"Date not covered", signed.Spec{NoTime: true, Header: date(now.Add(-2 * p.MaxAge)), Sign: []string{"from", "to"}}, 0, ""},
	} {
		_, v := judge(t, c.spec, p, func(_ *verdict.Message, e *verdict.Env) { e.Now = now.Add(c.later) })
		if v.Reason() != c.want {
			t.Errorf("%s: %s %s, want %q", c.name, v.Outcome(), v.Reason(), c.want)
		}
	}
	// Where the age is not looked at, a signature from far ahead still does not verify.
	_, v := judge(t, signed.Spec{}, signed.Policy(t), func(_ *verdict.Message, e *verdict.Env) { e.Now = now.Add(-11 * time.Minute) })
	if v.Reason() != verdict.BadSignature {
		t.Errorf("t= 11 minutes ahead without max_age: %s %s", v.Outcome(), v.Reason())
	}
}

func TestKeyRecords(t *testing.T) {
	good := signed.Record(t, false)
	ed := signed.Record(t, true)
	data := strings.TrimPrefix(good, "v=DKIM1; k=rsa; ")
	for _, c := range []struct {
		name    string
		records []string
		spec    signed.Spec
		want    verdict.Reason
		flag    verdict.Flag
	}{
		{"plain", []string{good}, signed.Spec{}, "", ""},
		{"none", nil, signed.Spec{}, verdict.BadKey, ""},
		{"two", []string{good, good}, signed.Spec{}, verdict.BadKey, ""},
		{"no v=, no k=", []string{data}, signed.Spec{}, "", ""},
		{"v= last", []string{data + "; v=DKIM1"}, signed.Spec{}, "", ""},
		{"other version", []string{"v=DKIM2; " + data}, signed.Spec{}, verdict.BadKey, ""},
		{"sha256 allowed", []string{good + "; h=sha1:sha256"}, signed.Spec{}, "", ""},
		{"sha256 not allowed", []string{good + "; h=sha1"}, signed.Spec{}, verdict.BadKey, ""},
		{"for e-mail", []string{good + "; s=tlsrpt:email"}, signed.Spec{}, "", ""},
		{"for everything", []string{good + "; s=*"}, signed.Spec{}, "", ""},
		{"not for e-mail", []string{good + "; s=tlsrpt"}, signed.Spec{}, verdict.BadKey, ""},
		{"revoked", []string{"v=DKIM1; k=rsa; p="}, signed.Spec{}, verdict.BadKey, ""},
		{"no p=", []string{"v=DKIM1; k=rsa"}, signed.Spec{}, verdict.BadKey, ""},
		{"tag twice", []string{good + "; k=rsa"}, signed.Spec{}, verdict.BadKey, ""},
		{"rsa named ed25519", []string{strings.Replace(good, "k=rsa", "k=ed25519", 1)}, signed.Spec{}, verdict.BadKey, ""},
		{"ed25519 named rsa", []string{strings.Replace(ed, "k=ed25519", "k=rsa", 1)}, signed.Spec{}, verdict.BadKey, ""},
		{"ed25519 for an rsa signature", []string{ed}, signed.Spec{}, verdict.BadKey, ""},
		{"rsa for an ed25519 signature", []string{good}, signed.Spec{Ed25519: true}, verdict.BadKey, ""},
		{"under test", []string{good + "; t=y"}, signed.Spec{}, "", verdict.TestingKey},
		{"t=s", []string{good + "; t=s"}, signed.Spec{Tags: "i=a@example.org;"}, "", ""},
		{"t=s, other i=", []string{good + "; t=y:s"}, signed.Spec{Tags: "i=a@sub.example.org;"}, verdict.BadKey, ""},
		{"white space in p=", []string{strings.Replace(good, "p=MIIB", "p= MI\tIB ", 1)}, signed.Spec{}, "", ""},
		{"too long a record", []string{good + "; n=" + strings.Repeat("x", 8<<10)}, signed.Spec{}, verdict.BadKey, ""},
	} {
		_, v := judge(t, c.spec, signed.Policy(t), func(_ *verdict.Message, e *verdict.Env) {
			e.Lookup = func(context.Context, string) ([]string, error) { return c.records, nil }
		})
		if v.Reason() != c.want {
			t.Errorf("%s: %s %s, want %q", c.name, v.Outcome(), v.Reason(), c.want)
		}
		if c.flag != "" && (v.Accepted() == nil || !slices.Contains(v.Accepted().Flags(), c.flag)) {
			t.Errorf("%s: no flag %s", c.name, c.flag)
		}
	}
}

func TestFlags(t *testing.T) {
	for _, c := range []struct {
		spec signed.Spec
		want []verdict.Flag
	}{
		{signed.Spec{}, nil},
		{signed.Spec{NoTime: true}, []verdict.Flag{verdict.Undated}},
		{signed.Spec{Sign: []string{"from"}}, []verdict.Flag{verdict.ToUnsigned, verdict.SubjectUnsigned}},
		{signed.Spec{Above: "Content-Type: text/plain\r\n"}, []verdict.Flag{verdict.StructureUnsigned}},
		{signed.Spec{Above: "Content-Transfer-Encoding: 7bit\r\n"}, []verdict.Flag{verdict.StructureUnsigned}},
		{signed.Spec{Above: "List-Post: <mailto:x@evil.example>\r\n"}, []verdict.Flag{verdict.ReplyToRemoved}},
		{signed.Spec{Header: toAgent + "Reply-To: x@y.example\r\n"}, nil},
	} {
		_, v := judge(t, c.spec, signed.Policy(t), nil)
		if v.Accepted() == nil {
			t.Fatalf("%+v: %s", c.spec, v.Reason())
		}
		if got := v.Accepted().Flags(); !slices.Equal(got, c.want) {
			t.Errorf("h=%v above %q: flags %v, want %v", c.spec.Sign, c.spec.Above, got, c.want)
		}
	}
}

// TestLookups counts what is asked for: nothing before every local condition
// holds, each key once, four at the most.
func TestLookups(t *testing.T) {
	count := func(s signed.Spec, raw string, policies ...*verdict.Policy) (asked []string, last verdict.Verdict) {
		good := signed.Lookup(t, s)
		c := verdict.Open(signed.Message(t, raw), verdict.Env{Now: time.Now(), Lookup: func(ctx context.Context, name string) ([]string, error) {
			asked = append(asked, name)
			return good(ctx, name)
		}})
		for _, p := range policies {
			last = c.Judge(context.Background(), p)
		}
		return asked, last
	}
	p := signed.Policy(t)
	stranger := signed.Spec{From: "mallory@evil.example", Domain: "evil.example"}
	if asked, v := count(stranger, signed.Mail(t, stranger), p); len(asked) != 0 || v.Reason() != verdict.Unlisted {
		t.Errorf("a stranger's mail asked for %v (%s)", asked, v.Reason())
	}
	altered := signed.Spec{Alter: func(b string) string { return b + "x\r\n" }}
	if asked, v := count(altered, signed.Mail(t, altered), p); len(asked) != 0 || v.Reason() != verdict.BadSignature {
		t.Errorf("a wrong body hash asked for %v (%s)", asked, v.Reason())
	}
	if asked, v := count(signed.Spec{}, signed.Mail(t, signed.Spec{}), p, p); len(asked) != 1 || v.Outcome() != verdict.Accept {
		t.Errorf("two policies asked for %v (%s)", asked, v.Reason())
	}
	raw := signed.Mail(t, signed.Spec{})
	for _, selector := range []string{"a", "b", "c", "d"} {
		field, _, _ := strings.Cut(signed.Mail(t, signed.Spec{Selector: selector}), "\r\nFrom:")
		raw = field + "\r\n" + raw
	}
	if asked, v := count(signed.Spec{}, raw, p); len(asked) != 4 || v.Reason() != verdict.BadSignature {
		t.Errorf("five keys asked for %v (%s)", asked, v.Reason())
	}
}

func TestDeferral(t *testing.T) {
	failing := func(err error) func(*verdict.Message, *verdict.Env) {
		return func(_ *verdict.Message, e *verdict.Env) {
			e.Lookup = func(context.Context, string) ([]string, error) { return nil, err }
		}
	}
	if _, v := judge(t, signed.Spec{}, signed.Policy(t), failing(errors.New("no answer"))); v.Outcome() != verdict.Defer || v.Reason() != verdict.DNS {
		t.Errorf("no answer: %s %s", v.Outcome(), v.Reason())
	}
	if _, v := judge(t, signed.Spec{}, signed.Policy(t), failing(fmt.Errorf("x: %w", verdict.ErrBusy))); v.Outcome() != verdict.Defer || v.Reason() != verdict.Busy {
		t.Errorf("at the bound: %s %s", v.Outcome(), v.Reason())
	}
	_, v := judge(t, signed.Spec{}, signed.Policy(t), func(m *verdict.Message, _ *verdict.Env) {
		m.Body = io.NewSectionReader(brokenReader{}, 0, 100)
	})
	if v.Outcome() != verdict.Defer || v.Reason() != verdict.Internal {
		t.Errorf("unreadable body: %s %s", v.Outcome(), v.Reason())
	}
	// A later signature that verifies accepts, whatever the ones above it gave.
	below, above := signed.Spec{}, signed.Spec{Selector: "dead"}
	field, _, _ := strings.Cut(signed.Mail(t, above), "\r\nFrom:")
	good := signed.Lookup(t, below)
	c := verdict.Open(signed.Message(t, field+"\r\n"+signed.Mail(t, below)), verdict.Env{Now: time.Now(), Lookup: func(ctx context.Context, name string) ([]string, error) {
		if strings.HasPrefix(name, "dead.") {
			return nil, errors.New("no answer")
		}
		return good(ctx, name)
	}})
	if v := c.Judge(context.Background(), signed.Policy(t)); v.Outcome() != verdict.Accept || v.Accepted().Selector() != "s1" {
		t.Errorf("good below dead: %s %s", v.Outcome(), v.Reason())
	}
	if got := c.VerifiedKeys(); !slices.Equal(got, []string{"s1._domainkey.example.org"}) {
		t.Errorf("verified keys %v", got)
	}
}

type brokenReader struct{}

func (brokenReader) ReadAt([]byte, int64) (int, error) { return 0, errors.New("broken") }

func TestSixteenAligned(t *testing.T) {
	raw := signed.Mail(t, signed.Spec{})
	// Aligned, without a time that could make them stale, and broken.
	for n, want := range map[int]verdict.Outcome{15: verdict.Accept, 16: verdict.Refuse} {
		crowd := strings.Repeat("DKIM-Signature: d=example.org; t=x\r\n", n)
		foreign := strings.Repeat("DKIM-Signature: d=list.example\r\n", 100)
		c := verdict.Open(signed.Message(t, foreign+crowd+raw), verdict.Env{Now: time.Now(), Lookup: signed.Lookup(t, signed.Spec{})})
		if v := c.Judge(context.Background(), signed.Policy(t)); v.Outcome() != want {
			t.Errorf("%d aligned ones above: %s %s", n, v.Outcome(), v.Reason())
		}
	}
}

// A signature may cover another one below it (RFC 6376, 5.4.2), never itself.
func TestCoveredSignature(t *testing.T) {
	list := "DKIM-Signature: v=1; a=rsa-sha256; d=list.example; s=x; h=from; bh=aaaa; b=aaaa\r\n"
	below := signed.Spec{Header: toAgent + list, Sign: []string{"from", "to", "dkim-signature"}}
	if _, v := judge(t, below, signed.Policy(t), nil); v.Outcome() != verdict.Accept {
		t.Errorf("one below: %s", v.Reason())
	}
	itself := signed.Spec{Sign: []string{"from", "to", "dkim-signature"}}
	if _, v := judge(t, itself, signed.Policy(t), nil); v.Reason() != verdict.BadSignature {
		t.Errorf("itself: %s %s", v.Outcome(), v.Reason())
	}
}

func TestSignerClass(t *testing.T) {
	for d, want := range map[string]verdict.SignerClass{
		"tenant.onmicrosoft.com": "onmicrosoft", "example-org.20230601.gappssmtp.com": "gappssmtp",
		"amazonses.com": "amazonses", "sendgrid.net": "sendgrid", "mailgun.org": "mailgun",
		"mcsv.net": "mailchimp", "list.example": "other", "notamazonses.com": "other",
	} {
		c, v := judge(t, signed.Spec{Domain: d}, signed.Policy(t), nil)
		if v.Reason() != verdict.Misaligned || c.Signer() != want {
			t.Errorf("d=%s: %s, class %s, want %s", d, v.Reason(), c.Signer(), want)
		}
	}
	if c, _ := judge(t, signed.Spec{Unsigned: true}, signed.Policy(t), nil); c.Signer() != "none" {
		t.Errorf("unsigned: class %s", c.Signer())
	}
}

func TestUnite(t *testing.T) {
	// The upper signature covers To and Subject, the lower From alone.
	lower := signed.Mail(t, signed.Spec{Sign: []string{"from"}, Selector: "low"})
	field, _, _ := strings.Cut(signed.Mail(t, signed.Spec{}), "\r\nFrom:")
	record := signed.Record(t, false)
	c := verdict.Open(signed.Message(t, field+"\r\n"+lower), verdict.Env{Now: time.Now(), Lookup: func(context.Context, string) ([]string, error) { return []string{record}, nil }})
	upper := c.Judge(context.Background(), signed.Policy(t)).Accepted()
	other := signed.Policy(t)
	other.Addressee = func(string) bool { return false }
	low := c.Judge(context.Background(), other).Accepted()
	if upper == nil || low == nil || upper.Selector() != "s1" || low.Selector() != "low" {
		t.Fatalf("accepted by %v and %v", upper, low)
	}
	u := verdict.Unite([]*verdict.Accepted{upper, low})
	if u.Selector() != "s1" || u.Digest() != upper.Digest() {
		t.Error("not named after the first")
	}
	if u.Covers("Subject") || !u.Covers("From") {
		t.Error("covered is not what both cover")
	}
	if !slices.Contains(u.Flags(), verdict.SubjectUnsigned) || !slices.Contains(u.Flags(), verdict.ToUnsigned) {
		t.Errorf("flags %v", u.Flags())
	}
	if !upper.Covers("Subject") {
		t.Error("uniting changed the first")
	}
	if verdict.Unite(nil) != nil {
		t.Error("of none something")
	}
}

func TestProved(t *testing.T) {
	for want, s := range map[string]signed.Spec{
		"yes": {}, "no": {Unsigned: true}, "unknown": {From: "mallory@evil.example"},
	} {
		if _, v := judge(t, s, signed.Policy(t), nil); v.Proved() != want {
			t.Errorf("%s: proved %s", v.Reason(), v.Proved())
		}
	}
}
