// Package gate runs the milter for the messages of the corpus: a mailbox for
// each, with the switches of its row, and a clock that says what the row says.
//
// # Security
//
// See package corpus. It listens where its caller does and keeps a store in the
// folder that its caller gives.
//
// # Diagnostics
//
// [Gate.Outcome] is what the milter decided, as it told its log and its store.
package gate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"text/template"
	"time"

	"golang.org/x/mod/sumdb/note"

	"stile/config"
	"stile/metrics"
	"stile/milter"
	"stile/quarantine"
	"stile/stamp"
	"stile/tests/corpus"
	"stile/verdict"
)

// Domain is the domain of all mailboxes.
const Domain = "agents.example"

// Gate is a milter that serves.
type Gate struct {
	corpus *corpus.Corpus
	ids    map[string]string // of the mailbox, by the message's path
	store  *quarantine.Store
	keys   []note.Verifier
	log    *decisions
	now    atomic.Int64 // Unix nanoseconds
	busy   atomic.Bool  // look-ups are at their bound
	serve  func(net.Listener)
	stop   context.CancelFunc
	ended  chan error
}

var settings = template.Must(template.New("stile.toml").Parse(`
listen = "unix:/nowhere/stile.sock"
hostname = "mx.agents.example"
store = "sqlite:/nowhere/quarantine.db"
seal_key = "/nowhere/seal.key"
same_domain = { "agents.example" = ["mx.agents.example"] }
guarded_domains = ["agents.example"]
max_message = "{{.MaxMessage}}"
[evidence]
none = true
{{range .Mailboxes}}
[[mailbox]]
id = "{{.ID}}"
address = "{{.ID}}@agents.example"
also_addressed = ["{{$.Also}}"]
senders = [{{range $.Senders}}"{{.}}", {{end}}]
addressed = "{{.Policy.Addressed}}"
automatic = "{{if .Policy.AllowAutomatic}}accept{{else}}refuse{{end}}"
{{end}}`))

// mailbox is a mailbox to be configured.
type mailbox struct {
	ID     string
	Policy verdict.Policy
}

// New makes a gate that keeps its files in dir.
func New(ctx context.Context, dir string, c *corpus.Corpus) (*Gate, error) {
	g := &Gate{corpus: c, ids: map[string]string{}, log: newDecisions(), ended: make(chan error, 1)}
	cfg, err := g.configure(dir)
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, m := range cfg.Mailboxes {
		ids = append(ids, m.ID)
	}
	if g.store, err = quarantine.Open(ctx, "sqlite:"+filepath.Join(dir, "quarantine.db"), quarantine.Limits{Keep: 100 * 365 * 24 * time.Hour, Max: 1 << 20}); err != nil {
		return nil, fmt.Errorf("gate: %w", err)
	}
	private, public, err := stamp.GenerateKey("mx.agents.example")
	if err != nil {
		return nil, fmt.Errorf("gate: %w", err)
	}
	if g.keys, err = stamp.ParsePublic(public); err != nil {
		return nil, fmt.Errorf("gate: %w", err)
	}
	sealer, err := stamp.NewSealer(private)
	if err != nil {
		return nil, fmt.Errorf("gate: %w", err)
	}
	server := milter.New(milter.Options{
		Config: cfg, Store: g.store, Lookup: g.lookUp, Sealer: sealer,
		Metrics: metrics.New(metrics.Config{Policies: ids}), Log: slog.New(g.log),
		Now: func() time.Time { return time.Unix(0, g.now.Load()).UTC() }, SpoolDir: dir,
	})
	serving, stop := context.WithCancel(context.Background())
	g.stop = stop
	g.serve = func(ln net.Listener) { g.ended <- server.Serve(serving, ln) }
	return g, nil
}

// configure gives each message a mailbox; one that comes after another shares
// that one's.
func (g *Gate) configure(dir string) (*config.Config, error) {
	var all []mailbox
	for _, m := range g.corpus.Messages {
		if m.After != "" {
			continue
		}
		id := fmt.Sprintf("m%04d", len(all))
		g.ids[m.Path] = id
		all = append(all, mailbox{id, m.Switches()})
	}
	for _, m := range g.corpus.Messages {
		if m.After != "" {
			g.ids[m.Path] = g.ids[m.After]
		}
	}
	var text bytes.Buffer
	if err := settings.Execute(&text, map[string]any{
		"MaxMessage": fmt.Sprintf("%dMiB", corpus.MaxMessage>>20), "Also": corpus.Mailbox, "Senders": corpus.Senders, "Mailboxes": all,
	}); err != nil {
		return nil, fmt.Errorf("gate: %w", err)
	}
	path := filepath.Join(dir, "stile.toml")
	if err := os.WriteFile(path, text.Bytes(), 0o600); err != nil {
		return nil, fmt.Errorf("gate: %w", err)
	}
	cfg, err := config.Load(path)
	if err != nil {
		return nil, fmt.Errorf("gate: %w", err)
	}
	for i, m := range cfg.Mailboxes {
		// No mailbox of a configuration is without max_age, as --sender is.
		m.Policy().MaxAge = all[i].Policy.MaxAge
	}
	return cfg, nil
}

func (g *Gate) lookUp(ctx context.Context, name string) ([]string, error) {
	if g.busy.Load() {
		return nil, fmt.Errorf("gate: %w", verdict.ErrBusy)
	}
	return g.corpus.Zone.LookupTXT(ctx, name)
}

// Serve begins to take connections from ln, and closes it in the end.
func (g *Gate) Serve(ln net.Listener) { go g.serve(ln) }

// Close ends serving.
func (g *Gate) Close() error {
	g.stop()
	return errors.Join(<-g.ended, g.store.Close())
}

// Address is the mailbox that judges the message.
func (g *Gate) Address(m *corpus.Message) string { return g.ids[m.Path] + "@" + Domain }

// Sender is the message's envelope sender.
func Sender(m *corpus.Message) string {
	if m.Null {
		return ""
	}
	return "bounces@client.example"
}

// Prepare makes the clock and the look-ups as they are to be for that message,
// and for all until the next call.
func (g *Gate) Prepare(m *corpus.Message) {
	g.now.Store(m.Time().UnixNano())
	g.busy.Store(m.Fails == "bound")
}

// Outcome is what was decided last for the message's mailbox, as the table
// spells it. The store must have a record of a refusal with the same reason.
func (g *Gate) Outcome(ctx context.Context, m *corpus.Message) (string, error) {
	id := g.ids[m.Path]
	outcome := g.log.of(id)
	if outcome.verdict != verdict.Refuse {
		return corpus.OutcomeOf(outcome.verdict, outcome.reason), nil
	}
	rows, err := g.store.List(ctx, quarantine.Filter{Policy: id, Reason: outcome.reason})
	if err != nil {
		return "", fmt.Errorf("gate: %w", err)
	}
	if len(rows) != 1 {
		return "", fmt.Errorf("gate: %s: %d records of %s", m.Path, len(rows), outcome.reason)
	}
	return corpus.OutcomeOf(outcome.verdict, outcome.reason), nil
}

// CheckStamp returns what is wrong with the header that an accepted message has
// behind the milter: our fields are there once, sealed, and the fence in them
// is the one that the message must have.
func (g *Gate) CheckStamp(m *corpus.Message, header []verdict.Field) []string {
	v, text, err := stamp.Open(header, g.ids[m.Path], g.keys...)
	if err != nil {
		return []string{err.Error()}
	}
	faults := append(m.CheckText(v.From, text), m.CheckHidden(v.Hidden)...)
	return append(faults, m.CheckFlags(v.Flags)...)
}

// decision is one line of the log.
type decision struct {
	verdict verdict.Outcome
	reason  verdict.Reason
}

// decisions is a log that keeps the last decision of each mailbox.
type decisions struct {
	slog.Handler
	mu   sync.Mutex
	last map[string]decision
}

func newDecisions() *decisions {
	return &decisions{Handler: slog.DiscardHandler, last: map[string]decision{}}
}

func (*decisions) Enabled(context.Context, slog.Level) bool { return true }

func (d *decisions) Handle(_ context.Context, r slog.Record) error {
	words := map[string]string{}
	r.Attrs(func(a slog.Attr) bool {
		words[a.Key] = a.Value.String()
		return true
	})
	made := decision{verdict.Outcome(words["verdict"]), verdict.Reason(words["reason"])}
	if made.reason == metrics.NoReason {
		made.reason = ""
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.last[words["policy"]] = made
	return nil
}

func (d *decisions) of(policy string) decision {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.last[policy]
}
