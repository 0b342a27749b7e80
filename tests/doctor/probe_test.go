package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"stile/tests/rig"
)

// errands is a mailbox of the domain that wiring a routes.
const errands = `
[[mailbox]]
id = "errands"
address = "errands@agents.example"
senders = ["friend@example.org"]
`

// probed is a line of stile doctor --probe.
type probed struct {
	Probe, Service, Mailbox, Result, What string
}

// live is a running Postfix with stile behind it.
type live struct {
	*rig.Rig
	t   *testing.T
	ctx context.Context
}

func start(t *testing.T, wiring, more string) *live {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	t.Cleanup(cancel)
	r, err := rig.Start(ctx, rig.Options{Config: errands + more, Wiring: wiring})
	must(t, err)
	l := &live{r, t, ctx}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("Postfix:\n%s\nstile:\n%s", l.Postfix.Log.Text(), l.Stile.Log.Text())
		}
		must(t, l.Close())
	})
	for name, value := range l.Postfix.Paths() {
		t.Setenv(name, value)
	}
	must(t, l.Stile.Start(ctx))
	return l
}

// probe runs the command and returns what it says of one mailbox, by service.
func (l *live) probe(mailbox string, args ...string) (byService map[string]probed, stamped probed, exit int) {
	l.t.Helper()
	cmd := exec.CommandContext(l.ctx, l.Stile.Bin, append([]string{"doctor", "--probe", "--json", "-c", l.Stile.Config,
		"--postfix", filepath.Join(l.Postfix.Dir, "etc")}, args...)...)
	out, err := cmd.Output()
	var status *exec.ExitError
	if err != nil && !errors.As(err, &status) {
		l.t.Fatal(err)
	}
	byService = map[string]probed{}
	for line := range strings.Lines(string(out)) {
		var p probed
		must(l.t, json.Unmarshal([]byte(line), &p))
		switch {
		case p.Probe == "stamped":
			stamped = p
		case p.Mailbox == mailbox:
			byService[p.Service] = p
		}
	}
	return byService, stamped, cmd.ProcessState.ExitCode()
}

// signed writes a message of a listed sender.
func (l *live) signed(to string) string {
	l.t.Helper()
	key, err := rig.NewEd25519()
	must(l.t, err)
	l.DNS.SetTXT("s._domainkey.example.org", key.Record)
	raw, err := l.Signer.Sign("From: friend@example.org\r\nTo: "+to+"\r\nMessage-ID: <1@example.org>\r\nSubject: eggs\r\n\r\n.eggs\r\n",
		rig.Signing{Domain: "example.org", Selector: "s", Key: key, Canon: "simple/simple", Headers: []string{"From", "To", "Subject"}})
	must(l.t, err)
	path := filepath.Join(l.Dir, "signed.eml")
	must(l.t, os.WriteFile(path, []byte(raw), 0o600))
	return path
}

// expect holds what the probes say of some services.
func (l *live) expect(got map[string]probed, claim, result string, services ...string) {
	l.t.Helper()
	for _, s := range services {
		if p := got[s]; p.Probe != claim || p.Result != result {
			l.t.Errorf("%s: %+v, not %s %s", s, p, claim, result)
		}
	}
}

// TestProbe sends probes through wiring b: sound, with stile stopped, and with a
// server that goes round it.
func TestProbe(t *testing.T) {
	l := start(t, "b", `aliases = ["helper@estate.example"]`)
	server := l.Postfix.Addr + "/inet"
	for _, mailbox := range []string{"shopping", "counter"} { // diverted, and answered 550
		got, stamped, exit := l.probe(mailbox)
		l.expect(got, "refused", "proved", server, "sendmail")
		if stamped.Result != "unproved" || exit != 0 {
			t.Errorf("exit %d, %+v", exit, stamped)
		}
	}

	signed := l.signed("shopping@estate.example")
	if _, stamped, _ := l.probe("shopping", "--signed", signed); stamped.Result != "proved" || stamped.Mailbox != "shopping" {
		t.Errorf("%+v", stamped)
	}

	must(t, l.Stile.Stop(l.ctx))
	got, _, exit := l.probe("shopping")
	l.expect(got, "deferred", "proved", server)
	if exit != 0 {
		t.Errorf("stopped: exit %d", exit)
	}

	must(t, l.Stile.Start(l.ctx))
	_, err := l.Postfix.Command(l.ctx, "", "postconf", "-e", "smtpd_milters =")
	must(t, err)
	must(t, l.Postfix.Reload(l.ctx))
	got, stamped, exit := l.probe("shopping", "--signed", signed)
	if stamped.Result != "failed" {
		t.Errorf("%+v", stamped)
	}
	l.expect(got, "refused", "failed", server)
	l.expect(got, "refused", "proved", "sendmail")
	if exit != 1 {
		t.Errorf("round stile: exit %d", exit)
	}
}

// TestProbeRoute sends probes through wiring a, where the server has answered
// before stile judges.
func TestProbeRoute(t *testing.T) {
	l := start(t, "a", "")
	server := l.Postfix.Addr + "/inet"
	got, stamped, _ := l.probe("errands", "--signed", l.signed("errands@agents.example"))
	if stamped.Result != "proved" {
		t.Errorf("%+v", stamped)
	}
	l.expect(got, "refused", "proved", server, l.Postfix.Gate+"/inet", "sendmail")

	must(t, l.Stile.Stop(l.ctx))
	got, _, _ = l.probe("errands")
	l.expect(got, "deferred", "proved", server, l.Postfix.Gate+"/inet")
}
