package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// outcome is what became of a mutation.
type outcome string

const (
	failed     outcome = "a test failed"
	endless    outcome = "did not end in time"
	survived   outcome = "survived"
	notReached outcome = "not reached"
)

// longest is how much processor time a test may take without any mutation.
const longest = time.Minute

// command runs tests of a binary, within some memory and that much processor
// time: a busy machine ends nothing early.
func (b *binary) command(ctx context.Context, root string, limit time.Duration, env []string, args ...string) *exec.Cmd {
	limits := fmt.Sprintf(`ulimit -v 6000000 && ulimit -t %d && exec "$0" "$@"`, int(limit.Seconds()))
	args = slices.Concat([]string{"-c", limits, b.file}, b.fixed, args)
	cmd := exec.CommandContext(ctx, "sh", args...)
	cmd.Dir = filepath.Join(root, b.folder)
	cmd.Env = append(os.Environ(), append(env, "GOMAXPROCS=1")...)
	return cmd
}

// fixed makes property tests, where a binary has them, choose the same few
// cases each time and stop at the first that fails.
var fixed = []string{"-rapid.seed=1", "-rapid.checks=20", "-rapid.shrinktime=0s", "-rapid.nofailfile"}

// survey finds the tests of a binary, how long each takes, and what it reaches.
// Each must pass.
func (b *binary) survey(root, work string) error {
	b.fixed = fixed
	if b.command(context.Background(), root, longest, nil, "-test.list", ".").Run() != nil {
		b.fixed = nil
	}
	out, err := b.command(context.Background(), root, longest, nil, "-test.list", ".").Output()
	if err != nil {
		return fmt.Errorf("mutate: %s: %w", b.folder, err)
	}
	for _, name := range strings.Fields(string(out)) {
		if slices.Contains(ofCost, name) {
			continue
		}
		t := &test{name: name, in: b, sites: map[int]bool{}}
		if err := t.survey(root, work); err != nil {
			return err
		}
		if t.takes > time.Second {
			fmt.Fprintf(os.Stderr, "%s %s takes %.1f s\n", b.folder, t.name, t.takes.Seconds())
		}
		b.tests = append(b.tests, t)
	}
	return nil
}

func (t *test) survey(root, work string) error {
	notes, err := os.CreateTemp(work, "reached")
	if err != nil {
		return fmt.Errorf("mutate: %w", err)
	}
	notes.Close()
	defer os.Remove(notes.Name())
	cmd := t.in.command(context.Background(), root, longest, []string{"STILE_REACHED=" + notes.Name()}, "-test.run", "^"+t.name+"$")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("mutate: %s fails without any mutation: %w\n%s", t.name, err, out)
	}
	t.takes = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	text, err := os.ReadFile(notes.Name())
	if err != nil {
		return fmt.Errorf("mutate: %w", err)
	}
	for _, line := range strings.Fields(string(text)) {
		id, err := strconv.Atoi(line)
		if err != nil {
			return fmt.Errorf("mutate: what %s reached: %w", t.name, err)
		}
		t.sites[id] = true
	}
	return nil
}

// runner tries mutations, several at a time.
type runner struct {
	root     string
	binaries []*binary

	lock     sync.Mutex
	known    map[string]map[*test]int // how many mutations of a function a test noticed
	noticed  *os.File                 // takes the keys of mutations that a test noticed
	outcomes map[*mutant]outcome
	fault    error
}

// firstRun is how long the tests of a mutation's first process take together;
// each further one has four times as much.
const firstRun = 60 * time.Millisecond

// runs are the tests that reach a mutation, those of one process together.
func (r *runner) runs(m *mutant) (runs [][]*test) {
	var reach []*test
	for _, b := range r.binaries {
		for _, t := range b.tests {
			if t.sites[m.site] && b.judges(m) {
				reach = append(reach, t)
			}
		}
	}
	r.lock.Lock()
	known := maps.Clone(r.known[m.file+m.fn])
	r.lock.Unlock()
	slices.SortStableFunc(reach, func(a, b *test) int {
		return cmp.Or(known[b]-known[a], cmp.Compare(a.takes, b.takes))
	})
	for budget := firstRun; len(reach) > 0; budget *= 4 {
		n := 0
		for took := time.Duration(0); n < len(reach) && took < budget; n++ {
			took += reach[n].takes
		}
		for _, b := range r.binaries {
			run := slices.DeleteFunc(slices.Clone(reach[:n]), func(t *test) bool { return t.in != b })
			if len(run) > 0 {
				runs = append(runs, run)
			}
		}
		reach = reach[n:]
	}
	return runs
}

// judges reports whether the binary's tests are among those of a mutation.
func (b *binary) judges(m *mutant) bool {
	return b.folder == corpus || b.folder == filepath.Dir(m.file)
}

// try turns a mutation on and runs the tests that reach it.
func (r *runner) try(m *mutant) (outcome, error) {
	runs := r.runs(m)
	if len(runs) == 0 {
		return notReached, nil
	}
	for _, run := range runs {
		o, by, err := tryWith(r.root, m, run)
		if err != nil {
			return o, err
		}
		if o != survived {
			return o, r.note(m, by)
		}
	}
	return survived, nil
}

// note notes which test noticed a mutation.
func (r *runner) note(m *mutant, by *test) error {
	r.lock.Lock()
	defer r.lock.Unlock()
	fn := m.file + m.fn
	if r.known[fn] == nil {
		r.known[fn] = map[*test]int{}
	}
	r.known[fn][by]++
	if _, err := r.noticed.WriteString(m.key() + "\n"); err != nil {
		return fmt.Errorf("mutate: %w", err)
	}
	return nil
}

// tryWith runs tests of one binary with a mutation on, and returns the test
// that noticed it.
func tryWith(root string, m *mutant, run []*test) (o outcome, by *test, err error) {
	var names []string
	limit := 2 * time.Second
	for _, t := range run {
		names = append(names, t.name)
		limit += 4 * t.takes
	}
	// What waits for ever takes no processor time.
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute+10*limit)
	defer cancel()
	cmd := run[0].in.command(ctx, root, limit, []string{"STILE_MUTANT=" + strconv.Itoa(m.id)},
		"-test.failfast", "-test.run", "^("+strings.Join(names, "|")+")$")
	out, err := cmd.Output()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil || errors.As(err, &exit) && exit.ExitCode() < 0: // ended by a signal
		return endless, run[0], nil
	case err == nil:
		return survived, nil, nil
	case errors.As(err, &exit):
		return failed, named(out, run), nil
	}
	return "", nil, fmt.Errorf("mutate: %w", err)
}

// named is the test whose failure the output reports; of a process that broke
// off, the first of all.
func named(out []byte, run []*test) *test {
	for _, t := range run {
		if bytes.Contains(out, []byte("--- FAIL: "+t.name+" ")) {
			return t
		}
	}
	return run[0]
}

// tryAll tries the mutations, as many at a time as there are workers.
func (r *runner) tryAll(mutants []*mutant, workers int) error {
	var wait sync.WaitGroup
	next := make(chan *mutant)
	for range workers {
		wait.Go(func() {
			for m := range next {
				o, err := r.try(m)
				r.lock.Lock()
				r.outcomes[m] = o
				if err != nil {
					r.fault = err
				}
				fmt.Fprintf(os.Stderr, "%d of %d %s: %s\n", len(r.outcomes), len(mutants), o, strings.ReplaceAll(m.key(), "\t", " | "))
				r.lock.Unlock()
			}
		})
	}
	for _, m := range mutants {
		next <- m
	}
	close(next)
	wait.Wait()
	return r.fault
}
