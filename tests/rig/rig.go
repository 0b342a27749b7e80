package rig

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// Rig is the whole path, running.
type Rig struct {
	Dir     string   // all files of it
	Postfix *Postfix // nil in a bare one
	DNS     *DNS
	Signer  Signer
	Stile   *Stile
	LMTP    *LMTP // takes the mail for reader@estate.example; nil in a bare one

	packages packages
	dkimpy   *dkimpy // what Signer is, if it is that
	ids      ids
	senders  []*Postfix
}

// Options chooses what is not the same in every rig.
type Options struct {
	Stile  string // the binary to run; "" builds it
	Config string // put at the end of stile's configuration
	Wiring string // of contrib/postfix: "a", the domain agents.example alone, or "b", all mail; "" is "b"

	Evidence string // max_bytes of the originals, which are kept then; "": none is
	DiskSize int64  // octets of a disk for stile's state that can be filled; 0: no disk of its own
}

// Start starts everything but the daemon, which [Stile.Start] starts. Close
// ends it.
func Start(ctx context.Context, o Options) (_ *Rig, err error) {
	r, err := prepare()
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.Close())
		}
	}()
	bin, err := r.common(ctx, o)
	if err != nil {
		return nil, err
	}
	if err := r.startDkimpy(); err != nil {
		return nil, err
	}
	if r.Postfix, err = startPostfix(ctx, r.packages, r.ids, filepath.Join(r.Dir, "mx"), "", cmp.Or(o.Wiring, "b")); err != nil {
		return nil, err
	}
	if r.LMTP, err = startLMTP(r.Postfix.lmtpSocket()); err != nil {
		return nil, err
	}
	socket := filepath.Join(r.Postfix.Dir, "queue", "stile", "stile.sock")
	r.Stile, err = newStile(ctx, r.packages, r.ids, filepath.Join(r.Dir, "stile.d"), bin, socket, r.DNS, o)
	return r, err
}

// StartBare is Start without all that needs root or brought packages: there is
// no Postfix, the tests' own signer stands in for dkimpy, and stile runs as
// its caller, unless that is root.
func StartBare(ctx context.Context, o Options) (_ *Rig, err error) {
	r := &Rig{Signer: ownSigner{}}
	if r.packages.repo, err = findRepo(); err != nil {
		return nil, err
	}
	if r.ids, err = stileAccount(); err != nil {
		return nil, err
	}
	if r.Dir, err = workDir(); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.Close())
		}
	}()
	bin, err := r.common(ctx, o)
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(r.Dir, "stile.d")
	r.Stile, err = newStile(ctx, r.packages, r.ids, dir, bin, filepath.Join(dir, "stile.sock"), r.DNS, o)
	return r, err
}

// common starts what every rig has and returns the path of stile's program.
func (r *Rig) common(ctx context.Context, o Options) (bin string, err error) {
	// The account that stile runs as may not be able to reach the clone.
	bin = filepath.Join(r.Dir, "stile")
	if o.Stile == "" {
		err = buildStile(ctx, r.packages.repo, bin)
	} else {
		err = copyProgram(bin, o.Stile)
	}
	if err != nil {
		return "", err
	}
	r.DNS, err = StartDNS()
	return bin, err
}

func (r *Rig) startDkimpy() error {
	var err error
	if r.dkimpy, err = startSigner(r.packages); err != nil {
		return err
	}
	r.Signer = r.dkimpy
	return nil
}

// prepare finds what is needed and makes the rig's directory.
func prepare() (*Rig, error) {
	repo, err := findRepo()
	if err != nil {
		return nil, err
	}
	found, err := findPackages(repo)
	if err != nil {
		return nil, err
	}
	r := &Rig{}
	if r.ids, err = accounts(); err != nil {
		return nil, err
	}
	if r.Dir, err = workDir(); err != nil {
		return nil, err
	}
	if r.packages, err = found.under(r.Dir); err != nil {
		return nil, errors.Join(err, os.RemoveAll(r.Dir))
	}
	return r, nil
}

// copyProgram copies an executable file.
func copyProgram(to, from string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return fmt.Errorf("rig: %w", err)
	}
	if err := os.WriteFile(to, text, 0o755); err != nil {
		return fmt.Errorf("rig: %w", err)
	}
	return nil
}

// Build compiles stile once, for several rigs; clean removes it.
func Build(ctx context.Context) (bin string, clean func() error, err error) {
	repo, err := findRepo()
	if err != nil {
		return "", nil, err
	}
	dir, err := workDir()
	if err != nil {
		return "", nil, err
	}
	bin = filepath.Join(dir, "stile")
	if err := buildStile(ctx, repo, bin); err != nil {
		return "", nil, errors.Join(err, os.RemoveAll(dir))
	}
	return bin, func() error { return os.RemoveAll(dir) }, nil
}

// workDir makes a directory that other accounts can pass through. It stands
// under /tmp whatever TMPDIR says: they may not be able to pass through that.
func workDir() (string, error) {
	dir, err := os.MkdirTemp("/tmp", "stile-rig-")
	if err != nil {
		return "", fmt.Errorf("rig: %w", err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		return "", fmt.Errorf("rig: %w", err)
	}
	return dir, nil
}

// Sender starts another private Postfix, a stranger's: it passes all mail that
// it is given on to this rig's, and keeps and retries what that one defers.
func (r *Rig) Sender(ctx context.Context) (*Postfix, error) {
	dir := filepath.Join(r.Dir, fmt.Sprintf("sender%d", len(r.senders)+1))
	relay, err := bracketed(r.Postfix.Addr)
	if err != nil {
		return nil, err
	}
	f, err := startPostfix(ctx, r.packages, r.ids, dir, relay, "")
	if err != nil {
		return nil, err
	}
	r.senders = append(r.senders, f)
	return f, nil
}

// Close stops what was started and removes the files.
func (r *Rig) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	var errs []error
	for _, f := range r.senders {
		errs = append(errs, f.Stop(ctx))
	}
	if r.Postfix != nil {
		errs = append(errs, r.Postfix.Stop(ctx))
	}
	if r.LMTP != nil {
		r.LMTP.stop()
	}
	if r.Stile != nil {
		errs = append(errs, r.Stile.Stop(ctx), r.Stile.disk.unmount())
	}
	if r.dkimpy != nil {
		errs = append(errs, r.dkimpy.stop(ctx))
	}
	if r.DNS != nil {
		r.DNS.Stop(ctx)
	}
	errs = append(errs, os.RemoveAll(r.Dir))
	return errors.Join(errs...)
}

// Python runs a script with Debian's interpreter and returns what it printed.
func (r *Rig) Python(ctx context.Context, script string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, r.packages.python(), append([]string{"-I", "-c", script}, args...)...)
	cmd.Env = r.packages.environment()
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("rig: python3: %w: %s", err, said.String())
	}
	return string(out), nil
}

// WriteScript makes an executable file of a Python script that finds dkimpy, the
// address in ADDR and a private key in KEY.
func (r *Rig) WriteScript(path, script, addr string, key *Key) error {
	text := fmt.Sprintf("#!%s -I\nimport os, sys\nsys.path.insert(0, %q)\nADDR = %q\nKEY = %q\n%s",
		r.packages.python(), r.packages.modules(), addr, key.private, script)
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
		return fmt.Errorf("rig: %w", err)
	}
	return nil
}

// WithBinary compiles stile, puts its path into *binary, runs what needs it and
// returns what that returned: the exit status of a package's tests.
func WithBinary(binary *string, run func() int) int {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	bin, clean, err := Build(ctx)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	*binary = bin
	code := run()
	if err := clean(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}
