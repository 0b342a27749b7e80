package verdict_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/emersion/go-msgauth/dkim"
	"pgregory.net/rapid"

	"stile/tests/signed"
	"stile/verdict"
)

// TestVerifiersAgree: whatever a header looks like that a domain has signed, it
// is accepted, and another verifier finds the signature good. Changed by a few
// octets, it is accepted only where the other verifier finds it good as well.
func TestVerifiersAgree(t *testing.T) {
	text := rapid.StringOfN(rapid.RuneFrom([]rune("abc =;:.\"<>()\\\u00a0\u00e9\u0085\u3000\t")), 0, 30, -1)
	names := rapid.SampledFrom([]string{"Subject", "X-A", "x-a", "X-B", "Received", "X_c=b", "DATE-x"})
	fold := rapid.SampledFrom([]string{"", " ", "  ", "\t", "\r\n ", " \r\n\t ", "\t\r\n  "})
	rapid.Check(t, func(r *rapid.T) {
		var header strings.Builder
		header.WriteString("To: shopping@estate.example\r\n")
		seen := map[string]bool{}
		for range rapid.IntRange(0, 6).Draw(r, "fields") {
			name := names.Draw(r, "name")
			if name == "Subject" && seen[name] {
				continue
			}
			seen[name] = true
			value := fold.Draw(r, "fold") + text.Draw(r, "text") + "x" + fold.Draw(r, "fold") + text.Draw(r, "text") + "x" + rapid.SampledFrom([]string{"", " ", "\t ", "  "}).Draw(r, "end")
			header.WriteString(name + ":" + value + "\r\n")
		}
		sign := append([]string{"From", "TO"}, rapid.SliceOfN(names, 0, 8).Draw(r, "h=")...)
		spec := signed.Spec{
			From:   rapid.SampledFrom([]string{"friend@example.org", " friend@example.org", "\r\n friend@example.org\t", "\"A  b\" <Friend@Example.org> "}).Draw(r, "from"),
			Header: header.String(), Sign: sign,
			Simple:  rapid.Bool().Draw(r, "simple"),
			Ed25519: rapid.Bool().Draw(r, "ed25519"),
			Tags:    rapid.SampledFrom([]string{"", "x=99999999999;", "i=@example.org;", "q=dns/txt ;", "r=y  z;"}).Draw(r, "tags"),
			Body:    rapid.StringOfN(rapid.RuneFrom([]rune("ab \t\n\u00e9")), 0, 40, -1).Draw(r, "body"),
		}
		spec.Body = strings.ReplaceAll(spec.Body, "\n", "\r\n")
		mail := signed.Mail(t, spec)
		if v := judgeRaw(t, mail, spec); v.Outcome() != verdict.Accept {
			r.Fatalf("%s %s: %q", v.Outcome(), v.Reason(), mail)
		}
		if !otherVerifies(t, mail, spec) {
			r.Fatalf("only we accept %q", mail)
		}
		for range 5 {
			at := rapid.IntRange(0, len(mail)-1).Draw(r, "at")
			end := at + rapid.IntRange(0, 2).Draw(r, "cut")
			put := rapid.SampledFrom([]string{"", " ", ":", ";", "=", "a", "B", "\t", "\r\n", "\r\n ", "\r\n\r\n", "1", "/"}).Draw(r, "put")
			changed := mail[:at] + put + mail[min(end, len(mail)):]
			if judgeRaw(t, changed, spec).Outcome() == verdict.Accept && !otherVerifies(t, changed, spec) {
				r.Fatalf("only we accept %q", changed)
			}
		}
	})
}

func judgeRaw(t *testing.T, mail string, s signed.Spec) verdict.Verdict {
	t.Helper()
	c := verdict.Open(signed.Message(t, mail), verdict.Env{Lookup: signed.Lookup(t, s), Now: time.Now()})
	return c.Judge(context.Background(), signed.Policy(t))
}

// otherVerifies asks go-msgauth.
func otherVerifies(t *testing.T, mail string, s signed.Spec) bool {
	t.Helper()
	lookup := signed.Lookup(t, s)
	all, err := dkim.VerifyWithOptions(strings.NewReader(mail), &dkim.VerifyOptions{
		LookupTXT: func(name string) ([]string, error) { return lookup(context.Background(), name) },
	})
	return err == nil && len(all) == 1 && all[0].Err == nil
}
