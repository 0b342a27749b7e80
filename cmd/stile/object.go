package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode"
	"unicode/utf16"
)

// object prints one JSON object on a line of its own, in which nothing stands
// raw that a terminal would not show: a file's name may be anyone's.
func (a *app) object(v any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err
	}
	_, err := a.stdout.Write(escapeHidden(b.Bytes()))
	return err
}

// escapeHidden writes what is not ASCII and cannot be seen as \uXXXX (RFC 8259,
// 7), which leaves the same JSON.
func escapeHidden(text []byte) []byte {
	out := make([]byte, 0, len(text))
	for _, r := range string(text) {
		switch {
		case r < unicode.MaxASCII || unicode.IsPrint(r):
			out = append(out, string(r)...)
		case r > 0xFFFF:
			high, low := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
	}
	return out
}
