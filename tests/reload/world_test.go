package reload

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"stile/tests/rig"
)

// The addresses of these tests.
const (
	friend   = "friend@example.org" // on shopping's list
	aunt     = "aunt@example.org"   // on none, until one is changed
	shopping = "shopping@estate.example"
	post     = "post@agents.example" // its senders stand in a file
)

// more is put at the end of the rig's configuration.
const more = `
[[mailbox]]
id = "post"
address = "post@agents.example"
senders_file = "post.senders"
`

// world is one rig under test.
type world struct {
	*rig.Rig
	*manager
	t       *testing.T
	ctx     context.Context
	senders string // the path of post's list
}

// key signs for every domain of the tests.
var key = sync.OnceValue(func() *rig.Key {
	k, err := rig.NewEd25519()
	if err != nil {
		panic(err)
	}
	return k
})

// begin starts a rig and the daemon in it, with listen = "systemd".
func begin(t *testing.T) *world {
	t.Helper()
	return beginAt(t, func(string) string { return "systemd" })
}

// beginAt is begin with what listen makes of the socket's path.
func beginAt(t *testing.T, listen func(path string) string) *world {
	t.Helper()
	t.Parallel() // much of a test is waiting
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	r, err := rig.Start(ctx, rig.Options{Stile: binary, Config: more})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{Rig: r, t: t, ctx: ctx, senders: filepath.Join(filepath.Dir(r.Stile.Config), "post.senders")}
	t.Cleanup(w.end)
	w.manager, err = manage(r.Stile)
	w.do(err)
	w.DNS.SetTXT("s1._domainkey.example.org", key().Record)
	w.edit(`"unix:`+r.Stile.Socket+`"`, `"`+listen(r.Stile.Socket)+`"`)
	w.do(os.WriteFile(w.senders, []byte(friend+"\n"), 0o644))
	w.do(w.Stile.Start(ctx))
	_, err = w.States.Wait(ctx, 0, "READY=1")
	w.do(err)
	return w
}

func (w *world) end() {
	if w.t.Failed() {
		w.t.Logf("Postfix:\n%s\nstile:\n%s", w.Postfix.Log.Text(), w.Stile.Log.Text())
	}
	if err := w.Close(); err != nil {
		w.t.Error(err)
	}
	if w.manager != nil {
		w.manager.close()
	}
}

// do ends the test on an error.
func (w *world) do(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// edit replaces a text of stile's configuration.
func (w *world) edit(old, new string) {
	w.t.Helper()
	text, err := os.ReadFile(w.Stile.Config)
	w.do(err)
	if !strings.Contains(string(text), old) {
		w.t.Fatalf("the configuration does not hold %q", old)
	}
	w.do(os.WriteFile(w.Stile.Config, []byte(strings.Replace(string(text), old, new, 1)), 0o644))
}

// happens does something and waits for a line of stile's log with the words.
func (w *world) happens(what func(), words ...string) {
	w.t.Helper()
	mark := w.Stile.Log.Len()
	what()
	_, err := w.Stile.Log.Wait(w.ctx, mark, words...)
	w.do(err)
}

// restart ends the daemon and starts the next one, between which meanwhile is
// called.
func (w *world) restart(meanwhile func()) {
	w.t.Helper()
	w.do(w.Stile.Stop(w.ctx))
	meanwhile()
	w.do(w.Stile.Start(w.ctx))
}

// letter is a signed message of that sender's.
func (w *world) letter(from, to, subject string) (string, error) {
	return w.Signer.Sign("From: "+from+"\r\n"+
		"To: "+to+"\r\n"+
		"Subject: "+subject+"\r\n"+
		"Date: "+time.Now().Format(time.RFC1123Z)+"\r\n"+
		"Message-ID: <"+subject+"@client.example>\r\n"+
		"MIME-Version: 1.0\r\n"+
		"Content-Type: text/plain; charset=utf-8\r\n"+
		"\r\neggs\r\n", rig.Signing{Domain: "example.org", Selector: "s1", Key: key()})
}

// send sends one message in a session and returns the last reply.
func (w *world) send(c *rig.Client, from, to, subject string) (rig.Reply, error) {
	raw, err := w.letter(from, to, subject)
	if err != nil {
		return rig.Reply{}, err
	}
	r, err := c.Send(from, []string{to}, raw)
	return r.Data, err
}

// fate is what Postfix did with a message: "delivered", "recorded" or
// "deferred".
func (w *world) fate(r rig.Reply) (string, error) {
	if r.Code/100 == 4 {
		return "deferred", nil
	}
	if r.Code != 250 {
		return "", fmt.Errorf("the server answered %q", r)
	}
	line, err := w.Postfix.Fate(w.ctx, r.QueueID())
	if err != nil {
		return "", err
	}
	if strings.Contains(line, "milter-discard") {
		return "recorded", nil
	}
	return "delivered", nil
}

// alone sends one message over a connection of its own and returns its fate.
func (w *world) alone(from, to, subject string) (string, error) {
	c, err := rig.Dial(w.ctx, w.Postfix.Addr)
	if err != nil {
		return "", err
	}
	defer c.Close()
	r, err := w.send(c, from, to, subject)
	if err != nil {
		return "", err
	}
	return w.fate(r)
}

// one is alone, and ends the test on an error.
func (w *world) one(from, to, subject string) string {
	w.t.Helper()
	fate, err := w.alone(from, to, subject)
	w.do(err)
	return fate
}

// records is how many refusals the store tells of.
func (w *world) records() int {
	w.t.Helper()
	rows, err := w.Stile.Records(w.ctx)
	w.do(err)
	n := 0
	for _, r := range rows {
		count, _ := r["count"].(float64)
		n += int(count)
	}
	return n
}
