package quarantine

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A child is this test binary, run once more as another process. It says one
// line and ends with its standard input, unless it is killed before.
const childOf = "STILE_QUARANTINE_CHILD"

func TestMain(m *testing.M) {
	if role := os.Getenv(childOf); role != "" {
		say, err := children[role](os.Args[1])
		if err != nil {
			say = name(err)
		}
		fmt.Println(say)
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// children are the roles, by name; the argument is the store's URL.
var children = map[string]func(url string) (string, error){
	// add writes a record and keeps the store open.
	"add": func(url string) (string, error) {
		s, err := Open(context.Background(), url, Limits{})
		if err != nil {
			return "", err
		}
		return s.Add(context.Background(), record(1))
	},
	// keep remembers an acceptance and keeps the store open.
	"keep": func(url string) (string, error) {
		s, err := Open(context.Background(), url, Limits{})
		if err != nil {
			return "", err
		}
		return "kept", s.Keep(context.Background(), []Acceptance{acceptance("shopping", noon, proof(1, 1, 2))})
	},
	// list reads.
	"list": func(url string) (string, error) {
		r, err := OpenReader(context.Background(), url)
		if err != nil {
			return "", err
		}
		all, err := r.List(context.Background(), Filter{})
		return fmt.Sprint(len(all)), err
	},
	// lock takes the write lock and keeps it.
	"lock": func(url string) (string, error) {
		db, err := sql.Open("sqlite", strings.TrimPrefix(url, "sqlite:"))
		if err != nil {
			return "", err
		}
		conn, err := db.Conn(context.Background())
		if err != nil {
			return "", err
		}
		_, err = conn.ExecContext(context.Background(), "BEGIN IMMEDIATE")
		return "locked", err
	},
	// open opens for writing.
	"open": func(url string) (string, error) {
		_, err := open(context.Background(), url, Limits{}, 50*time.Millisecond)
		return "opened", err
	},
}

func init() {
	// seal is killed in the middle of sealing.
	children["seal"] = func(dir string) (string, error) {
		e, err := OpenEvidence(options(dir))
		if err != nil {
			return "", err
		}
		err = e.Seal(context.Background(), original(1, 10*chunk), func(w io.Writer) error {
			if _, err := w.Write(make([]byte, 5*chunk)); err != nil {
				return err
			}
			fmt.Println("sealing")
			_, err := io.Copy(io.Discard, os.Stdin)
			return err
		})
		return "", err
	}
	// readonly has its file system made read-only under it.
	children["readonly"] = func(dir string) (string, error) {
		if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=256k,mode=0700"); err != nil {
			return "", err
		}
		e, err := OpenEvidence(options(dir))
		if err != nil {
			return "", err
		}
		defer e.Close()
		if err := unix.Mount("", dir, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
			return "", err
		}
		sealed := e.Seal(context.Background(), original(1, 1), text([]byte("x")))
		return fmt.Sprint(errors.Is(CheckEvidence(dir), syscall.EROFS), errors.Is(e.Ready(), syscall.EROFS), errors.Is(sealed, syscall.EROFS)), nil
	}
	// full seals on a file system of 256 KiB, in a mount namespace of its own.
	children["full"] = func(dir string) (string, error) {
		if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=256k,mode=0700"); err != nil {
			return "", err
		}
		e, err := OpenEvidence(options(dir))
		if err != nil {
			return "", err
		}
		defer e.Close()
		err = e.Seal(context.Background(), original(1, 10*chunk), text(make([]byte, 10*chunk)))
		names, _ := os.ReadDir(dir)
		files, octets := held(e)
		after := e.Seal(context.Background(), original(2, chunk), text(make([]byte, chunk)))
		return fmt.Sprint(errors.Is(err, syscall.ENOSPC), errors.Is(err, ErrEvidence), len(names), files, octets, after), nil
	}
}

// name is the name of the error's class.
func name(err error) string {
	for n, class := range map[string]error{
		"ErrLocked": ErrLocked, "ErrNotWritable": ErrNotWritable, "ErrNotReadable": ErrNotReadable, "ErrMissing": ErrMissing,
	} {
		if errors.Is(err, class) {
			return n
		}
	}
	return err.Error()
}

// child starts a child and returns what it says. end ends it.
func child(t *testing.T, role, url string, change ...func(*exec.Cmd)) (said string, process *os.Process, end func()) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe, url)
	cmd.Env = append(os.Environ(), childOf+"="+role)
	cmd.Stderr = os.Stderr
	for _, c := range change {
		c(cmd)
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the child said %q, %v", line, err)
	}
	return strings.TrimSuffix(line, "\n"), cmd.Process, func() {
		in.Close()
		_ = cmd.Wait() // it may have been killed
	}
}
