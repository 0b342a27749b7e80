package verdict

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"
)

// LookupTXT returns the TXT records at name, the strings of each joined. No
// record (NXDOMAIN, or no TXT at the name) is an empty slice without an error.
// Every error means "no answer now"; one that wraps ErrBusy means that a bound
// on look-ups was reached.
type LookupTXT func(ctx context.Context, name string) ([]string, error)

// ErrBusy is what a LookupTXT wraps when a bound kept it from asking.
var ErrBusy = errors.New("verdict: look-ups are at their bound")

// Env is what judging is handed beside the message.
type Env struct {
	Lookup     LookupTXT
	Now        time.Time // the clock's reading, one for the whole message
	MaxMessage int64     // octets; 0 is no limit
}

// Addressed says what the signed To and Cc must name.
type Addressed string

// The values of the mailbox key "addressed".
const (
	AddressedSigned Addressed = "signed" // the mailbox, where To or Cc is covered
	AddressedStrict Addressed = "strict" // the mailbox, and To or Cc must be covered
	AddressedOff    Addressed = "off"
)

// Policy is one mailbox's list and switches.
type Policy struct {
	Senders Senders

	// Addressee reports whether an address of To or Cc is this mailbox, under
	// any of its names. Not used under AddressedOff.
	Addressee func(address string) bool
	Addressed Addressed

	MaxAge         time.Duration // 0: the age is not looked at
	AllowAutomatic bool          // automatic = "accept"
	RetryWindow    time.Duration // from the first acceptance, for Again
}

// Case is one message under judgement: read once, judged by any number of
// policies, each signature verified at most once. It is not safe for
// concurrent use.
type Case struct {
	message Message
	env     Env

	fault      Reason // what the header alone is refused for, or ""
	from       string // the From address as written, where there is no fault
	signatures []*signature
	asked      map[string]answer // the keys asked for, by name
	hashes     map[bool]bodyHash // by whether the canonicalization is simple
}

// Open reads a message's header.
func Open(m Message, env Env) *Case {
	c := &Case{message: m, env: env, asked: map[string]answer{}, hashes: map[bool]bodyHash{}}
	if c.fault = c.readHeader(); c.fault == "" {
		c.signatures = openSignatures(m.Header, c.domain())
	}
	return c
}

// Judge decides for one policy. The conditions stand in their order, so the
// reason is the first that does not hold.
func (c *Case) Judge(ctx context.Context, p *Policy) Verdict {
	v := Verdict{outcome: Refuse}
	if v.reason = c.fault; v.reason != "" {
		return v
	}
	entry, listed := p.Senders.find(lowerASCII(c.from))
	v.listed = listed
	if v.reason = c.judgeSender(p, listed); v.reason != "" {
		return v
	}
	candidates, reason := c.candidates(p)
	if v.reason = reason; v.reason != "" {
		return v
	}
	return c.prove(ctx, v, entry, candidates)
}

// readHeader holds the conditions that the header alone decides.
func (c *Case) readHeader() Reason {
	header := c.message.Header

	// A header this large costs more to read than any honest one is worth.
	if len(header) > MaxFields {
		return TooLarge
	}
	if headerSize(header) > MaxHeader {
		return TooLarge
	}
	if slices.ContainsFunc(header, func(f Field) bool { return f.size() > maxField }) {
		return TooLarge
	}
	if slices.ContainsFunc(header, func(f Field) bool { return f.lines() > maxFieldLines }) {
		return TooLarge
	}
	if c.env.MaxMessage > 0 && c.message.Size > c.env.MaxMessage {
		return TooLarge
	}

	// A line that one parser takes for a field and another for something else
	// gives two readers two messages (RFC 5322, 2.2).
	if slices.ContainsFunc(header, func(f Field) bool { return f.NoColon }) {
		return MalformedHeader
	}
	if slices.ContainsFunc(header, func(f Field) bool { return !validFieldName(f.Name) }) {
		return MalformedHeader
	}
	if slices.ContainsFunc(header, Field.hasControl) {
		return MalformedHeader
	}
	if slices.ContainsFunc(header, Field.hasBlankLine) {
		return MalformedHeader
	}

	// A verifier takes the lowest From, most readers show the topmost
	// (RFC 6376, 8.15): with two, who was proved is not who is shown.
	if len(indexes(header, "From")) != 1 {
		return FromCount
	}
	// The same holds for every field that may stand once (RFC 5322, 3.6).
	if slices.ContainsFunc(single, func(name string) bool { return repeats(header, name) }) {
		return DuplicateField
	}

	value := unfold(header[indexes(header, "From")[0]].Value)
	// With two addresses, either may be the one that is shown.
	if !holdsOne(value) {
		return AddressCount
	}
	addr, ok := parseFrom(value)
	// Beyond this grammar parsers find different addresses.
	if !ok {
		return FromSyntax
	}
	c.from = addr
	return ""
}

// judgeSender holds the conditions on who claims to have sent it and why.
func (c *Case) judgeSender(p *Policy, listed bool) Reason {
	// The owner's list is what turns a proved name into a known one.
	if !listed {
		return Unlisted
	}
	// A friend's responder signs whatever a stranger wrote to it (RFC 3834, 5).
	if !p.AllowAutomatic && c.automatic() {
		return Automatic
	}
	return ""
}

// automatic reports whether the message is an answer that no person wrote.
func (c *Case) automatic() bool {
	header := c.message.Header
	if each(header, "Auto-Submitted", is("auto-replied")) {
		return true
	}
	if each(header, "Precedence", is("auto_reply")) {
		return true
	}
	if each(header, "X-Autoreply", isNot("no")) {
		return true
	}
	if each(header, "X-Autorespond", isNot("no")) {
		return true
	}
	if each(header, "Content-Type", func(v string) bool {
		return strings.Join(strings.Fields(v), "") == "multipart/report"
	}) {
		return true
	}
	return c.message.NullSender && each(header, "Auto-Submitted", isNot("no"))
}

// candidates holds the conditions that single out the signatures which could
// accept the message. Each narrows the set; the one that empties it is the
// reason.
func (c *Case) candidates(p *Policy) ([]*signature, Reason) {
	if len(indexes(c.message.Header, "DKIM-Signature")) == 0 {
		return nil, Unsigned
	}
	// Only the address's own domain can speak for it: d= equals it, no parent
	// and no child.
	left := c.signatures
	if len(left) == 0 {
		return nil, Misaligned
	}
	// With l= anyone can append text to signed mail (RFC 6376, 8.2).
	left = keep(left, func(s *signature) bool { return !s.hasLength() })
	if len(left) == 0 {
		return nil, LengthTag
	}
	// A genuine message to someone else, sent on to this mailbox, was not said
	// to its owner.
	left = keep(left, p.addressed(c.message.Header))
	if len(left) == 0 {
		return nil, NotAddressed
	}
	// An old message sent again is not what its sender says now.
	left = keep(left, func(s *signature) bool { return p.MaxAge == 0 || s.fresh(c.env.Now, p.MaxAge) })
	if len(left) == 0 {
		return nil, Stale
	}
	return left, ""
}

func keep(sigs []*signature, holds func(*signature) bool) []*signature {
	return slices.DeleteFunc(slices.Clone(sigs), func(s *signature) bool { return !holds(s) })
}

// addressed is the condition that what a signature covers of To and Cc names
// the mailbox, as far as the policy asks for it. Both are read once, however
// many signatures there are.
func (p *Policy) addressed(header []Field) func(*signature) bool {
	if p.Addressed == AddressedOff {
		return func(*signature) bool { return true }
	}
	inTo, inCc := p.namedIn(header, "To"), p.namedIn(header, "Cc")
	return func(s *signature) bool {
		to, cc := s.cover.covers(header, "To"), s.cover.covers(header, "Cc")
		if !to && !cc {
			// Large hosters sign neither. Such a signature can be sent on to
			// anyone, so without a time it could be for ever.
			return p.Addressed == AddressedSigned && (s.dated || s.brokenTime())
		}
		return to && inTo || cc && inCc
	}
}

// namedIn reads the field, which stands once, entry by entry; an entry that is
// no address names nobody. Groups (RFC 5322, 3.4) are read as their members.
func (p *Policy) namedIn(header []Field, name string) bool {
	for _, i := range indexes(header, name) {
		for _, entry := range splitList(unfold(header[i].Value), ",:;") {
			if p.Addressee(entryAddress(entry)) {
				return true
			}
		}
	}
	return false
}

func (c *Case) domain() string {
	_, domain, _ := strings.Cut(lowerASCII(c.from), "@")
	return domain
}

// Claim is what the message says of its sender; it is known once the header
// has no fault.
func (c *Case) Claim() Claim { return Claim{lowerASCII(c.from)} }

// Signer is the class of who signed the message instead of its From domain.
func (c *Case) Signer() SignerClass { return classify(c.message.Header) }

// VerifiedKeys names the key records by which a signature of this message
// verified.
func (c *Case) VerifiedKeys() []string {
	var names []string
	for _, s := range c.signatures {
		if s.tried && s.result == verified {
			names = append(names, keyName(s.strict.selector, c.domain()))
		}
	}
	return names
}
