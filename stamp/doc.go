// Package stamp knows one thing: the header fields that tell a reader, beyond
// doubt, that a message was accepted and what of it may be shown.
//
// [Make] gives the fields of an accepted message and the deletions that go
// before them; [Open] is the reader's side. Three fields belong together:
// Stile-Verdict holds the facts, Stile-Rendering the fence as RFC 2047 encoded
// words, Stile-Seal for each policy that accepted a signature over both. By
// choice an Authentication-Results (RFC 8601) stands beneath them, for filters
// that read no other field.
//
// # Security
//
// The package does no I/O. It writes our own words, the operator's words and
// validated values; what the sender wrote stands inside the fence alone, and
// the fence travels as encoded words of pure ASCII. Whoever can put mail into
// the mailbox can write these fields, so [Forged] finds every one that came
// with the message, Authentication-Results of our own id among them, and [Open] gives nothing back unless the seal verifies by
// a key of the caller's. A private key is read, never written and never quoted.
//
// # Diagnostics
//
// Every error is a constant of this package: none quotes a field, a fence or a
// key. What Open found is told by the Err values.
//
// # Known limits
//
// A header line has at most 998 octets (RFC 5322, 2.1.1) and the list of
// policies stands on one line: about thirty ids of full length can accept one
// message, beyond that Make fails. A seal says nothing of the body or of the
// other header fields.
package stamp
