package fence

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestEscape(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"plain", "eggs and milk", "eggs and milk"},
		{"letters of all kinds", "Grüße, 漢字, привет", "Grüße, 漢字, привет"},
		{"TAB stays", "a\tb", "a\tb"},
		{"blanks stay", "a \u00a0\u3000b", "a \u00a0\u3000b"},
		{"line feed", "a\nb", `a\u{A}b`},
		{"CRLF", "a\r\nb", `a\u{D}\u{A}b`},
		{"NUL", "\x00", `\u{0}`},
		{"escape sequence", "\x1b[2J", `\u{1B}[2J`},
		{"DEL", "\x7f", `\u{7F}`},
		{"C1", "\u009b", `\u{9B}`},
		{"line separator", "a\u2028b", `a\u{2028}b`},
		{"zero width", "a\u200bb", `a\u{200B}b`},
		{"right-to-left override", "a\u202eb", `a\u{202E}b`},
		{"tag", "a\U000e0041", `a\u{E0041}`},
		{"variation selector", "a\ufe00", `a\u{FE00}`},
		{"ideographic variation", "漢\U000e0100", `漢\u{E0100}`},
		{"private use", "\ue000\U0010fffd", `\u{E000}\u{10FFFD}`},
		{"noncharacter", "\ufdd0\uffff", `\u{FDD0}\u{FFFF}`},
		{"unassigned", "\u0378", `\u{378}`},
		{"Hangul filler", "\u3164\u115f\uffa0", `\u{3164}\u{115F}\u{FFA0}`},
		{"braille blank", "\u2800", `\u{2800}`},
		{"invalid byte", "caf\xe9", `caf\x{E9}`},
		{"surrogate", "\xed\xa0\x80", `\x{ED}\x{A0}\x{80}`},
		{"replacement character", "\ufffd", "\ufffd"},
		{"literal escape", `\u{200B}`, `\u{5C}u{200B}`},
		{"literal byte escape", `\x{E9}`, `\u{5C}x{E9}`},
		{"backslashes", `\\u{`, `\\u{5C}u{`},
		{"other backslashes", `C:\users\u0041\x`, `C:\users\u0041\x`},
		{"emoji", "😀👍🏽", "😀👍🏽"},
		{"emoji with selector", "❤\ufe0f ☺\ufe0f", "❤\ufe0f ☺\ufe0f"},
		{"keycap", "1\ufe0f\u20e3", "1\ufe0f\u20e3"},
		{"flag of England", england, england},
		{"family", family, family},
		{"family twice", family + family, family + family},
		{"keycap without its cap", "1\ufe0f", `1\u{FE0F}`},
		{"letter with selector", "a\ufe0f", `a\u{FE0F}`},
		{"joined letters", "a\u200db", `a\u{200D}b`},
		{"joiner behind an emoji", "👩\u200d", `👩\u{200D}`},
		{"unknown join", "👩\u200d🍕", `👩\u{200D}🍕`},
		{"minimally qualified", "❤\u200d🔥", `❤\u{200D}🔥`},
		{"flag cut short", england[:len(england)-4], "🏴" + `\u{E0067}\u{E0062}\u{E0065}\u{E006E}\u{E0067}`},
		{"tags behind a flag", england + "\U000e0061", england + `\u{E0061}`},
		{"selector twice", "❤\ufe0f\ufe0f", "❤\ufe0f" + `\u{FE0F}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := Escape(c.in)
			if got != c.want {
				t.Errorf("Escape(%q) = %q, want %q", c.in, got, c.want)
			}
			if back, ok := Unescape(got); !ok || back != c.in {
				t.Errorf("Unescape(%q) = %q, %v, want %q", got, back, ok, c.in)
			}
		})
	}
}

const (
	england = "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f"
	family  = "👨\u200d👩\u200d👧\u200d👦"
)

func TestUnescapeRefuses(t *testing.T) {
	for _, s := range []string{
		`\u{`, `\u{}`, `\u{200b}`, `\u{0200B}`, `\u{41}`, `\u{110000}`, `\u{FFFFFFFFF}`, `\u{20 0B}`,
		`\u{+A}`, `\u{A`, `\x{E}`, `\x{e9}`, `\x{0E9}`, `\x{100}`, `\x{}`, `\u{5C}` + "a", `\u{5C}ua`, `\u{5C}{`, `\u{D800}`,
		"a\u200bb", "a\nb", "\xff", "\ue000", "a\ufe0f", "1\ufe0f",
	} {
		if back, ok := Unescape(s); ok {
			t.Errorf("Unescape(%q) = %q, want none", s, back)
		}
	}
}

// A line may be cut between an escape and what it keeps from being one.
func TestUnescapeBackslashAtACut(t *testing.T) {
	for cut, want := range map[string]string{`a\u{5C}`: `a\`, `a\u{5C}u`: `a\u`, `a\u{5C}x`: `a\x`, `a\u{5C}x{`: `a\x{`} {
		if back, ok := Unescape(cut); !ok || back != want {
			t.Errorf("%s: got %q, %v", cut, back, ok)
		}
	}
}

// drawText draws text with more of what is awkward than chance would give.
func drawText(t *rapid.T, label string) string {
	piece := rapid.OneOf(
		rapid.StringN(0, 8, -1),
		rapid.SampledFrom([]string{
			`\u{`, `\x{`, `\`, "\r", "\n", "\r\n", "\u2028", "\x85", "\u0085", "\v", "\x1c", "\x1b[1A", "\u200b",
			england, family, "❤\ufe0f", "\ufe0f", "\u200d", "👩", "1", "\u20e3", "+-- ", "| ", "=", "--b", "\xff",
			"\u202e", "\U000e0041", "\ufeff", "Subject: x", " ", "\t", "\x00",
		}),
		rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 6), func(b []byte) string { return string(b) }),
	)
	return strings.Join(rapid.SliceOfN(piece, 0, 24).Draw(t, label), "")
}

func TestEscapeProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { checkEscape(t, drawText(t, "text")) })
}

func FuzzEscape(f *testing.F) {
	f.Add("a\u200bb" + family + `\u{41}` + "\xff")
	f.Fuzz(func(t *testing.T, s string) { checkEscape(t, s) })
}

func FuzzUnescape(f *testing.F) {
	f.Add(`a\u{200B}b\x{E9}\u{5C}u{`)
	f.Fuzz(func(t *testing.T, s string) {
		back, ok := Unescape(s)
		if ok && !rawIsVisible(s) {
			t.Fatalf("Unescape(%q) took a raw character that is always escaped, gave %q", s, back)
		}
	})
}

type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

func checkEscape(t fataler, s string) {
	t.Helper()
	shown := Escape(s)
	if back, ok := Unescape(shown); !ok || back != s {
		t.Fatalf("Unescape(%q) = %q, %v, want %q", shown, back, ok, s)
	}
	if !rawIsVisible(shown) {
		t.Fatalf("Escape(%q) = %q holds what must be escaped", s, shown)
	}
}

// rawIsVisible says, from the definitions and not from our tables, whether
// every character may stand in a fence.
func rawIsVisible(s string) bool {
	if !utf8.ValidString(s) {
		return false
	}
	for i, r := range s {
		if mustEscape(r) && !insideEmoji(s, i) {
			return false
		}
	}
	return true
}

// mustEscape is the definition, read the slow way.
func mustEscape(r rune) bool {
	if r == '\t' {
		return false
	}
	assigned := false
	for name, table := range unicode.Categories {
		if len(name) == 2 && name != "Cn" && name != "LC" && unicode.Is(table, r) {
			assigned = true
		}
	}
	return !assigned || r == 0x2800 ||
		unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Cs, unicode.Zl, unicode.Zp) ||
		unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// insideEmoji reports whether the character at i of s stands inside an RGI
// emoji sequence, and is one that such sequences are made of.
func insideEmoji(s string, i int) bool {
	r, _ := utf8.DecodeRuneInString(s[i:])
	if r != 0xFE0F && r != 0x200D && (r < 0xE0020 || r > 0xE007F) {
		return false
	}
	for sequence := range strings.FieldsSeq(emojiTable) {
		for start := max(0, i-len(sequence)+1); start <= i; start++ {
			if strings.HasPrefix(s[start:], sequence) {
				return true
			}
		}
	}
	return false
}
