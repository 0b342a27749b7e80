// Package milter knows one thing: how Postfix hands a message over and hears
// what becomes of it.
//
// It speaks the milter protocol through go-milter, with one Server of that
// library for each connection, so that one session object lives as long as the
// connection does. Beneath the library stands a connection of our own that
// reads whole frames, checks them, keeps deadlines, and leaves the commands
// unanswered of which the MTA can be told that they take no answer (CONNECT,
// HELO, MAIL, header, end of header). The life of one message is
// session.endOfMessage; everything before it only collects.
//
// A message is judged by the configuration with which it began, whatever
// Server.Use brings while it is in hand.
//
// A mailbox with render = "body" shares a message with no other recipient: the
// one that comes second, guarded or not, is answered 452, at most ten times a
// message and never in a session that the MTA plays. Beyond that all recipients
// share it, and if such a mailbox accepts it the strictest holds: everybody who
// gets it gets the fence, an unguarded recipient too, by the smallest body_limit
// among them, and the original is kept as evidence. If no such mailbox accepts
// it, the others get what they would have got without it.
//
// # Security
//
// No verdict leaves before the end of a message, but for the answers to RCPT:
// 550 to an address of a guarded domain that is no mailbox, and 452. Whatever
// goes wrong (a frame that the library would misread, a command out of order, a
// macro that is not there, a full disk, a panic) ends in 451 or in a closed
// connection, which the MTA answers by milter_default_action = tempfail; never
// in a message that goes on. The original of refused mail is sealed and durable first, then its record;
// modifications are sent after both, when nothing but the answer is left to do;
// an MTA drops them if the answer is 451. An original without room is not
// answered 250: mail that is accepted, or claims a listed sender, waits, and so
// does mail that others are to get; the rest is answered 550, or diverted where
// the MTA would send it back. What is over max_message has no room.
//
// What was accepted is remembered last of all that can fail, and is durable
// before the MTA hears of it. So mail that was answered 451 leaves no proof by
// which the next try would be a repeat, and mail that is lost on its way into
// the MTA's queue comes again as a repeat, not as a replay.
//
// Memory for a connection is bounded: two copies of a frame (128 KiB), a header
// (a little over 256 KiB), 256 KiB of fields behind those that are judged, and
// 256 KiB of body; the rest of both is in unlinked files of mode 0600,
// max_message octets of each at most. The bodies that take others' places have
// 16 MiB together and their making as much again, and messages wait for that
// room. Connections are bounded in number and in time.
//
// Nothing that a sender wrote reaches a log line or a reply: replies are
// constant texts with the message's id, a log line holds constant words, the
// validated queue id and client address, sizes, the reduced address of a
// refusal and, of accepted mail, the list entry and d=.
//
// # Diagnostics
//
// One line for each guarded mailbox of a message, or one with policy=none
// where there is none, at INFO for decisions and at WARN for deferrals, which
// name their cause by a constant word (see cause). The library beneath writes
// to the standard logger of package log when a write fails or when it panics;
// it has no other text to write, since frames that it would complain about
// never reach it.
//
// # Limits
//
// HDR_LEADSPC and SETSYMLIST must be offered (Postfix 2.6 and later); an MTA
// that does not is logged and its connection closed.
package milter
