// Package postfix sends the corpus through a real Postfix.
//
// Postfix is the private one of package rig, with the wiring of contrib/postfix
// for all mail; the milter runs in the test's own process, because its clock
// must say what the rows say. It needs root and what scripts/bring brings.
package postfix

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"stile/tests/corpus"
	"stile/tests/corpus/gate"
	"stile/tests/rig"
	"stile/verdict"
)

func TestMain(m *testing.M) {
	flag.Parse()
	if testing.Short() {
		fmt.Println("not run: TestPostfix")
		return
	}
	os.Exit(m.Run())
}

// connections is how many clients send at once.
const connections = 8

// TestPostfix sends every message to a mailbox of its own, and demands what its
// row says: it arrives with our fields, or goes no further and leaves a record,
// or is answered 451.
func TestPostfix(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	c, err := corpus.Load("..")
	if err != nil {
		t.Fatal(err)
	}
	s := begin(t, ctx, c)
	var first, later []*corpus.Message
	for _, m := range c.Messages {
		switch {
		case m.Fails == "body": // nothing that a client could send
		case m.After == "" && m.At.IsZero() && m.Fails == "":
			first = append(first, m)
		default:
			later = append(later, m)
		}
	}
	s.gate.Prepare(first[0])
	s.sendAll(first)
	for _, m := range later {
		if m.After == "" {
			s.gate.Prepare(m)
			s.sendAll([]*corpus.Message{m})
		}
	}
	for _, m := range later {
		if m.After != "" {
			s.gate.Prepare(m)
			s.sendAll([]*corpus.Message{m})
		}
	}
	arrived := s.arrived()
	for _, m := range append(first, later...) {
		t.Run(m.Path, func(t *testing.T) { s.check(t, m, arrived[s.gate.Address(m)]) })
	}
}

// stand is Postfix with the gate behind it, and what became of each message.
type stand struct {
	*rig.Rig
	t    *testing.T
	ctx  context.Context
	gate *gate.Gate

	mu      sync.Mutex
	replies map[*corpus.Message]rig.Reply
	decided map[*corpus.Message]string
}

func begin(t *testing.T, ctx context.Context, c *corpus.Corpus) *stand {
	t.Helper()
	r, err := rig.Start(ctx, rig.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := &stand{Rig: r, t: t, ctx: ctx, replies: map[*corpus.Message]rig.Reply{}, decided: map[*corpus.Message]string{}}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	if s.gate, err = gate.New(ctx, t.TempDir(), c); err != nil {
		t.Fatal(err)
	}
	// In the place of the daemon's.
	ln, err := net.Listen("unix", s.Stile.Socket)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(s.Stile.Socket, 0o666); err != nil {
		t.Fatal(err)
	}
	s.gate.Serve(ln)
	t.Cleanup(func() {
		if err := s.gate.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// sendAll sends messages over a few connections at once.
func (s *stand) sendAll(all []*corpus.Message) {
	s.t.Helper()
	work := make(chan *corpus.Message)
	errs := make(chan error, connections)
	for range connections {
		go func() { errs <- s.client(work) }()
	}
	for _, m := range all {
		work <- m
	}
	close(work)
	for range connections {
		if err := <-errs; err != nil {
			s.t.Fatal(err)
		}
	}
}

// client sends messages until there are no more. After an answer that counts as
// an error the connection is another one, or Postfix would slow it down.
func (s *stand) client(work <-chan *corpus.Message) (err error) {
	var c *rig.Client
	for m := range work {
		if err != nil {
			continue
		}
		if c == nil {
			if c, err = rig.Dial(s.ctx, s.Postfix.Addr); err != nil {
				continue
			}
		}
		var r rig.Result
		if r, err = c.SendPipelined(gate.Sender(m), s.gate.Address(m), wire(m)); err != nil {
			err = fmt.Errorf("%s: %w", m.Path, err)
			continue
		}
		if r.Refused() {
			c.Close()
			c = nil
		}
		err = s.note(m, r.Data)
	}
	if c != nil {
		c.Close()
	}
	return err
}

// note keeps what became of a message, as it is known once it is answered.
func (s *stand) note(m *corpus.Message, r rig.Reply) error {
	decided, err := s.gate.Outcome(s.ctx, m)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.replies[m], s.decided[m] = r, decided
	return err
}

// wire is the message as a client sends it.
func wire(m *corpus.Message) string {
	raw := string(m.Raw)
	if !strings.Contains(raw, "\r\n") {
		raw = strings.ReplaceAll(raw, "\n", "\r\n")
	}
	return raw
}

// arrived is what lies in the mailbox in the end, by recipient.
func (s *stand) arrived() map[string][]string {
	s.t.Helper()
	for m, r := range s.replies {
		if r.Code != 250 {
			continue
		}
		if _, err := s.Postfix.Fate(s.ctx, r.QueueID()); err != nil {
			s.t.Fatalf("%s: %v", m.Path, err)
		}
	}
	paths, err := s.Postfix.Mailbox("agents").Unread()
	if err != nil {
		s.t.Fatal(err)
	}
	all := map[string][]string{}
	for _, p := range paths {
		text, err := os.ReadFile(p)
		if err != nil {
			s.t.Fatal(err)
		}
		_, to, _ := strings.Cut(string(text), "\nDelivered-To: ")
		to, _, _ = strings.Cut(to, "\n")
		all[to] = append(all[to], string(text))
	}
	return all
}

// check compares what became of a message with its row.
func (s *stand) check(t *testing.T, m *corpus.Message, arrived []string) {
	t.Helper()
	defer func() {
		if id := s.replies[m].QueueID(); t.Failed() && id != "" {
			t.Logf("Postfix:\n%s", s.logOf(id))
		}
	}()
	want := m.Postfix
	if want == "" {
		want = m.Wanted()
	}
	reply, got := s.replies[m], s.decided[m]
	if want == corpus.NotTaken {
		if reply.Code < 500 || got != "" {
			t.Errorf("answered %q and decided %q, want that Postfix refuses it", reply, got)
		}
		return
	}
	if got != want {
		t.Fatalf("%s, want %s (answered %q)", got, want, reply)
	}
	code := 250
	if strings.HasPrefix(want, "defer/") {
		code = 451
	}
	if reply.Code != code {
		t.Errorf("answered %q", reply)
	}
	if m.After != "" {
		return // its mailbox is the other one's
	}
	accepted := want == string(verdict.Accept)
	if accepted && len(arrived) == 0 || !accepted && len(arrived) > 0 {
		t.Fatalf("%d messages arrived", len(arrived))
	}
	if m.Postfix != "" {
		return // what is shown is another message's by now
	}
	for _, text := range arrived {
		text = strings.ReplaceAll(text, "\n", "\r\n")
		split, err := verdict.Split(io.NewSectionReader(strings.NewReader(text), 0, int64(len(text))))
		if err != nil {
			t.Fatal(err)
		}
		for _, fault := range s.gate.CheckStamp(m, split.Header) {
			t.Error(fault)
		}
	}
}

// logOf is what Postfix logged of a queued message.
func (s *stand) logOf(id string) string {
	var b strings.Builder
	for _, line := range s.Postfix.Log.Since(0) {
		if strings.Contains(line, id) {
			b.WriteString(line + "\n")
		}
	}
	return b.String()
}
