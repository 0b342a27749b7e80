// Package corpus holds messages and what must become of each.
//
// A message's folder is its outcome: accept, defer, or refuse and the reason.
// corpus.tsv has a row a message for what the folder does not say, zone is the
// DNS that answers for all of them, and README.md explains both. [Load] reads
// them; an unknown folder, an unknown key, a row without a message and a
// message without a row are errors, so that nothing is left out unseen.
//
// # Security
//
// The messages are hostile. They are bytes to be judged and are never
// executed, fetched from or sent anywhere but to servers of the tests. The keys
// that signed ours are derived from constants and secret to nobody.
//
// # Diagnostics
//
// Every error names the message or the line.
package corpus

//go:generate go run ./generate
