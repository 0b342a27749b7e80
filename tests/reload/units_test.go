package reload

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// units is the folder of what systemd reads.
const units = "../../deploy/systemd"

// exposure is what systemd-analyze(1) may make of the sandbox, in tenths: 0 is
// all closed, 100 all open. What is left is the network, for DNS and the status
// page.
const exposure = "11"

// TestUnits has systemd's own tools look at the units.
func TestUnits(t *testing.T) {
	s := bring(t)
	t.Run("verify", s.testVerify)
	t.Run("sandbox", s.testSandbox)
	t.Run("accounts", s.testAccounts)
	t.Run("reload-command", testReloadCommand)
}

// systemd is Debian's, unpacked.
type systemd struct {
	root string
	env  []string
}

func bring(t *testing.T) systemd {
	t.Helper()
	if out, err := exec.Command("../../scripts/bring", "systemd").CombinedOutput(); err != nil {
		t.Fatalf("scripts/bring systemd: %v\n%s", err, out)
	}
	root, err := filepath.Abs("../../build/systemd/root")
	if err != nil {
		t.Fatal(err)
	}
	var libraries []string
	for _, pattern := range []string{"usr/lib/*/systemd", "lib/systemd", "usr/lib/systemd", "usr/lib/*-linux-gnu*", "lib/*-linux-gnu*"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		libraries = append(libraries, found...)
	}
	return systemd{root, append(os.Environ(), "LD_LIBRARY_PATH="+strings.Join(libraries, ":"))}
}

// run runs one of its tools, wherever that stands, and returns all it said.
func (s systemd) run(t *testing.T, tool string, args ...string) (string, error) {
	t.Helper()
	for _, folder := range []string{"usr/bin", "bin"} {
		path := filepath.Join(s.root, folder, tool)
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		cmd := exec.Command(path, args...)
		cmd.Env = s.env
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	t.Fatalf("no %s among what was brought", tool)
	return "", nil
}

// write writes a file into a root of the test's own.
func write(t *testing.T, root, path, text string, mode fs.FileMode) {
	t.Helper()
	path = filepath.Join(root, path)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(units, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// testVerify: systemd understands every line. What it does not know it only
// warns of, so it must not say a word.
func (s systemd) testVerify(t *testing.T) {
	root := t.TempDir()
	for _, folder := range []string{"lib", "usr/lib"} {
		from := filepath.Join(s.root, folder, "systemd/system")
		if _, err := os.Stat(from); err == nil {
			if err := os.CopyFS(filepath.Join(root, "usr/lib/systemd/system"), os.DirFS(from)); err != nil {
				t.Fatal(err)
			}
			break
		}
	}
	for _, name := range []string{"stile.service", "stile.socket"} {
		write(t, root, "usr/lib/systemd/system/"+name, read(t, name), 0o644)
	}
	for _, program := range []string{"usr/bin/stile", "bin/sh", "bin/kill"} {
		write(t, root, program, "", 0o755)
	}
	verify := func() (string, error) {
		return s.run(t, "systemd-analyze", "verify", "--man=no", "--root="+root, "stile.service", "stile.socket")
	}
	if out, err := verify(); err != nil || out != "" {
		t.Errorf("%v\n%s", err, out)
	}
	write(t, root, "usr/lib/systemd/system/stile.service", strings.Replace(read(t, "stile.service"), "WatchdogSec", "WatchDogSec", 1), 0o644)
	if out, _ := verify(); out == "" {
		t.Error("a misspelt key is not told")
	}
}

func (s systemd) testSandbox(t *testing.T) {
	out, err := s.run(t, "systemd-analyze", "security", "--offline=true", "--no-pager", "--threshold="+exposure,
		filepath.Join(units, "stile.service"))
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	t.Log(lines[len(lines)-1])
}

// testAccounts makes the account and the socket's folder in an empty root.
func (s systemd) testAccounts(t *testing.T) {
	root := t.TempDir()
	write(t, root, "etc/passwd", "root:x:0:0:root:/root:/bin/sh\n", 0o644)
	write(t, root, "etc/group", "root:x:0:\npostfix:x:1234:\n", 0o644)
	write(t, root, "var/spool/postfix/.there", "", 0o644)
	write(t, root, "usr/lib/sysusers.d/stile.conf", read(t, "stile.sysusers.conf"), 0o644)
	write(t, root, "usr/lib/tmpfiles.d/stile.conf", read(t, "stile.tmpfiles.conf"), 0o644)
	for _, tool := range [][]string{{"systemd-sysusers", "--root=" + root}, {"systemd-tmpfiles", "--root=" + root, "--create"}} {
		if out, err := s.run(t, tool[0], tool[1:]...); err != nil {
			t.Fatalf("%s: %v\n%s", tool[0], err, out)
		}
	}
	passwd, err := os.ReadFile(filepath.Join(root, "etc/passwd"))
	if err != nil {
		t.Fatal(err)
	}
	account := regexp.MustCompile(`(?m)^stile:x:(\d+):\d+:stile milter:/var/lib/stile:.*nologin$`).FindSubmatch(passwd)
	if account == nil {
		t.Fatalf("no account:\n%s", passwd)
	}
	info, err := os.Stat(filepath.Join(root, "var/spool/postfix/stile"))
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode() != fs.ModeDir|fs.ModeSetgid|0o750 {
		t.Errorf("its mode is %v", info.Mode())
	}
	if owner := info.Sys().(*syscall.Stat_t); owner.Gid != 1234 {
		t.Errorf("its group is %d", owner.Gid)
	}
}

// testReloadCommand runs what the unit runs before a reload: an error in the
// config stops it, a warning does not.
func testReloadCommand(t *testing.T) {
	line := regexp.MustCompile(`(?m)^ExecReload=\+/bin/sh -c '(.*stile check.*)'$`).FindStringSubmatch(read(t, "stile.service"))
	if line == nil {
		t.Fatal("the unit checks nothing before a reload")
	}
	for status, want := range map[string]bool{"0": true, "1": true, "2": false, "75": false} {
		root := t.TempDir()
		write(t, root, "stile", "#!/bin/sh\nexit "+status+"\n", 0o755)
		script := strings.NewReplacer("/usr/bin/stile", filepath.Join(root, "stile"), "$$", "$").Replace(line[1])
		if err := exec.Command("/bin/sh", "-c", script).Run(); (err == nil) != want {
			t.Errorf("stile check ends with %s: %v", status, err)
		}
	}
}
