package milter

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	dj "github.com/d--j/go-milter"

	"stile/quarantine"
	"stile/stamp"
	"stile/tests/signed"
	"stile/verdict"
)

// sightings are what accepted mail hid, in short.
func (p *place) sightings() (all []string) {
	p.t.Helper()
	rows, err := p.store.Sightings(context.Background(), quarantine.Filter{})
	must(p.t, err)
	for _, s := range rows {
		all = append(all, fmt.Sprintf("%s %s %s %d", s.Policy, s.Place, s.Class, s.Count))
	}
	return all
}

// What accepted mail hides is in its stamp, the log, the metrics and, for each
// mailbox that accepts it, the store; the text itself is in none of them.
func TestHidden(t *testing.T) {
	var canaries []string
	canary := func() string {
		b := make([]byte, 6)
		_, _ = rand.Read(b)
		canaries = append(canaries, hex.EncodeToString(b))
		return canaries[len(canaries)-1]
	}
	spec := signed.Spec{
		Header: "To: shopping@estate.example\r\nSubject: groceries\r\nX-Note: run this " + canary() + " and then that\r\n" +
			"MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b\r\n",
		Body: canary() + "\r\n--b\r\nContent-Type: text/plain; charset=utf-8\r\n\r\neggs\u200b\r\n" +
			"--b\r\nContent-Type: text/html; charset=utf-8\r\n\r\n<!-- " + canary() + " --><p hidden>" + canary() + "\u200b</p><img alt=" + canary() + ">\r\n" +
			"--b\r\nContent-Type: text/calendar\r\nContent-Disposition: attachment; filename=" + canary() + "\r\n\r\nSUMMARY:" + canary() + "\r\n--b--\r\n",
	}
	p := run(t, signed.Lookup(t, spec), nil)
	raw := signed.Mail(t, spec)
	acts, a := p.dial().deliver(raw, shopper, poster)
	is(t, a, dj.ActionAccept)
	header, _ := applied(t, splitAll(raw), acts)
	at := slices.IndexFunc(header, func(f verdict.Field) bool { return f.Is(stamp.VerdictName) })
	v, err := stamp.ParseVerdict(header[at].Value)
	must(t, err)
	const sums = "zero-width:2,html-comment:1,hidden-style:1,alt-text:1,attachment-name:1,preamble:1,odd-field:1,calendar-text:1"
	want(t, "the stamp", v.Hidden, sums)
	want(t, "lines", len(p.lines("verdict=accept", "hidden="+sums)), 2)
	var rows []string
	for _, policy := range []string{"post", "shopping"} {
		for _, kind := range []string{
			"attachment-name attachment-name", "body zero-width", "calendar calendar-text", "header odd-field",
			"html alt-text", "html hidden-style", "html html-comment", "html zero-width", "preamble preamble",
		} {
			rows = append(rows, policy+" "+kind+" 1")
		}
	}
	want(t, "the store", p.sightings(), rows)
	if line := `stile_hidden_carriers_total{class="html-comment",place="html"} 1`; !p.metric(line) {
		t.Errorf("no metric %q", line)
	}

	places := map[string]string{"log": p.log.String(), "metrics": p.exposition()}
	files, err := filepath.Glob(filepath.Join(filepath.Dir(p.socket), "quarantine.db*"))
	must(t, err)
	for _, f := range files {
		b, err := os.ReadFile(f)
		must(t, err)
		places[filepath.Base(f)] = string(b)
	}
	if !bytes.Contains([]byte(places["quarantine.db-wal"]+places["quarantine.db"]), []byte("html-comment")) {
		t.Error("the sightings are not where they are looked for")
	}
	for place, text := range places {
		for _, c := range canaries {
			if strings.Contains(text, c) {
				t.Errorf("%s holds a canary, %s", place, c)
			}
		}
	}
}

// Of refused mail, and of mail that hides nothing, there is none.
func TestNothingHidden(t *testing.T) {
	spec := signed.Spec{}
	p := run(t, signed.Lookup(t, spec), nil)
	want(t, "plain mail", p.send(signed.Mail(t, spec), shopper), "accept shopping")
	want(t, "refused mail", p.send(signed.Mail(t, signed.Spec{
		From: "mallory@evil.example", Header: "To: shopping@estate.example\r\nContent-Type: text/html\r\n", Body: "<!-- run this -->\r\n",
	}), shopper), "discard")
	want(t, "the store", len(p.sightings()), 0)
	want(t, "lines", len(p.lines("verdict=accept", "hidden=none")), 1)
	want(t, "lines of the refusal", len(p.lines("verdict=refuse", "hidden=")), 0)
	if strings.Contains(p.exposition(), "html-comment\",place=\"html\"} 1") {
		t.Error("refused mail was counted")
	}
}
