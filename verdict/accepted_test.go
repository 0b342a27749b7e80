package verdict_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"stile/tests/signed"
	"stile/verdict"
)

// accepted judges a message that must be accepted.
func accepted(t *testing.T, s signed.Spec, p *verdict.Policy) *verdict.Accepted {
	t.Helper()
	_, v := judge(t, s, p, nil)
	if v.Accepted() == nil {
		t.Fatalf("%+v: %s %s", s, v.Outcome(), v.Reason())
	}
	return v.Accepted()
}

// TestAccepted: what is said of an accepted message is the list's and the
// accepting signature's.
func TestAccepted(t *testing.T) {
	spec := signed.Spec{From: "FRIEND@Example.ORG", Domain: "Example.org", Selector: "Mail.1", Tags: "t=1700000000;", NoTime: true, Above: "X-A: b\r\n"}
	raw := signed.Mail(t, spec)
	a := accepted(t, spec, signed.Policy(t))
	if a.Entry() != "friend@example.org" || a.Domain() != "example.org" || a.Selector() != "Mail.1" || a.Algorithm() != "rsa-sha256" {
		t.Errorf("%s %s %s %s", a.Entry(), a.Domain(), a.Selector(), a.Algorithm())
	}
	if want := fmt.Sprintf("%x", sha256.Sum256([]byte("mail.1._domainkey.example.org")))[:16]; a.KeyID() != want {
		t.Errorf("key %s, want %s", a.KeyID(), want)
	}
	b := regexp.MustCompile(`\s`).ReplaceAllString(regexp.MustCompile(`(?s) b=(.*?)\r\n[^ ]`).FindStringSubmatch(raw)[1], "")
	octets, err := base64.StdEncoding.DecodeString(b)
	if err != nil {
		t.Fatal(err)
	}
	if want := sha256.Sum256(slices.Concat([]byte("example.org\x00Mail.1\x00"), octets)); a.Digest() != want {
		t.Errorf("digest %x, want %x", a.Digest(), want)
	}
	if at, dated := a.Time(); !dated || !at.Equal(time.Unix(1_700_000_000, 0)) {
		t.Errorf("time %v, %v", at, dated)
	}
	body, err := io.ReadAll(a.Body())
	if err != nil || !strings.HasSuffix(raw, "\r\n\r\n"+string(body)) || len(body) == 0 {
		t.Errorf("body %q, %v", body, err)
	}
	for i, f := range a.Header() {
		if want := f.Name != "X-A" && f.Name != "DKIM-Signature"; a.CoversField(i) != want {
			t.Errorf("covers %s: %v", f.Name, a.CoversField(i))
		}
	}
	if accepted(t, signed.Spec{Ed25519: true}, signed.Policy(t)).Algorithm() != "ed25519-sha256" {
		t.Error("not ed25519")
	}
	if at, dated := accepted(t, signed.Spec{NoTime: true}, signed.Policy(t)).Time(); dated || !at.IsZero() {
		t.Errorf("mail without a time is of %v", at)
	}
}

// TestDate: the Date that the signature covers, and no other.
func TestDate(t *testing.T) {
	const date = "Date: Tue, 14 Nov 2023 23:13:20 +0100\r\n"
	for _, c := range []struct {
		header, above string
		sign          []string
		ok            bool
	}{
		{toAgent + date, "", nil, true},
		{toAgent + date, "", []string{"from", "to"}, false},
		{toAgent, date, nil, false},
		{toAgent, "", []string{"from", "to", "date"}, false},
		{toAgent + "Date: soon\r\n", "", nil, false},
	} {
		at, ok := accepted(t, signed.Spec{Header: c.header, Above: c.above, Sign: c.sign}, signed.Policy(t)).Date()
		if ok != c.ok || ok && (!at.Equal(time.Unix(1_700_000_000, 0)) || at.Location() != time.UTC) {
			t.Errorf("%+v: %v, %v", c, at, ok)
		}
	}
}

// TestEachFlag: each flag by the fact that it states.
func TestEachFlag(t *testing.T) {
	base := []string{"from", "to", "cc", "subject"}
	for name, c := range map[string]struct {
		spec signed.Spec
		want string
	}{
		"all signed":           {signed.Spec{Header: toAgent + "Subject: x\r\n", Sign: base}, "[]"},
		"To alone":             {signed.Spec{Sign: []string{"from", "to", "subject"}}, "[]"},
		"Cc alone":             {signed.Spec{Header: "To: a@b.example\r\nCc: shopping@estate.example\r\n", Sign: []string{"from", "cc"}}, "[]"},
		"neither":              {signed.Spec{Sign: []string{"from", "subject"}}, "[to-unsigned]"},
		"no Subject":           {signed.Spec{Header: toAgent, Sign: []string{"from", "to"}}, "[]"},
		"Subject unsigned":     {signed.Spec{Sign: []string{"from", "to"}}, "[subject-unsigned]"},
		"Subject added":        {signed.Spec{Header: toAgent, Sign: []string{"from", "to"}, Above: "Subject: x\r\n"}, "[subject-unsigned]"},
		"type unsigned":        {signed.Spec{Header: toAgent + "Content-Type: text/plain\r\n", Sign: []string{"from", "to"}}, "[structure-unsigned]"},
		"type signed":          {signed.Spec{Header: toAgent + "Content-Type: text/plain\r\n"}, "[]"},
		"encoding unsigned":    {signed.Spec{Header: toAgent + "Content-Transfer-Encoding: 7bit\r\n", Sign: []string{"from", "to"}}, "[structure-unsigned]"},
		"disposition unsigned": {signed.Spec{Above: "Content-Disposition: inline\r\n"}, "[]"},
		"no time":              {signed.Spec{NoTime: true}, "[undated]"},
	} {
		if got := fmt.Sprint(accepted(t, c.spec, signed.Policy(t)).Flags()); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
	for _, name := range verdict.ReplyFields {
		line := name + ": x@evil.example\r\n"
		for spec, want := range map[*signed.Spec]string{
			{Above: strings.ToUpper(line)}: "[reply-to-removed]",
			{Header: toAgent + line}:       "[]",
		} {
			if got := fmt.Sprint(accepted(t, *spec, signed.Policy(t)).Flags()); got != want {
				t.Errorf("%s: %s, want %s", name, got, want)
			}
		}
	}
}

// TestUniteFlags: what is said of a message for several policies is what is
// true for one of them, and what all of their signatures cover.
func TestUniteFlags(t *testing.T) {
	// The upper signature covers To, the lower Subject, by a key under test.
	lower := signed.Mail(t, signed.Spec{Sign: []string{"from", "subject"}, Selector: "low"})
	field, _, _ := strings.Cut(signed.Mail(t, signed.Spec{Sign: []string{"from", "to"}}), "\r\nFrom:")
	record := signed.Record(t, false)
	c := verdict.Open(signed.Message(t, field+"\r\n"+lower), verdict.Env{Now: time.Now(), Lookup: func(_ context.Context, name string) ([]string, error) {
		if strings.HasPrefix(name, "low.") {
			return []string{record + "; t=y"}, nil
		}
		return []string{record}, nil
	}})
	other := signed.Policy(t)
	other.Addressee = func(string) bool { return false }
	upper := c.Judge(context.Background(), signed.Policy(t)).Accepted()
	low := c.Judge(context.Background(), other).Accepted()
	if upper == nil || low == nil {
		t.Fatalf("accepted by %v and %v", upper, low)
	}
	if got := fmt.Sprint(upper.Flags(), low.Flags()); got != "[subject-unsigned] [testing-key to-unsigned]" {
		t.Fatalf("flags %s", got)
	}
	for _, all := range [][]*verdict.Accepted{{upper, low}, {low, upper}} {
		if got := fmt.Sprint(verdict.Unite(all).Flags()); got != "[testing-key to-unsigned subject-unsigned]" {
			t.Errorf("flags %s", got)
		}
	}
	if got := fmt.Sprint(upper.Flags(), low.Flags()); got != "[subject-unsigned] [testing-key to-unsigned]" {
		t.Errorf("uniting changed them to %s", got)
	}
}
