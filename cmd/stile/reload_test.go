package main

import (
	"bufio"
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"stile/config"
	"stile/quarantine"
)

// hangUp sends SIGHUP to this process, whose "serve" takes it.
func hangUp(t *testing.T) {
	t.Helper()
	if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
}

// logged reads the log until a line holds all the words, and returns what came.
func logged(t *testing.T, log *bufio.Scanner, words ...string) string {
	t.Helper()
	var text strings.Builder
	for log.Scan() {
		text.WriteString(log.Text() + "\n")
		missing := ""
		for _, w := range words {
			if !strings.Contains(log.Text(), w) {
				missing = w
			}
		}
		if missing == "" {
			return text.String()
		}
	}
	t.Fatalf("no line with %q:\n%s", words, text.String())
	return ""
}

// rewrite replaces a text in a file.
func rewrite(t *testing.T, path, old, new string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), old) {
		t.Fatalf("%s does not hold %q", path, old)
	}
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(string(text), old, new)), 0o600); err != nil {
		t.Fatal(err)
	}
}

// serving starts "serve" with a status page and returns how to read it.
func serving(t *testing.T) (path string, log *bufio.Scanner, exit <-chan int, page func() string) {
	t.Helper()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := free.Addr().String()
	free.Close()
	_, path = world(t)
	rewrite(t, path, `metrics = ""`, `metrics = "`+at+`"`)
	log, exit = started(t, path)
	return path, log, exit, func() string { return get(t, "http://"+at+"/metrics") }
}

func TestReloadBySignal(t *testing.T) {
	path, log, exit, page := serving(t)
	hangUp(t)
	logged(t, log, "msg=reload", "trigger=signal", "nothing is different")

	// What is live is in force, what is not is named.
	rewrite(t, path, "[[mailbox]]", "[[mailbox]]\nid = \"aunt\"\naddress = \"aunt@estate.example\"\nsenders = [\"nephew@example.org\"]\n[[mailbox]]")
	rewrite(t, path, "[evidence]", "max_message = \"1MiB\"\n[records]\nmax = 5\n[evidence]")
	hangUp(t)
	text := logged(t, log, "msg=reload", "in force")
	for _, want := range []string{
		`event="mailbox added" policy=aunt senders_added=1`, `event=changed key=max_message`,
		`level=WARN msg=reload trigger=signal event="needs a restart; until then the old value holds" key=records`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("not in the log: %s\n%s", want, text)
		}
	}
	if strings.Contains(text, "nephew") {
		t.Errorf("the log holds an address:\n%s", text)
	}

	// Nothing of a broken file is taken, and nothing of it is shown.
	rewrite(t, path, "nephew@example.org", "secret-nephew")
	rewrite(t, path, `max_message = "1MiB"`, `max_message = "2MiB"`)
	hangUp(t)
	text = logged(t, log, "msg=reload", "event=wrong", "at="+path)
	if strings.Contains(text, "nephew") {
		t.Errorf("the log quotes the file:\n%s", text)
	}

	// Nor of one that would leave a mailbox open.
	rewrite(t, path, "secret-nephew", "nephew@example.org")
	rewrite(t, path, "aunt@estate.example", "aunty@estate.example")
	hangUp(t)
	logged(t, log, "level=ERROR", "msg=reload", "dropped=[aunt]")

	got := page()
	for _, want := range []string{
		`stile_messages_total{policy="aunt",reason="none",verdict="accept"} 0`,
		`stile_reloads_total{result="unchanged",trigger="signal"} 1`,
		`stile_reloads_total{result="applied",trigger="signal"} 1`,
		`stile_reloads_total{result="failed",trigger="signal"} 1`,
		`stile_reloads_total{result="dropping",trigger="signal"} 1`,
		"stile_last_reload_successful 0", "stile_restart_needed_keys 1",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the metrics lack %s", want)
		}
	}

	rewrite(t, path, "aunty@estate.example", "aunt@estate.example")
	rewrite(t, path, "max = 5\n", "")
	hangUp(t)
	logged(t, log, "msg=reload", "in force")
	if got := page(); !strings.Contains(got, "stile_last_reload_successful 1") || !strings.Contains(got, "stile_restart_needed_keys 0") {
		t.Error("the metrics still tell of what was mended")
	}
	stopped(t, log, exit)
}

// A file counts as changed when it is at rest, once.
func TestWatch(t *testing.T) {
	path := filepath.Join(t.TempDir(), "senders")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("friend@example.org\n")
	c := &config.Config{Lists: []config.List{{Path: path, State: config.Look(path)}}}
	w := newWatch(c)
	look := func(what string, want bool) {
		t.Helper()
		if got := w.changed(c); got != want {
			t.Errorf("%s: %v", what, got)
		}
	}
	look("nothing happened", false)
	write("friend@example.org\naunt@")
	look("it is being written", false)
	write("friend@example.org\naunt@example.org\n")
	look("it is still being written", false)
	look("it is at rest", true)
	look("it was read", false)
	if err := os.Rename(path, path+".old"); err != nil {
		t.Fatal(err)
	}
	look("it is gone", false)
	look("it stays away", true)
	look("that is known", false)
	if err := os.Rename(path+".old", path); err != nil {
		t.Fatal(err)
	}
	look("it is back", false)
	look("it is back for good", true)
}

// manager stands in for systemd.
func manager(t *testing.T) *net.UnixConn {
	t.Helper()
	path := filepath.Join(t.TempDir(), "notify")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	t.Setenv("NOTIFY_SOCKET", path)
	return conn
}

// heard reads the next state that is no sign of life.
func heard(t *testing.T, conn *net.UnixConn) string {
	t.Helper()
	for {
		if text := heardAny(t, conn); text != stateAlive {
			return text
		}
	}
}

func heardAny(t *testing.T, conn *net.UnixConn) string {
	t.Helper()
	if err := conn.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 4096)
	n, err := conn.Read(b)
	if err != nil {
		t.Fatal(err)
	}
	return string(b[:n])
}

func TestManagerIsTold(t *testing.T) {
	conn := manager(t)
	t.Setenv("WATCHDOG_USEC", "300000")
	t.Setenv("WATCHDOG_PID", strconv.Itoa(os.Getpid()))
	_, path := world(t)
	log, exit := started(t, path)
	if got := heard(t, conn); got != "READY=1" {
		t.Errorf("first %q", got)
	}
	for range 2 {
		for heardAny(t, conn) != "WATCHDOG=1" {
		}
	}
	hangUp(t)
	if got := heard(t, conn); !strings.HasPrefix(got, "RELOADING=1\nMONOTONIC_USEC=") {
		t.Errorf("at the reload %q", got)
	}
	logged(t, log, "nothing is different")
	if got := heard(t, conn); got != "READY=1" {
		t.Errorf("after it %q", got)
	}
	stopped(t, log, exit)
	if got := heard(t, conn); got != "STOPPING=1" {
		t.Errorf("at the end %q", got)
	}
}

// While stile does not live the manager hears nothing.
func TestNoSignOfLife(t *testing.T) {
	conn := manager(t)
	ctx, cancel := context.WithCancel(t.Context())
	asked := 0
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		tellAlive(ctx, slog.New(slog.DiscardHandler), time.Millisecond, func(context.Context) error {
			if asked++; asked < 3 {
				return errStuck
			}
			return nil
		})
	}()
	if got := heardAny(t, conn); got != stateAlive {
		t.Errorf("it hears %q", got)
	}
	cancel()
	<-ended
	if asked < 3 {
		t.Errorf("it heard of life after %d questions", asked)
	}
}

// stile lives while it takes connections and its store takes records.
func TestLive(t *testing.T) {
	dir := t.TempDir()
	store, err := quarantine.Open(t.Context(), "sqlite:"+filepath.Join(dir, "quarantine.db"), quarantine.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	taking, stuck := func() bool { return true }, func() bool { return false }
	if err := live(t.Context(), taking, store); err != nil {
		t.Errorf("it lives, but: %v", err)
	}
	if err := live(t.Context(), stuck, store); !errors.Is(err, errStuck) {
		t.Errorf("it is stuck, but: %v", err)
	}
	// Its answer holds for some seconds, so another one is asked.
	other, err := quarantine.Open(t.Context(), "sqlite:"+filepath.Join(dir, "other.db"), quarantine.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(store.Close(), other.Close()); err != nil {
		t.Fatal(err)
	}
	if err := live(t.Context(), taking, other); err == nil {
		t.Error("its store takes no record, and it is said to live")
	}
}

// A watchdog of another process is not ours.
func TestWatchdog(t *testing.T) {
	for _, x := range []struct {
		pid, usec string
		want      time.Duration
	}{
		{"", "", 0}, {"", "1000", time.Millisecond}, {strconv.Itoa(os.Getpid()), "1000", time.Millisecond},
		{"1", "1000", 0}, {"", "-1", 0}, {"", "x", 0},
	} {
		t.Setenv("WATCHDOG_PID", x.pid)
		t.Setenv("WATCHDOG_USEC", x.usec)
		if got := watchdog(); got != x.want {
			t.Errorf("WATCHDOG_PID=%s WATCHDOG_USEC=%s: %v, want %v", x.pid, x.usec, got, x.want)
		}
	}
}

// The key that the unit hands over is taken, the path's own where it does not.
func TestCredential(t *testing.T) {
	_, path := world(t)
	folder := t.TempDir()
	key := filepath.Join(filepath.Dir(path), "seal.key")
	t.Setenv("CREDENTIALS_DIRECTORY", folder)
	if got := handedOver(key); got != key {
		t.Errorf("none was handed over, and it is %s", got)
	}
	handed := filepath.Join(folder, "seal.key")
	if err := os.Rename(key, handed); err != nil {
		t.Fatal(err)
	}
	if got := handedOver(key); got != handed {
		t.Errorf("it is %s, want %s", got, handed)
	}
	log, exit := started(t, path)
	stopped(t, log, exit)
}

// A config that names the very socket that systemd hands over takes it; one that
// names another does not listen beside it.
func TestTakesOver(t *testing.T) {
	const child = "STILE_TEST_LISTEN"
	if path := os.Getenv(child); path != "" {
		ln, err := listen(config.Endpoint{Network: "unix", Address: path})
		if err != nil {
			t.Fatal(err)
		}
		ln.Close()
		return
	}
	path := filepath.Join(t.TempDir(), "s")
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: path})
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	socket, err := ln.File()
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	for named, taken := range map[string]bool{path: true, path + "2": false} {
		// A shell knows the id of the process that it becomes.
		cmd := exec.Command("sh", "-c", `LISTEN_PID=$$ exec "$0" -test.run='^TestTakesOver$'`, os.Args[0])
		cmd.Env = append(os.Environ(), "LISTEN_FDS=1", child+"="+named)
		cmd.ExtraFiles = []*os.File{socket}
		out, err := cmd.CombinedOutput()
		if (err == nil) != taken {
			t.Errorf("%s: %v\n%s", filepath.Base(named), err, out)
		}
	}
	if _, err := os.Lstat(path + "2"); err == nil {
		t.Error("another socket was made")
	}
}
