package e2e

import (
	"strings"
	"testing"
)

// forged are fields of stile's names that a sender put in.
var forged = []string{
	"Stile-Verdict: accept; id=forged",
	"STILE-VERDICT: accept;\r\n id=forged",
	"stile-rendering: =?utf-8?q?forged?=",
	"StIle-SeAl: v1; shopping=forged",
	"Stile-Anything:",
	"X-Stile-Seal: forged",
	"x-sTiLe-other: forged",
	"Stile-Verdict: accept; id=forged",
	"Stile-Verdict : accept; id=forged",
}

// testForged: fields of stile's names are removed from whatever passes, and
// only its own stamp stands there.
func testForged(t *testing.T) {
	w := begin(t, "")
	before, err := w.Stile.Scrape(w.ctx)
	w.do(err)

	// White space before the colon makes a header that is refused, so the last
	// one goes to the unguarded mailbox only.
	clean := forged[:len(forged)-1]
	w.settled(w.send(friend, spread(w.good("groceries"), clean), shopping).Data)
	got := w.read("shopping", "shopping")
	if strings.Contains(strings.ToLower(got.raw), "forged") {
		t.Errorf("a forged field arrived:\n%s", got.raw)
	}
	for _, f := range got.header {
		if name := strings.ToLower(f.Name); strings.HasPrefix(name, "x-stile-") {
			t.Errorf("a field %s arrived", f.Name)
		}
	}

	w.settled(w.send(stranger, spread(letter(stranger, desk, "hello", "hello\r\n"), forged), desk).Data)
	passed := strings.ToLower(w.arrives(w.Postfix.Mailbox("desk")))
	if strings.Contains(passed, "stile-") {
		t.Errorf("a forged field arrived in the unguarded mailbox:\n%s", passed)
	}

	after, err := w.Stile.Scrape(w.ctx)
	w.do(err)
	const name = "stile_forged_fields_removed_total"
	if n, want := after[name]-before[name], float64(len(clean)+len(forged)); n != want {
		t.Errorf("%s rose by %v, want %v", name, n, want)
	}
}

// spread puts fields at the top and at the end of a header, in turn.
func spread(raw string, fields []string) string {
	for i, f := range fields {
		if i%2 == 0 {
			raw = f + "\r\n" + raw
			continue
		}
		raw = strings.Replace(raw, "\r\n\r\n", "\r\n"+f+"\r\n\r\n", 1)
	}
	return raw
}

// testReplyFields: a field that tells an agent where to write, and that the
// signature does not cover, is removed from accepted mail.
func testReplyFields(t *testing.T) {
	w := begin(t, "")
	raw := "Reply-To: mallory@evil.example\r\nErrors-To: mallory@evil.example\r\n" +
		w.good("groceries")
	w.settled(w.send(friend, raw, shopping).Data)
	got := w.read("shopping", "shopping")
	if strings.Contains(got.raw, "mallory") {
		t.Errorf("an unsigned Reply-To arrived:\n%s", got.raw)
	}
	if !strings.Contains(got.raw, "reply-to-removed") {
		t.Errorf("the verdict does not say that a field was removed:\n%s", got.raw)
	}
}
