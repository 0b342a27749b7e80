package stamp

import (
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"

	"stile/fence"
	"stile/verdict"
)

// ParseVerdict reads the value of a Stile-Verdict field, folded or not. Every
// name must stand there once, in its order, with a value of its grammar. Names
// that are not known are ignored, but not twice the same. The error is
// [ErrFormat]. What is read proves nothing before its seal is checked: see
// [Open].
func ParseVerdict(value string) (Verdict, error) {
	parts := strings.Split(relaxed(value), "; ")
	if parts[0] != accept {
		return Verdict{}, ErrFormat
	}
	var v Verdict
	seen := map[string]bool{}
	known := append(v.readers(), reader{}) // a last one of no name
	for _, part := range parts[1:] {
		name, value, _ := strings.Cut(part, "=")
		if !isName(name) {
			return Verdict{}, ErrFormat
		}
		if !isValue(value) {
			return Verdict{}, ErrFormat
		}
		// Of two values of one name each reader would believe another.
		if seen[name] {
			return Verdict{}, ErrFormat
		}
		seen[name] = true
		// A name that is not the next one is a later version's. Or it stands out of
		// its order: then it lacks in the end, for it cannot come again.
		if name != known[0].name {
			continue
		}
		if !known[0].read(value) {
			return Verdict{}, ErrFormat
		}
		known = known[1:]
	}
	if len(known) > 1 {
		return Verdict{}, ErrFormat
	}
	return v, nil
}

// reader takes one value into the Verdict, false if it is not of its grammar.
type reader struct {
	name string
	read func(value string) bool
}

// readers are the names in their fixed order, each with what reads its value.
func (v *Verdict) readers() []reader {
	return []reader{
		{"id", func(s string) bool { v.ID = s; return isULID(s) }},
		{"policy", func(s string) bool { v.Policies = strings.Split(s, ","); return arePolicies(v.Policies) }},
		{"from", func(s string) bool { v.From = s; return isAddress(s) }},
		{"d", func(s string) bool { v.Domain = s; return isDomain(s) }},
		{"key", func(s string) bool { v.KeyID = s; return len(s) == 16 && isLowerHex(s) }},
		{"alg", func(s string) bool { v.Algorithm = s; return slices.Contains(algorithms, s) }},
		{"signed", func(s string) (ok bool) { v.Signed, ok = parseList(s, SignedNames); return ok }},
		{"time", func(s string) (ok bool) { v.Time, ok = parseTime(s); return ok }},
		{"text", func(s string) bool { v.Text = fence.State(s); return slices.Contains(states, v.Text) }},
		{"flags", func(s string) (ok bool) { v.Flags, ok = parseList(s, verdict.Flags); return ok }},
		{"hidden", func(s string) (ok bool) { v.Hidden, ok = parseCounts(s, fence.HiddenClasses); return ok }},
		{"dropped", func(s string) (ok bool) { v.Dropped, ok = parseCounts(s, fence.DroppedClasses); return ok }},
		{"digest", func(s string) (ok bool) { v.Digest, ok = parseDigest(s); return ok }},
	}
}

var (
	algorithms = []string{"rsa-sha256", "ed25519-sha256"}
	states     = []fence.State{fence.Full, fence.Cut, fence.None}
)

// parseList reads words of a closed list, in its order, each once.
func parseList[S ~string](s string, closed []S) ([]S, bool) {
	if s == none {
		return nil, true
	}
	var words []S
	for _, w := range strings.Split(s, ",") {
		at := slices.Index(closed, S(w))
		if at < 0 {
			return nil, false
		}
		closed = closed[at+1:]
		words = append(words, S(w))
	}
	return words, true
}

// parseCounts reads class:N of a closed list, in its order, N at least 1.
func parseCounts(s string, closed []string) (fence.Counts, bool) {
	if s == none {
		return nil, true
	}
	var names []string
	var counts fence.Counts
	for _, one := range strings.Split(s, ",") {
		name, number, _ := strings.Cut(one, ":")
		n, _ := strconv.Atoi(number) // of what is no number the nearest, or 0
		if n < 1 {
			return nil, false
		}
		if strconv.Itoa(n) != number {
			return nil, false
		}
		names = append(names, name)
		counts = append(counts, fence.Count{Name: name, N: n})
	}
	_, ok := parseList(strings.Join(names, ","), closed)
	return counts, ok
}

func parseTime(s string) (time.Time, bool) {
	if s == none {
		return time.Time{}, true
	}
	t, err := time.Parse(timeFormat, s)
	return t, err == nil && stampTime(t) == s
}

func parseDigest(s string) (digest [32]byte, ok bool) {
	text, ok := strings.CutPrefix(s, digestPrefix)
	if !ok {
		return digest, false
	}
	if len(text) != hex.EncodedLen(len(digest)) {
		return digest, false
	}
	if !isLowerHex(text) {
		return digest, false
	}
	_, err := hex.Decode(digest[:], []byte(text))
	return digest, err == nil
}

// isULID holds for the one spelling that ULIDs are written in: upper case.
func isULID(s string) bool {
	id, err := ulid.ParseStrict(s)
	return err == nil && id.String() == s
}

// arePolicies holds for one or more different policy ids.
func arePolicies(ids []string) bool {
	for i, id := range ids {
		if !isPolicy(id) {
			return false
		}
		if slices.Contains(ids[:i], id) {
			return false
		}
	}
	return len(ids) > 0
}

// isPolicy holds for [a-z0-9][a-z0-9-]{0,31}.
func isPolicy(s string) bool {
	return s != "" && len(s) <= 32 && s[0] != '-' && consistsOf(s, lowers+digits+"-")
}

// isAddress is the shape of a list entry. That it is an address was settled
// when the list was read.
func isAddress(s string) bool {
	at := strings.LastIndexByte(s, '@')
	return at > 0 && at < len(s)-1 && len(s) <= 254
}

// isDomain is the shape of d=, which verdict compared byte for byte.
func isDomain(s string) bool {
	return s != "" && len(s) <= 253 && consistsOf(s, lowers+digits+"-.")
}

// isName holds for what may stand before the equals sign.
func isName(s string) bool { return s != "" && consistsOf(s, lowers+digits+"-") }

// isValue holds for visible ASCII without a semicolon, at least one.
func isValue(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] <= ' ' || s[i] > '~' || s[i] == ';' {
			return false
		}
	}
	return s != ""
}

func isLowerHex(s string) bool { return consistsOf(s, digits+"abcdef") }

const (
	lowers = "abcdefghijklmnopqrstuvwxyz"
	uppers = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	digits = "0123456789"
)

func consistsOf(s, set string) bool { return strings.Trim(s, set) == "" }
