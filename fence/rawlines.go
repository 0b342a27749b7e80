package fence

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// rawLines reads a body line by line. CRLF and LF end a line; a bare CR is an
// ordinary byte. Of a line no more than the buffer is held.
type rawLines struct {
	in   *bufio.Reader
	long []byte // the front of a line that is longer than the buffer
}

// rawLine is one line of a body.
type rawLine struct {
	text  []byte // without its line end; only the front of a line longer than the buffer
	whole bool   // text is all of it
	blank bool   // what follows text, if anything, is SP and TAB
	size  int64  // octets with the line end
	end   int64  // octets of the line end, 0 to 2
}

// next gives the next line, io.EOF behind the last. It is good until the next
// call.
func (r *rawLines) next() (rawLine, error) {
	front, err := r.in.ReadSlice('\n')
	if err != nil && !errors.Is(err, bufio.ErrBufferFull) && !errors.Is(err, io.EOF) {
		return rawLine{}, err
	}
	if len(front) == 0 {
		return rawLine{}, io.EOF
	}
	if !errors.Is(err, bufio.ErrBufferFull) {
		text, end := cutLineEnd(front)
		return rawLine{text: text, whole: true, blank: true, size: int64(len(front)), end: int64(end)}, nil
	}
	return r.longLine(front)
}

// longLine reads the rest of a line whose front fills the buffer.
func (r *rawLines) longLine(front []byte) (rawLine, error) {
	// A CR at the edge belongs to what follows.
	text := bytes.TrimSuffix(front, []byte("\r"))
	held := len(front) - len(text)
	r.long = append(r.long[:0], text...)
	line := rawLine{text: r.long, blank: true, size: int64(len(front))}
	cr := held > 0
	for {
		more, err := r.in.ReadSlice('\n')
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) && !errors.Is(err, io.EOF) {
			return rawLine{}, err
		}
		line.size += int64(len(more))
		for _, c := range more {
			if c == '\n' {
				line.end = 1
				if cr {
					line.end = 2
				}
				return line, nil
			}
			if cr || c != ' ' && c != '\t' && c != '\r' {
				line.blank = false
			}
			cr = c == '\r'
		}
		if errors.Is(err, io.EOF) {
			line.blank = line.blank && !cr
			return line, nil
		}
	}
}

// cutLineEnd cuts CRLF or LF off.
func cutLineEnd(line []byte) (text []byte, end int) {
	text, found := bytes.CutSuffix(line, []byte("\n"))
	if !found {
		return line, 0
	}
	text = bytes.TrimSuffix(text, []byte("\r"))
	return text, len(line) - len(text)
}
