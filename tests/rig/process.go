package rig

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
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
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
	cmd.SysProcAttr.Pdeathsig = syscall.SIGTERM
	result := make(chan error)
	starter() <- func() { result <- cmd.Start() }
	if err := <-result; err != nil {
		return nil, fmt.Errorf("rig: %w", err)
	}
	p := &process{cmd: cmd, done: make(chan struct{})}
	go func() {
		p.err = cmd.Wait()
		reap(p.pid())
		close(p.done)
	}()
	return p, nil
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
