package main

import (
	"cmp"
	"fmt"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// field is where the cuts are tried.
type field struct {
	work     string
	binaries map[string]*binary
	reached  map[string][]*reach // by package: what each of its tests reaches
}

// reach is one top-level test.
type reach struct {
	name  string
	takes time.Duration
	cuts  map[int]bool
}

// survey runs each test of a package by itself, without a cut, and notes which
// cuts it reaches.
func (f *field) survey(folder string) error {
	b := f.binaries[folder]
	names, err := b.tests()
	if err != nil {
		return err
	}
	all := make([]*reach, len(names))
	err = together(len(names), func(i int) error {
		notes, err := os.CreateTemp(f.work, "reached")
		if err != nil {
			return fmt.Errorf("drill: %w", err)
		}
		notes.Close()
		start := time.Now()
		if _, out, err := b.run(alone, "STILE_REACHED="+notes.Name(), "^"+names[i]+"$"); err != nil {
			return fmt.Errorf("drill: %s %s fails without a cut: %w\n%s", folder, names[i], err, out)
		}
		all[i] = &reach{name: names[i], takes: time.Since(start), cuts: map[int]bool{}}
		text, err := os.ReadFile(notes.Name())
		if err != nil {
			return fmt.Errorf("drill: %w", err)
		}
		for _, line := range strings.Fields(string(text)) {
			id, err := strconv.Atoi(line)
			if err != nil {
				return fmt.Errorf("drill: what %s reaches: %w", names[i], err)
			}
			all[i].cuts[id] = true
		}
		return nil
	})
	if err != nil {
		return err
	}
	slices.SortFunc(all, func(a, b *reach) int { return cmp.Compare(a.takes, b.takes) })
	f.reached[folder] = all
	return nil
}

// together calls f for each of n numbers, two at a time, and returns the first
// error.
func together(n int, f func(i int) error) error {
	var (
		wait  sync.WaitGroup
		lock  sync.Mutex
		first error
		next  = make(chan int)
	)
	for range 2 {
		wait.Go(func() {
			for i := range next {
				if err := f(i); err != nil {
					lock.Lock()
					first = cmp.Or(first, err)
					lock.Unlock()
				}
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wait.Wait()
	return first
}

// try makes a cut and returns the test that missed what was cut, "" if none did.
func (f *field) try(c *cut) (string, error) {
	env := "STILE_CUT=" + strconv.Itoa(c.id)
	if c.test != "" {
		folder, name, _ := strings.Cut(c.test, " ")
		failed, _, err := f.binaries[folder].run(limit, env, exactly(name))
		if !slices.Contains(failed, name) {
			return "", ended(err)
		}
		return deepest(failed), nil
	}
	if len(c.vectors) > 0 {
		missed, err := f.tryVectors(c, env)
		if missed != "" || c.strict {
			return missed, err
		}
	}
	return f.tryReaching(c, env)
}

// tryVectors runs the messages of the guard's own reason.
func (f *field) tryVectors(c *cut, env string) (string, error) {
	folders := map[string][]string{}
	for _, v := range c.vectors {
		folders[path.Dir(v)] = append(folders[path.Dir(v)], v)
	}
	for _, vectors := range folders {
		failed, _, err := f.binaries["tests/corpus"].run(limit, env, exactly(vectors...))
		for _, name := range failed {
			if slices.Contains(vectors, name) {
				return name, nil
			}
		}
		if err := ended(err); err != nil {
			return "", err
		}
	}
	return "", nil
}

// tryReaching runs the tests that reach the cut, the quick ones first: a few,
// then more.
func (f *field) tryReaching(c *cut, env string) (string, error) {
	for _, folder := range searched(path.Dir(c.file)) {
		var names []string
		for _, r := range f.reached[folder] {
			if r.cuts[c.id] {
				names = append(names, r.name)
			}
		}
		for some := 4; len(names) > 0; some *= 4 {
			n := min(some, len(names))
			failed, _, err := f.binaries[folder].run(limit, env, exactly(names[:n]...))
			if len(failed) > 0 {
				return deepest(failed), nil
			}
			if err := ended(err); err != nil {
				return "", err
			}
			names = names[n:]
		}
	}
	return "", nil
}

// ended is an error that is not a test's failure.
func ended(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("drill: the tests ended without a failed one: %w", err)
}

// needs are the packages whose tests a cut is tried with, and those that are
// searched for the ones that reach it.
func (c *cut) needs() (run, search []string) {
	if c.test != "" {
		folder, _, _ := strings.Cut(c.test, " ")
		return []string{folder}, nil
	}
	if len(c.vectors) > 0 {
		run = append(run, "tests/corpus")
	}
	if !c.strict {
		search = searched(path.Dir(c.file))
	}
	return append(run, search...), search
}

// searched are the packages whose tests may miss what a package has.
func searched(folder string) []string {
	if folder == "verdict" || folder == "fence" {
		return []string{folder, "tests/corpus"}
	}
	return []string{folder}
}

// exactly is a pattern for tests that differ in their last part only.
func exactly(names ...string) string {
	parts := strings.Split(names[0], "/")
	var last []string
	for _, n := range names {
		last = append(last, regexp.QuoteMeta(n[strings.LastIndexByte(n, '/')+1:]))
	}
	for i, p := range parts {
		parts[i] = "^" + regexp.QuoteMeta(p) + "$"
	}
	parts[len(parts)-1] = "^(" + strings.Join(last, "|") + ")$"
	return strings.Join(parts, "/")
}

// deepest is the first of the failed tests, down to its subtest.
func deepest(failed []string) string {
	name := failed[0]
	for _, f := range failed[1:] {
		if strings.HasPrefix(f, name+"/") {
			name = f
		}
	}
	return name
}
