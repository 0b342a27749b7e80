package quarantine

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"
)

// Original is what is known of a sealed original. All of it stands in the name
// of its file, so that the directory needs no list beside it.
type Original struct {
	ID          string // the message's ULID; of a record too, if one was made of this message
	Kind        Kind
	AddressHash string // as in a record; never "" of KindClaimed
	Policy      string // the first mailbox, in the order of the configuration, that has it kept
	More        int    // how many mailboxes more do
	Size        int64  // octets: of the message when it is sealed, of the file when it is listed
}

// Time is when the message came, to the millisecond.
func (o Original) Time() time.Time {
	id, err := ulid.ParseStrict(o.ID)
	if err != nil {
		return time.Time{}
	}
	return ulid.Time(id.Time()).UTC()
}

// Policies is the policy, and "+N" where there are N more.
func (o Original) Policies() string {
	if o.More == 0 {
		return o.Policy
	}
	return o.Policy + "+" + strconv.Itoa(o.More)
}

const (
	sealedSuffix = ".eml.age"
	temporary    = ".sealing-" // before the name of a file that is not finished
	maxMore      = 9999
)

// name is the file's name: ID.KIND.POLICY.eml.age, with -HASH behind the kind
// where an address was named.
func (o Original) name() string {
	kind := string(o.Kind)
	if o.AddressHash != "" {
		kind += "-" + o.AddressHash
	}
	return o.ID + "." + kind + "." + o.Policies() + sealedSuffix
}

// parseName is the inverse of name. It takes nothing that name would not give.
func parseName(name string) (Original, bool) {
	base, sealed := strings.CutSuffix(name, sealedSuffix)
	parts := strings.Split(base, ".")
	if !sealed || len(parts) != 3 {
		return Original{}, false
	}
	o := Original{ID: parts[0]}
	kind, hash, _ := strings.Cut(parts[1], "-")
	o.Kind, o.AddressHash = Kind(kind), hash
	policy, more, _ := strings.Cut(parts[2], "+")
	o.Policy = policy
	o.More, _ = strconv.Atoi(more)
	if o.check() != nil {
		return Original{}, false
	}
	return o, o.name() == name
}

// check reports the first value that does not fit.
func (o Original) check() error {
	for _, c := range []struct {
		name string
		fits bool
	}{
		{"id", validID(o.ID)},
		{"kind", slices.Contains(Kinds, o.Kind)},
		{"address_hash", o.AddressHash == "" || hex(o.AddressHash, 8)},
		{"address_hash", o.AddressHash != "" || o.Kind != KindClaimed},
		{"policy", validPolicy(o.Policy)},
		{"more", within(o.More, 0, maxMore)},
		{"size", o.Size >= 0},
	} {
		if !c.fits {
			return fmt.Errorf("%w: %s", ErrRecord, c.name)
		}
	}
	return nil
}

// listed is how many entries of the directory are read at once.
const listed = 1000

// each calls f with every original of the directory, its file's size as Size.
// What is no original is passed over: it is not ours. An original that goes
// away meanwhile may be left out.
func each(dir string, f func(Original) error) error {
	d, err := os.Open(dir)
	if err != nil {
		return evidenceError(err)
	}
	defer d.Close()
	for {
		entries, err := d.ReadDir(listed)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return evidenceError(err)
		}
		for _, entry := range entries {
			o, ours := parseName(entry.Name())
			if !ours || !entry.Type().IsRegular() {
				continue
			}
			info, err := entry.Info()
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return evidenceError(err)
			}
			o.Size = info.Size()
			if err := f(o); err != nil {
				return err
			}
		}
	}
}

// Originals lists the sealed originals of an evidence directory, the newest
// first. It changes nothing and needs no key.
func Originals(dir string) ([]Original, error) {
	var all []Original
	err := each(dir, func(o Original) error {
		all = append(all, o)
		return nil
	})
	slices.SortFunc(all, func(a, b Original) int { return strings.Compare(b.ID, a.ID) })
	return all, err
}

// errFound ends a search.
var errFound = errors.New("quarantine: found")

// OpenOriginal opens the sealed file of an ID for reading; ErrNotFound if there
// is none.
func OpenOriginal(dir, id string) (*os.File, Original, error) {
	var found Original
	err := each(dir, func(o Original) error {
		if o.ID != id {
			return nil
		}
		found = o
		return errFound
	})
	if err == nil {
		return nil, Original{}, ErrNotFound
	}
	if !errors.Is(err, errFound) {
		return nil, Original{}, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, Original{}, evidenceError(err)
	}
	defer root.Close()
	f, err := root.Open(found.name())
	if err != nil {
		return nil, Original{}, evidenceError(err)
	}
	return f, found, nil
}
