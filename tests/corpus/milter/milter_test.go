// Package milter sends the corpus to a milter over the milter protocol.
package milter

import (
	"context"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/d--j/go-milter"

	"stile/tests/corpus"
	"stile/tests/corpus/gate"
	"stile/verdict"
)

// TestMilter hands every message over as an MTA would, and demands what its
// folder says: our fields, or a record and not a word of it, or 451.
func TestMilter(t *testing.T) {
	c, err := corpus.Load("..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	g, err := gate.New(t.Context(), dir, c)
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	g.Serve(ln)
	t.Cleanup(func() {
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	})
	client := milter.NewClient("unix", ln.Addr().String())
	run := func(m *corpus.Message) {
		if why := cannotBeSaid(t, m); why != "" {
			t.Log(m.Path, "is left out:", why)
			return
		}
		t.Run(m.Path, func(t *testing.T) {
			g.Prepare(m)
			send(t, client, g, m)
		})
	}
	// A repeat comes after what it repeats.
	for _, m := range c.Messages {
		if m.After == "" {
			run(m)
		}
	}
	for _, m := range c.Messages {
		if m.After != "" {
			run(m)
		}
	}
}

// cannotBeSaid says why the protocol has no words for a message as it is: it
// sends names and values that end at a NUL, and folds as LF.
func cannotBeSaid(t *testing.T, m *corpus.Message) string {
	t.Helper()
	if m.Fails == "body" {
		return "its body cannot be read"
	}
	split, err := m.Split()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range split.Header {
		switch {
		case f.NoColon:
			return "a line without a colon"
		case f.Name == "":
			return "a field without a name"
		case strings.Contains(f.Name+f.Value, "\x00"):
			return "a NUL in a field"
		case strings.Contains(strings.ReplaceAll(f.Value, "\r\n", ""), "\n"):
			return "a bare LF in a field"
		}
	}
	return ""
}

func send(t *testing.T, client *milter.Client, g *gate.Gate, m *corpus.Message) {
	split, err := m.Split()
	if err != nil {
		t.Fatal(err)
	}
	macros := milter.NewMacroBag()
	s, err := client.Session(macros)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	goOn := func(a *milter.Action, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		if a.Type != milter.ActionContinue {
			t.Fatalf("%+v before the end of the message", a)
		}
	}
	goOn(s.Conn("client.example", milter.FamilyInet, 40000, "192.0.2.7"))
	goOn(s.Helo("client.example"))
	goOn(s.Mail(gate.Sender(m), ""))
	macros.Set("{rcpt_addr}", g.Address(m))
	goOn(s.Rcpt(g.Address(m), ""))
	goOn(s.DataStart())
	for _, f := range split.Header {
		goOn(s.HeaderField(f.Name, strings.ReplaceAll(f.Value, "\r\n", "\n"), nil))
	}
	goOn(s.HeaderEnd())
	macros.Set("i", "4QfT3z0Kbz1")
	if split.Body.Size() == 0 {
		goOn(s.BodyChunk(nil)) // the client ends no message without one
	}
	changes, answer, err := s.BodyReadFrom(split.Body)
	if err != nil {
		t.Fatal(err)
	}
	check(t, g, m, split.Header, changes, answer)
}

// check compares what the milter answered with what the message must become.
func check(t *testing.T, g *gate.Gate, m *corpus.Message, header []verdict.Field, changes []milter.ModifyAction, answer *milter.Action) {
	t.Helper()
	got, err := g.Outcome(context.Background(), m)
	if err != nil {
		t.Fatal(err)
	}
	if got != m.Wanted() {
		t.Fatalf("%s, want %s", got, m.Wanted())
	}
	switch m.Outcome {
	case verdict.Accept:
		if answer.Type != milter.ActionAccept && answer.Type != milter.ActionContinue {
			t.Fatalf("answered %+v", answer)
		}
		for _, fault := range g.CheckStamp(m, changed(t, header, changes)) {
			t.Error(fault)
		}
	case verdict.Refuse:
		if answer.Type != milter.ActionDiscard || len(changes) > 0 {
			t.Errorf("answered %+v with %d changes", answer, len(changes))
		}
	default:
		if answer.SMTPCode != 451 || len(changes) > 0 {
			t.Errorf("answered %+v with %d changes", answer, len(changes))
		}
	}
}

// changed is the header with the changes made, as an MTA makes them: the k-th
// field of a name is deleted, and a field is put on top.
func changed(t *testing.T, header []verdict.Field, changes []milter.ModifyAction) []verdict.Field {
	t.Helper()
	header = slices.Clone(header)
	for _, c := range changes {
		switch {
		case c.Type == milter.ActionInsertHeader && c.HeaderIndex == 0:
			f := verdict.Field{Name: c.HeaderName, Value: strings.ReplaceAll(c.HeaderValue, "\n", "\r\n")}
			header = slices.Insert(header, 0, f)
		case c.Type == milter.ActionChangeHeader && c.HeaderValue == "":
			n := c.HeaderIndex
			at := slices.IndexFunc(header, func(f verdict.Field) bool {
				if f.Is(c.HeaderName) {
					n--
				}
				return f.Is(c.HeaderName) && n == 0
			})
			if at < 0 {
				t.Fatalf("a field is deleted that is not there: %+v", c)
			}
			header = slices.Delete(header, at, at+1)
		default:
			t.Fatalf("unexpected change: %+v", c)
		}
	}
	return header
}
