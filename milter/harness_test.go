package milter

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	dj "github.com/d--j/go-milter"
	"golang.org/x/mod/sumdb/note"

	"stile/config"
	"stile/metrics"
	"stile/quarantine"
	"stile/stamp"
	"stile/verdict"
)

const testConfig = `
listen   = "unix:/nowhere/stile.sock"
hostname = "mx.estate.example"
store    = "sqlite:/nowhere/quarantine.db"
seal_key = "/nowhere/seal.key"
same_domain     = { "estate.example" = ["mx.estate.example", "localhost"] }
guarded_domains = ["agents.example"]
max_message = "1MiB"
[evidence]
none = true
[[mailbox]]
id = "shopping"
address = "shopping@estate.example"
aliases = ["shop@estate.example"]
senders = ["friend@example.org"]
[[mailbox]]
id = "travel"
address = "travel@estate.example"
senders = ["agency@travel.example"]
addressed = "off"
[[mailbox]]
id = "post"
address = "post@agents.example"
senders = ["Friend@Example.org"]
addressed = "off"
`

// place is a running server with all that it works with.
type place struct {
	t        testing.TB
	socket   string
	spool    string // folder
	evidence string // folder, "" where no original is kept
	server   *Server
	store    *quarantine.Store
	metrics  *metrics.Metrics
	keys     []note.Verifier
	log      *safeBuffer
	stop     func() // begins to stop it
	ended    chan error
}

// run starts a server. change, if not nil, alters it before it serves.
func run(t testing.TB, lookup verdict.LookupTXT, change func(*Server)) *place {
	t.Helper()
	p := prepare(t, lookup)
	if change != nil {
		change(p.server)
	}
	ln, err := net.Listen("unix", p.socket)
	if err != nil {
		t.Fatal(err)
	}
	p.serve(ln)
	return p
}

// prepare makes a server that does not serve yet.
func prepare(t testing.TB, lookup verdict.LookupTXT) *place {
	t.Helper()
	dir := t.TempDir()
	p := &place{t: t, socket: filepath.Join(dir, "s"), spool: filepath.Join(dir, "spool"), log: &safeBuffer{}, ended: make(chan error, 1)}
	path := filepath.Join(dir, "stile.toml")
	must(t, os.WriteFile(path, []byte(testConfig), 0o600))
	must(t, os.Mkdir(p.spool, 0o700))
	c, err := config.Load(path)
	must(t, err)
	p.store, err = quarantine.Open(context.Background(), "sqlite:"+filepath.Join(dir, "quarantine.db"),
		quarantine.Limits{Keep: 24 * time.Hour, Max: 100000})
	must(t, err)
	t.Cleanup(func() { _ = p.store.Close() })
	private, public, err := stamp.GenerateKey("mx.estate.example")
	must(t, err)
	sealer, err := stamp.NewSealer(private)
	must(t, err)
	p.keys, err = stamp.ParsePublic(public)
	must(t, err)
	var ids []string
	for _, m := range c.Mailboxes {
		ids = append(ids, m.ID)
	}
	p.metrics = metrics.New(metrics.Config{Policies: ids})
	p.server = New(Options{
		Config: c, Store: p.store, Lookup: lookup, Sealer: sealer, Metrics: p.metrics,
		Log: slog.New(slog.NewTextHandler(p.log, nil)), SpoolDir: p.spool, Grace: 10 * time.Second,
	})
	p.server.limits.linger, p.server.limits.lastCall = 50*time.Millisecond, 0
	return p
}

// serve runs the server on ln until the test ends.
func (p *place) serve(ln net.Listener) {
	ctx, cancel := context.WithCancel(context.Background())
	p.stop = cancel
	go func() {
		p.ended <- p.server.Serve(ctx, ln)
		close(p.ended)
	}()
	p.t.Cleanup(func() {
		cancel()
		for err := range p.ended {
			if err != nil {
				p.t.Errorf("Serve: %v", err)
			}
		}
	})
}

// records are the rows of the store.
func (p *place) records() []quarantine.Record {
	p.t.Helper()
	rows, err := p.store.List(context.Background(), quarantine.Filter{})
	must(p.t, err)
	return rows
}

// lines are the log's lines that hold all of the words.
func (p *place) lines(words ...string) (found []string) {
	for line := range strings.Lines(p.log.String()) {
		all := true
		for _, w := range words {
			all = all && strings.Contains(line, w)
		}
		if all {
			found = append(found, line)
		}
	}
	return found
}

// rcpt is a recipient: the argument of RCPT, and what the MTA resolves it to.
type rcpt struct{ argument, address string }

// shopper is the usual recipient.
var shopper = rcpt{"shopping@estate.example", "shopping@estate.example"}

// mta is the client's side of one session.
type mta struct {
	t      testing.TB
	s      *dj.ClientSession
	macros *dj.MacroBag
}

// dial opens a session as Postfix does for an SMTP client.
func (p *place) dial() *mta { return p.dialAs("client.example", 40000, "192.0.2.7") }

func (p *place) dialAs(host string, port uint16, addr string) *mta {
	p.t.Helper()
	c := &mta{t: p.t, macros: dj.NewMacroBag()}
	var err error
	c.s, err = dj.NewClient("unix", p.socket).Session(c.macros)
	must(p.t, err)
	p.t.Cleanup(func() { _ = c.s.Close() })
	c.cont(c.s.Conn(host, dj.FamilyInet, port, addr))
	c.cont(c.s.Helo("client.example"))
	return c
}

// cont fails the test unless the answer is "continue".
func (c *mta) cont(a *dj.Action, err error) {
	c.t.Helper()
	must(c.t, err)
	if a.Type != dj.ActionContinue {
		c.t.Fatalf("the answer is %+v, not continue", a)
	}
}

// rcpt says RCPT.
func (c *mta) rcpt(r rcpt) *dj.Action {
	c.t.Helper()
	c.macros.Set("{rcpt_addr}", r.address)
	a, err := c.s.Rcpt(r.argument, "")
	must(c.t, err)
	return a
}

// envelope says MAIL and RCPT.
func (c *mta) envelope(from string, to ...rcpt) {
	c.t.Helper()
	c.cont(c.s.Mail(from, ""))
	for _, r := range to {
		c.cont(c.rcpt(r), nil)
	}
	c.cont(c.s.DataStart())
}

// header sends a header.
func (c *mta) header(fields []verdict.Field) {
	c.t.Helper()
	for _, f := range fields {
		c.cont(c.s.HeaderField(f.Name, strings.ReplaceAll(f.Value, "\r\n", "\n"), nil))
	}
	c.cont(c.s.HeaderEnd())
}

// content sends a raw message and gives what the milter did and answered.
func (c *mta) content(raw string) ([]dj.ModifyAction, *dj.Action) {
	c.t.Helper()
	_, body, _ := strings.Cut(raw, "\r\n\r\n")
	c.header(splitAll(raw))
	c.macros.Set("i", "4QfT3z0Kbz1")
	acts, a, err := c.s.BodyReadFrom(strings.NewReader(body))
	must(c.t, err)
	return acts, a
}

// deliver sends one message.
func (c *mta) deliver(raw string, to ...rcpt) ([]dj.ModifyAction, *dj.Action) {
	c.t.Helper()
	c.envelope("friend@example.org", to...)
	return c.content(raw)
}

// applied is the header after the modifications, as an MTA makes them.
func applied(t testing.TB, header []verdict.Field, acts []dj.ModifyAction) (out []verdict.Field, removed []string) {
	t.Helper()
	out = append(out, header...)
	for _, a := range acts {
		switch a.Type {
		case dj.ActionChangeHeader:
			at, n := -1, uint32(0)
			for i, f := range out {
				if f.Is(a.HeaderName) {
					if n++; n == a.HeaderIndex {
						at = i
					}
				}
			}
			if at < 0 || a.HeaderValue != "" {
				t.Fatalf("not a deletion of a field that is there: %+v", a)
			}
			out = append(out[:at:at], out[at+1:]...)
		case dj.ActionInsertHeader:
			if a.HeaderIndex != 0 {
				t.Fatalf("not inserted at the top: %+v", a)
			}
			f := verdict.Field{Name: a.HeaderName, Value: strings.ReplaceAll(a.HeaderValue, "\n", "\r\n")}
			out = append([]verdict.Field{f}, out...)
		case dj.ActionDelRcpt:
			removed = append(removed, a.Rcpt)
		default:
			t.Fatalf("unexpected modification: %+v", a)
		}
	}
	return out, removed
}

// isTryLater fails the test unless the answer is 451, and gives the id in it.
func isTryLater(t testing.TB, a *dj.Action) string {
	t.Helper()
	if a.SMTPCode != 451 {
		t.Fatalf("the answer is %+v, not 451", a)
	}
	_, id, _ := strings.Cut(a.SMTPReply, "(id ")
	id, _, _ = strings.Cut(id, ")")
	return id
}

func is(t testing.TB, a *dj.Action, want dj.ActionType) {
	t.Helper()
	if a.Type != want {
		t.Fatalf("the answer is %+v, not %v", a, want)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// noKeys is a name server without a record.
func noKeys(context.Context, string) ([]string, error) { return nil, nil }

// safeBuffer is a buffer for several writers that can be waited on.
type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *safeBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}
