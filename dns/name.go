package dns

import "strings"

const (
	maxName  = 253 // octets of a name in text, without the last dot (RFC 1035, 2.3.4)
	maxLabel = 63  // octets of a label
)

// canonical is the name in lower case and absolute, with the last dot. A name
// that is not made of labels of letters, digits, hyphens and underscores is
// false: no such name is asked for.
func canonical(name string) (string, bool) {
	name = strings.TrimSuffix(name, ".")
	if len(name) > maxName {
		return "", false
	}
	for label := range strings.SplitSeq(name, ".") {
		if !validLabel(label) {
			return "", false
		}
	}
	return strings.ToLower(name) + ".", true
}

func validLabel(label string) bool {
	if len(label) == 0 {
		return false
	}
	if len(label) > maxLabel {
		return false
	}
	for i := range len(label) {
		switch c := label[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-', c == '_':
		default:
			return false
		}
	}
	return true
}

// lower folds the ASCII letters of a name as it came from the wire; two names
// are one name if they differ in nothing else (RFC 4343).
func lower(name string) string {
	for i := range len(name) {
		if 'A' <= name[i] && name[i] <= 'Z' {
			b := []byte(name)
			for j, c := range b {
				if 'A' <= c && c <= 'Z' {
					b[j] = c + 'a' - 'A'
				}
			}
			return string(b)
		}
	}
	return name
}
