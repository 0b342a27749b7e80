package verdict

import (
	"io"
	"strings"
)

// Field is one header field, byte for byte as it came (RFC 5322, 2.2).
type Field struct {
	Name  string // the octets before the colon
	Value string // the octets behind the colon, folds as CRLF, without the last CRLF

	// NoColon says that the line, held in Name, has no colon at all.
	NoColon bool
}

// Is reports whether the field has that name. Names compare without ASCII case.
func (f Field) Is(name string) bool {
	if len(f.Name) != len(name) {
		return false
	}
	for i := range len(name) {
		if lowerOctet(f.Name[i]) != lowerOctet(name[i]) {
			return false
		}
	}
	return true
}

// raw is the field with its line end, as a signature sees it.
func (f Field) raw() string { return f.Name + ":" + f.Value + "\r\n" }

// size counts the field's octets, name, colon and line ends.
func (f Field) size() int { return len(f.Name) + 1 + len(f.Value) + 2 }

// Message is a message as it is handed to judging.
type Message struct {
	Header []Field // top first

	// Body is what follows the empty line, as it came. It is read from the
	// start as often as needed, by several readers at once.
	Body *io.SectionReader

	// Size is the message's length in octets, the body's whole length
	// included even where Body was cut because it is over MaxMessage.
	Size int64

	// NullSender says that the envelope sender is <> (RFC 5321, 4.5.5).
	NullSender bool
}

// lowerASCII folds A-Z and nothing else: names and domains compare as bytes,
// and Unicode's folding would let U+017F stand for s.
func lowerASCII(s string) string {
	for i := 0; i < len(s); i++ {
		if lowerOctet(s[i]) != s[i] {
			b := []byte(s)
			for ; i < len(b); i++ {
				b[i] = lowerOctet(b[i])
			}
			return string(b)
		}
	}
	return s
}

func lowerOctet(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

// indexes returns the places of the fields of that name, top first.
func indexes(header []Field, name string) []int {
	var at []int
	for i, f := range header {
		if f.Is(name) {
			at = append(at, i)
		}
	}
	return at
}

// unfold takes the CRLF of each fold out (RFC 5322, 2.2.3).
func unfold(value string) string { return strings.ReplaceAll(value, "\r\n", "") }
