package stamp

import (
	"bytes"
	"encoding/base64"
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"stile/fence"
	"stile/tests/signed"
	"stile/verdict"
)

var sampleEnvelope = Envelope{To: []string{"shopping@estate.example", "calendar@estate.example"}, Hostname: "mx.estate.example"}

func TestReplace(t *testing.T) {
	sealer, keys := sampleSealer(t)
	accepted := signed.Accepted(t, signed.Spec{
		Header: "To: shopping@estate.example\r\nDate: Mon, 30 Nov 2026 20:57:13 +0000\r\nReceived: from a\r\nSender: friend@example.org\r\n",
		Above:  "RECEIVED: from c\r\nreceived: from b\r\nAuthentication-Results: mx.estate.example; none\r\nX-Stile-Note: x\r\n",
	})
	body := fence.Rendering{Text: "the body"}
	info := sampleInfo
	info.AuthservID = "mx.estate.example"
	made, err := Replace(accepted, sampleRendering(), body, info, sampleEnvelope, sealer)
	if err != nil {
		t.Fatal(err)
	}
	header := apply(accepted.Header(), made.Stamp)
	if got, want := names(header), "Stile-Verdict Stile-Rendering Stile-Seal Date From To Subject Message-ID MIME-Version Content-Type Content-Transfer-Encoding"; got != want {
		t.Errorf("the header is %s\nwant %s", got, want)
	}
	for _, policy := range info.Policies {
		v, text, err := Open(header, policy, keys...)
		if err != nil || text != sampleFence || !slices.Contains(v.Flags, verdict.ReplyToRemoved) {
			t.Errorf("%v, %+v, %q", err, v, text)
		}
	}
	want := " shopping@estate.example,\r\n calendar@estate.example"
	if got := header[5].Value; got != want {
		t.Errorf("To is %q", got)
	}
}

// A field of those that anyone can add is gone even where it was signed.
func TestReplaceFlags(t *testing.T) {
	sealer, keys := sampleSealer(t)
	for header, removed := range map[string]bool{
		"To: shopping@estate.example\r\n":                                    false,
		"To: shopping@estate.example\r\nLIST-post: <mailto:a@b.example>\r\n": true,
	} {
		accepted := signed.Accepted(t, signed.Spec{Header: header})
		made, err := Replace(accepted, sampleRendering(), fence.Rendering{Text: "x"}, sampleInfo, sampleEnvelope, sealer)
		if err != nil {
			t.Fatal(err)
		}
		v, _, err := Open(apply(accepted.Header(), made.Stamp), "shopping", keys...)
		if err != nil {
			t.Fatal(err)
		}
		var want []verdict.Flag
		if removed {
			want = []verdict.Flag{verdict.ReplyToRemoved}
		}
		if got := slices.DeleteFunc(v.Flags, func(f verdict.Flag) bool { return f == verdict.SubjectUnsigned }); !slices.Equal(got, want) {
			t.Errorf("%q: flags %q", header, v.Flags)
		}
	}
}

func TestReplaceTo(t *testing.T) {
	sealer, _ := sampleSealer(t)
	accepted := signed.Accepted(t, signed.Spec{})
	for _, to := range []string{"", "shopping", "a@b.example\r\nX: y", "a@b.example, c@d.example", "ü@b.example"} {
		_, err := Replace(accepted, sampleRendering(), fence.Rendering{Text: "x"}, sampleInfo, Envelope{To: []string{"a@b.example", to}, Hostname: "h"}, sealer)
		if !errors.Is(err, errAddress) {
			t.Errorf("%q: %v", to, err)
		}
	}
}

// Every body decodes to its text with CRLF line ends, and no line of it is
// longer than what is carried unharmed.
func TestWriteBody(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lines := rapid.SliceOfN(rapid.OneOf(
			rapid.StringMatching(`[ -~]{0,20}`), rapid.StringMatching(`[ -~\t]{895,905}`), rapid.StringMatching(`[a-zü]{0,20}`),
		), 1, 8).Draw(t, "lines")
		text := strings.Join(lines, "\n")
		p := Replacement{text: text, wide: isWide(text)}
		var out bytes.Buffer
		if err := p.WriteBody(&out); err != nil {
			t.Fatal(err)
		}
		encoded, most := out.Bytes(), 900
		if p.wide {
			most = 76
		}
		for _, line := range strings.Split(out.String(), "\n") {
			if len(line) > most || !isASCII(line) {
				t.Fatalf("a line of %d octets: %q", len(line), line)
			}
		}
		if encoded[len(encoded)-1] != '\n' || bytes.HasSuffix(encoded, []byte("\n\n")) && p.wide {
			t.Fatalf("it ends in %q", encoded[max(0, len(encoded)-4):])
		}
		decoded := strings.ReplaceAll(out.String(), "\n", "\r\n")
		if p.wide {
			octets, err := base64.StdEncoding.DecodeString(out.String())
			if err != nil {
				t.Fatal(err)
			}
			decoded = string(octets)
		}
		if want := strings.ReplaceAll(text, "\n", "\r\n") + "\r\n"; decoded != want {
			t.Fatalf("%q, want %q", decoded, want)
		}
	})
}
