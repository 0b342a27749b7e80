package fence

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"unicode"
)

// The escaped code points and the emoji table are of one version.
func TestUnicodeVersion(t *testing.T) {
	if unicode.Version != "15.0.0" {
		t.Fatalf("Go's tables are Unicode %s, emoji-15.0.txt is not", unicode.Version)
	}
}

func TestEscapedSet(t *testing.T) {
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if got, want := classOf(char(r)) != visible, mustEscape(r); got != want {
			t.Errorf("U+%04X: escaped %v, want %v", r, got, want)
		}
	}
}

func TestClasses(t *testing.T) {
	for _, c := range []struct {
		want string
		in   []char
	}{
		{"control", []char{0, 1, 8, 0xE, 0x1B, 0x1F, 0x7F, 0x84, 0x86, 0x9F}},
		{"line-break", []char{'\n', '\v', '\f', '\r', 0x1C, 0x1D, 0x1E, 0x85, 0x2028, 0x2029}},
		{"bidi", []char{0x61C, 0x200E, 0x200F, 0x202A, 0x202E, 0x2066, 0x2069}},
		{"zero-width", []char{0xAD, 0x34F, 0x180E, 0x200B, 0x200C, 0x200D, 0x2060, 0x2064, 0xFEFF}},
		{"tag", []char{0xE0000, 0xE0001, 0xE0020, 0xE007F}},
		{"variation", []char{0x180B, 0x180D, 0x180F, 0xFE00, 0xFE0F, 0xE0100, 0xE01EF}},
		{"private", []char{0xE000, 0xF8FF, 0xF0000, 0x10FFFD}},
		{"unassigned", []char{0x378, 0x2065, 0xFDD0, 0xFFFE, 0xE0080, 0xE01F0, 0x10FFFF}},
		{"invalid-utf8", []char{badByte(0), badByte(0x80), badByte(0xFF)}},
		{"other", []char{0x600, 0x115F, 0x1160, 0x17B4, 0x206A, 0x206F, 0x2800, 0x3164, 0xFFA0, 0xFFF9, 0x1BCA0, 0x1D173}},
	} {
		for _, one := range c.in {
			if got := classOf(one); got == visible || HiddenClasses[got] != c.want {
				t.Errorf("%#x: class %d, want %s", int(one), got, c.want)
			}
		}
	}
	for _, one := range []char{'\t', ' ', 'a', 0xA0, 0x3000, 0x301, 0xFFFD, 0x1F600} {
		if got := classOf(one); got != visible {
			t.Errorf("%#x: class %s, want none", int(one), HiddenClasses[got])
		}
	}
}

func TestEmojiTableIsTheFile(t *testing.T) {
	f, err := os.Open("emoji-15.0.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	table := make(map[string]bool)
	for sequence := range strings.FieldsSeq(emojiTable) {
		table[sequence] = true
	}
	announced, lines := 0, 0
	for s := bufio.NewScanner(f); s.Scan(); {
		fields := strings.Fields(s.Text())
		switch fields[0] {
		case "#":
			continue
		case "@":
			n, err := strconv.Atoi(fields[2])
			if err != nil {
				t.Fatal(err)
			}
			announced += n
			continue
		}
		lines++
		sequence := ""
		for _, hex := range fields {
			var r rune
			if _, err := fmt.Sscanf(hex, "%X", &r); err != nil {
				t.Fatal(err)
			}
			sequence += string(r)
		}
		if !table[sequence] {
			t.Errorf("%q is not in the table", sequence)
		}
		if got := emojiLength(chars(sequence)); got != len(fields) {
			t.Errorf("%q: length %d, want %d", sequence, got, len(fields))
		}
		if len(fields) > maxUnit {
			t.Errorf("%q is longer than a unit", sequence)
		}
	}
	if lines != announced || lines != len(table) {
		t.Errorf("%d lines, %d announced, %d in the table", lines, announced, len(table))
	}
}
