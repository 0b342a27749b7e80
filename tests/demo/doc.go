// Command demo shows the whole path: mail sent over SMTP into a real Postfix,
// through stile, and what becomes of it. scripts/demo builds and runs it. With
// -bare, for those who are not root, it speaks to stile's socket itself, in
// Postfix's place.
//
// # Security
//
// See package rig: loopback only, throwaway keys, own directories, everything
// that is started is stopped. With -keep it goes on running until it is sent
// SIGTERM or SIGINT.
//
// # Diagnostics
//
// Exit 0 if every message went where the table of messages.go says, 1 if not.
package main
