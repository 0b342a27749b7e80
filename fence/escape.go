package fence

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// char is one character of decoded text: a code point or, below zero, a byte
// that did not decode, as -1-byte.
type char int32

// maxUnit is the most characters that are shown or cut as one: the longest
// emoji sequence.
const maxUnit = 10

func badByte(b byte) char { return -1 - char(b) }

func appendRune(dst []byte, c char) []byte { return utf8.AppendRune(dst, rune(c)) }

// unit is the least that is shown or cut as one: a character, the escape that
// stands for one, or an emoji sequence.
type unit struct {
	taken  int   // characters of the text it stands for
	width  int   // characters shown
	hidden class // what it neutralises, visible for nothing
}

// appendUnit appends what is shown of the first unit of text, which is not
// empty. It looks at no more than maxUnit characters, none of them behind a
// line end.
func appendUnit(dst []byte, text []char) ([]byte, unit) {
	c := text[0]
	if c == '\\' {
		return appendBackslash(dst, text)
	}
	if ' ' <= c && c < 0x7F && (len(text) < 2 || text[1] < 0x7F) {
		return append(dst, byte(c)), unit{taken: 1, width: 1, hidden: visible}
	}
	if n := emojiLength(text); n > 0 {
		for _, c := range text[:n] {
			dst = appendRune(dst, c)
		}
		return dst, unit{taken: n, width: n, hidden: visible}
	}
	hidden := classOf(c)
	if hidden == visible {
		return appendRune(dst, c), unit{taken: 1, width: 1, hidden: visible}
	}
	before := len(dst)
	dst = appendEscape(dst, c)
	return dst, unit{taken: 1, width: len(dst) - before, hidden: hidden}
}

// appendBackslash escapes a backslash that begins what reads as an escape, so
// that every escape in a fence is stile's own.
func appendBackslash(dst []byte, text []char) ([]byte, unit) {
	if len(text) >= 3 && (text[1] == 'u' || text[1] == 'x') && text[2] == '{' {
		return append(dst, escapedBackslash...), unit{taken: 1, width: len(escapedBackslash), hidden: other}
	}
	return append(dst, '\\'), unit{taken: 1, width: 1, hidden: visible}
}

const (
	escapedBackslash = `\u{5C}`
	upperHex         = "0123456789ABCDEF"
)

// appendEscape appends \u{H} for a code point, upper-case hex without leading
// zeros, or \x{HH} for a byte.
func appendEscape(dst []byte, c char) []byte {
	if c < 0 {
		b := byte(-1 - c)
		return append(dst, '\\', 'x', '{', upperHex[b>>4], upperHex[b&15], '}')
	}
	shift := 0
	for c>>(shift+4) != 0 {
		shift += 4
	}
	dst = append(dst, `\u{`...)
	for ; shift >= 0; shift -= 4 {
		dst = append(dst, upperHex[c>>shift&15])
	}
	return append(dst, '}')
}

// chars splits a string into characters; bytes that are not UTF-8 stay bytes.
func chars(s string) []char {
	all := make([]char, 0, len(s))
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && size == 1 {
			all = append(all, badByte(s[i]))
		} else {
			all = append(all, char(r))
		}
		i += size
	}
	return all
}

// Escape neutralises s as the text of a fence is: one line in, one line out,
// line ends escaped too, nothing removed. Unescape gives s back.
func Escape(s string) string {
	text := chars(s)
	out := make([]byte, 0, len(s))
	for len(text) > 0 {
		var u unit
		out, u = appendUnit(out, text)
		text = text[u.taken:]
	}
	return string(out)
}

// Unescape gives back the bytes that a line of a fence stands for. It reports
// false where no escaping gives that line: a malformed or needless escape, a
// character that would have been escaped, bytes that are not UTF-8.
func Unescape(s string) (string, bool) {
	var out strings.Builder
	for s != "" {
		raw := rawLength(s)
		// A raw run must be what escaping leaves alone, else somebody else
		// wrote it.
		if Escape(s[:raw]) != s[:raw] {
			return "", false
		}
		out.WriteString(s[:raw])
		s = s[raw:]
		if s == "" {
			break
		}
		original, length := readEscape(s)
		if length == 0 {
			return "", false
		}
		out.WriteString(original)
		s = s[length:]
	}
	return out.String(), true
}

// rawLength is the length of s up to its first escape.
func rawLength(s string) int {
	for i := 0; i+2 < len(s); i++ {
		if beginsEscape(s[i:]) {
			return i
		}
	}
	return len(s)
}

func beginsEscape(s string) bool {
	return strings.HasPrefix(s, `\u{`) || strings.HasPrefix(s, `\x{`)
}

// readEscape reads the escape that s begins with: the bytes it stands for and
// its length, 0 if it is none of ours.
func readEscape(s string) (string, int) {
	end := strings.IndexByte(s, '}')
	if end < 0 || end > len(`\u{10FFFF`) {
		return "", 0
	}
	value, err := strconv.ParseUint(s[len(`\u{`):end], 16, 32)
	if err != nil {
		return "", 0
	}
	escape := s[:end+1]
	if s[1] == 'x' {
		return readByteEscape(escape, value)
	}
	// \u{5C} stands for a backslash only where the text goes on like an
	// escape, or was cut where it may have.
	if escape == escapedBackslash {
		rest := s[len(escape):min(len(s), len(escape)+len("u{"))]
		if !strings.HasPrefix("u{", rest) && !strings.HasPrefix("x{", rest) {
			return "", 0
		}
		return `\`, len(escape)
	}
	if value > utf8.MaxRune || !utf8.ValidRune(rune(value)) {
		return "", 0
	}
	if classOf(char(value)) == visible || string(appendEscape(nil, char(value))) != escape {
		return "", 0
	}
	return string(rune(value)), len(escape)
}

func readByteEscape(escape string, value uint64) (string, int) {
	if value > 0xFF || string(appendEscape(nil, badByte(byte(value)))) != escape {
		return "", 0
	}
	return string([]byte{byte(value)}), len(escape)
}
