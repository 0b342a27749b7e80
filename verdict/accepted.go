package verdict

import (
	"io"
	"slices"
	"time"
)

// Verdict is the decision for one policy. Only judging makes one that accepts
// or refuses.
type Verdict struct {
	outcome  Outcome
	reason   Reason
	accepted *Accepted
	listed   bool
}

// Outcome is the decision; of the zero Verdict it is "".
func (v Verdict) Outcome() Outcome { return v.outcome }

// Reason is the code of a refusal or deferral, "" on acceptance.
func (v Verdict) Reason() Reason { return v.reason }

// Accepted is what may be shown, nil unless the outcome is Accept.
func (v Verdict) Accepted() *Accepted { return v.accepted }

// ClaimsListed reports whether the From address is on the policy's list.
func (v Verdict) ClaimsListed() bool { return v.listed }

// Proved says whether the From domain proved that it sent the message: "yes",
// "no", or "unknown" where the decision fell before the proof.
func (v Verdict) Proved() string {
	if v.outcome == Accept || v.reason == Replayed {
		return "yes"
	}
	if slices.Contains([]Reason{Unsigned, Misaligned, BadSignature, BadKey}, v.reason) {
		return "no"
	}
	return "unknown"
}

// Accepted is a message that may be shown, together with what the accepting
// signature covers. Only [Case.Judge], [Case.Again] and [Unite] make one.
type Accepted struct {
	entry     string
	domain    string
	selector  string
	algorithm string
	keyID     string
	digest    [32]byte
	bodyHash  []byte // bh=, decoded
	time      time.Time
	dated     bool
	flags     map[Flag]bool
	message   Message
	cover     coverage
}

// accept is the message as one signature covers it.
func (c *Case) accept(entry string, s *signature) *Accepted {
	a := &Accepted{
		entry:     entry,
		domain:    c.domain(),
		selector:  s.strict.selector,
		algorithm: s.strict.algorithm,
		keyID:     s.keyID(c.domain()),
		digest:    s.digest(c.domain()),
		bodyHash:  s.strict.bodyHash,
		time:      s.time,
		dated:     s.dated,
		message:   c.message,
		cover:     s.cover,
		flags:     map[Flag]bool{TestingKey: s.key.testing, WeakKey: s.key.weak, Undated: !s.dated},
	}
	a.flagCoverage()
	return a
}

// flagCoverage sets the flags that follow from what is covered.
func (a *Accepted) flagCoverage() {
	a.flags[ToUnsigned] = !a.Covers("To") && !a.Covers("Cc")
	a.flags[SubjectUnsigned] = a.bare("Subject")
	a.flags[StructureUnsigned] = a.bare("Content-Type") || a.bare("Content-Transfer-Encoding")
	a.flags[ReplyToRemoved] = slices.ContainsFunc(ReplyFields, func(name string) bool {
		return slices.ContainsFunc(indexes(a.message.Header, name), func(i int) bool { return !a.cover.fields[i] })
	})
}

// bare reports whether the field is there and not covered.
func (a *Accepted) bare(name string) bool {
	return len(indexes(a.message.Header, name)) > 0 && !a.Covers(name)
}

// Unite makes one Accepted of those that several policies gave for one
// message, in config order: covered is what each of them covers, flags are
// united, all else is the first one's. Of none it is nil.
func Unite(all []*Accepted) *Accepted {
	if len(all) == 0 {
		return nil
	}
	u := *all[0]
	u.flags = map[Flag]bool{}
	for _, a := range all {
		u.cover = u.cover.both(a.cover)
	}
	u.flagCoverage()
	for _, a := range all {
		for f, set := range a.flags {
			u.flags[f] = u.flags[f] || set
		}
	}
	return &u
}

// Entry is the entry of the owner's list that the From address matched, in the
// owner's spelling.
func (a *Accepted) Entry() string { return a.entry }

// Domain is d=, in lower case.
func (a *Accepted) Domain() string { return a.domain }

// Selector is s=.
func (a *Accepted) Selector() string { return a.selector }

// Algorithm is a=: rsa-sha256 or ed25519-sha256.
func (a *Accepted) Algorithm() string { return a.algorithm }

// KeyID is the first 16 hex digits of SHA-256 of s._domainkey.d, in lower case.
func (a *Accepted) KeyID() string { return a.keyID }

// Digest is SHA-256 over d, a zero octet, s, a zero octet and the decoded b=.
func (a *Accepted) Digest() [32]byte { return a.digest }

// Time is the signature's time: t=, else a covered Date; false for undated mail.
func (a *Accepted) Time() (time.Time, bool) { return a.time, a.dated }

// Date is what the Date field says, in UTC; false where the signature does not
// cover one that can be read.
func (a *Accepted) Date() (time.Time, bool) {
	for _, i := range indexes(a.message.Header, "Date") {
		if a.cover.fields[i] {
			return parseDate(a.message.Header[i].Value)
		}
	}
	return time.Time{}, false
}

// Flags are the flags in their order.
func (a *Accepted) Flags() []Flag {
	return slices.DeleteFunc(slices.Clone(Flags), func(f Flag) bool { return !a.flags[f] })
}

// Header is the message's header, top first, byte for byte. It is not to be
// changed.
func (a *Accepted) Header() []Field { return a.message.Header }

// Body is the message's body as it came, a reader of its own at each call.
func (a *Accepted) Body() *io.SectionReader { return section(a.message.Body) }

// CoversField reports whether the signature covers the instance Header()[i]
// (RFC 6376, 5.4.2).
func (a *Accepted) CoversField(i int) bool { return a.cover.fields[i] }

// Covers reports whether the signature covers the field of that name: an
// instance that is there or, where none is, a name in h=. Of identical repeats
// one covered instance is enough.
func (a *Accepted) Covers(name string) bool { return a.cover.covers(a.message.Header, name) }
