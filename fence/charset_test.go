package fence

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"golang.org/x/text/encoding/htmlindex"
	"pgregory.net/rapid"
)

// readChars decodes as a rendering does, from a reader that gives octets as
// it likes.
func readChars(t fataler, in io.Reader, set charset) []char {
	t.Helper()
	reader := newCharReader(in, set)
	var all []char
	var buf [stepRoom]char
	for {
		n, err := reader.read(buf[:])
		all = append(all, buf[:n]...)
		if err == io.EOF {
			return all
		}
		if err != nil {
			t.Fatalf("reading: %v", err)
		}
	}
}

// escapeAll shows every character, line ends too.
func escapeAll(text []char) string {
	var out []byte
	for len(text) > 0 {
		var u unit
		out, u = appendUnit(out, text)
		text = text[u.taken:]
	}
	return string(out)
}

func TestCharsets(t *testing.T) {
	for _, c := range []struct{ label, in, want string }{
		{"us-ascii", "a\xc3\xa9", `a\x{C3}\x{A9}`},
		{"UTF-8", "a\xc3\xa9\xff", `aé\x{FF}`},
		{"utf8", "ü", "ü"},
		{"unicode-1-1-utf-8", "ü", "ü"},
		{" utf-8 ", "ü", "ü"},
		{"iso-8859-1", "caf\xe9\x93", "café“"},
		{"ascii", "\xe9", "é"},
		{"windows-1252", "dots\x85", "dots…"},
		{"windows-1253", "\xaa", `\x{AA}`},
		{"koi8-r", "\xf0", "П"},
		{"shift_jis", "\x83\x5c\x81\r\n", `ソ\x{81}\u{D}\u{A}`},
		{"shift_jis", "\x81 \xfc\xfc", `\x{81} \x{FC}\x{FC}`},
		{"shift_jis", "a\x81", `a\x{81}`},
		{"euc-jp", "\xa4\xa2\x8f\xa1", `あ\x{8F}\x{A1}`},
		{"gb18030", "hi\xd36\x9c3", "hi\\u{E0041}"},
		{"gb18030", "\x84\x31\xa4\x37\xff", "\uFFFD\\x{FF}"},
		{"gbk", "\xd6\xd0\x80", "中€"},
		{"big5", "\x88\x62\xa4\xa4", "\u00ca\u0304中"},
		{"euc-kr", "\xb0\xa1\xff", `가\x{FF}`},
		{"iso-2022-jp", "\x1b$B$\"\x1b(B ok", "あ ok"},
		{"iso-2022-jp", "\x1b$B$\r\nok", `\x{24}\u{D}\u{A}`},
		{"iso-2022-jp", "\x1b$B$ $\"", `\x{24}\x{20}あ`},
		{"iso-2022-jp", "a\x1bz", `a\x{1B}z`},
		{"utf-16", "h\x00i\x00", "hi"},
		{"utf-16", "\xff\xfeh\x00\n\x00", `h\u{A}`},
		{"utf-16", "\xfe\xff\x00h", "h"},
		{"utf-16be", "\xd8\x00\x00a\x20\x28\x00b", `\x{D8}\x{00}a\u{2028}b`},
		{"utf-16le", "\x3d\xd8\x00\xdea", `😀\x{61}`},
		{"utf-16le", "\x3d\xd8", `\x{3D}\x{D8}`},
		{"ucs-2", "a\x00", "a"},
		{"unicodefffe", "\x00a", "a"},
	} {
		t.Run(c.label, func(t *testing.T) {
			set, known := lookUpCharset(c.label, true)
			if !known {
				t.Fatal("not known")
			}
			if got := escapeAll(decodeAll(set, []byte(c.in))); !strings.HasPrefix(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestUnknownCharsets(t *testing.T) {
	for _, label := range []string{
		"", "utf-7", "utf-32", "utf-32le", "x-nope", "replacement", "iso-2022-kr", "hz-gb-2312",
		"x-user-defined", "cp-none", "\u212aoi8-r", "utf-8\x00", "utf–8",
	} {
		if set, known := lookUpCharset(label, true); known || set.name != "us-ascii" {
			t.Errorf("%q: %s, known %v", label, set.name, known)
		}
	}
	for _, label := range []string{"utf-16", "utf-16le", "utf-16be", "unicode"} {
		if _, known := lookUpCharset(label, false); known {
			t.Errorf("%q is known without a transfer encoding", label)
		}
	}
}

func TestCharsetOfPart(t *testing.T) {
	for in, want := range map[string]string{
		"text/plain":                                  "us-ascii true",
		"text/plain; charset=utf-8":                   "utf-8 true",
		`text/plain; charset="utf-8"`:                 "utf-8 true",
		"text/plain; CHARSET=UTF-8; x*0=a; x*1=b":     "utf-8 true",
		"text/plain; charset*=us-ascii''utf-8":        "utf-8 true",
		"text/plain; charset=utf-7; charset=utf-8":    "us-ascii false",
		"text/plain; charset=utf-8; charset=utf-8":    "us-ascii false",
		"text/plain; charset=utf-8; charset*0=utf-7":  "us-ascii false",
		"text/plain; charset=":                        "us-ascii false",
		`text/plain; charset=""`:                      "us-ascii false",
		"text/plain; charset=utf-16":                  "us-ascii false", // no transfer encoding
		"text/plain; charset=utf-8; name=two words":   "us-ascii true",
		"text/plain (c) ; (x;charset=a) charset=utf8": "utf-8 true",
	} {
		set, known := charsetOf(parseMediaType(in), false)
		if got := fmt.Sprint(set.name, " ", known); got != want {
			t.Errorf("%q: %s, want %s", in, got, want)
		}
	}
}

// Every charset reads any octets to the end, the same however they arrive,
// and a line end is one after anything.
func TestCharsetProperties(t *testing.T) {
	labels := []string{
		"us-ascii", "utf-8", "utf-16le", "utf-16be", "iso-8859-2", "koi8-u", "macintosh", "ibm866",
		"gbk", "gb18030", "big5", "euc-jp", "iso-2022-jp", "shift_jis", "euc-kr",
	}
	rapid.Check(t, func(t *rapid.T) {
		label := rapid.SampledFrom(labels).Draw(t, "charset")
		octets := []byte(drawText(t, "octets"))
		set, known := lookUpCharset(label, true)
		if !known {
			t.Fatalf("%s is not known", label)
		}
		whole := decodeAll(set, octets)
		slow := readChars(t, iotest.OneByteReader(strings.NewReader(string(octets))), set)
		if escapeAll(whole) != escapeAll(slow) {
			t.Fatalf("at once %q, octet by octet %q", escapeAll(whole), escapeAll(slow))
		}
		if strings.HasPrefix(label, "utf-16") {
			return
		}
		lineEnds := 0
		for _, c := range whole {
			if c == '\n' {
				lineEnds++
			}
		}
		if want := strings.Count(string(octets), "\n"); lineEnds != want {
			t.Fatalf("%d line ends, want %d", lineEnds, want)
		}
	})
}

// Where all octets decode, the characters are those that golang.org/x/text
// gives.
func TestCharsetAgreesWithTheTables(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		label := rapid.SampledFrom([]string{"windows-1251", "gbk", "big5", "euc-kr", "shift_jis", "euc-jp", "utf-16le"}).Draw(t, "charset")
		table, err := htmlindex.Get(label)
		if err != nil {
			t.Fatal(err)
		}
		text := rapid.StringOf(rapid.SampledFrom([]rune("aZ ё漢字中가あ0\\~"))).Draw(t, "text")
		octets, err := table.NewEncoder().String(text)
		if err != nil {
			return // not in this charset
		}
		want, err := table.NewDecoder().String(octets)
		if err != nil {
			t.Fatal(err)
		}
		set, _ := lookUpCharset(label, true)
		if got := escapeAll(decodeAll(set, []byte(octets))); got != Escape(want) {
			t.Fatalf("got %q, want %q", got, want)
		}
	})
}
