package verdict_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"stile/tests/signed"
	"stile/verdict"
)

// world answers for a set of selectors and opens messages.
type world struct {
	t       *testing.T
	records map[string]string // selector → key record, "" is no answer
	asked   []string
}

func keys(t *testing.T, selectors ...string) *world {
	w := &world{t: t, records: map[string]string{}}
	for _, s := range selectors {
		w.records[s] = signed.Record(t, false)
	}
	return w
}

func (w *world) lookup(_ context.Context, name string) ([]string, error) {
	w.asked = append(w.asked, name)
	selector, _, _ := strings.Cut(name, ".")
	record, there := w.records[selector]
	if there && record == "" {
		return nil, errors.New("no answer")
	}
	if !there {
		return nil, nil
	}
	return []string{record}, nil
}

// proof judges a raw message, which must be accepted, and gives its proof.
func (w *world) proof(raw string) verdict.Proof {
	w.t.Helper()
	_, _, p := w.accept(raw)
	return p
}

func (w *world) accept(raw string) (*verdict.Case, verdict.Verdict, verdict.Proof) {
	w.t.Helper()
	c := verdict.Open(signed.Message(w.t, raw), verdict.Env{Lookup: w.lookup, Now: time.Now()})
	v := c.Judge(context.Background(), signed.Policy(w.t))
	if v.Accepted() == nil {
		w.t.Fatalf("%s %s:\n%s", v.Outcome(), v.Reason(), raw)
	}
	asked := len(w.asked)
	p, err := c.Proof(context.Background(), v.Accepted())
	if err != nil {
		w.t.Fatal(err)
	}
	if len(w.asked) != asked {
		w.t.Errorf("a proof asked for %q", w.asked[asked:])
	}
	return c, v, p
}

// signature is the field that signs the message of s, with its line end.
func signature(t *testing.T, s signed.Spec) string {
	t.Helper()
	field, _, _ := strings.Cut(signed.Mail(t, s), "\r\nFrom:")
	return field + "\r\n"
}

// unsigned is the message without any signature.
func unsigned(t *testing.T, s signed.Spec) string {
	t.Helper()
	s.Unsigned = true
	return signed.Mail(t, s)
}

// TestProofSignatures: which signatures a proof names, by how many there are.
func TestProofSignatures(t *testing.T) {
	mail := unsigned(t, signed.Spec{})
	one := signature(t, signed.Spec{})
	two := signature(t, signed.Spec{Selector: "s2"})
	dead := signature(t, signed.Spec{Selector: "dead"})
	gone := signature(t, signed.Spec{Selector: "gone"})
	same := signature(t, signed.Spec{Sign: []string{"from", "to"}})
	simple := signature(t, signed.Spec{Simple: true, Sign: []string{"from"}, Body: "eggs  \r\nmilk\r\n"})
	simpleDead := signature(t, signed.Spec{Simple: true, Sign: []string{"from"}, Selector: "dead", Body: "eggs  \r\nmilk\r\n"})
	other := signature(t, signed.Spec{Body: "another message\r\n"})
	otherDead := signature(t, signed.Spec{Body: "another message\r\n", Selector: "dead"})
	broken := strings.Replace(two, "v=1;", "v=1;;", 1)
	foreign := signature(t, signed.Spec{Domain: "list.example"})
	limited := signature(t, signed.Spec{Selector: "s2", Tags: "l=12;"})
	forged := swapSignature(t, one, signature(t, signed.Spec{Header: "To: shopping@estate.example\r\nSubject: x\r\n"}))
	for _, c := range []struct {
		name   string
		fields string
		body   func(string) string
		want   []string // fields whose digests the proof names
	}{
		{"one", one, nil, []string{one}},
		{"one of another domain beside it", foreign + one + foreign, nil, []string{one}},
		{"a second, not asked for", one + two, nil, []string{one, two}},
		{"a second, no answer", dead + one, nil, []string{dead, one}},
		{"a second, no key", gone + one, nil, []string{one}},
		{"a second by the same key", one + same, nil, []string{one, same}},
		{"the same twice", one + one, nil, []string{one}},
		{"another canonicalization by the same key", one + simple, func(string) string { return "eggs  \r\nmilk\r\n" }, []string{one, simple}},
		{"another canonicalization, no answer", simpleDead + one, func(string) string { return "eggs  \r\nmilk\r\n" }, []string{one}},
		{"of another message by the same key", one + other, nil, []string{one}},
		{"of another message, not asked for", one + otherDead, nil, []string{one}},
		{"of another message in this one's clothes, same key", one + forged, nil, []string{one}},
		{"not by the grammar", one + broken, nil, []string{one}},
		{"with l=", one + limited, nil, []string{one, limited}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := keys(t, "s1", "s2")
			w.records["dead"] = ""
			raw := c.fields + mail
			if c.body != nil {
				head, body, _ := strings.Cut(raw, "\r\n\r\n")
				raw = head + "\r\n\r\n" + c.body(body)
			}
			got := w.proof(raw).Signatures
			var want [][32]byte
			for _, field := range c.want {
				want = append(want, verdict.DigestOf(field))
			}
			if !slices.Equal(got, want) {
				t.Errorf("%d signatures, want %d: %x, want %x", len(got), len(want), got, want)
			}
		})
	}
}

// swapSignature puts the b= of another field into a field.
func swapSignature(t *testing.T, field, from string) string {
	t.Helper()
	_, b, ok := strings.Cut(from, "\r\n b=")
	keep, _, found := strings.Cut(field, "\r\n b=")
	if !ok || !found {
		t.Fatal("no b=")
	}
	return keep + "\r\n b=" + b
}

// TestProofBound: a signature that a crowd keeps from being tried counts as well:
// with the crowd taken off, it would accept the message again.
func TestProofBound(t *testing.T) {
	var crowd strings.Builder
	for i := range 40 {
		crowd.WriteString(signature(t, signed.Spec{Selector: "x" + strings.Repeat("y", i)}))
	}
	p := keys(t, "s1").proof(signature(t, signed.Spec{}) + crowd.String() + unsigned(t, signed.Spec{}))
	if n := len(p.Signatures); n != 41 {
		t.Errorf("%d signatures", n)
	}
}

// TestProofEncodings: however b= is written, in white space, folds and place
// among the fields, the proof names the same signature; the message is the
// same only as far as it is.
func TestProofEncodings(t *testing.T) {
	field, mail := signature(t, signed.Spec{}), unsigned(t, signed.Spec{})
	first := keys(t, "s1").proof(field + mail)
	name, b, _ := strings.Cut(field, "\r\n b=")
	b = strings.TrimSuffix(b, "\r\n")
	rapid.Check(t, func(r *rapid.T) {
		var spread strings.Builder
		for i := range len(b) {
			spread.WriteByte(b[i])
			if i < len(b)-1 {
				spread.WriteString(rapid.SampledFrom([]string{"", "", "", "", " ", "\t", "\r\n\t", " \r\n  "}).Draw(r, "white space"))
			}
		}
		again := keys(t, "s1").proof(name + "\r\n b=" + spread.String() + "\r\n" + mail)
		if !slices.Equal(again.Signatures, first.Signatures) {
			r.Fatalf("another signature: %q", spread.String())
		}
		if (again.Message == first.Message) != (spread.String() == b) {
			r.Fatalf("the same message: %v, of %q", again.Message == first.Message, spread.String())
		}
	})
	// What is no canonical base64 does not verify, so it is no proof at all.
	for _, odd := range []string{b + "=", strings.TrimRight(b, "="), b[:8] + "*" + b[8:], b + "\r\n AA"} {
		c := verdict.Open(signed.Message(t, name+"\r\n b="+odd+"\r\n"+mail), verdict.Env{Lookup: signed.Lookup(t, signed.Spec{}), Now: time.Now()})
		if v := c.Judge(context.Background(), signed.Policy(t)); v.Reason() != verdict.BadSignature {
			t.Errorf("%q: %s %s", odd, v.Outcome(), v.Reason())
		}
	}
}

// TestProofMessage: what relays add makes no other message, wherever and in
// whatever order it stands; anything else does.
func TestProofMessage(t *testing.T) {
	raw := signed.Mail(t, signed.Spec{})
	first := keys(t, "s1").proof(raw)
	passing := rapid.SampledFrom([]string{
		"Received: from a by b; now\r\n", "RECEIVED: x\r\n\tfold\r\n", "Return-Path: <x@y.example>\r\n",
		"Authentication-Results: b; dkim=pass\r\n", "ARC-Seal: i=1; cv=none\r\n", "arc-message-signature: i=1\r\n",
		"ARC-Authentication-Results: i=1; b\r\n",
	})
	lines := strings.SplitAfter(raw, "\r\n")
	end := slices.Index(lines, "\r\n")
	var starts []int // of fields
	for i, l := range lines[:end+1] {
		if l == "\r\n" || l[0] != ' ' {
			starts = append(starts, i)
		}
	}
	rapid.Check(t, func(r *rapid.T) {
		changed := slices.Clone(lines)
		for _, at := range slices.Backward(starts) {
			for range rapid.IntRange(0, 2).Draw(r, "fields") {
				changed = slices.Insert(changed, at, passing.Draw(r, "field"))
			}
		}
		if p := keys(t, "s1").proof(strings.Join(changed, "")); p.Message != first.Message {
			r.Fatalf("another message:\n%s", strings.Join(changed, ""))
		}
	})
	for name, other := range map[string]string{
		"field on top":           "X-Relay: x\r\n" + raw,
		"field with a name near": "Received-SPF: pass\r\n" + raw,
		"another delivery":       "Delivered-To: shopping@estate.example\r\n" + raw,
		"white space in a field": strings.Replace(raw, "Subject: groceries", "Subject:  groceries", 1),
		"case of a name":         strings.Replace(raw, "Subject:", "subject:", 1),
		"other order":            strings.Replace(raw, "To: shopping@estate.example\r\nSubject: groceries\r\n", "Subject: groceries\r\nTo: shopping@estate.example\r\n", 1),
		"space at a line's end":  strings.Replace(raw, "eggs\r\n", "eggs \r\n", 1),
	} {
		if other == raw {
			t.Fatalf("%s: nothing was changed", name)
		}
		p := keys(t, "s1").proof(other)
		if p.Message == first.Message {
			t.Errorf("%s: the same message", name)
		}
		if !slices.Equal(p.Signatures, first.Signatures) {
			t.Errorf("%s: another signature", name)
		}
	}
	// Line ends are as the MTA has them.
	if p := keys(t, "s1").proof(strings.Replace(raw, "eggs\r\nmilk\r\n", "eggs\nmilk\n", 1)); p.Message != first.Message {
		t.Error("bare LF makes another message")
	}
}

func TestProofUnreadable(t *testing.T) {
	m := signed.Message(t, signed.Mail(t, signed.Spec{}))
	broken := &breaking{r: m.Body}
	m.Body = io.NewSectionReader(broken, 0, m.Body.Size())
	c := verdict.Open(m, verdict.Env{Lookup: signed.Lookup(t, signed.Spec{}), Now: time.Now()})
	v := c.Judge(context.Background(), signed.Policy(t))
	if v.Accepted() == nil {
		t.Fatal(v.Reason())
	}
	broken.now = true
	if _, err := c.Proof(context.Background(), v.Accepted()); !errors.Is(err, verdict.ErrBody) {
		t.Errorf("%v", err)
	}
}

// breaking reads until it is told not to.
type breaking struct {
	r   io.ReaderAt
	now bool
}

func (b *breaking) ReadAt(p []byte, off int64) (int, error) {
	if b.now {
		return 0, errors.New("broken")
	}
	return b.r.ReadAt(p, off)
}

func TestAgain(t *testing.T) {
	c, v, proof := keys(t, "s1").accept(signed.Mail(t, signed.Spec{NoTime: true}))
	p := signed.Policy(t)
	p.RetryWindow = 4 * time.Hour
	now := time.Now()
	at := func(d time.Duration) verdict.Earlier {
		return verdict.Earlier{Signature: proof.Signatures[0], Message: proof.Message, First: now.Add(d)}
	}
	changed := at(0)
	changed.Message[0] ^= 1
	const minute = time.Minute
	for _, r := range []struct {
		name    string
		earlier []verdict.Earlier
		want    verdict.Reason
	}{
		{"never", nil, ""},
		{"just now", []verdict.Earlier{at(0)}, ""},
		{"in the window", []verdict.Earlier{at(-4*time.Hour + minute)}, ""},
		{"beyond the window", []verdict.Earlier{at(-4*time.Hour - minute)}, verdict.Replayed},
		{"a little ahead", []verdict.Earlier{at(minute)}, ""},
		{"far ahead", []verdict.Earlier{at(4*time.Hour + minute)}, verdict.Replayed},
		{"another message", []verdict.Earlier{changed}, verdict.Replayed},
		{"one of two is another", []verdict.Earlier{at(0), changed}, verdict.Replayed},
		{"one of two is beyond", []verdict.Earlier{at(0), at(-5 * time.Hour)}, verdict.Replayed},
		{"two", []verdict.Earlier{at(0), at(-minute)}, ""},
	} {
		got := c.Again(p, v, proof, r.earlier)
		want := verdict.Refuse
		if r.want == "" {
			want = verdict.Accept
		}
		if got.Outcome() != want || got.Reason() != r.want || got.Proved() != "yes" || !got.ClaimsListed() {
			t.Errorf("%s: %s %s, proved %s", r.name, got.Outcome(), got.Reason(), got.Proved())
		}
		if (got.Accepted() != nil) != (want == verdict.Accept) {
			t.Errorf("%s: Accepted() is %v", r.name, got.Accepted())
		}
		if want == verdict.Accept {
			flags := []verdict.Flag{verdict.Duplicate, verdict.Undated}
			if r.earlier == nil {
				flags = flags[1:]
			}
			if got := got.Accepted().Flags(); !slices.Equal(got, flags) {
				t.Errorf("%s: flags %v", r.name, got)
			}
		}
	}
	if slices.Contains(v.Accepted().Flags(), verdict.Duplicate) {
		t.Error("the verdict before was changed")
	}
	refused := c.Again(p, v, proof, []verdict.Earlier{changed})
	if again := c.Again(p, refused, proof, []verdict.Earlier{at(0)}); again.Reason() != verdict.Replayed {
		t.Errorf("a refusal became %s", again.Outcome())
	}
	if again := c.Again(p, verdict.Verdict{}, proof, nil); again.Outcome() != "" {
		t.Errorf("the zero verdict became %s", again.Outcome())
	}
}
