package doctor

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/miekg/dns"

	"stile/config"
	"stile/doctor"
	"stile/tests/rig"
)

// site is one Postfix with stile's config beside it. Nothing of it runs but a
// socket that takes connections and a name server.
type site struct {
	t       *testing.T
	postfix *rig.Postfix
	etc     string // the directory of main.cf
	dir     string // of stile's files
	socket  string
	clock   bool // somebody keeps it right
	dns     *nameServer
}

// world is what the cases of one wiring share.
type world struct {
	wiring  string
	postfix *rig.Postfix
	dns     *nameServer
}

func newWorld(t *testing.T, wiring string) *world {
	t.Helper()
	postfix, clean, err := rig.LayOut(t.Context(), wiring)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := clean(); err != nil {
			t.Error(err)
		}
	})
	for name, value := range postfix.Paths() {
		t.Setenv(name, value)
	}
	return &world{wiring: wiring, postfix: postfix, dns: startNameServer(t)}
}

// site copies the world's configuration, so that a case can break it.
func (w *world) site(t *testing.T) *site {
	t.Helper()
	s := &site{t: t, postfix: w.postfix, clock: true, dns: w.dns}
	// Other accounts must be able to pass: the socket is looked at with their eyes.
	s.dir = filepath.Join(w.postfix.Dir, strings.ReplaceAll(t.Name(), "/", "-"))
	s.etc = filepath.Join(s.dir, "etc")
	must(t, os.MkdirAll(s.dir, 0o755))
	must(t, os.CopyFS(s.etc, os.DirFS(filepath.Join(w.postfix.Dir, "etc"))))
	s.socket = filepath.Join(w.postfix.Dir, "queue", "stile", "stile.sock")
	listener, err := net.Listen("unix", s.socket)
	must(t, err)
	t.Cleanup(func() { listener.Close() })
	must(t, os.Chmod(s.socket, 0o660))
	s.write("stile.toml", fmt.Sprintf(configs[w.wiring], s.socket, w.dns.addr, s.dir, s.dir))
	s.write("seal.key", "not looked into")
	must(t, os.Chmod(s.path("seal.key"), 0o600))
	return s
}

// configs are stile's, by wiring.
var configs = map[string]string{
	"a": `listen = "unix:%s"
metrics = ""
hostname = "mx.estate.example"
dns = ["%s"]
store = "sqlite:%s/quarantine.db"
seal_key = "%s/seal.key"
guarded_domains = ["agents.example"]
[evidence]
none = true
[[mailbox]]
id = "errands"
address = "errands@agents.example"
senders = ["friend@example.org"]
`,
	"b": `listen = "unix:%s"
metrics = ""
hostname = "mx.estate.example"
dns = ["%s"]
store = "sqlite:%s/quarantine.db"
seal_key = "%s/seal.key"
same_domain = { "estate.example" = ["mx.estate.example", "localhost", "[127.0.0.1]"] }
[evidence]
none = true
[[mailbox]]
id = "shopping"
address = "shopping@estate.example"
aliases = ["shop@estate.example"]
senders = ["friend@example.org"]
`,
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (s *site) path(name string) string { return filepath.Join(s.dir, name) }

func (s *site) write(name, text string) {
	s.t.Helper()
	must(s.t, os.WriteFile(s.path(name), []byte(text), 0o644))
}

// edit replaces a text of stile's config that is there once.
func (s *site) edit(before, after string) {
	s.t.Helper()
	text, err := os.ReadFile(s.path("stile.toml"))
	must(s.t, err)
	if n := strings.Count(string(text), before); n != 1 {
		s.t.Fatalf("%q stands %d times in the config", before, n)
	}
	s.write("stile.toml", strings.Replace(string(text), before, after, 1))
}

// postconf changes the configuration.
func (s *site) postconf(args ...string) {
	s.t.Helper()
	s.run("postconf", append([]string{"-c", s.etc}, args...)...)
}

func (s *site) set(settings ...string) {
	s.t.Helper()
	s.postconf(append([]string{"-e"}, settings...)...)
}

func (s *site) option(settings ...string) {
	s.t.Helper()
	s.postconf(append([]string{"-P"}, settings...)...)
}

// table writes a table and returns its name.
func (s *site) table(kind, name, text string) string {
	s.t.Helper()
	s.write(name, text)
	return kind + ":" + s.path(name)
}

func (s *site) run(name string, args ...string) {
	s.t.Helper()
	out, err := exec.CommandContext(s.t.Context(), name, args...).CombinedOutput()
	if err != nil {
		s.t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
}

// server is the service that takes mail from outside.
func (s *site) server() string { return s.postfix.Addr + "/inet" }

func (s *site) audit() []doctor.Finding {
	s.t.Helper()
	file := s.path("stile.toml")
	cfg, err := config.Load(file)
	must(s.t, err)
	found, err := doctor.Audit(s.t.Context(), doctor.Options{
		Config: cfg, File: file, Postfix: s.etc, Synchronised: func() bool { return s.clock },
	})
	must(s.t, err)
	return found
}

// sound holds that nothing is found.
func (s *site) sound() {
	s.t.Helper()
	for _, f := range s.audit() {
		s.t.Errorf("%s: %s", f.ID, f.What)
	}
}

// ids are the findings' ids, each once, in order.
func ids(found []doctor.Finding) []string {
	var all []string
	for _, f := range found {
		all = append(all, f.ID)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// mend runs the commands of the findings with that id. It reports whether all of
// them are commands that mend by themselves.
func (s *site) mend(found []doctor.Finding, id string) bool {
	s.t.Helper()
	for _, f := range found {
		if f.ID == id && slices.ContainsFunc(f.Mend, func(c string) bool { return !alone(c) }) {
			return false
		}
	}
	for _, f := range found {
		if f.ID != id {
			continue
		}
		for _, command := range f.Mend {
			s.run("/bin/sh", "-ec", command)
		}
	}
	return true
}

// alone reports whether a command mends without anybody's thought.
func alone(command string) bool {
	verb, _, _ := strings.Cut(command, " ")
	return slices.Contains([]string{"postconf", "chmod", "chgrp"}, verb) && !strings.Contains(command, "#")
}

// nameServer answers for the root's key and for MX records.
type nameServer struct {
	addr  string
	valid bool   // it says that it validates
	mx    string // of every domain
	down  bool   // it answers SERVFAIL
}

func startNameServer(t *testing.T) *nameServer {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	must(t, err)
	n := &nameServer{addr: conn.LocalAddr().String(), valid: true, mx: "mx.estate.example."}
	server := &dns.Server{PacketConn: conn, Handler: n}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.ActivateAndServe() // ends by Shutdown
	}()
	t.Cleanup(func() {
		_ = server.ShutdownContext(context.Background())
		<-done
	})
	return n
}

func (n *nameServer) ServeDNS(w dns.ResponseWriter, q *dns.Msg) {
	m := new(dns.Msg)
	m.SetReply(q)
	m.AuthenticatedData = n.valid
	if n.down {
		m.Rcode = dns.RcodeServerFailure
	}
	if q.Question[0].Qtype == dns.TypeMX {
		m.Answer = []dns.RR{&dns.MX{
			Hdr: dns.RR_Header{Name: q.Question[0].Name, Rrtype: dns.TypeMX, Class: dns.ClassINET, Ttl: 300},
			Mx:  n.mx,
		}}
	}
	_ = w.WriteMsg(m) // a client that is gone needs no answer
}
