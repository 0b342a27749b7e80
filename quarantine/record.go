package quarantine

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"

	"stile/verdict"
)

// Withheld stands in a record for an address that is known but too long or too
// free to be shown.
const Withheld = "withheld"

// What became of the original. The list is closed.
const (
	EvidenceNone    = "none"    // it was not kept
	EvidenceKept    = "kept"    // it is kept, sealed
	EvidenceFull    = "full"    // there was no room for it
	EvidenceExpired = "expired" // it was kept as long as the configuration says
)

var evidenceStates = []string{EvidenceNone, EvidenceKept, EvidenceFull, EvidenceExpired}

// ErrRecord says that a value of a record is not of its closed list or set of
// characters. The error names the column, never the value.
var ErrRecord = errors.New("quarantine: a value of the record is not of its closed set")

// Record is all that is kept of a refused message.
type Record struct {
	ID           string         // a ULID; one message has one for all its mailboxes
	Time         time.Time      // when the first of the repeats was refused
	Last         time.Time      // when the last was
	Policy       string         // id of the mailbox
	Reason       verdict.Reason // one of verdict.Refusals
	Address      string         // reduced, lower case; Withheld; "" where From names none
	AddressHash  string         // 8 hex digits, "" where From names no address
	Proved       string         // "yes", "no" or "unknown"
	ClaimsListed bool           // From names an address of the list
	Signer       string         // one of verdict.SignerClasses, or ""
	Size         int64          // octets of the message
	SHA256       string         // of the message, 64 hex digits
	QueueID      string         // Postfix's, "" if it told none
	ClientIP     string         // without a zone, "" if there is none
	Evidence     string         // one of the states above, of the first message
	Count        int64          // messages in this row; all else is the first one's
}

// check reports the first column whose value does not fit.
func (r *Record) check() error {
	for _, c := range []struct {
		name string
		fits bool
	}{
		{"id", validID(r.ID)},
		{"time", validTime(r.Time)},
		{"last", validTime(r.Last)},
		{"policy", validPolicy(r.Policy)},
		{"reason", slices.Contains(verdict.Refusals, r.Reason)},
		{"address", validAddress(r.Address)},
		{"address_hash", r.AddressHash == "" || hex(r.AddressHash, 8)},
		{"address_hash", (r.AddressHash == "") == (r.Address == "")},
		{"proved", slices.Contains([]string{"yes", "no", "unknown"}, r.Proved)},
		{"signer", r.Signer == "" || slices.Contains(verdict.SignerClasses, verdict.SignerClass(r.Signer))},
		{"size", r.Size >= 0},
		{"sha256", hex(r.SHA256, 64)},
		{"queue_id", len(r.QueueID) <= 32 && only(r.QueueID, letters+capitals+digits)},
		{"client_ip", r.ClientIP == "" || canonicalIP(r.ClientIP) == r.ClientIP},
		{"evidence", slices.Contains(evidenceStates, r.Evidence)},
		{"count", r.Count > 0},
	} {
		if !c.fits {
			return fmt.Errorf("%w: %s", ErrRecord, c.name)
		}
	}
	return nil
}

const (
	letters  = "abcdefghijklmnopqrstuvwxyz"
	capitals = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	digits   = "0123456789"
)

// only reports whether s is made of the characters of set.
func only(s, set string) bool {
	for i := range len(s) {
		if strings.IndexByte(set, s[i]) < 0 {
			return false
		}
	}
	return true
}

func hex(s string, n int) bool { return len(s) == n && only(s, digits+"abcdef") }

// validID reports whether s is a ULID in its canonical form.
func validID(s string) bool {
	id, err := ulid.ParseStrict(s)
	return err == nil && id.String() == s
}

// validTime keeps times to what every program can read and write.
func validTime(t time.Time) bool { return t.Year() >= 1970 && t.Year() <= 9999 }

func validPolicy(s string) bool {
	return len(s) >= 1 && len(s) <= 32 && s[0] != '-' && only(s, letters+digits+"-")
}

func validAddress(s string) bool { return s == "" || s == Withheld || reduced(s) }

// reduced reports whether an address is too short and plain to carry a
// sentence. It is the last guard before the disk; package verdict makes no
// other form.
func reduced(s string) bool {
	local, domain, _ := strings.Cut(s, "@")
	if !within(len(local), 1, 24) {
		return false
	}
	if !only(local, letters+digits+"._+-") {
		return false
	}
	if countAny(local, "._+-") > 1 {
		return false
	}
	if len(domain) > 40 {
		return false
	}
	if !only(domain, letters+digits+".-") {
		return false
	}
	labels := strings.Split(domain, ".")
	if !within(len(labels), 2, 3) {
		return false
	}
	if slices.Contains(labels, "") {
		return false
	}
	hyphens := 0
	for _, l := range labels {
		// The two hyphens of the prefix itself do not count.
		hyphens += strings.Count(strings.TrimPrefix(l, "xn--"), "-")
	}
	return hyphens <= 1
}

func within(n, low, high int) bool { return low <= n && n <= high }

func countAny(s, set string) (n int) {
	for i := range len(s) {
		if strings.IndexByte(set, s[i]) >= 0 {
			n++
		}
	}
	return n
}

// canonicalIP is the address as netip writes it, without a zone, "" if s is
// none: a zone is free text.
func canonicalIP(s string) string {
	ip, err := netip.ParseAddr(s)
	if err != nil {
		return ""
	}
	return ip.WithZone("").String()
}
