// Package quarantine knows one thing: what is kept of mail, above all of refused
// mail.
//
// That is a sanitized [Record] of codes, counts and a reduced address, never a
// word of the message. [Store.Add] returns when the record is durable: only
// then may a client hear that its mail was taken, and if it fails the answer
// is "try later". Repeats of one sender fold into one row.
//
// Of accepted mail it keeps the proof, as hashes, so that a message that was
// accepted once is told when it comes again: [Reader.Earlier] looks for it and
// [Store.Keep] adds it, which is one decision, for Keep fails if something came
// in between.
//
// What an accepted message hides is kept beside the proof, in the same
// transaction: a [Sighting] says how much of which class in which place, and has
// a keyed hash by which the same text is known again. The text itself is not
// handed to the package.
//
// The store is an embedded SQLite database in WAL mode with full
// synchronisation. The daemon holds a [Store]; commands open a [Reader], which
// works while the daemon runs and after it was killed.
//
// # Evidence
//
// The original of a message, byte for byte, is kept beside the store in an
// [Evidence] directory, one file a message, sealed with age to recipients whose
// identities are elsewhere. [Evidence.Seal] streams it into a file under
// another name, syncs, renames and syncs the directory; then the record is
// made, and then the client is answered. So a record that says "kept" has its
// original, and one that was removed after its time has a record that says
// "expired". A file whose record failed is discarded; if the process ended in
// between it has none, and goes when its time is over. Each message is kept, also one that folds into the row of another:
// its file has the ID of its own, which the log names. Nothing is compared with
// what was kept before, for a sender who wants room can change a byte.
//
// All that is known of a file stands in its name: ID, kind, the keyed hash of
// the claimed address, mailbox. The directory is counted when it is opened and
// after each [Evidence.Prune], and an original is counted in before it is
// written. Sizes are those of the sealed files.
//
// Room is given by these rules, of which each follows from the sums alone. A
// quarter of max_bytes is kept for originals of accepted mail, which nobody can
// make but a listed sender who is proved, and nobody can make much of by sending
// one message again: a repeat that is accepted counts as a claim. A quarter is kept for refused mail
// that claims a listed sender; anyone can claim one, so of it each claimed
// address has a tenth, and whoever forges one friend takes nothing from the
// others. The other half is common: other refused mail has nothing else, and
// accepted mail and claims use it when their own part is full. So strangers,
// whatever they send and however much, leave a quarter to accepted mail, and
// unless they claim ten listed addresses, a tenth of a quarter to the others.
// Over the quota nothing old is removed; the new one is ErrNoRoom, and its
// sender hears.
//
// # Security
//
// What a stranger wrote does not get in: each value of a record is checked
// against a closed list or set of characters, on the way in and again on the
// way out. A value that does not fit is an error that names the column and not
// the value. Values reach SQL as parameters only.
//
// There is no key here that opens an original: what a break-in finds is sealed.
// Originals are written to the directory only, with mode 0600 in a directory of
// mode 0700 that one process has at a time, and never in the clear.
//
// The database is created with mode 0600, in a directory of mode 0700. It also
// holds the random key of the address hashes, and SHA-256 of the names of keys
// by which mail verified here. A database of another program, or of a newer
// stile, is left as it is.
//
// # Diagnostics
//
// Every error means "try later". One that [errors.Is] ErrLocked, ErrFull,
// ErrNotWritable, ErrNotReadable, ErrMissing, ErrNotDatabase, ErrForeign,
// ErrNewer, ErrOlder, ErrDamaged, ErrMoved or ErrDisk says what the
// administrator has to look at; of evidence, ErrEvidence with the system's
// word, ErrShared or ErrHeld. ErrNoRoom alone is an answer and no failure.
//
// # Limits
//
// The database must lie on a local file system: WAL needs shared memory. Times
// are kept to the millisecond. Space that Prune frees is used again but not
// given back to the file system. On a full disk records cannot be deleted
// either: that, too, is written to the WAL first. A million signatures of
// accepted mail are remembered: beyond that the oldest are forgotten within
// their year. A mailbox whose id is changed has no past. max_bytes counts the
// octets of files, not the blocks of the file system, of which many small
// originals take more. A file that is neither an original nor unfinished is
// left alone and not counted.
package quarantine
