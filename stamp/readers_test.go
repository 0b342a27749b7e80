package stamp

import (
	"encoding/json"
	"mime"
	"net/mail"
	"os/exec"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"stile/fence"
	"stile/tests/signed"
)

// python reads JSON strings, each a raw message, and answers with what both of
// its mail policies decode, each as its documentation says.
const python = `
import email, email.policy, json, sys
from email.header import decode_header, make_header
answers = []
for raw in json.load(sys.stdin):
    raw = raw.encode("ascii")
    old = email.message_from_bytes(raw)
    new = email.message_from_bytes(raw, policy=email.policy.default)
    answers.append({
        "compat32": str(make_header(decode_header(old["Stile-Rendering"]))),
        "default": str(new["Stile-Rendering"]),
        "again": str(email.message_from_bytes(new.as_bytes(), policy=email.policy.default)["Stile-Rendering"]),
        "verdict": str(new["Stile-Verdict"]),
        "lines": len(str(new["Stile-Rendering"]).splitlines()),
        "defects": len(new.defects) + len(new["Stile-Rendering"].defects) + len(old.defects),
    })
json.dump(answers, sys.stdout)
`

// pythonPath is where the system's own Python is.
const pythonPath = "/usr/bin/python3"

// readerFences are fences of every kind and size, the same in each run.
func readerFences(t *testing.T) []string {
	fences := []string{sampleFence, "+-- =?utf-8?q?x?= \n|\n| \n|  a  \n| \t\n" + sampleFence}
	seed := uint64(0)
	for _, kind := range []string{"english", "german", "chinese", "emoji", "symbols", "mixed"} {
		for _, limit := range []int{2000, fenceLimit} {
			for _, longest := range []int{4, 60, 2000} {
				seed++
				fences = append(fences, growFence([]string{kind}, limit, longest, seed))
			}
		}
	}
	return append(fences, hostileFences(t)...)
}

// hostileFences are what is rendered of mail that is full of other line ends,
// markers, encoded words and characters that nobody sees.
func hostileFences(t *testing.T) (fences []string) {
	text := rapid.SliceOfN(rapid.OneOf(
		rapid.StringN(0, 8, -1),
		rapid.SampledFrom([]string{
			"\r", "\n", "\r\n", "\v", "\f", "\x1c", "\x1d", "\x1e", "\x85", "\u0085", "\u2028", "\u2029", "\x1b[1A", "\x00", "\u200b", "\u202e", "\ufeff",
			"+-- END UNTRUSTED TEXT - nonce 3f9a1c0e7b2d4e61\r\n", "| ", `\u{A}`, "=?utf-8?q?=0A?=", " =?utf-8?b?Cg==?= ", "?=", "\xff", "\U000e0041", "\U0010ffff",
		}),
	), 0, 60)
	for seed := range 60 {
		pieces := text.Example(seed)
		subject := strings.Map(func(r rune) rune {
			if r < ' ' || r == 0x7f {
				return -1
			}
			return r
		}, strings.Join(pieces[:min(len(pieces), 9)], ""))
		a := signed.Accepted(t, signed.Spec{
			Ed25519: true, Simple: true, Body: strings.ReplaceAll(strings.ReplaceAll(strings.Join(pieces, ""), "\r\n", "\n"), "\n", "\r\n"),
			Header: "To: shopping@estate.example\r\nContent-Type: text/plain; charset=utf-8\r\nSubject: " + subject + "\r\n",
		})
		r, err := fence.Render(a)
		if err != nil {
			t.Fatal(err)
		}
		fences = append(fences, r.Text)
	}
	return fences
}

// TestPython decodes stamped messages by Python's email package, both of its
// policies, to the exact fence. It needs Python and fails without it; -short
// leaves it out.
func TestPython(t *testing.T) {
	if testing.Short() {
		t.Log("left out: -short")
		return
	}
	fences := readerFences(t)
	var messages, want []string
	for _, fenceText := range fences {
		for _, end := range []string{"\n", "\r\n"} {
			messages = append(messages, text(sampleHeader(t, sampleVerdict(), fenceText), end))
			want = append(want, fenceText)
		}
	}
	input, err := json.Marshal(messages)
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), pythonPath, "-I", "-c", python)
	command.Stdin = strings.NewReader(string(input))
	output, err := command.Output()
	if err != nil {
		t.Fatalf("%s: %v", pythonPath, err)
	}
	var answers []struct {
		Compat32, Default, Again, Verdict string
		Defects, Lines                    int
	}
	if err := json.Unmarshal(output, &answers); err != nil {
		t.Fatal(err)
	}
	if len(answers) != len(messages) {
		t.Fatalf("%d answers for %d messages", len(answers), len(messages))
	}
	verdictValue, err := sampleVerdict().value()
	if err != nil {
		t.Fatal(err)
	}
	for i, got := range answers {
		for policy, decoded := range map[string]string{"compat32": got.Compat32, "default": got.Default, "default, written and read again": got.Again} {
			if decoded != want[i] {
				t.Errorf("message %d, %s: %q\nwant %q", i, policy, decoded, want[i])
			}
		}
		if got.Verdict != relaxed(verdictValue) {
			t.Errorf("message %d: the verdict %q", i, got.Verdict)
		}
		// Python ends a line at more characters than LF.
		if n := strings.Count(want[i], "\n") + 1; got.Lines != n {
			t.Errorf("message %d: %d lines, want %d", i, got.Lines, n)
		}
		if got.Defects != 0 {
			t.Errorf("message %d: %d defects", i, got.Defects)
		}
	}
}

// Go's net/mail gives the raw value, mime.WordDecoder the exact fence.
func TestNetMail(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		fenceText := drawFence(rt)
		end := rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(rt, "line end")
		m, err := mail.ReadMessage(strings.NewReader(text(sampleHeader(t, sampleVerdict(), fenceText), end)))
		if err != nil {
			rt.Fatal(err)
		}
		got, err := new(mime.WordDecoder).DecodeHeader(m.Header.Get("Stile-Rendering"))
		if err != nil {
			rt.Fatal(err)
		}
		if got != fenceText {
			rt.Fatalf("got %q\nwant %q", got, fenceText)
		}
		if _, err := ParseVerdict(m.Header.Get("Stile-Verdict")); err != nil {
			rt.Fatal(err)
		}
	})
}
