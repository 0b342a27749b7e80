package stamp

import (
	"encoding/base64"
	"encoding/hex"
	"strings"
	"unicode/utf8"
)

// valueLimit bounds what DecodeWords reads: the MTA carries no longer field.
const valueLimit = 60_000

// DecodeWords reads what [EncodeWords] wrote, folded or not: encoded words of
// UTF-8 with white space between them, and nothing else. Each word must be
// complete in itself, without a split character. The error is [ErrFormat].
func DecodeWords(value string) (string, error) {
	if len(value) > valueLimit {
		return "", ErrFormat
	}
	words := strings.FieldsFunc(value, func(r rune) bool {
		return r == ' ' || r == '\t' || r == '\r' || r == '\n'
	})
	if len(words) == 0 {
		return "", ErrFormat
	}
	var b strings.Builder
	for _, word := range words {
		text, ok := decodeWord(word)
		if !ok {
			return "", ErrFormat
		}
		b.WriteString(text)
	}
	return b.String(), nil
}

// decodeWord reads one encoded word (RFC 2047, 2).
func decodeWord(word string) (string, bool) {
	if len(word) > wordLimit {
		return "", false
	}
	parts := strings.Split(word, "?")
	if len(parts) != 5 {
		return "", false
	}
	if parts[0] != "=" {
		return "", false
	}
	if parts[4] != "=" {
		return "", false
	}
	if !strings.EqualFold(parts[1], "utf-8") {
		return "", false
	}
	var text []byte
	var ok bool
	switch parts[2] {
	case "q", "Q":
		text, ok = decodeQ(parts[3])
	case "b", "B":
		text, ok = decodeB(parts[3])
	}
	if !ok {
		return "", false
	}
	// A character split over two words is another text to some decoders
	// (RFC 2047, 5).
	if !utf8.Valid(text) {
		return "", false
	}
	return string(text), len(text) > 0
}

// decodeQ reads the text of a Q word.
func decodeQ(s string) ([]byte, bool) {
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '_':
			out = append(out, ' ')
		case isPlainQ(c):
			out = append(out, c)
		case c == '=' && i+2 < len(s):
			octet, err := hex.DecodeString(s[i+1 : i+3])
			if err != nil {
				return nil, false
			}
			out = append(out, octet...)
			i += 2
		default:
			return nil, false
		}
	}
	return out, true
}

// decodeB reads the text of a B word, which has no second spelling.
func decodeB(s string) ([]byte, bool) {
	out, err := base64.StdEncoding.Strict().DecodeString(s)
	return out, err == nil
}
