package stamp

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"strings"

	"golang.org/x/mod/sumdb/note"
)

// Errors of keys. None of them quotes a key, for what was taken for a public
// key may be a private one.
var (
	ErrKeyName    = errors.New("stamp: a key's name consists of letters, digits, dots, hyphens and underscores")
	ErrPrivateKey = errors.New("stamp: not one private seal key")
	ErrPublicKey  = errors.New("stamp: not one or two public seal keys")
)

// publicKeys is how many public keys may be valid: one, and a second while it
// is rotated.
const publicKeys = 2

// GenerateKey makes an Ed25519 key pair in the text forms of signed notes
// (golang.org/x/mod/sumdb/note): PRIVATE+KEY+NAME+HASH+DATA and
// NAME+HASH+DATA, without line ends. The name is the host's; it stands in
// every seal.
func GenerateKey(name string) (private, public string, err error) {
	if !isKeyName(name) {
		return "", "", ErrKeyName
	}
	private, public, err = note.GenerateKey(rand.Reader, name)
	if err != nil {
		return "", "", errors.New("stamp: no random octets for a key")
	}
	return private, public, nil
}

// isKeyName holds for host names and words like them, at most 253 octets: no
// character that a signed note or a seal gives a meaning.
func isKeyName(s string) bool {
	return s != "" && len(s) <= 253 && consistsOf(s, uppers+lowers+digits+"-._")
}

// PublicKey derives the public text from the text of a private key file. The
// error is [ErrPrivateKey].
func PublicKey(private string) (string, error) {
	signer, err := parsePrivate(private)
	if err != nil {
		return "", err
	}
	// PRIVATE+KEY+NAME+HASH+DATA, as parsePrivate found it; base64 has pluses of
	// its own. The data is the algorithm's octet and the seed (RFC 8032, 5.1.5).
	data, err := base64.StdEncoding.DecodeString(strings.SplitN(keyLines(private)[0], "+", 5)[4])
	if err != nil {
		return "", ErrPrivateKey
	}
	public, ok := ed25519.NewKeyFromSeed(data[1:]).Public().(ed25519.PublicKey)
	if !ok {
		return "", ErrPrivateKey
	}
	text, err := note.NewEd25519VerifierKey(signer.Name(), public)
	if err != nil {
		return "", ErrPrivateKey
	}
	return text, nil
}

// parsePrivate reads the text of a private key file: one key on a line, beside
// it nothing but empty lines and lines that begin with "#".
func parsePrivate(text string) (note.Signer, error) {
	lines := keyLines(text)
	if len(lines) != 1 {
		return nil, ErrPrivateKey
	}
	signer, err := note.NewSigner(lines[0])
	if err != nil {
		return nil, ErrPrivateKey
	}
	if !isKeyName(signer.Name()) {
		return nil, ErrPrivateKey
	}
	return signer, nil
}

// ParsePublic reads the text of a public key file: one key a line, one or two
// different ones, beside them nothing but empty lines and lines that begin
// with "#". The error is [ErrPublicKey].
func ParsePublic(text string) ([]note.Verifier, error) {
	lines := keyLines(text)
	if len(lines) == 0 {
		return nil, ErrPublicKey
	}
	if len(lines) > publicKeys {
		return nil, ErrPublicKey
	}
	var keys []note.Verifier
	for _, line := range lines {
		key, err := note.NewVerifier(line)
		if err != nil {
			return nil, ErrPublicKey
		}
		if !isKeyName(key.Name()) {
			return nil, ErrPublicKey
		}
		// The same key twice is ambiguous to a note's reader: nothing would open.
		for _, k := range keys {
			if k.Name() == key.Name() && k.KeyHash() == key.KeyHash() {
				return nil, ErrPublicKey
			}
		}
		keys = append(keys, key)
	}
	return keys, nil
}

// keyLines are the lines of a key file that hold something.
func keyLines(text string) []string {
	var lines []string
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if line != "" && line[0] != '#' {
			lines = append(lines, line)
		}
	}
	return lines
}
