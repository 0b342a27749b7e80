package verdict

import (
	"bytes"
	"crypto"
	"crypto/ed25519"
	"io"
	"mime"
	netmail "net/mail"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/emersion/go-message"
	"github.com/emersion/go-message/mail"
	"github.com/emersion/go-msgauth/dkim"
	"pgregory.net/rapid"
)

// takeAny reads every charset as it is: a display name decides nothing.
func takeAny(_ string, r io.Reader) (io.Reader, error) { return r, nil }

// lenient has go-message read every charset until the test ends.
func lenient(t *testing.T) {
	before := message.CharsetReader
	message.CharsetReader = takeAny
	t.Cleanup(func() { message.CharsetReader = before })
}

// drawHeader draws a header, each field with its line end: one From that may
// be read, among fields that some parser takes for a From or for the end of
// the header.
func drawHeader(t *rapid.T) string {
	name := rapid.SampledFrom([]string{
		"From", "FROM", "fRoM", "From ", " From", "\tFrom", "From\t", "From\u00a0", "Fr\u043em", "From\x00", "From\x85",
		"X-From", "Resent-From", "From-", "From;", ">From", "=?utf-8?q?From?=", "Subject", "Sender", "To", "X-A", "",
	})
	value := rapid.StringOfN(rapid.RuneFrom([]rune("a:<>@,;\"=?\u00e9\u0085\u2028\u00a0 \t")), 0, 12, -1)
	piece := rapid.OneOf(value, rapid.SampledFrom([]string{
		"friend@example.org", "mallory@evil.example", "\r\n From: mallory@evil.example", "\r\n\tmallory@evil.example", "\r\n \r\n x",
		"\rFrom: mallory@evil.example", "\nFrom: mallory@evil.example", "\n\nx", "\r\n", "\r\r\n", "\x00", "\v", "\f", "\x1c", "\x85", "\xa0", "\r\n .", "(", ")", "<", ">",
		"=?utf-8?q?=0D=0AFrom:_mallory@evil.example?=",
	}))
	field := func() string {
		return name.Draw(t, "name") + ":" + strings.Join(rapid.SliceOfN(piece, 0, 3).Draw(t, "value"), "") + "\r\n"
	}
	from := rapid.SampledFrom([]string{
		"From: friend@example.org", "From:friend@example.org", "from:\tA <friend@example.org> ", "FROM: \"From: x@evil.example\"\r\n <friend@example.org>",
		"From:\r\n friend@example.org", "From: =?utf-8?q?mallory=40evil.example?=\r\n\t<friend@example.org>",
		"From: friend@example.org (mallory, @evil.example)", "From: M\u00fcller <friend@example.org>",
	}).Draw(t, "from") + "\r\n"
	all := []string{from}
	for range rapid.IntRange(0, 3).Draw(t, "others") {
		at := rapid.IntRange(0, len(all)).Draw(t, "at")
		all = append(all[:at:at], append([]string{field()}, all[at:]...)...)
	}
	return strings.Join(all, "")
}

// TestParsersSeeOurFrom: in no header that passes our conditions does the
// library behind the signature, go-message or net/mail see a From other than
// ours, whichever line ends the message is kept with.
func TestParsersSeeOurFrom(t *testing.T) {
	lenient(t)
	passed := 0
	rapid.Check(t, func(t *rapid.T) {
		head := drawHeader(t)
		raw := head + "\r\nbody\r\n"
		m, err := Split(io.NewSectionReader(strings.NewReader(raw), 0, int64(len(raw))))
		if err != nil {
			t.Fatal(err)
		}
		c := Open(m, Env{})
		if c.fault != "" {
			return
		}
		passed++
		for _, kept := range []string{raw, strings.ReplaceAll(raw, "\r\n", "\n")} {
			if got := netMailFrom(kept); len(got) != 1 || got[0] != c.from {
				t.Fatalf("net/mail sees %q in %q, we %q", got, kept, c.from)
			}
			if got := goMessageFrom(kept); len(got) != 1 || got[0] != c.from {
				t.Fatalf("go-message sees %q in %q, we %q", got, kept, c.from)
			}
		}
		if !msgauthTakes(t, raw, m.Header[indexes(m.Header, "From")[0]]) {
			t.Fatalf("go-msgauth signs another From of %q than ours, %q", raw, c.from)
		}
	})
	if passed < 5 {
		t.Errorf("only %d headers passed", passed)
	}
}

// netMailFrom are the addresses of all From fields.
func netMailFrom(raw string) (all []string) {
	m, err := netmail.ReadMessage(strings.NewReader(raw))
	if err != nil {
		return nil
	}
	p := netmail.AddressParser{WordDecoder: &mime.WordDecoder{CharsetReader: takeAny}}
	for _, value := range m.Header["From"] {
		list, err := p.ParseList(value)
		if err != nil {
			return append(all, "")
		}
		for _, a := range list {
			all = append(all, a.Address)
		}
	}
	return all
}

func goMessageFrom(raw string) (all []string) {
	r, err := mail.CreateReader(strings.NewReader(raw))
	if err != nil {
		return nil
	}
	for fields := r.Header.FieldsByKey("From"); fields.Next(); {
		one := mail.HeaderFromMap(map[string][]string{"From": {fields.Value()}})
		list, err := one.AddressList("From")
		if err != nil {
			return append(all, "")
		}
		for _, a := range list {
			all = append(all, a.Address)
		}
	}
	return all
}

// msgauthTakes has the library sign the From of the whole message, and reports
// whether the signature holds for our From alone.
func msgauthTakes(t *rapid.T, raw string, from Field) bool {
	key := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	var out bytes.Buffer
	err := dkim.Sign(&out, strings.NewReader(raw), &dkim.SignOptions{
		Domain: "example.org", Selector: "s1", Signer: key, Hash: crypto.SHA256,
		HeaderKeys:             []string{"From", "From"},
		HeaderCanonicalization: dkim.CanonicalizationSimple, BodyCanonicalization: dkim.CanonicalizationSimple,
	})
	if err != nil {
		t.Fatalf("signing %q: %v", raw, err)
	}
	m, err := Split(io.NewSectionReader(bytes.NewReader(out.Bytes()), 0, int64(out.Len())))
	if err != nil {
		t.Fatal(err)
	}
	alone := []Field{m.Header[0], from}
	tags, ok := strictTags(m.Header[0].Value)
	if !ok {
		t.Fatalf("tags of %q", m.Header[0].Value)
	}
	s := &signature{cover: cover(alone, colonList(tags["h"])), key: publicKey{algorithm: "ed25519", ed25519: key.Public().(ed25519.PublicKey)}}
	s.strict.simpleHeader = true
	s.strict.signature, _ = decodeBase64(tags["b"])
	return s.holds(alone)
}

// fromGrammar is the grammar of From as a regular expression, its address the
// one group of two that is not empty. A backslash quotes any octet.
var fromGrammar = regexp.MustCompile(`(?s)^[ \t]*(?:` + fromAddress + `|(?:` + fromPhrase + `[ \t]*)?<` + fromAddress + `>)[ \t]*(?:\((?:[^()\\]|\\.)*\)[ \t]*)?$`)

const (
	fromAtom    = "[a-zA-Z0-9!#$%&'*+\\-/=?^_`{|}~]+"
	fromLabel   = `[a-zA-Z0-9](?:[a-zA-Z0-9\-]{0,61}[a-zA-Z0-9])?`
	fromAddress = `(` + fromAtom + `(?:\.` + fromAtom + `)*@` + fromLabel + `(?:\.` + fromLabel + `)+)`
	fromPhrase  = `(?:[^"@,;:<>()\[\]\\]|"(?:[^"\\]|\\.)*")+`
)

// byGrammar reads a From value by fromGrammar, "" if it does not match.
func byGrammar(value string) string {
	m := fromGrammar.FindStringSubmatch(value)
	if m == nil || !utf8.ValidString(value) {
		return ""
	}
	addr := m[1] + m[2]
	if len(addr) > 254 || strings.Contains(addr, "=?") {
		return ""
	}
	return addr
}

// TestParseFromIsTheGrammar: a From value is taken when the grammar and
// net/mail both find its address, and no other is found by either, by
// net/mail's list parser or by go-message.
func TestParseFromIsTheGrammar(t *testing.T) {
	piece := rapid.OneOf(
		rapid.SampledFrom([]string{
			"friend@example.org", "<friend@example.org>", "mallory@evil.example", "<mallory@evil.example>", "a", "A. B", "\"", "\"x, y\"", "\"\\\"\"", "\\", "(", ")", "(c)",
			"(\\))", "<", ">", "@", ",", ";", ":", "[", "]", ".", " ", "\t", "=?utf-8?q?a?=", "=?x?q?=40?=", "=?", "\u00e9", "\xe9", "\u3002", "\uff20", "g:", "-", "=?utf-8?b?QEA=?=",
		}),
		rapid.StringN(0, 4, 8),
	)
	lenient(t)
	taken := 0
	check := func(t *rapid.T, value string) {
		// A field with a control character is refused before.
		if f := (Field{Name: "From", Value: value}); f.hasControl() || !holdsOne(value) {
			return
		}
		got, _ := parseFrom(value)
		want := byGrammar(value)
		if want != "" && !netMailAgrees(value, want) {
			want = ""
		}
		if got != want {
			t.Fatalf("%q is read as %q, by the grammar %q", value, got, want)
		}
		if got == "" {
			return
		}
		taken++
		raw := "From:" + value + "\r\n\r\n"
		if all := netMailFrom(raw); len(all) != 1 || all[0] != got {
			t.Fatalf("net/mail sees %q in %q, we %q", all, value, got)
		}
		if all := goMessageFrom(raw); len(all) != 1 || all[0] != got {
			t.Fatalf("go-message sees %q in %q, we %q", all, value, got)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		check(t, strings.Join(rapid.SliceOfN(piece, 1, 6).Draw(t, "pieces"), ""))
		// And more of those that are nearly right.
		before := strings.Join(rapid.SliceOfN(piece, 0, 2).Draw(t, "before"), " ")
		behind := strings.Join(rapid.SliceOfN(piece, 0, 2).Draw(t, "behind"), "")
		check(t, before+rapid.SampledFrom([]string{"friend@example.org", " <friend@example.org>"}).Draw(t, "address")+behind)
	})
	if taken < 5 {
		t.Errorf("only %d values were taken", taken)
	}
}
