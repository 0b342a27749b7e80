package fence

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestParse(t *testing.T) {
	text := lines(opening, note("recipient not signed"), "| Subject: groceries", "| eggs", "|", "|  milk", note("12 more characters not shown"),
		note("next text part"), note("charset not known: bytes shown"), `| b\x{E9}`, note("3 more lines not shown"), closing)
	f, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	if f.Entry != "friend@example.org" || f.Nonce != "0000000000000000" || f.Subject != "groceries" || !f.HasSubject {
		t.Errorf("got %+v", f)
	}
	if len(f.Parts) != 2 || !slices.Equal(f.Parts[0].Lines, []string{"eggs", "", " milk"}) || !slices.Equal(f.Parts[1].Lines, []string{`b\x{E9}`}) {
		t.Errorf("parts %q", f.Parts)
	}
	want := []string{"recipient not signed", "12 more characters not shown", "next text part", "charset not known: bytes shown", "3 more lines not shown"}
	if !slices.Equal(f.Remarks, want) {
		t.Errorf("remarks %q", f.Remarks)
	}
	if f.Text() != text {
		t.Errorf("Text is %q", f.Text())
	}
}

func TestParseTakes(t *testing.T) {
	for name, inner := range map[string][]string{
		"nothing":                 nil,
		"an empty Subject":        {"| Subject:", "| a"},
		"no Subject":              {"| a"},
		"text like a Subject":     {"| Subject:x", "| Subject:  x"},
		"Subject not shown":       {note("subject not shown: not signed"), "| Subject: x"},
		"Subject cut":             {"| Subject: " + strings.Repeat("x", 998), note("subject cut"), "| a"},
		"body not shown":          {note("recipient not signed"), "| Subject: a", note("body not shown: over limits")},
		"only that":               {note("body not shown: encrypted")},
		"an empty first part":     {"| Subject: x", note("next text part"), "| a"},
		"an empty last part":      {"| a", note("next text part")},
		"a blank line cut behind": {"| a", "|", note("2 more lines not shown")},
		"no line fits":            {note("2 more lines not shown")},
		"blank lines, next part":  {"| a", "|", note("next text part"), "| b"},
		"a backslash at a cut":    {`| a\u{5C}`, note("9 more characters not shown")},
		"widest line":             {"| " + strings.Repeat("ü", 1998)},
		"most lines":              {"| a" + strings.Repeat("\n| a", 1997)},
	} {
		t.Run(name, func(t *testing.T) {
			text := lines(append(append([]string{opening}, inner...), closing)...)
			f, err := Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			if f.Text() != text {
				t.Errorf("Text is %q, want %q", f.Text(), text)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"nothing":                      "",
		"one marker":                   opening,
		"line end behind":              lines(opening, closing, ""),
		"text behind":                  lines(opening, closing, "| a"),
		"text before":                  lines("| a", opening, closing),
		"CRLF":                         opening + "\r\n" + closing,
		"blank before":                 " " + lines(opening, closing),
		"blank behind":                 lines(opening, closing) + " ",
		"another nonce at the end":     lines(opening, strings.Replace(closing, "0", "1", 1)),
		"short nonce":                  strings.ReplaceAll(lines(opening, closing), "0000000000000000", "000000000000000"),
		"long nonce":                   strings.ReplaceAll(lines(opening, closing), "0000000000000000", "00000000000000000"),
		"upper-case nonce":             strings.ReplaceAll(lines(opening, closing), "0000000000000000", "A000000000000000"),
		"no entry":                     strings.Replace(lines(opening, closing), "friend@example.org", "", 1),
		"entry with a blank":           strings.Replace(lines(opening, closing), "friend@", "a friend@", 1),
		"entry above ASCII":            strings.Replace(lines(opening, closing), "friend", "fri\u200bend", 1),
		"entry with the nonce":         strings.Replace(lines(opening, closing), "friend", "0000000000000000", 1),
		"other words":                  strings.Replace(lines(opening, closing), "never", "no", 1),
		"a line without prefix":        lines(opening, "a", closing),
		"a line with half a prefix":    lines(opening, "|a", closing),
		"an empty line":                lines(opening, "", closing),
		"a prefix without text":        lines(opening, "| ", closing),
		"a third marker":               lines(opening, closing, closing),
		"an opening inside":            lines(opening, opening, closing),
		"a remark with another nonce":  lines(opening, "+-- next text part - nonce 0000000000000001", closing),
		"a remark without nonce":       lines(opening, "+-- next text part", closing),
		"an unknown remark":            lines(opening, note("trust this"), closing),
		"a remark in other case":       lines(opening, note("Next text part"), closing),
		"no count":                     lines(opening, "| a", note(" more lines not shown"), closing),
		"a count of none":              lines(opening, "| a", note("0 more lines not shown"), closing),
		"a count with a zero":          lines(opening, "| a", note("01 more lines not shown"), closing),
		"a count with a sign":          lines(opening, "| a", note("+1 more lines not shown"), closing),
		"a count below none":           lines(opening, "| a", note("-1 more lines not shown"), closing),
		"a count far too high":         lines(opening, "| a", note("99999999999999999999 more lines not shown"), closing),
		"the nonce in the text":        lines(opening, "| a 0000000000000000", closing),
		"the nonce in the Subject":     lines(opening, "| Subject: 0000000000000000", closing),
		"a raw hidden character":       lines(opening, "| a\u200bb", closing),
		"a raw control character":      lines(opening, "| a\x1b", closing),
		"a CR":                         lines(opening, "| a\r", closing),
		"bytes that are not UTF-8":     lines(opening, "| \xff", closing),
		"a malformed escape":           lines(opening, `| \u{200b}`, closing),
		"a needless escape":            lines(opening, `| \u{41}`, closing),
		"the recipient's remark late":  lines(opening, "| Subject: a", note("recipient not signed"), closing),
		"the recipient's remark twice": lines(opening, note("recipient not signed"), note("recipient not signed"), closing),
		"a Subject and not":            lines(opening, "| Subject: a", note("subject not shown: not signed"), closing),
		"cut without a Subject":        lines(opening, note("subject cut"), closing),
		"cut below the text":           lines(opening, "| Subject: a", "| b", note("subject cut"), closing),
		"text and no body":             lines(opening, "| Subject: a", "| b", note("body not shown: encrypted"), closing),
		"text behind no body":          lines(opening, note("body not shown: encrypted"), "| b", closing),
		"two reasons":                  lines(opening, note("body not shown: encrypted"), note("body not shown: over limits"), closing),
		"charset twice":                lines(opening, note("charset not known: bytes shown"), note("charset not known: bytes shown"), "| a", closing),
		"charset inside a part":        lines(opening, "| a", note("charset not known: bytes shown"), "| b", closing),
		"characters of no line":        lines(opening, note("next text part"), note("1 more characters not shown"), closing),
		"characters of the Subject":    lines(opening, "| Subject: a", note("1 more characters not shown"), closing),
		"characters twice":             lines(opening, "| a", note("1 more characters not shown"), note("1 more characters not shown"), closing),
		"lines twice":                  lines(opening, "| a", note("1 more lines not shown"), note("1 more lines not shown"), closing),
		"text behind the cut":          lines(opening, "| a", note("1 more lines not shown"), "| b", closing),
		"a part behind the cut":        lines(opening, "| a", note("1 more lines not shown"), note("next text part"), closing),
		"a blank line at the end":      lines(opening, "| a", "|", closing),
		"a line of blanks at the end":  lines(opening, "| a", "|  \t", closing),
		"a line too wide":              lines(opening, "| "+strings.Repeat("ü", 1999), closing),
		"too many lines":               lines(opening, "| a"+strings.Repeat("\n| a", 1998), closing),
		"too many bytes":               lines(opening, "| a"+strings.Repeat("\n| "+strings.Repeat("a", 500), 50), closing),
	} {
		t.Run(name, func(t *testing.T) {
			if f, err := Parse(text); err == nil {
				t.Errorf("taken as %+v", f)
			}
		})
	}
}

// Wherever a line is cut, the fence can be read back.
func TestCutAnywhere(t *testing.T) {
	for n := 1980; n < 2000; n++ {
		s := plain(strings.Repeat("a", n) + `\x{E9}` + strings.Repeat("b", 20))
		checkFence(t, s, rendered(t, s))
	}
}

// One octet changed anywhere makes another fence or none.
func TestParseIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSource(t)
		text := mustRender(t, s).Text
		at := rapid.IntRange(0, len(text)-1).Draw(t, "at")
		changed := text[:at] + string([]byte{rapid.Byte().Draw(t, "octet")}) + text[at+rapid.IntRange(0, 1).Draw(t, "replaced"):]
		f, err := Parse(changed)
		if err == nil && f.Text() != changed {
			t.Fatalf("%q was read as %q", changed, f.Text())
		}
	})
}

func FuzzParse(f *testing.F) {
	f.Add(lines(opening, note("recipient not signed"), "| Subject: a", `| \u{200B}`, note("1 more characters not shown"), note("next text part"), "| b", note("2 more lines not shown"), closing))
	f.Add(lines(opening, note("body not shown: encrypted"), closing))
	f.Fuzz(func(t *testing.T, text string) {
		one, err := Parse(text)
		if err != nil {
			return
		}
		s := &source{entry: one.Entry}
		checkFence(t, s, Rendering{Text: text, Nonce: one.Nonce})
		for _, p := range one.Parts {
			for _, line := range p.Lines {
				if _, ok := Unescape(line); !ok {
					t.Fatalf("%q does not come back", line)
				}
			}
		}
	})
}

func TestFresh(t *testing.T) {
	text := lines(opening, "| Subject: a", "| b", closing)
	f, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	again, err := f.Fresh()
	if err != nil {
		t.Fatal(err)
	}
	if again.Nonce == f.Nonce || strings.ReplaceAll(again.Text(), again.Nonce, f.Nonce) != text {
		t.Errorf("got\n%s", again.Text())
	}
	if f.Text() != text {
		t.Errorf("the first became\n%s", f.Text())
	}
	if _, err := Parse(again.Text()); err != nil {
		t.Error(err)
	}
}

func TestQuoted(t *testing.T) {
	f, err := Parse(lines(opening, "| Subject: weekly groceries", "| pay 100 EUR", "| to nobody", "|", `| zero\u{200B}width`, note("7 more characters not shown"),
		note("next text part"), "| second part, äöüßéè", closing))
	if err != nil {
		t.Fatal(err)
	}
	for quote, want := range map[string]bool{
		"pay 100 EUR":               true,
		"  pay 100 EUR\n":           true,
		"pay 100 EUR\nto nobody":    true,
		"EUR\nto nobody\n\nzero":    true,
		"weekly groceries":          true,
		"weekly g":                  true,
		`zero\u{200B}width`:         true,
		"äöüßéè":                    false, // 6 characters
		", äöüßéè":                  true,
		"second part":               true,
		"":                          false,
		"pay 100":                   false, // 7 characters
		"pay 100 e":                 false,
		"pay 100 EUR to nobody":     false,
		"| to nobody":               false,
		"Subject: weekly groceries": false,
		"weekly groceries\npay 100": false,
		"next text part":            false,
		"more characters not shown": false,
		"width\nsecond part":        false,
		"friend@example.org":        false,
		"zero\u200bwidth":           false,
	} {
		if got := f.Quoted(quote); got != want {
			t.Errorf("%q: %v, want %v", quote, got, want)
		}
	}
	dashes, err := Parse(lines(opening, "| -------- abcde --------", closing))
	if err != nil {
		t.Fatal(err)
	}
	if dashes.Quoted("-------- abcde") {
		t.Error("5 letters were enough")
	}
}

// The remarks are the closed list, and every one of them can be read back.
func TestRemarks(t *testing.T) {
	for _, words := range []string{
		remarkToUnsigned, remarkSubjectUnsigned, remarkNoText, remarkUnsigned, remarkNotDecodable,
		remarkEncrypted, remarkOverLimits, remarkCharset, remarkNextPart, strconv.Itoa(9) + linesNotShown,
	} {
		if _, err := Parse(lines(opening, note(words), closing)); err != nil {
			t.Errorf("%q: %v", words, err)
		}
	}
}
