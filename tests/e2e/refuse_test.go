package e2e

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"stile/tests/rig"
)

// testRefuse sends one message for each reason: the client hears 250, the
// mail goes no further, and the record says why.
func testRefuse(t *testing.T) {
	w := begin(t, "")
	var c canaries
	for _, m := range w.refusals(&c, shopping) {
		t.Run(m.reason, func(t *testing.T) {
			before := messagesIn(w.records())
			w.discarded(w.send(m.from, m.raw, shopping).Data)
			records := w.records()
			if n := messagesIn(records); n != before+1 {
				t.Errorf("the records count %v messages, want %v", n, before+1)
			}
			if r := newest(records); r.Text("reason") != m.reason {
				t.Errorf("refused for %q, want %q; the record is %v", r.Text("reason"), m.reason, r)
			} else if r.Text("policy") != "shopping" {
				t.Errorf("refused under policy %q, want shopping", r.Text("policy"))
			}
		})
	}
	w.empty("shopping")
}

// testReject sends refused mail to a mailbox that says no aloud: 550, one
// text for every reason, with the record's id and nothing else in it.
func testReject(t *testing.T) {
	w := begin(t, "")
	var c canaries
	texts := map[string]bool{}
	for _, m := range w.refusals(&c, counter) {
		got := w.send(m.from, m.raw, counter)
		w.want(550, got.Data)
		r := newest(w.records())
		if r.Text("reason") != m.reason {
			t.Errorf("refused for %q, want %q", r.Text("reason"), m.reason)
		}
		if !strings.HasPrefix(got.Data.Text, "5.7.1 ") {
			t.Errorf("%s: the reply is %q, want 5.7.1", m.reason, got.Data)
		}
		id := r.Text("id")
		if !strings.Contains(got.Data.Text, id) {
			t.Errorf("%s: the reply %q does not hold the record's id %s", m.reason, got.Data, id)
		}
		texts[strings.Replace(got.Data.Text, id, "ID", 1)] = true
	}
	if len(texts) != 1 {
		t.Errorf("%d texts for the reasons, want one: %v", len(texts), texts)
	}
	w.empty("counter")
}

// messagesIn is how many messages the records stand for: a repeat is counted in
// the row that is there.
func messagesIn(records []rig.Record) float64 {
	n := 0.0
	for _, r := range records {
		count, _ := r["count"].(float64)
		n += count
	}
	return n
}

// newest is the record that was written or counted last.
func newest(records []rig.Record) rig.Record {
	var last rig.Record
	for _, r := range records {
		if last == nil || r.Time("last").After(last.Time("last")) {
			last = r
		}
	}
	return last
}

// testCanary looks for what refused senders wrote in everything that stile
// keeps or says.
func testCanary(t *testing.T) {
	w := begin(t, "")
	var c canaries
	said := map[string]string{}
	c1 := w.dial()
	hello, err := c1.Command("EHLO " + c.word() + ".example")
	w.do(err)
	w.want(250, hello)
	file := filepath.Join(filepath.Dir(w.Stile.Config), "refused.eml")
	for _, m := range w.refusals(&c, shopping) {
		for _, to := range []string{"shopping+" + c.word() + "@estate.example", counter} {
			r, err := c1.Send(m.from, []string{to}, m.raw)
			w.do(err)
			if r.Data.Code/100 == 4 {
				t.Errorf("%s: %s", m.reason, r.Data)
			}
			said["replies"] += r.Data.String() + "\n"
		}
		w.do(os.WriteFile(file, []byte(m.raw), 0o644))
		for _, command := range []string{"verdict", "show", "explain"} {
			out, err := w.Stile.Run(w.ctx, "", command, "-c", w.Stile.Config,
				"--mailbox", shopping, "--resolver", w.DNS.Addr, file)
			w.do(err)
			said["stile "+command] += out.Stdout + out.Stderr
		}
	}
	w.do(os.Remove(file))

	for _, page := range []string{"/metrics", "/", "/healthz", "/readyz"} {
		said[page], _ = w.Stile.Get(w.ctx, page) // a page that is not there holds no canary
	}
	for _, args := range [][]string{{"list", "--json"}, {"list", "--text"}, {"stats"}} {
		out, err := w.Stile.Run(w.ctx, "", append(append([]string{"quarantine"}, args...), "-c", w.Stile.Config)...)
		w.do(err)
		said["quarantine "+args[0]] += out.Stdout + out.Stderr
	}
	for _, r := range w.records() {
		out, err := w.Stile.Run(w.ctx, "", "quarantine", "show", r.Text("id"), "-c", w.Stile.Config)
		w.do(err)
		said["quarantine show"] += out.Stdout + out.Stderr
	}
	w.do(w.Stile.Stop(w.ctx))
	said["log"] = w.Stile.Log.Text()
	maps.Copy(said, w.state())
	w.noCanary(c, said)
	for _, where := range []string{"quarantine.db", "log", "replies", "stile explain", "quarantine show", "/metrics"} {
		if said[where] == "" {
			t.Errorf("nothing was searched in %s", where)
		}
	}
}
