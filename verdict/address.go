package verdict

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"mime"
	"net/mail"
	"strings"
	"unicode/utf8"
)

// maxAddress is the longest address in octets: a path of RFC 5321, 4.5.3.1.3
// without its angle brackets.
const maxAddress = 254

// Claim is the address that the message's From names, if it names one.
type Claim struct{ address string } // canonical

// Known reports whether From named exactly one well-formed address.
func (c Claim) Known() bool { return c.address != "" }

// Reduced is the address in lower case if it is too short and plain to carry a
// sentence, else "". Nothing is ever cut.
func (c Claim) Reduced() string {
	if !plain(c.address) {
		return ""
	}
	return c.address
}

// Hash is 8 hex digits of HMAC-SHA-256 of the address under key, so that
// repeats can be told apart; "" where no address is known.
func (c Claim) Hash(key []byte) string {
	if !c.Known() {
		return ""
	}
	h := hmac.New(sha256.New, key)
	io.WriteString(h, c.address)
	return hex.EncodeToString(h.Sum(nil)[:4])
}

// plain reports whether an address may stand in a record. What a stranger can
// write in one is bounded to something that no reader takes for a sentence.
func plain(address string) bool {
	local, domain, _ := strings.Cut(address, "@")
	for _, c := range []byte(local + domain) {
		if !alnum(c) && strings.IndexByte("._+-", c) < 0 {
			return false
		}
	}
	if len(local) < 1 || len(local) > 24 {
		return false
	}
	if countAny(local, "._+-") > 1 {
		return false
	}
	if len(domain) < 1 || len(domain) > 40 {
		return false
	}
	labels := strings.Split(domain, ".")
	if len(labels) > 3 {
		return false
	}
	hyphens := 0
	for _, l := range labels {
		hyphens += strings.Count(strings.TrimPrefix(l, "xn--"), "-")
	}
	return hyphens <= 1
}

func countAny(s, set string) (n int) {
	for i := 0; i < len(s); i++ {
		if strings.IndexByte(set, s[i]) >= 0 {
			n++
		}
	}
	return n
}

// Senders is a mailbox's list: addresses that compare exactly, local part and
// domain folded in ASCII, without any plus-tag, dot or Unicode folding.
type Senders struct{ entries map[string]string } // canonical address → the owner's spelling

// ErrEntry says that a list entry is not an ASCII dot-atom@domain of at most
// 254 octets whose domain has a dot.
var ErrEntry = errors.New("verdict: not an address that a list can hold")

// NewSenders makes a list of the owner's entries. Of two that are the same
// address the first one's spelling counts.
func NewSenders(entries []string) (Senders, error) {
	s := Senders{entries: make(map[string]string, len(entries))}
	for _, e := range entries {
		if !ValidAddress(e) {
			return Senders{}, ErrEntry
		}
		if k := lowerASCII(e); s.entries[k] == "" {
			s.entries[k] = e
		}
	}
	return s, nil
}

// find returns the owner's spelling of the entry that is this address.
func (s Senders) find(canonical string) (entry string, ok bool) {
	entry, ok = s.entries[canonical]
	return entry, ok
}

// ValidAddress reports whether s is an address in the one form that From and
// lists may have: an ASCII dot-atom (RFC 5322, 3.2.3), "@", and a domain of at
// least two letter-digit-hyphen labels (RFC 1034, 3.5), 254 octets in all, and
// nothing that a decoder could take for an encoded word (RFC 2047, 2).
func ValidAddress(s string) bool {
	if len(s) > maxAddress {
		return false
	}
	if strings.Contains(s, "=?") {
		return false
	}
	local, domain, _ := strings.Cut(s, "@")
	return dotAtom(local) && strings.Contains(domain, ".") && validDomain(domain)
}

func dotAtom(s string) bool {
	for _, atom := range strings.Split(s, ".") {
		if atom == "" {
			return false
		}
		for i := 0; i < len(atom); i++ {
			if !alnum(atom[i]) && strings.IndexByte("!#$%&'*+-/=?^_`{|}~", atom[i]) < 0 {
				return false
			}
		}
	}
	return true
}

// validDomain reports whether s is labels of 1 to 63 letters, digits and
// hyphens, no hyphen first or last, joined by single dots, 253 octets in all.
func validDomain(s string) bool {
	if len(s) > 253 {
		return false
	}
	for _, l := range strings.Split(s, ".") {
		if len(l) < 1 || len(l) > 63 || l[0] == '-' || l[len(l)-1] == '-' {
			return false
		}
		for i := 0; i < len(l); i++ {
			if !alnum(l[i]) && l[i] != '-' {
				return false
			}
		}
	}
	return true
}

func alnum(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}

// holdsOne reports whether an address list has one entry: it is not empty and
// no comma stands outside quotes, comments and angle brackets.
func holdsOne(list string) bool {
	return strings.Trim(list, " \t") != "" && len(splitList(list, ",")) == 1
}

// splitList cuts an unfolded list at each of the octets in seps that stands
// outside quoted strings, comments and angle brackets (RFC 5322, 3.4).
func splitList(list, seps string) []string {
	var (
		entries        []string
		quoted, angle  bool
		comment, start int
	)
	for i := 0; i < len(list); i++ {
		switch c := list[i]; {
		case c == '\\' && (quoted || comment > 0):
			i++
		case quoted:
			quoted = c != '"'
		case c == '(':
			comment++
		case comment > 0 && c == ')':
			comment--
		case comment > 0:
		case c == '"':
			quoted = true
		case c == '<':
			angle = true
		case c == '>':
			angle = false
		case !angle && strings.IndexByte(seps, c) >= 0:
			entries = append(entries, list[start:i])
			start = i + 1
		}
	}
	return append(entries, list[start:])
}

// parseFrom reads an unfolded From value by the one grammar that is accepted,
//
//	ws (addr / [phrase ws] "<" addr ">") ws [comment ws]
//
// and returns the address as written. The general grammar of RFC 5322, 3.4
// has groups, routes, quoted local parts and comments anywhere, in which two
// parsers can find two addresses; none of them is needed by honest mail.
func parseFrom(value string) (addr string, ok bool) {
	rest := strings.Trim(value, " \t")
	if strings.HasSuffix(rest, ")") {
		rest, ok = cutComment(rest)
		if !ok {
			return "", false
		}
		rest = strings.TrimRight(rest, " \t")
	}
	addr = rest
	if strings.HasSuffix(rest, ">") {
		at := strings.LastIndexByte(rest, '<')
		if at < 0 {
			return "", false
		}
		if !validPhrase(rest[:at]) {
			return "", false
		}
		addr = rest[at+1 : len(rest)-1]
	}
	if !ValidAddress(addr) {
		return "", false
	}
	if !netMailAgrees(value, addr) {
		return "", false
	}
	return addr, true
}

// cutComment takes the one comment off the end of s, which ends in ")".
func cutComment(s string) (before string, ok bool) {
	// The phrase may hold parentheses in quotes, so the comment is found from
	// the left.
	for i, quoted := 0, false; i < len(s); i++ {
		switch {
		case quoted && s[i] == '\\':
			i++
		case s[i] == '"':
			quoted = !quoted
		case !quoted && s[i] == '(':
			return s[:i], simpleComment(s[i:])
		}
	}
	return "", false
}

// simpleComment reports whether s is one comment, balanced, not nested, in
// valid UTF-8.
func simpleComment(s string) bool {
	for i := 1; i < len(s)-1; i++ {
		switch s[i] {
		case '\\':
			i++
			if i == len(s)-1 {
				return false // the last parenthesis is quoted
			}
		case '(', ')':
			return false
		}
	}
	return utf8.ValidString(s)
}

// validPhrase reports whether s is atoms, quoted strings, dots and encoded
// words in valid UTF-8, with none of the specials outside quotes.
func validPhrase(s string) bool {
	quoted := false
	for i := 0; i < len(s); i++ {
		switch {
		case quoted && s[i] == '\\':
			i++
		case s[i] == '"':
			quoted = !quoted
		case !quoted && strings.IndexByte(`@,;:<>()[]\`, s[i]) >= 0:
			return false
		}
	}
	return !quoted && utf8.ValidString(s)
}

// netMailAgrees asks a second, independent parser for the address. Every
// charset is taken as it is, for a display name decides nothing.
func netMailAgrees(value, addr string) bool {
	p := mail.AddressParser{WordDecoder: &mime.WordDecoder{
		CharsetReader: func(_ string, r io.Reader) (io.Reader, error) { return r, nil },
	}}
	a, err := p.Parse(value)
	return err == nil && a.Address == addr
}

// entryAddress reads one entry of To or Cc: what stands in angle brackets,
// else the entry without its comments.
func entryAddress(entry string) string {
	entry = strings.Trim(dropComments(entry), " \t")
	if strings.HasSuffix(entry, ">") {
		if at := strings.LastIndexByte(entry, '<'); at >= 0 {
			return strings.Trim(entry[at+1:len(entry)-1], " \t")
		}
	}
	return entry
}

// dropComments takes out all comments (RFC 5322, 3.2.2), nested ones too; one
// that is not closed reaches to the end.
func dropComments(s string) string {
	var b strings.Builder
	quoted, comment := false, 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c == '\\' && (quoted || comment > 0) && i+1 < len(s) {
			if comment == 0 {
				b.WriteString(s[i : i+2])
			}
			i++
			continue
		}
		switch {
		case comment == 0 && c == '"':
			quoted = !quoted
		case !quoted && c == '(':
			comment++
		case comment > 0 && c == ')':
			comment--
			continue
		}
		if comment == 0 {
			b.WriteByte(c)
		}
	}
	return b.String()
}
