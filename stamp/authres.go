package stamp

import (
	"strings"

	"stile/verdict"
)

// AuthResultsName is the field of RFC 8601.
const AuthResultsName = "Authentication-Results"

// authResults is the field that says what was found of an accepted message,
// for filters that read no other: that the accepting signature verified, and
// whose it is (RFC 8601, 2.7.1).
func authResults(authservID string, a *verdict.Accepted) (verdict.Field, error) {
	value, err := fold(AuthResultsName, []string{
		authservID, "dkim=pass header.d=" + a.Domain() + " header.a=" + a.Algorithm(),
	})
	return verdict.Field{Name: AuthResultsName, Value: value}, err
}

// isResultsOf reports whether a field is an Authentication-Results of that id,
// which is never "": whoever trusts the id must not find one of a sender's
// making (RFC 8601, 5). What follows the id may be anything.
func isResultsOf(f verdict.Field, authservID string) bool {
	if lower(fieldName(f)) != lower(AuthResultsName) {
		return false
	}
	return lower(resultsID(f.Value)) == lower(authservID)
}

// resultsID reads the authserv-id: a token or a quoted string (RFC 2045, 5.1)
// behind white space and comments (RFC 8601, 2.2); "" is none. A quoted string
// that does not end is read to the end, for another reader might.
func resultsID(value string) string {
	value = skipCFWS(value)
	if strings.HasPrefix(value, `"`) {
		return unquoted(value[1:])
	}
	end := 0
	for end < len(value) && isTokenChar(value[end]) {
		end++
	}
	return value[:end]
}

// skipCFWS cuts white space and comments, nested ones too, off the beginning
// (RFC 5322, 3.2.2). A comment that does not end reaches to the end.
func skipCFWS(s string) string {
	depth := 0
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\' && depth > 0:
			i++
		case c == '(':
			depth++
		case c == ')' && depth > 0:
			depth--
		case depth > 0:
		case strings.IndexByte(" \t\r\n", c) < 0:
			return s[i:]
		}
	}
	return ""
}

// unquoted reads a quoted string from behind its first quote, without its
// folds.
func unquoted(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '"':
			return b.String()
		case s[i] == '\r' || s[i] == '\n':
			continue
		case s[i] == '\\' && i+1 < len(s):
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

func isTokenChar(c byte) bool {
	return c > ' ' && c != 127 && strings.IndexByte(`()<>@,;:\"/[]?=`, c) < 0
}
