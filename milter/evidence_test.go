package milter

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"filippo.io/age"
	dj "github.com/d--j/go-milter"

	"stile/quarantine"
	"stile/tests/signed"
	"stile/verdict"
)

// identity is what opens the originals of these tests.
var identity = sync.OnceValue(func() *age.X25519Identity {
	i, err := age.GenerateX25519Identity()
	if err != nil {
		panic(err)
	}
	return i
})

// keeping starts a server that keeps originals, quota octets of them.
func keeping(t testing.TB, lookup verdict.LookupTXT, quota int64) *place {
	t.Helper()
	return keepingWith(t, lookup, quota, func(*Server) {})
}

// keepingWith lets change alter the server before it serves.
func keepingWith(t testing.TB, lookup verdict.LookupTXT, quota int64, change func(*Server)) *place {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "evidence")
	e, err := quarantine.OpenEvidence(quarantine.EvidenceOptions{
		Dir: dir, Recipients: []age.Recipient{identity().Recipient()}, MaxBytes: quota,
	})
	must(t, err)
	t.Cleanup(func() { _ = e.Close() })
	p := run(t, lookup, func(s *Server) {
		s.o.Evidence = e
		change(s)
	})
	p.evidence = dir
	return p
}

const plenty = 64 << 20

// originals are those that are kept, the newest first.
func (p *place) originals() []quarantine.Original {
	p.t.Helper()
	all, err := quarantine.Originals(p.evidence)
	must(p.t, err)
	return all
}

// opened is what the identity makes of an original.
func (p *place) opened(id string) string {
	p.t.Helper()
	f, _, err := quarantine.OpenOriginal(p.evidence, id)
	must(p.t, err)
	defer f.Close()
	r, err := age.Decrypt(f, identity())
	must(p.t, err)
	b, err := io.ReadAll(r)
	must(p.t, err)
	return string(b)
}

// Whatever the shape of a refused message, its original comes back to the byte,
// its record says so, and no byte of it is anywhere else.
func TestOriginalIsKept(t *testing.T) {
	canary := hex.EncodeToString(random(t, 6))
	odd := "X-Odd:\t" + canary + "  \r\nX-Empty:\r\nX-Fold: a\r\n\t" + canary + "\r\n  b \r\n"
	for name, spec := range map[string]signed.Spec{
		"plain":              {Unsigned: true, Above: odd, Body: canary + "\r\n"},
		"octets":             {Unsigned: true, Body: canary + "\xff\x80\x00\r\n\r\n.\r\nno line end"},
		"empty":              {Unsigned: true, Above: odd, Body: "\r\n"},
		"spooled":            {Unsigned: true, Body: strings.Repeat(canary+"\r\n", 40_000)},
		"many fields":        {Above: strings.Repeat("X-A: "+canary+"\r\n", 600) + odd},
		"a large header":     {Above: strings.Repeat("X-A: "+strings.Repeat(canary+" ", 80)+"\r\n", 400) + odd},
		"a very large one":   {Above: strings.Repeat("X-A: "+strings.Repeat(canary+" ", 80)+"\r\n", 800) + odd},
		"malformed":          {Above: "X-A: " + canary + "\x07\r\n"},
		"proved and unasked": {From: `"` + canary + `" <mallory@evil.example>`, Domain: "evil.example"},
	} {
		t.Run(name, func(t *testing.T) {
			p := keeping(t, noKeys, plenty)
			raw := signed.Mail(t, spec)
			_, a := p.dial().deliver(raw, shopper)
			is(t, a, dj.ActionDiscard)
			rows, all := p.records(), p.originals()
			if len(rows) != 1 || len(all) != 1 {
				t.Fatalf("%d records, %d originals", len(rows), len(all))
			}
			if rows[0].Evidence != quarantine.EvidenceKept || rows[0].ID != all[0].ID || rows[0].AddressHash != all[0].AddressHash {
				t.Errorf("the record says %+v, the original is %+v", rows[0], all[0])
			}
			if got := p.opened(rows[0].ID); got != raw {
				t.Errorf("of %d octets %d other ones came back", len(raw), len(got))
			}
			if sha(raw) != rows[0].SHA256 {
				t.Error("the record is of other octets")
			}
			p.nowhere(t, canary)
		})
	}
}

func random(t testing.TB, n int) []byte {
	t.Helper()
	b := make([]byte, n)
	rand.Read(b)
	return b
}

// nowhere fails the test if the text is found in a file under the server's
// folders, in its log or in its metrics.
func (p *place) nowhere(t *testing.T, text string) {
	t.Helper()
	places, files := map[string]string{"log": p.log.String(), "metrics": p.exposition()}, 0
	for _, dir := range []string{filepath.Dir(p.socket), p.evidence} {
		must(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if !d.Type().IsRegular() {
				return nil
			}
			b, err := os.ReadFile(path)
			places[path], files = string(b), files+1
			return err
		}))
	}
	if files < 3 {
		t.Errorf("only %d files were looked into", files)
	}
	for place, held := range places {
		if strings.Contains(held, text) {
			t.Errorf("%s holds a canary", place)
		}
	}
}

// Accepted mail goes on as it came and mail for others is none of ours: neither
// is kept.
func TestNoOriginalOfOthers(t *testing.T) {
	spec := signed.Spec{}
	p := keeping(t, signed.Lookup(t, spec), plenty)
	_, a := p.dial().deliver(signed.Mail(t, spec), shopper)
	is(t, a, dj.ActionAccept)
	_, a = p.dial().deliver(signed.Mail(t, signed.Spec{Unsigned: true}), bob)
	is(t, a, dj.ActionAccept)
	if all := p.originals(); len(all) > 0 {
		t.Errorf("there is %+v", all)
	}
}

// The kind of an original is the best that is known of its sender, and one
// message is one original, however many mailboxes refuse it.
func TestKinds(t *testing.T) {
	for name, c := range map[string]struct {
		spec signed.Spec
		to   []rcpt
		kind quarantine.Kind
		want string // policies
	}{
		"a stranger":                    {signed.Spec{From: "x@evil.example"}, []rcpt{shopper}, quarantine.KindOther, "shopping"},
		"a stranger to two":             {signed.Spec{From: "x@evil.example"}, []rcpt{traveler, shopper}, quarantine.KindOther, "shopping+1"},
		"a claim":                       {signed.Spec{Unsigned: true}, []rcpt{shopper}, quarantine.KindClaimed, "shopping"},
		"a claim, and a stranger's":     {signed.Spec{Unsigned: true}, []rcpt{traveler, shopper}, quarantine.KindClaimed, "shopping+1"},
		"accepted, and a stranger's":    {signed.Spec{}, []rcpt{traveler, shopper}, quarantine.KindAccepted, "travel"},
		"no address":                    {signed.Spec{From: "nobody"}, []rcpt{shopper}, quarantine.KindOther, "shopping"},
		"no mailbox of a guarded one's": {signed.Spec{From: "x@evil.example"}, []rcpt{{"no@agents.example", "no@agents.example"}}, quarantine.KindOther, "none"},
	} {
		t.Run(name, func(t *testing.T) {
			p := keeping(t, signed.Lookup(t, signed.Spec{}), plenty)
			client := p.dialAs("localhost", 0, "127.0.0.1")
			raw := signed.Mail(t, c.spec)
			client.deliver(raw, c.to...)
			all := p.originals()
			if len(all) != 1 || all[0].Kind != c.kind || all[0].Policies() != c.want {
				t.Fatalf("there is %+v", all)
			}
			if p.opened(all[0].ID) != raw {
				t.Error("other octets came back")
			}
		})
	}
}

// A friend's message that is sent again is accepted as a repeat, but does not
// take the room of accepted mail again.
func TestRepeatIsNoAcceptedOriginal(t *testing.T) {
	spec := signed.Spec{}
	p := keeping(t, signed.Lookup(t, spec), plenty)
	raw := signed.Mail(t, spec)
	for _, want := range []quarantine.Kind{quarantine.KindAccepted, quarantine.KindClaimed} {
		_, a := p.dial().deliver(raw, shopper, traveler)
		is(t, a, dj.ActionAccept)
		if all := p.originals(); all[0].Kind != want {
			t.Errorf("there is %+v, want a first of kind %s", all, want)
		}
	}
}

// Each message that folds into the row of another has its own original, and the
// log tells its id.
func TestRepeatsAreKept(t *testing.T) {
	p := keeping(t, noKeys, plenty)
	c := p.dial()
	for n := range 2 {
		_, a := c.deliver(signed.Mail(t, signed.Spec{Unsigned: true, Body: fmt.Sprint(n, "\r\n")}), shopper)
		is(t, a, dj.ActionDiscard)
	}
	rows, all := p.records(), p.originals()
	if len(rows) != 1 || rows[0].Count != 2 || len(all) != 2 || all[1].ID != rows[0].ID {
		t.Fatalf("the store has %+v, the directory %+v", rows, all)
	}
	if n := len(p.lines("id="+rows[0].ID, "evidence=kept", "original="+all[0].ID)); n != 1 {
		t.Errorf("%d lines name the repeat's original:\n%s", n, p.log)
	}
}

// Without room nobody says 250: a friend's mail waits, a stranger hears no, and
// what others are to get, or the MTA would send back, is neither lost nor sent
// back.
func TestNoRoom(t *testing.T) {
	stranger, claim := signed.Spec{From: "x@evil.example"}, signed.Spec{Unsigned: true}
	for name, c := range map[string]struct {
		spec      signed.Spec
		simulated bool
		reject    bool
		to        []rcpt
		want      string // 550, 451, discard or accept
	}{
		"a stranger":                   {stranger, false, false, []rcpt{shopper}, "550"},
		"a stranger, rejected anyway":  {stranger, false, true, []rcpt{shopper}, "550"},
		"a stranger to two":            {stranger, false, false, []rcpt{shopper, traveler}, "550"},
		"a stranger to no mailbox":     {stranger, true, false, []rcpt{{"no@agents.example", "no@agents.example"}}, "discard"},
		"a stranger by sendmail":       {stranger, true, false, []rcpt{shopper}, "discard"},
		"a stranger to others as well": {stranger, false, false, []rcpt{shopper, bob}, "451"},
		"the same by sendmail":         {stranger, true, false, []rcpt{shopper, bob}, "accept"},
		"a claim":                      {claim, false, false, []rcpt{shopper}, "451"},
		"a claim that is rejected":     {claim, false, true, []rcpt{shopper}, "451"},
		"a claim by sendmail":          {claim, true, false, []rcpt{shopper}, "451"},
		"accepted by one":              {signed.Spec{}, false, false, []rcpt{shopper, traveler}, "451"},
		"accepted by all":              {signed.Spec{}, false, false, []rcpt{shopper}, "accept"},
	} {
		t.Run(name, func(t *testing.T) {
			p := keeping(t, signed.Lookup(t, signed.Spec{}), 100)
			for _, m := range p.server.o.Config.Mailboxes {
				m.Reject = c.reject
			}
			client := p.dial()
			if c.simulated {
				client = p.dialAs("localhost", 0, "127.0.0.1")
			}
			acts, a := client.deliver(signed.Mail(t, c.spec), c.to...)
			state := quarantine.EvidenceFull
			switch c.want {
			case "550":
				if want := "550 5.7.1 Message refused (id " + p.records()[0].ID + ")"; a.SMTPCode != 550 || a.SMTPReply != want {
					t.Errorf("the answer is %+v, not %q", a, want)
				}
			case "451":
				id := isTryLater(t, a)
				if n := len(p.records()); n > 0 {
					t.Errorf("%d records of mail that waits", n)
				}
				if len(p.lines("id="+id, "verdict=defer reason=evidence cause=evidence")) == 0 {
					t.Errorf("no line says why:\n%s", p.log)
				}
				state = ""
			case "discard":
				is(t, a, dj.ActionDiscard)
			case "accept":
				is(t, a, dj.ActionAccept)
				if c.simulated && (len(acts) != 1 || acts[0].Type != dj.ActionDelRcpt) {
					t.Errorf("the modifications are %+v", acts)
				}
			}
			for _, r := range p.records() {
				if r.Evidence != state {
					t.Errorf("the record says %q, want %q", r.Evidence, state)
				}
				if len(p.lines("id="+r.ID, "policy="+r.Policy, "evidence=full")) != 1 {
					t.Errorf("no line says so:\n%s", p.log)
				}
			}
			if all := p.originals(); len(all) > 0 {
				t.Errorf("there is %+v", all)
			}
			full := `stile_evidence_seals_total{result="full"} 1`
			if c.want == "accept" && !c.simulated {
				full = `stile_evidence_seals_total{result="full"} 0`
			}
			if !strings.Contains(p.exposition(), full) {
				t.Errorf("the metrics lack %s", full)
			}
		})
	}
}

// What is over max_message is not whole, and what is not whole is no original.
func TestTooLargeIsNoOriginal(t *testing.T) {
	p := keeping(t, noKeys, plenty)
	body := strings.Repeat("0123456789abcdef\r\n", 70_000)
	c := p.dial()
	_, a := c.deliver(signed.Mail(t, signed.Spec{Unsigned: true, Body: body}), shopper)
	if a.SMTPCode != 550 {
		t.Errorf("the answer is %+v, not 550", a)
	}
	_, a = c.deliver(signed.Mail(t, signed.Spec{Unsigned: true, Above: strings.Repeat("X-A: "+strings.Repeat("x", 1000)+"\r\n", 1500)}), shopper)
	if a.SMTPCode != 550 {
		t.Errorf("the answer is %+v, not 550", a)
	}
	for _, r := range p.records() {
		if r.Reason != verdict.TooLarge || r.Evidence != quarantine.EvidenceFull {
			t.Errorf("the record says %+v", r)
		}
	}
	if all := p.originals(); len(all) > 0 {
		t.Errorf("there is %+v", all)
	}
}
