package milter

import (
	"fmt"
	"io"
	"net"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/emersion/go-milter"
	"pgregory.net/rapid"

	"stile/tests/signed"
	"stile/verdict"
)

// sequence is a session that delivers a message, frame by frame.
func sequence(raw string) []string {
	frames := []string{offerFrame, connectFrame, mailFrame, macroFrame, rcptFrame}
	for _, f := range splitAll(raw) {
		frames = append(frames, frame(milter.CodeHeader, f.Name+"\x00"+strings.ReplaceAll(f.Value, "\r\n", "\n")+"\x00"))
	}
	_, body, _ := strings.Cut(raw, "\r\n\r\n")
	half := len(body) / 2
	return append(frames, eohFrame, frame(milter.CodeBody, body[:half]), frame(milter.CodeBody, body[half:]), eomFrame)
}

// inOrder is a message whose commands come as they may.
var inOrder = regexp.MustCompile(`^MR+L*NB*$`)

// provable counts the messages of a session that may be accepted: those whose
// commands are in order and that are accepted, exactly as they were said.
func provable(t *testing.T, frames []string, judge func(verdict.Message) bool) (n int) {
	t.Helper()
	if len(frames) == 0 || frames[0] != offerFrame {
		return 0
	}
	connected, macro := false, false
	var codes strings.Builder
	var header []verdict.Field
	var body strings.Builder
	for _, f := range frames[1:] {
		data := f[5:]
		switch f[4] {
		case 'C':
			connected = true
		case 'M':
			codes.Reset()
			header, body = nil, strings.Builder{}
			if !connected {
				codes.WriteByte('?')
			}
		case 'D':
			macro = true
			continue
		case 'R':
			// Each recipient has a macro of its own.
			if !macro {
				codes.WriteByte('?')
			}
			macro = false
		case 'L':
			name, value, _ := strings.Cut(strings.TrimSuffix(data, "\x00"), "\x00")
			header = append(header, verdict.Field{Name: name, Value: strings.ReplaceAll(value, "\n", "\r\n")})
		case 'B':
			body.WriteString(data)
		case 'A':
			macro = false
			codes.Reset()
			continue
		case 'E':
			text := body.String()
			m := verdict.Message{Header: header, Body: io.NewSectionReader(strings.NewReader(text), 0, int64(len(text))), Size: int64(len(text))}
			if inOrder.MatchString(codes.String()) && judge(m) {
				n++
			}
			codes.Reset()
			continue
		}
		codes.WriteByte(f[4])
	}
	return n
}

// TestOnlyTheWholeIsAccepted: whatever is left out of good sessions, said twice
// or put elsewhere, nothing is accepted but a whole message that is proved.
func TestOnlyTheWholeIsAccepted(t *testing.T) {
	spec := signed.Spec{Ed25519: true, Body: "eggs\r\nmilk\r\n"}
	lookup := signed.Lookup(t, spec)
	good := sequence(signed.Mail(t, spec))
	other := sequence(signed.Mail(t, signed.Spec{Ed25519: true, Body: "pay the bill\r\n", Unsigned: true}))
	p := run(t, lookup, nil)
	judge := func(m verdict.Message) bool {
		c := verdict.Open(m, verdict.Env{Lookup: lookup, Now: time.Now()})
		return c.Judge(t.Context(), p.server.o.Config.Mailboxes[0].Policy()).Outcome() == verdict.Accept
	}
	accepts := func(frames []string) (n int) {
		for _, r := range p.speak(strings.Join(frames, "")) {
			if r[0] == 'a' {
				n++
			}
		}
		return n
	}
	if got, want := accepts(good), provable(t, good, judge); got != 1 || want != 1 {
		t.Fatalf("the session as it is: %d accepted, %d provable", got, want)
	}
	rapid.Check(t, func(r *rapid.T) {
		frames := slices.Clone(good)
		for range rapid.IntRange(0, 2).Draw(r, "more messages") {
			frames = append(frames, rapid.SampledFrom([][]string{good, other}).Draw(r, "message")[2:]...)
		}
		for range rapid.IntRange(1, 4).Draw(r, "edits") {
			i := rapid.IntRange(0, len(frames)-1).Draw(r, "at")
			j := rapid.IntRange(0, len(frames)-1).Draw(r, "and at")
			switch rapid.IntRange(0, 4).Draw(r, "edit") {
			case 0:
				frames = slices.Delete(frames, i, min(i+1, len(frames)-1))
			case 1:
				frames = slices.Insert(frames, j, frames[i])
			case 2:
				frames[i], frames[j] = frames[j], frames[i]
			case 3:
				frames = slices.Insert(frames, i, rapid.SampledFrom(slices.Concat(other, []string{abortFrame})).Draw(r, "frame"))
			case 4:
				frames = frames[:i+1]
			}
		}
		if got, most := accepts(frames), provable(t, frames, judge); got > most {
			r.Fatalf("%d accepted, %d provable: %q", got, most, frames)
		}
	})
}

// TestSessionIsBounded: however much of anything a peer says in one session,
// what is kept in memory meanwhile stays small.
func TestSessionIsBounded(t *testing.T) {
	const said, bound = 16 << 20, 4 << 20
	large := strings.Repeat("x", 60_000)
	for name, c := range map[string]struct {
		until string
		frame func(i int) string
	}{
		"fields": {untilRcpt, func(i int) string { return frame(milter.CodeHeader, fmt.Sprintf("X-%d\x00 %s\x00", i, large)) }},
		"forged": {untilRcpt, func(i int) string { return frame(milter.CodeHeader, fmt.Sprintf("Stile-%d\x00 %s\x00", i, large)) }},
		"body":   {untilBody, func(int) string { return frame(milter.CodeBody, large) }},
		"recipients": {untilRcpt, func(i int) string {
			return macroFrame + frame(milter.CodeRcpt, fmt.Sprintf("<%d%s@x.example>\x00", i, large))
		}},
		"macros": {untilRcpt, func(i int) string { return frame(milter.CodeMacro, fmt.Sprintf("R{a%d}\x00%s\x00", i, large)) }},
		"messages": {untilRcpt, func(int) string {
			return headerFrame + eohFrame + frame(milter.CodeBody, large) + abortFrame + untilRcpt[len(offerFrame+connectFrame):]
		}},
	} {
		t.Run(name, func(t *testing.T) {
			p := run(t, noKeys, nil)
			nc, err := net.Dial("unix", p.socket)
			must(t, err)
			defer nc.Close()
			must(t, nc.SetDeadline(time.Now().Add(time.Minute)))
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			_, err = io.WriteString(nc, c.until)
			must(t, err)
			ended := make(chan struct{})
			go func() {
				_, _ = io.Copy(io.Discard, nc) // it ends when either side closes
				close(ended)
			}()
			for i, n := 0, 0; n < said; i++ {
				f := c.frame(i)
				// A peer that says too much may be cut off.
				if _, err := io.WriteString(nc, f); err != nil {
					break
				}
				n += len(f)
			}
			runtime.GC()
			runtime.ReadMemStats(&after)
			if kept := int64(after.HeapAlloc) - int64(before.HeapAlloc); kept > bound {
				t.Errorf("%d octets are kept", kept)
			}
			must(t, nc.Close())
			<-ended
		})
	}
}
