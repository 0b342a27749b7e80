package verdict

import (
	"encoding/base64"
	"strconv"
	"strings"
)

// fws are the octets of folding white space: a field that came this far folds
// correctly.
const fws = " \t\r\n"

// tag is one tag=value of a tag list, both trimmed of white space.
type tag struct{ name, value string }

// looseTags reads what can be read of a tag list and never fails. Alignment
// and l= are decided on it, so that a signature with broken syntax still
// counts as the one that it claims to be.
func looseTags(list string) []tag {
	var tags []tag
	for _, spec := range strings.Split(list, ";") {
		if name, value, ok := strings.Cut(spec, "="); ok {
			tags = append(tags, tag{strings.Trim(name, fws), strings.Trim(value, fws)})
		}
	}
	return tags
}

// strictTags reads a tag list by the grammar of RFC 6376, 3.2: a semicolon
// behind the last tag is allowed, an empty tag, a tag given twice and an octet
// outside the grammar are not.
func strictTags(list string) (map[string]string, bool) {
	specs := strings.Split(list, ";")
	if n := len(specs); strings.Trim(specs[n-1], fws) == "" {
		specs = specs[:n-1]
	}
	tags := make(map[string]string, len(specs))
	for _, spec := range specs {
		name, value, ok := strings.Cut(spec, "=")
		if !ok {
			return nil, false
		}
		name, value = strings.Trim(name, fws), strings.Trim(value, fws)
		if !validTagName(name) {
			return nil, false
		}
		if !validTagValue(value) {
			return nil, false
		}
		if _, twice := tags[name]; twice {
			return nil, false
		}
		tags[name] = value
	}
	return tags, true
}

// validTagName: ALPHA *(ALPHA / DIGIT / "_").
func validTagName(s string) bool {
	if s == "" || '0' <= s[0] && s[0] <= '9' || s[0] == '_' {
		return false
	}
	for i := 0; i < len(s); i++ {
		if !alnum(s[i]) && s[i] != '_' {
			return false
		}
	}
	return true
}

// validTagValue: printable ASCII but ";", and folding white space.
func validTagValue(s string) bool {
	for i := 0; i < len(s); i++ {
		if (s[i] < '!' || s[i] > '~') && strings.IndexByte(fws, s[i]) < 0 {
			return false
		}
	}
	return true
}

// colonList splits a value at its colons, white space around each item off.
func colonList(s string) []string {
	items := strings.Split(s, ":")
	for i := range items {
		items[i] = strings.Trim(items[i], fws)
	}
	return items
}

// decodeBase64 decodes base64 with folding white space between its characters
// and nothing else, whose unused bits are zero: one signature has one spelling.
func decodeBase64(s string) ([]byte, bool) {
	b, err := base64.StdEncoding.Strict().DecodeString(dropFWS(s))
	return b, err == nil && len(b) > 0
}

func dropFWS(s string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(fws, r) {
			return -1
		}
		return r
	}, s)
}

// parseSeconds reads t= and x=: 1 to 12 digits (RFC 6376, 3.5).
func parseSeconds(s string) (int64, bool) {
	if len(s) > 12 {
		return 0, false
	}
	n, err := strconv.ParseUint(s, 10, 63)
	return int64(n), err == nil
}
