package doctor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

const (
	commandTime = 20 * time.Second // of one command; a table may be asked over the network
	maxOutput   = 16 << 20         // octets that are read of one
)

// errOutput ends the reading of a command that says too much.
var errOutput = errors.New("doctor: more output than is read")

// bounded keeps what is written to it up to a limit.
type bounded struct {
	bytes.Buffer
	left int
}

func (b *bounded) Write(p []byte) (int, error) {
	if len(p) > b.left {
		return 0, errOutput
	}
	b.left -= len(p)
	return b.Buffer.Write(p)
}

// result is what a command printed and how it ended.
type result struct {
	stdout string
	said   bool // something on standard error
	exit   int
}

// run runs one of Postfix's commands. An exit status is no error; what it says
// on standard error is not kept.
func run(ctx context.Context, name string, args ...string) (result, error) {
	return runWith(ctx, "", name, args...)
}

// runWith is run with something on standard input.
func runWith(ctx context.Context, input, name string, args ...string) (result, error) {
	path, err := find(name)
	if err != nil {
		return result{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, commandTime)
	defer cancel()
	stdout, stderr := &bounded{left: maxOutput}, &bounded{left: maxOutput}
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	cmd.Stdout, cmd.Stderr = io.Writer(stdout), io.Writer(stderr)
	cmd.Stdin = strings.NewReader(input)
	cmd.WaitDelay = time.Second
	err = cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.Exited() {
		err = nil
	}
	if err != nil {
		return result{}, fmt.Errorf("doctor: %s %s: %w", name, strings.Join(args, " "), err)
	}
	return result{stdout: stdout.String(), said: stderr.Len() > 0, exit: cmd.ProcessState.ExitCode()}, nil
}

// find finds a command of Postfix, which need not stand on the caller's PATH.
func find(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err == nil {
		return path, nil
	}
	path = filepath.Join("/usr/sbin", name)
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("doctor: there is no %s on PATH or in /usr/sbin: is Postfix installed?", name)
	}
	return path, nil
}
