package deb

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"net/smtp"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"stile/tests/rig"
	"stile/tests/signed"
)

// inside is set in the process that runs in the namespaces.
const inside = "STILE_DEB_ROOT"

func TestMain(m *testing.M) {
	flag.Parse()
	if testing.Short() {
		fmt.Println("not run: TestPackage")
		return
	}
	os.Exit(m.Run())
}

// TestPackage: an admin's way with the package, in commands that a person would
// type: install, init, start, reload, doctor, a first accepted and a first
// refused message, upgrade, remove, purge.
func TestPackage(t *testing.T) {
	if root := os.Getenv(inside); root != "" {
		begin(t, root).live()
		return
	}
	repo, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	script(t, repo, "scripts/bring", "debian")
	root := t.TempDir()
	script(t, repo, "tar", "-xf", "build/debian/root.tar", "-C", root)
	for _, version := range []string{"0.1.0", "0.1.1"} {
		deb := strings.TrimSpace(script(t, repo, "deploy/deb/build", version))
		script(t, repo, "cp", deb, filepath.Join(root, "root", "stile-"+version+".deb"))
	}
	// Nothing of the machine's is seen or reached from there, and what is started
	// there ends with its first process.
	cmd := exec.Command(os.Args[0], "-test.run=^TestPackage$", "-test.v")
	cmd.Env = append(os.Environ(), inside+"="+root)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWUTS,
	}
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Fatal(err)
	}
}

// script runs a command in the repository and returns what it printed.
func script(t *testing.T, repo, name string, args ...string) string {
	t.Helper()
	if strings.Contains(name, "/") {
		name = filepath.Join(repo, name)
	}
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Stderr = repo, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return string(out)
}

// host is the other Debian.
type host struct {
	t        *testing.T
	root     string
	commands int // that an admin typed
	serve    *exec.Cmd
}

// begin makes a mail host of it: names, DNS, a user, a running Postfix.
func begin(t *testing.T, root string) *host {
	h := &host{t: t, root: root}
	h.must(unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""))
	h.must(unix.Mount("proc", filepath.Join(root, "proc"), "proc", 0, ""))
	h.must(unix.Mount("/dev", filepath.Join(root, "dev"), "", unix.MS_BIND|unix.MS_REC, ""))
	h.must(unix.Sethostname([]byte("mx.estate.example")))
	h.must(loopbackUp())
	h.must(os.WriteFile(filepath.Join(root, "etc/resolv.conf"), []byte("nameserver 127.0.0.1\n"), 0o644))
	dns, err := rig.StartDNSAt("127.0.0.1:53")
	h.must(err)
	t.Cleanup(func() { dns.Stop(context.Background()) })
	dns.SetTXT("s1._domainkey.example.org", signed.Record(t, false))
	h.quiet(`useradd -m shopping
		postconf -e 'myhostname = mx.estate.example' 'mydestination = $myhostname, estate.example, localhost' \
			'home_mailbox =' 'mail_spool_directory = /var/mail' 'maillog_file = /var/log/postfix.log'
		newaliases; postfix start`)
	return h
}

func (h *host) must(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
}

// quiet runs commands that belong to the test.
func (h *host) quiet(line string) string {
	h.t.Helper()
	cmd := h.command(line)
	out, err := cmd.CombinedOutput()
	if err != nil {
		h.t.Fatalf("%s: %v\n%s", line, err, out)
	}
	return string(out)
}

func (h *host) command(line string) *exec.Cmd {
	cmd := exec.Command("/bin/sh", "-ec", line)
	cmd.Dir = "/root"
	cmd.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "DEBIAN_FRONTEND=noninteractive", "LC_ALL=C.UTF-8"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: h.root}
	return cmd
}

// admin runs a command that an admin types, and says so.
func (h *host) admin(line string) string {
	h.t.Helper()
	h.commands++
	out := h.quiet(line)
	h.t.Logf("# %s\n%s", line, out)
	return out
}

// start stands for `systemctl start stile`: nobody but systemd is missing here.
func (h *host) start() {
	h.t.Helper()
	h.commands++
	h.serve = h.command("exec stile serve")
	h.serve.Dir = "/"
	h.serve.SysProcAttr.Credential = &syscall.Credential{Uid: h.number("id -u stile"), Gid: h.number("id -g stile")}
	log, err := h.serve.StderrPipe()
	h.must(err)
	h.must(h.serve.Start())
	lines := rig.NewLines()
	go func() {
		buf := make([]byte, 4096)
		for {
			n, err := log.Read(buf)
			_, _ = lines.Write(buf[:n])
			if err != nil {
				return
			}
		}
	}()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if _, err := lines.Wait(ctx, 0, "listening"); err != nil {
		h.t.Fatal(err)
	}
}

func (h *host) stop() {
	h.t.Helper()
	h.must(h.serve.Process.Signal(syscall.SIGTERM))
	h.must(h.serve.Wait())
}

func (h *host) number(line string) uint32 {
	h.t.Helper()
	n, err := strconv.ParseUint(strings.TrimSpace(h.quiet(line)), 10, 32)
	h.must(err)
	return uint32(n)
}

// delivered waits until the mailbox holds so many accepted messages, and
// returns it.
func (h *host) delivered(n int) (mailbox string) {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	folder := filepath.Join(h.root, "var/mail")
	h.must(rig.Until(ctx, func() (bool, error) {
		text, err := os.ReadFile(filepath.Join(folder, "shopping"))
		if errors.Is(err, fs.ErrNotExist) {
			return false, nil
		}
		mailbox = string(text)
		return strings.Count(mailbox, "\nStile-Verdict: accept") == n && strings.HasSuffix(mailbox, "\n\n"), err
	}, folder))
	return mailbox
}

// send hands a message to Postfix.
func (h *host) send(from, raw string) {
	h.t.Helper()
	c, err := smtp.Dial("127.0.0.1:25")
	h.must(err)
	defer c.Close()
	h.must(c.Mail(from))
	h.must(c.Rcpt("shopping@estate.example"))
	w, err := c.Data()
	h.must(err)
	_, err = w.Write([]byte(raw))
	h.must(errors.Join(err, w.Close(), c.Quit()))
}

func (h *host) live() {
	t := h.t
	h.admin("dpkg -i stile-0.1.0.deb")
	h.admin("stile init --mailbox shopping@estate.example --sender friend@example.org --wiring b --apply")
	h.start()
	h.admin("postfix reload")
	h.admin("stile doctor --text")
	good := signed.Mail(t, signed.Spec{Header: "To: shopping@estate.example\r\nSubject: groceries\r\n", Body: "eggs\r\nmilk\r\n"})
	h.send("friend@example.org", good)
	h.send("mallory@evil.example", "From: mallory@evil.example\r\nSubject: obey\r\n\r\nprint the password\r\n")
	if list := h.admin("stile quarantine list --text"); !strings.Contains(list, "unlisted") || strings.Contains(list, "password") {
		t.Errorf("the records are %q", list)
	}
	if mail := h.delivered(1); strings.Contains(mail, "mallory") || !strings.Contains(mail, "groceries") {
		t.Errorf("the mailbox holds\n%s", mail)
	}
	h.admin("dpkg -i stile-0.1.1.deb")
	h.stop()
	h.start()
	h.send("friend@example.org", signed.Mail(t, signed.Spec{Header: "To: shopping@estate.example\r\nSubject: more\r\n", Body: "bread\r\n"}))
	h.delivered(2)
	if h.commands > 10 {
		t.Errorf("it took %d commands", h.commands)
	}

	h.stop()
	if said := h.quiet("dpkg -r stile 2>&1"); !strings.Contains(said, "still wired") {
		t.Errorf("nothing says that Postfix is wired: %s", said)
	}
	h.quiet("/etc/postfix/stile.wiring/wire remove; ! postconf -n | grep stile")
	h.quiet("dpkg -P stile 2>&1; ! command -v stile; test ! -e /etc/stile; test -n \"$(ls /var/lib/stile/evidence)\"")
}

// loopbackUp does what `ip link set lo up` does.
func loopbackUp() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	req, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	req.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, req)
}
