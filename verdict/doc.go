// Package verdict knows one thing: whether a message may be shown.
//
// A message may be shown when its sender is proved: one From field with one
// address, that address on the owner's list, and a DKIM signature (RFC 6376)
// of that very domain, without l=, over that From field and the whole body.
// [Case.Judge] goes through the conditions in their fixed order and answers
// accept, refuse with one [Reason], or defer with one [Reason].
//
// Whether an accepted message was accepted before is known to whoever keeps
// what [Case.Proof] gives; [Case.Again] then says what that makes of it.
//
// # Security
//
// The package does no I/O but through what it is handed: the message's bytes,
// a look-up of TXT records and a clock. No condition reads the body; it is
// hashed for DKIM and nothing more. An [Accepted] can be made by judging
// alone, and it is the only value that package fence renders, so that refused
// mail is never shown is a fact of the types. What a signature covers is worked
// out once, and both its hash and what is shown go by it: no second reading can
// see another field. A refusal carries a constant code; what the sender wrote leaves the package only as [Claim.Reduced].
//
// # Diagnostics
//
// Errors of the libraries beneath, which quote their input, end here: they
// become a Reason and are never wrapped.
package verdict
