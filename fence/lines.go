package fence

import (
	"bufio"
	"errors"
	"io"
)

// charReader reads decoded octets as characters.
type charReader struct {
	in    *bufio.Reader
	set   decoder
	atEnd bool
}

func newCharReader(in io.Reader, set charset) *charReader {
	return &charReader{in: bufio.NewReaderSize(in, 4<<10), set: set.start()}
}

// read fills dst, which has room for stepRoom characters or more, as far as
// one look at the input goes. It returns 0 and io.EOF at the end.
func (c *charReader) read(dst []char) (int, error) {
	for {
		if _, err := c.in.Peek(stepRoom); err != nil {
			if !errors.Is(err, io.EOF) {
				return 0, err
			}
			c.atEnd = true
		}
		src, err := c.in.Peek(c.in.Buffered())
		if err != nil {
			return 0, err
		}
		if len(src) == 0 {
			return 0, io.EOF
		}
		wrote, used := c.set.step(dst, src, c.atEnd)
		if _, err := c.in.Discard(used); err != nil {
			return 0, err
		}
		if wrote > 0 {
			return wrote, nil
		}
	}
}

// lineReader splits characters into lines: CRLF and LF end one, every other
// terminator stands in its line. A line may be of any length; it is never held
// as a whole.
type lineReader struct {
	in      *charReader
	buf     [1 << 10]char
	lo, hi  int
	err     error
	scratch []byte
}

// lookAhead is how many characters must be there to know what comes next: a
// unit, or both octets of a line end.
const lookAhead = maxUnit

// more makes sure that enough characters are there. It reports whether any
// is.
func (l *lineReader) more() bool {
	for l.hi-l.lo < lookAhead && l.err == nil {
		if l.lo > 0 {
			copy(l.buf[:], l.buf[l.lo:l.hi])
			l.hi -= l.lo
			l.lo = 0
		}
		var n int
		n, l.err = l.in.read(l.buf[l.hi:])
		l.hi += n
	}
	return l.lo < l.hi
}

// failure is what ended the text other than its end.
func (l *lineReader) failure() error {
	if errors.Is(l.err, io.EOF) {
		return nil
	}
	return l.err
}

// lineEnd takes the line end that stands here, if one does. The end of the
// text ends a line too.
func (l *lineReader) lineEnd() bool {
	if !l.more() {
		return true
	}
	switch {
	case l.buf[l.lo] == '\n':
		l.lo++
		return true
	case l.buf[l.lo] == '\r' && l.lo+1 < l.hi && l.buf[l.lo+1] == '\n':
		l.lo += 2
		return true
	}
	return false
}

// textLine is a line of text as far as it is shown.
type textLine struct {
	text  string // escaped
	cut   int    // characters of the escaped line that are not shown
	blank bool   // nothing but SP and TAB
}

// line takes the next line, which begins here, and escapes it, no more than
// width characters of it.
func (l *lineReader) line(width int) textLine {
	one := textLine{blank: true}
	out, shown := l.scratch[:0], 0
	for !l.lineEnd() {
		before := len(out)
		if c := l.buf[l.lo]; c != ' ' && c != '\t' {
			one.blank = false
		}
		var u unit
		out, u = appendUnit(out, l.buf[l.lo:l.hi])
		l.lo += u.taken
		if one.cut > 0 || shown+u.width > width {
			out = out[:before]
			one.cut += u.width
			continue
		}
		shown += u.width
	}
	l.scratch = out
	one.text = string(out)
	return one
}

// skip takes the next line and reports whether it is blank.
func (l *lineReader) skip() (blank bool) {
	blank = true
	for !l.lineEnd() {
		if c := l.buf[l.lo]; c != ' ' && c != '\t' {
			blank = false
		}
		l.lo++
	}
	return blank
}
