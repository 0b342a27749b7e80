// Package readers holds that stile's fields are read as they were written, by
// the libraries that agents read mail with, from mail as a real Postfix
// delivered it, whatever its sender wrote. It needs what scripts/bring lays
// under build/mail and build/readers.
//
// # Security
//
// The Node library is pinned by the hash in package-lock.json, and none of its
// scripts is run when it is brought. Dovecot serves one mailbox over a pipe, as
// the mailbox's owner, and listens nowhere.
package readers
