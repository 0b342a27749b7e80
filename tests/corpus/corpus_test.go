package corpus

import (
	"context"
	"slices"
	"testing"

	"stile/fence"
	"stile/verdict"
)

func load(t *testing.T) *Corpus {
	t.Helper()
	c, err := Load(".")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestVerdict judges every message: TestVerdict/refuse/from-count/NAME.
func TestVerdict(t *testing.T) {
	c := load(t)
	for _, m := range c.Messages {
		t.Run(m.Path, func(t *testing.T) {
			j, err := c.Judge(context.Background(), m)
			if err != nil {
				t.Fatal(err)
			}
			if got := OutcomeOf(j.Verdict.Outcome(), j.Verdict.Reason()); got != m.Wanted() {
				t.Fatalf("%s, want %s", got, m.Wanted())
			}
			checkClaim(t, m, j)
		})
	}
}

// checkClaim checks what else the verdict says.
func checkClaim(t *testing.T, m *Message, j Judged) {
	t.Helper()
	address := j.Case.Claim().Reduced()
	if a := j.Verdict.Accepted(); a != nil {
		address = a.Entry()
		for _, fault := range m.CheckFlags(a.Flags()) {
			t.Error(fault)
		}
	}
	if got, want := j.Verdict.Proved(), proved(j.Verdict); got != want {
		t.Errorf("proved %q, want %q", got, want)
	}
	if got := string(j.Case.Signer()); m.Signer != "" && got != m.Signer {
		t.Errorf("signer %q, want %q", got, m.Signer)
	}
	if m.Address != nil && *m.Address != address {
		t.Errorf("address %q, want %q", address, *m.Address)
	}
}

// proved is whether the From domain proved that it sent the message, as far as
// the proof was gone into.
func proved(v verdict.Verdict) string {
	switch v.Reason() {
	case "", verdict.Replayed:
		return "yes"
	case verdict.Unsigned, verdict.Misaligned, verdict.BadSignature, verdict.BadKey:
		return "no"
	}
	return "unknown"
}

// TestShow renders every message: what is accepted is shown in a fence, of all
// else there is nothing that could be.
func TestShow(t *testing.T) {
	c := load(t)
	for _, m := range c.Messages {
		t.Run(m.Path, func(t *testing.T) {
			j, err := c.Judge(context.Background(), m)
			if err != nil {
				t.Fatal(err)
			}
			a := j.Verdict.Accepted()
			if shown := a != nil; shown != (m.Wanted() == string(verdict.Accept)) {
				t.Fatalf("may be shown: %v", shown)
			}
			if a == nil {
				return
			}
			r, err := fence.Render(a)
			if err != nil {
				t.Fatal(err)
			}
			for _, fault := range append(m.CheckText(a.Entry(), r.Text), m.CheckHidden(r.Hidden)...) {
				t.Error(fault)
			}
		})
	}
}

// TestReasons finds a reason without a message.
func TestReasons(t *testing.T) {
	c := load(t)
	for _, r := range verdict.Refusals {
		if !slices.ContainsFunc(c.Messages, func(m *Message) bool { return m.Reason == r && m.Outcome == verdict.Refuse }) {
			t.Errorf("no message is refused as %s", r)
		}
	}
}
