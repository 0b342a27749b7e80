package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/emersion/go-msgauth/dkim"

	"stile/verdict"
)

// The people of the drill.
const (
	drillSender  = "friend@example.org" // on the list
	drillMallory = "mallory@evil.example"
	drillMailbox = "shopping@estate.example"
)

// post makes and signs the drill's mail and answers for its DNS.
type post struct {
	key    *rsa.PrivateKey
	record string
}

func newPost() (*post, error) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, fmt.Errorf("a key cannot be made: %w", err)
	}
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return nil, fmt.Errorf("a key record cannot be made: %w", err)
	}
	return &post{key, "v=DKIM1; k=rsa; p=" + base64.StdEncoding.EncodeToString(der)}, nil
}

// lookUp answers for both domains, and has nothing else.
func (p *post) lookUp(_ context.Context, name string) ([]string, error) {
	if slices.Contains([]string{"drill._domainkey.example.org", "drill._domainkey.evil.example"}, name) {
		return []string{p.record}, nil
	}
	return nil, nil
}

// court judges by the list of the drill, with the switches as they are by
// default.
func (p *post) court() (*court, error) {
	senders, err := verdict.NewSenders([]string{drillSender})
	if err != nil {
		return nil, err
	}
	return &court{
		policy: &verdict.Policy{
			Senders:   senders,
			Addressee: func(address string) bool { return address == drillMailbox },
			Addressed: verdict.AddressedSigned,
			MaxAge:    7 * 24 * time.Hour,
		},
		env: verdict.Env{Lookup: p.lookUp, Now: time.Now()},
	}, nil
}

// letter is a message that is not signed yet.
type letter struct {
	from    string // fields, without the last line end
	subject string
	kind    string // Content-Type; "" is plain text
	body    string // any text
}

// raw is the message as it would cross the wire. The body is base64, so that
// each octet of it arrives whatever line ends it holds.
func (l letter) raw() string {
	kind := l.kind
	if kind == "" {
		kind = "text/plain"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s\r\nTo: %s\r\nSubject: %s\r\nMIME-Version: 1.0\r\n", l.from, drillMailbox, l.subject)
	fmt.Fprintf(&b, "Content-Type: %s; charset=utf-8\r\nContent-Transfer-Encoding: base64\r\n\r\n", kind)
	return b.String() + inBase64(l.body)
}

// inBase64 is a text in lines of base64 (RFC 2045, 6.8).
func inBase64(text string) string {
	var b strings.Builder
	for line := range slices.Chunk([]byte(base64.StdEncoding.EncodeToString([]byte(text))), 76) {
		b.Write(line)
		b.WriteString("\r\n")
	}
	return b.String()
}

// sign signs a message as a domain: every field, each as often as it is there.
func (p *post) sign(domain, raw string) (string, error) { return p.signAs(domain, "@"+domain, raw) }

// signLength is sign with l= over the whole body. The library has no option
// for a tag that nobody should use, so it stands behind the value of i=.
func (p *post) signLength(domain, raw string) (string, error) {
	return p.signAs(domain, fmt.Sprintf("@%s; l=%d", domain, len(bodyOf(raw))), raw)
}

func (p *post) signAs(domain, identity, raw string) (string, error) {
	var out bytes.Buffer
	err := dkim.Sign(&out, strings.NewReader(raw), &dkim.SignOptions{
		Domain: domain, Selector: "drill", Identifier: identity, Signer: p.key,
		HeaderCanonicalization: dkim.CanonicalizationRelaxed,
		BodyCanonicalization:   dkim.CanonicalizationRelaxed,
	})
	if err != nil {
		return "", fmt.Errorf("a message cannot be signed: %w", err)
	}
	return out.String(), nil
}

// verifies asks a library, not stile, whether every signature of a message
// holds.
func (p *post) verifies(raw string) error {
	all, err := dkim.VerifyWithOptions(strings.NewReader(raw), &dkim.VerifyOptions{
		LookupTXT: func(name string) ([]string, error) { return p.lookUp(context.Background(), name) },
	})
	if err != nil {
		return fmt.Errorf("the library cannot verify: %w", err)
	}
	if len(all) != 1 {
		return fmt.Errorf("the library finds %d signatures", len(all))
	}
	if all[0].Err != nil {
		return fmt.Errorf("to the library the signature does not hold: %w", all[0].Err)
	}
	return nil
}

// withBody is a message with another text in the place of its own.
func withBody(raw, text string) string {
	head, _, _ := strings.Cut(raw, "\r\n\r\n")
	return head + "\r\n\r\n" + inBase64(text)
}

func bodyOf(raw string) string {
	_, body, _ := strings.Cut(raw, "\r\n\r\n")
	return body
}

// signatureTag is the value of a tag of the topmost signature.
func signatureTag(raw, name string) string {
	head, _, _ := strings.Cut(raw, "\r\n\r\n")
	field, _, _ := strings.Cut(strings.NewReplacer("\r\n ", "", "\r\n\t", "").Replace(head), "\r\n")
	_, list, _ := strings.Cut(field, ":")
	for _, tag := range strings.Split(list, ";") {
		if n, value, _ := strings.Cut(strings.TrimSpace(tag), "="); n == name {
			return strings.ReplaceAll(value, " ", "")
		}
	}
	return ""
}

func (c *court) judgeText(raw string) (judged, error) {
	m, err := verdict.Split(io.NewSectionReader(strings.NewReader(raw), 0, int64(len(raw))))
	if err != nil {
		return judged{}, err
	}
	return c.judge("drill", m), nil
}
