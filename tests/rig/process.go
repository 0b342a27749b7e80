package rig

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"strconv"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// process is a child with its own process group.
type process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when it and all of its group have ended
	err  error         // how, once done is closed
}

// starter runs every fork in one thread that never ends: the kernel sends a
// child's Pdeathsig when the thread that forked it ends, not the process.
var starter = sync.OnceValue(func() chan<- func() {
	// Grandchildren whose parent has ended become ours, for reap. Linux has
	// known this since 3.4; without it they would be init's.
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	jobs := make(chan func())
	go func() {
		runtime.LockOSThread()
		for job := range jobs {
			job()
		}
	}()
	return jobs
})

// start starts cmd. When this program dies, however it dies, the child is sent
// SIGTERM.
func start(cmd *exec.Cmd) (*process, error) {
	p := &process{cmd: cmd, done: make(chan struct{})}
	if err := p.fork(); err != nil {
		return nil, err
	}
	go func() {
		p.err = cmd.Wait()
		reap(p.pid())
		close(p.done)
	}()
	return p, nil
}

func (p *process) fork() error {
	if p.cmd.SysProcAttr == nil {
		p.cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	p.cmd.SysProcAttr.Setpgid = true
	p.cmd.SysProcAttr.Pdeathsig = syscall.SIGTERM
	result := make(chan error)
	starter() <- func() { result <- p.cmd.Start() }
	if err := <-result; err != nil {
		return fmt.Errorf("rig: %w", err)
	}
	return nil
}

// guard is for a child that changes its effective ids, as master(8) does: the
// kernel then forgets its Pdeathsig. A shell waits for the end of a pipe, which
// comes when this program dies, and ends the child.
func (p *process) guard() error {
	shell := exec.Command("/bin/sh", "-c", `read -r _ || kill "$1"`, "guard", strconv.Itoa(p.pid()))
	held, err := shell.StdinPipe()
	if err != nil {
		return fmt.Errorf("rig: %w", err)
	}
	shell.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := shell.Start(); err != nil {
		return fmt.Errorf("rig: %w", err)
	}
	go func() {
		<-p.done
		_, _ = io.WriteString(held, "\n") // it need not end the child any more
		_ = shell.Wait()
	}()
	return nil
}

// reap waits for what the ended leader of a process group left behind: Postfix's
// daemons end a moment after master(8), and until then they write files.
func reap(group int) {
	for {
		_, err := unix.Wait4(-group, nil, 0, nil)
		if err != nil && err != unix.EINTR {
			return // ECHILD: there is none left
		}
	}
}

func (p *process) pid() int { return p.cmd.Process.Pid }

// signal sends s to the process alone.
func (p *process) signal(s syscall.Signal) error { return p.cmd.Process.Signal(s) }

// wait waits until the process has ended.
func (p *process) wait(ctx context.Context) error {
	select {
	case <-p.done:
		return p.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// stop asks the process to end and, if it has not when ctx ends, kills it and
// what is left of its group.
func (p *process) stop(ctx context.Context) error {
	_ = p.signal(syscall.SIGTERM) // it may have ended: then Wait says so
	err := p.wait(ctx)
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		p.kill()
	}
	return err
}

// kill ends the process group at once and waits for the process.
func (p *process) kill() {
	_ = syscall.Kill(-p.pid(), syscall.SIGKILL)
	<-p.done
}
