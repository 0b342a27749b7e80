package stamp

import (
	"errors"
	"slices"

	"golang.org/x/mod/sumdb/note"

	"stile/verdict"
)

// Why a message has no stamp that may be believed.
var (
	ErrNoStamp = errors.New("stamp: the message lacks a Stile field")
	ErrDouble  = errors.New("stamp: a Stile field occurs twice")
	ErrFormat  = errors.New("stamp: a Stile field is malformed")
	ErrPolicy  = errors.New("stamp: the message was not accepted for this policy")
	ErrSeal    = errors.New("stamp: the seal does not verify")
)

// Open reads the stamp of a message for one policy. It returns what the stamp
// says and the exact fence if, and only if, the header has one Stile-Verdict,
// one Stile-Rendering and one Stile-Seal, each well formed, the policy is among
// those that accepted, and the seal holds its signature by one of the keys
// (see [ParsePublic]). The error is one of the Err values.
func Open(header []verdict.Field, policy string, keys ...note.Verifier) (Verdict, string, error) {
	verdictField, err := only(header, VerdictName)
	if err != nil {
		return Verdict{}, "", err
	}
	renderingField, err := only(header, RenderingName)
	if err != nil {
		return Verdict{}, "", err
	}
	sealField, err := only(header, SealName)
	if err != nil {
		return Verdict{}, "", err
	}
	fenceText, err := DecodeWords(renderingField.Value)
	if err != nil {
		return Verdict{}, "", err
	}
	signatures, err := parseSeal(sealField.Value)
	if err != nil {
		return Verdict{}, "", err
	}
	v, err := ParseVerdict(verdictField.Value)
	if err != nil {
		return Verdict{}, "", err
	}
	// A seal for another policy says that another mailbox may see the message.
	if !slices.Contains(v.Policies, policy) {
		return Verdict{}, "", ErrPolicy
	}
	at := slices.IndexFunc(signatures, func(s signature) bool { return s.policy == policy })
	if at < 0 {
		return Verdict{}, "", ErrPolicy
	}
	// Who can put mail into the mailbox can write these fields; only the milter
	// can sign them.
	if !signatures[at].verify(verdictField.Value, fenceText, keys) {
		return Verdict{}, "", ErrSeal
	}
	return v, fenceText, nil
}

// only returns the one field of that name.
func only(header []verdict.Field, name string) (verdict.Field, error) {
	var found []verdict.Field
	for _, f := range header {
		if f.Is(name) {
			found = append(found, f)
		}
	}
	// Without the field no milter of ours accepted the message.
	if len(found) == 0 {
		return verdict.Field{}, ErrNoStamp
	}
	// Of two fields of one name, which one is read depends on the reader: neither
	// may be (RFC 5322, 3.6, of fields that occur once).
	if len(found) > 1 {
		return verdict.Field{}, ErrDouble
	}
	return found[0], nil
}
