package rig

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"text/template"
	"time"
)

//go:embed stile.toml
var stileTOML string

// Stile is the daemon, and the command line beside it, under one configuration.
type Stile struct {
	Log     *Lines // what the daemon printed, over all its runs
	Bin     string
	Config  string // path of the file
	Store   string // path of the database
	State   string // the directory of all that it keeps, and of its configuration
	Socket  string // path of the milter's socket
	Metrics string // host:port

	// Activate, if it is set, alters the daemon's command before it is started,
	// as a service manager does that hands a socket over.
	Activate func(*exec.Cmd)

	packages packages
	ids      ids
	daemon   *process
	owner    owner
	disk     disk
}

// buildStile compiles the program as it is shipped.
func buildStile(ctx context.Context, repo, bin string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-o", bin, "./cmd/stile")
	cmd.Dir = repo
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("rig: go build ./cmd/stile: %w\n%s", err, out)
	}
	return nil
}

// newStile writes a configuration for the given socket and DNS, and a seal key,
// under dir.
func newStile(ctx context.Context, p packages, n ids, dir, bin, socket string, d *DNS, o Options) (*Stile, error) {
	metrics, err := freeAddr()
	if err != nil {
		return nil, err
	}
	s := &Stile{
		Log: NewLines(), Bin: bin, packages: p, ids: n,
		Config:  filepath.Join(dir, "stile.toml"),
		Store:   filepath.Join(dir, "quarantine.db"),
		State:   dir,
		Socket:  socket,
		Metrics: metrics,
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("rig: %w", err)
	}
	if o.DiskSize > 0 {
		if err := s.disk.mount(dir, o.DiskSize); err != nil {
			return nil, err
		}
	}
	if err := os.Chown(dir, n.stileUID, n.stileGID); err != nil {
		return nil, errors.Join(fmt.Errorf("rig: %w", err), s.disk.unmount())
	}
	if err := s.configure(ctx, d, o); err != nil {
		return nil, errors.Join(err, s.disk.unmount())
	}
	return s, nil
}

// configure writes the configuration and makes the keys.
func (s *Stile) configure(ctx context.Context, d *DNS, o Options) error {
	dir := s.State
	if o.Evidence != "" {
		if err := s.owner.begin(dir+".owner", s.ids); err != nil {
			return err
		}
	}
	sealKey := filepath.Join(dir, "seal.key")
	var text bytes.Buffer
	if err := template.Must(template.New("stile.toml").Parse(stileTOML)).Execute(&text, map[string]any{
		"Socket": s.Socket, "Metrics": s.Metrics, "DNS": d.Addr, "Store": s.Store, "SealKey": sealKey,
		"Recipient": s.owner.public, "Evidence": filepath.Join(dir, "evidence"), "MaxBytes": o.Evidence,
	}); err != nil {
		return fmt.Errorf("rig: %w", err)
	}
	if err := os.WriteFile(s.Config, append(text.Bytes(), o.Config...), 0o644); err != nil {
		return fmt.Errorf("rig: %w", err)
	}
	out, err := s.Run(ctx, "", "key", "generate", "-o", sealKey)
	if err != nil {
		return err
	}
	if out.Exit != 0 {
		return fmt.Errorf("rig: stile key generate: exit %d: %s", out.Exit, out.Stderr)
	}
	return nil
}

// command is stile with those arguments, as the account it runs under.
func (s *Stile) command(args ...string) *exec.Cmd {
	cmd := exec.Command(s.Bin, args...)
	cmd.Dir = filepath.Dir(s.Config)
	cmd.Env = s.packages.environment("TMPDIR=" + filepath.Dir(s.Config))
	cmd.SysProcAttr = s.account()
	return cmd
}

// account runs a process under stile's.
func (s *Stile) account() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: &syscall.Credential{
		Uid: uint32(s.ids.stileUID), Gid: uint32(s.ids.stileGID), NoSetGroups: os.Geteuid() != 0,
	}}
}

// Start starts the daemon and returns when it takes connections.
func (s *Stile) Start(ctx context.Context) error {
	mark := s.Log.Len()
	cmd := s.command("serve", "-c", s.Config)
	cmd.Stdout, cmd.Stderr = s.Log, s.Log
	if s.Activate != nil {
		s.Activate(cmd)
	}
	var err error
	if s.daemon, err = start(cmd); err != nil {
		return err
	}
	ready, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		select {
		case <-s.daemon.done:
			stop()
		case <-ready.Done():
		}
	}()
	if _, err := s.Log.Wait(ready, mark, "listening"); err != nil {
		s.daemon.kill()
		return fmt.Errorf("rig: stile did not start: %w", err)
	}
	return nil
}

// Kill ends the daemon as kill -9 does.
func (s *Stile) Kill() { s.daemon.kill() }

// Stop ends the daemon, if it runs, in the ordinary way, and reports how it
// ended.
func (s *Stile) Stop(ctx context.Context) error {
	if s.daemon == nil {
		return nil
	}
	select {
	case <-s.daemon.done: // killed before
		return nil
	default:
	}
	if err := s.daemon.stop(ctx); err != nil {
		return fmt.Errorf("rig: stile serve: %w", err)
	}
	return nil
}

// Closed waits until the daemon takes no more connections: until its socket is
// gone.
func (s *Stile) Closed(ctx context.Context) error {
	err := Until(ctx, func() (bool, error) { return !exists(s.Socket), nil }, filepath.Dir(s.Socket))
	if err != nil {
		return fmt.Errorf("rig: the socket is still there: %w", err)
	}
	return nil
}

// HangUp sends the daemon SIGHUP, on which it reads its configuration again.
func (s *Stile) HangUp() error { return s.daemon.signal(syscall.SIGHUP) }

// PID is the daemon's process id.
func (s *Stile) PID() int { return s.daemon.pid() }

// Output is what a command printed and how it ended.
type Output struct {
	Stdout, Stderr string
	Exit           int
}

// Run runs a command of stile. An exit status is no error.
func (s *Stile) Run(ctx context.Context, input string, args ...string) (Output, error) {
	cmd := s.command(args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(input), &stdout, &stderr
	p, err := start(cmd)
	if err != nil {
		return Output{}, err
	}
	err = p.wait(ctx)
	if ctx.Err() != nil {
		p.kill()
		return Output{}, fmt.Errorf("rig: stile %s: %w", strings.Join(args, " "), ctx.Err())
	}
	out := Output{Stdout: stdout.String(), Stderr: stderr.String()}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		out.Exit = exit.ExitCode()
		return out, nil
	}
	if err != nil {
		return out, fmt.Errorf("rig: stile %s: %w", strings.Join(args, " "), err)
	}
	return out, nil
}

// Record is a row of `stile quarantine list`, by the names it prints.
type Record map[string]any

// Text is the record's value of that name.
func (r Record) Text(name string) string {
	s, _ := r[name].(string)
	return s
}

// Time is the record's time of that name.
func (r Record) Time(name string) time.Time {
	t, _ := time.Parse(time.RFC3339Nano, r.Text(name)) // the zero time is before all others
	return t
}

// Records is the quarantine store as the command line shows it.
func (s *Stile) Records(ctx context.Context) ([]Record, error) {
	out, err := s.Run(ctx, "", "quarantine", "list", "--json", "-c", s.Config)
	if err != nil {
		return nil, err
	}
	if out.Exit != 0 {
		return nil, fmt.Errorf("rig: stile quarantine list: exit %d: %s", out.Exit, out.Stderr)
	}
	var records []Record
	for d := json.NewDecoder(strings.NewReader(out.Stdout)); d.More(); {
		var r Record
		if err := d.Decode(&r); err != nil {
			return nil, fmt.Errorf("rig: stile quarantine list: %w", err)
		}
		records = append(records, r)
	}
	return records, nil
}

// Series is the metrics, each under its name and labels as they are printed:
// stile_messages_total{policy="shopping",reason="unlisted",verdict="refuse"}.
type Series map[string]float64

// Scrape reads the metrics (Prometheus text format, one sample a line).
func (s *Stile) Scrape(ctx context.Context) (Series, error) {
	text, err := s.Get(ctx, "/metrics")
	if err != nil {
		return nil, err
	}
	series := Series{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		i := strings.LastIndexByte(line, ' ')
		if i < 0 || line[0] == '#' {
			continue
		}
		value, err := strconv.ParseFloat(line[i+1:], 64)
		if err != nil {
			return nil, fmt.Errorf("rig: metrics: %w", err)
		}
		series[line[:i]] = value
	}
	return series, nil
}

// Get reads a page of the metrics listener. A status other than 200 is an error.
func (s *Stile) Get(ctx context.Context, path string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.Metrics+path, nil)
	if err != nil {
		return "", fmt.Errorf("rig: %w", err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", fmt.Errorf("rig: %s: %w", path, err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return "", fmt.Errorf("rig: %s: %w", path, err)
	}
	if resp.StatusCode != http.StatusOK {
		return string(text), fmt.Errorf("rig: %s: %s", path, resp.Status)
	}
	return string(text), nil
}
