package verdict

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
)

// Split reads a message file as Postfix would hand it over: a header, an empty
// line, a body (RFC 5322, 2.1). A file without any CRLF is read as if its LFs
// were CRLFs. A header over the limits is read no further than shows that it
// is, and the body is then empty. The error is the reader's own.
func Split(raw *io.SectionReader) (Message, error) {
	end := "\r\n"
	if found, err := holdsCRLF(section(raw)); err != nil {
		return Message{}, err
	} else if !found {
		end = "\n"
	}
	m := Message{Size: raw.Size()}
	lines := lineReader{r: bufio.NewReader(section(raw)), end: end}
	left := MaxHeader + 1
	for len(m.Header) <= MaxFields && left > 0 {
		line, err := lines.next(left)
		if err == io.EOF {
			break
		}
		if err != nil {
			return Message{}, err
		}
		if line == "" {
			m.Body = io.NewSectionReader(raw, lines.read, raw.Size()-lines.read)
			return m, nil
		}
		left -= len(line) + 2
		m.Header = appendLine(m.Header, line)
	}
	m.Body = io.NewSectionReader(raw, raw.Size(), 0)
	return m, nil
}

// appendLine adds one line to the header: a continuation to the last field, a
// field of its own otherwise.
func appendLine(header []Field, line string) []Field {
	if last := len(header) - 1; last >= 0 && (line[0] == ' ' || line[0] == '\t') {
		header[last].Value += "\r\n" + line
		return header
	}
	name, value, colon := strings.Cut(line, ":")
	return append(header, Field{Name: name, Value: value, NoColon: !colon})
}

// lineReader reads lines that end in end and counts the octets read.
type lineReader struct {
	r    *bufio.Reader
	end  string
	read int64
}

// next returns the next line without its end, cut where it is longer than
// limit octets, or io.EOF.
func (l *lineReader) next(limit int) (string, error) {
	var line []byte
	for {
		b, err := l.r.ReadByte()
		if err == io.EOF && len(line) > 0 {
			return string(line), nil
		}
		if err != nil {
			return "", err
		}
		l.read++
		line = append(line, b)
		if b == '\n' && bytes.HasSuffix(line, []byte(l.end)) {
			return string(line[:len(line)-len(l.end)]), nil
		}
		if len(line) > limit {
			return string(line), nil
		}
	}
}

// holdsCRLF reports whether CRLF occurs anywhere.
func holdsCRLF(r io.Reader) (bool, error) {
	buf := make([]byte, 32<<10)
	cr := false
	for {
		n, err := r.Read(buf)
		p := buf[:n]
		if cr && n > 0 && p[0] == '\n' {
			return true, nil
		}
		if bytes.Contains(p, crlf) {
			return true, nil
		}
		if n > 0 {
			cr = p[n-1] == '\r'
		}
		if errors.Is(err, io.EOF) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
	}
}
