package milter

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"filippo.io/age"

	"stile/quarantine"
	"stile/tests/signed"
	"stile/verdict"
)

// Without its original there is no record, and without its record no original;
// either way the sender keeps the message.
func TestKeepingFails(t *testing.T) {
	t.Run("the directory is gone", func(t *testing.T) {
		p := keeping(t, noKeys, plenty)
		must(t, os.Rename(p.evidence, p.evidence+".old"))
		_, a := p.dial().deliver(signed.Mail(t, signed.Spec{Unsigned: true}), shopper)
		id := isTryLater(t, a)
		if n := len(p.lines("id=" + id + " policy=shopping verdict=defer reason=evidence cause=evidence")); n != 1 {
			t.Errorf("%d lines:\n%s", n, p.log)
		}
		if n := len(p.records()); n > 0 {
			t.Errorf("%d records", n)
		}
		if !strings.Contains(p.exposition(), `stile_evidence_seals_total{result="failed"} 1`) {
			t.Error("the metrics do not count it")
		}
	})
	t.Run("the store is closed", func(t *testing.T) {
		p := keeping(t, noKeys, plenty)
		must(t, p.store.Close())
		_, a := p.dial().deliver(signed.Mail(t, signed.Spec{Unsigned: true}), shopper)
		isTryLater(t, a)
		if all := p.originals(); len(all) > 0 {
			t.Errorf("there is %+v", all)
		}
	})
}

// stuck is a recipient by which sealing does not go on, once told so.
type stuck struct {
	age.Recipient
	on atomic.Bool
}

func (s *stuck) Wrap(key []byte) ([]*age.Stanza, error) {
	if s.on.Load() {
		fmt.Println("sealing")
		select {}
	}
	return s.Recipient.Wrap(key)
}

const childDir = "STILE_MILTER_CHILD"

// A process that is killed while it seals has answered nothing, and what it
// leaves is neither an original nor a record.
func TestKilledWhileSealing(t *testing.T) {
	if dir := os.Getenv(childDir); dir != "" {
		sealForever(t, dir)
	}
	dir := t.TempDir()
	exe, err := os.Executable()
	must(t, err)
	child := exec.CommandContext(t.Context(), exe, "-test.run=^TestKilledWhileSealing$")
	child.Env = append(os.Environ(), childDir+"="+dir, "TMPDIR="+t.TempDir())
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	must(t, err)
	must(t, child.Start())
	lines := bufio.NewScanner(out)
	wait := func(word string) {
		for lines.Scan() {
			if lines.Text() == word {
				return
			}
		}
		t.Fatalf("the child never said %q", word)
	}
	wait("listening")
	p := &place{t: t, socket: filepath.Join(dir, "s"), evidence: filepath.Join(dir, "evidence")}
	c := p.dial()
	c.envelope("friend@example.org", shopper)
	raw := signed.Mail(t, signed.Spec{Unsigned: true})
	c.header(splitAll(raw))
	answered := make(chan error, 1)
	go func() {
		_, _, err := c.s.BodyReadFrom(strings.NewReader("eggs\r\n"))
		answered <- err
	}()
	wait("sealing")
	must(t, child.Process.Kill())
	_ = child.Wait()
	if err := <-answered; err == nil {
		t.Error("the MTA was answered")
	}
	if all := p.originals(); len(all) > 0 {
		t.Errorf("there is %+v", all)
	}
	r, err := quarantine.OpenReader(t.Context(), "sqlite:"+filepath.Join(dir, "quarantine.db"))
	must(t, err)
	defer r.Close()
	if rows, err := r.List(t.Context(), quarantine.Filter{}); err != nil || len(rows) > 0 {
		t.Errorf("%d records, %v", len(rows), err)
	}
}

// sealForever is the child: a server that does not come to the end of sealing.
func sealForever(t *testing.T, dir string) {
	recipient := &stuck{Recipient: identity().Recipient()}
	e, err := quarantine.OpenEvidence(quarantine.EvidenceOptions{
		Dir: filepath.Join(dir, "evidence"), Recipients: []age.Recipient{recipient}, MaxBytes: plenty,
	})
	must(t, err)
	recipient.on.Store(true)
	p := prepare(t, noKeys)
	p.server.o.Evidence = e
	p.server.o.Store, err = quarantine.Open(context.Background(), "sqlite:"+filepath.Join(dir, "quarantine.db"), quarantine.Limits{})
	must(t, err)
	ln, err := net.Listen("unix", filepath.Join(dir, "s"))
	must(t, err)
	fmt.Println("listening")
	err = p.server.Serve(context.Background(), ln)
	t.Fatal(errors.Join(errors.New("the server ended"), err))
}

// Where the record of one mailbox is durable and that of another fails, the
// first has its original still.
func TestOneRecordIsEnough(t *testing.T) {
	p := keeping(t, noKeys, plenty)
	sqlite(t, p, `CREATE TRIGGER no BEFORE INSERT ON record WHEN new.policy = 'travel' BEGIN SELECT RAISE(ABORT, 'no'); END`)
	_, a := p.dial().deliver(signed.Mail(t, signed.Spec{Unsigned: true}), shopper, traveler)
	isTryLater(t, a)
	rows, all := p.records(), p.originals()
	if len(rows) != 1 || len(all) != 1 || rows[0].ID != all[0].ID || rows[0].Evidence != quarantine.EvidenceKept {
		t.Errorf("the store has %+v, the directory %+v", rows, all)
	}
}

// A store that does not say in time whether it made the record may have made it:
// the original stays.
func TestStoreIsLate(t *testing.T) {
	p := keeping(t, noKeys, plenty)
	p.server.limits.decision = 200 * time.Millisecond
	unlock := sqlite(t, p, "BEGIN IMMEDIATE")
	_, a := p.dial().deliver(signed.Mail(t, signed.Spec{Unsigned: true}), shopper)
	isTryLater(t, a)
	if all := p.originals(); len(all) != 1 {
		t.Errorf("the directory has %+v", all)
	}
	unlock()
	must(t, p.store.Close()) // waits for what the store was doing
	r, err := quarantine.OpenReader(t.Context(), "sqlite:"+filepath.Join(filepath.Dir(p.socket), "quarantine.db"))
	must(t, err)
	defer r.Close()
	rows, err := r.List(t.Context(), quarantine.Filter{})
	must(t, err)
	for _, row := range rows {
		if p.opened(row.ID) == "" {
			t.Error("its original is empty")
		}
	}
}

// sqlite runs a statement as another program would; what it returns ends the
// connection.
func sqlite(t *testing.T, p *place, statement string) (end func()) {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(filepath.Dir(p.socket), "quarantine.db"))
	must(t, err)
	conn, err := db.Conn(t.Context())
	must(t, err)
	_, err = conn.ExecContext(t.Context(), statement)
	must(t, err)
	return func() {
		_ = conn.Close()
		must(t, db.Close())
	}
}

// A message that is settled anew, for another copy was first, has been kept.
func TestPreservedOnce(t *testing.T) {
	p := keeping(t, noKeys, plenty)
	s := &session{server: p.server, log: p.server.log, config: p.server.config.Load()}
	s.msg.begin(time.Now(), p.spool, 0)
	s.msg.recipients = []recipient{{mailbox: p.server.o.Config.Mailboxes[0]}}
	if c := s.msg.addField("From", " friend@example.org"); c != "" {
		t.Fatal(c)
	}
	s.msg.endHeader()
	c := verdict.Open(s.msg.judged(), s.env())
	all := s.judge(t.Context(), c)
	for range 2 {
		must(t, s.preserve(t.Context(), c, all))
	}
	if kept := p.originals(); len(kept) != 1 || p.opened(kept[0].ID) != "From: friend@example.org\r\n\r\n" {
		t.Errorf("there is %+v", kept)
	}
}
