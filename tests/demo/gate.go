package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/mail"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/d--j/go-milter"

	"stile/tests/rig"
	"stile/verdict"
)

// gate is the way by which mail comes to stile.
type gate interface {
	// pass hands a message over and waits for what becomes of it.
	pass(ctx context.Context, to, raw string) (passed, error)
	// read gives the fence in a delivered file, as that library reads it.
	read(ctx context.Context, file string) (library, fence string, err error)
}

// passed is what became of a message.
type passed struct {
	code int    // what the sender heard
	file string // where it was delivered, "": nowhere
}

// sender is the envelope's.
const sender = "someone@client.example"

// postfix is the gate as it is in use.
type postfix struct {
	rig *rig.Rig
	box *rig.Mailbox
}

func (g *postfix) pass(ctx context.Context, to, raw string) (passed, error) {
	c, err := rig.Dial(ctx, g.rig.Postfix.Addr)
	if err != nil {
		return passed{}, err
	}
	defer c.Close()
	got, err := c.Send(sender, []string{to}, raw)
	if err != nil || got.Data.Code != 250 {
		return passed{code: got.Data.Code}, err
	}
	line, err := g.rig.Postfix.Fate(ctx, got.Data.QueueID())
	if err != nil || strings.Contains(line, "milter-discard") {
		return passed{code: 250}, err
	}
	file, err := g.box.Next(ctx)
	return passed{code: 250, file: file}, err
}

// readPy is how any reader gets at the fence.
const readPy = `import email, email.policy, sys
message = email.message_from_binary_file(open(sys.argv[1], "rb"), policy=email.policy.default)
print(message["Stile-Rendering"])`

func (g *postfix) read(ctx context.Context, file string) (library, fence string, err error) {
	fence, err = g.rig.Python(ctx, readPy, file)
	return "Python's email library", fence, err
}

// socket speaks to stile as Postfix does, and delivers into files.
type socket struct {
	path string
	dir  string // of the delivered files
	n    int    // how many there are
}

func (g *socket) pass(_ context.Context, to, raw string) (passed, error) {
	m, err := verdict.Split(io.NewSectionReader(strings.NewReader(raw), 0, int64(len(raw))))
	if err != nil {
		return passed{}, err
	}
	_, body, _ := strings.Cut(raw, "\r\n\r\n")
	changes, answer, err := g.session(to, m.Header, body)
	if err != nil {
		return passed{}, fmt.Errorf("the milter's session: %w", err)
	}
	switch answer.Type {
	case milter.ActionDiscard:
		return passed{code: 250}, nil
	case milter.ActionAccept, milter.ActionContinue:
		header, err := apply(m.Header, changes)
		if err != nil {
			return passed{}, err
		}
		file, err := g.deliver(header, body)
		return passed{code: 250, file: file}, err
	}
	return passed{code: int(answer.SMTPCode)}, nil
}

// session takes one message through the milter protocol, a connection for it
// alone.
func (g *socket) session(to string, header []verdict.Field, body string) ([]milter.ModifyAction, *milter.Action, error) {
	macros := milter.NewMacroBag()
	macros.Set("i", "4QfT3z0Kbz1")
	macros.Set("{rcpt_addr}", to)
	s, err := milter.NewClient("unix", g.path).Session(macros)
	if err != nil {
		return nil, nil, err
	}
	defer s.Close()
	steps := []func() (*milter.Action, error){
		func() (*milter.Action, error) { return s.Conn("client.example", milter.FamilyInet, 40000, "192.0.2.7") },
		func() (*milter.Action, error) { return s.Helo("client.example") },
		func() (*milter.Action, error) { return s.Mail(sender, "") },
		func() (*milter.Action, error) { return s.Rcpt(to, "") },
		s.DataStart,
	}
	for _, f := range header {
		value := strings.ReplaceAll(f.Value, "\r\n", "\n")
		steps = append(steps, func() (*milter.Action, error) { return s.HeaderField(f.Name, value, nil) })
	}
	for _, step := range append(steps, s.HeaderEnd) {
		a, err := step()
		if err != nil {
			return nil, nil, err
		}
		if a.Type != milter.ActionContinue {
			return nil, a, nil
		}
	}
	return s.BodyReadFrom(strings.NewReader(body))
}

// apply makes the milter's changes to a header as Postfix does: one after the
// other, each counting what the ones before left.
func apply(header []verdict.Field, changes []milter.ModifyAction) ([]verdict.Field, error) {
	header = slices.Clone(header)
	for _, c := range changes {
		switch {
		case c.Type == milter.ActionInsertHeader && c.HeaderIndex == 0:
			value := strings.ReplaceAll(c.HeaderValue, "\n", "\r\n")
			header = slices.Insert(header, 0, verdict.Field{Name: c.HeaderName, Value: value})
		case c.Type == milter.ActionChangeHeader && c.HeaderValue == "":
			seen := uint32(0)
			header = slices.DeleteFunc(header, func(f verdict.Field) bool {
				if f.Is(c.HeaderName) {
					seen++
					return seen == c.HeaderIndex
				}
				return false
			})
		default:
			return nil, errors.New("a change that the demo does not know")
		}
	}
	return header, nil
}

// deliver writes a file as a mailbox holds it.
func (g *socket) deliver(header []verdict.Field, body string) (string, error) {
	var b strings.Builder
	for _, f := range header {
		b.WriteString(f.Name + ":" + f.Value + "\r\n")
	}
	b.WriteString("\r\n" + body)
	g.n++
	file := filepath.Join(g.dir, fmt.Sprintf("%d.eml", g.n))
	return file, os.WriteFile(file, []byte(strings.ReplaceAll(b.String(), "\r\n", "\n")), 0o600)
}

// read decodes with what Go brings along; Python need not be there.
func (g *socket) read(_ context.Context, file string) (library, fence string, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", "", err
	}
	m, err := mail.ReadMessage(bytes.NewReader(text))
	if err != nil {
		return "", "", err
	}
	fence, err = new(mime.WordDecoder).DecodeHeader(m.Header.Get("Stile-Rendering"))
	return "Go's mime package", fence, err
}
