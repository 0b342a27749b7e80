package main

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"stile/stamp"
	"stile/tests/rig"
	"stile/verdict"
)

//go:embed send.py
var sendPy string

func main() {
	stile := flag.String("stile", "", "the stile binary to show")
	keep := flag.String("keep", "", "go on running after the report, once this file is written")
	bare := flag.Bool("bare", false, "leave Postfix out and speak to stile's socket")
	color := flag.Bool("color", false, "print for a terminal")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	show := func() error { return run(ctx, *stile, *keep, paper{color: *color}) }
	if *bare {
		show = func() error { return runBare(ctx, *stile, paper{color: *color}) }
	}
	if err := show(); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

// run shows everything, then stops what it started.
func run(ctx context.Context, stile, keep string, p paper) (err error) {
	hurry, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	r, err := rig.Start(hurry, rig.Options{Stile: stile})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	key, err := begin(hurry, r)
	if err != nil {
		return err
	}
	version, err := r.Postfix.Version(hurry)
	if err != nil {
		return err
	}
	p.heading("A private Postfix %s, stile as its milter, mail by SMTP, signed by dkimpy", version)
	if err := show(hurry, r, &postfix{r, r.Postfix.Mailbox("shopping")}, key, p); err != nil {
		return err
	}
	if keep == "" {
		return nil
	}
	if err := handOver(r, key, p); err != nil {
		return err
	}
	if err := os.WriteFile(keep, nil, 0o600); err != nil {
		return err
	}
	// Whoever reads our output is told that the report is over.
	if err := errors.Join(os.Stdout.Close(), os.Stderr.Close()); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// runBare shows what can be shown without root: all but Postfix.
func runBare(ctx context.Context, stile string, p paper) (err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	r, err := rig.StartBare(ctx, rig.Options{Stile: stile})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	key, err := begin(ctx, r)
	if err != nil {
		return err
	}
	p.heading("stile, spoken to over its socket as Postfix speaks to it")
	p.line("Postfix itself is left out: it must be started as root.")
	return show(ctx, r, &socket{path: r.Stile.Socket, dir: r.Dir}, key, p)
}

// begin starts the daemon and makes the key that signs for both domains.
func begin(ctx context.Context, r *rig.Rig) (*rig.Key, error) {
	key, err := rig.NewRSA(2048)
	if err != nil {
		return nil, err
	}
	r.DNS.SetTXT("s1._domainkey.example.org", key.Record)
	r.DNS.SetTXT("s1._domainkey.evil.example", key.Record)
	return key, r.Stile.Start(ctx)
}

// show sends the messages and prints the report.
func show(ctx context.Context, r *rig.Rig, g gate, key *rig.Key, p paper) error {
	p.line("%s is guarded; on its list: %s", mailbox, friend)
	before, err := r.Stile.Scrape(ctx)
	if err != nil {
		return err
	}
	p.heading("Message, verdict, where it went")
	first := ""
	for i, m := range messages(key) {
		f, err := send(ctx, r, g, m)
		if err != nil {
			return fmt.Errorf("%s: %w", m.what, err)
		}
		if first == "" {
			first = f.path
		}
		p.row(i+1, m.what, f.verdict, f.where)
		if f.verdict != m.want && !strings.HasPrefix(f.verdict, m.want+" ") {
			return fmt.Errorf("%s: the verdict is %q, want %q", m.what, f.verdict, m.want)
		}
	}

	p.heading("Message 1 as an agent sees it")
	library, text, err := g.read(ctx, first)
	if err != nil {
		return err
	}
	p.line("%s reads the field Stile-Rendering of the delivered file:", library)
	p.text(text)

	p.heading("stile quarantine list")
	out, err := r.Stile.Run(ctx, "", "quarantine", "list", "--text", "-c", r.Stile.Config)
	if err != nil {
		return err
	}
	if out.Exit != 0 {
		return fmt.Errorf("stile quarantine list: exit %d: %s", out.Exit, out.Stderr)
	}
	p.table(out.Stdout)

	p.heading("Metrics that moved")
	after, err := r.Stile.Scrape(ctx)
	if err != nil {
		return err
	}
	p.moved(before, after)
	return nil
}

// fate is what became of a message.
type fate struct {
	verdict string
	where   string
	path    string // of the delivered file, if it was delivered
}

// send sends one message and finds out what became of it.
func send(ctx context.Context, r *rig.Rig, g gate, m message) (fate, error) {
	raw := m.raw
	if m.sign != nil {
		var err error
		if raw, err = r.Signer.Sign(raw, *m.sign); err != nil {
			return fate{}, err
		}
	}
	if m.then != nil {
		raw = m.then(raw)
	}
	to := m.to
	if to == "" {
		to = mailbox
	}
	if m.noDNS {
		r.DNS.SetMood(rig.ServFail)
		defer r.DNS.SetMood(rig.Answering)
	}
	records, err := r.Stile.Records(ctx)
	if err != nil {
		return fate{}, err
	}
	got, err := g.pass(ctx, to, raw)
	switch {
	case err != nil:
		return fate{}, err
	case got.code/100 == 4:
		return fate{verdict: "defer", where: fmt.Sprintf("stays with the sender (%d)", got.code)}, nil
	case got.file == "":
		return refused(ctx, r, records)
	}
	return delivered(got.file)
}

// delivered reads the stamp of a delivered message.
func delivered(path string) (fate, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return fate{}, err
	}
	m, err := verdict.Split(io.NewSectionReader(bytes.NewReader(text), 0, int64(len(text))))
	if err != nil {
		return fate{}, err
	}
	for _, f := range m.Header {
		if !f.Is("Stile-Verdict") {
			continue
		}
		v, err := stamp.ParseVerdict(f.Value)
		if err != nil {
			return fate{}, err
		}
		return fate{verdict: "accept " + v.From, where: "mailbox, text=" + string(v.Text), path: path}, nil
	}
	return fate{}, errors.New("delivered without a stamp")
}

// refused finds the record of the message that was refused just now: one that
// is new, or one whose count has risen.
func refused(ctx context.Context, r *rig.Rig, before []rig.Record) (fate, error) {
	after, err := r.Stile.Records(ctx)
	if err != nil {
		return fate{}, err
	}
	was := map[string]any{}
	for _, b := range before {
		was[b.Text("id")] = b["count"]
	}
	for _, a := range after {
		if was[a.Text("id")] != a["count"] {
			id := a.Text("id")
			return fate{verdict: "refuse " + a.Text("reason"), where: "record …" + id[max(0, len(id)-6):]}, nil
		}
	}
	return fate{}, errors.New("refused without a record")
}

// handOver prints how to use what is left running.
func handOver(r *rig.Rig, key *rig.Key, p paper) error {
	send := filepath.Join(r.Dir, "send")
	if err := r.WriteScript(send, sendPy, r.Postfix.Addr, key); err != nil {
		return err
	}
	p.heading("Left running")
	p.line("send      echo eggs | %s %s %s", send, friend, mailbox)
	p.line("          (signed if the sender is in example.org or evil.example)")
	p.line("by hand   SMTP on %s", r.Postfix.Addr)
	p.line("mailbox   %s", filepath.Join(r.Postfix.Dir, "mail", "shopping", "new"))
	p.line("records   %s quarantine list -c %s", r.Stile.Bin, r.Stile.Config)
	p.line("metrics   http://%s/metrics", r.Stile.Metrics)
	p.line("stop      kill %d", os.Getpid())
	return nil
}
