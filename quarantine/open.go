package quarantine

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	_ "modernc.org/sqlite" // the driver
)

// busy is how long a lock of another process is waited for.
const busy = 5 * time.Second

// Limits bound what is kept; Prune enforces them. Zero is no bound.
type Limits struct {
	Keep time.Duration // age, by a record's first time
	Max  int64         // rows
}

// Open opens the store of the URL, sqlite: and an absolute path, for reading
// and writing. The database, and the directory it lies in, are created if they
// are not there; the directory above that must be.
func Open(ctx context.Context, storeURL string, limits Limits) (*Store, error) {
	s, err := open(ctx, storeURL, limits, busy)
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, storeURL)
	}
	return s, nil
}

func open(ctx context.Context, storeURL string, limits Limits, wait time.Duration) (*Store, error) {
	path, err := filePath(storeURL)
	if err != nil {
		return nil, err
	}
	if err := create(path); err != nil {
		return nil, err
	}
	w, err := openWriter(ctx, path, wait)
	if err != nil {
		return nil, err
	}
	r, err := openReader(ctx, path, wait)
	if err != nil {
		w.close()
		return nil, err
	}
	return &Store{Reader: r, writer: w, limits: limits, keys: maxKeys, proofs: maxProofs, now: time.Now}, nil
}

// OpenReader opens the store of the URL for reading. Nothing is created, and
// the daemon may run or not.
func OpenReader(ctx context.Context, storeURL string) (*Reader, error) {
	path, err := filePath(storeURL)
	if err == nil {
		var r *Reader
		if r, err = openReader(ctx, path, busy); err == nil {
			return r, nil
		}
	}
	return nil, fmt.Errorf("%w: %s", err, storeURL)
}

// filePath is the path of a sqlite: URL.
func filePath(storeURL string) (string, error) {
	path, ok := strings.CutPrefix(storeURL, "sqlite:")
	if !ok {
		return "", ErrURL
	}
	if !filepath.IsAbs(path) {
		return "", ErrURL
	}
	if strings.ContainsRune(path, 0) {
		return "", ErrURL
	}
	return filepath.Clean(path), nil
}

// create makes the database file and its directory if they are not there, for
// our eyes only. An empty file is an empty database.
func create(path string) error {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		return ErrNotDatabase
	}
	if err == nil {
		return nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return classifyFile(err)
	}
	// The entries of the file and of a new directory must survive a power cut
	// as the records do.
	dir := filepath.Dir(path)
	changed := []string{dir}
	err = os.Mkdir(dir, 0o700)
	if err == nil {
		changed = append(changed, filepath.Dir(dir))
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return classifyFile(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return classifyFile(err)
	}
	if err := f.Close(); err != nil {
		return classifyFile(err)
	}
	for _, d := range changed {
		if err := syncDir(d); err != nil {
			return err
		}
	}
	return nil
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return classifyFile(err)
	}
	defer d.Close()
	if err := d.Sync(); err != nil {
		return classifyFile(err)
	}
	return nil
}

// dsn is the driver's name of the database: a file: URI, so that no character
// of the path is taken for a parameter.
func dsn(path string, params url.Values, wait time.Duration) string {
	params.Add("_pragma", fmt.Sprintf("busy_timeout(%d)", wait.Milliseconds()))
	return (&url.URL{Scheme: "file", Path: path, RawQuery: params.Encode()}).String()
}

// openWriter connects, brings the schema up to date and starts the writer.
func openWriter(ctx context.Context, path string, wait time.Duration) (*writer, error) {
	db, err := sql.Open("sqlite", dsn(path, url.Values{
		"mode":       {"rw"},
		"_txlock":    {"immediate"},
		"_defensive": {"1"},
		"_dqs":       {"0"},
		// A checkpoint writes pages at random places and waits for the disk
		// twice; the more of the log it takes, the more often a page was written.
		"_pragma": {"synchronous(FULL)", "journal_size_limit(67108864)", "wal_autocheckpoint(4000)"},
	}, wait))
	if err != nil {
		return nil, classify(err)
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		db.Close()
		return nil, writing(classify(err))
	}
	w, err := prepare(ctx, conn, path)
	if err != nil {
		conn.Close()
		db.Close()
		return nil, writing(err)
	}
	w.db = db
	go w.loop()
	return w, nil
}

func prepare(ctx context.Context, conn *sql.Conn, path string) (*writer, error) {
	if err := migrate(ctx, conn); err != nil {
		return nil, err
	}
	w := &writer{
		conn:    conn,
		path:    path,
		most:    maxBatch,
		jobs:    make(chan job, maxBatch),
		quit:    make(chan struct{}),
		stopped: make(chan struct{}),
	}
	var err error
	if w.file, err = os.Stat(path); err != nil {
		return nil, classifyFile(err)
	}
	for stmt, text := range map[**sql.Stmt]string{
		&w.repeat: sqlRepeat, &w.fold: sqlFold, &w.insert: sqlInsert, &w.proof: sqlProof, &w.keepProof: sqlKeepProof,
		&w.keepSighting: sqlKeepSighting,
	} {
		if *stmt, err = conn.PrepareContext(ctx, text); err != nil {
			return nil, classify(err)
		}
	}
	return w, nil
}

// migrate takes the database for ours and brings it to the newest schema. A
// database that is not ours is not touched.
func migrate(ctx context.Context, conn *sql.Conn) error {
	if _, err := version(ctx, conn); err != nil {
		return err
	}
	var mode string
	if err := conn.QueryRowContext(ctx, sqlWAL).Scan(&mode); err != nil {
		return classify(err)
	}
	if mode != "wal" {
		return fmt.Errorf("%w: this file system does not allow WAL", ErrDisk)
	}
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return classify(err)
	}
	defer tx.Rollback()
	// Another process may have brought it up in between.
	from, err := version(ctx, tx)
	if err != nil {
		return err
	}
	for v := from; v < len(migrations); v++ {
		_, err := tx.ExecContext(ctx, migrations[v]+fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d;", application, v+1))
		if err != nil {
			return classify(err)
		}
	}
	key := make([]byte, hashKeySize)
	rand.Read(key) // never fails: the process ends instead
	if _, err := tx.ExecContext(ctx, sqlSetHashKey, key); err != nil {
		return classify(err)
	}
	return classify(tx.Commit())
}

// querier is a connection, a transaction or a pool.
type querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// version is the version of the schema, 0 of an empty database.
func version(ctx context.Context, q querier) (int, error) {
	var objects, app, version int
	for _, ask := range []struct {
		query string
		into  *int
	}{{sqlObjects, &objects}, {sqlApplication, &app}, {sqlVersion, &version}} {
		if err := q.QueryRowContext(ctx, ask.query).Scan(ask.into); err != nil {
			return 0, classify(err)
		}
	}
	if objects == 0 && app == 0 && version == 0 {
		return 0, nil
	}
	if app != application {
		return 0, ErrForeign
	}
	if version > len(migrations) {
		return 0, ErrNewer
	}
	return version, nil
}
