package milter

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	dj "github.com/d--j/go-milter"
	"github.com/emersion/go-milter"

	"stile/tests/signed"
)

// frame is one frame of the protocol.
func frame(code milter.Code, data string) string {
	b := binary.BigEndian.AppendUint32(nil, uint32(len(data)+1))
	return string(append(b, byte(code))) + data
}

// Frames of a session that goes well. The offer is all that there is but the
// no-reply bits of wantNoReply, so that every command is answered.
var (
	offerFrame   = frame(milter.CodeOptNeg, "\x00\x00\x00\x06\x00\x00\x01\xff\x00\x1b\x8f\x7f")
	connectFrame = frame(milter.CodeConn, "client.example\x004\x9c\x40192.0.2.7\x00")
	mailFrame    = frame(milter.CodeMail, "<friend@example.org>\x00SIZE=100\x00")
	macroFrame   = frame(milter.CodeMacro, "R{rcpt_addr}\x00shopping@estate.example\x00")
	rcptFrame    = frame(milter.CodeRcpt, "<shopping@estate.example>\x00")
	headerFrame  = frame(milter.CodeHeader, "From\x00 friend@example.org\x00")
	eohFrame     = frame(milter.CodeEOH, "")
	bodyFrame    = frame(milter.CodeBody, "eggs\r\n")
	eomFrame     = frame(milter.CodeEOB, "")
	abortFrame   = frame(milter.CodeAbort, "")
	quitFrame    = frame(milter.CodeQuit, "")

	untilMail = offerFrame + connectFrame + mailFrame
	untilRcpt = untilMail + macroFrame + rcptFrame
	untilBody = untilRcpt + headerFrame + eohFrame
)

// speak sends frames, closes its half of the connection and returns the codes
// and data of the answers.
func speak(t testing.TB, socket, input string) (replies []string) {
	t.Helper()
	nc, err := net.Dial("unix", socket)
	must(t, err)
	defer nc.Close()
	must(t, nc.SetDeadline(time.Now().Add(20*time.Second)))
	sent := make(chan error, 1)
	go func() {
		// The other side may have closed in the middle; what it answered counts.
		_, _ = io.WriteString(nc, input)
		sent <- nc.(*net.UnixConn).CloseWrite()
	}()
	got, err := io.ReadAll(nc)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatal("the session did not end")
	}
	<-sent
	for len(got) >= 5 {
		n := binary.BigEndian.Uint32(got)
		if int(n) > len(got)-4 {
			t.Fatalf("a reply of %d octets, %d there", n, len(got)-4)
		}
		replies = append(replies, string(got[4:4+n]))
		got = got[4+n:]
	}
	return replies
}

func (p *place) speak(input string) []string {
	p.t.Helper()
	return speak(p.t, p.socket, input)
}

// codes are the first octets of the replies.
func codes(replies []string) string {
	var b strings.Builder
	for _, r := range replies {
		b.WriteByte(r[0])
	}
	return b.String()
}

func TestNegotiation(t *testing.T) {
	p := run(t, noKeys, nil)
	replies := p.speak(offerFrame + quitFrame)
	if len(replies) != 1 {
		t.Fatalf("%d replies", len(replies))
	}
	r := replies[0]
	actions, protocol := binary.BigEndian.Uint32([]byte(r[5:])), binary.BigEndian.Uint32([]byte(r[9:]))
	if actions != 0x119 {
		t.Errorf("actions %#x", actions)
	}
	if protocol != 1<<20|1<<10|1<<9|1<<8|1<<1 {
		t.Errorf("protocol %#x", protocol)
	}
	for _, want := range []string{"\x00\x00\x00\x03{rcpt_addr}\x00", "\x00\x00\x00\x05i\x00"} {
		if !strings.Contains(r[13:], want) {
			t.Errorf("the list of macros lacks %q: %q", want, r[13:])
		}
	}
}

// An MTA that cannot do what is needed is told so in the log, and its
// connection closed.
func TestPoorOffer(t *testing.T) {
	for _, c := range []struct{ name, offer string }{
		{"no leading space", "\x00\x00\x00\x06\x00\x00\x01\xff\x00\x0f\xff\xff"},
		{"no skip", "\x00\x00\x00\x06\x00\x00\x01\xff\x00\x1f\xfb\xff"},
		{"no choice of macros", "\x00\x00\x00\x06\x00\x00\x00\xff\x00\x1f\xff\xff"},
		{"no change of fields", "\x00\x00\x00\x06\x00\x00\x01\xef\x00\x1f\xff\xff"},
		{"no new fields", "\x00\x00\x00\x06\x00\x00\x01\xfe\x00\x1f\xff\xff"},
		{"no deletion of recipients", "\x00\x00\x00\x06\x00\x00\x01\xf7\x00\x1f\xff\xff"},
	} {
		p := run(t, noKeys, nil)
		if got := p.speak(frame(milter.CodeOptNeg, c.offer) + connectFrame); len(got) > 0 {
			t.Errorf("%s: answered %q", c.name, codes(got))
		}
		if n := len(p.lines(connPoorOffer)); n != 1 {
			t.Errorf("%s: %d lines", c.name, n)
		}
	}
}

// After what the library would misread, the message is not decided or the
// connection is closed. "y" is 451, "d" a refusal.
func TestFrames(t *testing.T) {
	rest := eohFrame + bodyFrame + eomFrame
	for _, c := range []struct{ name, input, want string }{
		{"well", untilBody + bodyFrame + eomFrame, "Occccccd"},
		{"no body", untilBody + eomFrame, "Occcccd"},
		{"no macro at all", untilMail + frame(milter.CodeMacro, "M") + macroFrame + rcptFrame + headerFrame + rest, "Occccccd"},
		{"an empty value", untilRcpt + frame(milter.CodeHeader, "X\x00\x00") + rest, "Occccccd"},

		{"NUL in a value", untilRcpt + frame(milter.CodeHeader, "X-A\x00 b\x00c\x00") + headerFrame + rest, "Occcccccy"},
		{"NUL and another field", untilRcpt + frame(milter.CodeHeader, "X-A\x00 b\x00From\x00 a@b.example\x00") + rest, "Occccccy"},
		{"an empty name", untilRcpt + frame(milter.CodeHeader, "\x00 b\x00") + rest, "Occccccy"},
		{"a name alone", untilRcpt + frame(milter.CodeHeader, "X-A\x00") + rest, "Occccccy"},
		{"a field not ended", untilRcpt + frame(milter.CodeHeader, "X-A\x00 b") + rest, "Occccccy"},
		{"an empty field", untilRcpt + frame(milter.CodeHeader, "") + rest, "Occccccy"},
		{"a body at the end", untilBody + frame(milter.CodeEOB, "more\r\n"), "Occcccy"},
		{"brackets", untilMail + macroFrame + frame(milter.CodeRcpt, "<<shopping@estate.example>>\x00") + headerFrame + rest, "Occccccy"},
		{"an argument not ended", untilMail + macroFrame + frame(milter.CodeRcpt, "<shopping@estate.example>") + headerFrame + rest, "Occccccy"},

		{"an unknown command", offerFrame + frame('U', "x\x00") + untilMail[len(offerFrame):], "O"},
		{"another connection", offerFrame + frame(milter.CodeQuitNewConn, "") + connectFrame, "O"},
		{"two negotiations", offerFrame + offerFrame, "O"},
		{"no negotiation", connectFrame + mailFrame, ""},
		{"a short negotiation", frame(milter.CodeOptNeg, "\x00\x00\x00\x06"), ""},
		{"macros without a name", untilMail + frame(milter.CodeMacro, "R\x00shopping@estate.example\x00") + rcptFrame, "Occ"},
		{"macros not ended", untilMail + frame(milter.CodeMacro, "R{rcpt_addr}\x00a") + rcptFrame, "Occ"},
		{"macros not in pairs", untilMail + frame(milter.CodeMacro, "Ri\x00") + rcptFrame, "Occ"},
		{"macros for nothing", untilMail + frame(milter.CodeMacro, "") + rcptFrame, "Occ"},
		{"a sender in brackets", offerFrame + connectFrame + frame(milter.CodeMail, "<<a@b.example>>\x00"), "Oc"},
		{"a client without an address", offerFrame + frame(milter.CodeConn, "client.example\x004\x9c\x40") + mailFrame, "O"},
		{"a client of no family", offerFrame + frame(milter.CodeConn, "client.example\x00X\x9c\x40x\x00") + mailFrame, "O"},
		{"a client without a family", offerFrame + frame(milter.CodeConn, "client.example\x00") + mailFrame, "O"},
		{"an empty frame", untilMail + "\x00\x00\x00\x00" + rcptFrame, "Occ"},
		{"a frame too long", untilRcpt + "\x00\x02\x00\x01" + strings.Repeat("L", 1<<17+1), "Occc"},
		{"a frame far too long", untilRcpt + "\xff\xff\xff\xff", "Occc"},
		{"half a frame", untilRcpt + headerFrame[:9], "Occc"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := run(t, noKeys, nil)
			got := p.speak(c.input)
			if codes(got) != c.want {
				t.Errorf("answered %q, want %q", codes(got), c.want)
			}
			if c.name == "half a frame" {
				return // the MTA's own affair
			}
			want := 1
			if strings.HasSuffix(c.want, "y") || strings.HasSuffix(c.want, "d") {
				want = 0
			}
			if n := len(p.lines(connBadFrame)); n != want {
				t.Errorf("%d lines, want %d:\n%s", n, want, p.log)
			}
		})
	}
}

// The end of a message in which a command was out of order is answered 451, and
// so is the command where it may be.
func TestOrder(t *testing.T) {
	for _, c := range []struct{ name, input, want string }{
		{"CONNECT twice", offerFrame + connectFrame + connectFrame + untilBody[len(offerFrame+connectFrame):] + eomFrame, "Occcyccy"},
		{"MAIL before CONNECT", offerFrame + mailFrame + macroFrame + rcptFrame + headerFrame + eohFrame + eomFrame, "Ocyccy"},
		{"end before CONNECT", offerFrame + eomFrame, "Oy"},
		{"RCPT before MAIL", offerFrame + connectFrame + macroFrame + rcptFrame, "Ocy"},
		{"header before MAIL", offerFrame + connectFrame + headerFrame + eomFrame, "Occy"},
		{"header before RCPT", untilMail + headerFrame + eomFrame, "Occcy"},
		{"header's end before RCPT", untilMail + eohFrame + eomFrame, "Occcy"},
		{"body before the header's end", untilRcpt + bodyFrame, "Occcy"},
		{"end before RCPT", untilMail + eomFrame, "Occy"},
		{"end before the header's end", untilRcpt + headerFrame + eomFrame, "Occccy"},
		{"RCPT in the header", untilRcpt + headerFrame + macroFrame + rcptFrame + eohFrame + eomFrame, "Occccycy"},
		{"header behind its end", untilBody + headerFrame + eomFrame, "Occccccy"},
		{"header's end twice", untilBody + eohFrame + eomFrame, "Occccccy"},
		{"end twice", untilBody + eomFrame + eomFrame, "Occcccdy"},
		{"body behind the end", untilBody + eomFrame + bodyFrame, "Occcccdy"},
		{"a new message all the same", untilRcpt + bodyFrame + untilBody[len(offerFrame+connectFrame):] + eomFrame, "Occcyccccd"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := run(t, noKeys, nil)
			got := p.speak(c.input)
			if codes(got) != c.want {
				t.Errorf("answered %q, want %q", codes(got), c.want)
			}
			for _, r := range got {
				if r[0] == 'y' && !strings.HasPrefix(r, "y451 4.7.1 ") {
					t.Errorf("answered %q", r)
				}
			}
		})
	}
}

// Mail that fails before a mailbox is known is counted and logged as nobody's.
func TestDeferredForNobody(t *testing.T) {
	p := run(t, noKeys, nil)
	p.speak(untilMail + eomFrame)
	if n := len(p.lines("policy=none verdict=defer reason=internal cause=order")); n != 1 {
		t.Errorf("%d lines:\n%s", n, p.log)
	}
	if !p.metric(`stile_messages_total{policy="none",reason="internal",verdict="defer"} 1`) {
		t.Error("it is not counted")
	}
}

func TestNoMacro(t *testing.T) {
	p := run(t, noKeys, nil)
	// The second recipient comes without its macro; the first one's is not its.
	input := untilRcpt + frame(milter.CodeRcpt, "<other@other.example>\x00") + headerFrame + eohFrame + eomFrame
	if got := codes(p.speak(input)); got != "Occccccy" {
		t.Errorf("answered %q", got)
	}
	if n := len(p.lines("queue=-", "reason=internal cause=no-macro")); n != 1 {
		t.Errorf("%d lines:\n%s", n, p.log)
	}
	if n := len(p.records()); n > 0 {
		t.Errorf("%d records", n)
	}
}

// MAIL and ABORT forget what was in hand, and what the library keeps of the
// message before is not read.
func TestStateIsReset(t *testing.T) {
	spec := signed.Spec{}
	for _, c := range []struct {
		name string
		end  func(*mta)
	}{
		{"end", func(c *mta) { c.content("From: other@other.example\r\nX-Stile-Old: x\r\n\r\nold\r\n") }},
		{"ABORT in the header", func(c *mta) {
			c.cont(c.s.HeaderField("From", " other@other.example", nil))
			must(c.t, c.s.Abort(nil))
		}},
		{"ABORT twice", func(c *mta) {
			must(c.t, c.s.Abort(nil))
			must(c.t, c.s.Abort(nil))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := run(t, signed.Lookup(t, spec), nil)
			client := p.dial()
			client.envelope("", rcpt{"travel@estate.example", "travel@estate.example"}, rcpt{"bob@other.example", "bob@other.example"})
			c.end(client)
			raw := signed.Mail(t, spec)
			acts, a := client.deliver(raw, shopper)
			is(t, a, dj.ActionAccept)
			_, removed := applied(t, signed.Message(t, raw).Header, acts)
			if len(acts) != 3 || len(removed) > 0 {
				t.Errorf("modified: %+v", acts)
			}
		})
	}
	t.Run("MAIL", func(t *testing.T) {
		p := run(t, noKeys, nil)
		again := untilBody[len(offerFrame+connectFrame):]
		if got := codes(p.speak(untilBody + bodyFrame + again + eomFrame)); got != "Occccccccccd" {
			t.Errorf("answered %q", got)
		}
		if r := p.records()[0]; r.Size != int64(len("From: friend@example.org\r\n\r\n")) {
			t.Errorf("size %d", r.Size)
		}
	})
}

func TestQueueID(t *testing.T) {
	for _, c := range []struct{ id, want string }{
		{"4QfT3z0Kbz1", "4QfT3z0Kbz1"}, {"A", "A"}, {strings.Repeat("a", 32), strings.Repeat("a", 32)},
		{"", ""}, {strings.Repeat("a", 33), ""}, {"a b", ""}, {"a\nb", ""}, {"ä", ""}, {"a-b", ""},
	} {
		m := &milter.Modifier{Macros: map[string]string{"i": c.id}}
		if got := queueID(m); got != c.want {
			t.Errorf("%q: %q, want %q", c.id, got, c.want)
		}
		if got := queueID(m); got != "" {
			t.Errorf("%q is read twice", c.id)
		}
	}
	if got := queueID(&milter.Modifier{}); got != "" {
		t.Errorf("no macro: %q", got)
	}
}

func TestFrameHelper(t *testing.T) {
	if got := frame('L', "ab"); !bytes.Equal([]byte(got), []byte{0, 0, 0, 3, 'L', 'a', 'b'}) {
		t.Fatalf("%q", got)
	}
}
