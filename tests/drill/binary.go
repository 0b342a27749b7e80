package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

//go:embed switch.go.txt
var switches string

// binary is the compiled tests of one package.
type binary struct {
	folder string // the package, from the root
	root   string
	file   string
	fixed  []string // flags
}

// overlay writes the sources with every cut behind its switch, for go test
// -overlay, and returns the name of the list.
func (p *plan) overlay(root, work string) (string, error) {
	replace := map[string]string{}
	put := func(name string, text []byte) error {
		file := filepath.Join(work, strings.ReplaceAll(name, "/", "_"))
		replace[filepath.Join(root, name)] = file
		return os.WriteFile(file, text, 0o644)
	}
	for folder, sources := range p.sources {
		for _, s := range sources {
			if len(s.edits) == 0 {
				continue
			}
			if err := put(s.path, s.edited()); err != nil {
				return "", fmt.Errorf("drill: %w", err)
			}
		}
		text := strings.NewReplacer("PACKAGE", sources[0].ast.Name.Name, "CUTS", strconv.Itoa(len(p.cuts))).Replace(switches)
		if err := put(path.Join(folder, "drill_switches.go"), []byte(text)); err != nil {
			return "", fmt.Errorf("drill: %w", err)
		}
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", fmt.Errorf("drill: %w", err)
	}
	list := filepath.Join(work, "overlay.json")
	return list, os.WriteFile(list, text, 0o644)
}

// build compiles a package's tests.
func build(root, work, list, folder string) (*binary, error) {
	b := &binary{folder: folder, root: root, file: filepath.Join(work, strings.ReplaceAll(folder, "/", "_")+".test")}
	cmd := exec.Command("go", "test", "-c", "-vet=off", "-overlay", list, "-o", b.file, "./"+folder)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("drill: a cut does not build: %s: %w\n%s", folder, err, out)
	}
	// A property that is tried at random is tried with the same values each time,
	// and notes no failure in the tree. -h names the flags, and fails.
	flags, _ := exec.Command(b.file, "-h").CombinedOutput()
	if bytes.Contains(flags, []byte("-rapid.seed")) {
		b.fixed = []string{"-rapid.seed=1", "-rapid.checks=30", "-rapid.shrinktime=100ms", "-rapid.nofailfile"}
	}
	return b, nil
}

// How long tests may take: one without a cut, and some under one. What a cut
// makes endless did not notice it.
const (
	alone = 3 * time.Minute
	limit = time.Minute
)

// run runs tests under a cut. It returns the failed ones and all output.
func (b *binary) run(limit time.Duration, env, pattern string) (failed []string, out string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	args := append([]string{"-test.failfast", "-test.run", pattern}, b.fixed...)
	cmd := exec.CommandContext(ctx, b.file, args...)
	cmd.Dir = filepath.Join(b.root, b.folder)
	cmd.Env = append(os.Environ(), env)
	text, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		return nil, string(text), fmt.Errorf("drill: %s %s does not end under %s", b.folder, pattern, env)
	}
	return failedTests(string(text)), string(text), err
}

// failedTests reads the names from what a test binary prints. Of a test and its
// subtests each has a line.
func failedTests(out string) (all []string) {
	for line := range strings.Lines(out) {
		name, found := strings.CutPrefix(strings.TrimSpace(line), "--- FAIL: ")
		if found {
			name, _, _ = strings.Cut(name, " (")
			all = append(all, name)
		}
	}
	return all
}

// tests are the names of the top-level tests.
func (b *binary) tests() ([]string, error) {
	out, err := exec.Command(b.file, "-test.list", "^Test").Output()
	if err != nil {
		return nil, fmt.Errorf("drill: %s: %w", b.folder, err)
	}
	return strings.Fields(string(out)), nil
}
