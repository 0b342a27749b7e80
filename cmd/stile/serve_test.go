package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"filippo.io/age"

	"stile/config"
	"stile/quarantine"
)

// world makes a folder with a config, a key and messages, and returns the
// config's path.
func world(t *testing.T) (dir, path string) {
	t.Helper()
	dir = t.TempDir()
	for name, text := range files(t, dir) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	a := app{stdout: io.Discard, stderr: io.Discard}
	if code := a.run([]string{"key", "generate", "-o", filepath.Join(dir, "seal.key"), "--name", "mx.estate.example"}); code != 0 {
		t.Fatalf("key generate: exit %d", code)
	}
	return dir, filepath.Join(dir, "stile.toml")
}

// started runs "stile serve" until it listens, and returns its log, line by
// line, and its exit code to come.
func started(t *testing.T, path string) (log *bufio.Scanner, exit <-chan int) {
	t.Helper()
	r, w := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		a := app{stdout: io.Discard, stderr: w}
		ended <- a.run([]string{"serve", "-c", path})
		w.Close()
	}()
	log = bufio.NewScanner(r)
	for log.Scan() {
		if strings.Contains(log.Text(), "msg=listening") {
			return log, ended
		}
	}
	t.Fatalf("it never listened: exit %d", <-ended)
	return nil, nil
}

// stopped sends SIGTERM to this process, whose "serve" takes it, and waits.
func stopped(t *testing.T, log *bufio.Scanner, exit <-chan int) {
	t.Helper()
	if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	for log.Scan() {
	}
	if code := <-exit; code != exitYes {
		t.Errorf("exit %d", code)
	}
}

func TestServe(t *testing.T) {
	dir, path := world(t)
	socket := filepath.Join(dir, "stile.sock")
	log, exit := started(t, path)

	info, err := os.Lstat(socket)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != socketMode {
		t.Errorf("the socket's mode is %v, want %#o", info.Mode().Perm(), socketMode)
	}
	conn, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()

	// A second one does not take the place of the first.
	var out strings.Builder
	second := app{stdout: io.Discard, stderr: &out}
	if code := second.run([]string{"serve", "-c", path}); code != exitError || !strings.Contains(out.String(), "another process answers") {
		t.Errorf("a second serve: exit %d: %s", code, out.String())
	}
	// The CLI reads the store while it runs.
	reader := app{stdout: io.Discard, stderr: io.Discard}
	if code := reader.run([]string{"quarantine", "list", "-c", path}); code != exitYes {
		t.Errorf("quarantine list beside serve: exit %d", code)
	}
	stopped(t, log, exit)
	if _, err := os.Lstat(socket); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the socket is left behind: %v", err)
	}
}

// The socket of a process that was killed is replaced.
func TestServeReplacesDeadSocket(t *testing.T) {
	dir, path := world(t)
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(dir, "stile.sock")})
	if err != nil {
		t.Fatal(err)
	}
	ln.SetUnlinkOnClose(false)
	ln.Close()
	log, exit := started(t, path)
	stopped(t, log, exit)
}

func TestServeStatusPage(t *testing.T) {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer free.Close()
	at := free.Addr().String()
	_, path := world(t)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text = []byte(strings.Replace(string(text), `metrics = ""`, `metrics = "`+at+`"`, 1))
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}

	// The port is in use.
	var out strings.Builder
	a := app{stdout: io.Discard, stderr: &out}
	if code := a.run([]string{"serve", "-c", path}); code != exitError || !strings.Contains(out.String(), "metrics: "+at) {
		t.Errorf("serve with its port in use: exit %d: %s", code, out.String())
	}
	free.Close()

	log, exit := started(t, path)
	for page, want := range map[string]string{"/healthz": "ok", "/readyz": "ready", "/metrics": `stile_messages_total{policy="shopping"`} {
		if got := get(t, "http://"+at+page); !strings.Contains(got, want) {
			t.Errorf("%s is %q", page, got)
		}
	}
	stopped(t, log, exit)
}

// serve takes the evidence directory, has it for itself, and gives it back.
func TestServeEvidence(t *testing.T) {
	dir, path := world(t)
	key, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text = []byte(strings.Replace(string(text), "none = true", fmt.Sprintf("recipients = [%q]\ndir = \"evidence\"", key.Recipient()), 1))
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		log, exit := started(t, path)
		if err := quarantine.CheckEvidence(filepath.Join(dir, "evidence")); err != nil {
			t.Error(err)
		}
		var out strings.Builder
		second := app{stdout: io.Discard, stderr: &out}
		if code := second.run([]string{"serve", "-c", path}); code != exitError || !strings.Contains(out.String(), "another process writes to the evidence directory") {
			t.Errorf("a second serve: exit %d: %s", code, out.String())
		}
		reader := app{stdout: io.Discard, stderr: io.Discard}
		if code := reader.run([]string{"evidence", "list", "-c", path}); code != exitYes {
			t.Errorf("evidence list beside serve: exit %d", code)
		}
		stopped(t, log, exit)
	}
}

func get(t *testing.T, url string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// What systemd did not hand over to this process is not taken.
func TestInherit(t *testing.T) {
	for _, x := range []struct{ pid, fds string }{
		{"", ""}, {"1", "1"}, {strconv.Itoa(os.Getpid()), "2"}, {strconv.Itoa(os.Getpid()), ""},
	} {
		t.Setenv("LISTEN_PID", x.pid)
		t.Setenv("LISTEN_FDS", x.fds)
		if ln, err := listen(config.Endpoint{Network: "systemd"}); err == nil {
			ln.Close()
			t.Errorf("with LISTEN_PID=%s LISTEN_FDS=%s a socket was taken", x.pid, x.fds)
		}
	}
}
