package verdict_test

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

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
	if body.read > 2*size {
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
	if body.read > size {
		t.Errorf("%d octets read of a body of %d to judge it", body.read, size)
	}
	if p, err := c.Proof(context.Background(), v.Accepted()); err != nil || len(p.Signatures) != 1 {
		t.Fatalf("%d signatures, %v", len(p.Signatures), err)
	}
	if body.read > 2*size {
		t.Errorf("%d octets read of a body of %d", body.read, size)
	}
}

// TestRecipientsAreReadOnce: however many signatures cover a long To, its
// entries are looked at once, and once more for the next mailbox.
func TestRecipientsAreReadOnce(t *testing.T) {
	const entries = 5000
	spec := signed.Spec{Header: "To: " + strings.Repeat("a,", entries) + "\r\n"}
	c, _, _ := counted(t, strings.Repeat("DKIM-Signature: d=example.org; h=to\r\n", 400)+unsigned(t, spec))
	p := signed.Policy(t)
	looked := 0
	p.Addressee = func(string) bool { looked++; return false }
	for range 2 {
		if v := c.Judge(context.Background(), p); v.Reason() != verdict.NotAddressed {
			t.Fatalf("%s %s", v.Outcome(), v.Reason())
		}
	}
	if looked > 2*(entries+1) {
		t.Errorf("%d entries looked at of %d", looked, entries)
	}
}

// TestEmptyLines: a body may have any number of empty lines in a row.
func TestEmptyLines(t *testing.T) {
	for _, simple := range []bool{false, true} {
		for _, end := range []string{"", "milk\r\n"} {
			spec := signed.Spec{Simple: simple, Body: "eggs\r\n" + strings.Repeat("\r\n", 1<<20) + end}
			if _, v := judge(t, spec, signed.Policy(t), nil); v.Outcome() != verdict.Accept {
				t.Errorf("simple %v, %q at the end: %s %s", simple, end, v.Outcome(), v.Reason())
			}
		}
	}
}
