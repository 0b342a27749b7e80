package milter

import (
	"bytes"
	"errors"
	"io"
	"os"
	"testing"

	"pgregory.net/rapid"
)

func entries(t testing.TB, dir string) int {
	t.Helper()
	all, err := os.ReadDir(dir)
	must(t, err)
	return len(all)
}

func TestSpoolFile(t *testing.T) {
	dir := t.TempDir()
	s := &spool{dir: dir, limit: 1 << 20}
	defer s.close()
	if _, err := s.Write(make([]byte, spoolMemory)); err != nil {
		t.Fatal(err)
	}
	if s.file != nil {
		t.Fatal("a file, with what memory holds")
	}
	if _, err := s.Write([]byte{1}); err != nil {
		t.Fatal(err)
	}
	if s.file == nil || s.memory != nil {
		t.Fatal("no file, with more than memory may hold")
	}
	if n := entries(t, dir); n != 0 {
		t.Errorf("%d names in the folder", n)
	}
	info, err := s.file.Stat()
	must(t, err)
	if info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}
	file := s.file
	s.close()
	if _, err := file.Stat(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("the file is still open: %v", err)
	}
}

func TestSpoolFails(t *testing.T) {
	s := &spool{dir: "/nonexistent/folder", limit: 1 << 20}
	defer s.close()
	if _, err := s.Write(make([]byte, spoolMemory+1)); err == nil {
		t.Error("no error")
	}
}

// Whatever is written is read, up to the limit, from memory and from a file.
func TestSpoolKeeps(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.Int64Range(0, 3*spoolMemory/2).Draw(t, "limit")
		s := &spool{dir: dir, limit: limit}
		defer s.close()
		var all []byte
		for i, n := range rapid.SliceOfN(rapid.IntRange(0, 1<<16), 0, 12).Draw(t, "sizes") {
			chunk := bytes.Repeat([]byte{byte(i), byte(n)}, n)
			all = append(all, chunk...)
			if got, err := s.Write(chunk); err != nil || got != len(chunk) {
				t.Fatalf("Write: %d, %v", got, err)
			}
		}
		want := all[:min(int64(len(all)), limit)]
		for range 2 {
			got, err := io.ReadAll(s.section())
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				t.Fatalf("read %d octets, want %d", len(got), len(want))
			}
		}
		if len(s.memory) > spoolMemory {
			t.Fatalf("%d octets in memory", len(s.memory))
		}
		off := rapid.Int64Range(0, limit+1).Draw(t, "offset")
		p := make([]byte, 10)
		n, err := s.ReadAt(p, off)
		if rest := max(int64(len(want))-off, 0); int64(n) != min(rest, 10) || (err == io.EOF) != (n < 10) {
			t.Fatalf("ReadAt(%d): %d, %v", off, n, err)
		}
	})
}
