// Package e2e holds tests that send mail through a real Postfix into a running
// stile and look at what arrives.
//
// Each test has a rig of its own (package rig): a private Postfix, a DNS server,
// dkimpy as the signer and stile as it is shipped. They need root and what
// scripts/bring brings, and fail without it; `go test -short` leaves them out
// and says so.
//
// # Security
//
// See package rig: loopback only, throwaway keys, own directories.
//
// # Diagnostics
//
// A test that fails prints Postfix's log and stile's.
package e2e
