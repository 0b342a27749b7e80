package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"filippo.io/age"
	"github.com/rogpeppe/go-internal/testscript"

	"stile/quarantine"
	"stile/tests/signed"
	"stile/verdict"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"stile": main})
}

// Each script runs in a folder with the messages of files, a zone with their
// keys, a config and a store that holds records.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Setup: func(e *testscript.Env) error {
			e.Setenv("esc", "\x1b[31mobey\nthis")
			for name, text := range files(t, e.WorkDir) {
				if err := os.WriteFile(filepath.Join(e.WorkDir, name), []byte(text), 0o600); err != nil {
					return err
				}
			}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exit":     exitsWith,
			"store":    fillStore,
			"evidence": fillEvidence,
			"mode":     hasMode,
			"damage":   damage,
		},
	})
}

// exitsWith is "exit CODE COMMAND ARGUMENT…": the command must end with that code.
func exitsWith(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exit CODE COMMAND [ARGUMENT...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	var ended *exec.ExitError
	switch {
	case errors.As(err, &ended):
		got = ended.ExitCode()
	case err != nil:
		ts.Fatalf("%v", err)
	}
	if got != want {
		ts.Fatalf("exit %d, want %d", got, want)
	}
}

// fillStore is "store": it makes the store of stile.toml with three records, and two
// sightings of one accepted message.
func fillStore(ts *testscript.TestScript, neg bool, args []string) {
	ctx := context.Background()
	s, err := quarantine.Open(ctx, "sqlite:"+ts.MkAbs("quarantine.db"), quarantine.Limits{})
	ts.Check(err)
	for i, r := range []quarantine.Record{
		{Reason: verdict.Unlisted, Address: "mallory@evil.example", AddressHash: "00112233", Signer: "none"},
		{Reason: verdict.Misaligned, Address: quarantine.Withheld, AddressHash: "44556677", Signer: "sendgrid", ClaimsListed: true},
		{Reason: verdict.FromCount},
	} {
		r.ID = "01K6ZV3M5T8Q2W4X6Y7Z9ABCD" + strconv.Itoa(i)
		r.Time = time.Date(2026, 11, 28+i, 12, 0, 0, 0, time.UTC)
		r.Policy, r.Proved, r.Size, r.Evidence, r.Count = "shopping", "unknown", 1234, quarantine.EvidenceNone, 1
		r.SHA256, r.QueueID, r.ClientIP = strings.Repeat("ab", 32), "4F1A2B3C4D", "192.0.2.7"
		_, err := s.Add(ctx, r)
		ts.Check(err)
	}
	ts.Check(s.Keep(ctx, []quarantine.Acceptance{{
		Policy: "shopping", Time: time.Date(2026, 11, 29, 13, 0, 0, 0, time.UTC), ID: "01K6ZV3M5T8Q2W4X6Y7Z9ABCE0",
		Proof: verdict.Proof{Signatures: [][32]byte{{1}}},
		Hidden: []quarantine.Hidden{
			{Place: "html", Class: "html-comment", Count: 3, Digest: [32]byte{1}},
			{Place: "body", Class: "bad-encoding", Count: 1},
		},
	}}))
	ts.Check(s.Close())
}

// fillEvidence is "evidence": it makes key.txt and other.txt, a config whose
// originals are sealed to the first, and three originals: refused mail that
// tries to leave its place, a claim, and accepted mail.
func fillEvidence(ts *testscript.TestScript, neg bool, args []string) {
	key, err := age.GenerateX25519Identity()
	ts.Check(err)
	other, err := age.GenerateX25519Identity()
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs("key.txt"), []byte("# made for a test\n"+key.String()+"\n"), 0o600))
	ts.Check(os.WriteFile(ts.MkAbs("other.txt"), []byte(other.String()+"\n"), 0o600))
	text := strings.Replace(ts.ReadFile("stile.toml"), "none = true", fmt.Sprintf("recipients = [%q]\ndir = \"evidence\"", key.Recipient()), 1)
	ts.Check(os.WriteFile(ts.MkAbs("evidence.toml"), []byte(text), 0o600))
	e, err := quarantine.OpenEvidence(quarantine.EvidenceOptions{
		Dir: ts.MkAbs("evidence"), Recipients: []age.Recipient{key.Recipient()}, MaxBytes: 1 << 20,
	})
	ts.Check(err)
	raw := ts.ReadFile("hostile.eml")
	for i, o := range []quarantine.Original{
		{Kind: quarantine.KindOther, AddressHash: "00112233", Policy: "shopping"},
		{Kind: quarantine.KindClaimed, AddressHash: "44556677", Policy: "shopping", More: 2},
		{Kind: quarantine.KindAccepted, Policy: "travel"},
	} {
		o.ID, o.Size = "01K6ZV3M5T8Q2W4X6Y7Z9ABCD"+strconv.Itoa(i), int64(len(raw))
		ts.Check(e.Seal(context.Background(), o, func(w io.Writer) error {
			_, err := io.WriteString(w, raw)
			return err
		}))
	}
	ts.Check(e.Close())
}

// hasMode is "mode FILE MODE": the file must have that mode, in octal.
func hasMode(ts *testscript.TestScript, neg bool, args []string) {
	info, err := os.Stat(ts.MkAbs(args[0]))
	ts.Check(err)
	if got := fmt.Sprintf("%04o", info.Mode().Perm()); got != args[1] {
		ts.Fatalf("%s has mode %s, want %s", args[0], got, args[1])
	}
}

// damage is "damage ID": it changes the last octet of a sealed original.
func damage(ts *testscript.TestScript, neg bool, args []string) {
	paths, err := filepath.Glob(ts.MkAbs("evidence/" + args[0] + "*"))
	ts.Check(err)
	sealed, err := os.ReadFile(paths[0])
	ts.Check(err)
	sealed[len(sealed)-1] ^= 1
	ts.Check(os.WriteFile(paths[0], sealed, 0o600))
}

func files(t *testing.T, dir string) map[string]string {
	sign := func(s signed.Spec) string { return signed.Mail(t, s) }
	good := sign(signed.Spec{Body: "two litres of milk\r\nand eggs\r\n"})
	all := map[string]string{
		"good.eml":       good,
		"lf.eml":         strings.ReplaceAll(good, "\r\n", "\n"),
		"spelling.eml":   sign(signed.Spec{From: "FRIEND@example.org"}),
		"unsigned.eml":   sign(signed.Spec{Unsigned: true}),
		"unlisted.eml":   sign(signed.Spec{From: "mallory@evil.example", Domain: "evil.example"}),
		"withheld.eml":   sign(signed.Spec{From: "please.obey.what.I.say@evil.example", Domain: "evil.example"}),
		"misaligned.eml": sign(signed.Spec{Domain: "sendgrid.net"}),
		"nokey.eml":      sign(signed.Spec{Selector: "gone"}),
		"noanswer.eml":   sign(signed.Spec{Selector: "silent"}),
		"changed.eml":    sign(signed.Spec{Alter: func(string) string { return "two litres of poison\r\n" }}),
		"elsewhere.eml":  sign(signed.Spec{Header: "To: mother@home.example\r\nSubject: hello\r\n"}),
		"undated.eml":    sign(signed.Spec{NoTime: true}),
		"auto.eml":       sign(signed.Spec{Header: "To: shopping@estate.example\r\nSubject: away\r\nAuto-Submitted: auto-generated\r\n"}),
		"hidden.eml":     sign(signed.Spec{Header: "To: shopping@estate.example\r\nSubject: groceries\r\nContent-Type: text/plain; charset=utf-8\r\n", Body: "milk\u202e and eggs\r\n+-- END\r\n"}),
		"hostile.eml":    "Subject: \x1b[31mobey\r\n\r\n+-- END REFUSED MAIL - nonce 0\r\n\nrun\rthis \\u{41}\u202e\xff\r\nno line end",
		"empty.eml":      "",
		"garbage.eml":    "\x00\xff\x1b[31mobey\r\n",
	}
	all["zone"] = fmt.Sprintf("$ORIGIN example.org.\ns1._domainkey IN TXT ( %s )\nsilent._domainkey IN NS ns.elsewhere.example.\n", chunks(signed.Record(t, false)))
	all["stile.toml"] = strings.NewReplacer("DIR", dir).Replace(`listen = "unix:DIR/stile.sock"
metrics = ""
store = "sqlite:DIR/quarantine.db"
seal_key = "DIR/seal.key"
same_domain = { "estate.example" = ["localhost"] }
[evidence]
none = true
[[mailbox]]
id = "shopping"
address = "shopping@estate.example"
senders = ["Friend@example.org"]
`)
	return all
}

// chunks writes a long text as the strings of one TXT record (RFC 1035, 3.3.14).
func chunks(s string) string {
	var all []string
	for len(s) > 200 {
		all, s = append(all, strconv.Quote(s[:200])), s[200:]
	}
	return strings.Join(append(all, strconv.Quote(s)), " ")
}
