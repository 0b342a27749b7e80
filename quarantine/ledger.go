package quarantine

// Kind says what the original is of. It decides which part of the quota it may
// use.
type Kind string

// The kinds. The list is closed.
const (
	KindAccepted Kind = "accepted" // mail that a mailbox accepted: its sender is listed and proved
	KindClaimed  Kind = "claimed"  // refused mail that names a listed sender in From
	KindOther    Kind = "other"    // all other refused mail
)

// Kinds lists the kinds.
var Kinds = []Kind{KindAccepted, KindClaimed, KindOther}

// The parts of the quota.
const (
	reserveParts = 4  // a quarter is kept for accepted mail, another for claims
	claimParts   = 10 // of the quarter for claims, one claimed address has a tenth
)

// ledger counts what the originals take, by kind, and says what else there is
// room for. It is a function of the originals that are there and not of how
// they came and went, so that counting the directory anew gives the same.
type ledger struct {
	max      int64 // octets
	accepted int64
	other    int64
	claimed  map[string]int64 // by the address's hash; none is 0
	files    map[Kind]int64
}

func newLedger(max int64) *ledger {
	return &ledger{max: max, claimed: map[string]int64{}, files: map[Kind]int64{}}
}

// add counts an original of size octets in.
func (l *ledger) add(o Original, size int64) {
	l.grow(o, size)
	l.files[o.Kind]++
}

// remove counts it out.
func (l *ledger) remove(o Original, size int64) {
	l.grow(o, -size)
	l.files[o.Kind]--
}

func (l *ledger) grow(o Original, size int64) {
	switch o.Kind {
	case KindAccepted:
		l.accepted += size
	case KindClaimed:
		l.claimed[o.AddressHash] += size
		if l.claimed[o.AddressHash] == 0 {
			delete(l.claimed, o.AddressHash)
		}
	default:
		l.other += size
	}
}

// total is what all of them take.
func (l *ledger) total() int64 { return l.accepted + l.octetsClaimed() + l.other }

func (l *ledger) octetsClaimed() (n int64) {
	for _, c := range l.claimed {
		n += c
	}
	return n
}

// common is what is taken of the half that is kept for nobody: other mail, and
// what accepted mail and claims take beyond their own quarters.
func (l *ledger) common() int64 {
	quarter := l.max / reserveParts
	var claims, sheltered int64
	for _, c := range l.claimed {
		claims += c
		sheltered += min(c, quarter/claimParts)
	}
	return l.other + max(0, l.accepted-quarter) + claims - min(sheltered, quarter)
}

// fits reports whether there is room for one more of size octets.
func (l *ledger) fits(o Original, size int64) bool {
	before := l.common()
	l.grow(o, size)
	after, total := l.common(), l.total()
	l.grow(o, -size)
	if total > l.max {
		return false
	}
	// What stays within a reserve leaves the common half as it is, and is not
	// held up by one that is over full since max_bytes was lowered.
	if after == before {
		return true
	}
	return after <= l.max-2*(l.max/reserveParts)
}
