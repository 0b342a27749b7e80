package verdict

import (
	"context"
	"errors"
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
	AddressedSigned Addressed = "signed"
	AddressedStrict Addressed = "strict"
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
}

// Open reads a message's header once, so that any number of policies can judge
// it. Each signature is verified at most once.
func Open(m Message, env Env) *Case {
	panic("verdict: being written")
}

// Case is one message under judgement. It is not safe for concurrent use.
type Case struct{}

// Judge decides for one policy.
func (c *Case) Judge(ctx context.Context, p *Policy) Verdict {
	panic("verdict: being written")
}

// Claim is what the message says of its sender.
func (c *Case) Claim() Claim { return Claim{} }

// Signer is the class of who signed the message instead of its From domain.
func (c *Case) Signer() SignerClass { return "none" }

// VerifiedKeys names the key records (s._domainkey.d) by which a signature of this message verified.
func (c *Case) VerifiedKeys() []string { return nil }

// Verdict is the decision for one policy. Only judging makes one.
type Verdict struct {
	outcome  Outcome
	reason   Reason
	accepted *Accepted
	listed   bool
}

// Outcome is the decision; of the zero Verdict it is Defer.
func (v Verdict) Outcome() Outcome { return v.outcome }

// Reason is the code of a refusal or deferral, "" on acceptance.
func (v Verdict) Reason() Reason { return v.reason }

// Accepted is what may be shown, nil unless the outcome is Accept.
func (v Verdict) Accepted() *Accepted { return v.accepted }

// ClaimsListed reports whether the From address is on the policy's list.
func (v Verdict) ClaimsListed() bool { return v.listed }

// Proved says whether the sender was proved: "yes", "no" or "unknown".
func (v Verdict) Proved() string { return "unknown" }
