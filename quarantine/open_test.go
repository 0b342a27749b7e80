package quarantine

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestCreated(t *testing.T) {
	base := t.TempDir()
	path := filepath.Join(base, "store", "a b?c#d%41&mode=memory.db")
	s := opened(t, "sqlite:"+path, Limits{})
	if _, err := s.Add(t.Context(), record(1)); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]os.FileMode{filepath.Dir(path): 0o700, path: 0o600, path + "-wal": 0o600, path + "-shm": 0o600} {
		info, err := os.Stat(file)
		if err != nil {
			t.Error(err)
			continue
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%s: mode %o, want %o", file, got, want)
		}
	}
}

// What makes a record durable when Add returns.
func TestSynchronous(t *testing.T) {
	s, _ := fresh(t, Limits{})
	for pragma, want := range map[string]string{"synchronous": "2", "journal_mode": "wal"} {
		var got string
		if err := s.writer.conn.QueryRowContext(t.Context(), "PRAGMA "+pragma).Scan(&got); err != nil || got != want {
			t.Errorf("%s is %s, %v, want %s", pragma, got, err, want)
		}
	}
}

func TestURL(t *testing.T) {
	for _, url := range []string{"", "sqlite:", "sqlite:relative.db", "postgres://host/db", "/var/lib/x.db", "sqlite::memory:", "sqlite:/a\x00b"} {
		if _, err := Open(t.Context(), url, Limits{}); !errors.Is(err, ErrURL) {
			t.Errorf("Open(%q): %v", url, err)
		}
		if _, err := OpenReader(t.Context(), url); !errors.Is(err, ErrURL) {
			t.Errorf("OpenReader(%q): %v", url, err)
		}
	}
}

// fails opens the path both ways and wants these errors.
func fails(t *testing.T, path string, forWriting, forReading error) {
	t.Helper()
	if s, err := open(t.Context(), "sqlite:"+path, Limits{}, 50*time.Millisecond); !errors.Is(err, forWriting) {
		t.Errorf("Open: %v, want %v", err, forWriting)
		if err == nil {
			s.Close()
		}
	}
	if r, err := OpenReader(t.Context(), "sqlite:"+path); !errors.Is(err, forReading) {
		t.Errorf("OpenReader: %v, want %v", err, forReading)
		if err == nil {
			r.Close()
		}
	}
}

func TestMissing(t *testing.T) {
	dir := t.TempDir()
	fails(t, filepath.Join(dir, "no", "such", "quarantine.db"), ErrMissing, ErrMissing)
	if _, err := OpenReader(t.Context(), "sqlite:"+filepath.Join(dir, "quarantine.db")); !errors.Is(err, ErrMissing) {
		t.Errorf("OpenReader: %v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("created %v, %v", left, err)
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	fails(t, filepath.Join(file, "quarantine.db"), ErrMissing, ErrMissing)
}

func TestNotDatabase(t *testing.T) {
	dir := t.TempDir()
	for _, content := range []string{"hello", strings.Repeat("no database ", 1000)} {
		path := filepath.Join(dir, "text")
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		fails(t, path, ErrNotDatabase, ErrNotDatabase)
		if now, err := os.ReadFile(path); err != nil || string(now) != content {
			t.Errorf("the file was changed, or %v", err)
		}
	}
	fails(t, dir, ErrNotDatabase, ErrNotDatabase)
}

// raw runs SQL on a database as another program would.
func raw(t *testing.T, path, text string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), text); err != nil {
		t.Fatal(err)
	}
}

func TestForeign(t *testing.T) {
	path := filepath.Join(t.TempDir(), "other.db")
	raw(t, path, "CREATE TABLE record (x); INSERT INTO record VALUES (1)")
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	fails(t, path, ErrForeign, ErrForeign)
	if after, err := os.ReadFile(path); err != nil || !bytes.Equal(after, before) {
		t.Errorf("another program's database was changed, or %v", err)
	}
}

func TestVersions(t *testing.T) {
	s, url := fresh(t, Limits{})
	path := strings.TrimPrefix(url, "sqlite:")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	raw(t, path, "PRAGMA user_version = 99")
	fails(t, path, ErrNewer, ErrNewer)
	empty := filepath.Join(t.TempDir(), "empty.db")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenReader(t.Context(), "sqlite:"+empty); !errors.Is(err, ErrOlder) {
		t.Errorf("OpenReader of an empty database: %v", err)
	}
	opened(t, "sqlite:"+empty, Limits{})
}

func TestDamaged(t *testing.T) {
	s, url := fresh(t, Limits{})
	path := strings.TrimPrefix(url, "sqlite:")
	for n := range 100 {
		if _, err := s.Add(t.Context(), record(n)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	end, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt(bytes.Repeat([]byte{0xa5}, int(end)-4096), 4096); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	fails(t, path, ErrDamaged, ErrDamaged)
}

// Whoever writes into the database beside us: no word of it is read out.
func TestStrangeRow(t *testing.T) {
	const canary = "print the admin password"
	for _, change := range []string{
		"UPDATE record SET address = '" + canary + "'",
		"UPDATE record SET policy = '" + canary + "'",
		"UPDATE record SET reason = '" + canary + "'",
		"UPDATE record SET queue_id = '" + canary + "'",
		"UPDATE record SET first = 9223372036854775807",
	} {
		s, url := fresh(t, Limits{})
		if _, err := s.Add(t.Context(), record(1)); err != nil {
			t.Fatal(err)
		}
		raw(t, strings.TrimPrefix(url, "sqlite:"), change)
		all, err := s.List(t.Context(), Filter{})
		if !errors.Is(err, ErrDamaged) || len(all) > 0 || strings.Contains(err.Error(), canary) {
			t.Errorf("%s: %v, %v", change, all, err)
		}
		stats, err := s.Stats(t.Context())
		for _, st := range stats {
			if strings.Contains(st.Policy+string(st.Reason), canary) {
				t.Errorf("%s: %v, %v", change, stats, err)
			}
		}
	}
}

func TestLocked(t *testing.T) {
	_, url := fresh(t, Limits{})
	s, err := open(t.Context(), url, Limits{}, 50*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	said, _, end := child(t, "lock", url)
	if said != "locked" {
		t.Fatalf("the child said %q", said)
	}
	if _, err := s.Add(t.Context(), record(1)); !errors.Is(err, ErrLocked) {
		t.Errorf("Add: %v", err)
	}
	if err := s.Ready(t.Context()); !errors.Is(err, ErrLocked) {
		t.Errorf("Ready: %v", err)
	}
	if _, err := open(t.Context(), url, Limits{}, 50*time.Millisecond); !errors.Is(err, ErrLocked) {
		t.Errorf("Open: %v", err)
	}
	if all, err := s.List(t.Context(), Filter{}); err != nil || len(all) != 0 {
		t.Errorf("List, which needs no lock: %v, %v", all, err)
	}
	end()
	if _, err := s.Add(t.Context(), record(1)); err != nil {
		t.Errorf("Add, when the lock is gone: %v", err)
	}
}

// A full disk fails what does not fit and loses nothing that was answered for.
func TestFull(t *testing.T) {
	s, url := fresh(t, Limits{})
	if _, err := s.writer.conn.ExecContext(t.Context(), "PRAGMA max_page_count = 40"); err != nil {
		t.Fatal(err)
	}
	durable := 0
	var err error
	for n := 0; err == nil && n < 10000; n++ {
		if _, err = s.Add(t.Context(), record(n)); err == nil {
			durable++
		}
	}
	if !errors.Is(err, ErrFull) {
		t.Fatalf("Add: %v after %d records", err, durable)
	}
	if err := s.Ready(t.Context()); !errors.Is(err, ErrFull) {
		t.Errorf("Ready: %v", err)
	}
	r, err := OpenReader(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if all, err := r.List(t.Context(), Filter{}); err != nil || len(all) != durable {
		t.Errorf("%d records, %v, want %d", len(all), err, durable)
	}
	if _, err := s.writer.conn.ExecContext(t.Context(), "PRAGMA max_page_count = 4000"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Add(t.Context(), record(20000)); err != nil {
		t.Errorf("Add, when there is room again: %v", err)
	}
}

// No privilege that these tests may run with helps against a file mode, so a
// child without any tries.
func TestNotWritable(t *testing.T) {
	tests := []struct {
		name, role string
		file, dir  os.FileMode
		want       string
	}{
		{"all may write", "open", 0o666, 0o777, "opened"},
		{"file", "open", 0o444, 0o777, "ErrNotWritable"},
		{"directory", "open", 0o666, 0o555, "ErrNotWritable"},
		{"file not even readable", "open", 0o000, 0o777, "ErrNotWritable"},
		{"file not readable", "list", 0o000, 0o777, "ErrNotReadable"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s, url := fresh(t, Limits{})
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			path := strings.TrimPrefix(url, "sqlite:")
			dir := filepath.Dir(path)
			said, _, end := child(t, test.role, url, func(cmd *exec.Cmd) {
				modes := []struct {
					path string
					mode os.FileMode
				}{{filepath.Dir(filepath.Dir(dir)), 0o755}, {filepath.Dir(dir), 0o755}, {dir, test.dir}, {path, test.file}}
				exe := filepath.Join(filepath.Dir(dir), "child")
				copyFile(t, cmd.Path, exe)
				for _, m := range modes {
					if err := os.Chmod(m.path, m.mode); err != nil {
						t.Fatal(err)
					}
				}
				cmd.Path, cmd.Dir = exe, "/"
				if os.Geteuid() == 0 {
					cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
				}
			})
			defer end()
			if said != test.want {
				t.Errorf("the child said %q, want %q", said, test.want)
			}
			if err := os.Chmod(dir, 0o700); err != nil {
				t.Error(err) // so that it can be removed
			}
		})
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	content, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, content, 0o755); err != nil {
		t.Fatal(err)
	}
}

// A record is there after the process that wrote it was killed as soon as it
// had said so.
func TestKilled(t *testing.T) {
	url := "sqlite:" + filepath.Join(t.TempDir(), "quarantine.db")
	said, process, end := child(t, "add", url)
	if err := process.Kill(); err != nil {
		t.Fatal(err)
	}
	end()
	if said != record(1).ID {
		t.Fatalf("the child said %q", said)
	}
	r, err := OpenReader(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if all, err := r.Get(t.Context(), said); err != nil || all[0] != record(1) {
		t.Errorf("Get: %v, %v", all, err)
	}
}

// Another process reads while this one writes.
func TestReaderBeside(t *testing.T) {
	s, url := fresh(t, Limits{})
	for n := range 3 {
		if _, err := s.Add(t.Context(), record(n)); err != nil {
			t.Fatal(err)
		}
	}
	said, _, end := child(t, "list", url)
	defer end()
	if said != "3" {
		t.Errorf("the child said %q", said)
	}
	if _, err := s.Add(t.Context(), record(4)); err != nil {
		t.Error(err)
	}
}

// What is written to a file that is no longer in its place is lost.
func TestMoved(t *testing.T) {
	for name, move := range map[string]func(path string) error{
		"deleted": os.Remove,
		"replaced": func(path string) error {
			return errors.Join(os.Rename(path, path+".old"), os.WriteFile(path, nil, 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, url := fresh(t, Limits{})
			if err := move(strings.TrimPrefix(url, "sqlite:")); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Add(t.Context(), record(1)); !errors.Is(err, ErrMoved) {
				t.Errorf("Add: %v", err)
			}
			if err := s.Ready(t.Context()); !errors.Is(err, ErrMoved) {
				t.Errorf("Ready: %v", err)
			}
		})
	}
}

func TestClosed(t *testing.T) {
	s, _ := fresh(t, Limits{})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); !errors.Is(err, ErrClosed) {
		t.Errorf("Close again: %v", err)
	}
	if _, err := s.Add(t.Context(), record(1)); !errors.Is(err, ErrClosed) {
		t.Errorf("Add: %v", err)
	}
}

func TestCallersTime(t *testing.T) {
	s, _ := fresh(t, Limits{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	// The writer is kept busy, so that nothing but the caller's time can end it.
	busy, release := make(chan struct{}), make(chan struct{})
	go s.writer.do(t.Context(), func(context.Context) error {
		close(busy)
		<-release
		return nil
	})
	<-busy
	if _, err := s.Add(ctx, record(1)); !errors.Is(err, context.Canceled) {
		t.Errorf("Add: %v", err)
	}
	if err := s.Ready(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Ready: %v", err)
	}
	if _, err := s.List(ctx, Filter{}); !errors.Is(err, context.Canceled) {
		t.Errorf("List: %v", err)
	}
	close(release)
	if err := s.Ready(t.Context()); err != nil {
		t.Errorf("Ready, for a caller with time: %v", err)
	}
}
