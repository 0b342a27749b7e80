package quarantine

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"stile/verdict"
)

const (
	hashKeySize = 32
	maxListed   = 100000 // records of one List
	readers     = 4      // connections that read
)

// Reader reads a store. It is safe for concurrent use and sees every record
// that is durable.
type Reader struct {
	db      *sql.DB
	proof   *sql.Stmt // one for each message that is accepted
	hashKey []byte
}

func openReader(ctx context.Context, path string, wait time.Duration) (*Reader, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, reading(classifyFile(err))
	}
	if !info.Mode().IsRegular() {
		return nil, ErrNotDatabase
	}
	db, err := sql.Open("sqlite", dsn(path, url.Values{"mode": {"ro"}, "_query_only": {"1"}, "_defensive": {"1"}, "_dqs": {"0"}}, wait))
	if err != nil {
		return nil, classify(err)
	}
	db.SetMaxOpenConns(readers)
	r := &Reader{db: db}
	if err := r.load(ctx); err != nil {
		db.Close()
		return nil, reading(err)
	}
	return r, nil
}

func (r *Reader) load(ctx context.Context) error {
	v, err := version(ctx, r.db)
	if err != nil {
		return err
	}
	if v < len(migrations) {
		return ErrOlder
	}
	if err := r.db.QueryRowContext(ctx, sqlHashKey).Scan(&r.hashKey); err != nil {
		return classify(err)
	}
	if len(r.hashKey) != hashKeySize {
		return ErrDamaged
	}
	r.proof, err = r.db.PrepareContext(ctx, sqlProof)
	return classify(err)
}

// Close ends reading.
func (r *Reader) Close() error {
	r.proof.Close()
	return classify(r.db.Close())
}

// HashKey is the key of the address hashes: 32 octets, random, made once.
func (r *Reader) HashKey() []byte { return slices.Clone(r.hashKey) }

// Filter chooses records. A zero field chooses all.
type Filter struct {
	Policy string
	Reason verdict.Reason
	Since  time.Time // by a record's first time
	Limit  int       // at most 100,000, which 0 stands for
}

// List is the records that the filter chooses, the newest first.
func (r *Reader) List(ctx context.Context, f Filter) ([]Record, error) {
	return r.records(ctx, sqlList, f.since(), f.Policy, string(f.Reason), f.limit())
}

// since is the filter's time in milliseconds since 1970.
func (f Filter) since() int64 {
	if f.Since.IsZero() {
		return 0
	}
	return f.Since.UnixMilli()
}

// limit is the most rows that the filter chooses.
func (f Filter) limit() int {
	if f.Limit <= 0 || f.Limit > maxListed {
		return maxListed
	}
	return f.Limit
}

// Get is the records of an ID: one, or one for each mailbox that refused the
// message. ErrNotFound if there is none.
func (r *Reader) Get(ctx context.Context, id string) ([]Record, error) {
	all, err := r.records(ctx, sqlGet, id)
	if err == nil && len(all) == 0 {
		return nil, ErrNotFound
	}
	return all, err
}

func (r *Reader) records(ctx context.Context, query string, args ...any) ([]Record, error) {
	rows, err := r.db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, ended(ctx, err)
	}
	defer rows.Close()
	var all []Record
	for rows.Next() {
		rec, err := scan(rows)
		if err != nil {
			return nil, err
		}
		all = append(all, rec)
	}
	if err := rows.Err(); err != nil {
		return nil, ended(ctx, err)
	}
	return all, nil
}

// scan reads a row, in the order of columns. What another program wrote into
// it may be anything; such a row is not shown.
func scan(rows *sql.Rows) (Record, error) {
	var r Record
	var first, last int64
	err := rows.Scan(&r.ID, &r.Policy, &first, &last, &r.Reason, &r.Address, &r.AddressHash, &r.Proved,
		&r.ClaimsListed, &r.Signer, &r.Size, &r.SHA256, &r.QueueID, &r.ClientIP, &r.Evidence, &r.Count)
	if err != nil {
		return Record{}, ErrDamaged
	}
	r.Time, r.Last = time.UnixMilli(first).UTC(), time.UnixMilli(last).UTC()
	if r.check() != nil {
		return Record{}, ErrDamaged
	}
	return r, nil
}

// Stat counts what one policy refused for one reason.
type Stat struct {
	Policy   string
	Reason   verdict.Reason
	Records  int64 // rows
	Messages int64 // repeats counted
}

// Stats counts all records, by policy and reason.
func (r *Reader) Stats(ctx context.Context) ([]Stat, error) {
	rows, err := r.db.QueryContext(ctx, sqlStats)
	if err != nil {
		return nil, ended(ctx, err)
	}
	defer rows.Close()
	var all []Stat
	for rows.Next() {
		var s Stat
		if err := rows.Scan(&s.Policy, &s.Reason, &s.Records, &s.Messages); err != nil {
			return nil, ErrDamaged
		}
		if !validPolicy(s.Policy) || !slices.Contains(verdict.Refusals, s.Reason) {
			return nil, ErrDamaged
		}
		all = append(all, s)
	}
	if err := rows.Err(); err != nil {
		return nil, ended(ctx, err)
	}
	return all, nil
}

// KnownKey reports whether a signature verified here before by the key at
// name, s._domainkey.d; names compare without case.
func (r *Reader) KnownKey(ctx context.Context, name string) (bool, error) {
	seen, err := r.seen(ctx, keyName(name))
	return !seen.IsZero(), err
}

// seen is when a key was last remembered, the zero time if never.
func (r *Reader) seen(ctx context.Context, name []byte) (time.Time, error) {
	var at int64
	err := r.db.QueryRowContext(ctx, sqlKnown, name).Scan(&at)
	if errors.Is(err, sql.ErrNoRows) {
		return time.Time{}, nil
	}
	if err != nil {
		return time.Time{}, ended(ctx, err)
	}
	return time.UnixMilli(at), nil
}

// keyName is what is kept of a key's name.
func keyName(name string) []byte {
	h := sha256.Sum256([]byte(strings.ToLower(strings.TrimSuffix(name, "."))))
	return h[:]
}

// ended tells a caller that its own time was over from a store that failed.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return late(ctx)
	}
	return classify(err)
}

func late(ctx context.Context) error {
	return fmt.Errorf("quarantine: the caller's time was over: %w", ctx.Err())
}
