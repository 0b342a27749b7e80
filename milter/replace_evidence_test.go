package milter

import (
	"database/sql"
	"path/filepath"
	"testing"

	"filippo.io/age"
	dj "github.com/d--j/go-milter"

	"stile/quarantine"
	"stile/stamp"
	"stile/tests/signed"
)

// The original is sealed before the message goes on, and without it the message
// stays with its sender.
func TestReplaceKeepsOriginal(t *testing.T) {
	spec := signed.Spec{Body: "eggs\r\n\x00\xff\r\nno line end"}
	t.Run("kept", func(t *testing.T) {
		p := replacing(t, signed.Lookup(t, spec), 1<<20, "post")
		raw := signed.Mail(t, spec)
		acts, a := p.dialAs("localhost", 0, "127.0.0.1").deliver(raw, shopper, poster, traveler, bob)
		is(t, a, dj.ActionAccept)
		text, _ := replaced(t, raw, acts)
		v, _, err := stamp.Open(splitAll(text), "shopping", p.keys...)
		must(t, err)
		all := p.originals()
		if len(all) != 1 || all[0].ID != v.ID || all[0].Kind != quarantine.KindAccepted || all[0].Policy != "shopping" || all[0].More != 2 {
			t.Fatalf("%+v", all)
		}
		if p.opened(v.ID) != raw {
			t.Error("the original is another message")
		}
		if n := len(p.lines("id="+v.ID, "verdict=accept", "evidence=kept")); n != 2 {
			t.Errorf("%d lines:\n%s", n, p.log)
		}
	})
	t.Run("no room", func(t *testing.T) {
		p := replacing(t, signed.Lookup(t, spec), 1<<20)
		e, err := quarantine.OpenEvidence(quarantine.EvidenceOptions{
			Dir: filepath.Join(t.TempDir(), "full"), Recipients: []age.Recipient{identity().Recipient()}, MaxBytes: 10,
		})
		must(t, err)
		t.Cleanup(func() { _ = e.Close() })
		p.server.o.Evidence = e
		acts, a := p.dial().deliver(signed.Mail(t, spec), shopper)
		id := isTryLater(t, a)
		if n := len(p.lines("id=" + id + " policy=shopping verdict=defer reason=evidence")); n != 1 || len(acts) > 0 {
			t.Errorf("%d lines, %+v:\n%s", n, acts, p.log)
		}
	})
	t.Run("nowhere to keep it", func(t *testing.T) {
		p := replacing(t, signed.Lookup(t, spec), 1<<20)
		p.server.o.Evidence = nil
		acts, a := p.dial().deliver(signed.Mail(t, spec), shopper)
		isTryLater(t, a)
		if len(acts) > 0 || len(p.lines("reason=evidence cause=evidence")) != 1 {
			t.Errorf("%+v\n%s", acts, p.log)
		}
	})
	t.Run("the proof is not kept", func(t *testing.T) {
		p := replacing(t, signed.Lookup(t, spec), 1<<20)
		db, err := sql.Open("sqlite", p.database())
		must(t, err)
		defer db.Close()
		if _, err := db.Exec("CREATE TRIGGER no BEFORE INSERT ON proof BEGIN SELECT RAISE(ABORT, 'no'); END"); err != nil {
			t.Fatal(err)
		}
		_, a := p.dial().deliver(signed.Mail(t, spec), shopper)
		isTryLater(t, a)
		if all := p.originals(); len(all) > 0 {
			t.Errorf("%d originals of a message that its sender still has", len(all))
		}
	})
}
