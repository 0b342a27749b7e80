package fence

import (
	"bytes"
	"strings"
)

// partHeader is what the rendering reads of a part's header.
type partHeader struct {
	media    mediaType
	encoding transfer
	inline   bool
	odd      bool // malformed, or fields that contradict each other: the part is not shown
}

// parsePartHeader reads a part's header: lines that each end in LF. standard
// is the type of a part that names none (RFC 2046, 5.1.5).
func parsePartHeader(raw []byte, standard mediaType) partHeader {
	h := partHeader{media: standard, inline: true}
	fields, ok := splitFields(raw)
	if !ok {
		h.odd = true
		return h
	}
	if types := fields["content-type"]; len(types) > 0 {
		h.media = parseMediaType(types[0])
		h.odd = len(types) > 1
	}
	if encodings := fields["content-transfer-encoding"]; len(encodings) > 0 {
		h.encoding = parseTransfer(encodings[0])
		h.odd = h.odd || differ(encodings)
	}
	if dispositions := fields["content-disposition"]; len(dispositions) > 0 {
		h.inline = parseDisposition(dispositions[0])
		h.odd = h.odd || differ(dispositions)
	}
	return h
}

// splitFields gives the unfolded values of a header's MIME fields by
// lower-case name. It reports false for a malformed header: a name with a
// byte outside "!".."~" or no name, white space before the colon, no colon, a
// control byte, a continuation of white space only or of nothing.
func splitFields(raw []byte) (map[string][]string, bool) {
	fields := make(map[string][]string)
	name := ""
	var value []byte
	keep := func() {
		if strings.HasPrefix(name, "content-") {
			fields[name] = append(fields[name], string(value))
		}
	}
	for line := range bytes.Lines(raw) {
		line = bytes.TrimSuffix(line, []byte("\n"))
		// A control byte, a bare CR among them, ends a line for some readers
		// (RFC 5322, 2.2).
		if bytes.ContainsFunc(line, isControl) {
			return nil, false
		}
		if line[0] == ' ' || line[0] == '\t' {
			// There is no field to continue; some readers take the line for
			// text, others drop it (RFC 5322, 2.2.3).
			if name == "" {
				return nil, false
			}
			// To some readers a line of white space ends the header, to
			// others it folds a field (RFC 5322, 4.2).
			if len(bytes.Trim(line, " \t")) == 0 {
				return nil, false
			}
			value = append(value, line...)
			continue
		}
		before, after, found := bytes.Cut(line, []byte(":"))
		// A line without a colon ends the header for some readers and is
		// skipped by others (RFC 5322, 2.2).
		if !found {
			return nil, false
		}
		// A name that is trimmed or read in another way is another field's
		// (RFC 5322, 3.6.8).
		if !isFieldName(before) {
			return nil, false
		}
		keep()
		name, value = lowerASCII(string(before)), append(value[:0], after...)
	}
	keep()
	return fields, true
}

func isControl(r rune) bool { return r < ' ' && r != '\t' || r == 0x7F }

func isFieldName(name []byte) bool {
	for _, c := range name {
		if c < '!' || c > '~' {
			return false
		}
	}
	return len(name) > 0
}

// differ reports whether the values are not all the same after relaxed
// canonicalization (RFC 6376, 3.4.2).
func differ(values []string) bool {
	for _, v := range values[1:] {
		if relaxed(v) != relaxed(values[0]) {
			return true
		}
	}
	return false
}

func relaxed(value string) string {
	return strings.Join(strings.FieldsFunc(value, func(r rune) bool { return r == ' ' || r == '\t' }), " ")
}
