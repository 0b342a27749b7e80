package quarantine

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	stdhex "encoding/hex"
	"time"
)

// Hidden is what an accepted message hides of one class in one place.
type Hidden struct {
	Place, Class string // words of closed lists: lower-case letters, digits and hyphens
	Count        int
	Digest       [sha256.Size]byte // SHA-256 of what is hidden; zero where there is nothing of it
}

// Sighting is what is kept of that.
type Sighting struct {
	ID           string    // of the message, a ULID
	Time         time.Time // when it was accepted
	Policy       string    // id of the mailbox that accepted it
	Place, Class string
	Count        int64
	Hash         string // 16 hex digits, the same for the same text; "" where there is none
}

// maxHidden bounds the rows of one message.
const maxHidden = 256

// sightingHash is the keyed hash of a text, made from its digest. The first
// word keeps it apart from an address hash.
func sightingHash(key []byte, digest [sha256.Size]byte) string {
	if digest == ([sha256.Size]byte{}) {
		return ""
	}
	h := hmac.New(sha256.New, key)
	h.Write([]byte("sighting\x00"))
	h.Write(digest[:])
	return stdhex.EncodeToString(h.Sum(nil)[:8])
}

// checkHidden reports what the table would not take, or should not.
func (a Acceptance) checkHidden() error {
	if len(a.Hidden) == 0 {
		return nil
	}
	if !validID(a.ID) {
		return ErrRecord
	}
	if len(a.Hidden) > maxHidden {
		return ErrRecord
	}
	for _, h := range a.Hidden {
		if !validWord(h.Place) {
			return ErrRecord
		}
		if !validWord(h.Class) {
			return ErrRecord
		}
		if h.Count < 1 {
			return ErrRecord
		}
	}
	return nil
}

func validWord(s string) bool { return within(len(s), 1, 32) && only(s, letters+digits+"-") }

// check reports whether a row is one that could be written here.
func (s *Sighting) check() bool {
	return validID(s.ID) && validTime(s.Time) && validPolicy(s.Policy) && validWord(s.Place) && validWord(s.Class) &&
		s.Count > 0 && (s.Hash == "" || hex(s.Hash, 16))
}

func (w *writer) keepSightings(ctx context.Context, key []byte, a Acceptance) error {
	for _, h := range a.Hidden {
		_, err := w.keepSighting.ExecContext(ctx, a.ID, a.Policy, a.Time.UnixMilli(), h.Place, h.Class, h.Count, sightingHash(key, h.Digest))
		if err != nil {
			return classify(err)
		}
	}
	return nil
}

// Sightings is what accepted messages hid, of the filter's policy and time, the
// newest first. Of the filter, Reason is not read.
func (r *Reader) Sightings(ctx context.Context, f Filter) ([]Sighting, error) {
	rows, err := r.db.QueryContext(ctx, sqlSightings, f.since(), f.Policy, f.limit())
	if err != nil {
		return nil, ended(ctx, err)
	}
	defer rows.Close()
	var all []Sighting
	for rows.Next() {
		var s Sighting
		var at int64
		if err := rows.Scan(&s.ID, &s.Policy, &at, &s.Place, &s.Class, &s.Count, &s.Hash); err != nil {
			return nil, ErrDamaged
		}
		s.Time = time.UnixMilli(at).UTC()
		if !s.check() {
			return nil, ErrDamaged
		}
		all = append(all, s)
	}
	if err := rows.Err(); err != nil {
		return nil, ended(ctx, err)
	}
	return all, nil
}
