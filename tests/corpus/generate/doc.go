// Command generate makes the messages of the corpus that are ours, their rows
// in the table and their keys in the zone.
//
// Each message is a valid signed base with one edit that its row names: see
// [letter] and [edit]. Keys are derived from constants, times are fixed and the
// signatures deterministic, so that generating again changes nothing. Messages
// that were taken as they are, their rows and their part of the zone are kept.
//
// # Security
//
// It writes below one folder and reads nothing else. Its keys are known to all.
//
// # Diagnostics
//
// An edit that finds nothing to edit is an error, which names the message.
package main
