package stamp

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"slices"
	"strings"

	"golang.org/x/mod/sumdb/note"
)

const (
	sealVersion = "v1"
	sealOpening = "stile seal v1"

	// noteSeparator and notePrefix are of the signed note's format: an empty
	// line, then signature lines of an em dash, the name and base64.
	noteSeparator = "\n"
	notePrefix    = "— "

	// sealData is the base64 length of a key's hash and an Ed25519 signature.
	sealData = (4 + 64 + 2) / 3 * 4
)

// Sealer signs stamps with one private key. It is safe for concurrent use.
type Sealer struct{ signer note.Signer }

// NewSealer reads the text of a private key file: one key of [GenerateKey] on
// a line, beside it nothing but empty lines and lines that begin with "#". The
// error is [ErrPrivateKey].
func NewSealer(private string) (*Sealer, error) {
	signer, err := parsePrivate(private)
	if err != nil {
		return nil, err
	}
	return &Sealer{signer}, nil
}

// seal is the value of Stile-Seal over a Stile-Verdict value and a fence: the
// version, then for each policy the name and data of a signature line.
func (s *Sealer) seal(policies []string, verdictValue, fenceText string) (string, error) {
	parts := []string{sealVersion}
	for _, policy := range policies {
		text := sealText(policy, verdictValue, fenceText)
		signed, err := note.Sign(&note.Note{Text: text}, s.signer)
		if err != nil {
			return "", errors.New("stamp: the seal could not be signed")
		}
		line := strings.TrimSuffix(strings.TrimPrefix(string(signed), text+noteSeparator+notePrefix), "\n")
		name, data, _ := strings.Cut(line, " ")
		parts = append(parts, policy+"="+name+"+"+data)
	}
	return fold(SealName, parts)
}

// sealText is what is signed for a policy: four lines.
func sealText(policy, verdictValue, fenceText string) string {
	return sealOpening + "\n" + policy + "\n" + hexSHA256(relaxed(verdictValue)) + "\n" + hexSHA256(fenceText) + "\n"
}

func hexSHA256(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

// signature is one policy's part of a seal.
type signature struct{ policy, name, data string }

// parseSeal reads a value of Stile-Seal, folded or not: every part of its form,
// no policy twice, at least one. The error is [ErrFormat].
func parseSeal(value string) ([]signature, error) {
	parts := strings.Split(relaxed(value), "; ")
	if parts[0] != sealVersion {
		return nil, ErrFormat
	}
	if len(parts) == 1 {
		return nil, ErrFormat
	}
	var all []signature
	for _, part := range parts[1:] {
		one, ok := parseSignature(part)
		if !ok {
			return nil, ErrFormat
		}
		if slices.ContainsFunc(all, func(s signature) bool { return s.policy == one.policy }) {
			return nil, ErrFormat
		}
		all = append(all, one)
	}
	return all, nil
}

// parseSignature reads POLICY=NAME+BASE64.
func parseSignature(part string) (signature, bool) {
	policy, rest, _ := strings.Cut(part, "=")
	name, data, _ := strings.Cut(rest, "+")
	if !isPolicy(policy) {
		return signature{}, false
	}
	if !isKeyName(name) {
		return signature{}, false
	}
	if len(data) != sealData {
		return signature{}, false
	}
	// The last digit has bits that mean nothing: set, they would be a second
	// spelling of one signature (RFC 4648, 3.5).
	if _, err := base64.StdEncoding.Strict().DecodeString(data); err != nil {
		return signature{}, false
	}
	return signature{policy, name, data}, true
}

// verify reports whether the part is one of the keys' signature over these.
func (s signature) verify(verdictValue, fenceText string, keys []note.Verifier) bool {
	text := sealText(s.policy, verdictValue, fenceText)
	signed := text + noteSeparator + notePrefix + s.name + " " + s.data + "\n"
	opened, err := note.Open([]byte(signed), note.VerifierList(keys...))
	return err == nil && opened.Text == text
}
