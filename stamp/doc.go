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
// [Replace] gives a message of which nothing is left but its fence, as the body
// (render = "body"). Its Date is the signed Date, in UTC, else the time of the
// signature; of a message without either it has none, for a time that nobody
// signed is not told. Its To is the mailboxes that accepted. Where a field of
// verdict.ReplyFields came with the message, the flag reply-to-removed is set,
// signed or not: it is gone.
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
// other header fields; nor does that of a replaced message, which is over the
// fence in the header and not the longer one in the body.
package stamp
