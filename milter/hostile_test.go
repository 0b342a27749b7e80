package milter

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	dj "github.com/d--j/go-milter"
	"github.com/emersion/go-milter"
	"pgregory.net/rapid"

	"stile/tests/signed"
	"stile/verdict"
)

// Nothing of a refused message, its reduced address aside, is found in the
// store, the log, the metrics or a reply.
func TestCanaries(t *testing.T) {
	var canaries []string
	canary := func() string {
		b := make([]byte, 6)
		for i := range b {
			b[i] = byte(rand.IntN(256))
		}
		canaries = append(canaries, hex.EncodeToString(b))
		return canaries[len(canaries)-1]
	}
	p := run(t, noKeys, nil)
	c := p.dialAs(canary()+".example", 4000, "192.0.2.7")
	var replies strings.Builder
	for _, spec := range []signed.Spec{
		{From: `"` + canary() + `" <mallory@evil.example>`},
		{From: canary() + canary() + canary() + "@evil.example"},
		{From: canary() + " at example.org"},
		{Above: canary() + ": " + canary() + "\r\n", Unsigned: true},
		{Above: canary() + " " + canary() + ": x\r\n"},
		{Selector: canary()},
		{Domain: canary() + ".example"},
		{Header: "To: " + canary() + "@else.example\r\nSubject: " + canary() + "\r\n", Body: canary() + "\r\n"},
		{Tags: canary() + "=" + canary() + ";", Selector: canary()},
		{Header: "To: shopping@estate.example\r\nContent-Type: text/plain; name=" + canary() + "\r\nMessage-ID: <" + canary() + "@x.example>\r\n"},
	} {
		c.envelope(canary()+"@evil.example", rcpt{"shopping+" + canary() + "@estate.example", "shopping+" + canary() + "@estate.example"})
		_, a := c.content(signed.Mail(t, spec))
		is(t, a, dj.ActionDiscard)
		fmt.Fprintln(&replies, a.SMTPReply)
	}
	must(t, p.server.o.Store.Close())
	_, a := c.deliver(signed.Mail(t, signed.Spec{Unsigned: true, Body: canary()}), rcpt{canary() + "@agents.example", "post@agents.example"})
	isTryLater(t, a)
	fmt.Fprintln(&replies, a.SMTPReply)

	places := map[string]string{"log": p.log.String(), "replies": replies.String(), "metrics": p.exposition()}
	files, err := filepath.Glob(filepath.Join(filepath.Dir(p.socket), "*"))
	must(t, err)
	for _, f := range files {
		if b, err := os.ReadFile(f); err == nil {
			places[filepath.Base(f)] = string(b)
		}
	}
	if !strings.Contains(places["quarantine.db"], "mallory@evil.example") {
		t.Error("the records are not where they are looked for")
	}
	for place, text := range places {
		for _, c := range canaries {
			if strings.Contains(text, c) {
				t.Errorf("%s holds a canary, %s", place, c)
			}
		}
	}
}

// What is kept of a header does not grow with it.
func TestHeaderIsBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var m message
		m.begin(time.Now(), os.TempDir(), 0)
		m.recipients = []recipient{{}}
		size := int64(0)
		for range rapid.IntRange(0, 1200).Draw(t, "fields") {
			value := strings.Repeat("x", rapid.SampledFrom([]int{0, 10, 1000, 60000}).Draw(t, "length"))
			m.addField("X-Field", value)
			size += int64(len("X-Field:\r\n") + len(value))
		}
		if m.size != size {
			t.Fatalf("size %d, want %d", m.size, size)
		}
		kept := 0
		for _, f := range m.header {
			kept += len(f.Name) + len(f.Value) + len(":\r\n")
		}
		if len(m.header) > verdict.MaxFields+1 || kept > verdict.MaxHeader+maxFrame {
			t.Fatalf("%d fields, %d octets kept", len(m.header), kept)
		}
		over := int64(kept) < size
		if over && len(m.header) <= verdict.MaxFields && kept <= verdict.MaxHeader {
			t.Fatalf("cut at %d fields, %d octets: within the limits", len(m.header), kept)
		}
	})
}

// Each bound by itself, and nothing at all where nobody judges.
func TestWhatIsKept(t *testing.T) {
	for _, c := range []struct {
		name              string
		fields, size      int
		guarded           bool
		wantFields, least int // octets kept
	}{
		{"many fields", 1200, 10, true, verdict.MaxFields + 1, 0},
		{"large fields", 20, 60000, true, 5, verdict.MaxHeader},
		{"within the limits", 500, 10, true, 500, 0},
		{"unguarded", 10, 10, false, 0, 0},
	} {
		var m message
		m.begin(time.Now(), os.TempDir(), 0)
		if c.guarded {
			m.recipients = []recipient{{}}
		}
		for range c.fields {
			m.addField("X-Field", strings.Repeat("x", c.size))
		}
		if len(m.header) != c.wantFields || m.headerSize < c.least {
			t.Errorf("%s: %d fields, %d octets", c.name, len(m.header), m.headerSize)
		}
	}
	// No max_message is no limit.
	var m message
	m.begin(time.Now(), os.TempDir(), 0)
	defer m.body.close()
	if m.addBody([]byte("eggs")); m.judged().Body.Size() != 4 {
		t.Errorf("%d octets of the body are kept", m.judged().Body.Size())
	}
}

func TestForgedFieldsAreBounded(t *testing.T) {
	var m message
	m.begin(time.Now(), os.TempDir(), 0)
	for range 1 << 20 {
		if c := m.addField("Stile-X", ""); c != "" {
			if c != causeForged || m.forged != nil {
				t.Errorf("%s, %d kept", c, len(m.forged))
			}
			return
		}
	}
	t.Error("there is no end to them")
}

func TestRecipientsAreBounded(t *testing.T) {
	var m message
	for range 1 << 20 {
		if c := m.addRecipient(recipient{argument: "a@b.example"}); c != "" {
			return
		}
	}
	t.Error("there is no end to them")
}

// A body over the bound of memory is judged and shown as any other, and its
// file has no name.
func TestLargeBody(t *testing.T) {
	spec := signed.Spec{Body: strings.Repeat("eggs and milk and bread\r\n", 20000)}
	p := run(t, signed.Lookup(t, spec), nil)
	c := p.dial()
	c.envelope("friend@example.org", shopper)
	_, a := c.content(signed.Mail(t, spec))
	is(t, a, dj.ActionAccept)
	if n := entries(t, p.spool); n != 0 {
		t.Errorf("%d names in the folder", n)
	}
}

func TestSpoolFailureDefers(t *testing.T) {
	p := run(t, noKeys, nil)
	must(t, os.RemoveAll(p.spool))
	_, a := p.dial().deliver(signed.Mail(t, signed.Spec{Unsigned: true, Body: strings.Repeat("x\r\n", 200000)}), shopper)
	isTryLater(t, a)
	if n := len(p.lines("reason=internal cause=spool")); n != 1 {
		t.Errorf("%d lines:\n%s", n, p.log)
	}
}

// broken is a connection whose writes fail after some octets.
type broken struct {
	net.Conn
	left int
}

func (b *broken) Write(p []byte) (int, error) {
	if b.left -= len(p); b.left < 0 {
		return 0, io.ErrClosedPipe
	}
	return b.Conn.Write(p)
}

// An error while modifications are sent never ends in acceptance.
func TestModificationsFail(t *testing.T) {
	spec := signed.Spec{}
	raw := signed.Mail(t, spec)
	input := untilRcpt
	for _, f := range splitAll(raw) {
		input += frame(milter.CodeHeader, f.Name+"\x00"+strings.ReplaceAll(f.Value, "\r\n", "\n")+"\x00")
	}
	_, body, _ := strings.Cut(raw, "\r\n\r\n")
	input += eohFrame + frame(milter.CodeBody, body) + eomFrame + quitFrame
	p := run(t, signed.Lookup(t, spec), nil)
	before, whole := 0, 0 // octets of answers: of those to commands, of all but the last
	for _, r := range p.speak(input) {
		switch r[0] {
		case 'a':
		case 'O', 'c':
			before += 4 + len(r)
			whole += 4 + len(r)
		default:
			whole += 4 + len(r)
		}
	}
	// Fewer by ten, for a stamp is not always of one length.
	for left := before; left < whole-10; left += 100 {
		p := run(t, signed.Lookup(t, spec), nil)
		ours, theirs := net.Pipe()
		p.server.start(&broken{ours, left})
		go func() { _, _ = io.WriteString(theirs, input) }()
		must(t, theirs.SetReadDeadline(time.Now().Add(10*time.Second)))
		got, err := io.ReadAll(theirs)
		must(t, err)
		if strings.HasSuffix(string(got), "\x00\x00\x00\x01a") {
			t.Errorf("after %d octets of %d: accepted", left, whole)
		}
		if n := len(p.lines("verdict=defer reason=internal cause=send")); n != 1 {
			t.Errorf("after %d octets of %d: %d lines\n%s", left, whole, n, p.log)
		}
	}
}

// framesOf draws a session of commands in any order, some of them broken.
func framesOf(t *rapid.T) string {
	var b strings.Builder
	if rapid.IntRange(0, 9).Draw(t, "proper") > 0 {
		b.WriteString(offerFrame + connectFrame)
	}
	text := rapid.StringOfN(rapid.RuneFrom([]rune("a@.<>:;\" \n\r\x00\x80")), 0, 40, -1)
	for range rapid.IntRange(0, 30).Draw(t, "frames") {
		switch rapid.IntRange(0, 14).Draw(t, "kind") {
		case 0:
			b.WriteString(frame(milter.Code(rapid.Byte().Draw(t, "code")), text.Draw(t, "data")))
		case 1:
			b.WriteString(frame(milter.CodeHeader, text.Draw(t, "field")))
		case 2:
			b.WriteString(rapid.StringN(0, 20, 40).Draw(t, "garbage"))
		case 3:
			b.WriteString(frame(milter.CodeBody, strings.Repeat("x", rapid.IntRange(0, 1<<16-1).Draw(t, "octets"))))
		case 4, 5:
			b.WriteString(eomFrame)
		case 6:
			b.WriteString(abortFrame)
		case 7, 8:
			b.WriteString(untilBody[len(offerFrame+connectFrame):])
		default:
			b.WriteString(rapid.SampledFrom([]string{mailFrame, macroFrame, rcptFrame, headerFrame, eohFrame, bodyFrame}).Draw(t, "frame"))
		}
	}
	return b.String()
}

// Whatever a peer sends, nothing unproved is accepted, nothing panics, and what
// a session held is let go of.
func TestAnyFrames(t *testing.T) {
	p := run(t, noKeys, nil)
	p.speak(untilBody + bodyFrame + eomFrame)
	before := runtime.NumGoroutine()
	rapid.Check(t, func(t *rapid.T) {
		got := p.speak(framesOf(t))
		for _, r := range got {
			if !strings.Contains("Ocyd", r[:1]) {
				t.Fatalf("answered %q", codes(got))
			}
		}
	})
	if lines := p.lines("level=ERROR"); len(lines) > 0 {
		t.Errorf("the log says %q", lines[0])
	}
	for !p.metric("stile_sessions 0") {
	}
	for runtime.NumGoroutine() > before {
		runtime.Gosched()
	}
	if n := entries(t, p.spool); n != 0 {
		t.Errorf("%d names in the spool's folder", n)
	}
	// It still works.
	p.dial()
}

// FuzzFrames sends octets as they are.
func FuzzFrames(f *testing.F) {
	for _, seed := range []string{
		untilBody + bodyFrame + eomFrame, untilRcpt + headerFrame[:9], offerFrame + eomFrame,
		untilRcpt + frame(milter.CodeHeader, "X-A\x00 b\x00c\x00") + eohFrame + eomFrame,
		untilBody + abortFrame + mailFrame + quitFrame, "\xff\xff\xff\xff",
	} {
		f.Add([]byte(seed))
	}
	p := run(f, noKeys, nil)
	f.Fuzz(func(t *testing.T, input []byte) {
		if len(input) > 1<<20 || !onlyGuarded(input) {
			return
		}
		got := speak(t, p.socket, string(input))
		for _, r := range got {
			if r[0] == 'a' {
				t.Fatalf("answered %q", codes(got))
			}
		}
		if lines := p.lines("level=ERROR"); len(lines) > 0 {
			t.Fatalf("the log says %q", lines[0])
		}
	})
}

// onlyGuarded reports whether no macro names another recipient: mail for others
// is accepted, and rightly.
func onlyGuarded(input []byte) bool {
	for len(input) >= 5 {
		n := int64(binary.BigEndian.Uint32(input))
		data := input[5:]
		if n >= 1 && n-1 < int64(len(data)) {
			data = data[:n-1]
		}
		if input[4] == 'D' && strings.Contains(string(data), "{rcpt_addr}\x00") &&
			strings.Count(string(data), "shopping@estate.example\x00") != strings.Count(string(data), "{rcpt_addr}\x00") {
			return false
		}
		if n < 1 || 4+n > int64(len(input)) {
			return true
		}
		input = input[4+n:]
	}
	return true
}
