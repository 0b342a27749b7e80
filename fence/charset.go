package fence

import (
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/transform"
)

// decoder turns octets into characters. step decodes from the front of src
// into dst, which has room for stepRoom characters or more, and returns how
// many it wrote and used. With stepRoom octets before it, or at the end, it
// uses some; otherwise it may wait for more.
type decoder interface {
	step(dst []char, src []byte, atEnd bool) (wrote, used int)
}

const stepRoom = 16

// charset is a way to read octets as text.
type charset struct {
	name  string // "us-ascii", "utf-8", or another
	start func() decoder
}

var (
	usASCII = charset{"us-ascii", func() decoder { return asciiDecoder{} }}
	utf8Set = charset{"utf-8", func() decoder { return utf8Decoder{} }}
)

// charsetOf is the charset of a text part, and whether it is known. None given
// is us-ascii; one that is empty, doubled or unknown is read as us-ascii too.
// encoded says that base64 or quoted-printable carries the text: only so can
// UTF-16, whose octets are not lines, be mail.
func charsetOf(t mediaType, encoded bool) (set charset, known bool) {
	label, there := t.parameters.get("charset")
	switch there {
	case absent:
		return usASCII, true
	case doubled:
		return usASCII, false
	}
	return lookUpCharset(label, encoded)
}

// lookUpCharset finds a charset by a label of the WHATWG Encoding Standard, 4.2.
func lookUpCharset(label string, encoded bool) (set charset, known bool) {
	label = lowerASCII(strings.Trim(label, " \t\r\n\f"))
	if label == "us-ascii" {
		return usASCII, true
	}
	for i := range len(label) {
		// The look-up folds case as Unicode does; labels are ASCII.
		if label[i] >= utf8.RuneSelf {
			return usASCII, false
		}
	}
	found, err := htmlindex.Get(label)
	if err != nil {
		return usASCII, false
	}
	name, err := htmlindex.Name(found)
	if err != nil {
		return usASCII, false
	}
	switch name {
	case "replacement", "x-user-defined":
		return usASCII, false
	case "utf-8":
		return utf8Set, true
	case "utf-16le", "utf-16be":
		if !encoded {
			return usASCII, false
		}
		return charset{name, func() decoder { return &utf16Decoder{bigEndian: name == "utf-16be"} }}, true
	}
	return charset{name, func() decoder { return newTableDecoder(found) }}, true
}

// asciiDecoder is strict: other bytes do not decode.
type asciiDecoder struct{}

func (asciiDecoder) step(dst []char, src []byte, _ bool) (int, int) {
	n := min(len(dst), len(src))
	for i, b := range src[:n] {
		dst[i] = char(b)
		if b >= utf8.RuneSelf {
			dst[i] = badByte(b)
		}
	}
	return n, n
}

type utf8Decoder struct{}

func (utf8Decoder) step(dst []char, src []byte, atEnd bool) (wrote, used int) {
	for wrote < len(dst) && used < len(src) {
		if b := src[used]; b < utf8.RuneSelf {
			dst[wrote] = char(b)
			used++
			wrote++
			continue
		}
		if !atEnd && !utf8.FullRune(src[used:]) {
			break
		}
		r, size := utf8.DecodeRune(src[used:])
		dst[wrote] = char(r)
		if r == utf8.RuneError && size == 1 {
			dst[wrote] = badByte(src[used])
		}
		used += size
		wrote++
	}
	return wrote, used
}

// utf16Decoder takes a byte order mark at the start; a surrogate that stands
// alone, and half a code unit at the end, do not decode.
type utf16Decoder struct {
	bigEndian bool
	started   bool
}

func (d *utf16Decoder) step(dst []char, src []byte, atEnd bool) (wrote, used int) {
	if !d.started && len(src) >= 2 {
		d.started = true
		if mark := [2]byte(src); mark == [2]byte{0xFE, 0xFF} || mark == [2]byte{0xFF, 0xFE} {
			d.bigEndian = mark[0] == 0xFE
			used = 2
		}
	}
	for wrote+2 <= len(dst) {
		rest := src[used:]
		if len(rest) < 4 && !atEnd {
			break
		}
		if len(rest) == 0 {
			break
		}
		if len(rest) == 1 {
			dst[wrote] = badByte(rest[0])
			return wrote + 1, used + 1
		}
		c, size := d.character(rest)
		if c >= 0 {
			dst[wrote] = c
			wrote++
		} else {
			dst[wrote], dst[wrote+1] = badByte(rest[0]), badByte(rest[1])
			wrote += 2
		}
		used += size
	}
	return wrote, used
}

// character reads one character of two or four octets, below zero for a
// surrogate that stands alone.
func (d *utf16Decoder) character(src []byte) (char, int) {
	high := d.codeUnit(src)
	if high&0xF800 != 0xD800 {
		return high, 2
	}
	if high >= 0xDC00 || len(src) < 4 {
		return -1, 2
	}
	low := d.codeUnit(src[2:])
	if low&0xFC00 != 0xDC00 {
		return -1, 2
	}
	return 0x10000 + (high-0xD800)<<10 + (low - 0xDC00), 4
}

func (d *utf16Decoder) codeUnit(src []byte) char {
	if d.bigEndian {
		return char(src[0])<<8 | char(src[1])
	}
	return char(src[1])<<8 | char(src[0])
}

// tableDecoder reads a charset by the tables of golang.org/x/text. It hands
// them the fewest octets that give a character, because what they give for
// octets that do not decode does not say which those are.
type tableDecoder struct {
	table     transform.Transformer
	shifts    bool   // escape sequences change what a byte below 0x80 means
	errorText string // the octets, if any, that stand for U+FFFD itself
	out       [utf8.UTFMax]byte
}

func newTableDecoder(e encoding.Encoding) *tableDecoder {
	d := &tableDecoder{table: e.NewDecoder().Transformer, shifts: e == japanese.ISO2022JP}
	if s, err := e.NewEncoder().String("\uFFFD"); err == nil {
		d.errorText = s
	}
	return d
}

func (d *tableDecoder) step(dst []char, src []byte, atEnd bool) (wrote, used int) {
	for used < len(src) && wrote+stepRoom <= len(dst) {
		b := src[used]
		// A line end is one in each of these charsets, whatever stands
		// before it: an unfinished character must not swallow it.
		if b == '\r' || b == '\n' || b < utf8.RuneSelf && !d.shifts {
			dst[wrote] = char(b)
			wrote++
			used++
			continue
		}
		w, u := d.one(dst[wrote:], src[used:], atEnd)
		if u == 0 {
			break
		}
		wrote += w
		used += u
	}
	return wrote, used
}

// one decodes one character, one escape sequence, or octets that do not decode.
func (d *tableDecoder) one(dst []char, src []byte, atEnd bool) (wrote, used int) {
	least := 1
	// No escape sequence is shorter (RFC 1468).
	if d.shifts && src[0] == 0x1b {
		least = min(3, len(src))
	}
	for k := least; k <= min(len(src), stepRoom); k++ {
		last := atEnd && k == len(src)
		// Room for three octets holds U+FFFD and nothing behind it.
		n, took, err := d.table.Transform(d.out[:3], src[:k], last)
		if took == 0 && err == transform.ErrShortDst {
			n, took, _ = d.table.Transform(d.out[:], src[:k], last)
		}
		if took == 0 {
			continue
		}
		// Both octets of a pair are of "!".."~" (RFC 1468), which the table
		// does not look at.
		if d.shifts && took == 2 && !isPair(src) {
			return d.undecoded(dst, src[:1])
		}
		text, octets := d.out[:n], src[:took]
		if string(text) == "\uFFFD" && string(octets) != d.errorText {
			return d.undecoded(dst, octets)
		}
		for _, r := range string(text) {
			dst[wrote] = char(r)
			wrote++
		}
		return wrote, took
	}
	if !atEnd && len(src) < stepRoom {
		return 0, 0
	}
	dst[0] = badByte(src[0])
	return 1, 1
}

func isPair(src []byte) bool {
	return within(rune(src[0]), '!', '~') && within(rune(src[1]), '!', '~')
}

// undecoded gives octets that do not decode as bytes. Of several only those
// before the first that can be a character of its own (WHATWG Encoding, 4.3).
func (d *tableDecoder) undecoded(dst []char, octets []byte) (wrote, used int) {
	for i, b := range octets {
		if i > 0 && b < utf8.RuneSelf && !d.shifts {
			return i, i
		}
		dst[i] = badByte(b)
	}
	return len(octets), len(octets)
}
