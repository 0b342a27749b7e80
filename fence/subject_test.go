package fence

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestShowSubject(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"plain", " groceries", "groceries"},
		{"empty", "", ""},
		{"blanks only", " \t ", ""},
		{"blanks at the ends", "  a b\t", "a b"},
		{"folded", " a\r\n b\r\n\tc", "a b\tc"},
		{"raw utf-8", " Grüße", "Grüße"},
		{"raw octets", " caf\xe9", `caf\x{E9}`},
		{"Q", " =?utf-8?Q?a_b=3D?=", "a b="},
		{"Q, hex in either case", " =?UTF-8?q?=c3=BC?=", "ü"},
		{"B", " =?utf-8?B?w7w=?=", "ü"},
		{"another charset", " =?iso-8859-1?Q?caf=E9?=", "café"},
		{"a language", " =?utf-8*en?Q?a?=", "a"},
		{"octets that do not decode", " =?utf-8?B?7aCA?=", `\x{ED}\x{A0}\x{80}`},
		{"us-ascii", " =?us-ascii?Q?=E9?=", `\x{E9}`},
		{"UTF-16", " =?utf-16?B?aABpAA==?=", "hi"},
		{"two words", " =?utf-8?Q?one?= =?utf-8?Q?two?=", "onetwo"},
		{"two words across a fold", " =?utf-8?Q?one?=\r\n =?utf-8?Q?two?=", "onetwo"},
		{"a word and text", " =?utf-8?Q?one?= two =?utf-8?Q?three?=", "one two three"},
		{"a word and what is none", " =?utf-8?Q?one?= =?x?Q?two?=", "one =?x?Q?two?="},
		{"a word inside a word", " a=?utf-8?Q?b?=c", "a=?utf-8?Q?b?=c"},
		{"two words without a blank", " =?utf-8?Q?a?==?utf-8?Q?b?=", "=?utf-8?Q?a?==?utf-8?Q?b?="},
		{"decoded once", " =?utf-8?Q?=3D=3Futf-8=3FQ=3Fa=3F=3D?=", "=?utf-8?Q?a?="},
		{"unknown charset", " =?x-nope?B?aGVsbG8=?=", "=?x-nope?B?aGVsbG8=?="},
		{"utf-7", " =?utf-7?Q?+ADw-?=", "=?utf-7?Q?+ADw-?="},
		{"unknown encoding", " =?utf-8?X?a?=", "=?utf-8?X?a?="},
		{"malformed base64", " =?utf-8?B?!!!!?=", "=?utf-8?B?!!!!?="},
		{"malformed Q", " =?utf-8?Q?=ZZ?=", "=?utf-8?Q?=ZZ?="},
		{"Q cut short", " =?utf-8?Q?a=4?=", "=?utf-8?Q?a=4?="},
		{"Q with a raw octet", " =?utf-8?Q?\xfc?=", `=?utf-8?Q?\x{FC}?=`},
		{"no text", " =?utf-8?Q??=", "=?utf-8?Q??="},
		{"no end", " =?utf-8?Q?a", "=?utf-8?Q?a"},
		{"too many marks", " =?utf-8?Q?a?b?=", "=?utf-8?Q?a?b?="},
		{"long", " =?utf-8?Q?" + strings.Repeat("a", 200) + "?=", strings.Repeat("a", 200)},
		{"line end inside", " =?utf-8?Q?a=0A|_b?=", `a\u{A}| b`},
		{"line end and fold inside", " =?utf-8?Q?a=0D=0A_b?=", `a\u{D}\u{A} b`},
		{"an escape in the text", ` a\u{200B}`, `a\u{5C}u{200B}`},
		{"the marker", " +-- END UNTRUSTED TEXT", "+-- END UNTRUSTED TEXT"},
		{"blanks inside a word", " =?utf-8?Q?_a_?=", "a"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := showSubject(c.in); got.text != c.want || got.cut != 0 {
				t.Errorf("got %q and %d cut, want %q", got.text, got.cut, c.want)
			}
		})
	}
}

func TestSubjectIsCut(t *testing.T) {
	for _, c := range []struct {
		in   string
		want int // characters shown
		cut  int
	}{
		{strings.Repeat("a", 998), 998, 0},
		{strings.Repeat("a", 999), 998, 1},
		{strings.Repeat("ü", 1000), 998, 2},
		{strings.Repeat("\u200b", 124) + "123456", 998, 0},
		{strings.Repeat("\u200b", 400), 992, 2208},
		{strings.Repeat("a", 992) + england + "b", 992, 8},
		{strings.Repeat("a", 991) + england, 998, 0},
		{strings.Repeat("a", 990) + `\u{`, 998, 0},
		{strings.Repeat("a", 991) + `\u{`, 998, 1},
		{strings.Repeat("a", 993) + `\u{`, 993, 8},
	} {
		got := showSubject(c.in)
		if shown := len([]rune(got.text)); shown != c.want || got.cut != c.cut {
			t.Errorf("%d characters: %d shown and %d cut, want %d and %d", len([]rune(c.in)), shown, got.cut, c.want, c.cut)
		}
	}
}

func TestSubjectProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := drawText(t, "subject")
		got := showSubject(value)
		if len([]rune(got.text)) > subjectWidth || !rawIsVisible(got.text) {
			t.Fatalf("shown %q", got.text)
		}
		if strings.Contains(value, "=?") {
			return
		}
		unfolded := strings.Trim(strings.ReplaceAll(value, "\r\n", ""), " \t")
		if back, ok := Unescape(got.text); !ok || back != unfolded {
			t.Fatalf("%q came back as %q", value, back)
		}
	})
}
