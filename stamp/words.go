package stamp

import (
	"encoding/base64"
	"errors"
	"strings"
	"unicode/utf8"
)

const (
	wordLimit = 75 // octets of one encoded word (RFC 2047, 2)
	wordLeast = 24 // octets of a Q word of one character of four octets
	openQ     = "=?utf-8?q?"
	openB     = "=?utf-8?b?"
	closeWord = "?="
)

var errNotText = errors.New("stamp: the text is empty or not UTF-8")

// EncodeWords gives the value of a field of that name that decodes to text:
// RFC 2047 encoded words in UTF-8, one a line, each Q or B, whichever is
// shorter, lines of at most 76 octets, pure ASCII, a leading space, CRLF folds.
//
// Each line of text begins a new word, so that a person can read the field
// raw. Where that would be over 48 KiB on the wire, name and line ends counted,
// lines of text share words, and then 24 KiB of text always fit. Text that does
// not fit even so is an error, and so is text that is empty or not UTF-8.
func EncodeWords(name, text string) (string, error) {
	if text == "" {
		return "", errNotText
	}
	if !utf8.ValidString(text) {
		return "", errNotText
	}
	if len(name)+len(": ")+wordLeast > lineWish {
		return "", errTooLong
	}
	value := encode(name, text, false)
	if wire(name, value) > wireLimit {
		value = encode(name, text, true)
	}
	// The MTA would cut the field's end off, and with it the fence's last line.
	if wire(name, value) > wireLimit {
		return "", errTooLong
	}
	return value, nil
}

// encode writes words one a line. Every octet of the text stands inside a
// word: decoders drop the white space between two words (RFC 2047, 6.2).
func encode(name, text string, share bool) string {
	var b strings.Builder
	room := lineWish - len(name) - len(": ")
	for text != "" {
		if b.Len() > 0 {
			b.WriteString("\r\n")
		}
		reach := len(text)
		if i := strings.IndexByte(text, '\n'); i >= 0 && !share {
			reach = i + len("\n")
		}
		word, n := encodeWord(text[:reach], room)
		b.WriteString(" " + word)
		text = text[n:]
		room = wordLimit
	}
	return b.String()
}

// encodeWord is the word of at most room octets that takes the most of text,
// and how many octets of text it takes. Of two that take the same it is the
// shorter one.
func encodeWord(text string, room int) (word string, n int) {
	q, nq := wordQ(text, room)
	b, nb := wordB(text, room)
	if nb > nq {
		return b, nb
	}
	if nb == nq && len(b) < len(q) {
		return b, nb
	}
	return q, nq
}

// wordQ encodes whole characters from the start of text (RFC 2047, 4.2 and 5):
// a space is "_", an octet that is not visible ASCII, or is one of "=?_", is
// hexadecimal.
func wordQ(text string, room int) (word string, n int) {
	const upperHex = "0123456789ABCDEF"
	out := append(make([]byte, 0, wordLimit), openQ...)
	for n < len(text) {
		_, size := utf8.DecodeRuneInString(text[n:])
		start := len(out)
		for _, c := range []byte(text[n : n+size]) {
			switch {
			case c == ' ':
				out = append(out, '_')
			case isPlainQ(c):
				out = append(out, c)
			default:
				out = append(out, '=', upperHex[c>>4], upperHex[c&15])
			}
		}
		if len(out)+len(closeWord) > room {
			out = out[:start]
			break
		}
		n += size
	}
	return string(append(out, closeWord...)), n
}

// isPlainQ reports whether an octet of a Q word stands for itself.
func isPlainQ(c byte) bool {
	return c > ' ' && c <= '~' && c != '=' && c != '?' && c != '_'
}

// wordB encodes whole characters from the start of text (RFC 2047, 4.1).
func wordB(text string, room int) (word string, n int) {
	n = min(len(text), (room-len(openB)-len(closeWord))/4*3)
	for n < len(text) && !utf8.RuneStart(text[n]) {
		n--
	}
	return openB + base64.StdEncoding.EncodeToString([]byte(text[:n])) + closeWord, n
}
