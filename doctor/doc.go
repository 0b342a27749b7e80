// Package doctor knows how Postfix can be configured so that mail goes round
// stile, or does not arrive: it reads a configuration of Postfix as the programs
// of Postfix would see it, and names each such thing with the command that
// mends it.
//
// There are two sound wirings, and it tells them by their effect. An address
// that the transport map sends to a server in which stile stands is safe
// whatever else is configured; for any other address stile must stand in every
// service through which mail comes in.
//
// # Security
//
// [Audit] changes nothing. It runs postconf(1) and postmap(1) with fixed
// arguments, a time limit and a bound on what it reads of their output; it reads
// files that Postfix's configuration names, looks at the modes of those that
// stile's config names, connects to stile's socket and says nothing there, and
// asks the config's name servers. [Send] hands messages of its own to servers on
// this host and to sendmail(1), to guarded mailboxes and nobody else. The package
// never opens a key or a message. A finding quotes what operators wrote in their
// files, a probe what a server answered; whoever prints them escapes them.
//
// # Diagnostics
//
// [Audit] fails only if postconf cannot read Postfix's configuration. A table
// that cannot be listed is a finding of its own.
//
// # Limits
//
// Access control lists, .forward files and what a command behind an alias does
// are not seen. What stands in /proc of a running Postfix is not compared: what
// is audited is what a reload would take.
package doctor
