package fence

import (
	"errors"
	"io"
	"strings"
	"unicode"
)

// certain reports whether what the accepting signature does not cover of the
// body's structure can be read in one way only. Anyone can add or change such
// a field on the way, and make the signed octets say something else.
func (s *source) certain(h partHeader) (bool, error) {
	if !s.encoding.covered && h.media.major != "multipart" {
		set, known := utf8Set, true
		if s.media.covered {
			set, known = charsetOf(h.media, true)
		}
		ok, err := certainEncoding(s.body, h.encoding, set, known)
		if !ok || err != nil {
			return false, err
		}
	}
	if s.media.covered {
		return true, nil
	}
	switch {
	case h.media.major == "multipart":
		return certainMultipart(s.body, h.media.boundary())
	case h.media.is("text", "plain"):
		return certainText(s.body, h)
	}
	return false, nil
}

// certainMultipart: the first line that begins with "--" is the delimiter, the
// last line that is not empty the closing one.
func certainMultipart(body *io.SectionReader, boundary string) (bool, error) {
	if boundary == "" {
		return false, nil
	}
	opening, closing := "--"+boundary, "--"+boundary+"--"
	lines := outerLines{bound: len(closing) + 1}
	if err := canonical(body, lines.write); err != nil {
		return false, err
	}
	return string(lines.first) == opening && string(lines.last) == closing, nil
}

// certainText: the text could be no multipart, is valid in us-ascii or utf-8,
// and holds nothing that HTML is made of.
func certainText(body *io.SectionReader, h partHeader) (bool, error) {
	set, known := charsetOf(h.media, h.encoding != identity)
	if !known {
		return false, nil
	}
	// In another charset octets could be signed as one text and read as a
	// different one.
	if set.name != usASCII.name && set.name != utf8Set.name {
		return false, nil
	}
	// What cannot be decoded cannot be looked at.
	if h.encoding == unknownTransfer {
		return false, nil
	}
	var html htmlCheck
	valid, err := readText(body, h.encoding, set, html.write)
	if err != nil {
		return false, err
	}
	// The charset that was signed was another one.
	if !valid {
		return false, nil
	}
	// It may have been signed as text/html, of which a reader sees less.
	if html.found {
		return false, nil
	}
	lines := newDashLines()
	if err := canonical(body, lines.write); err != nil {
		return false, err
	}
	if len(lines.closers) == 0 {
		return true, nil
	}
	lines.second = true
	if err := canonical(body, lines.write); err != nil {
		return false, err
	}
	return !lines.paired && !lines.many, nil
}

// certainEncoding: the transfer encoding that the message names is the only
// one the body can be in. set is the charset that quoted-printable text would
// be in.
func certainEncoding(body *io.SectionReader, named transfer, set charset, known bool) (bool, error) {
	var asBase64 base64Check
	var asQP qpCheck
	if err := canonical(body, func(piece []byte) { asBase64.write(piece); asQP.write(piece) }); err != nil {
		return false, err
	}
	if asBase64.strict() {
		text, err := base64Text(body)
		if err != nil || text {
			return text && named == base64Encoding, err
		}
	}
	// UTF-16 is known only behind an encoding, so without one the same octets
	// are another text (RFC 2781, 4).
	if strings.HasPrefix(set.name, "utf-16") {
		return false, nil
	}
	switch named {
	case quotedPrintable:
		return certainQP(body, asQP, set, known)
	case identity:
		if !asQP.equals {
			return true, nil
		}
		ok, err := certainQP(body, asQP, set, known)
		return !ok, err
	}
	return false, nil
}

// base64Text reports whether base64 decodes to UTF-8 without control
// characters but TAB, CR and LF.
func base64Text(body *io.SectionReader) (bool, error) {
	plain := true
	valid, err := readText(body, base64Encoding, utf8Set, func(text []char) {
		for _, c := range text {
			if c != '\t' && c != '\r' && c != '\n' && unicode.IsControl(rune(c)) {
				plain = false
			}
		}
	})
	return valid && plain, err
}

// certainQP: each "=" is one that quoted-printable makes, and escapes of bytes
// over 126 give valid text.
func certainQP(body *io.SectionReader, check qpCheck, set charset, known bool) (bool, error) {
	if check.broken {
		return false, nil
	}
	if !check.high {
		return true, nil
	}
	if !known {
		return false, nil
	}
	return readText(body, quotedPrintable, set, func([]char) {})
}

// readText decodes the whole body, hands on its characters and reports
// whether every octet decodes.
func readText(body *io.SectionReader, encoding transfer, set charset, put func([]char)) (valid bool, err error) {
	whole := io.NewSectionReader(body, 0, body.Size())
	in := newCharReader(decodeTransfer(whole, encoding), set)
	var text [1024]char
	valid = true
	for {
		n, err := in.read(text[:])
		for _, c := range text[:n] {
			valid = valid && c >= 0
		}
		put(text[:n])
		if errors.Is(err, io.EOF) {
			return valid, nil
		}
		if err != nil {
			return false, err
		}
	}
}

// htmlMarks are the beginnings of tags that tell HTML from text.
var htmlMarks = map[string]bool{
	"<html": true, "<body": true, "<div": true, "<p>": true, "<br": true,
	"<table": true, "<span": true, "<!doctype": true,
}

// htmlCheck finds the marks in any case.
type htmlCheck struct {
	found bool
	tag   []byte // from "<" on, as far as a mark may reach
}

func (h *htmlCheck) write(text []char) {
	for _, c := range text {
		h.put(c)
	}
}

func (h *htmlCheck) put(c char) {
	if c == '<' {
		h.tag = append(h.tag[:0], '<')
		return
	}
	if len(h.tag) == 0 {
		return
	}
	if len(h.tag) == len("<!doctype") || c < 0 || c > unicode.MaxASCII {
		h.tag = h.tag[:0]
		return
	}
	if 'A' <= c && c <= 'Z' {
		c += 'a' - 'A'
	}
	h.tag = append(h.tag, byte(c))
	h.found = h.found || htmlMarks[string(h.tag)]
}
