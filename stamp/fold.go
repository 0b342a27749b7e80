package stamp

import (
	"errors"
	"strings"
)

const (
	lineWish  = 76       // octets of a line with an encoded word (RFC 2047, 2), our wish for all
	lineLimit = 998      // octets of any line (RFC 5322, 2.1.1)
	wireLimit = 48 << 10 // octets of a field; the MTA cuts one over 60,000 without a word
)

var errTooLong = errors.New("stamp: a field would be longer than the mail system carries whole")

// fold joins parts by "; " to a field's value, which begins with a space. A
// line is folded after a semicolon where it would exceed lineWish otherwise.
func fold(name string, parts []string) (string, error) {
	var b strings.Builder
	line := len(name) + len(":")
	for i, part := range parts {
		if i < len(parts)-1 {
			part += ";"
		}
		if i > 0 && line+len(" ")+len(part) > lineWish {
			b.WriteString("\r\n")
			line = 0
		}
		b.WriteString(" " + part)
		line += len(" ") + len(part)
		// A longer line is broken on delivery, with a space put into the value
		// (RFC 5322, 2.1.1): the seal would not verify.
		if line > lineLimit {
			return "", errTooLong
		}
	}
	// The MTA would cut the field's end off and still take the message.
	if wire(name, b.String()) > wireLimit {
		return "", errTooLong
	}
	return b.String(), nil
}

// wire counts the octets of a field with its name and line ends.
func wire(name, value string) int {
	return len(name) + len(":") + len(value) + len("\r\n")
}

// relaxed is the value after relaxed header canonicalization (RFC 6376,
// 3.4.2): unfolded, each run of white space one space, none at the ends. CR
// and LF that are no fold stay, and nothing that reads the result takes them.
func relaxed(value string) string {
	var b strings.Builder
	blank := false
	for i := 0; i < len(value); i++ {
		if isFold(value[i:]) {
			i++
			continue
		}
		if isBlank(value[i]) {
			blank = true
			continue
		}
		if blank && b.Len() > 0 {
			b.WriteByte(' ')
		}
		blank = false
		b.WriteByte(value[i])
	}
	return b.String()
}

// isFold reports whether s begins with a CRLF that white space follows.
func isFold(s string) bool {
	return len(s) > 2 && s[0] == '\r' && s[1] == '\n' && isBlank(s[2])
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' }
