package verdict_test

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"stile/tests/signed"
	"stile/verdict"
)

// counter counts what is read of a body.
type counter struct {
	io.ReaderAt
	read int64
}

func (c *counter) ReadAt(p []byte, off int64) (int, error) {
	n, err := c.ReaderAt.ReadAt(p, off)
	c.read += int64(n)
	return n, err
}

// counted opens a raw message whose body is counted as it is read.
func counted(t *testing.T, raw string) (*verdict.Case, *counter, int64) {
	t.Helper()
	m := signed.Message(t, raw)
	size := m.Body.Size()
	body := &counter{ReaderAt: m.Body}
	m.Body = io.NewSectionReader(body, 0, size)
	return verdict.Open(m, verdict.Env{Lookup: signed.Lookup(t, signed.Spec{}), Now: time.Now()}), body, size
}

// TestForgedCrowd: signatures that anyone can write, with the right body hash
// and the name of a key that is there, have the body read once for each
// canonicalization, however many there are.
func TestForgedCrowd(t *testing.T) {
	spec := signed.Spec{Body: strings.Repeat("eggs and milk\r\n", 10_000)}
	field := signature(t, spec)
	head, b, _ := strings.Cut(field, "\r\n b=")
	var crowd strings.Builder
	for i := range 15 {
		fmt.Fprintf(&crowd, "%s\r\n b=%s%s", head, b[4:8], b[4:])
		spec.Sign = append(spec.Sign, fmt.Sprint("x-", i))
	}
	c, body, size := counted(t, crowd.String()+signature(t, signed.Spec{Body: spec.Body, Simple: true})+unsigned(t, spec))
	if v := c.Judge(context.Background(), signed.Policy(t)); v.Outcome() != verdict.Accept {
		t.Fatalf("%s %s", v.Outcome(), v.Reason())
	}
	// Twice hashed and once more verified.
	if body.read > 3*size {
		t.Errorf("%d octets read of a body of %d", body.read, size)
	}
}

// TestCopies: copies of a genuine signature cost no more than the one.
func TestCopies(t *testing.T) {
	spec := signed.Spec{Body: strings.Repeat("eggs and milk\r\n", 10_000)}
	c, body, size := counted(t, strings.Repeat(signature(t, spec), 16)+unsigned(t, spec))
	v := c.Judge(context.Background(), signed.Policy(t))
	if v.Outcome() != verdict.Accept {
		t.Fatalf("%s %s", v.Outcome(), v.Reason())
	}
	if p, err := c.Proof(context.Background(), v.Accepted()); err != nil || len(p.Signatures) != 1 {
		t.Fatalf("%d signatures, %v", len(p.Signatures), err)
	}
	if body.read > 3*size {
		t.Errorf("%d octets read of a body of %d", body.read, size)
	}
}

// TestEmptyLines: a body may have half a million empty lines in a row, which
// cost little, and no more than that.
func TestEmptyLines(t *testing.T) {
	const most = 512 << 10
	for n, want := range map[int]verdict.Outcome{most - 1: verdict.Accept, most: verdict.Refuse} {
		for _, simple := range []bool{false, true} {
			for _, end := range []string{"", "milk\r\n"} {
				spec := signed.Spec{Simple: simple, Body: "eggs\r\n" + strings.Repeat("\r\n", n) + end}
				if _, v := judge(t, spec, signed.Policy(t), nil); v.Outcome() != want {
					t.Errorf("%d, simple %v, %q at the end: %s %s", n, simple, end, v.Outcome(), v.Reason())
				}
			}
		}
	}
}

// TestHonest: whatever a header looks like that a domain has signed, it is
// accepted: the signature is checked twice, and both ways agree.
func TestHonest(t *testing.T) {
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
		if _, v := judge(t, spec, signed.Policy(t), nil); v.Outcome() != verdict.Accept {
			r.Fatalf("%s %s: %q", v.Outcome(), v.Reason(), signed.Mail(t, spec))
		}
	})
}
