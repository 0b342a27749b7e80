package config

import (
	"net/netip"
	"strings"
)

// Resolve says which mailbox a recipient is, and whether its domain is one of
// guarded_domains. The address is what the MTA resolved the recipient to. What
// is not an address is no mailbox.
//
// The order is fixed: ASCII fold, unquote, replace the domain, look the whole
// address up, look it up again without its extension.
func (c *Config) Resolve(address string) (m *Mailbox, guarded bool) {
	local, domain, ok := c.split(address)
	if domain != "" {
		guarded = c.guarded[domain]
	}
	if !ok {
		return nil, guarded
	}
	if m = c.known[local+"@"+domain]; m != nil {
		return m, guarded
	}
	return c.known[c.cut(local)+"@"+domain], guarded
}

// cut takes the extension off a local part: what follows the first octet, not
// at position 0, that is any of recipient_delimiter.
func (c *Config) cut(local string) string {
	for i := 1; i < len(local); i++ {
		if strings.IndexByte(c.RecipientDelimiter, local[i]) >= 0 {
			return local[:i]
		}
	}
	return local
}

// split folds an address, unquotes its local part and replaces its domain.
// domain is given as soon as it is known, so that an unreadable local part in
// a guarded domain still counts as one of that domain.
func (c *Config) split(address string) (local, domain string, ok bool) {
	at := strings.LastIndexByte(address, '@')
	if at < 0 {
		return "", "", false
	}
	domain = foldDomain(address[at+1:])
	if same, found := c.same[domain]; found {
		domain = same
	}
	local, ok = unquote(fold(address[:at]))
	if local == "" {
		return "", domain, false
	}
	if domain == "" {
		return "", "", false
	}
	return local, domain, ok
}

// unquote reads a quoted local part (RFC 5321, 4.1.2: Quoted-string). One that
// is not quoted is itself.
func unquote(local string) (string, bool) {
	if !strings.HasPrefix(local, `"`) {
		return local, true
	}
	var b strings.Builder
	for i := 1; i < len(local); i++ {
		switch local[i] {
		case '"':
			return b.String(), i == len(local)-1
		case '\\':
			if i++; i == len(local) {
				return "", false
			}
		}
		b.WriteByte(local[i])
	}
	return "", false
}

// fold lowers A-Z and nothing else: Unicode's folding would let U+212A stand
// for k.
func fold(s string) string {
	b := []byte(s)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}

// foldDomain folds a domain; an address literal (RFC 5321, 4.1.3) is written in
// its one canonical form, so that each spelling of an IPv6 address is the same.
func foldDomain(domain string) string {
	domain = fold(domain)
	inner, ok := strings.CutPrefix(domain, "[")
	if !ok {
		return domain
	}
	inner, ok = strings.CutSuffix(inner, "]")
	if !ok {
		return domain
	}
	six, isSix := strings.CutPrefix(inner, "ipv6:")
	ip, err := netip.ParseAddr(six)
	if err != nil {
		return domain
	}
	if ip.Zone() != "" {
		return domain
	}
	if isSix != ip.Is6() {
		return domain
	}
	if isSix {
		return "[ipv6:" + ip.String() + "]"
	}
	return "[" + ip.String() + "]"
}
