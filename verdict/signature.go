package verdict

import (
	"crypto/sha256"
	"encoding/hex"
	"net/mail"
	"slices"
	"strings"
	"time"
)

// Our bounds on signatures. What is over one of them does not verify.
const (
	maxAligned   = 16       // aligned signatures that are tried, from the top
	maxSignature = 16 << 10 // octets in one DKIM-Signature field
	maxSigned    = 256      // names in one h=
	maxKeys      = 4        // keys that are asked for, for one message
)

// Allowances for clocks that differ.
const (
	aheadSignature = 10 * time.Minute
	aheadDate      = 24 * time.Hour
)

// signature is one DKIM-Signature field whose d= is the From domain
// (RFC 6376, 3.5).
type signature struct {
	at         int // its place in the header
	rank       int // 0 for the topmost aligned one
	loose      []tag
	cover      coverage
	time       time.Time
	dated      bool // time is known
	strict     strictSignature
	parsed     bool // the strict reading of the tags was done, with this result:
	wellFormed bool
	checked    bool // everything that needs no key was, with this result:
	valid      bool

	tried  bool // verification was tried, with this result:
	result result
	key    publicKey
}

// strictSignature is what the strict reading gives.
type strictSignature struct {
	algorithm, selector, auidDomain string
	simpleHeader, simpleBody        bool
	bodyHash, signature             []byte
}

// value returns the first value of a tag in the loose reading.
func (s *signature) value(name string) (string, bool) {
	for _, t := range s.loose {
		if t.name == name {
			return t.value, true
		}
	}
	return "", false
}

// alignedDomain reports whether one of the d= values is this domain. d= must
// be a plain name before it is compared: a trailing dot, white space inside or
// a character that some decoder maps makes it another one.
func alignedDomain(tags []tag, domain string) bool {
	return slices.ContainsFunc(tags, func(t tag) bool {
		return t.name == "d" && validDomain(t.value) && lowerASCII(t.value) == domain
	})
}

// openSignatures reads the aligned signatures, top first.
func openSignatures(header []Field, domain string) []*signature {
	var sigs []*signature
	for _, at := range indexes(header, "DKIM-Signature") {
		tags := looseTags(header[at].Value)
		if !alignedDomain(tags, domain) {
			continue
		}
		s := &signature{at: at, rank: len(sigs), loose: tags}
		h, _ := s.value("h")
		s.cover = cover(header, colonList(h))
		s.time, s.dated = s.when(header)
		sigs = append(sigs, s)
	}
	return sigs
}

// when is the time of the signature: t=, else a covered Date. A t= that cannot
// be read is a broken signature, whose age is of no interest.
func (s *signature) when(header []Field) (time.Time, bool) {
	if t, ok := s.value("t"); ok {
		sec, ok := parseSeconds(t)
		return time.Unix(sec, 0).UTC(), ok
	}
	for _, i := range indexes(header, "Date") {
		if s.cover.fields[i] {
			return parseDate(header[i].Value)
		}
	}
	return time.Time{}, false
}

// parseDate reads the value of a Date field (RFC 5322, 3.3), whose parts any
// white space keeps apart.
func parseDate(value string) (time.Time, bool) {
	t, err := mail.ParseDate(Relaxed(value))
	return t.UTC(), err == nil
}

// hasLength reports whether l= is there, whatever it says: a signature with it
// lets anyone append text (RFC 6376, 8.2).
func (s *signature) hasLength() bool {
	_, ok := s.value("l")
	return ok
}

// fresh reports whether the signature's time is within the policy's max_age.
// Mail without a time is not refused for it; it is flagged.
func (s *signature) fresh(now time.Time, maxAge time.Duration) bool {
	if !s.dated {
		return true
	}
	ahead := aheadDate
	if _, ok := s.value("t"); ok {
		ahead = aheadSignature
	}
	return now.Sub(s.time) <= maxAge && s.time.Sub(now) <= ahead
}

// readStrictly reads the tags by the grammar of RFC 6376, 3.5, and reports
// whether everything but the key, the body hash and the signature itself
// holds. What fails here asks no name server.
func (s *signature) readStrictly(header []Field, domain string, now time.Time) bool {
	if s.checked {
		return s.valid
	}
	s.checked = true
	s.valid = s.readSyntax(header, domain) && s.checkBounds(header, now)
	return s.valid
}

// readSyntax reads the tags, once, and reports whether they are as the grammar
// has them. What it says does not change with time or with other fields.
func (s *signature) readSyntax(header []Field, domain string) bool {
	if !s.parsed {
		s.parsed, s.wellFormed = true, s.checkSyntax(header[s.at], domain)
	}
	return s.wellFormed
}

func (s *signature) checkSyntax(field Field, domain string) bool {
	if field.size() > maxSignature {
		return false
	}
	// What is malformed reads as no tags at all, v= among them.
	tags, _ := strictTags(field.Value)
	if tags["v"] != "1" {
		return false
	}
	// rsa-sha1 must not be used (RFC 8301, 3.1).
	s.strict.algorithm = tags["a"]
	if s.strict.algorithm != "rsa-sha256" && s.strict.algorithm != "ed25519-sha256" {
		return false
	}
	var ok bool
	if s.strict.signature, ok = decodeBase64(tags["b"]); !ok {
		return false
	}
	if s.strict.bodyHash, ok = decodeBase64(tags["bh"]); !ok {
		return false
	}
	if s.strict.simpleHeader, s.strict.simpleBody, ok = parseCanonicalization(tags); !ok {
		return false
	}
	if !validSelector(tags["s"], domain) {
		return false
	}
	s.strict.selector = tags["s"]
	// The look-up method (3.5, q=): the first that is known is used.
	if q, there := tags["q"]; there && !slices.Contains(colonList(q), "dns/txt") {
		return false
	}
	return s.checkIdentity(tags, domain)
}

// checkIdentity: the domain of i= is d= or below it (RFC 6376, 3.5).
func (s *signature) checkIdentity(tags map[string]string, domain string) bool {
	s.strict.auidDomain = domain
	i, there := tags["i"]
	if !there {
		return true
	}
	at := strings.LastIndexByte(i, '@')
	if at < 0 {
		return false
	}
	s.strict.auidDomain = lowerASCII(i[at+1:])
	if !validDomain(s.strict.auidDomain) {
		return false
	}
	return s.strict.auidDomain == domain || strings.HasSuffix(s.strict.auidDomain, "."+domain)
}

// parseCanonicalization reads c=: simple or relaxed for the header, the same
// for the body, simple where one is left out.
func parseCanonicalization(tags map[string]string) (simpleHeader, simpleBody, ok bool) {
	c, there := tags["c"]
	if !there {
		return true, true, true
	}
	header, body, both := strings.Cut(c, "/")
	if !both {
		body = "simple"
	}
	known := func(s string) bool { return s == "simple" || s == "relaxed" }
	return header == "simple", body == "simple", known(header) && known(body)
}

// validSelector: labels of letters, digits, hyphens and, since senders have
// them, underscores, that make a name that can be asked for.
func validSelector(s, domain string) bool {
	for _, l := range strings.Split(s, ".") {
		if len(l) < 1 || len(l) > 63 {
			return false
		}
		for i := 0; i < len(l); i++ {
			if !alnum(l[i]) && l[i] != '-' && l[i] != '_' {
				return false
			}
		}
	}
	return len(keyName(s, domain)) <= 253
}

// keyName is where a key record stands (RFC 6376, 3.6.2.1).
func keyName(selector, domain string) string {
	return lowerASCII(selector) + "._domainkey." + domain
}

func (s *signature) checkBounds(header []Field, now time.Time) bool {
	if s.rank >= maxAligned {
		return false
	}
	h, _ := s.value("h")
	names := colonList(h)
	if len(names) > maxSigned {
		return false
	}
	for _, n := range names {
		if !validFieldName(n) {
			return false
		}
	}
	// A signature that does not cover From proves nothing about it (5.4).
	if !s.cover.covers(header, "From") {
		return false
	}
	// A field that takes itself cannot have been signed: its b= was empty then.
	if s.cover.fields[s.at] {
		return false
	}
	return s.checkTimes(now)
}

func (s *signature) checkTimes(now time.Time) bool {
	t, signed := s.value("t")
	at, ok := parseSeconds(t)
	if signed && !ok {
		return false
	}
	if signed && time.Unix(at, 0).Sub(now) > aheadSignature {
		return false
	}
	x, expires := s.value("x")
	if !expires {
		return true
	}
	until, _ := parseSeconds(x) // of what is no time 0, which is past
	if now.After(time.Unix(until, 0)) {
		return false
	}
	return !signed || until >= at
}

// digest is SHA-256 over d, s and the decoded b=, each of the first two ended
// by a zero octet.
func (s *signature) digest(domain string) [32]byte {
	return sha256.Sum256(slices.Concat([]byte(domain), []byte{0}, []byte(s.strict.selector), []byte{0}, s.strict.signature))
}

// keyID is the first 16 hex digits of SHA-256 of the key's name.
func (s *signature) keyID(domain string) string {
	sum := sha256.Sum256([]byte(keyName(s.strict.selector, domain)))
	return hex.EncodeToString(sum[:8])
}

// brokenTime reports whether t= is there and cannot be read.
func (s *signature) brokenTime() bool {
	t, there := s.value("t")
	_, ok := parseSeconds(t)
	return there && !ok
}
