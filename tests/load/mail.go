package main

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"time"
)

// Who writes to whom.
const (
	from     = "friend@example.org"
	to       = "shopping@estate.example"
	domain   = "example.org"
	selector = "s1"
)

// altered is how many messages come to one that was altered.
const altered = 10

// field is a header field as the milter protocol has it: no colon, LF in folds.
type field struct{ name, value string }

// mail is one message.
type mail struct {
	header []field
	body   string
	good   bool // its signature verifies
}

// mint makes signed messages.
type mint struct {
	key  *rsa.PrivateKey
	made int
}

func newMint() (*mint, error) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, fmt.Errorf("load: %w", err)
	}
	return &mint{key: key}, nil
}

// record is the key record of the signatures (RFC 6376, 3.6.1).
func (m *mint) record() (string, error) {
	public, err := x509.MarshalPKIXPublicKey(m.key.Public())
	if err != nil {
		return "", fmt.Errorf("load: %w", err)
	}
	return "v=DKIM1; k=rsa; p=" + base64.StdEncoding.EncodeToString(public), nil
}

// messages makes n messages of about that size. The body is the same in all,
// but for the altered ones; they differ in their header.
func (m *mint) messages(n, size int) ([]mail, error) {
	now := time.Now()
	header := m.header(0, now)
	length := 0
	for _, f := range header {
		length += len(f.name) + len(f.value) + len(":\r\n")
	}
	const signature = 640 // octets of DKIM-Signature, about
	body := text(size - length - signature)
	half := len(body) / 2
	changed := body[:half] + "#" + body[half+1:]
	hash := sha256.Sum256([]byte(body)) // the text is canonical as it is
	bh := base64.StdEncoding.EncodeToString(hash[:])

	all := make([]mail, n)
	errs := make([]error, runtime.NumCPU())
	var workers sync.WaitGroup
	for w := range errs {
		workers.Go(func() {
			for i := w; i < n && errs[w] == nil; i += len(errs) {
				all[i] = mail{header: m.header(m.made+i, now), body: body, good: i%altered != altered-1}
				if !all[i].good {
					all[i].body = changed
				}
				errs[w] = m.sign(&all[i], bh, now)
			}
		})
	}
	workers.Wait()
	m.made += n
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// header is that of an ordinary message, in relaxed canonical form but for the
// case of names, the fold and the leading space (RFC 6376, 3.4.2).
func (m *mint) header(serial int, now time.Time) []field {
	date := now.UTC().Format(time.RFC1123Z)
	return []field{
		{"Received", fmt.Sprintf(" from out.example.org (out.example.org [192.0.2.7])\n\tby mx.estate.example (Postfix) with ESMTPS id %09X\n\tfor <%s>; %s", serial, to, date)},
		{"Received", fmt.Sprintf(" from desk.example.org (desk.example.org [192.0.2.33])\n\tby out.example.org (Postfix) with ESMTPSA id %09X; %s", serial, date)},
		{"Date", " " + date},
		{"From", " A Friend <" + from + ">"},
		{"To", " The Estate <" + to + ">"},
		{"Subject", fmt.Sprintf(" groceries for the week, list %d", serial)},
		{"Message-ID", fmt.Sprintf(" <%d.%d@desk.example.org>", now.UnixNano(), serial)},
		{"MIME-Version", " 1.0"},
		{"Content-Type", " text/plain; charset=utf-8"},
		{"Content-Transfer-Encoding", " 7bit"},
		{"Content-Language", " en"},
		{"User-Agent", " Mozilla Thunderbird"},
		{"X-Spam-Status", " No, score=-1.2 required=5.0 tests=DKIM_SIGNED,DKIM_VALID"},
	}
}

// signed are the fields that a signature covers.
var signed = []string{"Date", "From", "To", "Subject", "Message-ID", "MIME-Version", "Content-Type", "Content-Transfer-Encoding"}

// sign puts a DKIM-Signature on top (RFC 6376, 3.7).
func (m *mint) sign(msg *mail, bh string, now time.Time) error {
	value := fmt.Sprintf("v=1; a=rsa-sha256; c=relaxed/relaxed; d=%s; s=%s; t=%d; h=%s; bh=%s; b=",
		domain, selector, now.Unix(), strings.Join(signed, ":"), bh)
	h := sha256.New()
	for _, name := range signed {
		for _, f := range msg.header {
			if f.name == name {
				fmt.Fprintf(h, "%s:%s\r\n", strings.ToLower(f.name), f.value[1:])
			}
		}
	}
	fmt.Fprintf(h, "dkim-signature:%s", value)
	sum, err := rsa.SignPKCS1v15(nil, m.key, crypto.SHA256, h.Sum(nil))
	if err != nil {
		return fmt.Errorf("load: %w", err)
	}
	value = " " + strings.ReplaceAll(value, "; h=", ";\n\th=")
	value = strings.ReplaceAll(value, "; bh=", ";\n\tbh=") + base64.StdEncoding.EncodeToString(sum)
	msg.header = append([]field{{"DKIM-Signature", value}}, msg.header...)
	return nil
}

// text is so many octets of lines of words, with CRLF.
func text(size int) string {
	const line = "eggs, milk and bread; and if they have them, six of the small lemons.\r\n"
	size = max(size, len(line))
	return strings.Repeat(line, size/len(line)+1)[:size-len(".\r\n")] + ".\r\n"
}
