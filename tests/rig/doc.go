// Package rig stands up the whole path on one machine: a private Postfix, a
// DNS server with throwaway keys, dkimpy as the signer, and stile between them.
//
// The end-to-end tests and the demo are its two users, so what the demo shows
// is what the tests test. Postfix is wired by the very script of contrib/postfix.
//
// # Security
//
// All of it lives in one temporary directory and listens on loopback, on ports
// that were free. The Postfix has its own configuration, queue and data
// directories and never reads or signals the machine's own; whatever it cannot
// deliver into its own mailboxes it refuses, so nothing leaves the machine.
// Every process is started as a child, bound to die with its parent, and ended
// by its own id.
//
// It must be root, as Postfix's master(8) must. The mail system then runs as
// accounts that every Debian has and hardly anything uses (see accounts.go);
// none is made. stile runs as one of them too, never as root. A bare rig
// ([StartBare]) has no Postfix and needs no root; then stile runs as its caller.
//
// # Diagnostics
//
// Nothing is waited for by sleeping: a [Lines] wakes its readers for every
// line, a [Mailbox] follows its directory by inotify(7). A wait that ends by
// its context says what it waited for and what the logs held.
package rig
