package fence

import (
	"encoding/base64"
	"strings"
)

// subjectWidth is the most characters of a Subject that are shown.
const subjectWidth = 998

// showSubject decodes a Subject's value once (RFC 2047), unfolds it into one
// line and escapes it.
func showSubject(value string) textLine {
	text := trimBlanks(decodeWords(strings.ReplaceAll(value, "\r\n", "")))
	one := textLine{}
	var out []byte
	shown := 0
	for len(text) > 0 {
		before := len(out)
		var u unit
		out, u = appendUnit(out, text)
		text = text[u.taken:]
		if one.cut > 0 || shown+u.width > subjectWidth {
			out = out[:before]
			one.cut += u.width
			continue
		}
		shown += u.width
	}
	one.text = string(out)
	return one
}

func trimBlanks(text []char) []char {
	for len(text) > 0 && isBlank(text[0]) {
		text = text[1:]
	}
	for len(text) > 0 && isBlank(text[len(text)-1]) {
		text = text[:len(text)-1]
	}
	return text
}

func isBlank(c char) bool { return c == ' ' || c == '\t' }

// decodeWords decodes the encoded words of an unfolded value. One stands
// between white space or the ends; white space between two goes (RFC 2047,
// 6.2). What is none stays as it is.
func decodeWords(value string) []char {
	var out []char
	blanks := ""
	wasWord := false
	for value != "" {
		rest := strings.TrimLeft(value, " \t")
		blanks, value = value[:len(value)-len(rest)], rest
		end := strings.IndexAny(value, " \t")
		if end < 0 {
			end = len(value)
		}
		token := value[:end]
		value = value[end:]
		word, ok := decodeWord(token)
		if !ok {
			word = chars(token)
		}
		if !ok || !wasWord {
			out = append(out, chars(blanks)...)
		}
		out = append(out, word...)
		wasWord = ok
	}
	return out
}

// decodeWord decodes one encoded word, of any length (RFC 2047, 2). It reports
// false for one that is malformed or of a charset that is not known.
func decodeWord(token string) ([]char, bool) {
	inner, ok := strings.CutPrefix(token, "=?")
	if !ok {
		return nil, false
	}
	if inner, ok = strings.CutSuffix(inner, "?="); !ok {
		return nil, false
	}
	parts := strings.Split(inner, "?")
	if len(parts) != 3 || parts[2] == "" {
		return nil, false
	}
	label, _, _ := strings.Cut(parts[0], "*") // a language (RFC 2231, 5)
	set, known := lookUpCharset(label, true)
	if !known {
		return nil, false
	}
	octets, ok := decodeWordText(parts[1], parts[2])
	if !ok {
		return nil, false
	}
	return decodeAll(set, octets), true
}

func decodeWordText(encoding, text string) ([]byte, bool) {
	switch encoding {
	case "B", "b":
		octets, err := base64.StdEncoding.DecodeString(text)
		return octets, err == nil
	case "Q", "q":
		return decodeQ(text)
	}
	return nil, false
}

// decodeQ decodes the "Q" encoding (RFC 2047, 4.2).
func decodeQ(text string) ([]byte, bool) {
	out := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '_':
			out = append(out, ' ')
		case c == '=':
			if i+2 >= len(text) {
				return nil, false
			}
			b, ok := hexByte(text[i+1], text[i+2])
			if !ok {
				return nil, false
			}
			out = append(out, b)
			i += 2
		case c < '!' || c > '~':
			return nil, false
		default:
			out = append(out, c)
		}
	}
	return out, true
}

// decodeAll reads octets as characters.
func decodeAll(set charset, octets []byte) []char {
	d := set.start()
	out := make([]char, 0, len(octets)+stepRoom)
	var room [64]char
	for len(octets) > 0 {
		wrote, used := d.step(room[:], octets, true)
		out = append(out, room[:wrote]...)
		octets = octets[used:]
	}
	return out
}
