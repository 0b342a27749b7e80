package fence

import (
	"bytes"
	"errors"
	"hash/maphash"
	"io"
)

// canonical reads a body under relaxed canonicalization (RFC 6376, 3.4.4),
// lines ended by LF, and hands it on in pieces. What is judged in this form
// cannot be changed on the way without breaking the signature.
func canonical(body *io.SectionReader, put func(piece []byte)) error {
	c := canonicalizer{put: put}
	var buf [32 << 10]byte
	for at := int64(0); at < body.Size(); {
		n, err := body.ReadAt(buf[:], at)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if n == 0 {
			return io.ErrUnexpectedEOF
		}
		c.write(buf[:n])
		at += int64(n)
	}
	c.close()
	return nil
}

// canonicalizer holds what it has read and not handed on: the line ends and
// the white space before the next octet that is neither, and a CR of which it
// does not know yet whether it ends a line.
type canonicalizer struct {
	put      func(piece []byte)
	lineEnds int
	blank    bool
	cr       bool
	any      bool // something was handed on
}

func (c *canonicalizer) write(p []byte) {
	for len(p) > 0 {
		n := 0
		for n < len(p) && isOrdinary(p[n]) {
			n++
		}
		if n > 0 {
			c.text(p[:n])
			p = p[n:]
			continue
		}
		c.special(p[0])
		p = p[1:]
	}
}

func isOrdinary(b byte) bool { return b != ' ' && b != '\t' && b != '\r' && b != '\n' }

func (c *canonicalizer) special(b byte) {
	switch b {
	case '\n':
		c.cr, c.blank = false, false
		c.lineEnds++
	case ' ', '\t':
		c.flushCR()
		c.blank = true
	case '\r':
		c.flushCR()
		c.cr = true
	}
}

// The octets that are handed on by themselves.
var (
	lineFeed = []byte{'\n'}
	oneBlank = []byte{' '}
	bareCR   = []byte{'\r'}
)

// flushCR hands on a CR that turned out to end no line: an ordinary octet.
func (c *canonicalizer) flushCR() {
	if c.cr {
		c.cr = false
		c.text(bareCR)
	}
}

func (c *canonicalizer) text(piece []byte) {
	c.flushCR()
	for ; c.lineEnds > 0; c.lineEnds-- {
		c.put(lineFeed)
	}
	if c.blank {
		c.put(oneBlank)
		c.blank = false
	}
	c.put(piece)
	c.any = true
}

func (c *canonicalizer) close() {
	c.flushCR()
	if c.any {
		c.put(lineFeed)
	}
}

// base64Check tells whether canonical text is strict base64 (RFC 4648, 3):
// nothing but the alphabet and line ends, whole groups, padding at the end
// only, unused bits zero.
type base64Check struct {
	length int64 // characters, padding counted
	pads   int
	last   byte // the value of the last character before the padding
	broken bool
}

func (b *base64Check) write(piece []byte) {
	for _, c := range piece {
		b.put(c)
	}
}

func (b *base64Check) put(c byte) {
	value := base64Value[c]
	switch {
	case c == '\n':
		return
	case value == padCharacter:
		b.pads++
	case value < 64 && b.pads == 0:
		b.last = value
	default:
		b.broken = true
	}
	b.length++
}

// minBase64 is the least length at which a text is taken for base64: a
// shorter one may well be a word.
const minBase64 = 24

func (b *base64Check) strict() bool {
	if b.broken || b.length%4 != 0 || b.length < minBase64 {
		return false
	}
	switch b.pads {
	case 0:
		return true
	case 1:
		return b.last&3 == 0
	case 2:
		return b.last&15 == 0
	}
	return false
}

// qpCheck tells whether every "=" of canonical text begins a soft line break,
// "=3D", "=20" or "=09" at a line end, or an escape of a byte over 126.
type qpCheck struct {
	state  qpState
	first  byte // the digit behind "="
	equals bool // there is an "="
	high   bool // there is an escape of a byte over 126
	broken bool
}

type qpState uint8

const (
	qpText qpState = iota
	qpEquals
	qpDigit
	qpBlank // behind "=20" or "=09"
)

func (q *qpCheck) write(piece []byte) {
	for len(piece) > 0 {
		if q.state == qpText {
			// Nothing matters up to the next "=".
			next := bytes.IndexByte(piece, '=')
			if next < 0 {
				return
			}
			piece = piece[next:]
		}
		q.put(piece[0])
		piece = piece[1:]
	}
}

func (q *qpCheck) put(c byte) {
	switch q.state {
	case qpEquals:
		q.state, q.first = qpDigit, c
		if c == '\n' {
			q.state = qpText
		}
		return
	case qpDigit:
		q.state = qpText
		q.escape(c)
		return
	case qpBlank:
		q.broken = q.broken || c != '\n'
		q.state = qpText
	}
	if c == '=' {
		q.state, q.equals = qpEquals, true
	}
}

func (q *qpCheck) escape(second byte) {
	b, ok := hexByte(q.first, second)
	switch {
	case !ok:
		q.broken = true
	case b > 126:
		q.high = true
	case b == ' ' || b == '\t':
		q.state = qpBlank
	case q.first != '3' || second != 'D':
		q.broken = true
	}
}

// dashLines finds lines of "--" and one or more characters that stand in the
// text with "--" behind them too, as the delimiters of a multipart do. It is
// fed the text twice; lines are known by a keyed hash, so that long ones and
// many cost no memory.
type dashLines struct {
	seed    maphash.Seed
	closers map[uint64]bool // lines with "--" behind, by the hash of what is before
	second  bool
	many    bool // more closers than are held
	paired  bool

	hash   maphash.Hash // of the line but for its last two octets
	tail   [2]byte
	length int64
}

// maxClosers bounds the lines that could close a multipart. A text with more
// is not certain to be one.
const maxClosers = 4096

func newDashLines() *dashLines {
	d := &dashLines{seed: maphash.MakeSeed(), closers: make(map[uint64]bool)}
	d.hash.SetSeed(d.seed)
	return d
}

func (d *dashLines) write(piece []byte) {
	for len(piece) > 0 {
		if d.length == notDashes {
			next := bytes.IndexByte(piece, '\n')
			if next < 0 {
				return
			}
			piece = piece[next:]
		}
		d.put(piece[0])
		piece = piece[1:]
	}
}

func (d *dashLines) put(c byte) {
	if c == '\n' {
		d.endLine()
		return
	}
	if d.length < 2 && c != '-' {
		d.length = notDashes
	}
	if d.length < 0 {
		return
	}
	if d.length >= 2 {
		d.hash.WriteByte(d.tail[0])
	}
	d.tail[0], d.tail[1] = d.tail[1], c
	d.length++
}

// notDashes is the length of a line that does not begin with "--".
const notDashes = -1

func (d *dashLines) endLine() {
	length := d.length
	before := d.hash.Sum64()
	if length > 2 && d.second {
		d.hash.Write(d.tail[:])
		d.paired = d.paired || d.closers[d.hash.Sum64()]
	}
	if length > 4 && !d.second && d.tail == [2]byte{'-', '-'} {
		// One more than are allowed shows that there are too many.
		if len(d.closers) <= maxClosers {
			d.closers[before] = true
		}
		d.many = len(d.closers) > maxClosers
	}
	d.hash.Reset()
	d.length = 0
}

// outerLines takes the first line of canonical text that begins with "--" and
// the last that is not empty, each as far as a delimiter reaches.
type outerLines struct {
	bound       int // octets of a line that are held
	line        []byte
	first, last []byte
	found       bool
}

func (o *outerLines) write(piece []byte) {
	for _, c := range piece {
		o.put(c)
	}
}

func (o *outerLines) put(c byte) {
	if c != '\n' {
		if len(o.line) < o.bound {
			o.line = append(o.line, c)
		}
		return
	}
	if len(o.line) == 0 {
		return
	}
	if !o.found && len(o.line) >= 2 && o.line[0] == '-' && o.line[1] == '-' {
		o.first, o.found = append([]byte(nil), o.line...), true
	}
	o.last = append(o.last[:0], o.line...)
	o.line = o.line[:0]
}
