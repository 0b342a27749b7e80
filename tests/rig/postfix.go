package rig

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"text/template"
)

var (
	//go:embed main.cf
	mainCF string
	//go:embed master.cf
	masterCF string
)

// Postfix is a private instance of the mail system.
type Postfix struct {
	Addr string // where its smtpd(8) listens, host:port
	Gate string // where the server of wiring a does
	Dir  string // its configuration (etc), queue, data, log and mail
	Log  *Lines

	packages packages
	master   *process
	follow   context.CancelFunc
	followed chan struct{}
}

// deliveries maps each address that the receiving Postfix delivers to its
// Maildir. It is Postfix's side of things: shopping@ has several names.
var deliveries = [][2]string{
	{"shopping@estate.example", "shopping"},
	{"shop@estate.example", "shopping"},
	{"shopping@mx.estate.example", "shopping"},
	{"shopping@localhost", "shopping"},
	{"shopping@[127.0.0.1]", "shopping"},
	{"travel@estate.example", "travel"},
	{"counter@estate.example", "counter"},
	{"desk@estate.example", "desk"},
	{"@agents.example", "agents"},
}

// broken is an address in an unguarded mailbox whose delivery always fails, so
// that Postfix makes a bounce.
const broken = "broken@estate.example"

// byLMTP is an address that Postfix passes on to the rig's LMTP server.
const byLMTP = "reader@estate.example"

// lmtpSocket is where that server listens.
func (f *Postfix) lmtpSocket() string { return filepath.Join(f.Dir, "lmtp") }

// startPostfix starts an instance under dir. With relay ("[127.0.0.1]:port") it
// is a sender's, that passes all mail on to there, without one the receiver's,
// with that wiring of contrib/postfix ("a" or "b").
func startPostfix(ctx context.Context, p packages, n ids, dir, relay, wiring string) (*Postfix, error) {
	f := &Postfix{Dir: dir, Log: NewLines(), packages: p}
	if err := f.layOut(n); err != nil {
		return nil, err
	}
	// A port that was free a moment ago may be taken by now: then once more.
	var err error
	for range 3 {
		if err = f.configure(n, relay); err != nil {
			return nil, err
		}
		if relay == "" {
			if err = f.apply(ctx, wiring); err != nil {
				return nil, err
			}
		}
		if err = f.run(ctx); err == nil {
			return f, nil
		}
	}
	return nil, err
}

// bracketed is host:port as Postfix writes it, [host]:port.
func bracketed(addr string) (string, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return "", fmt.Errorf("rig: %w", err)
	}
	return "[" + host + "]:" + port, nil
}

// freeAddr is a port on loopback that is free now, host:port.
func freeAddr() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("rig: %w", err)
	}
	if err := l.Close(); err != nil {
		return "", fmt.Errorf("rig: %w", err)
	}
	return l.Addr().String(), nil
}

// layOut makes the directories with the owners that Postfix wants.
func (f *Postfix) layOut(n ids) error {
	for _, d := range []struct {
		name     string
		mode     os.FileMode
		uid, gid int
	}{
		{"", 0o711, 0, 0},
		{"etc", 0o755, 0, 0},
		{"log", 0o755, 0, 0},
		{"data", 0o700, n.queueUID, 0},
		{"mail", 0o711, n.mailUID, n.mailUID},
		{"queue", 0o755, 0, 0},
		{"queue/pid", 0o755, 0, 0},
		{"queue/active", 0o700, n.queueUID, 0},
		{"queue/bounce", 0o700, n.queueUID, 0},
		{"queue/corrupt", 0o700, n.queueUID, 0},
		{"queue/defer", 0o700, n.queueUID, 0},
		{"queue/deferred", 0o700, n.queueUID, 0},
		{"queue/flush", 0o700, n.queueUID, 0},
		{"queue/hold", 0o700, n.queueUID, 0},
		{"queue/incoming", 0o700, n.queueUID, 0},
		{"queue/private", 0o700, n.queueUID, 0},
		{"queue/saved", 0o700, n.queueUID, 0},
		{"queue/trace", 0o700, n.queueUID, 0},
		{"queue/maildrop", 0o730, n.queueUID, n.setGID},
		{"queue/public", 0o710, n.queueUID, n.setGID},
		// The milter's socket, as contrib/postfix/README.md lays its directory
		// out: stile makes it, the setgid bit gives it to Postfix's group.
		{"queue/stile", os.ModeSetgid | 0o750, n.stileUID, n.queueGID},
	} {
		path := filepath.Join(f.Dir, d.name)
		if err := os.MkdirAll(path, d.mode); err != nil {
			return fmt.Errorf("rig: %w", err)
		}
		if err := os.Chown(path, d.uid, d.gid); err != nil {
			return fmt.Errorf("rig: %w", err)
		}
		if err := os.Chmod(path, d.mode); err != nil { // whatever the umask is
			return fmt.Errorf("rig: %w", err)
		}
	}
	return f.layOutMail(n)
}

// layOutMail makes the mailboxes and the maps that name them.
func (f *Postfix) layOutMail(n ids) error {
	var mailboxes strings.Builder
	for _, d := range deliveries {
		fmt.Fprintf(&mailboxes, "%s %s/\n", d[0], d[1])
		for _, sub := range []string{"", "/new", "/cur", "/tmp"} {
			path := filepath.Join(f.Dir, "mail", d[1]+sub)
			if err := os.MkdirAll(path, 0o755); err != nil {
				return fmt.Errorf("rig: %w", err)
			}
			if err := os.Chown(path, n.mailUID, n.mailUID); err != nil {
				return fmt.Errorf("rig: %w", err)
			}
		}
	}
	fmt.Fprintf(&mailboxes, "%s broken/\n%s reader/\n", broken, byLMTP)
	for name, text := range map[string]string{
		"mailboxes": mailboxes.String(),
		"transport": broken + " broken:\n" + byLMTP + " lmtp:unix:" + f.lmtpSocket() + "\n",
	} {
		if err := os.WriteFile(filepath.Join(f.Dir, "etc", name), []byte(text), 0o644); err != nil {
			return fmt.Errorf("rig: %w", err)
		}
	}
	return nil
}

// configure writes main.cf and master.cf, with a port that is free now.
func (f *Postfix) configure(n ids, relay string) error {
	var err error
	if f.Addr, err = freeAddr(); err != nil {
		return err
	}
	values := map[string]any{
		"Dir": f.Dir, "Addr": f.Addr, "Relay": relay,
		"Owner": queueOwner, "Group": queueGroup, "MailUID": n.mailUID,
		"Packages": map[string]string{
			"Daemons":  f.packages.daemons(),
			"Commands": f.packages.commands(),
			"Shlib":    f.packages.shlib(),
		},
	}
	for name, text := range map[string]string{"main.cf": mainCF, "master.cf": masterCF} {
		var out bytes.Buffer
		if err := template.Must(template.New(name).Parse(text)).Execute(&out, values); err != nil {
			return fmt.Errorf("rig: %w", err)
		}
		if err := os.WriteFile(filepath.Join(f.Dir, "etc", name), out.Bytes(), 0o644); err != nil {
			return fmt.Errorf("rig: %w", err)
		}
	}
	return nil
}

// run starts master(8) and returns when it listens.
func (f *Postfix) run(ctx context.Context) error {
	logFile := filepath.Join(f.Dir, "log", "mail.log")
	if err := os.WriteFile(logFile, nil, 0o600); err != nil {
		return fmt.Errorf("rig: %w", err)
	}
	said := NewLines()
	cmd := exec.Command(filepath.Join(f.packages.daemons(), "master"), "-d", "-c", filepath.Join(f.Dir, "etc"))
	cmd.Env = f.packages.environment()
	cmd.Stdout, cmd.Stderr = said, said
	var err error
	if f.master, err = start(cmd); err != nil {
		return err
	}
	if err := f.master.guard(); err != nil {
		f.master.kill()
		return err
	}
	following, cancel := context.WithCancel(context.Background())
	f.follow, f.followed = cancel, make(chan struct{})
	go func() {
		defer close(f.followed)
		_ = follow(following, logFile, f.Log) // ends by cancel
	}()
	ready, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		select {
		case <-f.master.done:
			stop()
		case <-ready.Done():
		}
	}()
	if _, err := f.Log.Wait(ready, 0, "postfix/master", "daemon started"); err != nil {
		f.master.kill()
		f.stopFollowing()
		return fmt.Errorf("rig: Postfix did not start: %w\n%s", err, said.Text())
	}
	return nil
}

// follow copies what is added to the file into l.
func follow(ctx context.Context, path string, l *Lines) error {
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("rig: %w", err)
	}
	defer file.Close()
	return Until(ctx, func() (bool, error) {
		_, err := io.Copy(l, file)
		return false, err
	}, path)
}

func (f *Postfix) stopFollowing() {
	f.follow()
	<-f.followed
}

// Stop ends the instance.
func (f *Postfix) Stop(ctx context.Context) error {
	_ = f.master.stop(ctx) // it ends by our signal: how is of no interest
	f.stopFollowing()
	return ctx.Err()
}

// Command runs one of Postfix's commands on this instance and returns what it
// printed.
func (f *Postfix) Command(ctx context.Context, input string, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, f.packages.command(name), args...)
	cmd.Env = f.packages.environment("MAIL_CONFIG=" + filepath.Join(f.Dir, "etc"))
	cmd.Stdin = strings.NewReader(input)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return string(out), fmt.Errorf("rig: %s: %w: %s", name, err, said.String())
	}
	return string(out), nil
}

// Version is that of the program.
func (f *Postfix) Version(ctx context.Context) (string, error) {
	out, err := f.Command(ctx, "", "postconf", "-c", filepath.Join(f.Dir, "etc"), "-dh", "mail_version")
	return strings.TrimSpace(out), err
}

// Sendmail hands a message to sendmail(1).
func (f *Postfix) Sendmail(ctx context.Context, from, raw string, to ...string) error {
	_, err := f.Command(ctx, strings.ReplaceAll(raw, "\r\n", "\n"), "sendmail", append([]string{"-i", "-f", from, "--"}, to...)...)
	return err
}

// Flush makes the instance try its deferred mail now.
func (f *Postfix) Flush(ctx context.Context) error {
	_, err := f.Command(ctx, "", "postqueue", "-f")
	return err
}

// Queue is how many messages the instance holds.
func (f *Postfix) Queue(ctx context.Context) (int, error) {
	out, err := f.Command(ctx, "", "postqueue", "-j")
	return strings.Count(out, "\n"), err // one object a line
}

// Tried waits until the instance has tried to pass on a queued message of one
// recipient, and returns the log line that says how that ended.
func (f *Postfix) Tried(ctx context.Context, from int, queueID string) (string, error) {
	return f.Log.Wait(ctx, from, queueID+": to=<", ", status=")
}

// Fate waits until the instance is done with a queued message, and returns the
// log line that says so: "ID: removed" or "ID: milter-discard: …".
func (f *Postfix) Fate(ctx context.Context, queueID string) (string, error) {
	return f.Log.WaitAny(ctx, 0, queueID+": removed", queueID+": milter-discard: ")
}
