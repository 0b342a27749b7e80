package fence

import (
	"io"
	"math"
	"slices"
)

// page decides what a fence shows and writes it. It goes over the text twice:
// first to find how many lines of it there are and how many fit, then to write
// those. So it never holds more of the text than one line.
type page struct {
	entry  string
	limits limits
	head   []row
	cut    bool // the Subject was cut

	carriers *carriers // what is neutralised

	parts []textPart
	lines int    // of the body as far as it was gone over, shown or not
	size  extent // of a fence with the lines that were measured
	full  bool   // no more lines fit
	marks []mark
}

// textPart is one part of the body.
type textPart struct {
	leaf    leaf
	unknown bool // the charset is not known
	bad     int  // malformed places in its transfer encoding
	before  int  // lines of the parts before it
	total   int  // lines, shown or not
	blanks  int  // how many blank ones end it
}

// mark is a line of the body behind which the fence may be cut.
type mark struct {
	lines int    // up to here
	size  extent // of the fence with them
}

// newPage begins a page with what stands above the body.
func newPage(s *source, l limits, c *carriers) *page {
	p := &page{entry: s.entry, limits: l, carriers: c}
	if s.toUnsigned {
		p.head = append(p.head, row{remarkRow, remarkToUnsigned})
	}
	switch {
	case !s.subject.present:
	case !s.subject.covered:
		p.head = append(p.head, row{remarkRow, remarkSubjectUnsigned})
	default:
		p.subject(s.subject.value)
	}
	p.size = extentOf(p.entry, p.head...)
	p.marks = []mark{{0, p.size}}
	return p
}

func (p *page) subject(value string) {
	one := showSubject(value)
	p.head = append(p.head, row{subjectRow, one.text})
	p.carriers.shown(siteSubject, one.text)
	if one.cut > 0 {
		p.head = append(p.head, row{remarkRow, remarkSubjectCut})
		p.cut = true
	}
}

// fill writes what stands between the markers: the body's text, or the remark
// that stands for a body that is not shown.
func (p *page) fill(to *sheet, body *io.SectionReader, leaves []leaf, withheld string) (State, error) {
	to.rows(p.head...)
	if withheld != "" {
		to.rows(row{remarkRow, withheld})
		return None, nil
	}
	if err := p.measure(body, leaves); err != nil {
		return "", err
	}
	return p.write(to, body)
}

// open is the part's text, from its start.
func (t *textPart) open(body *io.SectionReader) (*lineReader, octets) {
	set, known := charsetOf(t.leaf.media, t.leaf.encoding != identity)
	t.unknown = !known
	section := io.NewSectionReader(body, t.leaf.start, t.leaf.end-t.leaf.start)
	decoded := decodeTransfer(section, t.leaf.encoding)
	return &lineReader{in: newCharReader(decoded, set)}, decoded
}

// begin are the rows above the first line of part i.
func (p *page) begin(i int) (rows []row) {
	if i > 0 {
		rows = append(rows, row{remarkRow, remarkNextPart})
	}
	if p.parts[i].unknown {
		rows = append(rows, row{remarkRow, remarkCharset})
	}
	return rows
}

// measure goes over the text parts, each to its end.
func (p *page) measure(body *io.SectionReader, leaves []leaf) error {
	for i, one := range leaves {
		p.parts = append(p.parts, textPart{leaf: one, before: p.lines})
		part := &p.parts[i]
		lines, decoded := part.open(body)
		p.size = p.size.with(p.begin(i)...)
		for lines.more() {
			part.total++
			part.blanks++
			if !p.take(lines) {
				part.blanks = 0
			}
		}
		if err := lines.failure(); err != nil {
			return err
		}
		part.bad = decoded.bad()
	}
	return nil
}

// take goes over the next line, and measures it if it may fit. It reports
// whether the line is blank.
func (p *page) take(lines *lineReader) (blank bool) {
	p.lines++
	if p.full {
		return lines.skip()
	}
	one := lines.line(textWidth)
	p.size = p.size.with(one.rows()...)
	p.full = !p.limits.keep(p.size)
	if !p.full {
		p.mark()
	}
	return one.blank
}

// mark notes that the fence may be cut behind the line just measured. Where it
// can be cut behind two lines more, whatever number of others are not shown,
// there is no need to cut it here.
func (p *page) mark() {
	p.marks = append(p.marks, mark{p.lines, p.size})
	if len(p.marks) > 2 && p.limits.keep(p.marks[2].size.with(moreLines(math.MaxInt))) {
		p.marks = p.marks[1:]
	}
}

// rows are the line and, if it was cut, the remark under it.
func (t textLine) rows() []row {
	rows := []row{{textRow, t.text}}
	if t.cut > 0 {
		rows = append(rows, moreCharacters(t.cut))
	}
	return rows
}

// total is the lines of the body, but for the blank ones at its end.
func (p *page) total() int {
	if len(p.parts) == 0 {
		return 0
	}
	return p.lines - p.parts[len(p.parts)-1].blanks
}

// shown is how many of the body's total lines are shown: as many whole ones as
// let the fence keep its limits.
func (p *page) shown(total int) int {
	if p.whole(total) {
		return total
	}
	for _, m := range slices.Backward(p.marks) {
		if m.lines < total && p.limits.keep(m.size.with(moreLines(total-m.lines))) {
			return m.lines
		}
	}
	return 0
}

// whole reports whether all of the lines fit.
func (p *page) whole(total int) bool {
	last := p.marks[len(p.marks)-1]
	if last.lines < total {
		return false
	}
	// Marks before the first are gone because more than they fits.
	at := slices.IndexFunc(p.marks, func(m mark) bool { return m.lines == total })
	if at < 0 {
		return true
	}
	size := p.marks[at].size
	for i, part := range p.parts {
		// A part without a line of its own to show is begun all the same.
		if part.before >= total {
			size = size.with(p.begin(i)...)
		}
	}
	return p.limits.keep(size)
}

// write writes the lines of the body that are shown.
func (p *page) write(to *sheet, body *io.SectionReader) (State, error) {
	total := p.total()
	n := p.shown(total)
	// Where no line is left to be shown, the beginnings of the parts alone may
	// be too many.
	whole := p.whole(total)
	cut := p.cut || !whole
	for i, part := range p.parts {
		// A part is begun only for a line of it, or of one behind it.
		if part.before >= n && !whole {
			break
		}
		to.rows(p.begin(i)...)
		p.carriers.count(kind{siteBody, badEncoding}, part.bad)
		lines, _ := part.open(body)
		for range min(part.total, n-part.before) {
			one := lines.line(textWidth)
			to.rows(one.rows()...)
			p.carriers.shown(siteBody, one.text)
			cut = cut || one.cut > 0
		}
		if err := lines.failure(); err != nil {
			return "", err
		}
	}
	if n < total {
		to.rows(moreLines(total - n))
	}
	if cut {
		return Cut, nil
	}
	return Full, nil
}
