package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// contender is a milter that is measured.
type contender struct {
	name string
	// start starts it under an empty directory, which gives the socket.
	start func(ctx context.Context, dir string) (*daemon, error)
	// right reports whether that is its answer to a message.
	right func(r reply, good bool) bool
}

// daemon is a contender, running.
type daemon struct {
	socket string
	log    string // a file with what it printed
	cmd    *exec.Cmd
	ended  chan struct{}
}

// startDaemon starts a command and returns when its socket takes connections.
func startDaemon(ctx context.Context, dir string, cmd *exec.Cmd) (*daemon, error) {
	d := &daemon{socket: filepath.Join(dir, "s"), log: filepath.Join(dir, "log"), cmd: cmd, ended: make(chan struct{})}
	log, err := os.Create(d.log)
	if err != nil {
		return nil, fmt.Errorf("load: %w", err)
	}
	defer log.Close()
	cmd.Stdout, cmd.Stderr, cmd.Dir = log, log, dir
	cmd.Env = append(cmd.Environ(), "TMPDIR="+dir)
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("load: %w", err)
	}
	go func() {
		_ = cmd.Wait() // how it ended does not matter, that it did does
		close(d.ended)
	}()
	for tick := time.NewTicker(10 * time.Millisecond); ; {
		c, err := net.Dial("unix", d.socket)
		if err == nil {
			c.Close()
			return d, nil
		}
		select {
		case <-tick.C:
		case <-d.ended:
			said, _ := os.ReadFile(d.log)
			return nil, fmt.Errorf("load: %s did not start:\n%s", filepath.Base(cmd.Path), said)
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), d.stop())
		}
	}
}

// stop ends it.
func (d *daemon) stop() error {
	_ = d.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
	select {
	case <-d.ended:
		return nil
	case <-time.After(20 * time.Second):
		_ = d.cmd.Process.Kill()
		<-d.ended
		return fmt.Errorf("load: %s did not end by itself", filepath.Base(d.cmd.Path))
	}
}

// cpu is the time that it has computed, in user and kernel mode (proc(5)).
func (d *daemon) cpu() (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", d.cmd.Process.Pid))
	if err != nil {
		return 0, fmt.Errorf("load: %w", err)
	}
	// The second field may hold anything, in parentheses.
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	const utime, stime = 11, 12 // counted from the third
	if len(fields) <= stime {
		return 0, errors.New("load: /proc/PID/stat is short")
	}
	user, err1 := strconv.Atoi(fields[utime])
	kernel, err2 := strconv.Atoi(fields[stime])
	return time.Duration(user+kernel) * time.Second / 100, errors.Join(err1, err2)
}

// peak is the most memory that was resident, in MB of 1,000,000 octets.
func (d *daemon) peak() (float64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", d.cmd.Process.Pid))
	if err != nil {
		return 0, fmt.Errorf("load: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kib, err := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(value), " kB"))
			return float64(kib) * 1024 / 1e6, err
		}
	}
	return 0, errors.New("load: /proc/PID/status has no VmHWM")
}
