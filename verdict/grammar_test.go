package verdict

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestGrammars holds each grammar against a regular expression, for every octet
// alone, first, in the middle and last, and for lengths about a bound.
func TestGrammars(t *testing.T) {
	none := func(string) bool { return true }
	for name, g := range map[string]struct {
		ours     func(string) bool
		pattern  string
		further  func(string) bool // what the pattern does not say
		good     string            // an octet that may stand anywhere
		examples []string
	}{
		"tag name":   {validTagName, `^[A-Za-z][A-Za-z0-9_]*$`, none, "a", nil},
		"tag value":  {validTagValue, `^[!-~ \t\r\n]*$`, none, "a", nil},
		"field name": {validFieldName, `^[!-9;-~]+$`, none, "a", nil},
		"seconds":    {second(parseSeconds), `^[0-9]{1,12}$`, none, "5", []string{"999999999999", "1000000000000", "000000000000"}},
		"dot-atom": {
			dotAtom, "^[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(\\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*$", none, "a",
			[]string{"a.b.c", "a..b", "a.b.", ".a"},
		},
		"domain": {
			validDomain, `^[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*$`,
			func(s string) bool { return len(s) <= 253 }, "a",
			[]string{
				"a.-b", "a.b-", "a-.b", "a.b.c", "a..b", strings.Repeat("a", 63), strings.Repeat("a", 64), "b." + strings.Repeat("a", 63),
				strings.Repeat("a.", 126) + "a", strings.Repeat("a.", 125) + "aaa", strings.Repeat("a.", 126) + "aa",
			},
		},
		"selector": {
			func(s string) bool { return validSelector(s, "b.example") }, `^[A-Za-z0-9_-]{1,63}(\.[A-Za-z0-9_-]{1,63})*$`,
			func(s string) bool { return len(s+"._domainkey.b.example") <= 253 }, "a",
			[]string{
				"a.b", "a..b", "a.", strings.Repeat("a", 63), strings.Repeat("a", 64), strings.Repeat("a.", 115) + "aa",
				strings.Repeat("a.", 115) + "a", strings.Repeat("a.", 116) + "a",
			},
		},
		"reduced local part": {
			func(s string) bool { return plain(s + "@b.example") }, `^[A-Za-z0-9]*[A-Za-z0-9._+-]?[A-Za-z0-9]*$`,
			func(s string) bool { return 1 <= len(s) && len(s) <= 24 }, "a",
			[]string{"", strings.Repeat("a", 24), strings.Repeat("a", 25), "a.b", "a.b.c", "a_b_c", "a+b+c", "a-b-c", "a.b-c", "a+b_c", ".a.", "-a_"},
		},
		"reduced domain": {
			func(s string) bool { return plain("a@" + s) }, `^[A-Za-z0-9._+-]+$`,
			func(s string) bool {
				hyphens := strings.Count(regexp.MustCompile(`(^|\.)xn--`).ReplaceAllString(s, ""), "-")
				return len(s) <= 40 && strings.Count(s, ".") <= 2 && hyphens <= 1
			}, "a",
			[]string{
				"", strings.Repeat("a", 40), strings.Repeat("a", 41), "a.b.c", "a.b.c.d", "a-b.c", "a-b.c-d", "xn--a-b.xn--c",
				"xn--a-b-c.d", "axn--b", "a.b@c",
			},
		},
	} {
		pattern := regexp.MustCompile(g.pattern)
		// Octets are characters of Latin-1 for the pattern.
		wide := func(s string) string {
			var b strings.Builder
			for i := range len(s) {
				b.WriteRune(rune(s[i]))
			}
			return b.String()
		}
		check := func(s string) {
			t.Helper()
			if got, want := g.ours(s), pattern.MatchString(wide(s)) && g.further(s); got != want {
				t.Errorf("%s %q: %v", name, s, got)
			}
		}
		for c := range 256 {
			o := string([]byte{byte(c)})
			for _, s := range []string{o, o + g.good, g.good + o, g.good + o + g.good, g.good + o + g.good + o + g.good} {
				check(s)
			}
		}
		check("")
		for _, s := range g.examples {
			check(s)
		}
	}
}

// second is whether a parser takes a text.
func second[T any](parse func(string) (T, bool)) func(string) bool {
	return func(s string) bool {
		_, ok := parse(s)
		return ok
	}
}

// TestFolding: names and domains compare by ASCII, octet by octet.
func TestFolding(t *testing.T) {
	for c := range 256 {
		in := "x" + string([]byte{byte(c)}) + "y"
		want := in
		if c >= 'A' && c <= 'Z' {
			want = "x" + string([]byte{byte(c) + 32}) + "y"
		}
		if got := lowerASCII(in); got != want {
			t.Errorf("lowerASCII(%q) = %q", in, got)
		}
		if got := lowerASCII(in + "B"); got != want+"b" {
			t.Errorf("lowerASCII(%q) = %q", in+"B", got)
		}
		for d := range 256 {
			other := "x" + string([]byte{byte(d)}) + "y"
			if got := (Field{Name: in}).Is(other); got != (lowerASCII(other) == want) {
				t.Errorf("a field %q is %q: %v", in, other, got)
			}
		}
	}
	for _, c := range []struct {
		a, b string
		same bool
	}{{"", "", true}, {"To", "T", false}, {"T", "To", false}, {"To", "Ta", false}, {"To", "Ao", false}, {"tO", "To", true}} {
		if got := (Field{Name: c.a}).Is(c.b); got != c.same {
			t.Errorf("a field %q is %q: %v", c.a, c.b, got)
		}
	}
}

// TestControls: which octets a field's value may hold, and where.
func TestControls(t *testing.T) {
	for c := range 256 {
		o := string([]byte{byte(c)})
		want := c < 32 && c != '\t' || c == 127
		for _, v := range []string{o, o + "a", "a" + o, "a" + o + "a", "\r\n " + o + "a", "a\r\n\t" + o + "a", "\r\n a" + o} {
			if got := (Field{Value: v}).hasControl(); got != want {
				t.Errorf("%q has a control character: %v", v, got)
			}
		}
	}
	for v, want := range map[string]bool{
		"": false, "a\r\n b": false, "a\r\n\tb\r\n c": false, "a\r\nb": true, "a\r\n": true, "a\r b": true, "a\n b": true,
		"a\r\n \r": true, "a\r\n \n": true, "\r\n \r\n b": false, "a\r\r\n b": true,
	} {
		if got := (Field{Value: v}).hasControl(); got != want {
			t.Errorf("%q has a control character: %v", v, got)
		}
	}
	for v, want := range map[string]bool{
		"": false, " ": false, "a\r\n b": false, "a\r\n  ": true, "a\r\n\t": true, "a\r\n \t ": true, "a\r\n \r\n b": true,
		"a\r\n b\r\n\t\t": true, "\r\n a": false, "a\r\n \u00a0": false,
	} {
		if got := (Field{Value: v}).hasBlankLine(); got != want {
			t.Errorf("%q has a blank line: %v", v, got)
		}
	}
}

// TestTagLists: white space goes around names and values, and nothing else.
func TestTagLists(t *testing.T) {
	for _, blank := range []string{" ", "\t", "\r\n ", "\r", "\n", " \t\r\n"} {
		list := blank + "a" + blank + "=" + blank + "b" + blank + "c" + blank + ";" + blank + "d=e" + blank + ";" + blank
		want := []tag{{"a", "b" + blank + "c"}, {"d", "e"}}
		if got := looseTags(list); !slices.Equal(got, want) {
			t.Errorf("%q: %q", list, got)
		}
		if got, ok := strictTags(list); !ok || len(got) != 2 || got["a"] != want[0].value || got["d"] != "e" {
			t.Errorf("%q, strictly: %q, %v", list, got, ok)
		}
		if got := colonList(blank + "a" + blank + ":" + blank + "b" + blank); !slices.Equal(got, []string{"a", "b"}) {
			t.Errorf("%q: %q", blank, got)
		}
		if got, ok := decodeBase64(blank + "Q" + blank + "UJD" + blank); !ok || string(got) != "ABC" {
			t.Errorf("base64 with %q: %q, %v", blank, got, ok)
		}
	}
	if got := looseTags("l;a=b;=c;d==;;l"); !slices.Equal(got, []tag{{"a", "b"}, {"", "c"}, {"d", "="}}) {
		t.Errorf("%q", got)
	}
	if got, ok := strictTags("a=b;c="); !ok || len(got) != 2 || got["c"] != "" {
		t.Errorf("an empty value: %q, %v", got, ok)
	}
	for _, list := range []string{"", ";", "a", "a=b;;", "a=b;;c=d", ";a=b", "a=b;a=b", "a=b;a=", "=b", "a=\u00e9", "a\u00e9=b", "a=b; c"} {
		if got, ok := strictTags(list); ok != (list == "") || len(got) != 0 {
			t.Errorf("%q: %q, %v", list, got, ok)
		}
	}
	for _, s := range []string{"", " ", "QUJD=", "QUJ", "QUI", "QUJ=", "QUJDR===", "QUJDRB==", "Q!UJD", "QUJ-", "QUJ_", "QU\u00a0JD", "QU\vJD"} {
		if got, ok := decodeBase64(s); ok {
			t.Errorf("base64 %q: %q", s, got)
		}
	}
}

// TestAddressLists: where a list is cut, and what of an entry is its address.
func TestAddressLists(t *testing.T) {
	for list, want := range map[string][]string{
		"":                   {""},
		"a,b":                {"a", "b"},
		",":                  {"", ""},
		"a;b:c":              {"a;b:c"},
		`"a,b",c`:            {`"a,b"`, "c"},
		`"a\",b",c`:          {`"a\",b"`, "c"},
		`"a\\",b`:            {`"a\\"`, "b"},
		`a\,b`:               {`a\`, "b"},
		`a\"b,c`:             {`a\"b,c`},
		"(a,b),c":            {"(a,b)", "c"},
		"(a(b,c),d),e":       {"(a(b,c),d)", "e"},
		`(a\),b),c`:          {`(a\),b)`, "c"},
		`(a\(,b),c`:          {`(a\(,b)`, "c"},
		`(",b),c`:            {`(",b)`, "c"},
		"(<,b),c":            {"(<,b)", "c"},
		`"(,b",c`:            {`"(,b"`, "c"},
		"<a,b>,c":            {"<a,b>", "c"},
		`<"a>,b",c>,d`:       {`<"a>,b",c>`, "d"},
		"<a<b>,c":            {"<a<b>", "c"},
		"a),b":               {"a)", "b"},
		"a>,b":               {"a>", "b"},
		"a)(b,c),d":          {"a)(b,c)", "d"},
		`"<",a`:              {`"<"`, "a"},
		"<@x:a@b>,(c)d,\"e,": {"<@x:a@b>", "(c)d", "\"e,"},
	} {
		if got := splitList(list, ","); !slices.Equal(got, want) {
			t.Errorf("%q: %q", list, got)
		}
		if got := holdsOne(list); got != (len(want) == 1 && list != "") {
			t.Errorf("%q holds one: %v", list, got)
		}
	}
	if got := splitList("a:b,c;d", ",:;"); !slices.Equal(got, []string{"a", "b", "c", "d"}) {
		t.Errorf("a group: %q", got)
	}
	for _, blank := range []string{" ", "\t", " \t "} {
		if holdsOne(blank) || !holdsOne(blank+"a"+blank) {
			t.Errorf("%q", blank)
		}
	}
	for entry, want := range map[string]string{
		"a@b":                "a@b",
		" \ta@b\t ":          "a@b",
		"<a@b>":              "a@b",
		"x <\t a@b \t>":      "a@b",
		"x <y> <a@b> (c)":    "a@b",
		"(x)a@b(y)":          "a@b",
		"a(x(y)z)@b":         "a@b",
		`(x\)y)a@b`:          "a@b",
		`(x\(y)a@b`:          "a@b",
		`"(x)" <a@b>`:        "a@b",
		`"(x)"`:              `"(x)"`,
		`"\"(x)"`:            `"\"(x)"`,
		`a\(x)b`:             `a\b`,
		`a)b`:                `a)b`,
		"a(x":                "a",
		`a(x\`:               "a",
		`"a\`:                `"a\`,
		`(x"y)a@b`:           "a@b",
		`(x"y)a@b(z)`:        "a@b",
		`"x)"(y)`:            `"x)"`,
		"a>":                 "a>",
		"<>":                 "",
		"<a@b> x":            "<a@b> x",
		`(a\\)b`:             "b",
		`"a\\"(b)`:           `"a\\"`,
		`(shopping@x) <a@b>`: "a@b",
	} {
		if got := entryAddress(entry); got != want {
			t.Errorf("the address of %q is %q, want %q", entry, got, want)
		}
	}
}

// TestFromParts: each special stands in a phrase in quotes only, and a comment
// is one, at the end, not nested.
func TestFromParts(t *testing.T) {
	for c := range 128 {
		o := string(rune(c))
		special := strings.Contains(`@,;:<>()[]\`, o)
		for _, s := range []string{o, "a" + o, o + "a"} {
			if got := validPhrase(s); got != (!special && o != `"`) {
				t.Errorf("phrase %q: %v", s, got)
			}
		}
		if got := validPhrase(`"a` + o + `b"`); got != (o != `"`) {
			t.Errorf("phrase %q in quotes: %v", o, got)
		}
		if !validPhrase(`"a\` + o + `b"`) {
			t.Errorf("phrase %q in quotes behind a backslash", o)
		}
	}
	for s, want := range map[string]bool{
		"": true, `"a"`: true, `"a" b "c"`: true, `"a`: false, `"a\"`: false, `"a\\"`: true, `"a"<`: false, "a\xe9": false, "\u00e9": true,
		"\"\xe9\"": false, `"a"b"`: false,
	} {
		if got := validPhrase(s); got != want {
			t.Errorf("phrase %q: %v", s, got)
		}
	}
	for s, want := range map[string]bool{
		"()": true, "(a)": true, "(a b)": true, `(a\)b)`: true, `(a\(b)`: true, `(a\\)`: true, `(a\)`: false, `(\)`: false,
		"(a(b))": false, "(a)(b)": false, "(a)b)": false, "(\xe9)": false, "(\u00e9)": true, `("a)`: true, "((a)": false,
	} {
		if got := simpleComment(s); got != want {
			t.Errorf("comment %q: %v", s, got)
		}
	}
	for s, want := range map[string]string{
		"a (b)": "a ", `"(" (b)`: `"(" `, `"\"(" (b)`: `"\"(" `, "(b)": "", `"a\\" (b)`: `"a\\" `, `"(b)`: "-", "b)": "-",
		"a (b) (c)": "-", "a (b(c))": "-", "a ((b)": "-",
	} {
		before, ok := cutComment(s)
		if ok != (want != "-") || ok && before != want {
			t.Errorf("%q without its comment: %q, %v", s, before, ok)
		}
	}
}
