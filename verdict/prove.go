package verdict

import (
	"bytes"
	"context"
	"errors"
	"io"
)

// result is what became of one signature.
type result int

const (
	verified result = iota
	badSignature
	badKey
	noAnswer // the key could not be looked up
	atBound  // a bound kept the key from being looked up
	failed   // the body could not be read
)

// answer is what a look-up gave.
type answer struct {
	records []string
	err     error
}

// prove tries the candidates from the top. The first that verifies accepts;
// if none does, one that got no answer defers.
func (c *Case) prove(ctx context.Context, v Verdict, entry string, candidates []*signature) Verdict {
	seen := map[result]bool{}
	for _, s := range candidates {
		r := c.try(ctx, s)
		if r == verified {
			return Verdict{outcome: Accept, listed: v.listed, accepted: c.accept(entry, s)}
		}
		seen[r] = true
	}
	v.outcome, v.reason = conclude(seen)
	return v
}

// conclude is the outcome where no candidate verified.
func conclude(seen map[result]bool) (Outcome, Reason) {
	// Nothing is decided on a message that could not be read.
	if seen[failed] {
		return Defer, Internal
	}
	// The signature that got no answer may be the one that proves the sender.
	if seen[noAnswer] {
		return Defer, DNS
	}
	if seen[atBound] {
		return Defer, Busy
	}
	if seen[badSignature] {
		return Refuse, BadSignature
	}
	return Refuse, BadKey
}

// try verifies one signature, once.
func (c *Case) try(ctx context.Context, s *signature) result {
	if !s.tried {
		s.tried, s.result = true, c.verify(ctx, s)
	}
	return s.result
}

// verify goes from what costs nothing to what costs most. Whatever fails
// without the key asks no name server and so cannot defer.
func (c *Case) verify(ctx context.Context, s *signature) result {
	if !s.readStrictly(c.message.Header, c.domain(), c.env.Now) {
		return badSignature
	}
	body := c.hash(s.strict.simpleBody)
	if body.err != nil {
		return failed
	}
	// The body is the one that was signed (RFC 6376, 6.1.3).
	if !bytes.Equal(body.sum, s.strict.bodyHash) {
		return badSignature
	}
	key, r := c.key(ctx, s)
	if r != verified {
		return r
	}
	s.key = key
	// t=s: the domain of i= is d= itself (RFC 6376, 3.6.1).
	if key.strict && s.strict.auidDomain != c.domain() {
		return badKey
	}
	if !s.holds(c.message.Header) {
		return badSignature
	}
	return verified
}

func (c *Case) hash(simple bool) bodyHash {
	h, done := c.hashes[simple]
	if !done {
		h = hashBody(c.openBody(), c.message.Body.Size(), simple)
		c.hashes[simple] = h
	}
	return h
}

func (c *Case) openBody() *io.SectionReader { return section(c.message.Body) }

// section is a reader of its own over the same bytes, from the start.
func section(r *io.SectionReader) *io.SectionReader { return io.NewSectionReader(r, 0, r.Size()) }

// key asks for the signature's key, each name once a message.
func (c *Case) key(ctx context.Context, s *signature) (publicKey, result) {
	name := keyName(s.strict.selector, c.domain())
	a, asked := c.asked[name]
	if !asked {
		// A fifth key is not asked for: the sender chose how many there are.
		if len(c.asked) >= maxKeys {
			return publicKey{}, badSignature
		}
		a.records, a.err = c.env.Lookup(ctx, name)
		c.asked[name] = a
	}
	if errors.Is(a.err, ErrBusy) {
		return publicKey{}, atBound
	}
	if a.err != nil {
		return publicKey{}, noAnswer
	}
	key, ok := parseKey(a.records, s.strict.algorithm)
	if !ok {
		return publicKey{}, badKey
	}
	return key, verified
}
