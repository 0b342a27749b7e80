package rig

import (
	"bufio"
	"context"
	"crypto"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"sync"
	"time"

	"stile/tests/signed"
)

//go:embed sign.py
var signPy string

// Key is a throwaway DKIM key.
type Key struct {
	algorithm string
	private   string // as dkimpy takes it
	signer    crypto.Signer
	Record    string // what stands in the DNS (RFC 6376, 3.6.1)
}

// NewRSA makes an RSA key of that many bits.
func NewRSA(bits int) (*Key, error) {
	k, err := rsa.GenerateKey(rand.Reader, bits)
	if err != nil {
		return nil, fmt.Errorf("rig: %w", err)
	}
	public, err := x509.MarshalPKIXPublicKey(k.Public())
	if err != nil {
		return nil, fmt.Errorf("rig: %w", err)
	}
	block := &pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(k)}
	return &Key{
		algorithm: "rsa-sha256",
		private:   string(pem.EncodeToMemory(block)),
		signer:    k,
		Record:    "v=DKIM1; k=rsa; p=" + base64.StdEncoding.EncodeToString(public),
	}, nil
}

// NewEd25519 makes an Ed25519 key (RFC 8463).
func NewEd25519() (*Key, error) {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("rig: %w", err)
	}
	return &Key{
		algorithm: "ed25519-sha256",
		private:   base64.StdEncoding.EncodeToString(private.Seed()),
		signer:    private,
		Record:    "v=DKIM1; k=ed25519; p=" + base64.StdEncoding.EncodeToString(public),
	}, nil
}

// Signing says how a message is signed.
type Signing struct {
	Domain   string // d=
	Selector string // s=
	Key      *Key

	Headers []string // h=; nil: From, To, Cc, Subject, Date, Message-ID, MIME-Version, Content-Type, Content-Transfer-Encoding
	Canon   string   // c=; "": relaxed/relaxed
	Length  bool     // whether l= is given
	Undated bool     // no t=
	Time    time.Time
}

// DefaultHeaders is the h= of a Signing that names none.
var DefaultHeaders = []string{
	"From", "To", "Cc", "Subject", "Date", "Message-ID",
	"MIME-Version", "Content-Type", "Content-Transfer-Encoding",
}

// fill puts what is meant by the zero values.
func (s *Signing) fill() error {
	if s.Key == nil {
		return errors.New("rig: signing without a key")
	}
	if s.Headers == nil {
		s.Headers = DefaultHeaders
	}
	if s.Canon == "" {
		s.Canon = "relaxed/relaxed"
	}
	if s.Time.IsZero() {
		s.Time = time.Now()
	}
	return nil
}

// Signer signs mail.
type Signer interface {
	// Sign returns the message with a DKIM-Signature on top.
	Sign(raw string, how Signing) (string, error)
}

// ownSigner is that of package signed, for a rig without brought packages.
type ownSigner struct{}

func (ownSigner) Sign(raw string, how Signing) (string, error) {
	if err := how.fill(); err != nil {
		return "", err
	}
	s := signed.Signature{
		Domain: how.Domain, Selector: how.Selector, Key: how.Key.signer, Names: how.Headers, Length: how.Length,
	}
	switch how.Canon {
	case "relaxed/relaxed":
	case "simple/simple":
		s.Simple = true
	default:
		return "", fmt.Errorf("rig: signing with c=%s needs dkimpy", how.Canon)
	}
	if !how.Undated {
		s.Time = how.Time
	}
	return signed.Sign(raw, s)
}

// dkimpy is the signer of that name, running.
type dkimpy struct {
	mu   sync.Mutex
	proc *process
	in   io.WriteCloser
	out  *bufio.Reader
	errs *Lines
}

func startSigner(p packages) (*dkimpy, error) {
	cmd := exec.Command(p.python(), "-I", "-c", "import sys; sys.path.insert(0, sys.argv[1])\n"+signPy,
		p.modules())
	cmd.Env = p.environment()
	s := &dkimpy{errs: NewLines()}
	cmd.Stderr = s.errs
	var err error
	if s.in, err = cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("rig: %w", err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("rig: %w", err)
	}
	s.out = bufio.NewReader(out)
	if s.proc, err = start(cmd); err != nil {
		return nil, err
	}
	return s, nil
}

func (s *dkimpy) Sign(raw string, how Signing) (string, error) {
	if err := how.fill(); err != nil {
		return "", err
	}
	job := map[string]any{
		"message":      []byte(raw), // base64 in JSON
		"domain":       how.Domain,
		"selector":     how.Selector,
		"key":          how.Key.private,
		"algorithm":    how.Key.algorithm,
		"headers":      how.Headers,
		"canonicalize": how.Canon,
		"length":       how.Length,
		"time":         how.Time.Unix(),
	}
	if how.Undated {
		job["time"] = nil
	}
	line, err := json.Marshal(job)
	if err != nil {
		return "", fmt.Errorf("rig: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.in.Write(append(line, '\n')); err != nil {
		return "", fmt.Errorf("rig: dkimpy: %w\n%s", err, s.errs.Text())
	}
	answer, err := s.out.ReadBytes('\n')
	if err != nil {
		return "", fmt.Errorf("rig: dkimpy: %w\n%s", err, s.errs.Text())
	}
	field, err := base64.StdEncoding.DecodeString(string(answer[:len(answer)-1]))
	if err != nil {
		return "", fmt.Errorf("rig: dkimpy: %w", err)
	}
	return string(field) + raw, nil
}

func (s *dkimpy) stop(ctx context.Context) error {
	_ = s.in.Close() // the end of its input ends it
	return s.proc.wait(ctx)
}
