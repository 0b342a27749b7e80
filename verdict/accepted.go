package verdict

import (
	"io"
	"time"
)

// Accepted is a message that may be shown, together with what the accepting
// signature covers. Only [Case.Judge] and [Unite] make one.
type Accepted struct {
	entry string
}

// Unite makes one Accepted of those that several policies gave for one
// message, in config order: covered is what each of them covers, flags are
// united, all else is the first one's.
func Unite(all []*Accepted) *Accepted { panic("verdict: being written") }

// Entry is the entry of the owner's list that the From address matched, in the
// owner's spelling.
func (a *Accepted) Entry() string { return a.entry }

// Domain is d=, in lower case.
func (a *Accepted) Domain() string { return "" }

// Selector is s=.
func (a *Accepted) Selector() string { return "" }

// Algorithm is a=: rsa-sha256 or ed25519-sha256.
func (a *Accepted) Algorithm() string { return "" }

// KeyID is the first 16 hex digits of SHA-256 of s._domainkey.d.
func (a *Accepted) KeyID() string { return "" }

// Digest is SHA-256 over d, s and the decoded b=.
func (a *Accepted) Digest() [32]byte { return [32]byte{} }

// Time is the signature's time: t=, else a covered Date; false for undated mail.
func (a *Accepted) Time() (time.Time, bool) { return time.Time{}, false }

// Flags are the flags in their order.
func (a *Accepted) Flags() []Flag { return nil }

// Header is the message's header, top first, byte for byte.
func (a *Accepted) Header() []Field { return nil }

// Body is the message's body as it came.
func (a *Accepted) Body() *io.SectionReader { return nil }

// CoversField reports whether the signature covers the instance Header()[i]
// (RFC 6376, 5.4.2).
func (a *Accepted) CoversField(i int) bool { return false }

// Covers reports whether the signature covers the field of that name: an
// instance that is there or, where none is, a name in h=. Of identical repeats
// one covered instance is enough.
func (a *Accepted) Covers(name string) bool { return false }
