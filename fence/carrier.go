package fence

import (
	"crypto/sha256"
	"hash"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Kind is a class of hidden text in one place of a message.
type Kind struct {
	Place string // of Places
	Class string // of HiddenClasses
}

// Carrier is what a message has of one kind.
type Carrier struct {
	Kind
	N      int               // how many, at least one
	Digest [sha256.Size]byte // SHA-256 of what was counted, in its order; zero where nothing of it was kept
}

// site is a place that can hide text, an index into Places.
type site uint8

const (
	siteSubject site = iota
	siteBody
	siteText
	siteHTML
	siteCalendar
	siteName
	sitePreamble
	siteHeader

	sites
)

// Places lists where carriers are found. The list is closed.
var Places = []string{
	siteSubject:  "subject",         // as shown
	siteBody:     "body",            // as shown
	siteText:     "text",            // a text part that is not shown
	siteHTML:     "html",            // an HTML part
	siteCalendar: "calendar",        // a part that is a calendar or a vCard
	siteName:     "attachment-name", // the name of a part
	sitePreamble: "preamble",        // what stands before, between and behind the parts
	siteHeader:   "header",          // a field of the message or of a part
}

// kind is a Kind by its indexes.
type kind struct {
	at    site
	class class
}

// invisible are the classes that are looked for in text that is not shown: of
// the others such text is made, or they say nothing there.
var invisible = []class{bidi, zeroWidth, tag, variation}

// classesIn are the classes that a place can have beside invisible.
var classesIn = [sites][]class{
	siteSubject:  {control, private, unassigned, lineBreak, invalidUTF8, other},
	siteBody:     {control, private, unassigned, lineBreak, invalidUTF8, badEncoding, other},
	siteHTML:     {htmlComment, hiddenStyle, altText},
	siteCalendar: {calendarText},
	siteName:     {attachmentName},
	sitePreamble: {preamble},
	siteHeader:   {oddField},
}

// Kinds lists every kind that there is, by place and class in their orders.
func Kinds() []Kind {
	var all []Kind
	for at := range sites {
		in := make(map[class]bool)
		for _, c := range append(invisible[:len(invisible):len(invisible)], classesIn[at]...) {
			in[c] = true
		}
		for c := range hiddenClasses {
			if in[c] {
				all = append(all, Kind{Places[at], HiddenClasses[c]})
			}
		}
	}
	return all
}

// carriers collects what is found. The zero value has nothing and costs
// nothing.
type carriers struct {
	found   map[kind]*mass
	scratch []byte
	chars   []char
}

// mass is all that is kept of one kind.
type mass struct {
	n   int
	sum hash.Hash // nil where no text was added
}

func (c *carriers) of(k kind) *mass {
	m := c.found[k]
	if m == nil {
		if c.found == nil {
			c.found = make(map[kind]*mass)
		}
		m = new(mass)
		c.found[k] = m
	}
	return m
}

func (m *mass) write(text []byte) {
	if m.sum == nil {
		m.sum = sha256.New()
	}
	m.sum.Write(text)
}

// count adds n of which no text is kept.
func (c *carriers) count(k kind, n int) {
	if n > 0 {
		c.of(k).n += n
	}
}

// add adds one, and its text.
func (c *carriers) add(k kind, text []byte) {
	m := c.of(k)
	m.n++
	m.write(text)
	m.write(endOfOne)
}

// endOfOne keeps two texts apart in a digest.
var endOfOne = []byte{0}

// shown counts what a line of the fence neutralises: each escape is one.
func (c *carriers) shown(at site, line string) {
	for {
		next := strings.IndexByte(line, '\\')
		if next < 0 {
			return
		}
		line = line[next:]
		length := 1
		if beginsEscape(line) {
			var original string
			original, length = readEscape(line)
			c.scratch = append(c.scratch[:0], line[:length]...)
			c.add(kind{at, escapedClass(line, original)}, c.scratch)
		}
		line = line[length:]
	}
}

// escapedClass is the class of the escape that line begins with and that stands
// for original.
func escapedClass(line, original string) class {
	if line[1] == 'x' {
		return invalidUTF8
	}
	if original == `\` {
		return other
	}
	r, _ := utf8.DecodeRuneInString(original)
	return classOf(char(r))
}

// invisibles counts the invisible characters of text that is not shown. Those
// of an emoji sequence are none.
func (c *carriers) invisibles(at site, text []char) {
	for len(text) > 0 {
		text = text[c.invisible(at, text):]
	}
}

// invisible looks at the first unit of text and returns how many characters
// that is.
func (c *carriers) invisible(at site, text []char) int {
	// Two ASCII characters in a row: no emoji sequence begins with the first.
	if ascii(text[0]) && (len(text) == 1 || ascii(text[1])) {
		return 1
	}
	var u unit
	c.scratch, u = appendUnit(c.scratch[:0], text)
	switch u.hidden {
	case bidi, zeroWidth, tag, variation:
		c.add(kind{at, u.hidden}, c.scratch)
	}
	return u.taken
}

func ascii(c char) bool { return 0 <= c && c < utf8.RuneSelf }

// octetsOf counts the invisible characters of text in UTF-8.
func (c *carriers) octetsOf(at site, text []byte) {
	if isASCII(text) {
		return
	}
	c.chars = c.chars[:0]
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		c.chars = append(c.chars, char(r))
		text = text[size:]
	}
	c.invisibles(at, c.chars)
}

func isASCII[text string | []byte](s text) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// passage is a text that comes in pieces. It counts as one as soon as there is
// something in it to be read.
type passage struct {
	into    *carriers
	kind    kind
	counted bool
}

func (p *passage) write(piece []byte) {
	if !p.counted && blank(piece) {
		return
	}
	m := p.into.of(p.kind)
	if !p.counted {
		p.counted = true
		m.n++
	}
	m.write(piece)
}

func (p *passage) end() {
	if p.counted {
		p.into.of(p.kind).write(endOfOne)
		p.counted = false
	}
}

// text counts a text that is there as a whole, unless there is nothing in it to
// be read, and its invisible characters.
func (c *carriers) text(k kind, text []byte) {
	p := passage{into: c, kind: k}
	p.write(text)
	p.end()
	c.octetsOf(k.at, text)
}

// blank reports whether UTF-8 holds white space and invisible characters only.
func blank(text []byte) bool {
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		if !unicode.IsSpace(r) && classOf(char(r)) == visible {
			return false
		}
		text = text[size:]
	}
	return true
}

// list is what was found, by place and class in their orders.
func (c *carriers) list() []Carrier {
	if len(c.found) == 0 {
		return nil
	}
	var all []Carrier
	for at := range sites {
		for k := range hiddenClasses {
			m := c.found[kind{at, k}]
			if m == nil {
				continue
			}
			one := Carrier{Kind: Kind{Places[at], HiddenClasses[k]}, N: m.n}
			if m.sum != nil {
				one.Digest = [sha256.Size]byte(m.sum.Sum(nil))
			}
			all = append(all, one)
		}
	}
	return all
}

// counts are the sums by class.
func (c *carriers) counts() Counts {
	if len(c.found) == 0 {
		return nil
	}
	var sums [hiddenClasses]int
	for k, m := range c.found {
		sums[k.class] += m.n
	}
	return countsOf(HiddenClasses, sums[:])
}
