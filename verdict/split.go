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
	var fields fieldList
	bodyAt := raw.Size()
	left := MaxHeader + 1
	for len(fields.done) < MaxFields && left > 0 {
		line, err := lines.next(left)
		if err == io.EOF {
			break
		}
		if err != nil {
			return Message{}, err
		}
		if line == "" {
			bodyAt = lines.read
			break
		}
		left -= len(line) + 2
		fields.add(line)
	}
	fields.end()
	m.Header = fields.done
	m.Body = io.NewSectionReader(raw, bodyAt, raw.Size()-bodyAt)
	return m, nil
}

// fieldList makes fields of lines. The lines of a field are joined when it is
// whole: it may have many.
type fieldList struct {
	done  []Field
	lines []string // of the field that is not yet in done
}

// add takes one line: a continuation of the last field, or a field's first.
func (l *fieldList) add(line string) {
	if len(l.lines) == 0 || line[0] != ' ' && line[0] != '\t' {
		l.end()
	}
	l.lines = append(l.lines, line)
}

func (l *fieldList) end() {
	if len(l.lines) == 0 {
		return
	}
	name, value, colon := strings.Cut(l.lines[0], ":")
	l.lines[0] = value
	l.done = append(l.done, Field{Name: name, Value: strings.Join(l.lines, "\r\n"), NoColon: !colon})
	l.lines = l.lines[:0]
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
