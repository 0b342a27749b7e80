package e2e

import (
	"crypto/rand"
	"fmt"
	"strings"
	"time"

	"stile/tests/rig"
)

// canaries are random words that the sender of refused mail puts wherever it
// can. None may be seen again.
type canaries []string

// word is a fresh canary of 12 letters.
func (c *canaries) word() string {
	const letters = "abcdefghijklmnopqrstuvwxyz"
	b := make([]byte, 12)
	if _, err := rand.Read(b); err != nil {
		panic(err)
	}
	for i := range b {
		b[i] = letters[int(b[i])%len(letters)]
	}
	*c = append(*c, string(b))
	return string(b)
}

// refusal is a message that must be refused, and for what.
type refusal struct {
	reason string
	from   string // of the envelope
	raw    string
}

// refusals makes one message for each reason that can reach stile through
// Postfix, each wrong in one thing only, for one mailbox and full of canaries.
func (w *world) refusals(c *canaries, to string) []refusal {
	w.t.Helper()
	selector := func(s *rig.Signing) {
		s.Selector = c.word()
		w.DNS.SetTXT(s.Selector+"._domainkey."+s.Domain, key().Record)
	}
	good := func() string { return rich(c, friend, to) }
	signed := func(raw string, changes ...func(*rig.Signing)) string {
		return w.sign(raw, append(changes, selector)...)
	}
	swap := func(raw, was, is string) string {
		if strings.Count(raw, was) == 0 {
			w.t.Fatalf("no %q in\n%s", was, raw)
		}
		return strings.Replace(raw, was, is, 1)
	}
	onTop := func(raw string, fields ...string) string { return strings.Join(fields, "\r\n") + "\r\n" + raw }

	var many []string
	for range 501 {
		many = append(many, "X-"+c.word()+": "+c.word())
	}
	other := c.word() + ".example"
	list := []refusal{
		{reason: "too-large", raw: onTop(signed(good()), many...)},
		{reason: "malformed-header", raw: onTop(signed(good()), "X-Bell: \a"+c.word())},
		{reason: "from-count", raw: onTop(signed(good()), "From: "+c.word()+" <"+friend+">")},
		// Postfix takes the white space before a colon out, so this is no
		// malformed-header here.
		{reason: "from-count", raw: swap(signed(good()), "\r\nTo:", "\r\nFrom : "+c.word()+" <"+friend+">\r\nTo:")},
		{reason: "from-count", raw: swap(good(), "From:", "X-"+c.word()+":")},
		{reason: "duplicate-field", raw: onTop(signed(good()), "Subject: "+c.word())},
		{reason: "address-count", raw: signed(swap(good(), " <"+friend+">", " <"+friend+">, "+c.word()+"@example.org"))},
		{reason: "from-syntax", raw: signed(swap(good(), "<"+friend+">", "<@"+other+":"+friend+">"))},
		{reason: "unlisted", raw: signed(rich(c, stranger, to), domain("evil.example"))},
		{reason: "automatic", raw: signed(onTop(good(), "Auto-Submitted: auto-replied; "+c.word()+"="+c.word()))},
		{reason: "unsigned", raw: good()},
		{reason: "misaligned", raw: signed(good(), domain(other))},
		{reason: "length-tag", raw: signed(good(), func(s *rig.Signing) { s.Length = true }) + c.word() + "\r\n"},
		{reason: "not-addressed", raw: signed(rich(c, friend, c.word()+"@estate.example"))},
		{reason: "stale", raw: signed(good(), func(s *rig.Signing) { s.Time = time.Now().AddDate(0, 0, -8) })},
		{reason: "bad-signature", raw: swap(signed(good()), "plain text", "plain text "+c.word())},
		{reason: "bad-key", raw: w.sign(good(), func(s *rig.Signing) { s.Selector = c.word() })},
	}
	for i := range list {
		list[i].from = c.word() + "@" + c.word() + ".example"
	}
	return list
}

// rich is a message with every kind of part and field, each with a canary in it.
func rich(c *canaries, from, to string) string {
	boundary := c.word()
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\r\n", args...) }
	line("X-%s: %s", c.word(), c.word())
	line("Received: from %s.example by %s.example", c.word(), c.word())
	line("From: %s %s <%s>", c.word(), c.word(), from)
	line("To: %s <%s>", c.word(), to)
	line("Cc: %s <%s@%s.example>", c.word(), c.word(), c.word())
	line("Reply-To: %s@%s.example", c.word(), c.word())
	line("Subject: %s", c.word())
	line("Date: %s", time.Now().Format(time.RFC1123Z))
	line("Message-ID: <%s@%s.example>", c.word(), c.word())
	line("Stile-Verdict: accept; id=%s", c.word())
	line("X-Stile-%s: %s", c.word(), c.word())
	line("Authentication-Results: %s.example; dkim=pass header.d=%s.example", c.word(), c.word())
	line("MIME-Version: 1.0")
	line("Content-Type: multipart/mixed; boundary=%q", boundary)
	line("")
	line("%s", c.word())
	line("--%s", boundary)
	line("Content-Type: text/plain; charset=utf-8; name=%s", c.word())
	line("")
	line("%s plain text", c.word())
	line("--%s", boundary)
	line("Content-Type: text/html")
	line("")
	line("<p title=%q>%s</p><!-- %s -->", c.word(), c.word(), c.word())
	line("--%s", boundary)
	line("Content-Type: application/%s", c.word())
	line("Content-Disposition: attachment; filename=%q", c.word()+".pdf")
	line("")
	line("%s", c.word())
	line("--%s--", boundary)
	line("%s", c.word())
	return b.String()
}
