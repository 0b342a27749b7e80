package readers

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"mime"
	netmail "net/mail"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/emersion/go-message"

	"stile/stamp"
	"stile/tests/rig"
	"stile/verdict"
)

func TestMain(m *testing.M) {
	flag.Parse()
	if testing.Short() {
		fmt.Println("not run: TestReaders")
		return
	}
	os.Exit(m.Run())
}

// seen is a message as a reader sees it.
type seen struct {
	Fields []field
	Names  []string // of all fields, top first
	ID     string   // Message-ID
}

// field is one of stile's, or one that looks like it.
type field struct {
	Name, Value string
	At          int // its place among all fields, -1 where the reader does not say
}

// TestReaders: each reader sees each of stile's fields once, whole and in its
// place, and none that a sender wrote.
func TestReaders(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	p := start(ctx, t)
	for _, l := range letters() {
		p.send(l)
	}
	files, want := p.delivered()
	readers := map[string][]seen{"net/mail": nil, "go-message": nil}
	for _, name := range files {
		raw, err := os.ReadFile(name)
		p.must(err)
		readers["net/mail"] = append(readers["net/mail"], p.netMail(raw))
		readers["go-message"] = append(readers["go-message"], p.goMessage(raw))
	}
	readers["postal-mime"] = p.node(files)
	for name, all := range p.python(files) {
		readers["Python, "+name] = all
	}
	for name, all := range readers {
		if len(all) != len(want) {
			t.Errorf("%s: %d messages, want %d", name, len(all), len(want))
		}
		for _, s := range all {
			i := slices.IndexFunc(want, func(w seen) bool { return w.ID == s.ID })
			if i < 0 {
				t.Errorf("%s: a message %q", name, s.ID)
				continue
			}
			if err := same(s, want[i]); err != nil {
				t.Errorf("%s, %s: %v", name, s.ID, err)
			}
		}
	}
}

// same compares what a reader sees with what is there.
func same(got, want seen) error {
	var errs []error
	if len(got.Fields) != len(want.Fields) {
		errs = append(errs, fmt.Errorf("%d fields, want %d: %.300v", len(got.Fields), len(want.Fields), got.Fields))
	}
	for i, f := range want.Fields {
		at := slices.IndexFunc(got.Fields, func(g field) bool { return strings.EqualFold(g.Name, f.Name) })
		if at < 0 {
			errs = append(errs, fmt.Errorf("no %s", f.Name))
			continue
		}
		g := got.Fields[at]
		if g.Value != f.Value && f.Name == stamp.RenderingName || plain(g.Value) != plain(f.Value) {
			errs = append(errs, fmt.Errorf("%s is\n%.500q\nwant\n%.500q", f.Name, g.Value, f.Value))
		}
		if g.At >= 0 && (at != i || g.At != f.At) {
			errs = append(errs, fmt.Errorf("%s is field %d, want %d", f.Name, g.At, f.At))
		}
	}
	return errors.Join(errs...)
}

// plain is a value unfolded, each run of white space one space.
func plain(value string) string { return strings.Join(strings.Fields(value), " ") }

// post is a rig with mail in it.
type post struct {
	*rig.Rig
	t   *testing.T
	ctx context.Context
	key *rig.Key
	n   int
}

func start(ctx context.Context, t *testing.T) *post {
	t.Helper()
	r, err := rig.Start(ctx, rig.Options{})
	if err != nil {
		t.Fatal(err)
	}
	p := &post{Rig: r, t: t, ctx: ctx}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("Postfix:\n%s\nstile:\n%s", p.Postfix.Log.Text(), p.Stile.Log.Text())
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	p.key, err = rig.NewRSA(2048)
	p.must(err)
	p.DNS.SetTXT("s1._domainkey.example.org", p.key.Record)
	p.must(p.Stile.Start(ctx))
	return p
}

func (p *post) must(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

const shopping = "shopping@estate.example"

// send has Postfix deliver a letter of the friend's.
func (p *post) send(l letter) {
	p.t.Helper()
	p.n++
	raw := "From: friend@example.org\r\nTo: " + shopping + "\r\n" +
		fmt.Sprintf("Message-ID: <%d@client.example>\r\n", p.n) +
		"Date: " + time.Now().Format(time.RFC1123Z) + "\r\n" + l.header + "\r\n" + l.body
	raw, err := p.Signer.Sign(raw, rig.Signing{Domain: "example.org", Selector: "s1", Key: p.key, Canon: "simple/simple"})
	p.must(err)
	c, err := rig.Dial(p.ctx, p.Postfix.Addr)
	p.must(err)
	defer c.Close()
	r, err := c.Send("friend@example.org", []string{shopping}, l.above+raw)
	p.must(err)
	if r.Data.Code != 250 {
		p.t.Fatalf("%s: the server answered %q", l.name, r.Data)
	}
	ctx, cancel := context.WithTimeout(p.ctx, 20*time.Second)
	defer cancel()
	if _, err = p.Postfix.Log.Wait(ctx, 0, r.Data.QueueID()+": removed"); err != nil {
		p.t.Fatalf("%s does not arrive: %v", l.name, err)
	}
}

// delivered are the files of the mailbox, and what is there to be seen in
// them: the three fields below those that the delivery agent wrote.
func (p *post) delivered() (files []string, all []seen) {
	p.t.Helper()
	files, err := p.Postfix.Mailbox("shopping").Unread()
	p.must(err)
	if len(files) != p.n {
		p.t.Fatalf("%d messages of %d arrived", len(files), p.n)
	}
	out, err := p.Stile.Run(p.ctx, "", "key", "show", "-c", p.Stile.Config)
	p.must(err)
	keys, err := stamp.ParsePublic(out.Stdout)
	p.must(err)
	for _, name := range files {
		raw, err := os.ReadFile(name)
		p.must(err)
		m, err := verdict.Split(io.NewSectionReader(bytes.NewReader(raw), 0, int64(len(raw))))
		p.must(err)
		_, fence, err := stamp.Open(m.Header, "shopping", keys...)
		p.must(err)
		var s seen
		for i, f := range m.Header {
			s.Names = append(s.Names, f.Name)
			switch f.Name {
			case stamp.VerdictName, stamp.SealName:
				s.Fields = append(s.Fields, field{f.Name, f.Value, i})
			case stamp.RenderingName:
				s.Fields = append(s.Fields, field{f.Name, fence, i})
			case "Message-ID":
				s.ID = strings.TrimSpace(f.Value)
			}
		}
		p.inPlace(s)
		all = append(all, s)
	}
	return files, all
}

// inPlace fails the test unless the three fields stand on top, with nothing
// above but what the delivery agent wrote.
func (p *post) inPlace(s seen) {
	p.t.Helper()
	top := s.Names
	for len(top) > 0 && slices.Contains([]string{"Return-Path", "X-Original-To", "Delivered-To"}, top[0]) {
		top = top[1:]
	}
	ours := []string{stamp.VerdictName, stamp.RenderingName, stamp.SealName}
	if len(top) < 3 || !slices.Equal(top[:3], ours) || len(s.Fields) != 3 {
		p.t.Errorf("%s: the header's fields are %q", s.ID, s.Names)
	}
}

func (p *post) netMail(raw []byte) seen {
	p.t.Helper()
	m, err := netmail.ReadMessage(bytes.NewReader(raw))
	p.must(err)
	s := seen{ID: m.Header.Get("Message-ID")}
	for name, values := range m.Header {
		for _, v := range values {
			s.add(name, v, -1)
		}
	}
	return s
}

func (p *post) goMessage(raw []byte) seen {
	p.t.Helper()
	m, err := message.Read(bytes.NewReader(raw))
	if !message.IsUnknownCharset(err) && !message.IsUnknownEncoding(err) {
		p.must(err)
	}
	s := seen{ID: m.Header.Get("Message-ID")}
	for i, f := 0, m.Header.Fields(); f.Next(); i++ {
		v := f.Value()
		if f.Key() == stamp.RenderingName {
			v, err = f.Text()
			p.must(err)
			s.Fields = append(s.Fields, field{f.Key(), v, i})
			continue
		}
		s.add(f.Key(), v, i)
	}
	return s
}

// add notes a field if it is one of stile's or looks like one.
func (s *seen) add(name, value string, at int) {
	if !strings.Contains(strings.ToLower(name), "stile-") {
		return
	}
	if strings.EqualFold(name, stamp.RenderingName) {
		if text, err := new(mime.WordDecoder).DecodeHeader(value); err == nil {
			value = text
		}
	}
	s.Fields = append(s.Fields, field{name, value, at})
}

// brought is a path under build/readers.
func (p *post) brought(name string) string {
	p.t.Helper()
	path, err := filepath.Abs(filepath.Join("../../build/readers", name))
	p.must(err)
	if _, err := os.Stat(path); err != nil {
		p.t.Fatalf("%v: run scripts/bring readers first", err)
	}
	return path
}

func (p *post) node(files []string) (all []seen) {
	p.t.Helper()
	args := append([]string{"read.mjs", p.brought("node") + "/"}, files...)
	p.must(json.Unmarshal(p.run("node", args...), &all))
	return all
}

// python is what Python sees, by policy and by the way the mail came to it.
func (p *post) python(files []string) map[string][]seen {
	p.t.Helper()
	script, err := os.ReadFile("read.py")
	p.must(err)
	out, err := p.Python(p.ctx, string(script), append([]string{p.dovecot(filepath.Dir(filepath.Dir(files[0])))}, files...)...)
	p.must(err)
	var ways map[string][]map[string]seen
	p.must(json.Unmarshal([]byte(out), &ways))
	all := map[string][]seen{}
	for way, messages := range ways {
		if len(messages) != len(files) {
			p.t.Errorf("Python reads %d messages by way of %s, want %d", len(messages), way, len(files))
		}
		for _, m := range messages {
			for name, s := range m {
				// The rest of a header is not asked for.
				if strings.HasPrefix(name, "fields") {
					for i := range s.Fields {
						s.Fields[i].At = -1
					}
				}
				all[way+", "+name] = append(all[way+", "+name], s)
			}
		}
	}
	return all
}

// dovecot is a command that serves a Maildir over its standard input and
// output.
func (p *post) dovecot(maildir string) string {
	p.t.Helper()
	// No blank can be in a path of its configuration.
	root := filepath.Join(p.Dir, "dovecot")
	p.must(os.Symlink(p.brought("root"), root))
	info, err := os.Stat(maildir)
	p.must(err)
	owner := info.Sys().(*syscall.Stat_t)
	lib := filepath.Join(root, "usr/lib/dovecot")
	conf := filepath.Join(p.Dir, "dovecot.conf")
	p.must(os.WriteFile(conf, fmt.Appendf(nil, `base_dir = %[1]s/dovecot.run
state_dir = %[1]s/dovecot.run
libexec_dir = %[2]s
mail_plugin_dir = %[2]s/modules
import_environment = TZ LD_LIBRARY_PATH
log_path = /dev/stderr
mail_location = maildir:%[3]s:INDEX=MEMORY:CONTROL=%[1]s/dovecot.control
mail_uid = %[4]d
mail_gid = %[5]d
first_valid_uid = 1
`, p.Dir, lib, maildir, owner.Uid, owner.Gid), 0o644))
	control := filepath.Join(p.Dir, "dovecot.control")
	p.must(os.Mkdir(control, 0o700))
	p.must(os.Chown(control, int(owner.Uid), int(owner.Gid)))
	libraries, err := filepath.Glob(filepath.Join(root, "usr/lib/*-linux-gnu*"))
	p.must(err)
	return fmt.Sprintf("LD_LIBRARY_PATH=%s USER=shopping HOME=%s exec %s -c %s -f service=imap -m imap -e %s",
		strings.Join(append(libraries, lib), ":"), control, filepath.Join(root, "usr/bin/doveconf"), conf, filepath.Join(lib, "imap"))
}

func (p *post) run(name string, args ...string) []byte {
	p.t.Helper()
	cmd := exec.CommandContext(p.ctx, name, args...)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		p.t.Fatalf("%s: %v: %s", name, err, said.String())
	}
	return out
}
