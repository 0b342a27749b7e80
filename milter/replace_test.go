package milter

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"math/rand/v2"
	"mime/quotedprintable"
	"net/mail"
	"slices"
	"strings"
	"testing"
	"time"

	dj "github.com/d--j/go-milter"
	"pgregory.net/rapid"

	"stile/fence"
	"stile/stamp"
	"stile/tests/signed"
	"stile/verdict"
)

// replacing starts a server that replaces the mail of shopping, and of those
// named.
func replacing(t testing.TB, lookup verdict.LookupTXT, limit int64, ids ...string) *place {
	t.Helper()
	return keepingWith(t, lookup, plenty, func(s *Server) {
		for _, m := range s.o.Config.Mailboxes {
			if m.ID == "shopping" || slices.Contains(ids, m.ID) {
				m.Body, m.BodyLimit = true, limit
			}
		}
	})
}

// replaced is the message after the modifications, as an MTA makes them and as
// it would cross the wire, and who was taken out.
func replaced(t testing.TB, raw string, acts []dj.ModifyAction) (text string, removed []string) {
	t.Helper()
	var body []byte
	var rest []dj.ModifyAction
	for _, a := range acts {
		if a.Type != dj.ActionReplaceBody {
			rest = append(rest, a)
			continue
		}
		if len(a.Body) > 65535 {
			t.Fatalf("%d octets in one packet", len(a.Body))
		}
		body = append(body, a.Body...)
	}
	if body == nil {
		t.Fatal("the body stays")
	}
	header, removed := applied(t, splitAll(raw), rest)
	var out strings.Builder
	for _, f := range header {
		out.WriteString(f.Name + ":" + f.Value + "\r\n")
	}
	out.WriteString("\r\n" + strings.ReplaceAll(string(body), "\n", "\r\n"))
	return out.String(), removed
}

// read is a replaced message as a mail library reads it.
func read(t testing.TB, text string) (*mail.Message, string) {
	t.Helper()
	m, err := mail.ReadMessage(strings.NewReader(text))
	must(t, err)
	var in io.Reader = m.Body
	switch m.Header.Get("Content-Transfer-Encoding") {
	case "base64":
		in = base64.NewDecoder(base64.StdEncoding, m.Body)
	case "7bit":
	default:
		t.Fatalf("Content-Transfer-Encoding: %s", m.Header.Get("Content-Transfer-Encoding"))
	}
	body, err := io.ReadAll(in)
	must(t, err)
	shown, ok := strings.CutSuffix(strings.ReplaceAll(string(body), "\r\n", "\n"), "\n")
	if !ok {
		t.Fatal("the body's last line has no end")
	}
	return m, shown
}

var kept = []string{
	"Stile-Verdict", "Stile-Rendering", "Stile-Seal", "Date", "From", "To", "Subject", "Message-ID",
	"MIME-Version", "Content-Type", "Content-Transfer-Encoding",
}

func TestReplace(t *testing.T) {
	date := time.Now().Add(-time.Hour)
	spec := signed.Spec{
		Header: "To: Somebody <shopping@estate.example>, x@y.example\r\nCc: friends@example.org\r\nSubject: groceries\r\n" +
			"Date: " + date.In(time.FixedZone("", 7200)).Format(time.RFC1123Z) + " (a comment)\r\n" +
			"Message-ID: <1@example.org>\r\nMIME-Version: 1.0\r\nContent-Type: text/plain;\r\n charset=utf-8\r\n" +
			"Content-Transfer-Encoding: quoted-printable\r\nReply-To: friend@example.org\r\n",
		Body:  "eggs\r\nm=69lk\r\n",
		Above: "Stile-Verdict: accept\r\nx-stile-SEAL: x\r\nReceived: from a\r\nReceived: from b\r\n by c\r\n",
	}
	p := replacing(t, signed.Lookup(t, spec), 1<<20)
	raw := signed.Mail(t, spec)
	acts, a := p.dial().deliver(raw, shopper)
	is(t, a, dj.ActionAccept)
	text, _ := replaced(t, raw, acts)

	var names []string
	for _, f := range splitAll(text) {
		names = append(names, f.Name)
	}
	if !slices.Equal(names, kept) {
		t.Errorf("the header is %q", names)
	}
	v, sealed, err := stamp.Open(splitAll(text), "shopping", p.keys...)
	must(t, err)
	if !slices.Contains(v.Flags, verdict.ReplyToRemoved) {
		t.Errorf("flags %q", v.Flags)
	}
	m, body := read(t, text)
	for name, want := range map[string]string{
		"From": "friend@example.org", "To": "shopping@estate.example", "Subject": "[stile] message " + v.ID,
		"Message-ID": "<" + v.ID + "@mx.estate.example>", "Date": date.UTC().Format("Mon, 02 Jan 2006 15:04:05 +0000"),
		"MIME-Version": "1.0", "Content-Type": "text/plain; charset=us-ascii", "Content-Transfer-Encoding": "7bit",
	} {
		if got := m.Header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	f, err := fence.Parse(body)
	must(t, err)
	if !f.Quoted("eggs\nmilk") || f.Subject != "groceries" {
		t.Errorf("the body is\n%s", body)
	}
	of, err := fence.Parse(sealed)
	must(t, err)
	if of.Nonce == f.Nonce || strings.ReplaceAll(sealed, of.Nonce, "") != strings.ReplaceAll(body, f.Nonce, "") {
		t.Errorf("the field shows\n%s\nand the body\n%s", sealed, body)
	}
}

// Whatever fields came in, the allowed ones are left, and what the sender wrote
// stands behind the prefix in the fence and nowhere else.
func TestReplaceCanaries(t *testing.T) {
	long := strings.Repeat("wide ", 300)
	p := replacing(t, signed.Lookup(t, signed.Spec{}), 1<<20)
	m := p.dial()
	rapid.Check(t, func(rt *rapid.T) {
		var all []string
		canary := func() string {
			b := make([]byte, 6)
			for i := range b {
				b[i] = byte(rand.IntN(256))
			}
			all = append(all, "c"+hex.EncodeToString(b)[:11])
			return all[len(all)-1]
		}
		var header strings.Builder
		header.WriteString("To: " + canary() + " <shopping@estate.example>\r\n")
		for _, name := range []string{"Subject", "Cc", "Message-ID", "References", "In-Reply-To", "Comments", "Keywords", "Organization",
			"X-Mailer", "List-Id", "Sender", "Reply-To", "Content-Description", "Content-ID", "User-Agent", "Content-Language", "Resent-From", "Received", "Return-Path", "Authentication-Results"} {
			if rapid.Bool().Draw(rt, name) {
				fmt.Fprintf(&header, "%s: %s\r\n\t%s\r\n", name, canary(), canary())
			}
		}
		for range rapid.IntRange(0, 20).Draw(rt, "fields") {
			name := rapid.SampledFrom([]string{"X-", "x-", "Stile-", "X-STILE-", "Content-", "DKIM-"}).Draw(rt, "prefix") + canary()
			for range rapid.IntRange(1, 3).Draw(rt, "times") {
				fmt.Fprintf(&header, "%s: %s\r\n", name, canary())
			}
		}
		boundary := canary()
		fmt.Fprintf(&header, "MIME-Version: 1.0 (%s)\r\nContent-Type: multipart/mixed; boundary=%s; x%s=%s\r\n", canary(), boundary, canary(), canary())
		text := rapid.SampledFrom([]string{"", "ü", long, "\u202e"}).Draw(rt, "text")
		var qp bytes.Buffer
		w := quotedprintable.NewWriter(&qp)
		_, _ = io.WriteString(w, canary()+text+"\r\n"+canary()+"\r\n")
		_ = w.Close()
		body := canary() + "\r\n--" + boundary + "\r\nContent-Type: text/plain; charset=utf-8; name=" + canary() + "\r\nContent-Transfer-Encoding: quoted-printable\r\nX-" + canary() + ": " + canary() + "\r\n\r\n" +
			qp.String() + "\r\n--" + boundary + "\r\nContent-Type: text/html; name=" + canary() + "\r\n\r\n<p>" + canary() + "\r\n--" + boundary +
			"\r\nContent-Disposition: attachment; filename=" + canary() + "\r\n\r\n" + canary() + "\r\n--" + boundary + "--\r\n" + canary() + "\r\n"
		spec := signed.Spec{
			From: `"` + canary() + `" <friend@example.org> (` + canary() + `)`, Header: header.String(), Body: body,
			Sign: []string{"from", "to", "subject", "content-type", "content-transfer-encoding"},
		}
		raw := signed.Mail(t, spec)
		acts, a := m.deliver(raw, shopper)
		is(t, a, dj.ActionAccept)
		out, _ := replaced(t, raw, acts)
		var names []string
		for _, f := range splitAll(out) {
			names = append(names, f.Name)
		}
		if !slices.Equal(names, kept) {
			rt.Fatalf("the header is %q", names)
		}
		for line := range strings.Lines(out) {
			if !strings.HasSuffix(line, "\r\n") || len(line) > 1000 {
				rt.Fatalf("a line that delivery breaks: %q", line)
			}
		}
		message, shown := read(t, out)
		if _, err := fence.Parse(shown); err != nil {
			rt.Fatal(err)
		}
		outside := out
		if message.Header.Get("Content-Transfer-Encoding") == "7bit" {
			outside = strings.TrimSuffix(outside, strings.ReplaceAll(shown, "\n", "\r\n")+"\r\n")
		}
		outside = strings.Replace(outside, splitAll(out)[1].Value, "", 1) // the fence as encoded words
		for line := range strings.SplitSeq(shown, "\n") {
			if !strings.HasPrefix(line, "|") {
				outside += "\n" + line
			}
		}
		for _, c := range all {
			if strings.Contains(outside, c) {
				rt.Fatalf("%s stands outside the fence:\n%s", c, outside)
			}
		}
	})
}

func TestReplaceDate(t *testing.T) {
	now := time.Now().UTC().Truncate(time.Second)
	date := now.Add(-time.Hour)
	line := "Date: " + date.In(time.FixedZone("", -5*3600)).Format(time.RFC1123Z) + "\r\n"
	const to = "To: shopping@estate.example\r\n"
	for _, c := range []struct {
		name string
		spec signed.Spec
		want time.Time
	}{
		{"signed", signed.Spec{Header: to + line}, date},
		{"signed, no t=", signed.Spec{Header: to + line, NoTime: true}, date},
		{"not signed", signed.Spec{Header: to + line, Sign: []string{"from", "to"}, NoTime: true, Tags: fmt.Sprintf("t=%d;", now.Unix())}, now},
		{"none", signed.Spec{Header: to, NoTime: true, Tags: fmt.Sprintf("t=%d;", now.Unix())}, now},
		{"not to be read", signed.Spec{Header: to + "Date: yesterday\r\n", NoTime: true, Tags: fmt.Sprintf("t=%d;", now.Unix())}, now},
		{"not signed, no t=", signed.Spec{Header: to + line, Sign: []string{"from", "subject"}, NoTime: true}, time.Time{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := replacing(t, signed.Lookup(t, c.spec), 1<<20)
			p.server.o.Config.Mailboxes[0].Policy().Addressed = verdict.AddressedOff
			raw := signed.Mail(t, c.spec)
			acts, a := p.dial().deliver(raw, shopper)
			is(t, a, dj.ActionAccept)
			text, _ := replaced(t, raw, acts)
			m, _ := read(t, text)
			if c.want.IsZero() {
				if m.Header.Get("Date") != "" {
					t.Errorf("Date: %s", m.Header.Get("Date"))
				}
				return
			}
			if got, err := m.Header.Date(); err != nil || !got.Equal(c.want) {
				t.Errorf("Date: %s, want %s", m.Header.Get("Date"), c.want)
			}
		})
	}
}
