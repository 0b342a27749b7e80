// Package signed makes, for tests, messages that a domain has signed, and the
// key records that prove it. The signer is the plainest reading of RFC 6376
// and shares no code with what it tests.
package signed

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"io"
	"math/big"
	"strings"
	"sync"
	"testing"
	"time"

	"stile/verdict"
)

// Spec says what message to make. The zero value of a field has the meaning
// that its comment gives.
type Spec struct {
	From     string   // value of the From field; "friend@example.org"
	Header   string   // the fields below From, CRLF line ends; "To: shopping@estate.example\r\nSubject: groceries\r\n"
	Body     string   // "eggs\r\nmilk\r\n"
	Sign     []string // names in h=; every name in the header, once
	Domain   string   // d=; "example.org"
	Selector string   // s=; "s1"
	Simple   bool     // c=simple/simple instead of relaxed/relaxed
	Ed25519  bool     // an ed25519-sha256 signature
	Unsigned bool     // no signature at all
	NoTime   bool     // no t= in the signature; else t= is now
	Tags     string   // further tags, each ended by ";": "x=1; l=5;"
	Above    string   // fields put on top after signing
	Alter    func(body string) string
}

// primes are those of the one RSA key, which is a secret to nobody: to find new
// ones costs more than a test does.
var primes = []string{
	"1a4F7nt4tmdeV+UdYacqrr206SRXJcD5JBY7k/OiPcW/s5+k7mCoYRrP6xNQ1VM9z+0xwZZkxWwjGYqtMM9ThSDWjXE4K2eT2mTnGDtS2rH7b4PjxyiNDXnp8wvCky3TBcFBtF2WMO27qwuN6Xf/BtUlXDnaH/lAkZNTBFa/AWc=",
	"yeUgFK6/9hTNY5Qq++fcUIgahlFI6yGbBsyiUrZVF+dlM/dKU8XsDpBPHduRzRvKE44a8snNczGUq0ozv9c6L/mV2ogigoxXj7RcWhYH0Bp1GWEV3D8AZfKo4tzKBw94f5vZhMClmfZiTbaDe3mnq/eK8loDhAeYwnLlZ6Wb9/8=",
}

var (
	rsaKey = sync.OnceValue(func() *rsa.PrivateKey {
		k := &rsa.PrivateKey{PublicKey: rsa.PublicKey{N: big.NewInt(1), E: 65537}}
		phi, one := big.NewInt(1), big.NewInt(1)
		for _, text := range primes {
			octets, err := base64.StdEncoding.DecodeString(text)
			if err != nil {
				panic(err)
			}
			p := new(big.Int).SetBytes(octets)
			k.Primes = append(k.Primes, p)
			k.N.Mul(k.N, p)
			phi.Mul(phi, new(big.Int).Sub(p, one))
		}
		k.D = new(big.Int).ModInverse(big.NewInt(int64(k.E)), phi)
		k.Precompute()
		return k
	})
	edKey = sync.OnceValue(func() ed25519.PrivateKey { return ed25519.NewKeyFromSeed(bytes.Repeat([]byte{7}, ed25519.SeedSize)) })
)

func (s *Spec) fill() {
	set := func(p *string, v string) {
		if *p == "" {
			*p = v
		}
	}
	set(&s.From, "friend@example.org")
	set(&s.Header, "To: shopping@estate.example\r\nSubject: groceries\r\n")
	set(&s.Body, "eggs\r\nmilk\r\n")
	set(&s.Domain, "example.org")
	set(&s.Selector, "s1")
}

// Mail makes the message, byte for byte as it would cross the wire.
func Mail(t testing.TB, s Spec) string {
	t.Helper()
	s.fill()
	raw := "From: " + s.From + "\r\n" + s.Header + "\r\n" + s.Body
	if !s.Unsigned {
		raw = sign(t, s, raw)
	}
	if s.Alter != nil {
		head, body, _ := strings.Cut(raw, "\r\n\r\n")
		raw = head + "\r\n\r\n" + s.Alter(body)
	}
	return s.Above + raw
}

func sign(t testing.TB, s Spec, raw string) string {
	t.Helper()
	how := Signature{Domain: s.Domain, Selector: s.Selector, Key: rsaKey(), Names: s.Sign, Simple: s.Simple, Tags: s.Tags}
	if s.Ed25519 {
		how.Key = edKey()
	}
	if how.Names == nil {
		how.Names = fieldNames("From: x\r\n" + s.Header)
	}
	if !s.NoTime {
		how.Time = time.Now()
	}
	out, err := Sign(raw, how)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func fieldNames(header string) (names []string) {
	for line := range strings.Lines(header) {
		if name, _, ok := strings.Cut(line, ":"); ok && line[0] != ' ' && line[0] != '\t' {
			names = append(names, name)
		}
	}
	return names
}

// Record is the key record of the signatures that Mail makes.
func Record(t testing.TB, ed bool) string {
	t.Helper()
	if ed {
		return "v=DKIM1; k=ed25519; p=" + base64.StdEncoding.EncodeToString(edKey().Public().(ed25519.PublicKey))
	}
	der, err := x509.MarshalPKIXPublicKey(rsaKey().Public())
	if err != nil {
		t.Fatal(err)
	}
	return "v=DKIM1; k=rsa; p=" + base64.StdEncoding.EncodeToString(der)
}

// Lookup answers for the message that s makes, and has nothing else.
func Lookup(t testing.TB, s Spec) verdict.LookupTXT {
	t.Helper()
	s.fill()
	record := Record(t, s.Ed25519)
	return func(_ context.Context, name string) ([]string, error) {
		if name == strings.ToLower(s.Selector)+"._domainkey."+strings.ToLower(s.Domain) {
			return []string{record}, nil
		}
		return nil, nil
	}
}

// Message splits a raw message for judging.
func Message(t testing.TB, raw string) verdict.Message {
	t.Helper()
	m, err := verdict.Split(io.NewSectionReader(strings.NewReader(raw), 0, int64(len(raw))))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Senders makes a list.
func Senders(t testing.TB, entries ...string) verdict.Senders {
	t.Helper()
	s, err := verdict.NewSenders(entries)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Policy accepts the default sender for shopping@estate.example.
func Policy(t testing.TB) *verdict.Policy {
	t.Helper()
	return &verdict.Policy{
		Senders:   Senders(t, "friend@example.org"),
		Addressee: func(a string) bool { return a == "shopping@estate.example" },
		Addressed: verdict.AddressedSigned,
	}
}

// Accepted makes the message, judges it by Policy and fails the test unless it
// is accepted.
func Accepted(t testing.TB, s Spec) *verdict.Accepted {
	t.Helper()
	c := verdict.Open(Message(t, Mail(t, s)), verdict.Env{Lookup: Lookup(t, s), Now: time.Now()})
	v := c.Judge(context.Background(), Policy(t))
	if v.Accepted() == nil {
		t.Fatalf("not accepted: %s %s", v.Outcome(), v.Reason())
	}
	return v.Accepted()
}
