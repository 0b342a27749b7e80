package verdict_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"stile/tests/signed"
	"stile/verdict"
)

// letter is a message that is accepted, and what may be changed about it.
type letter struct {
	spec   signed.Spec
	policy *verdict.Policy
	env    verdict.Env
}

func (l letter) judge(t *testing.T) (*verdict.Case, verdict.Verdict) {
	return judge(t, l.spec, l.policy, func(_ *verdict.Message, e *verdict.Env) {
		if l.env.Lookup != nil {
			e.Lookup = l.env.Lookup
		}
		e.MaxMessage = l.env.MaxMessage
	})
}

// violations break one condition each, and no other that stands above it in
// the order.
var violations = []struct {
	reason verdict.Reason
	make   func(*letter)
}{
	{verdict.TooLarge, func(l *letter) { l.spec.Above += many(500) }},
	{verdict.TooLarge, func(l *letter) { l.env.MaxMessage = 10 }},
	{verdict.MalformedHeader, func(l *letter) { l.spec.Above += "no colon\r\n" }},
	{verdict.MalformedHeader, func(l *letter) { l.spec.Above += "X-A: a\x00b\r\n" }},
	{verdict.FromCount, func(l *letter) { l.spec.Above += "from: friend@example.org\r\n" }},
	{verdict.DuplicateField, func(l *letter) { l.spec.Above += "SUBJECT: x\r\n" }},
	{verdict.AddressCount, func(l *letter) { l.spec.From = "friend@example.org, " + l.spec.From }},
	{verdict.FromSyntax, func(l *letter) { l.spec.From += " <" }},
	{verdict.Unlisted, func(l *letter) { l.policy.Senders = verdict.Senders{} }},
	{verdict.Automatic, func(l *letter) { l.spec.Above += "Auto-Submitted: auto-replied\r\n" }},
	{verdict.Unsigned, func(l *letter) { l.spec.Unsigned = true }},
	{verdict.Misaligned, func(l *letter) { l.spec.Domain = "mail.example.org" }},
	{verdict.LengthTag, func(l *letter) { l.spec.Tags += "l=3;" }},
	{verdict.NotAddressed, func(l *letter) { l.policy.Addressee = func(string) bool { return false } }},
	{verdict.Stale, func(l *letter) { l.spec.NoTime, l.spec.Tags = true, l.spec.Tags+"t=1700000000;" }},
	{verdict.BadSignature, func(l *letter) { l.spec.Alter = func(b string) string { return b + "pay\r\n" } }},
	{verdict.BadSignature, func(l *letter) { l.spec.Tags += "v=1;" }},
	{verdict.BadKey, func(l *letter) {
		l.env.Lookup = func(context.Context, string) ([]string, error) { return nil, nil }
	}},
}

// drawLetter draws a message that breaks any of the conditions, and which they
// are.
func drawLetter(t *rapid.T, tt *testing.T) (letter, []verdict.Reason) {
	l := letter{policy: signed.Policy(tt), spec: signed.Spec{From: "friend@example.org", Ed25519: true}}
	l.policy.MaxAge = 7 * 24 * time.Hour
	var broken []verdict.Reason
	all := rapid.Permutation(violations).Draw(t, "order")
	for _, v := range all[:rapid.SampledFrom([]int{0, 1, 1, 2, 3, 5}).Draw(t, "how many")] {
		v.make(&l)
		broken = append(broken, v.reason)
	}
	return l, broken
}

// TestEachConditionByItself: a message is accepted when every condition holds,
// so no order of them makes another outcome; the reason is the first of those
// that do not hold.
func TestEachConditionByItself(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		l, broken := drawLetter(r, t)
		_, v := l.judge(t)
		want, outcome := verdict.Reason(""), verdict.Accept
		for _, reason := range verdict.Refusals {
			if slices.Contains(broken, reason) {
				want, outcome = reason, verdict.Refuse
				break
			}
		}
		if v.Outcome() != outcome || v.Reason() != want {
			r.Fatalf("%v do not hold: %s %s, want %s %s", broken, v.Outcome(), v.Reason(), outcome, want)
		}
	})
}

// TestBodyDecidesNothing: whatever becomes of a body, only what the signature
// proves can change.
func TestBodyDecidesNothing(t *testing.T) {
	proof := []verdict.Reason{"", verdict.BadSignature, verdict.BadKey}
	rapid.Check(t, func(r *rapid.T) {
		l, _ := drawLetter(r, t)
		l.env.MaxMessage = 0
		before, was := l.judge(t)
		body := rapid.OneOf(
			rapid.StringN(0, 60, -1),
			rapid.SampledFrom([]string{
				"", "eggs\r\nmilk\r\n", "From: mallory@evil.example\r\n\r\n", "\r\n\r\n", "Auto-Submitted: auto-replied\r\n",
				"--b\r\nContent-Type: multipart/report\r\n\r\n--b--\r\n", "\x00\r\x1a", strings.Repeat("x", 70_000), many(600),
			}),
		).Draw(r, "body")
		l.spec.Alter = func(string) string { return body }
		after, is := l.judge(t)
		if slices.Contains(proof, was.Reason()) && slices.Contains(proof, is.Reason()) {
			return
		}
		if is.Reason() != was.Reason() || is.ClaimsListed() != was.ClaimsListed() || is.Proved() != was.Proved() ||
			after.Claim() != before.Claim() || after.Signer() != before.Signer() {
			r.Fatalf("%s became %s with the body %q", was.Reason(), is.Reason(), body)
		}
	})
}

// One signature of several, and which conditions it breaks.
type candidate struct{ misaligned, length, addressed, stale, broken, revoked, silent bool }

// drop leaves out the candidates for which the condition does not hold.
func drop(all []candidate, fails func(candidate) bool) []candidate {
	return slices.DeleteFunc(slices.Clone(all), fails)
}

// TestConditionsNarrow: a message is accepted when one signature meets every
// condition; the reason is the line that leaves no signature.
func TestConditionsNarrow(t *testing.T) {
	key := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{3}, ed25519.SeedSize))
	record := "v=DKIM1; k=ed25519; p=" + base64.StdEncoding.EncodeToString(key.Public().(ed25519.PublicKey))
	lookup := func(_ context.Context, name string) ([]string, error) {
		switch name {
		case "good._domainkey.example.org":
			return []string{record}, nil
		case "silent._domainkey.example.org":
			return nil, errors.New("no answer")
		}
		return nil, nil
	}
	const raw = "From: friend@example.org\r\nTo: other@else.example\r\nSubject: groceries\r\n\r\neggs\r\n"
	now := time.Now()
	field := func(c candidate, i int) string {
		how := signed.Signature{Domain: "example.org", Selector: "good", Key: key, Names: []string{"from", "subject"}, Time: now.Add(-time.Duration(i) * time.Minute), Length: c.length}
		if c.misaligned {
			how.Domain = "else.example"
		}
		if c.addressed {
			how.Names = append(how.Names, "to")
		}
		if c.stale {
			how.Time = now.AddDate(0, 0, -8)
		}
		switch {
		case c.silent:
			how.Selector = "silent"
		case c.revoked:
			how.Selector = "revoked"
		}
		out, err := signed.Sign(raw, how)
		if err != nil {
			t.Fatal(err)
		}
		f := strings.TrimSuffix(out, raw)
		if c.broken {
			f = strings.Replace(f, "v=1;", "v=2;", 1)
		}
		return f
	}
	rapid.Check(t, func(r *rapid.T) {
		flag := rapid.SampledFrom([]bool{false, false, false, true})
		var all []candidate
		var header strings.Builder
		for i := range rapid.IntRange(1, 6).Draw(r, "signatures") {
			var c candidate
			for _, f := range []*bool{&c.misaligned, &c.length, &c.addressed, &c.stale, &c.broken, &c.revoked, &c.silent} {
				*f = flag.Draw(r, "breaks")
			}
			all = append(all, c)
			header.WriteString(field(c, i))
		}
		outcome, reason := expected(all)
		policy := signed.Policy(t)
		policy.MaxAge = 7 * 24 * time.Hour
		v := verdict.Open(signed.Message(t, header.String()+raw), verdict.Env{Lookup: lookup, Now: now}).Judge(context.Background(), policy)
		if v.Outcome() != outcome || v.Reason() != reason {
			r.Fatalf("%s %s, want %s %s: %+v", v.Outcome(), v.Reason(), outcome, reason, all)
		}
		if outcome != verdict.Accept {
			return
		}
		top := slices.Index(all, candidate{})
		if at, _ := v.Accepted().Time(); at.Unix() != now.Add(-time.Duration(top)*time.Minute).Unix() {
			r.Fatalf("accepted by another signature than the topmost that meets all: %+v", all)
		}
	})
}

// expected is the contract's rule, each condition by itself.
func expected(all []candidate) (verdict.Outcome, verdict.Reason) {
	if slices.Contains(all, candidate{}) {
		return verdict.Accept, ""
	}
	left := all
	for _, line := range []struct {
		reason verdict.Reason
		fails  func(candidate) bool
	}{
		{verdict.Misaligned, func(c candidate) bool { return c.misaligned }},
		{verdict.LengthTag, func(c candidate) bool { return c.length }},
		{verdict.NotAddressed, func(c candidate) bool { return c.addressed }},
		{verdict.Stale, func(c candidate) bool { return c.stale }},
	} {
		if left = drop(left, line.fails); len(left) == 0 {
			return verdict.Refuse, line.reason
		}
	}
	if slices.ContainsFunc(left, func(c candidate) bool { return c.silent && !c.broken }) {
		return verdict.Defer, verdict.DNS
	}
	if slices.ContainsFunc(left, func(c candidate) bool { return c.broken }) {
		return verdict.Refuse, verdict.BadSignature
	}
	return verdict.Refuse, verdict.BadKey
}
