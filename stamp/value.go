package stamp

import (
	"encoding/hex"
	"errors"
	"slices"
	"strings"
	"time"

	"stile/fence"
	"stile/verdict"
)

// The names of the fields.
const (
	VerdictName   = "Stile-Verdict"
	RenderingName = "Stile-Rendering"
	SealName      = "Stile-Seal"
)

// SignedNames lists, in their order, the fields of which "signed" tells
// whether the accepting signature covers them.
var SignedNames = []string{
	"from", "to", "cc", "subject", "date", "message-id", "reply-to",
	"mime-version", "content-type", "content-transfer-encoding",
}

// Verdict is what a Stile-Verdict field says. Its lists are in the order of
// the closed list they are from, Policies in that of the configuration.
type Verdict struct {
	ID        string         // ULID of the message's record
	Policies  []string       // ids of the policies that accepted, at least one
	From      string         // the list entry, in the owner's spelling
	Domain    string         // d=, in lower case
	KeyID     string         // 16 hex digits
	Algorithm string         // rsa-sha256 or ed25519-sha256
	Signed    []string       // of SignedNames
	Time      time.Time      // of the signature, whole seconds; zero: undated
	Text      fence.State    // how much of the text the fence shows
	Flags     []verdict.Flag // of verdict.Flags
	Hidden    fence.Counts   // of fence.HiddenClasses
	Dropped   fence.Counts   // of fence.DroppedClasses
	Digest    [32]byte       // SHA-256 over d, s and the decoded b=
}

const (
	accept       = "accept"
	none         = "none"
	digestPrefix = "sha256:"
)

var errValue = errors.New("stamp: the verdict holds a value that has no place in it")

// pair is one name=value.
type pair struct{ name, value string }

// pairs are the names and values in their fixed order.
func (v Verdict) pairs() []pair {
	return []pair{
		{"id", v.ID},
		{"policy", list(v.Policies)},
		{"from", v.From},
		{"d", v.Domain},
		{"key", v.KeyID},
		{"alg", v.Algorithm},
		{"signed", list(v.Signed)},
		{"time", stampTime(v.Time)},
		{"text", string(v.Text)},
		{"flags", list(v.Flags)},
		{"hidden", v.Hidden.String()},
		{"dropped", v.Dropped.String()},
		{"digest", digestPrefix + hex.EncodeToString(v.Digest[:])},
	}
}

// value is the field's value: a space, then the pairs, folded after semicolons.
// It is an error if ParseVerdict would read something else: a value that its
// reader does not take, or takes for another.
func (v Verdict) value() (string, error) {
	// An id with a comma would be read as two policies.
	if !arePolicies(v.Policies) {
		return "", errValue
	}
	pairs := v.pairs()
	parts := []string{accept}
	var back Verdict
	for i, r := range back.readers() {
		// A value with a semicolon would be read as two, the second of its own
		// making.
		if !isValue(pairs[i].value) {
			return "", errValue
		}
		if !r.read(pairs[i].value) {
			return "", errValue
		}
		parts = append(parts, pairs[i].name+"="+pairs[i].value)
	}
	if !slices.Equal(back.pairs(), pairs) {
		return "", errValue
	}
	return fold(VerdictName, parts)
}

// list joins words by commas; "none" stands for no word.
func list[S ~string](words []S) string {
	if len(words) == 0 {
		return none
	}
	var b strings.Builder
	for i, w := range words {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(string(w))
	}
	return b.String()
}

// stampTime is RFC 3339 in UTC, whole seconds; "none" for the zero time.
func stampTime(t time.Time) string {
	if t.IsZero() {
		return none
	}
	return t.UTC().Format(timeFormat)
}

const timeFormat = "2006-01-02T15:04:05Z"
