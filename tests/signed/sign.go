package signed

import (
	"crypto"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// sign puts a DKIM-Signature on top of a raw message (RFC 6376, 5).
func sign(t testing.TB, s Spec, raw string) string {
	t.Helper()
	head, body, _ := strings.Cut(raw, "\r\n\r\n")
	names := s.Sign
	if names == nil {
		names = fieldNames("From: x\r\n" + s.Header)
	}
	alg, canon := "rsa-sha256", "relaxed/relaxed"
	if s.Ed25519 {
		alg = "ed25519-sha256"
	}
	if s.Simple {
		canon = "simple/simple"
	}
	bh := sha256.Sum256([]byte(canonicalBody(body, s.Simple)))
	field := fmt.Sprintf("DKIM-Signature: v=1; a=%s; c=%s; d=%s; s=%s;", alg, canon, s.Domain, s.Selector)
	if !s.NoTime {
		field += fmt.Sprintf(" t=%d;", time.Now().Unix())
	}
	if s.Tags != "" {
		field += " " + s.Tags
	}
	field += fmt.Sprintf("\r\n h=%s;\r\n bh=%s;\r\n b=", strings.Join(names, ":"), base64.StdEncoding.EncodeToString(bh[:]))

	var data strings.Builder
	fields := splitFields(head)
	for _, n := range names {
		// The k-th time that a name is given it stands for the k-th from below.
		for i, f := range slices.Backward(fields) {
			if name, _, _ := strings.Cut(f, ":"); strings.EqualFold(name, n) {
				data.WriteString(canonicalField(f, s.Simple))
				fields = slices.Delete(fields, i, i+1)
				break
			}
		}
	}
	data.WriteString(strings.TrimSuffix(canonicalField(field+"\r\n", s.Simple), "\r\n"))
	return field + seal(t, s, data.String()) + "\r\n" + raw
}

func seal(t testing.TB, s Spec, data string) string {
	t.Helper()
	sum := sha256.Sum256([]byte(data))
	if s.Ed25519 {
		return base64.StdEncoding.EncodeToString(ed25519.Sign(edKey(), sum[:]))
	}
	b, err := rsa.SignPKCS1v15(nil, rsaKey(), crypto.SHA256, sum[:])
	if err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(b)
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
