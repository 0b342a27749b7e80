// Package reload holds tests that change stile's configuration, and restart it,
// while real mail goes through it: not one message is lost, and none is deferred
// because of it.
//
// Each test has a rig of its own (package rig) with a stand-in for systemd: it
// holds the milter's socket and hears what stile reports. The tests need root
// and what scripts/bring brings, and fail without it; `go test -short` leaves
// them out and says so.
//
// # Security
//
// See package rig: loopback only, throwaway keys, own directories.
//
// # Diagnostics
//
// A test that fails prints Postfix's log and stile's.
package reload
