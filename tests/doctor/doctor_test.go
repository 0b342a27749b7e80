package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"stile/doctor"
	"stile/tests/rig"
)

func TestMain(m *testing.M) {
	flag.Parse()
	if testing.Short() {
		for _, name := range []string{"TestSound", "TestBroken", "TestCommand", "TestProbe", "TestProbeRoute"} {
			fmt.Println("not run: " + name)
		}
		return
	}
	os.Exit(m.Run())
}

// TestSound holds that nothing is said of a wiring as contrib/postfix makes it,
// nor of what a careful admin does beside it.
func TestSound(t *testing.T) {
	for _, wiring := range []string{"a", "b"} {
		w := newWorld(t, wiring)
		t.Run("wiring-"+wiring, func(t *testing.T) { w.site(t).sound() })
		for _, v := range variations {
			if v.wiring == wiring {
				t.Run(v.name, func(t *testing.T) {
					s := w.site(t)
					v.vary(s)
					s.sound()
				})
			}
		}
	}
}

// variations are wirings that differ and are sound as well.
var variations = []struct {
	name, wiring string
	vary         func(s *site)
}{
	{"a-with-other-servers", "a", func(s *site) {
		s.submission("smtpd_milters=", "receive_override_options=no_milters")
		s.set("virtual_alias_maps = inline:{ helper@estate.example=errands@agents.example, @old.example=errands@agents.example }",
			"always_bcc = errands@agents.example")
	}},
	{"b-behind-a-signer", "b", func(s *site) { s.set("smtpd_milters = inet:127.0.0.1:8891, $stile_milter") }},
	{"b-by-tcp", "b", func(s *site) {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		must(s.t, err)
		s.t.Cleanup(func() { listener.Close() })
		s.edit("unix:"+s.socket, "inet:"+listener.Addr().String())
		_, port, err := net.SplitHostPort(listener.Addr().String())
		must(s.t, err)
		s.set("stile_milter = { inet:localhost:" + port + ", default_action=tempfail }")
	}},
	{"b-as-debian-has-it", "b", func(s *site) {
		s.postconf("-M", "smtp/inet=smtp inet n - y - 1 postscreen", "smtpd/pass=smtpd pass - - y - - smtpd")
		s.submission("syslog_name=postfix/submission", "smtpd_sasl_auth_enable=yes", "milter_macro_daemon_name=ORIGINATING")
		s.write("aliases", "postmaster: root\nroot: admin\n")
		s.run("postalias", "-c", s.etc, "hash:"+s.path("aliases"))
		s.set("alias_maps = hash:"+s.path("aliases"), "header_checks = "+s.table("regexp", "checks", "/^X-Spam:/ REJECT\n"))
	}},
	{"b-with-all-names-of-the-host", "b", func(s *site) {
		s.set("local_transport = local:", "local_recipient_maps =", "mydestination = estate.example, mx.estate.example, localhost",
			"virtual_mailbox_domains = agents.example")
		s.postconf("-M", "local/unix=local unix - n n - - local")
	}},
}

// TestBroken breaks one thing at a time. The doctor must find that, and nothing
// that follows from nothing; where it gives commands, they must mend it.
func TestBroken(t *testing.T) {
	worlds := map[string]*world{"a": newWorld(t, "a"), "b": newWorld(t, "b")}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			wiring := "b"
			if c.wiring != "" {
				wiring = c.wiring
			}
			s := worlds[wiring].site(t)
			c.spoil(s)
			want := []string{c.want}
			if c.want == "" {
				want[0] = c.name
			}
			id := want[0]
			want = append(want, c.also...)
			slices.Sort(want)
			found := s.audit()
			if got := ids(found); !slices.Equal(got, want) {
				for _, f := range found {
					t.Logf("%s: %s", f.ID, f.What)
				}
				t.Fatalf("found %v, not %v", got, want)
			}
			if s.mend(found, id) && slices.Contains(ids(s.audit()), id) {
				for _, f := range s.audit() {
					t.Logf("%s: %s: %s", f.ID, f.What, f.Mend)
				}
				t.Errorf("not mended by its own commands")
			}
		})
	}
}

// TestEveryKind holds that each finding there can be is shown to be found.
func TestEveryKind(t *testing.T) {
	shown := map[string]bool{"unprivileged": true} // by TestCommand
	for _, c := range cases {
		shown[c.name], shown[c.want] = true, true
	}
	for _, id := range doctor.IDs() {
		if !shown[id] {
			t.Errorf("%s has no case", id)
		}
	}
}

// TestCommand holds what a script sees of it: one object a line, and exit 1 for
// a way round alone.
func TestCommand(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	bin, clean, err := rig.Build(ctx)
	must(t, err)
	t.Cleanup(func() { must(t, clean()) })
	w := newWorld(t, "b")
	s := w.site(t)
	var as *syscall.SysProcAttr
	command := func(args ...string) (string, int) {
		cmd := exec.CommandContext(ctx, bin, append([]string{"doctor", "-c", s.path("stile.toml"), "--postfix", s.etc}, args...)...)
		cmd.SysProcAttr = as
		out, err := cmd.Output()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		return string(out), cmd.ProcessState.ExitCode()
	}
	s.set("milter_protocol = 2")
	if out, code := command(); code != 0 || !strings.Contains(out, `"id":"protocol-old"`) {
		t.Errorf("exit %d: %s", code, out)
	}
	// A value of Postfix's config that a terminal would act on.
	s.option(s.server() + "/smtpd_proxy_filter=127.0.0.1:1\x1b[31m")
	out, code := command()
	if code != 1 {
		t.Errorf("exit %d: %s", code, out)
	}
	for line := range strings.Lines(out) {
		var f struct {
			ID, Severity, What, Why string
			Mend                    []string
		}
		if err := json.Unmarshal([]byte(line), &f); err != nil || f.ID == "" || f.What == "" || f.Why == "" || len(f.Mend) == 0 {
			t.Errorf("%v: %s", err, line)
		}
	}
	if text, _ := command("--text"); strings.ContainsRune(text, 0x1b) || !strings.Contains(text, `\u{1B}`) {
		t.Errorf("%q", text)
	}
	// What it runs may lie in a folder that only root reaches.
	as = &syscall.SysProcAttr{
		Credential:  &syscall.Credential{Uid: 65534, Gid: 65534},
		AmbientCaps: []uintptr{unix.CAP_DAC_READ_SEARCH},
	}
	if out, code := command(); code != 1 || !strings.Contains(out, `"id":"unprivileged"`) || strings.Contains(out, `"id":"socket-missing"`) {
		t.Errorf("not root: exit %d: %s", code, out)
	}
	as = nil
	if _, code := command("--postfix", "/nonexistent"); code != 2 {
		t.Errorf("no Postfix: exit %d", code)
	}
}

// TestDocument holds the document to the table.
func TestDocument(t *testing.T) {
	const path = "../../doc/doctor.md"
	if os.Getenv("WRITE_DOCUMENT") != "" {
		must(t, os.WriteFile(path, []byte(doctor.Describe()), 0o644))
	}
	text, err := os.ReadFile(path)
	must(t, err)
	if string(text) != doctor.Describe() {
		t.Errorf("doc/doctor.md is not what doctor.Describe prints: WRITE_DOCUMENT=1 go test ./tests/doctor -run TestDocument")
	}
}
