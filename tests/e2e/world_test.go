package e2e

import (
	"context"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"stile/tests/rig"
)

// The addresses of the rig's configuration.
const (
	friend   = "friend@example.org"      // on shopping's and counter's lists
	agency   = "agency@travel.example"   // on travel's
	stranger = "mallory@evil.example"    // on none
	shopping = "shopping@estate.example" // guarded, all switches at their defaults
	travel   = "travel@estate.example"   // guarded
	counter  = "counter@estate.example"  // guarded, refused = "reject"
	desk     = "desk@estate.example"     // not guarded
	broken   = "broken@estate.example"   // not guarded, delivery to it fails
)

// world is one rig under test.
type world struct {
	*rig.Rig
	t         *testing.T
	ctx       context.Context
	delivered int // how many messages were taken out of mailboxes
}

// key signs for every domain of the tests: RSA keys take long to make.
var key = sync.OnceValue(func() *rig.Key {
	k, err := rig.NewRSA(2048)
	if err != nil {
		panic(err)
	}
	return k
})

// begin starts a rig and the daemon in it. config is put at the end of stile's
// configuration.
func begin(t *testing.T, config string) *world {
	t.Helper()
	return beginWith(t, rig.Options{Config: config})
}

// beginWith starts such a rig and the daemon in it.
func beginWith(t *testing.T, o rig.Options) *world {
	t.Helper()
	t.Parallel() // most of a test is waiting
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	t.Cleanup(cancel)
	o.Stile = binary
	r, err := rig.Start(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{Rig: r, t: t, ctx: ctx}
	t.Cleanup(w.end)
	for _, d := range []string{"example.org", "travel.example", "evil.example"} {
		w.DNS.SetTXT("s1._domainkey."+d, key().Record)
	}
	w.do(w.Stile.Start(ctx))
	return w
}

func (w *world) end() {
	if w.t.Failed() {
		w.t.Logf("Postfix:\n%s\nstile:\n%s", w.Postfix.Log.Text(), w.Stile.Log.Text())
	}
	if err := w.Close(); err != nil {
		w.t.Error(err)
	}
}

// do ends the test on an error.
func (w *world) do(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// letter is an ordinary message from one address to another.
func letter(from, to, subject, body string) string {
	return "From: " + from + "\r\n" +
		"To: " + to + "\r\n" +
		"Subject: " + subject + "\r\n" +
		"Date: " + time.Now().Format(time.RFC1123Z) + "\r\n" +
		"Message-ID: <" + strings.ReplaceAll(subject, " ", "-") + "@client.example>\r\n" +
		"MIME-Version: 1.0\r\n" +
		"Content-Type: text/plain; charset=utf-8\r\n" +
		"\r\n" + body
}

// sign signs a message for example.org, or as the changes say.
func (w *world) sign(raw string, changes ...func(*rig.Signing)) string {
	w.t.Helper()
	how := rig.Signing{Domain: "example.org", Selector: "s1", Key: key()}
	for _, change := range changes {
		change(&how)
	}
	out, err := w.Signer.Sign(raw, how)
	w.do(err)
	return out
}

// good is a message that shopping@ and counter@ accept.
func (w *world) good(subject string) string {
	return w.sign(letter(friend, shopping, subject, "eggs\r\nmilk\r\n"))
}

// domain makes a signature that domain's.
func domain(d string) func(*rig.Signing) {
	return func(s *rig.Signing) { s.Domain = d }
}

// headers makes those names a signature's h=.
func headers(names ...string) func(*rig.Signing) {
	return func(s *rig.Signing) { s.Headers = names }
}

func (w *world) dial() *rig.Client {
	w.t.Helper()
	c, err := rig.Dial(w.ctx, w.Postfix.Addr)
	w.do(err)
	w.t.Cleanup(c.Close)
	return c
}

// send sends one message over a connection of its own.
func (w *world) send(from, raw string, to ...string) rig.Result {
	w.t.Helper()
	c := w.dial()
	defer c.Close()
	r, err := c.Send(from, to, raw)
	w.do(err)
	return r
}

// want fails the test unless the reply has that code.
func (w *world) want(code int, got rig.Reply) {
	w.t.Helper()
	if got.Code != code {
		w.t.Fatalf("the server answered %q, want %d", got, code)
	}
}

// arrives returns the next message in the mailbox of that name, with CRLF.
func (w *world) arrives(m *rig.Mailbox) string {
	w.t.Helper()
	path, err := m.Next(w.ctx)
	w.do(err)
	return readMail(w.t, path)
}

func readMail(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(text), "\n", "\r\n")
}

// discarded waits until Postfix has thrown the queued message away at stile's
// word.
func (w *world) discarded(r rig.Reply) {
	w.t.Helper()
	w.want(250, r)
	_, err := w.Postfix.Log.Wait(w.ctx, 0, r.QueueID()+": milter-discard: END-OF-MESSAGE")
	w.do(err)
}

// settled waits until Postfix is done with the queued message.
func (w *world) settled(r rig.Reply) {
	w.t.Helper()
	w.want(250, r)
	w.settledID(r.QueueID())
}

func (w *world) settledID(id string) {
	w.t.Helper()
	_, err := w.Postfix.Log.Wait(w.ctx, 0, id+": removed")
	w.do(err)
}

// empty fails the test if anything lies in the mailboxes. What Postfix took
// before must be settled or discarded.
func (w *world) empty(names ...string) {
	w.t.Helper()
	for _, n := range names {
		unread, err := w.Postfix.Mailbox(n).Unread()
		w.do(err)
		for _, path := range unread {
			w.t.Errorf("in %s lies:\n%s", n, readMail(w.t, path))
		}
	}
}

// records is the quarantine store.
func (w *world) records() []rig.Record {
	w.t.Helper()
	records, err := w.Stile.Records(w.ctx)
	w.do(err)
	return records
}
