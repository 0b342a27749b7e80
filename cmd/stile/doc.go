// Command stile is a Postfix milter for mailboxes that AI agents read, with the
// tools around it: it lets proved mail of listed senders pass, shows it only
// inside a fence, and keeps everything else out.
//
// # Security
//
// Everything that these commands print is our own words, validated values, and
// what a sender wrote inside a fence only. evidence open alone hands out a
// refused message, into a new file for its owner, never to a terminal. Messages
// of the command line and errors pass through the fence's escaper, for their
// words may come from a file name or an argument that somebody else chose.
// verdict, show, quote and explain write nothing but an unlinked temporary file
// for standard input.
//
// # Diagnostics
//
// Exit 0 is yes, accepted, ok; 1 is no, refused, problem found; 2 is usage, bad
// config, unreadable file; 75 is try later. Of several files the worst counts,
// in the order 2, 75, 1, 0. One error is one line on standard error.
package main
