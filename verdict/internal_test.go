package verdict

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"net/mail"
	"regexp"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/emersion/go-msgauth/dkim"
	"pgregory.net/rapid"
)

func TestParseFrom(t *testing.T) {
	for _, c := range []struct{ value, want string }{
		{"a@b.example", "a@b.example"},
		{" \ta@b.example ", "a@b.example"},
		{"<a@b.example>", "a@b.example"},
		{"A B<a@b.example>", "a@b.example"},
		{"A. B. <a@b.example>", "a@b.example"},
		{`"A (x) \" <y@z.example>, B" <a@b.example>`, "a@b.example"},
		{"=?utf-8?q?A=2C?= <a@b.example>", "a@b.example"},
		{"=?x-none?q?A?= <a@b.example>", "a@b.example"},
		{"J\u00fcrgen <a@b.example>", "a@b.example"},
		{"a@b.example (Cron Daemon)", "a@b.example"},
		{"A <a@b.example> (x) ", "a@b.example"},
		{"a!#$%&'*+-/?^=_`{|}~@b.example", "a!#$%&'*+-/?^=_`{|}~@b.example"},
		{"", ""},
		{"A", ""},
		{"a@b", ""},
		{"a@b.example.", ""},
		{"a@-b.example", ""},
		{"a@b-.example", ""},
		{"a@b..example", ""},
		{"a@b_c.example", ""},
		{"a@[192.0.2.1]", ""},
		{"a@b.example@c.example", ""},
		{".a@b.example", ""},
		{"a.@b.example", ""},
		{"a..a@b.example", ""},
		{"@b.example", ""},
		{`"a"@b.example`, ""},
		{"a (x)@b.example", ""},
		{"(x) a@b.example", ""},
		{"a@b.example (x) (y)", ""},
		{"a@b.example (x(y))", ""},
		{"a@b.example (x", ""},
		{`a@b.example (x\)`, ""},
		{"a@b.example (\xe9)", ""},
		{"\xe9 <a@b.example>", ""},
		{"< a@b.example>", ""},
		{"<a@b.example >", ""},
		{"<a@b.example> x", ""},
		{"<<a@b.example>>", ""},
		{"a@b.example>", ""},
		{">", ""},
		{"<x@y.example> <a@b.example>", ""},
		{"<@x.example:a@b.example>", ""},
		{"A [B] <a@b.example>", ""},
		{`A \B <a@b.example>`, ""},
		{`"A <a@b.example>`, ""},
		{"a@b.example; c@d.example", ""},
		{"g: a@b.example;", ""},
		{"=?utf-8?q?a?=@b.example", ""},
		{"\u00e4@b.example", ""},
		{"a@b\u3002example", ""},
		{strings.Repeat("a", 242) + "@" + "bbb.example", strings.Repeat("a", 242) + "@" + "bbb.example"},
		{strings.Repeat("a", 243) + "@" + "bbb.example", ""},
		{"a@" + strings.Repeat("b", 63) + ".example", "a@" + strings.Repeat("b", 63) + ".example"},
		{"a@" + strings.Repeat("b", 64) + ".example", ""},
	} {
		if got, ok := parseFrom(c.value); got != c.want || ok != (c.want != "") {
			t.Errorf("parseFrom(%q) = %q, %v; want %q", c.value, got, ok, c.want)
		}
	}
}

// FuzzParseFrom: whatever our grammar takes, net/mail reads as that address
// and no other.
func FuzzParseFrom(f *testing.F) {
	for _, s := range []string{"a@b.example", `"x, y" <a@b.example> (z)`, "g: a@b.example;", "=?utf-8?q?a?= <a@b.example>"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, value string) {
		addr, ok := parseFrom(value)
		if !ok {
			return
		}
		list, err := mail.ParseAddressList(regexp.MustCompile(`=\?[^ ]*\?=`).ReplaceAllString(value, "x"))
		if err != nil || len(list) != 1 || list[0].Address != addr {
			t.Errorf("parseFrom(%q) = %q, net/mail %v %v", value, addr, list, err)
		}
		if !ValidAddress(addr) || strings.Count(addr, "@") != 1 {
			t.Errorf("parseFrom(%q) = %q", value, addr)
		}
	})
}

// RFC 6376, 3.5, c=: simple where one or both are left out.
func TestCanonicalization(t *testing.T) {
	for c, want := range map[string]string{
		"simple/simple": "ss", "simple/relaxed": "sr", "relaxed/simple": "rs", "relaxed/relaxed": "rr",
		"simple": "ss", "relaxed": "rs", "-": "ss",
		"": "", "relaxed/": "", "/relaxed": "", "relaxed/x": "", "x/relaxed": "", "Relaxed/relaxed": "",
		"relaxed/relaxed/simple": "", "relaxed /relaxed": "",
	} {
		tags := map[string]string{"c": c}
		if c == "-" {
			tags = nil
		}
		header, body, ok := parseCanonicalization(tags)
		got := map[bool]string{true: "s", false: "r"}[header] + map[bool]string{true: "s", false: "r"}[body]
		if ok != (want != "") || ok && got != want {
			t.Errorf("c=%s: %s, %v, want %q", c, got, ok, want)
		}
	}
}

func TestReduced(t *testing.T) {
	for address, shown := range map[string]bool{
		"a@b.example":                           true,
		"mallory.b@mail.evil.example":           true,
		"a+b@xn--bcher-kva.example":             true,
		"a@my-host.example":                     true,
		strings.Repeat("a", 24) + "@b.ex":       true,
		strings.Repeat("a", 25) + "@b.ex":       false,
		"do.it.now@evil.example":                false,
		"do-it+now@evil.example":                false,
		"a@run-this-now.example":                false,
		"a@xn--a-b-c.example":                   false,
		"a@please.send.the.money":               false,
		"a@" + strings.Repeat("b", 36) + ".exa": true,
		"a@" + strings.Repeat("b", 37) + ".exa": false,
		"a!b@evil.example":                      false,
		"a=b@evil.example":                      false,
		"":                                      false,
	} {
		if got := (Claim{address}).Reduced(); got != "" != shown || shown && got != address {
			t.Errorf("Reduced(%q) = %q", address, got)
		}
	}
}

func TestHash(t *testing.T) {
	a, b := Claim{"a@b.example"}, Claim{"a@c.example"}
	if a.Hash([]byte("k")) == b.Hash([]byte("k")) || a.Hash([]byte("k")) == a.Hash([]byte("l")) || len(a.Hash([]byte("k"))) != 8 {
		t.Error("the hash does not tell addresses and keys apart")
	}
	if (Claim{}).Hash([]byte("k")) != "" {
		t.Error("a hash of no address")
	}
}

func TestSenders(t *testing.T) {
	for _, bad := range []string{"", "a", "a@b", "A <a@b.example>", "a@b.example ", "\u00e4@b.example", ".a@b.example", "a..b@c.example", "a.@b.example"} {
		if _, err := NewSenders([]string{bad}); !errors.Is(err, ErrEntry) {
			t.Errorf("entry %q: %v", bad, err)
		}
	}
	s, err := NewSenders([]string{"Friend@Example.org", "friend@example.ORG"})
	if entry, ok := s.find("friend@example.org"); err != nil || !ok || entry != "Friend@Example.org" {
		t.Errorf("found %q, %v, %v", entry, ok, err)
	}
	if _, ok := s.find("fr\u0130end@example.org"); ok {
		t.Error("Unicode folding")
	}
}

// Each part of the grammar refuses by itself, not only with the second parser.
func TestEachValidatorByItself(t *testing.T) {
	for _, comment := range []string{`(a\)`, "(a(b)", "(a)b)", "(\xe9)"} {
		if simpleComment(comment) {
			t.Errorf("a comment: %q", comment)
		}
	}
	for _, phrase := range []string{"\xe9", `"a`, "a@b", "a,b", `a\b`} {
		if validPhrase(phrase) {
			t.Errorf("a phrase: %q", phrase)
		}
	}
	for _, name := range []string{"", "a:b", "a b", "a\t", "\u00e4", "a\x7f"} {
		if validFieldName(name) {
			t.Errorf("a field name: %q", name)
		}
	}
}

// naiveBody is RFC 6376, 3.4.3 and 3.4.4, written the other way round: on the
// whole body, with regular expressions.
func naiveBody(body string, simple bool) string {
	body = strings.ReplaceAll(strings.ReplaceAll(body, "\r\n", "\n"), "\n", "\r\n")
	if body != "" && !strings.HasSuffix(body, "\r\n") {
		body += "\r\n"
	}
	if !simple {
		body = regexp.MustCompile(`[ \t]+\r\n`).ReplaceAllString(body, "\r\n")
		body = regexp.MustCompile(`[ \t]+`).ReplaceAllString(body, " ")
	}
	body = regexp.MustCompile(`(\r\n)+$`).ReplaceAllString(body, "")
	if body != "" || simple {
		body += "\r\n"
	}
	return body
}

func TestBodyHash(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		body := rapid.StringOfN(rapid.RuneFrom([]rune("ab \t\r\n")), 0, 60, -1).Draw(t, "body")
		simple := rapid.Bool().Draw(t, "simple")
		want := sha256.Sum256([]byte(naiveBody(body, simple)))
		for _, r := range []io.Reader{strings.NewReader(body), iotest.OneByteReader(strings.NewReader(body))} {
			got := hashBody(r, int64(len(body)), simple)
			if got.err != nil || !bytes.Equal(got.sum, want[:]) {
				t.Fatalf("body %q, simple %v: canonical form is not %q", body, simple, naiveBody(body, simple))
			}
		}
	})
	if hashBody(iotest.ErrReader(errors.New("x")), 1, true).err == nil {
		t.Error("a reader's error was lost")
	}
}

func TestSplit(t *testing.T) {
	for _, c := range []struct {
		raw, body string
		names     []string
	}{
		{"", "", nil},
		{"\r\n", "", nil},
		{"A: b\r\n c\r\nD:e\r\n\r\nbody\r\n", "body\r\n", []string{"A", "D"}},
		{"A: b\nC: d\n\nbody\n", "body\n", []string{"A", "C"}},
		{"A: b\nC: d\r\n\r\nbody", "body", []string{"A"}},
		{"A: b\r\nno colon", "", []string{"A", "no colon"}},
		{" A: b\r\n\r\n", "", []string{" A"}},
	} {
		m, err := Split(io.NewSectionReader(strings.NewReader(c.raw), 0, int64(len(c.raw))))
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(m.Body)
		var names []string
		for _, f := range m.Header {
			names = append(names, f.Name)
		}
		if err != nil || string(body) != c.body || strings.Join(names, "|") != strings.Join(c.names, "|") || m.Size != int64(len(c.raw)) {
			t.Errorf("Split(%q): %q, body %q, %d octets, %v", c.raw, names, body, m.Size, err)
		}
	}
	r := io.NewSectionReader(failing{}, 0, 10)
	if _, err := Split(r); err == nil {
		t.Error("a reader's error was lost")
	}
}

type failing struct{}

func (failing) ReadAt([]byte, int64) (int, error) { return 0, errors.New("x") }

// TestSplitBounded: however large a header, what is kept of it is a little
// over the limit, and judging says that it is too large.
func TestSplitBounded(t *testing.T) {
	for _, raw := range []string{
		strings.Repeat("A: b\r\n", 100_000), strings.Repeat("x", 4<<20),
		"A: b\r\n" + strings.Repeat(" c\r\n", 1<<20), "A: " + strings.Repeat("b", 4<<20),
	} {
		m, err := Split(io.NewSectionReader(strings.NewReader(raw), 0, int64(len(raw))))
		if err != nil {
			t.Fatal(err)
		}
		if n := headerSize(m.Header); n > MaxHeader+2048 {
			t.Errorf("%d octets kept", n)
		}
		if c := Open(m, Env{}); c.fault != TooLarge {
			t.Errorf("%.10q…: %q", raw, c.fault)
		}
	}
}

func FuzzSplitAndOpen(f *testing.F) {
	f.Add("From: a@b.example\r\nDKIM-Signature: v=1; d=b.example; h=from; b=; bh=\r\n\r\nx")
	f.Fuzz(func(t *testing.T, raw string) {
		m, err := Split(io.NewSectionReader(strings.NewReader(raw), 0, int64(len(raw))))
		if err != nil {
			t.Fatal(err)
		}
		c := Open(m, Env{})
		for _, s := range c.signatures {
			s.readStrictly(m.Header, c.domain(), c.env.Now)
		}
	})
}

func FuzzTagList(f *testing.F) {
	f.Add("v=1; a=rsa-sha256; b=QUJD")
	f.Fuzz(func(t *testing.T, list string) {
		strict, ok := strictTags(list)
		if !ok {
			return
		}
		loose := looseTags(list)
		if len(loose) != len(strict) {
			t.Fatalf("%d tags, loosely %d", len(strict), len(loose))
		}
		for _, l := range loose {
			if strict[l.name] != l.value {
				t.Errorf("%q: %q, loosely %q", l.name, strict[l.name], l.value)
			}
		}
	})
}

func BenchmarkBody(b *testing.B) {
	body := strings.Repeat("The quick brown fox jumps over the lazy dog and runs away.  \r\n", 16<<10)
	for name, run := range map[string]func(){
		"ours": func() { hashBody(strings.NewReader(body), int64(len(body)), false) },
		"library": func() {
			dkim.VerifyWithOptions(strings.NewReader("DKIM-Signature: v=1; a=ed25519-sha256; c=relaxed/relaxed; d=x; s=x; h=from; bh=AAAA; b=AAAA\r\n\r\n"+body),
				&dkim.VerifyOptions{LookupTXT: func(string) ([]string, error) {
					return []string{"k=ed25519; p=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="}, nil
				}})
		},
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			for b.Loop() {
				run()
			}
		})
	}
}
