package milter

import (
	"bufio"
	"encoding/binary"
	"io"
	"log/slog"
	"net"
	"net/textproto"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	dj "github.com/d--j/go-milter"
	"github.com/emersion/go-milter"
	"pgregory.net/rapid"

	"stile/tests/signed"
)

// unanswered are the commands that may be left without an answer, each with its
// bit by number (milter-protocol-extras) and a frame of it.
var unanswered = []struct {
	name  string
	bit   uint32
	frame string
}{
	{"CONNECT", 1 << 12, connectFrame},
	{"HELO", 1 << 13, frame(milter.CodeHelo, "client.example\x00")},
	{"MAIL", 1 << 14, mailFrame},
	{"header", 1 << 7, headerFrame},
	{"end of header", 1 << 18, eohFrame},
}

// offering is an offer of all that is there with no-reply bits but those.
func offering(bits uint32) string {
	data := "\x00\x00\x00\x06\x00\x00\x01\xff"
	return frame(milter.CodeOptNeg, data+string(binary.BigEndian.AppendUint32(nil, 0x1b8f7f|bits)))
}

// everyBit is the offer of Postfix.
var everyBit = offering(0x1fffff)

// The no-reply bits are answered as far as they are offered, and those of RCPT
// and BODY never.
func TestNoReplyBits(t *testing.T) {
	const wanted = 1<<7 | 1<<12 | 1<<13 | 1<<14 | 1<<18
	p := run(t, noKeys, nil)
	rapid.Check(t, func(t *rapid.T) {
		offered := rapid.Uint32Range(0, 1<<21-1).Draw(t, "offered")
		r := p.speak(offering(offered) + quitFrame)
		if len(r) != 1 {
			t.Fatalf("%d replies", len(r))
		}
		if got, want := binary.BigEndian.Uint32([]byte(r[0][9:])), 1<<20|1<<10|1<<9|1<<8|1<<1|offered&wanted; got != want {
			t.Fatalf("%#x is answered to %#x, want %#x", got, offered, want)
		}
	})
}

// Each command alone: with its bit it has no answer, without it it has, and all
// others are answered.
func TestNoReplyCommands(t *testing.T) {
	helo := unanswered[1].frame
	session := connectFrame + helo + mailFrame + macroFrame + rcptFrame + headerFrame + headerFrame + eohFrame + bodyFrame + eomFrame
	at := map[string]int{"CONNECT": 1, "HELO": 2, "MAIL": 3, "header": 5, "end of header": 7}
	for _, c := range unanswered {
		t.Run(c.name, func(t *testing.T) {
			const all = "Occccccccd"
			p := run(t, noKeys, nil)
			if got := codes(p.speak(offering(0) + strings.ReplaceAll(session, headerFrame+headerFrame, headerFrame))); got != "Occcccccd" {
				t.Errorf("not offered: answered %q", got)
			}
			want := all[:at[c.name]] + all[at[c.name]+strings.Count(session, c.frame):]
			// The header's two fields have two From: refused all the same.
			if got := codes(p.speak(offering(c.bit) + session)); got != want {
				t.Errorf("offered: answered %q, want %q", got, want)
			}
		})
	}
	t.Run("all", func(t *testing.T) {
		p := run(t, noKeys, nil)
		if got := codes(p.speak(everyBit + session)); got != "Occd" {
			t.Errorf("answered %q: want one for RCPT, BODY and the end", got)
		}
	})
}

// rude answers every command by a verdict.
type rude struct {
	milter.NoOpMilter
	answer milter.Response
}

func (r rude) Connect(string, string, uint16, net.IP, *milter.Modifier) (milter.Response, error) {
	return r.answer, nil
}
func (r rude) Helo(string, *milter.Modifier) (milter.Response, error)      { return r.answer, nil }
func (r rude) MailFrom(string, *milter.Modifier) (milter.Response, error)  { return r.answer, nil }
func (r rude) BodyChunk([]byte, *milter.Modifier) (milter.Response, error) { return r.answer, nil }
func (r rude) Headers(textproto.MIMEHeader, *milter.Modifier) (milter.Response, error) {
	return r.answer, nil
}

// A verdict at a command that takes no answer does not reach the MTA, which
// would take it for another's: the connection ends, and so does the mail.
func TestNoReplyVerdict(t *testing.T) {
	for _, c := range unanswered {
		for _, answer := range []milter.Response{
			milter.RespAccept, milter.RespDiscard, milter.RespReject, milter.RespTempFail,
			replySkip, replyNoMailbox, replyTryLater("x"), milter.NewResponse(byte(milter.ActContinue), []byte("x")),
		} {
			log := &safeBuffer{}
			ours, theirs := net.Pipe()
			nc := &conn{Conn: ours, limits: usual, in: bufio.NewReaderSize(ours, readAhead), closed: func() {}}
			nc.session = &session{conn: nc, log: logger{slog.New(slog.NewTextHandler(log, nil))}}
			library := &milter.Server{NewMilter: func() milter.Milter { return rude{answer: answer} }, Protocol: wantProtocol}
			_ = library.Serve(&single{conn: nc})
			go func() { _, _ = io.WriteString(theirs, everyBit+c.frame+rcptFrame) }()
			must(t, theirs.SetReadDeadline(time.Now().Add(10*time.Second)))
			got, err := io.ReadAll(theirs)
			must(t, err)
			if n := int(binary.BigEndian.Uint32(got)); len(got) != 4+n {
				t.Errorf("%s, answer %q: %q reached the MTA", c.name, answer.Response().Code, got[4+n:])
			}
			if !strings.Contains(log.String(), connReply) {
				t.Errorf("%s, answer %q: the log says %q", c.name, answer.Response().Code, log)
			}
		}
	}
}

// An answer to the negotiation that is too short to hold the bits ends the
// session: what was agreed on would not be known.
func TestNoReplyShortAnswer(t *testing.T) {
	r := replies{command: milter.CodeOptNeg, unasked: wantNoReply}
	if out, ok := r.pass([]byte("\x00\x00\x00\x09O\x00\x00\x00\x02\x00\x00\x00\x01")); ok {
		t.Errorf("passed %q", out)
	}
}

// What spoils a message where no verdict may be said is answered 451 at its
// end, and nothing else is.
func TestNoReplySpoils(t *testing.T) {
	begin := everyBit + connectFrame
	header := mailFrame + macroFrame + rcptFrame + headerFrame
	rest := eohFrame + bodyFrame + eomFrame
	for _, c := range []struct{ name, input, want string }{
		{"well", begin + header + rest, "Occd"},
		{"CONNECT twice", begin + connectFrame + header + rest, "Oyyy"},
		{"CONNECT three times", begin + connectFrame + connectFrame + header + rest, "Oyyy"},
		{"MAIL before CONNECT", everyBit + header + rest, "Oyyy"},
		{"header before MAIL", begin + headerFrame + rest, "Oyy"},
		{"header before RCPT", begin + mailFrame + headerFrame + rest, "Oyy"},
		{"header's end before RCPT", begin + mailFrame + rest, "Oyy"},
		{"header's end twice", begin + header + eohFrame + rest, "Occy"},
		{"header behind its end", begin + header + eohFrame + headerFrame + bodyFrame + eomFrame, "Occy"},
		{"NUL in a value", begin + header + frame(milter.CodeHeader, "X-A\x00 b\x00c\x00") + rest, "Occy"},
		{"a name alone", begin + header + frame(milter.CodeHeader, "X-A\x00") + rest, "Occy"},
		{"an empty field", begin + header + frame(milter.CodeHeader, "") + rest, "Occy"},
		{"too many forged fields", begin + header + strings.Repeat(frame(milter.CodeHeader, "Stile-X\x00\x00"), maxForged/perEntry) + rest, "Occy"},
		{"and the next message", begin + header + frame(milter.CodeHeader, "") + rest + header + rest, "Occyccd"},
		{"but not after CONNECT twice", begin + connectFrame + header + rest + abortFrame + header + rest, "Oyyyyyy"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := run(t, noKeys, nil)
			if got := codes(p.speak(c.input)); got != c.want {
				t.Errorf("answered %q, want %q", got, c.want)
			}
		})
	}
}

// A panic at such a command is 451 at the message's end, too.
func TestNoReplyPanic(t *testing.T) {
	var asked atomic.Int32
	p := run(t, noKeys, func(s *Server) {
		s.o.Now = func() time.Time {
			if asked.Add(1) == 1 {
				panic("a clock without hands")
			}
			return time.Now()
		}
	})
	if got := codes(p.speak(everyBit + untilBody[len(offerFrame):] + bodyFrame + eomFrame)); got != "Oyyy" {
		t.Errorf("answered %q", got)
	}
	if n := len(p.lines("level=ERROR", "milter.(*session).begin")); n != 1 {
		t.Errorf("%d lines say where:\n%s", n, p.log)
	}
}

// Whatever a peer sends: with no-reply bits it hears what it hears without,
// but for the answers to those commands, which all are "continue".
func TestNoReplyLeavesNothingElseOut(t *testing.T) {
	p := run(t, noKeys, nil)
	rapid.Check(t, func(t *rapid.T) {
		input, negotiates := strings.CutPrefix(framesOf(t), offerFrame)
		if !negotiates {
			return
		}
		plain, quiet := codes(p.speak(offerFrame+input)), codes(p.speak(everyBit+input))
		want := "O"
		for rest, i := input, 1; i < len(plain); {
			code := milter.Code(rest[4])
			rest = rest[4+binary.BigEndian.Uint32([]byte(rest)):]
			if code == milter.CodeMacro || code == milter.CodeAbort {
				continue
			}
			if noReplyTo(code) == 0 {
				want += plain[i : i+1]
			} else if plain[i] != 'c' {
				t.Fatalf("%q is answered %q", byte(code), plain[i])
			}
			i++
		}
		if quiet != want {
			t.Fatalf("answered %q with no-reply bits, %q without: want %q", quiet, plain, want)
		}
	})
}

// Another implementation of the MTA's side, with every no-reply bit and with
// none, hears the same of good mail and of bad.
func TestNoReplyIndependentClient(t *testing.T) {
	spec := signed.Spec{}
	const none = dj.OptHeaderLeadingSpace | dj.OptSkip | dj.OptNoHelo | dj.OptNoData | dj.OptNoUnknown
	for _, c := range []struct {
		name     string
		protocol dj.OptProtocol
	}{
		{"none", none},
		{"header alone", none | dj.OptNoHeaderReply},
		{"all", none | dj.OptNoConnReply | dj.OptNoHeloReply | dj.OptNoMailReply | dj.OptNoHeaderReply | dj.OptNoEOHReply},
		{"more", none | dj.OptNoMailReply | dj.OptNoRcptReply | dj.OptNoBodyReply | dj.OptNoEOHReply},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := run(t, signed.Lookup(t, spec), nil)
			client := &mta{t: t, macros: dj.NewMacroBag()}
			var err error
			client.s, err = dj.NewClient("unix", p.socket, dj.WithProtocols(c.protocol)).Session(client.macros)
			must(t, err)
			defer client.s.Close()
			client.cont(client.s.Conn("client.example", dj.FamilyInet, 40000, "192.0.2.7"))
			client.cont(client.s.Helo("client.example"))
			for range 2 {
				_, a := client.deliver(signed.Mail(t, spec), shopper)
				is(t, a, dj.ActionAccept)
				_, a = client.deliver(signed.Mail(t, signed.Spec{Unsigned: true}), shopper)
				is(t, a, dj.ActionDiscard)
			}
		})
	}
}
