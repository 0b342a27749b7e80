package fence

import (
	"errors"
	"io"
)

// qpReader decodes quoted-printable (RFC 2045, 6.7) leniently: hex in either
// case, a bad "=" stays as it is. White space at the end of a line was added
// on the way and is deleted; so it is between "=" and the line end.
type qpReader struct {
	body    *io.SectionReader
	buf     [8 << 10]byte
	at      int64 // where in the body buf begins
	lo, hi  int   // what of buf is still to be read
	window  [4 << 10]byte
	aheadAt int64 // where in the body window begins
	ahead   int   // how much of window is filled
	keepTo  int64 // white space before this offset is known to stand inside a line
	badness int
	err     error
}

func (q *qpReader) bad() int { return q.badness }

// fill brings at least n bytes into the buffer, fewer only at the end.
func (q *qpReader) fill(n int) {
	if q.hi-q.lo >= n || q.err != nil {
		return
	}
	copy(q.buf[:], q.buf[q.lo:q.hi])
	q.at += int64(q.lo)
	q.hi -= q.lo
	q.lo = 0
	for q.hi < n && q.err == nil {
		var got int
		got, q.err = q.body.ReadAt(q.buf[q.hi:], q.at+int64(q.hi))
		q.hi += got
	}
}

func (q *qpReader) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) {
		q.fill(3)
		if q.hi == q.lo {
			return n, q.err
		}
		c := q.buf[q.lo]
		switch {
		case c == '=':
			b, ok, err := q.escape()
			if err != nil {
				return n, err
			}
			if !ok {
				continue
			}
			c = b
		case c == ' ' || c == '\t':
			dropped, err := q.trailing()
			if err != nil {
				return n, err
			}
			if dropped {
				continue
			}
			q.lo++
		default:
			q.lo++
		}
		p[n] = c
		n++
	}
	return n, nil
}

// escape takes what begins with "=": a byte in hex, a soft line break, which
// gives nothing, or a bad "=", which is itself.
func (q *qpReader) escape() (b byte, ok bool, err error) {
	if q.hi-q.lo >= 3 {
		if b, ok := hexByte(q.buf[q.lo+1], q.buf[q.lo+2]); ok {
			q.lo += 3
			return b, true, nil
		}
	}
	start := q.at + int64(q.lo)
	end, lineEnd, err := q.blanks(start + 1)
	if err != nil {
		return 0, false, err
	}
	if lineEnd < 0 {
		q.badness++
		q.lo++
		return '=', true, nil
	}
	q.skipTo(end + int64(lineEnd))
	return 0, false, nil
}

// trailing drops a run of white space if it ends its line.
func (q *qpReader) trailing() (dropped bool, err error) {
	start := q.at + int64(q.lo)
	if start < q.keepTo {
		return false, nil
	}
	end, lineEnd, err := q.blanks(start)
	if err != nil {
		return false, err
	}
	if lineEnd < 0 {
		q.keepTo = end
		return false, nil
	}
	q.skipTo(end)
	return true, nil
}

// skipTo goes on at an offset that is not behind the present one.
func (q *qpReader) skipTo(offset int64) {
	if ahead := offset - q.at; ahead <= int64(q.hi) {
		q.lo = int(ahead)
		return
	}
	q.at, q.lo, q.hi = offset, 0, 0
}

// blanks finds the end of the run of white space at offset, and the length of
// the line end that follows: 0 at the end of the body, -1 if there is none.
func (q *qpReader) blanks(offset int64) (end int64, lineEnd int, err error) {
	for {
		c, err := q.octet(offset)
		if err != nil {
			if errors.Is(err, io.EOF) {
				return offset, 0, nil
			}
			return 0, 0, err
		}
		switch c {
		case ' ', '\t':
			offset++
			continue
		case '\n':
			return offset, 1, nil
		case '\r':
			next, err := q.octet(offset + 1)
			if err == nil && next == '\n' {
				return offset, 2, nil
			}
			if err != nil && !errors.Is(err, io.EOF) {
				return 0, 0, err
			}
		}
		return offset, -1, nil // a bare CR is an ordinary byte too
	}
}

// octet is the body's octet at offset, which is not before the present one:
// from the buffer or, behind that, from a window of its own.
func (q *qpReader) octet(offset int64) (byte, error) {
	if i := offset - q.at; i < int64(q.hi) {
		return q.buf[i], nil
	}
	if i := offset - q.aheadAt; 0 <= i && i < int64(q.ahead) {
		return q.window[i], nil
	}
	n, err := q.body.ReadAt(q.window[:], offset)
	q.aheadAt, q.ahead = offset, n
	if n == 0 {
		return 0, err
	}
	return q.window[0], nil
}

// hexByte is the byte that two hex digits, in either case, stand for.
func hexByte(high, low byte) (byte, bool) {
	h, l := hexValue(high), hexValue(low)
	if h < 0 {
		return 0, false
	}
	if l < 0 {
		return 0, false
	}
	return byte(h<<4 | l), true
}

func hexValue(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'A' <= c && c <= 'F':
		return int(c-'A') + 10
	case 'a' <= c && c <= 'f':
		return int(c-'a') + 10
	}
	return -1
}
