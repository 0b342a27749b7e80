package fence

import (
	"bufio"
	"io"
)

// transfer is a Content-Transfer-Encoding (RFC 2045, 6).
type transfer uint8

const (
	identity transfer = iota // 7bit, 8bit, binary, or no such field
	base64Encoding
	quotedPrintable
	unknownTransfer
)

// parseTransfer reads the field's value. A list, a parameter or an empty value
// is an unknown encoding: readers differ on those.
func parseTransfer(value string) transfer {
	s := fieldScanner{text: value}
	s.skip()
	name := s.token()
	s.skip()
	if !s.done() {
		return unknownTransfer
	}
	switch name {
	case "7bit", "8bit", "binary":
		return identity
	case "base64":
		return base64Encoding
	case "quoted-printable":
		return quotedPrintable
	}
	return unknownTransfer
}

// octets is a decoded body. bad counts what was malformed in the encoding, as
// far as the body was read.
type octets interface {
	io.Reader
	bad() int
}

// decodeTransfer reads the section through the encoding, which is known.
func decodeTransfer(body *io.SectionReader, encoding transfer) octets {
	switch encoding {
	case base64Encoding:
		return &base64Reader{in: bufio.NewReader(body)}
	case quotedPrintable:
		return &qpReader{body: body}
	}
	return identityReader{body}
}

type identityReader struct{ io.Reader }

func (identityReader) bad() int { return 0 }

// base64Reader decodes base64 (RFC 2045, 6.8) leniently: characters outside
// the alphabet are dropped, and each padded run is decoded.
type base64Reader struct {
	in      *bufio.Reader
	group   uint32 // the bits of the characters of the group so far
	have    int    // how many those are, 0 to 3
	padded  bool   // a pad ended the run
	badness int
	end     error
}

func (b *base64Reader) bad() int { return b.badness }

func (b *base64Reader) Read(p []byte) (int, error) {
	n := 0
	for n+3 <= len(p) {
		if b.end != nil {
			return n, b.end
		}
		c, err := b.in.ReadByte()
		if err != nil {
			b.end = err
			if b.have > 0 {
				b.badness++ // the padding is missing
			}
			n += b.flush(p[n:])
			continue
		}
		n += b.put(p[n:], c)
	}
	return n, nil
}

// put takes one character of the encoded text and writes up to three bytes.
func (b *base64Reader) put(p []byte, c byte) int {
	value := base64Value[c]
	switch {
	case value == blankCharacter:
		return 0
	case value == foreignCharacter:
		b.badness++
		return 0
	case value == padCharacter:
		return b.pad(p)
	}
	if b.padded {
		b.padded = false
		b.badness++ // text goes on behind the padding
	}
	b.group = b.group<<6 | uint32(value)
	b.have++
	if b.have < 4 {
		return 0
	}
	p[0], p[1], p[2] = byte(b.group>>16), byte(b.group>>8), byte(b.group)
	b.group, b.have = 0, 0
	return 3
}

func (b *base64Reader) pad(p []byte) int {
	if b.padded {
		return 0 // the second of two
	}
	if b.have < 2 {
		b.badness++ // nothing to pad
	}
	b.padded = true
	return b.flush(p)
}

// flush writes the whole bytes of an unfinished group.
func (b *base64Reader) flush(p []byte) int {
	have, group := b.have, b.group
	b.group, b.have = 0, 0
	switch have {
	case 2:
		p[0] = byte(group >> 4)
		return 1
	case 3:
		p[0], p[1] = byte(group>>10), byte(group>>2)
		return 2
	}
	return 0
}

const (
	foreignCharacter = 0xFF
	padCharacter     = 0xFE
	blankCharacter   = 0xFD
)

// base64Value is each octet's six bits, or what else it is in base64 text.
var base64Value = func() (table [256]byte) {
	for i := range table {
		table[i] = foreignCharacter
	}
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	for i := range alphabet {
		table[alphabet[i]] = byte(i)
	}
	table['='] = padCharacter
	for _, c := range " \t\r\n" {
		table[c] = blankCharacter
	}
	return table
}()
