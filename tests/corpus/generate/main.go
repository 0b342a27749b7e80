package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"stile/tests/corpus"
)

func main() {
	if err := generate(".", "."); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// generate makes the corpus in the folder to, of the messages taken in the
// folder from and ours. What is neither is removed.
func generate(from, to string) error {
	table, err := os.ReadFile(filepath.Join(from, "corpus.tsv"))
	if err != nil {
		return fmt.Errorf("generate: %w", err)
	}
	all, err := corpus.ReadTable(table)
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(m *corpus.Message) bool { return m.Taken == "" })
	for _, r := range recipes() {
		m, err := r.make()
		if err != nil {
			return err
		}
		all = append(all, m)
	}
	if table, err = corpus.WriteTable(all); err != nil {
		return err
	}
	if _, err := corpus.ReadTable(table); err != nil { // names and keys
		return err
	}
	if err := write(filepath.Join(to, "corpus.tsv"), table); err != nil {
		return err
	}
	if err := writeMessages(to, all); err != nil {
		return err
	}
	return writeZone(from, to)
}

// writeMessages writes ours and removes what is no message of the corpus.
func writeMessages(to string, all []*corpus.Message) error {
	known := map[string]bool{}
	for _, m := range all {
		file := filepath.Join(to, m.Path+".eml")
		known[file] = true
		if m.Taken != "" {
			continue
		}
		if err := write(file, m.Raw); err != nil {
			return err
		}
	}
	for _, pattern := range []string{"accept/*", "defer/*", "refuse/*/*"} {
		files, err := filepath.Glob(filepath.Join(to, pattern))
		if err != nil {
			return fmt.Errorf("generate: %w", err)
		}
		for _, f := range files {
			if known[f] {
				continue
			}
			if err := os.Remove(f); err != nil {
				return fmt.Errorf("generate: %w", err)
			}
		}
	}
	return nil
}

// write writes a file, unless it is as it should be already.
func write(file string, text []byte) error {
	if was, err := os.ReadFile(file); err == nil && bytes.Equal(was, text) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return fmt.Errorf("generate: %w", err)
	}
	if err := os.WriteFile(file, text, 0o644); err != nil {
		return fmt.Errorf("generate: %w", err)
	}
	return nil
}

// border is the line of the zone below which the keys are ours.
const border = "; Below this line stands what `go generate` wrote.\n"

// writeZone writes the zone: what was taken, then our keys.
func writeZone(from, to string) error {
	was, err := os.ReadFile(filepath.Join(from, "zone"))
	if err != nil {
		return fmt.Errorf("generate: %w", err)
	}
	taken, _, _ := strings.Cut(string(was), border)
	var b strings.Builder
	b.WriteString(taken + border)
	for _, r := range records() {
		b.WriteString(r.String())
	}
	return write(filepath.Join(to, "zone"), []byte(b.String()))
}
