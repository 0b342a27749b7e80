// Package dns knows one thing: the TXT records at a name.
//
// A [Resolver] asks recursive name servers, a [Zone] answers from a master
// file (RFC 1035, section 5), and a [Gate] stands before a Resolver and bounds
// what forged mail can make it ask. Each has a LookupTXT of one shape, that of
// verdict.LookupTXT: records, no record (NXDOMAIN, or no TXT at the name) as
// an empty slice without an error, or an error, which means "no answer now".
// What cannot be told from a failure is an error, never "no record": a refusal
// is for good, while a deferral costs a sender a few minutes.
//
// # Security
//
// A name is made of selectors and domains that strangers write. It is asked
// for only if its labels are letters, digits, hyphens and underscores within
// RFC 1035's lengths, always as an absolute name, so no search list is
// applied. An answer counts only if it repeats the question and its records
// stand at the name, or at the end of a chain of CNAMEs inside the answer.
// The answer is believed as far as the path to the name server is: configure
// one on this host, or one that is reached over a network that you trust.
//
// Look-ups at once, attempts, time, the size of an answer and the cache are
// bounded. Names that do not exist are cached apart from keys, so a flood of
// them cannot push keys out. Failures are never cached.
//
// The package opens sockets to the configured servers and reads
// /etc/resolv.conf once. It logs nothing and writes nothing.
//
// # Diagnostics
//
// Errors are constant text; no octet of an answer or a name is quoted. One
// that wraps verdict.ErrBusy says that a bound kept the Resolver from asking.
// An error of a zone file names the line and nothing of its content.
//
// # Limits
//
// DNSSEC is left to the name server; its AD bit is not read. A server that
// fails on EDNS0 (RFC 6891) is not asked again without it. Zone files have no
// wildcards and no $INCLUDE.
package dns
