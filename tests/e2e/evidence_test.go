package e2e

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"stile/tests/rig"
)

// record notes the messages that the MTA hands to stile, octet for octet, one
// connection at a time.
type record struct {
	mu   sync.Mutex
	text strings.Builder
	all  []string
}

// packet takes one of the MTA's packets.
func (r *record) packet(packet []byte) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch data := string(packet[1:]); packet[0] {
	case 'M':
		r.text.Reset()
	case 'L':
		name, value, _ := strings.Cut(strings.TrimSuffix(data, "\x00"), "\x00")
		r.text.WriteString(name + ":" + strings.ReplaceAll(value, "\n", "\r\n") + "\r\n")
	case 'N':
		r.text.WriteString("\r\n")
	case 'B':
		r.text.WriteString(data)
	case 'E':
		r.all = append(r.all, r.text.String())
	}
	return true
}

func (r *record) messages() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.all)
}

// originals is `stile evidence list`: the ids, the newest first.
func (w *world) originals() (ids []string) {
	w.t.Helper()
	out, err := w.Stile.Run(w.ctx, "", "evidence", "list", "--json", "-c", w.Stile.Config)
	w.do(err)
	for d := json.NewDecoder(strings.NewReader(out.Stdout)); d.More(); {
		var one struct{ ID string }
		w.do(d.Decode(&one))
		ids = append(ids, one.ID)
	}
	return ids
}

// state is all files below stile's directory, by name.
func (w *world) state() map[string]string {
	w.t.Helper()
	files := map[string]string{}
	w.do(filepath.WalkDir(w.Stile.State, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		files[d.Name()] = string(text)
		return err
	}))
	return files
}

// noCanary fails the test if a canary stands in any of the texts.
func (w *world) noCanary(c canaries, said map[string]string) {
	w.t.Helper()
	for where, text := range said {
		text = strings.ToLower(text)
		for _, word := range c {
			if strings.Contains(text, word) {
				w.t.Errorf("%s holds %q, which a sender wrote", where, word)
				break
			}
		}
	}
}

// testSealed: what was refused is kept so that its owner, and nobody else, can
// read it, octet for octet as stile was handed it; not while it is in hand
// either, and not after the daemon was killed over it.
func testSealed(t *testing.T) {
	w := beginWith(t, rig.Options{Evidence: "64MiB"})
	var c canaries
	var handed record
	proxy, err := w.Stile.Interpose(rig.Tap{Command: handed.packet})
	w.do(err)
	for i, m := range w.refusals(&c, shopping) {
		r := w.send(m.from, m.raw, shopping)
		w.discarded(r.Data)
		w.openOriginal(r.Data.QueueID(), handed.messages()[i])
	}

	// One that is spooled and waits for DNS.
	long := rich(&c, friend, shopping)
	for range 2000 {
		long += strings.Repeat(c.word()+" ", 20) + "\r\n"
	}
	long = w.sign(long, selector("nowhere"))
	w.DNS.SetMood(rig.Silent)
	answers := w.sendAtOnce([]string{long}, shopping)
	_, err = w.DNS.Queries.Wait(w.ctx, 0, "nowhere._domainkey.example.org")
	w.do(err)
	if n := unlinked(t, w.Stile.PID()); n != 1 {
		t.Errorf("the daemon has %d unlinked files open, want 1", n)
	}
	w.noCanary(c, w.state())
	w.Stile.Kill()
	if r := <-answers; r.Code/100 != 4 {
		t.Errorf("the client hears %q, want 4xx", r)
	}
	proxy.Close()
	w.noCanary(c, w.state())

	w.DNS.SetMood(rig.Answering)
	w.do(w.Stile.Start(w.ctx))
	r := w.send(friend, long, shopping)
	w.discarded(r.Data)
	w.openOriginal(r.Data.QueueID(), long)
	w.do(w.Stile.Stop(w.ctx))
	said := w.state()
	said["the log"] = w.Stile.Log.Text()
	w.noCanary(c, said)
	w.empty("shopping")
}

// idOfOriginal is where the log names the original of a message that was
// counted in another's record; else it has the record's id.
var idOfOriginal = regexp.MustCompile(` id=(\S+) .*?(?: original=(\S+))?$`)

// openOriginal wants the original of a refused message to be that text.
func (w *world) openOriginal(queueID, want string) {
	w.t.Helper()
	line, err := w.Stile.Log.Wait(w.ctx, 0, "queue="+queueID+" ", "evidence=kept")
	w.do(err)
	found := idOfOriginal.FindStringSubmatch(line)
	if found == nil {
		w.t.Fatalf("no id in %s", line)
	}
	id := found[1]
	if found[2] != "" {
		id = found[2]
	}
	original, err := w.Stile.Original(w.ctx, id)
	w.do(err)
	if original != want {
		w.t.Errorf("the original is\n%q\nwant\n%q", original, want)
	}
}

// testEvidenceFull: when the quota is reached, a friend's mail and what claims
// to be one waits, other mail is refused aloud or, from sendmail(1), goes no
// further; nothing is delivered, and nothing that was kept is removed.
func testEvidenceFull(t *testing.T) {
	w := beginWith(t, rig.Options{Evidence: "1MiB", Config: readerConfig})
	body := func(kib int) string { return strings.Repeat("0123456789abcde\r\n", kib<<10/17) }
	other := letter(stranger, shopping, "hello", body(400))
	first := w.send(stranger, other, shopping)
	w.discarded(first.Data)
	before := w.originals()
	if len(before) != 1 {
		t.Fatalf("the originals are %q, want one", before)
	}
	sent, deferred := 1, 0

	// Half of the quota is for all, and full now.
	for _, to := range []string{shopping, counter} {
		w.want(550, w.send(stranger, letter("another@evil.example", to, "more", body(200)), to).Data)
		sent++
	}
	w.do(w.Postfix.Sendmail(w.ctx, stranger, letter("athird@evil.example", shopping, "local", body(200)), shopping))
	_, err := w.Postfix.Log.Wait(w.ctx, 0, "milter-discard: END-OF-MESSAGE", "from=<"+stranger+">", "localhost")
	w.do(err)
	sent++
	for _, m := range []struct{ raw, to string }{
		{letter(friend, shopping, "forged", body(200)), shopping},
		{letter(friend, counter, "forged", body(200)), counter},
		{w.sign(letter(friend, reader, "long", body(400))), reader},
		{letter(stranger, shopping, "to two", body(200)), desk},
	} {
		to := []string{m.to}
		if m.to == desk {
			to = []string{shopping, desk} // 550 would keep it from desk, 250 from its owner
		}
		w.want(451, w.send(friend, m.raw, to...).Data)
		sent++
		deferred++
	}
	w.sum(sent, deferred)
	if w.delivered != 0 {
		t.Errorf("%d messages were delivered, want none", w.delivered)
	}
	full := 0.0
	for _, r := range w.records() {
		if r.Text("evidence") == "full" {
			full += messagesIn([]rig.Record{r})
		}
	}
	if full != 3 {
		t.Errorf("%v messages are recorded with evidence=full, want 3: %v", full, w.records())
	}
	if after := w.originals(); !slices.Equal(after, before) {
		t.Errorf("the originals are %q, want %q", after, before)
	}
	w.openOriginal(first.Data.QueueID(), other)

	// What is kept for a friend's mail is still there for it.
	w.settled(w.send(friend, w.sign(letter(friend, reader, "short", "eggs\r\n")), reader).Data)
	w.readLMTP()
	w.sum(sent+1, deferred)
	metrics, err := w.Stile.Scrape(w.ctx)
	w.do(err)
	if n := metrics[`stile_evidence_seals_total{result="full"}`]; n != float64(sent-1) {
		t.Errorf("%v originals had no room, want %d", n, sent-1)
	}
}
