package verdict

import "strings"

// DigestOf is the digest of a DKIM-Signature field of example.org.
func DigestOf(field string) [32]byte {
	_, value, _ := strings.Cut(strings.TrimSuffix(field, "\r\n"), ":")
	s := signature{}
	s.readSyntax([]Field{{Name: "DKIM-Signature", Value: value}}, "example.org")
	return s.digest("example.org")
}
