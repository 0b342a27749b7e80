package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestGenerated generates everything once more: what is here is what comes out,
// and nothing else is here.
func TestGenerated(t *testing.T) {
	here, again := "..", t.TempDir()
	if err := generate(here, again); err != nil {
		t.Fatal(err)
	}
	ours := files(t, again)
	for file := range ours {
		was, err := os.ReadFile(filepath.Join(here, file))
		if err != nil {
			t.Errorf("%v: run go generate ./tests/corpus", err)
			continue
		}
		is, err := os.ReadFile(filepath.Join(again, file))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(was, is) {
			t.Errorf("%s is another: run go generate ./tests/corpus", file)
		}
	}
	table, err := os.ReadFile(filepath.Join(here, "corpus.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	for file := range files(t, here) {
		row := "\n" + strings.TrimSuffix(file, ".eml") + "\t"
		if strings.HasSuffix(file, ".eml") && !ours[file] && !strings.Contains(string(table), row) {
			t.Errorf("%s is neither ours nor taken", file)
		}
	}
}

// TestCleans puts a message into a folder that is neither ours nor taken.
func TestCleans(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"corpus.tsv": "message\twhat\twhy\tkeys\n", "zone": "$TTL 300\n", "accept/stray.eml": "x"} {
		if err := write(filepath.Join(dir, name), []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := writeMessages(dir, nil); err != nil {
		t.Fatal(err)
	}
	if files(t, dir)["accept/stray.eml"] {
		t.Error("a stray message was left")
	}
}

// files are the names of all files below a folder.
func files(t *testing.T, dir string) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(file string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			all[file] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
