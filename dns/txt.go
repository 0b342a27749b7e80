package dns

import (
	"strings"

	"github.com/miekg/dns"
)

// maxText bounds the octets of all TXT records of one answer. The largest key
// that can verify, RSA of 8192 bits, takes about 1,500.
const maxText = 16 << 10

// joined is the octets of a TXT record, its character-strings put together
// without anything between (RFC 6376, 3.6.2.2).
func joined(rr *dns.TXT) (string, error) {
	var b strings.Builder
	for _, s := range rr.Txt {
		raw, ok := unescape(s)
		if !ok {
			return "", errMalformed
		}
		b.WriteString(raw)
	}
	return b.String(), nil
}

// unescape turns a character-string from its presentation form, which is what
// the library holds, into its octets (RFC 1035, 5.1): \DDD is the octet of
// that decimal number, \X any other X itself. False is a number over 255, a
// backslash before fewer than three digits or one at the end.
func unescape(s string) (string, bool) {
	if strings.IndexByte(s, '\\') < 0 {
		return s, true
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			b = append(b, s[i])
			continue
		}
		i++
		if i == len(s) {
			return "", false
		}
		if !digit(s[i]) {
			b = append(b, s[i])
			continue
		}
		octet, ok := decimal(s[i:])
		if !ok {
			return "", false
		}
		b = append(b, octet)
		i += 2
	}
	return string(b), true
}

// decimal reads the three digits that s begins with.
func decimal(s string) (byte, bool) {
	if len(s) < 3 {
		return 0, false
	}
	n := 0
	for i := range 3 {
		if !digit(s[i]) {
			return 0, false
		}
		n = n*10 + int(s[i]-'0')
	}
	return byte(n), n <= 255
}

func digit(c byte) bool { return '0' <= c && c <= '9' }
