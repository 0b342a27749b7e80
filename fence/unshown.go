package fence

import (
	"bufio"
	"errors"
	"io"
	"slices"
	"strings"
)

// maxUnshown bounds the octets, as they came, of the parts that are read for
// what they hide and not shown.
const maxUnshown = 4 << 20

// unshown is a part that is not shown: where it is and how it is read.
type unshown struct {
	leaf
	at site
}

// siteOf is the place that a part of this type is, if it is one that is read.
func siteOf(t mediaType) (at site, read bool) {
	switch t.major + "/" + t.minor {
	case "text/html", "application/xhtml+xml":
		return siteHTML, true
	case "text/calendar", "application/ics", "text/vcard", "text/x-vcard", "text/directory":
		return siteCalendar, true
	}
	return siteText, t.major == "text"
}

// conceals counts what the message hides in what is not shown of it.
func (found *structure) conceals(s *source) error {
	c := &found.carriers
	c.header(func(yield func(name, value string) bool) {
		for _, f := range s.fields {
			if s.subject.covered && f.Is("Subject") {
				continue // it is shown
			}
			if !yield(f.Name, f.Value) {
				return
			}
		}
	})
	return c.parts(s.body, found.unshown)
}

// parts reads the parts that are not shown.
func (c *carriers) parts(body *io.SectionReader, all []unshown) error {
	left := int64(maxUnshown)
	for _, u := range all {
		size := min(u.end-u.start, left)
		left -= size
		if err := c.part(io.NewSectionReader(body, u.start, size), u); err != nil {
			return err
		}
	}
	return nil
}

func (c *carriers) part(section *io.SectionReader, u unshown) error {
	set, _ := charsetOf(u.media, u.encoding != identity)
	// Readers of such parts take UTF-8 where nothing else is said.
	if set.name == usASCII.name {
		set = utf8Set
	}
	in := newCharReader(decodeTransfer(section, u.encoding), set)
	switch u.at {
	case siteHTML:
		return c.html(&utf8Reader{in: in})
	case siteCalendar:
		return c.calendar(&utf8Reader{in: in})
	}
	return c.plain(&lineReader{in: in})
}

// plain counts the invisible characters of a text, each line's apart from its
// line end.
func (c *carriers) plain(in *lineReader) error {
	for in.more() {
		in.lo += c.invisible(siteText, in.buf[in.lo:in.hi])
	}
	return in.failure()
}

// utf8Reader gives characters as UTF-8, U+FFFD for octets that do not decode.
type utf8Reader struct {
	in   *charReader
	text [1 << 10]char
	rest []byte // not yet read
	room []byte
}

func (r *utf8Reader) Read(p []byte) (int, error) {
	if len(r.rest) == 0 {
		n, err := r.in.read(r.text[:])
		if err != nil {
			return 0, err
		}
		r.room = r.room[:0]
		for _, one := range r.text[:n] {
			if one < 0 {
				one = '\uFFFD'
			}
			r.room = appendRune(r.room, one)
		}
		r.rest = r.room
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// calendarProperties are the properties of a calendar (RFC 5545, 3.8.1) and a
// vCard (RFC 6350, 6) that are text for a person to read.
var calendarProperties = map[string]bool{
	"SUMMARY": true, "DESCRIPTION": true, "LOCATION": true, "COMMENT": true, "CONTACT": true,
	"CATEGORIES": true, "RESOURCES": true, "X-ALT-DESC": true,
	"FN": true, "NICKNAME": true, "TITLE": true, "ROLE": true, "ORG": true, "NOTE": true,
}

// calendarLine bounds what is looked at of one line.
const calendarLine = 16 << 10

// calendar counts the properties that are text.
func (c *carriers) calendar(in io.Reader) error {
	lines := rawLines{in: bufio.NewReaderSize(in, calendarLine)}
	property := passage{into: c, kind: kind{siteCalendar, calendarText}}
	reading := false
	for {
		line, err := lines.next()
		if err != nil {
			property.end()
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return err
		}
		c.octetsOf(siteCalendar, line.text)
		value := line.text
		// A line that begins with white space goes on with the one before (RFC
		// 5545, 3.1).
		if len(value) > 0 && isBlank(char(value[0])) {
			value = value[1:]
		} else {
			property.end()
			value, reading = textProperty(value)
		}
		if reading {
			property.write(value)
		}
	}
}

// textProperty is the value of a property that is text.
func textProperty(line []byte) (value []byte, found bool) {
	end := slices.IndexFunc(line, func(b byte) bool { return b == ':' || b == ';' })
	if end < 0 {
		return nil, false
	}
	name := string(line[:end])
	name = strings.ToUpper(name[strings.LastIndexByte(name, '.')+1:]) // without its group
	if !calendarProperties[name] {
		return nil, false
	}
	quoted := false
	for i, b := range line[end:] {
		if b == '"' {
			quoted = !quoted
		}
		if b == ':' && !quoted {
			return line[end+i+1:], true
		}
	}
	return nil, false
}
