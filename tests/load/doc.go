// Load measures stile beside OpenDKIM, both as milters behind the same client,
// which speaks the milter protocol as Postfix does: an offer of version 6,
// macros before each event, header values with their leading space, no-reply
// bits honoured as negotiated, one message a connection, ABORT and QUIT at its
// end.
//
// Of ten messages nine are signed (RSA-2048, relaxed/relaxed) and one was
// altered in its body afterwards. No two are the same, but both milters get
// the same ones. A run goes over sizes and numbers of connections; in each
// cell both are started afresh, take turns for some rounds, and the medians
// are printed with the ratio, CPU seconds per 1,000 messages and peak resident
// memory. An answer that is not the right one ends the run: what is fast and
// wrong is not measured.
//
//	go run ./tests/load                         the whole table
//	go run ./tests/load -sizes 2k -conns 8      one cell
//	go run ./tests/load -only stile -keep DIR   stile alone; logs stay in DIR
//
// stile is built as it is shipped and has a configuration, a store and a DNS
// server of its own. OpenDKIM is Debian's, from scripts/bring opendkim; it
// takes the key from a file, which spares it all DNS, and logs nothing.
//
// # Diagnostics
//
// Exit 0: the targets were met, or their cells were not asked for. Exit 1: one
// was missed. Exit 2: nothing was measured.
package main
