package verdict

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"slices"
	"strings"
	"time"
)

// Proof is what an acceptance rests on, by which a later one is told to be
// the same.
type Proof struct {
	// Signatures are the Digests of the signatures that prove it, top first,
	// each once, at least one, and no more than a header has fields. They are
	// over the decoded b=, so white space in it makes no other one.
	Signatures [][32]byte

	// Message is SHA-256 of the header and the body, but for the fields that
	// relays and filters add and change.
	Message [32]byte
}

// Earlier is an earlier acceptance of one of a Proof's signatures.
type Earlier struct {
	Signature [32]byte  // of Proof.Signatures
	Message   [32]byte  // Proof.Message of the first acceptance
	First     time.Time // when that was
}

// ErrBody says that the message's body could not be read.
var ErrBody = errors.New("verdict: the body cannot be read")

// Proof is what the acceptance of this Case rests on: every aligned signature
// that verified, and those with the accepting one's bh= whose key was not
// asked for or gave no answer, since such a one could accept the message again
// with the others taken off. No key is asked for. The error is ErrBody.
func (c *Case) Proof(ctx context.Context, a *Accepted) (Proof, error) {
	var p Proof
	for _, s := range c.signatures {
		// Without a decoded b= there is nothing to know it by.
		if !s.readSyntax(c.message.Header, c.domain()) {
			continue
		}
		// To verify a copy of one that is named already costs the whole body.
		if slices.Contains(p.Signatures, s.digest(c.domain())) {
			continue
		}
		if c.proves(ctx, s, a) {
			p.Signatures = append(p.Signatures, s.digest(c.domain()))
		}
	}
	body := c.hash(true)
	if body.err != nil {
		return Proof{}, ErrBody
	}
	p.Message = digestMessage(c.message.Header, body.sum)
	return p, nil
}

// proves reports whether the signature speaks for the message that another one
// accepted. Where its key is at hand it is verified, so that a signature of
// another message, put here in transit, does not count as used up. Its tags
// are as the grammar has them.
func (c *Case) proves(ctx context.Context, s *signature, a *Accepted) bool {
	// One over our bound on signatures is not tried, and would be with those
	// above it taken off.
	if s.rank >= maxAligned {
		return bytes.Equal(s.strict.bodyHash, a.bodyHash)
	}
	if known, asked := c.asked[keyName(s.strict.selector, c.domain())]; asked && known.err == nil {
		return c.try(ctx, s) == verified
	}
	return bytes.Equal(s.strict.bodyHash, a.bodyHash)
}

// passing are the fields that differ between two deliveries of one message: a
// sender's retry comes with other trace fields (RFC 5321, 4.4; RFC 8601;
// RFC 8617, 4.1).
func passing(f Field) bool {
	name := lowerASCII(f.Name)
	return slices.Contains([]string{"received", "return-path", "authentication-results"}, name) ||
		strings.HasPrefix(name, "arc-")
}

// digestMessage is SHA-256 of the header without passing fields, an empty line
// and the hash of the canonical body.
func digestMessage(header []Field, body []byte) (sum [32]byte) {
	h := sha256.New()
	for _, f := range header {
		if !passing(f) {
			io.WriteString(h, f.raw())
		}
	}
	h.Write(crlf)
	h.Write(body)
	h.Sum(sum[:0])
	return sum
}

// Again is a verdict of this Case in the light of the earlier acceptances of
// its proof by the same policy. What was not accepted before stays accepted;
// what was is a repeat, flagged, or refused as a replay. A verdict that does
// not accept stays as it is.
func (c *Case) Again(p *Policy, v Verdict, proof Proof, earlier []Earlier) Verdict {
	if v.outcome != Accept {
		return v
	}
	for _, e := range earlier {
		if reason := p.judgeRepeat(c.env.Now, proof, e); reason != "" {
			return Verdict{outcome: Refuse, reason: reason, listed: v.listed}
		}
	}
	if len(earlier) > 0 {
		v.accepted = v.accepted.flagged(Duplicate)
	}
	return v
}

// judgeRepeat holds the conditions on a proof that was accepted before.
func (p *Policy) judgeRepeat(now time.Time, proof Proof, e Earlier) Reason {
	// A signature does not cover all that is in a message: with anything
	// changed, someone else sends it (RFC 6376, 8.6).
	if e.Message != proof.Message {
		return Replayed
	}
	// A sender whose connection broke before our answer tries again soon
	// (RFC 5321, 4.5.4.1); the window does not move with each repeat.
	if now.Sub(e.First).Abs() > p.RetryWindow {
		return Replayed
	}
	return ""
}

// flagged is the same with a flag more.
func (a *Accepted) flagged(f Flag) *Accepted {
	b := *a
	b.flags = map[Flag]bool{f: true}
	for f, set := range a.flags {
		b.flags[f] = b.flags[f] || set
	}
	return &b
}
