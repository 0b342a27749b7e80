package quarantine

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// What can be wrong with a store. Whichever it is, the caller's answer is "try
// later"; the text is for the administrator.
var (
	ErrLocked      = errors.New("quarantine: another process keeps the database locked")
	ErrFull        = errors.New("quarantine: the disk is full, or the database at its size limit")
	ErrNotWritable = errors.New("quarantine: the database or its directory cannot be opened for writing")
	ErrNotReadable = errors.New("quarantine: the database cannot be opened for reading")
	ErrMissing     = errors.New("quarantine: the database or its directory is not there")
	ErrNotDatabase = errors.New("quarantine: the file is not an SQLite database")
	ErrForeign     = errors.New("quarantine: the database belongs to another program")
	ErrNewer       = errors.New("quarantine: the database was written by a newer version of stile")
	ErrOlder       = errors.New("quarantine: the database was not brought up to this version; start the daemon once")
	ErrDamaged     = errors.New("quarantine: the database is damaged")
	ErrMoved       = errors.New("quarantine: the database file was moved or deleted under the running process; restart it")
	ErrDisk        = errors.New("quarantine: reading or writing the disk failed")
	ErrClosed      = errors.New("quarantine: the store is closed")
	ErrInternal    = errors.New("quarantine: the store failed inside")

	// ErrURL says that a store's URL is not sqlite: and an absolute path.
	ErrURL = errors.New("quarantine: the store must be sqlite: and an absolute path")
	// ErrRaced says that an acceptance of the same proof became durable after it
	// was looked for.
	ErrRaced = errors.New("quarantine: another copy was accepted meanwhile")
	// ErrNotFound says that no record has the ID.
	ErrNotFound = errors.New("quarantine: no such record")
	// ErrDuplicate says that a record of this ID and mailbox is there already.
	ErrDuplicate = errors.New("quarantine: a record of this ID and mailbox is there already")
)

// causes of SQLite's primary result codes.
var causes = map[int]error{
	sqlite3.SQLITE_BUSY:       ErrLocked,
	sqlite3.SQLITE_LOCKED:     ErrLocked,
	sqlite3.SQLITE_FULL:       ErrFull,
	sqlite3.SQLITE_READONLY:   ErrNotWritable,
	sqlite3.SQLITE_PERM:       ErrNotReadable,
	sqlite3.SQLITE_CANTOPEN:   ErrNotReadable,
	sqlite3.SQLITE_NOTADB:     ErrNotDatabase,
	sqlite3.SQLITE_CORRUPT:    ErrDamaged,
	sqlite3.SQLITE_IOERR:      ErrDisk,
	sqlite3.SQLITE_CONSTRAINT: ErrDuplicate,
}

// classify ends the library's errors: ours is constant text and the code.
func classify(err error) error {
	if err == nil {
		return nil
	}
	var lite *sqlite.Error
	if !errors.As(err, &lite) {
		return ErrInternal
	}
	// The low octet is the primary code, the rest says more of it.
	if cause, ok := causes[lite.Code()&0xff]; ok {
		return fmt.Errorf("%w (SQLite code %d)", cause, lite.Code())
	}
	return fmt.Errorf("%w (SQLite code %d)", ErrInternal, lite.Code())
}

// writing names what kept a database from opening for writing: SQLite says of
// a directory that it may not write to, that a file could not be opened.
func writing(err error) error {
	if errors.Is(err, ErrNotReadable) {
		return ErrNotWritable
	}
	return err
}

// reading names what kept a database from opening for reading: a Reader writes
// no record, but WAL makes it take part in the locks.
func reading(err error) error {
	if errors.Is(err, ErrNotWritable) {
		return ErrNotReadable
	}
	return err
}

// classifyFile is the same for what the file system says of our own path.
func classifyFile(err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return ErrMissing
	case errors.Is(err, syscall.ENOTDIR):
		return ErrMissing
	case errors.Is(err, fs.ErrPermission):
		return ErrNotWritable
	case errors.Is(err, syscall.EROFS):
		return ErrNotWritable
	case errors.Is(err, syscall.ENOSPC):
		return ErrFull
	case errors.Is(err, syscall.EDQUOT):
		return ErrFull
	}
	return ErrDisk
}
