package rig

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/emersion/go-milter"
	"github.com/emersion/go-msgauth/dkim"
)

// TestWiring proves the rig itself, with a milter that does nothing where stile
// will be: every name of a mailbox delivers, nothing else is taken, and what
// dkimpy signed verifies by the DNS server's records.
func TestWiring(t *testing.T) {
	if testing.Short() {
		fmt.Println("not run: TestWiring")
		return
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	r := bare(t, ctx)

	key, err := NewEd25519()
	if err != nil {
		t.Fatal(err)
	}
	r.DNS.SetTXT("s._domainkey.example.org", key.Record)
	raw, err := r.Signer.Sign("From: friend@example.org\r\nTo: shopping@estate.example\r\nSubject:  odd \t space\r\n\r\neggs\r\n",
		Signing{Domain: "example.org", Selector: "s", Key: key, Canon: "simple/simple", Headers: []string{"From", "To", "Subject"}})
	if err != nil {
		t.Fatal(err)
	}

	c, err := Dial(ctx, r.Postfix.Addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for address, box := range map[string]string{
		"shopping@estate.example":       "shopping",
		"shopping+x@mx.estate.example":  "shopping",
		"SHOPPING@localhost":            "shopping",
		"shopping@[127.0.0.1]":          "shopping",
		`"shopping+x y"@estate.example`: "shopping",
		"desk@estate.example":           "desk",
		"anyone@agents.example":         "agents",
	} {
		mailbox := r.Postfix.Mailbox(box)
		got, err := c.Send("friend@example.org", []string{address}, raw)
		if err != nil {
			t.Fatal(err)
		}
		if got.Data.Code != 250 {
			t.Fatalf("%s: %s", address, got.Data)
		}
		verifyDelivered(t, ctx, r, mailbox)
	}
	for _, address := range []string{"nobody@estate.example", "x@outside.example", "nobody@localhost"} {
		got, err := c.Send("friend@example.org", []string{address}, raw)
		if err != nil {
			t.Fatal(err)
		}
		if len(got.Rcpt) != 1 || got.Rcpt[0].Code/100 != 5 {
			t.Errorf("%s: %v, want 5xx", address, got.Rcpt)
		}
	}
}

// bare is a rig without stile; a milter that does nothing has its socket.
func bare(t *testing.T, ctx context.Context) *Rig {
	t.Helper()
	r, err := prepare()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	if r.DNS, err = StartDNS(); err != nil {
		t.Fatal(err)
	}
	if err := r.startDkimpy(); err != nil {
		t.Fatal(err)
	}
	if r.Postfix, err = startPostfix(ctx, r.packages, r.ids, filepath.Join(r.Dir, "mx"), "", "b"); err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(r.Postfix.Dir, "queue", "stile", "stile.sock")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(socket, 0o666); err != nil {
		t.Fatal(err)
	}
	server := &milter.Server{NewMilter: func() milter.Milter { return milter.NoOpMilter{} }}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	t.Cleanup(func() {
		_ = server.Close()
		<-ended
	})
	return r
}

// verifyDelivered reads the next message and verifies its signature.
func verifyDelivered(t *testing.T, ctx context.Context, r *Rig, m *Mailbox) {
	t.Helper()
	path, err := m.Next(ctx)
	if err != nil {
		t.Fatalf("%v\n%s", err, r.Postfix.Log.Text())
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	resolver := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, r.DNS.Addr)
	}}
	results, err := dkim.VerifyWithOptions(strings.NewReader(strings.ReplaceAll(string(text), "\n", "\r\n")),
		&dkim.VerifyOptions{LookupTXT: func(name string) ([]string, error) { return resolver.LookupTXT(ctx, name) }})
	if err != nil {
		t.Fatal(err)
	}
	if len(results) != 1 || results[0].Err != nil {
		t.Errorf("%d signatures, the first: %v", len(results), results[0].Err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}
