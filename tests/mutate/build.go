package main

import (
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
	file   string
	fixed  []string // flags
	tests  []*test
}

// test is one top-level test.
type test struct {
	name  string
	in    *binary
	takes time.Duration
	sites map[int]bool // what it reaches
}

// build compiles the tests of the folders against the mutated sources.
func build(root, work string, sources []*source, folders []string) (all []*mutant, tests []*binary, err error) {
	replace := map[string]string{}
	put := func(name, text string) error {
		// Not .go: it is no part of a package that is there.
		file := filepath.Join(work, strings.ReplaceAll(name, "/", "_")+".txt")
		replace[filepath.Join(root, name)] = file
		return os.WriteFile(file, []byte(text), 0o644)
	}
	for _, s := range sources {
		for _, f := range s.files {
			if err := put(f.path, mutate(s, f, &all)); err != nil {
				return nil, nil, fmt.Errorf("mutate: %w", err)
			}
		}
	}
	for _, s := range sources {
		text := strings.NewReplacer("PACKAGE", s.name, "MUTANTS", strconv.Itoa(len(all))).Replace(switches)
		if err := put(path.Join(s.path, "mutant_switches.go"), text); err != nil {
			return nil, nil, fmt.Errorf("mutate: %w", err)
		}
	}
	number(all)
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return nil, nil, fmt.Errorf("mutate: %w", err)
	}
	list := filepath.Join(work, "overlay.json")
	if err := os.WriteFile(list, overlay, 0o644); err != nil {
		return nil, nil, fmt.Errorf("mutate: %w", err)
	}
	for _, folder := range folders {
		b := &binary{folder: folder, file: filepath.Join(work, path.Base(folder)+".test")}
		cmd := exec.Command("go", "test", "-c", "-vet=off", "-overlay", list, "-o", b.file, "./"+folder)
		cmd.Dir = root
		if out, err := cmd.CombinedOutput(); err != nil {
			return nil, nil, fmt.Errorf("mutate: %s: %w\n%s", folder, err, out)
		}
		tests = append(tests, b)
	}
	return all, tests, nil
}
