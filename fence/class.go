package fence

import "unicode"

// class is a class of what is neutralised, an index into HiddenClasses.
type class uint8

// The classes of escaped characters, in the order of HiddenClasses.
const (
	control class = iota
	bidi
	zeroWidth
	tag
	variation
	private
	unassigned
	lineBreak
	invalidUTF8
	badEncoding
	other
	htmlComment
	hiddenStyle
	altText
	attachmentName
	preamble
	oddField
	calendarText

	hiddenClasses
	visible = hiddenClasses // not neutralised
)

// HiddenClasses lists the classes that Rendering.Hidden counts, in their
// order: first what is shown escaped, then what is not shown. The list is
// closed.
var HiddenClasses = []string{
	control:        "control",
	bidi:           "bidi",
	zeroWidth:      "zero-width",
	tag:            "tag",
	variation:      "variation",
	private:        "private",
	unassigned:     "unassigned",
	lineBreak:      "line-break",
	invalidUTF8:    "invalid-utf8",
	badEncoding:    "bad-encoding",
	other:          "other",
	htmlComment:    "html-comment",
	hiddenStyle:    "hidden-style",
	altText:        "alt-text",
	attachmentName: "attachment-name",
	preamble:       "preamble",
	oddField:       "odd-field",
	calendarText:   "calendar-text",
}

// escapedTables are the code points that are never shown raw: general
// categories Cc, Cf, Co, Cn, Cs, Zl and Zp, and Default_Ignorable, which is
// Other_Default_Ignorable, Variation_Selector and Cf.
var escapedTables = []*unicode.RangeTable{
	unicode.Cc, unicode.Cf, unicode.Co, unicode.Cn, unicode.Cs, unicode.Zl, unicode.Zp,
	unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector,
}

// brailleBlank is assigned, a symbol, and looks like nothing at all.
const brailleBlank = 0x2800

// escapedSet has a bit for every code point that is escaped.
var escapedSet = func() *[(unicode.MaxRune + 1) / 64]uint64 {
	set := new([(unicode.MaxRune + 1) / 64]uint64)
	add := func(lo, hi, stride uint32) {
		for r := lo; r <= hi; r += stride {
			set[r/64] |= 1 << (r % 64)
		}
	}
	for _, table := range escapedTables {
		for _, r := range table.R16 {
			add(uint32(r.Lo), uint32(r.Hi), uint32(r.Stride))
		}
		for _, r := range table.R32 {
			add(r.Lo, r.Hi, r.Stride)
		}
	}
	add(brailleBlank, brailleBlank, 1)
	set['\t'/64] &^= 1 << '\t'
	return set
}()

// classOf is the class of c standing alone, visible if it is shown as it is.
func classOf(c char) class {
	if c < 0 {
		return invalidUTF8
	}
	if escapedSet[c/64]&(1<<(c%64)) == 0 {
		return visible
	}
	return classOfEscaped(rune(c))
}

func classOfEscaped(r rune) class {
	switch {
	case endsLine(r):
		return lineBreak
	case unicode.Is(unicode.Cc, r):
		return control
	case r == 0x61C, r == 0x200E, r == 0x200F, within(r, 0x202A, 0x202E), within(r, 0x2066, 0x2069):
		return bidi
	case r == 0xAD, r == 0x34F, r == 0x180E, within(r, 0x200B, 0x200D), within(r, 0x2060, 0x2064), r == 0xFEFF:
		return zeroWidth
	case within(r, 0xE0000, 0xE007F):
		return tag
	case unicode.Is(unicode.Variation_Selector, r):
		return variation
	case unicode.Is(unicode.Co, r):
		return private
	case unicode.Is(unicode.Cn, r):
		return unassigned
	}
	return other
}

// endsLine reports whether some splitter takes r for the end of a line:
// terminals LF, VT, FF and CR, Python's splitlines those and the others.
func endsLine(r rune) bool {
	switch r {
	case '\n', '\v', '\f', '\r', 0x1C, 0x1D, 0x1E, 0x85, 0x2028, 0x2029:
		return true
	}
	return false
}

func within(r, lo, hi rune) bool { return lo <= r && r <= hi }
