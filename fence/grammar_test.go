package fence

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// TestClosedLists: what stands in stamps and metrics is known, in this order.
func TestClosedLists(t *testing.T) {
	for _, c := range []struct {
		got  []string
		want string
	}{
		{HiddenClasses, "control bidi zero-width tag variation private unassigned line-break invalid-utf8 bad-encoding other html-comment hidden-style alt-text attachment-name preamble odd-field calendar-text"},
		{DroppedClasses, "html attachment message calendar text other"},
		{[]string{string(Full), string(Cut), string(None)}, "full cut none"},
	} {
		if got := strings.Join(c.got, " "); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
}

// TestGrammars holds what is read octet by octet against a regular expression.
func TestGrammars(t *testing.T) {
	for name, g := range map[string]struct {
		ours    func(c byte) bool
		pattern string
	}{
		"token":             {isToken, `^[!#$%&'*+.^_` + "`" + `{|}~A-Za-z0-9-]$`},
		"loose value":       {isLoose, `^[!#-'*-:<-\[\]-~\x{80}-\x{FF}]$`},
		"field name":        {func(c byte) bool { return isFieldName([]byte{c}) }, `^[!-~]$`},
		"field name, last":  {func(c byte) bool { return isFieldName([]byte{'a', c}) }, `^[!-~]$`},
		"field name, first": {func(c byte) bool { return isFieldName([]byte{c, 'a'}) }, `^[!-~]$`},
		"control":           {func(c byte) bool { return isControl(rune(c)) }, `^[\x00-\x08\x0A-\x1F\x7F]$`},
		"blank":             {func(c byte) bool { return isBlank(char(c)) }, `^[ \t]$`},
		"ordinary":          {isOrdinary, `^[^ \t\r\n]$`},
		"hex":               {func(c byte) bool { return hexValue(c) >= 0 }, `^[0-9A-Fa-f]$`},
		"base64":            {func(c byte) bool { return base64Value[c] < 64 }, `^[A-Za-z0-9+/]$`},
		"base64 blank":      {func(c byte) bool { return base64Value[c] == blankCharacter }, `^[ \t\r\n]$`},
		"base64 pad":        {func(c byte) bool { return base64Value[c] == padCharacter }, `^=$`},
	} {
		pattern := regexp.MustCompile(g.pattern)
		for c := range 256 {
			if got, want := g.ours(byte(c)), pattern.MatchString(string(rune(c))); got != want {
				t.Errorf("%s %q: %v", name, byte(c), got)
			}
		}
	}
	if isFieldName(nil) {
		t.Error("an empty name is one")
	}
	for c := range 256 {
		want := string(rune(c))
		if c >= 'A' && c <= 'Z' {
			want = string(rune(c + 32))
		}
		if got := lowerASCII("x" + string(rune(c)) + "y"); got != "x"+want+"y" {
			t.Errorf("%q folds to %q", rune(c), got)
		}
	}
	for i, c := range "0123456789ABCDEF" {
		if got := hexValue(byte(c)); got != i {
			t.Errorf("hex %q is %d", c, got)
		}
	}
	for i, c := range "0123456789abcdef" {
		if got := hexValue(byte(c)); got != i {
			t.Errorf("hex %q is %d", c, got)
		}
	}
}

// ranges are the classes that are lists of code points.
var ranges = map[string]string{
	"line-break": "\n\v\f\r\x1c\x1d\x1e\u0085\u2028\u2029",
	"bidi":       "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069",
	"zero-width": "\u00ad\u034f\u180e\u200b\u200c\u200d\u2060\u2061\u2062\u2063\u2064\ufeff",
}

// TestClassOfEach: each code point has one class, the first that takes it.
func TestClassOfEach(t *testing.T) {
	for r := rune(0); r <= unicode.MaxRune; r++ {
		want := "other"
		switch {
		case classOf(char(r)) == visible:
			continue
		case strings.ContainsRune(ranges["line-break"], r):
			want = "line-break"
		case unicode.Is(unicode.Cc, r):
			want = "control"
		case strings.ContainsRune(ranges["bidi"], r):
			want = "bidi"
		case strings.ContainsRune(ranges["zero-width"], r):
			want = "zero-width"
		case r>>7 == 0xE0000>>7:
			want = "tag"
		case unicode.Is(unicode.Variation_Selector, r):
			want = "variation"
		case unicode.Is(unicode.Co, r):
			want = "private"
		case unicode.Is(unicode.Cn, r):
			want = "unassigned"
		}
		if got := HiddenClasses[classOf(char(r))]; got != want {
			t.Errorf("U+%04X: %s, want %s", r, got, want)
		}
	}
}

// TestContinuesEmoji: what the table holds in second place, and nothing that
// text is made of.
func TestContinuesEmoji(t *testing.T) {
	seconds := map[char]bool{}
	for sequence := range strings.FieldsSeq(emojiTable) {
		seconds[chars(sequence)[1]] = true
	}
	for c := range seconds {
		if !continuesEmoji(c) {
			t.Errorf("U+%04X continues no sequence", c)
		}
	}
	for sequence := range strings.FieldsSeq(emojiTable) {
		text := chars(sequence)
		if got := emojiLength(append(slices.Clone(text), 'a')); got != len(text) {
			t.Errorf("%q before a letter: %d characters", sequence, got)
		}
		if got := emojiLength(append(slices.Clone(text), badByte(0xFF))); got != len(text) {
			t.Errorf("%q before an octet that does not decode: %d characters", sequence, got)
		}
	}
	if got := emojiLength(chars("a\ufe0f")); got != 0 {
		t.Errorf("a letter with a selector is a sequence of %d", got)
	}
}

// TestPartHeaders: what makes the header of a part odd, field by field.
func TestPartHeaders(t *testing.T) {
	for header, want := range map[string]string{
		"":                                   "text/plain inline",
		"X: y\n":                             "text/plain inline",
		"Content-Type: text/html\n":          "text/html inline",
		"CONTENT-TYPE:text/html\n":           "text/html inline",
		"Content-Type: text/\n html\n":       "text/html inline",
		"Content-Type: text/\n\thtml\nX:y\n": "text/html inline",
		"Content-Type: text/html\nContent-Type: text/html\n":                                                         "odd",
		"Content-Disposition: attachment\n":                                                                          "text/plain attachment",
		"Content-Disposition: inline\nContent-Disposition:  inline \n":                                               "text/plain inline",
		"Content-Disposition: inline\nContent-Disposition: Inline\n":                                                 "odd",
		"Content-Disposition: inline\nContent-Disposition: inline\nContent-disposition: x\n":                         "odd",
		"Content-Transfer-Encoding: base64\nContent-Transfer-Encoding:\tbase64\n":                                    "text/plain inline base64",
		"Content-Transfer-Encoding: base64\nContent-Transfer-Encoding: 7bit\n":                                       "odd",
		"Content-Type: text/html\nContent-Type: a/b\nContent-Disposition: inline\nContent-Transfer-Encoding: 7bit\n": "odd",
		"Content-Transfer-Encoding: base64\nContent-Transfer-Encoding: 7bit\nContent-Disposition: inline\n":          "odd",
		" X: y\n":             "odd",
		"\tX: y\n":            "odd",
		"X: y\n \n":           "odd",
		"X: y\n\t \t\nZ: y\n": "odd",
		"X\n":                 "odd",
		"X: y\nno colon\n":    "odd",
		": y\n":               "odd",
		"X : y\n":             "odd",
		"X\u00e9: y\n":        "odd",
		"X: a\rb\n":           "odd",
		"X: a\x00b\n":         "odd",
		"X: a\x7fb\n":         "odd",
		"X: a\tb\n":           "text/plain inline",
		"X: y\n z\x01\n":      "odd",
	} {
		h := parsePartHeader([]byte(header), plainText)
		got := "odd"
		if !h.odd {
			got = h.media.major + "/" + h.media.minor + map[bool]string{true: " inline", false: " attachment"}[h.inline]
			if h.encoding == base64Encoding {
				got += " base64"
			}
		}
		if got != want {
			t.Errorf("%q: %s, want %s", header, got, want)
		}
	}
	if h := parsePartHeader(nil, mailMessage); !h.media.is("message", "rfc822") {
		t.Errorf("a part without a type in a digest is %s/%s", h.media.major, h.media.minor)
	}
}

// TestQuotedPrintableIsCertain holds the judgement of each escape against a
// regular expression.
func TestQuotedPrintableIsCertain(t *testing.T) {
	honest := regexp.MustCompile(`^([^=]|=\n|=3D|=(20|09)\n|=(7F|[89A-Fa-f][0-9A-Fa-f]|7f))*$`)
	high := regexp.MustCompile(`=(7[Ff]|[89A-Fa-f][0-9A-Fa-f])`)
	check := func(text string) {
		t.Helper()
		var q qpCheck
		q.write([]byte(text))
		if want := !honest.MatchString(text); q.broken != want {
			t.Errorf("%q: broken %v", text, q.broken)
		}
		if want := high.MatchString(text); !q.broken && q.high != want {
			t.Errorf("%q: an escape of a byte over 126 %v", text, q.high)
		}
		if want := strings.Contains(text, "="); q.equals != want {
			t.Errorf("%q: has = %v", text, q.equals)
		}
	}
	for hi := range 128 {
		for lo := range 128 {
			if hi == '\n' || lo == '\n' || hi == '=' || lo == '=' {
				continue
			}
			check(fmt.Sprintf("a=%c%cb\n", hi, lo))
			check(fmt.Sprintf("a=%c%c\nb", hi, lo))
		}
	}
	for _, text := range []string{"", "a", "=\n", "a=\nb\n", "=3D=3D\n", "=20\n=09\n", "=20=20\n", "=C3=A9 =\n", "=20 \n", "=3D20\n", "=20\n=20b"} {
		check(text)
	}
}

// TestBase64IsCertain: whole groups, padding at the end only, unused bits zero,
// 24 characters or more.
func TestBase64IsCertain(t *testing.T) {
	group := strings.Repeat("QUJD", 5)
	for text, want := range map[string]bool{
		group + "QUJD\n": true, group + "QUI=\n": true, group + "QQ==\n": true, group[:12] + "\n" + group[12:] + "QUJD\n": true,
		group + "\n": false, group + "QUJDQ\n": false, group + "QUJDQU\n": false, group + "QUJDQUJ\n": false, group + "QUJDQUJDQUJD\n": true,
		group + "QUJ=\n": false, group + "QUK=\n": false, group + "QUL=\n": false, group + "QUM=\n": true, group + "QR==\n": false, group + "QS==\n": false, group + "QY==\n": false, group + "Qg==\n": true,
		group + "Q===\n": false, group + "====\n": false, group + "QQ==QUJD\n": false, group + "QQ=A\n": false, group + "QU-D\n": false, group + "QU_D\n": false,
		group + "QU D\n": false, group + "QU\tDQ\n": false, group + "QUJD\r\n": false, "=" + group + "QUJ\n": false, group + "QQ=\n=\n": true, "": false,
	} {
		for step := 1; step <= len(text); step += 7 {
			var b base64Check
			for rest := []byte(text); len(rest) > 0; rest = rest[min(step, len(rest)):] {
				b.write(rest[:min(step, len(rest))])
			}
			if got := b.strict(); got != want {
				t.Errorf("%q in pieces of %d: %v", text, step, got)
			}
		}
	}
}

// TestHTMLMarks: each in any case, wherever it stands, and no other.
func TestHTMLMarks(t *testing.T) {
	find := func(text string) bool {
		var h htmlCheck
		h.write(chars(text))
		return h.found
	}
	for _, mark := range []string{"<html", "<body", "<div", "<p>", "<br", "<table", "<span", "<!doctype"} {
		title := mark[:1] + strings.ToUpper(mark[1:2]) + mark[2:]
		for _, text := range []string{mark, strings.ToUpper(mark), title, "a " + mark + "x", "<" + mark, "<!docty" + mark, "<!doctypx" + mark, "<i" + mark + ">"} {
			if !find(text) {
				t.Errorf("%q is not found", text)
			}
		}
		for _, text := range []string{mark[1:], mark[:len(mark)-1], "< " + mark[1:], "<\u00e9" + mark[1:], mark[:2] + "\n" + mark[2:], mark[:2] + "x" + mark[2:]} {
			if find(text) {
				t.Errorf("%q is taken for HTML", text)
			}
		}
	}
	for _, text := range []string{"<p", "<p >", "<pre>", "<a", "<b>", "<i>", "<\u017fpan", "<d\u0131v"} {
		if find(text) {
			t.Errorf("%q is taken for HTML", text)
		}
	}
}

// TestTransferNames: a name in any case and nothing beside it but comments.
func TestTransferNames(t *testing.T) {
	for name, want := range map[string]transfer{"7bit": identity, "8bit": identity, "binary": identity, "base64": base64Encoding, "quoted-printable": quotedPrintable} {
		for value, want := range map[string]transfer{
			name: want, " " + strings.ToUpper(name) + "\t": want, "(a)" + name + "(b(c))": want, "\r\n " + name: want,
			name[1:]: unknownTransfer, name[:len(name)-1]: unknownTransfer, name + "x": unknownTransfer, name + ";": unknownTransfer,
			name + " x": unknownTransfer, name + "(": unknownTransfer, "\"" + name + "\"": unknownTransfer,
		} {
			if got := parseTransfer(value); got != want {
				t.Errorf("%q: %d, want %d", value, got, want)
			}
		}
	}
}

// TestDroppedClassOf: what each part that is not shown counts as.
func TestDroppedClassOf(t *testing.T) {
	for header, want := range map[string]string{
		"Content-Type: text/plain\n": "", "Content-Type: text/html\n": "html", "Content-Type: text/calendar\n": "calendar",
		"Content-Type: message/rfc822\n": "message", "Content-Type: message/delivery-status\n": "message", "Content-Type: text/css\n": "other",
		"Content-Type: image/png\n": "other", "Content-Type: multipart/mixed\n": "other", "Content-Type: application/html\n": "other",
		"Content-Type: text/html\nContent-Disposition: attachment\n": "attachment", "Content-Type: text/plain\nContent-Disposition: x\n": "attachment",
		"Content-Type: text/html\nContent-Disposition: inline\n": "html", "Content-Disposition: attachment\nno colon\n": "other",
	} {
		class, dropped := dropClass(parsePartHeader([]byte(header), plainText))
		if dropped != (want != "") || dropped && DroppedClasses[class] != want {
			t.Errorf("%q: %v, %s, want %q", header, dropped, DroppedClasses[class], want)
		}
	}
}
