package main

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"filippo.io/age"
	dj "github.com/d--j/go-milter"

	"stile/tests/signed"
	"stile/verdict"
)

// canaries are words of 12 octets that stand nowhere but in refused mail.
type canaries []string

func (c *canaries) word() string {
	b := make([]byte, 12)
	for i := range b {
		b[i] = "abcdefghijklmnopqrstuvwxyz234567"[rand.IntN(32)]
	}
	*c = append(*c, string(b))
	return string(b)
}

// forms are what a word may have become on its way: whatever it was encoded
// with, as it stands inside of a longer text.
func forms(word string) []string {
	all := []string{word, hex.EncodeToString([]byte(word))}
	for shift := range 3 {
		text := base64.StdEncoding.EncodeToString(append(bytes.Repeat([]byte("x"), shift), word...))
		all = append(all, strings.ToLower(text[4:len(text)-4]))
	}
	var escaped strings.Builder
	for i := range len(word) {
		fmt.Fprintf(&escaped, "%%%02x", word[i])
	}
	return append(all, escaped.String())
}

// refusedMail is a message for each reason, with canaries in every place that a
// sender can write to.
func refusedMail(t *testing.T, c *canaries) map[string]string {
	from := func() string { return fmt.Sprintf("%s %q <friend@example.org> (%s)", c.word(), c.word(), c.word()) }
	fields := func() string {
		return fmt.Sprintf("To: %s <shopping@estate.example>\r\nCc: %q <%s@else.example>\r\nSubject: =?utf-8?q?%s?= %s\r\nMessage-ID: <%s@%s.example>\r\n"+
			"%s: %s\r\n %s\r\nReply-To: %s@else.example\r\nStile-%s: %s\r\nAuthentication-Results: %s; dkim=%s\r\nReceived: from %s by %s\r\n"+
			"MIME-Version: 1.0 (%s)\r\nContent-Type: multipart/mixed; boundary=%s; %s=%s\r\n",
			c.word(), c.word(), c.word(), c.word(), c.word(), c.word(), c.word(), c.word(), c.word(), c.word(), c.word(), c.word(), c.word(), c.word(),
			c.word(), c.word(), c.word(), c.word(), c.word(), c.word(), c.word())
	}
	body := func() string {
		return fmt.Sprintf("%s\r\n--b\r\nContent-Type: text/plain; name=%s\r\n\r\n%s eggs and milk\r\n--b\r\nContent-Type: text/html\r\nContent-ID: <%s>\r\n\r\n"+
			"<p title=%s style='display:none'>%s<!-- %s --><img alt=%s>\r\n--b\r\nContent-Type: application/%s\r\nContent-Disposition: attachment; filename=%s\r\n\r\n%s\r\n--b--\r\n%s\r\n",
			c.word(), c.word(), c.word(), c.word(), c.word(), c.word(), c.word(), c.word(), c.word(), c.word(), c.word(), c.word())
	}
	tags := func() string {
		return fmt.Sprintf("i=@example.org; z=Subject:%s; x%s=%s;", c.word(), c.word(), c.word())
	}
	all := map[string]string{}
	add := func(reason verdict.Reason, s signed.Spec) {
		if s.From == "" {
			s.From = from()
		}
		if s.Header == "" {
			s.Header = fields()
		}
		if s.Sign == nil {
			s.Sign = []string{"from", "to", "subject", "message-id", c.word()}
		}
		s.Body, s.Tags, s.Ed25519 = body(), tags()+s.Tags, true
		all[string(reason)] = signed.Mail(t, s)
	}
	add(verdict.TooLarge, signed.Spec{Above: strings.Repeat("X-"+c.word()+": "+c.word()+"\r\n", 500)})
	add(verdict.MalformedHeader, signed.Spec{Above: "X " + c.word() + ": " + c.word() + "\r\n"})
	add(verdict.FromCount, signed.Spec{Above: "From: " + c.word() + "@" + c.word() + ".example\r\n"})
	add(verdict.DuplicateField, signed.Spec{Above: "Subject: " + c.word() + "\r\n"})
	add(verdict.AddressCount, signed.Spec{From: from() + ", " + c.word() + "@" + c.word() + ".example"})
	add(verdict.FromSyntax, signed.Spec{From: c.word() + ": " + c.word() + "@" + c.word() + ".example;"})
	add(verdict.Unlisted, signed.Spec{From: c.word() + "." + c.word() + c.word() + "@" + c.word() + ".example"})
	add(verdict.Automatic, signed.Spec{Above: "Auto-Submitted: auto-replied; " + c.word() + "=" + c.word() + "\r\n"})
	add(verdict.Unsigned, signed.Spec{Unsigned: true})
	add(verdict.Misaligned, signed.Spec{Domain: c.word() + ".example", Selector: c.word()})
	add(verdict.LengthTag, signed.Spec{Tags: "l=3;"})
	add(verdict.NotAddressed, signed.Spec{Header: "To: " + c.word() + "@else.example\r\n", Sign: []string{"from", "to"}})
	add(verdict.Stale, signed.Spec{NoTime: true, Tags: "t=1700000000;"})
	add(verdict.BadSignature, signed.Spec{Alter: func(b string) string { return b + c.word() }})
	add(verdict.BadKey, signed.Spec{Selector: c.word()})
	return all
}

// office is a config with a store and evidence, and what was said about mail.
type office struct {
	t      *testing.T
	dir    string
	config string
	said   map[string]string // by where
}

// configure has originals kept and no name server asked, and returns where the
// status page is.
func (p *office) configure() (page string) {
	p.t.Helper()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	p.must(err)
	p.must(free.Close())
	key, err := age.GenerateX25519Identity()
	p.must(err)
	text, err := os.ReadFile(p.config)
	p.must(err)
	text = []byte(strings.NewReplacer(
		`metrics = ""`, fmt.Sprintf("metrics = %q\ndns = [\"127.0.0.1:1\"]", free.Addr()),
		"none = true", fmt.Sprintf("recipients = [%q]\ndir = %q", key.Recipient(), filepath.Join(p.dir, "evidence")),
	).Replace(string(text)))
	p.must(os.WriteFile(p.config, text, 0o600))
	return free.Addr().String()
}

func (p *office) must(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

// tool runs a command of stile's.
func (p *office) tool(args ...string) string {
	p.t.Helper()
	var out bytes.Buffer
	a := app{stdout: &out, stderr: &out}
	a.run(append([]string{args[0], args[1], "-c", p.config}, args[2:]...))
	p.said[args[0]+" "+args[1]] += out.String()
	return out.String()
}

// ask has every tool for messages look at one, which must be refused for that
// reason.
func (p *office) ask(reason, raw string) {
	p.t.Helper()
	file := filepath.Join(p.t.TempDir(), "message.eml")
	p.must(os.WriteFile(file, []byte(raw), 0o600))
	judging := []string{"--mailbox=shopping@estate.example", "--zone=" + filepath.Join(p.dir, "zone")}
	for _, form := range []string{"", "--json"} {
		for _, command := range []string{"verdict", "show", "explain"} {
			args := append([]string{command}, judging...)
			if form != "" {
				args = append(args, form)
			}
			if got := p.tool(append(args, file)...); !strings.Contains(got, reason) {
				p.t.Errorf("%s of a message that is refused for %s: %s", command, reason, got)
			}
		}
		args := append([]string{"quote"}, judging...)
		if form != "" {
			args = append(args, form)
		}
		p.tool(append(args, "eggs and milk", file)...)
	}
}

// deliver says a message to the milter as Postfix does.
func (p *office) deliver(c *canaries, raw string) {
	p.t.Helper()
	m := signed.Message(p.t, raw)
	macros := dj.NewMacroBag()
	s, err := dj.NewClient("unix", filepath.Join(p.dir, "stile.sock")).Session(macros)
	p.must(err)
	defer s.Close()
	said := func(a *dj.Action, err error) {
		p.must(err)
		p.said["replies"] += a.SMTPReply + "\n"
	}
	said(s.Conn(c.word()+".example", dj.FamilyInet, 40000, "192.0.2.7"))
	said(s.Helo(c.word() + ".example"))
	said(s.Mail(c.word()+"@"+c.word()+".example", ""))
	macros.Set("{rcpt_addr}", "shopping+"+c.word()+"@estate.example")
	said(s.Rcpt("shopping+"+c.word()+"@estate.example", ""))
	said(s.DataStart())
	for _, f := range m.Header {
		said(s.HeaderField(f.Name, strings.ReplaceAll(f.Value, "\r\n", "\n"), nil))
	}
	said(s.HeaderEnd())
	_, body, _ := strings.Cut(raw, "\r\n\r\n")
	_, a, err := s.BodyReadFrom(strings.NewReader(body))
	said(a, err)
}

// readAll reads every file that stile wrote.
func (p *office) readAll() {
	p.must(filepath.WalkDir(p.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(path, ".eml") {
			return err
		}
		text, err := os.ReadFile(path)
		p.said[d.Name()] += d.Name() + string(text)
		return err
	}))
}

// TestCanariesAreNowhere: no octet that a refused sender wrote is in a record,
// a log, a metric, a reply, the status page or the output of a tool.
func TestCanariesAreNowhere(t *testing.T) {
	dir, path := world(t)
	p := &office{t: t, dir: dir, config: path, said: map[string]string{}}
	page := p.configure()
	log, exit := started(t, path)
	logged := make(chan string, 1)
	go func() {
		var all strings.Builder
		for log.Scan() {
			all.WriteString(log.Text() + "\n")
		}
		logged <- all.String()
	}()
	var c canaries
	for reason, raw := range refusedMail(t, &c) {
		p.deliver(&c, raw)
		p.ask(reason, raw)
	}
	for _, name := range []string{"/", "/metrics", "/healthz", "/readyz"} {
		p.said[name] = get(t, "http://"+page+name)
	}
	for _, form := range []string{"--json", "--text"} {
		for line := range strings.Lines(p.tool("quarantine", "list", form)) {
			words := strings.Fields(line)
			p.tool("quarantine", "show", words[len(words)-1], form)
		}
		p.tool("quarantine", "stats", form)
		p.tool("evidence", "list", form)
	}
	p.must(syscall.Kill(os.Getpid(), syscall.SIGTERM))
	p.said["log"] = <-logged
	if code := <-exit; code != exitYes {
		t.Errorf("exit %d", code)
	}
	p.readAll()
	p.search(c)
}

// search looks for the canaries in all that was said.
func (p *office) search(c canaries) {
	p.t.Helper()
	for where, known := range map[string]string{
		"verdict --mailbox=shopping@estate.example": "refuse stale", "quarantine list": "misaligned", "quarantine show": "reason", "evidence list": "other",
		"log": "reason=too-large", "/metrics": "stile_messages_total", "quarantine.db": "bad-signature",
	} {
		if !strings.Contains(p.said[where], known) {
			p.t.Errorf("%s is not where it is looked for: %.200q", where, p.said[where])
		}
	}
	for where, text := range p.said {
		text = strings.ToLower(text)
		for _, word := range c {
			for _, form := range forms(word) {
				if strings.Contains(text, form) {
					p.t.Errorf("%s holds %q, for %q of a refused message", where, form, word)
				}
			}
		}
	}
}
