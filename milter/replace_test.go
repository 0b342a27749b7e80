package milter

import (
	"bytes"
	"database/sql"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"math/rand/v2"
	"mime/quotedprintable"
	"net/mail"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"filippo.io/age"
	dj "github.com/d--j/go-milter"
	"github.com/emersion/go-milter"
	"pgregory.net/rapid"

	"stile/fence"
	"stile/quarantine"
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

// How the body is encoded follows from the fence alone.
func TestReplaceEncoding(t *testing.T) {
	for _, c := range []struct {
		name, body        string
		charset, encoding string
	}{
		{"ASCII", "eggs\r\n", "us-ascii", "7bit"},
		{"a line of 900", strings.Repeat("x", 898) + "\r\n", "us-ascii", "7bit"},
		{"a line of 901", strings.Repeat("x", 899) + "\r\n", "us-ascii", "base64"},
		{"a line of 2000", strings.Repeat("x", 1998) + "\r\n", "us-ascii", "base64"},
		{"a line over 2000", strings.Repeat("x", 5000) + "\r\n", "us-ascii", "base64"},
		{"not ASCII", "Grüße\r\n", "utf-8", "base64"},
		{"what is escaped", "a\u200bb\x01\r\n", "us-ascii", "7bit"},
		{"nothing", "", "us-ascii", "7bit"},
	} {
		t.Run(c.name, func(t *testing.T) {
			spec := signed.Spec{Header: "To: shopping@estate.example\r\nContent-Type: text/plain; charset=utf-8\r\n", Body: c.body}
			p := replacing(t, signed.Lookup(t, spec), 1<<20)
			raw := signed.Mail(t, spec)
			acts, a := p.dial().deliver(raw, shopper)
			is(t, a, dj.ActionAccept)
			text, _ := replaced(t, raw, acts)
			m, body := read(t, text)
			if got := m.Header.Get("Content-Type"); got != "text/plain; charset="+c.charset {
				t.Errorf("Content-Type: %s", got)
			}
			if got := m.Header.Get("Content-Transfer-Encoding"); got != c.encoding {
				t.Errorf("Content-Transfer-Encoding: %s", got)
			}
			if _, err := fence.Parse(body); err != nil {
				t.Error(err)
			}
			_, encoded, _ := strings.Cut(text, "\r\n\r\n")
			for line := range strings.SplitSeq(encoded, "\r\n") {
				if len(line) > 900 || c.encoding == "base64" && len(line) > 76 {
					t.Errorf("a line of %d octets", len(line))
				}
			}
		})
	}
}

// A long body goes in several packets, up to the limit; the field has its own.
func TestReplaceLimit(t *testing.T) {
	for _, unit := range []string{"eggs and milk", "Käse und Brot"} {
		spec := signed.Spec{
			Header: "To: shopping@estate.example\r\nSubject: x\r\nContent-Type: text/plain; charset=utf-8\r\n",
			Body:   strings.Repeat(unit+"\r\n", 50000),
		}
		const limit = 300 << 10
		p := replacing(t, signed.Lookup(t, spec), limit)
		raw := signed.Mail(t, spec)
		acts, a := p.dial().deliver(raw, shopper)
		is(t, a, dj.ActionAccept)
		text, _ := replaced(t, raw, acts)
		_, body := read(t, text)
		f, err := fence.ParseBody(body, limit)
		must(t, err)
		if n := len(body); n > limit || n < limit-100 {
			t.Errorf("%d octets", n)
		}
		if last := f.Remarks[len(f.Remarks)-1]; last != fmt.Sprintf("%d more lines not shown", 50000-len(f.Parts[0].Lines)) {
			t.Errorf("the last remark is %q", last)
		}
		v, sealed, err := stamp.Open(splitAll(text), "shopping", p.keys...)
		must(t, err)
		if _, err := fence.Parse(sealed); err != nil || v.Text != fence.Cut {
			t.Errorf("the field: %v, text=%s", err, v.Text)
		}
	}
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

// A mailbox of which the mail is replaced shares a message with nobody.
func TestPutOff(t *testing.T) {
	alias := rcpt{"shop+x@localhost", "shop+x@localhost"}
	nobody := rcpt{"nobody@agents.example", "nobody@agents.example"}
	for _, c := range []struct {
		name    string
		to      []rcpt
		replies []int // of RCPT, 0 is continue
	}{
		{"alone", []rcpt{shopper}, []int{0}},
		{"under two names", []rcpt{shopper, alias, shopper}, []int{0, 0, 0}},
		{"then an unguarded one", []rcpt{shopper, bob}, []int{0, 452}},
		{"behind an unguarded one", []rcpt{bob, shopper, bob}, []int{0, 452, 0}},
		{"then a guarded one", []rcpt{shopper, traveler, alias}, []int{0, 452, 0}},
		{"behind a guarded one", []rcpt{traveler, shopper, bob}, []int{0, 452, 0}},
		{"two of them", []rcpt{shopper, poster}, []int{0, 452}},
		{"none of them", []rcpt{traveler, bob}, []int{0, 0}},
		{"no mailbox", []rcpt{nobody, shopper, nobody}, []int{550, 0, 550}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := replacing(t, noKeys, 1<<20, "post")
			m := p.dial()
			m.cont(m.s.Mail("friend@example.org", ""))
			n := 0
			for i, r := range c.to {
				a := m.rcpt(r)
				if want := c.replies[i]; want == 0 && a.Type != dj.ActionContinue || want != 0 && int(a.SMTPCode) != want {
					t.Errorf("%s: %+v, want %d", r.argument, a, c.replies[i])
				}
				if a.SMTPCode != 452 {
					continue
				}
				n++
				if !strings.HasPrefix(a.SMTPReply, "452 4.5.3 ") {
					t.Errorf("the answer is %q", a.SMTPReply)
				}
			}
			if got := len(p.lines("level=INFO", "answered 452")); got != n {
				t.Errorf("%d lines:\n%s", got, p.log)
			}
		})
	}
}

// Those put off are as if they had not been named: the message in hand is for
// the others, and theirs comes later.
func TestPutOffComesLater(t *testing.T) {
	spec := signed.Spec{}
	p := replacing(t, signed.Lookup(t, spec), 1<<20)
	m := p.dial()
	m.cont(m.s.Mail("friend@example.org", ""))
	m.cont(m.rcpt(bob), nil)
	if a := m.rcpt(shopper); a.SMTPCode != 452 {
		t.Fatalf("%+v", a)
	}
	m.cont(m.s.DataStart())
	acts, a := m.content(signed.Mail(t, spec))
	is(t, a, dj.ActionAccept)
	if len(acts) > 0 || len(p.lines("policy=shopping")) > 0 {
		t.Errorf("the mailbox was asked: %+v\n%s", acts, p.log)
	}
	raw := signed.Mail(t, spec)
	acts, a = m.deliver(raw, shopper)
	is(t, a, dj.ActionAccept)
	replaced(t, raw, acts)
}

// After ten all get the message together, replaced for all.
func TestPutOffTenTimes(t *testing.T) {
	spec := signed.Spec{}
	p := replacing(t, signed.Lookup(t, spec), 1<<20)
	m := p.dial()
	for range 2 { // each message has its ten
		m.cont(m.s.Mail("friend@example.org", ""))
		m.cont(m.rcpt(bob), nil)
		for i := range 10 {
			if a := m.rcpt(shopper); a.SMTPCode != 452 {
				t.Fatalf("%d: %+v", i, a)
			}
		}
		m.cont(m.rcpt(shopper), nil)
		m.cont(m.rcpt(traveler), nil)
		m.cont(m.s.DataStart())
		raw := signed.Mail(t, spec)
		acts, a := m.content(raw)
		is(t, a, dj.ActionAccept)
		text, removed := replaced(t, raw, acts)
		if want := []string{"<travel@estate.example>"}; !slices.Equal(removed, want) {
			t.Errorf("taken out: %q", removed)
		}
		mail, _ := read(t, text)
		if to := mail.Header.Get("To"); to != "shopping@estate.example" {
			t.Errorf("To: %s", to)
		}
	}
}

// A session that the MTA plays is never put off: all get the message together,
// and of two limits the smaller one holds.
func TestPutOffSimulated(t *testing.T) {
	spec := signed.Spec{Body: strings.Repeat("eggs\r\n", 20000)}
	for _, smaller := range []int{0, 2} {
		p := replacing(t, signed.Lookup(t, spec), 1<<20, "post")
		p.server.o.Config.Mailboxes[smaller].BodyLimit = fence.MinBody
		m := p.dialAs("localhost", 0, "127.0.0.1")
		raw := signed.Mail(t, spec)
		acts, a := m.deliver(raw, poster, bob, shopper)
		is(t, a, dj.ActionAccept)
		text, _ := replaced(t, raw, acts)
		message, body := read(t, text)
		if to := message.Header.Get("To"); to != "shopping@estate.example, post@agents.example" {
			t.Errorf("To: %s", to)
		}
		if _, err := fence.ParseBody(body, fence.MinBody); err != nil {
			t.Error(err)
		}
		for _, policy := range []string{"shopping", "post"} {
			if _, _, err := stamp.Open(splitAll(text), policy, p.keys...); err != nil {
				t.Errorf("%s: %v", policy, err)
			}
		}
	}
}

// Where the mailbox refuses the message, the others get it as they would
// without it.
func TestReplaceNotForRefused(t *testing.T) {
	spec := signed.Spec{From: "agency@travel.example", Domain: "travel.example"}
	p := replacing(t, signed.Lookup(t, spec), 1<<20)
	m := p.dialAs("localhost", 0, "127.0.0.1")
	raw := signed.Mail(t, spec)
	acts, a := m.deliver(raw, shopper, traveler, bob)
	is(t, a, dj.ActionAccept)
	header, removed := applied(t, splitAll(raw), acts) // and no other body
	if want := []string{"<shopping@estate.example>"}; !slices.Equal(removed, want) {
		t.Errorf("taken out: %q", removed)
	}
	if _, _, err := stamp.Open(header, "travel", p.keys...); err != nil {
		t.Error(err)
	}
}

// The original is sealed before the message goes on, and without it the message
// stays with its sender.
func TestReplaceKeepsOriginal(t *testing.T) {
	spec := signed.Spec{Body: "eggs\r\n\x00\xff\r\nno line end"}
	t.Run("kept", func(t *testing.T) {
		p := replacing(t, signed.Lookup(t, spec), 1<<20, "post")
		raw := signed.Mail(t, spec)
		acts, a := p.dialAs("localhost", 0, "127.0.0.1").deliver(raw, shopper, poster, traveler, bob)
		is(t, a, dj.ActionAccept)
		text, _ := replaced(t, raw, acts)
		v, _, err := stamp.Open(splitAll(text), "shopping", p.keys...)
		must(t, err)
		all := p.originals()
		if len(all) != 1 || all[0].ID != v.ID || all[0].Kind != quarantine.KindAccepted || all[0].Policy != "shopping" || all[0].More != 2 {
			t.Fatalf("%+v", all)
		}
		if p.opened(v.ID) != raw {
			t.Error("the original is another message")
		}
		if n := len(p.lines("id="+v.ID, "verdict=accept", "evidence=kept")); n != 2 {
			t.Errorf("%d lines:\n%s", n, p.log)
		}
	})
	t.Run("no room", func(t *testing.T) {
		p := replacing(t, signed.Lookup(t, spec), 1<<20)
		e, err := quarantine.OpenEvidence(quarantine.EvidenceOptions{
			Dir: filepath.Join(t.TempDir(), "full"), Recipients: []age.Recipient{identity().Recipient()}, MaxBytes: 10,
		})
		must(t, err)
		t.Cleanup(func() { _ = e.Close() })
		p.server.o.Evidence = e
		acts, a := p.dial().deliver(signed.Mail(t, spec), shopper)
		id := isTryLater(t, a)
		if n := len(p.lines("id=" + id + " policy=shopping verdict=defer reason=evidence")); n != 1 || len(acts) > 0 {
			t.Errorf("%d lines, %+v:\n%s", n, acts, p.log)
		}
	})
	t.Run("nowhere to keep it", func(t *testing.T) {
		p := replacing(t, signed.Lookup(t, spec), 1<<20)
		p.server.o.Evidence = nil
		acts, a := p.dial().deliver(signed.Mail(t, spec), shopper)
		isTryLater(t, a)
		if len(acts) > 0 || len(p.lines("reason=evidence cause=evidence")) != 1 {
			t.Errorf("%+v\n%s", acts, p.log)
		}
	})
	t.Run("the proof is not kept", func(t *testing.T) {
		p := replacing(t, signed.Lookup(t, spec), 1<<20)
		db, err := sql.Open("sqlite", p.database())
		must(t, err)
		defer db.Close()
		if _, err := db.Exec("CREATE TRIGGER no BEFORE INSERT ON proof BEGIN SELECT RAISE(ABORT, 'no'); END"); err != nil {
			t.Fatal(err)
		}
		_, a := p.dial().deliver(signed.Mail(t, spec), shopper)
		isTryLater(t, a)
		if all := p.originals(); len(all) > 0 {
			t.Errorf("%d originals of a message that its sender still has", len(all))
		}
	})
}

// The change of a body is asked for only where it is made, and needed there.
func TestBodyIsNegotiated(t *testing.T) {
	const all = milter.OptAction(0x1ff)
	offer := func(actions milter.OptAction) string {
		version := binary.BigEndian.AppendUint32(nil, 6)
		protocol := "\x00\x1f\xff\xff"
		return frame(milter.CodeOptNeg, string(binary.BigEndian.AppendUint32(version, uint32(actions)))+protocol)
	}
	usual := func(t *testing.T) *place { return run(t, noKeys, nil) }
	body := func(t *testing.T) *place { return replacing(t, noKeys, 1<<20) }
	for _, c := range []struct {
		name  string
		start func(*testing.T) *place
		offer milter.OptAction
		want  string
		asks  bool
	}{
		{"not needed", usual, all, "O", false},
		{"not needed, not offered", usual, all &^ milter.OptChangeBody, "O", false},
		{"needed", body, all, "O", true},
		{"needed, not offered", body, all &^ milter.OptChangeBody, "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := c.start(t)
			replies := p.speak(offer(c.offer) + quitFrame)
			if got := codes(replies); got != c.want {
				t.Fatalf("the answers are %q, want %q", got, c.want)
			}
			if c.want == "" {
				return
			}
			actions := milter.OptAction(binary.BigEndian.Uint32([]byte(replies[0][5:])))
			if asks := actions&milter.OptChangeBody != 0; asks != c.asks {
				t.Errorf("asked for: %v", asks)
			}
		})
	}
}
