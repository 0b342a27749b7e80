package rig

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"syscall"
)

// agents is the domain that wiring a routes.
const agents = "agents.example"

// Wire runs contrib/postfix/wire on this instance. An exit status is no error.
func (f *Postfix) Wire(ctx context.Context, args ...string) (Output, error) {
	script := filepath.Join(f.packages.repo, "contrib", "postfix", "wire")
	cmd := exec.CommandContext(ctx, "/bin/sh", append([]string{script, "-c", filepath.Join(f.Dir, "etc")}, args...)...)
	cmd.Env = f.packages.environment("PATH=" + f.packages.commands() + ":/usr/bin:/bin")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	out := Output{Stdout: stdout.String(), Stderr: stderr.String(), Exit: cmd.ProcessState.ExitCode()}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return out, fmt.Errorf("rig: wire: %w", err)
	}
	return out, nil
}

// apply wires the instance.
func (f *Postfix) apply(ctx context.Context, wiring string) error {
	args := []string{"apply", wiring}
	if wiring == "a" {
		addr := f.Addr // nobody listens there yet: it may be found free again
		for addr == f.Addr {
			var err error
			if addr, err = freeAddr(); err != nil {
				return err
			}
		}
		_, port, err := net.SplitHostPort(addr)
		if err != nil {
			return fmt.Errorf("rig: %w", err)
		}
		f.Gate = addr
		args = append(args, "-d", agents, "-p", port)
	}
	out, err := f.Wire(ctx, args...)
	if err != nil {
		return err
	}
	if out.Exit != 0 {
		return fmt.Errorf("rig: wire: exit %d: %s", out.Exit, out.Stderr)
	}
	return nil
}

// Reload makes the instance read its configuration again.
func (f *Postfix) Reload(ctx context.Context) error {
	mark := f.Log.Len()
	if err := f.master.signal(syscall.SIGHUP); err != nil {
		return fmt.Errorf("rig: reload: %w", err)
	}
	_, err := f.Log.Wait(ctx, mark, "postfix/master", "reload")
	return err
}
