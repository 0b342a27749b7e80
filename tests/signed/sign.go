package signed

import (
	"crypto"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Signature says how a raw message is signed.
type Signature struct {
	Domain   string        // d=
	Selector string        // s=
	Key      crypto.Signer // its public key is an *rsa.PublicKey or an ed25519.PublicKey
	Names    []string      // h=
	Simple   bool          // c=simple/simple instead of relaxed/relaxed
	Time     time.Time     // t=; zero: none
	Length   bool          // l= of the whole body
	Tags     string        // further tags, each ended by ";"

	// Alter, if not nil, changes the field, which ends in "b=", before it is
	// signed.
	Alter func(field string) string
}

// Sign puts a DKIM-Signature on top of a raw message (RFC 6376, 5).
func Sign(raw string, s Signature) (string, error) {
	head, body, _ := strings.Cut(raw, "\r\n\r\n")
	alg, canon := "rsa-sha256", "relaxed/relaxed"
	hash := crypto.SHA256
	if _, ed := s.Key.Public().(ed25519.PublicKey); ed {
		alg = "ed25519-sha256"
		hash = crypto.Hash(0) // it signs the hash as a text (RFC 8463, 3)
	}
	if s.Simple {
		canon = "simple/simple"
	}
	body = canonicalBody(body, s.Simple)
	bh := sha256.Sum256([]byte(body))
	field := fmt.Sprintf("DKIM-Signature: v=1; a=%s; c=%s; d=%s; s=%s;", alg, canon, s.Domain, s.Selector)
	if !s.Time.IsZero() {
		field += fmt.Sprintf(" t=%d;", s.Time.Unix())
	}
	if s.Length {
		field += fmt.Sprintf(" l=%d;", len(body))
	}
	if s.Tags != "" {
		field += " " + s.Tags
	}
	field += fmt.Sprintf("\r\n h=%s;\r\n bh=%s;\r\n b=", strings.Join(s.Names, ":"), base64.StdEncoding.EncodeToString(bh[:]))
	if s.Alter != nil {
		field = s.Alter(field)
	}

	var data strings.Builder
	fields := splitFields(head)
	for _, n := range s.Names {
		// The k-th time that a name is given it stands for the k-th from below.
		for i, f := range slices.Backward(fields) {
			if name, _, _ := strings.Cut(f, ":"); strings.EqualFold(strings.TrimRight(name, " \t"), n) {
				data.WriteString(canonicalField(f, s.Simple))
				fields = slices.Delete(fields, i, i+1)
				break
			}
		}
	}
	data.WriteString(strings.TrimSuffix(canonicalField(field+"\r\n", s.Simple), "\r\n"))
	sum := sha256.Sum256([]byte(data.String()))
	b, err := s.Key.Sign(rand.Reader, sum[:], hash)
	if err != nil {
		return "", fmt.Errorf("signed: %w", err)
	}
	return field + base64.StdEncoding.EncodeToString(b) + "\r\n" + raw, nil
}

// splitFields cuts a header into its fields, each with its folds and its end.
func splitFields(head string) (fields []string) {
	for line := range strings.Lines(head + "\r\n") {
		if n := len(fields); n > 0 && (line[0] == ' ' || line[0] == '\t') {
			fields[n-1] += line
			continue
		}
		fields = append(fields, line)
	}
	return fields
}

var (
	whiteSpace = regexp.MustCompile(`[ \t]+`)
	lineEnds   = regexp.MustCompile(`[ \t]+\r\n`)
	emptyLines = regexp.MustCompile(`(\r\n)+$`)
)

func canonicalField(f string, simple bool) string {
	if simple {
		return f
	}
	name, value, _ := strings.Cut(f, ":")
	value = strings.Trim(whiteSpace.ReplaceAllString(strings.ReplaceAll(value, "\r\n", ""), " "), " ")
	return strings.ToLower(strings.TrimRight(name, " \t")) + ":" + value + "\r\n"
}

func canonicalBody(body string, simple bool) string {
	if body != "" && !strings.HasSuffix(body, "\r\n") {
		body += "\r\n"
	}
	if !simple {
		body = whiteSpace.ReplaceAllString(lineEnds.ReplaceAllString(body, "\r\n"), " ")
	}
	body = emptyLines.ReplaceAllString(body, "")
	if body != "" || simple {
		body += "\r\n"
	}
	return body
}
