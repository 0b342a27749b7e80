package fence

import "strings"

// fieldScanner reads a structured field's value (RFC 2045, 5.1): tokens,
// quoted strings, and white space and comments between them.
type fieldScanner struct {
	text string
	at   int
	bad  bool // a comment or a quoted string has no end
}

func (s *fieldScanner) done() bool { return s.at == len(s.text) && !s.bad }

// skip goes over white space and comments, which may nest.
func (s *fieldScanner) skip() {
	depth := 0
	for ; s.at < len(s.text); s.at++ {
		switch c := s.text[s.at]; {
		case c == '(':
			depth++
		case depth == 0 && c != ' ' && c != '\t' && c != '\r' && c != '\n':
			return
		case c == ')':
			depth--
		case c == '\\' && s.at+1 < len(s.text):
			s.at++
		}
	}
	s.bad = s.bad || depth > 0
}

// token reads a token, in lower case, "" if there is none.
func (s *fieldScanner) token() string {
	start := s.at
	for s.at < len(s.text) && isToken(s.text[s.at]) {
		s.at++
	}
	return lowerASCII(s.text[start:s.at])
}

// take reads the one character c.
func (s *fieldScanner) take(c byte) bool {
	if s.at == len(s.text) || s.text[s.at] != c {
		return false
	}
	s.at++
	return true
}

// value reads a parameter's value: a quoted string or, wider than a token,
// everything visible up to a blank, ";" or comment, so that an unquoted
// boundary such as ----=_Part_1 is read.
func (s *fieldScanner) value() string {
	if s.take('"') {
		return s.quoted()
	}
	start := s.at
	for s.at < len(s.text) && isLoose(s.text[s.at]) {
		s.at++
	}
	return s.text[start:s.at]
}

func (s *fieldScanner) quoted() string {
	var out strings.Builder
	for s.at < len(s.text) {
		c := s.text[s.at]
		s.at++
		if c == '"' {
			return out.String()
		}
		if c == '\\' && s.at < len(s.text) {
			c = s.text[s.at]
			s.at++
		}
		out.WriteByte(c)
	}
	s.bad = true
	return ""
}

func isToken(c byte) bool {
	return '!' <= c && c <= '~' && !strings.ContainsRune(`()<>@,;:\"/[]?=`, rune(c))
}

func isLoose(c byte) bool {
	return c >= '!' && c != 0x7F && !strings.ContainsRune(`();\"`, rune(c))
}

// lowerASCII folds A-Z and nothing else.
func lowerASCII(s string) string {
	b := []byte(s)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}

// mediaType is a Content-Type (RFC 2045, 5).
type mediaType struct {
	major, minor string // lower case
	parameters   parameters
}

func (t mediaType) is(major, minor string) bool { return t.major == major && t.minor == minor }

var (
	plainText   = mediaType{major: "text", minor: "plain"}
	mailMessage = mediaType{major: "message", minor: "rfc822"}
)

// parseMediaType reads a Content-Type. One whose type cannot be read is
// text/plain (RFC 2045, 5.2). Of one whose parameters cannot be read the type
// stands, without parameters: HTML stays HTML.
func parseMediaType(value string) mediaType {
	s := fieldScanner{text: value}
	s.skip()
	t := mediaType{major: s.token()}
	s.skip()
	slash := s.take('/')
	s.skip()
	t.minor = s.token()
	s.skip()
	if t.major == "" || !slash || t.minor == "" || s.bad {
		return plainText
	}
	if list, ok := s.parameterList(); ok {
		t.parameters = list
	}
	return t
}

// parameterList reads what follows the type: parameters with ";" before each.
// Stray semicolons are no matter.
func (s *fieldScanner) parameterList() (parameters, bool) {
	all := make(parameters)
	for s.at < len(s.text) {
		if !s.take(';') {
			return nil, false
		}
		s.skip()
		if s.at == len(s.text) || s.text[s.at] == ';' {
			continue
		}
		name := s.token()
		s.skip()
		if name == "" || !s.take('=') {
			return nil, false
		}
		s.skip()
		all.add(name, s.value())
		s.skip()
	}
	return all, !s.bad
}

// parseDisposition reports whether a Content-Disposition says inline. Any
// other word, and what cannot be read, is an attachment (RFC 2183, 2.8).
func parseDisposition(value string) (inline bool) {
	s := fieldScanner{text: value}
	s.skip()
	word := s.token()
	s.skip()
	if s.at < len(s.text) && s.text[s.at] != ';' {
		return false
	}
	return word == "inline"
}
