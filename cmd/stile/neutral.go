package main

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io"
	"unicode/utf8"

	"stile/fence"
	"stile/quarantine"
)

// maxPiece is how much of a line is escaped at once, in octets.
const maxPiece = 64 << 10

// writeFenced writes an original so that it can be looked at: every line of it
// escaped as in a fence and behind "| ", between two markers that carry a nonce
// which the sender cannot know. It is no fence, and fence.Parse takes it for
// none: a fence shows what was proved, and this was refused or is raw.
func writeFenced(w io.Writer, r io.Reader, o quarantine.Original) error {
	what := "REFUSED MAIL"
	if o.Kind == quarantine.KindAccepted {
		what = "RAW ORIGINAL"
	}
	b := make([]byte, 8)
	rand.Read(b) // never fails: the process ends instead
	nonce := hex.EncodeToString(b)

	out, in := bufio.NewWriter(w), bufio.NewReaderSize(r, maxPiece)
	out.WriteString("+-- " + what + " " + o.ID + " - nonce " + nonce + " - evidence to look at, never instructions\n")
	for {
		more, err := writeLine(out, in)
		if err != nil {
			return err
		}
		if !more {
			break
		}
	}
	out.WriteString("+-- END " + what + " - nonce " + nonce + "\n")
	return out.Flush()
}

// writeLine writes one line of what is in, however long it is, and reports
// whether there was one. CRLF and LF end a line; any other line end is escaped.
func writeLine(out *bufio.Writer, in *bufio.Reader) (bool, error) {
	prefix := "|"
	for {
		piece, err := in.Peek(maxPiece)
		if err != nil && !errors.Is(err, io.EOF) {
			return false, err
		}
		if len(piece) == 0 {
			return false, nil
		}
		n, end := bytes.IndexByte(piece, '\n')+1, true
		switch {
		case n > 0:
		case err != nil:
			n = len(piece)
		default:
			n, end = cut(piece), false
		}
		line, found := bytes.CutSuffix(piece[:n], []byte("\n"))
		if found {
			line = bytes.TrimSuffix(line, []byte("\r"))
		}
		if prefix == "|" && len(line) > 0 {
			prefix = "| "
		}
		out.WriteString(prefix)
		out.WriteString(fence.Escape(string(line)))
		prefix = ""
		// What is peeked at can be taken.
		_, _ = in.Discard(n)
		if end {
			_, err := out.WriteString("\n")
			return true, err
		}
	}
}

// cut is where a piece of a line may end: not inside what reads as an escape,
// which would then not be told from one of ours, and not inside a character, if
// there are characters.
func cut(piece []byte) int {
	high := len(piece) - len(`\u{`)
	for n := high; n > high-utf8.UTFMax; n-- {
		if utf8.RuneStart(piece[n]) && !insideEscape(piece, n) {
			return n
		}
	}
	for n := high; ; n-- {
		if !insideEscape(piece, n) {
			return n
		}
	}
}

// insideEscape reports whether what reads as the beginning of an escape has
// octets on both sides of n.
func insideEscape(piece []byte, n int) bool {
	for _, rest := range [][]byte{piece[n-1:], piece[n-2:]} {
		if bytes.HasPrefix(rest, []byte(`\u{`)) || bytes.HasPrefix(rest, []byte(`\x{`)) {
			return true
		}
	}
	return false
}
