// Package quarantine knows one thing: what is kept of refused mail.
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
// The store is an embedded SQLite database in WAL mode with full
// synchronisation. The daemon holds a [Store]; commands open a [Reader], which
// works while the daemon runs and after it was killed.
//
// # Security
//
// What a stranger wrote does not get in: each value of a record is checked
// against a closed list or set of characters, on the way in and again on the
// way out. A value that does not fit is an error that names the column and not
// the value. Values reach SQL as parameters only.
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
// administrator has to look at.
//
// # Limits
//
// The database must lie on a local file system: WAL needs shared memory. Times
// are kept to the millisecond. Space that Prune frees is used again but not
// given back to the file system. On a full disk records cannot be deleted
// either: that, too, is written to the WAL first. A million signatures of
// accepted mail are remembered: beyond that the oldest are forgotten within
// their year. A mailbox whose id is changed has no past.
package quarantine
