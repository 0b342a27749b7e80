package e2e

import (
	"encoding/json"
	"io"
	"mime"
	"net/mail"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/mod/sumdb/note"

	"stile/fence"
	"stile/stamp"
	"stile/verdict"
)

// received is a delivered message as a reader takes it.
type received struct {
	raw     string // with CRLF
	header  []verdict.Field
	verdict stamp.Verdict
	text    string // the fence
	fence   *fence.Fence
}

// read waits for the next message of a mailbox and opens its stamp: by stile's
// own reader, by Python's two policies and by Go's standard library, which must
// find one and the same fence.
func (w *world) read(mailbox, policy string) received {
	w.t.Helper()
	path, err := w.Postfix.Mailbox(mailbox).Next(w.ctx)
	w.do(err)
	raw := readMail(w.t, path)
	w.do(os.Remove(path)) // the next call reads the next message
	w.delivered++
	return w.open(raw, policy)
}

// readLMTP is read for the mailbox of reader@, which Postfix delivers by LMTP.
func (w *world) readLMTP() received {
	w.t.Helper()
	raw, err := w.LMTP.Next(w.ctx)
	w.do(err)
	w.delivered++
	return w.open(raw, "reader")
}

// open opens the stamp of a delivered message.
func (w *world) open(raw, policy string) received {
	w.t.Helper()
	got := w.judged(raw, policy, w.sealKeys())
	var err error
	got.fence, err = fence.Parse(got.text)
	w.do(err)

	parsed, err := mail.ReadMessage(strings.NewReader(got.raw))
	w.do(err)
	words, err := new(mime.WordDecoder).DecodeHeader(parsed.Header.Get("Stile-Rendering"))
	w.do(err)
	if words != got.text {
		w.t.Errorf("mime.WordDecoder reads\n%q\nwant\n%q", words, got.text)
	}
	w.readPython(got)
	return got
}

// judged wants a message to have a stamp for the policy.
func (w *world) judged(raw, policy string, keys []note.Verifier) received {
	w.t.Helper()
	m, err := verdict.Split(io.NewSectionReader(strings.NewReader(raw), 0, int64(len(raw))))
	w.do(err)
	got := received{raw: raw, header: m.Header}
	got.verdict, got.text, err = stamp.Open(got.header, policy, keys...)
	w.do(err)
	return got
}

func (w *world) readPython(got received) {
	w.t.Helper()
	file := filepath.Join(w.Dir, "read.eml")
	script, err := os.ReadFile("read.py")
	w.do(err)
	w.do(os.WriteFile(file, []byte(strings.ReplaceAll(got.raw, "\r\n", "\n")), 0o600))
	out, err := w.Python(w.ctx, string(script), file)
	w.do(err)
	var python struct {
		Default, Compat32 string
		Defects           []string
	}
	w.do(json.Unmarshal([]byte(out), &python))
	if python.Default != got.text {
		w.t.Errorf("Python's policy.default reads\n%q\nwant\n%q", python.Default, got.text)
	}
	if python.Compat32 != got.text {
		w.t.Errorf("Python's compat32 reads\n%q\nwant\n%q", python.Compat32, got.text)
	}
	if len(python.Defects) != 0 {
		w.t.Errorf("Python finds defects: %q", python.Defects)
	}
}

// sealKeys is the public half of the rig's seal key.
func (w *world) sealKeys() []note.Verifier {
	w.t.Helper()
	out, err := w.Stile.Run(w.ctx, "", "key", "show", "-c", w.Stile.Config)
	w.do(err)
	keys, err := stamp.ParsePublic(out.Stdout)
	w.do(err)
	return keys
}

// fields counts the fields of that name.
func (r received) fields(name string) int {
	n := 0
	for _, f := range r.header {
		if f.Is(name) {
			n++
		}
	}
	return n
}

// body is the text that the fence shows, lines joined by LF.
func (r received) body() string {
	var lines []string
	for line := range strings.SplitSeq(r.text, "\n") {
		if strings.HasPrefix(line, "|") {
			lines = append(lines, strings.TrimPrefix(strings.TrimPrefix(line, "|"), " "))
		}
	}
	return strings.Join(lines, "\n")
}
