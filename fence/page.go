package fence

import (
	"io"
	"sort"
)

// page collects what a fence shows: the rows above the body at once, the
// lines of the body as far as they may fit, and the count of the rest.
type page struct {
	entry  string
	head   []row
	hidden tally // of the head
	cut    bool  // the Subject was cut

	parts []textPart
	room  int // bytes left for lines of the body
	left  int // lines left for them
	full  bool
}

// textPart is one part of the body as far as it may be shown.
type textPart struct {
	unknown bool // the charset is not known
	bad     int  // malformed places in its transfer encoding
	lines   []textLine
	total   int // lines, shown or not
	blanks  int // how many blank ones end it
}

// newPage begins a page with what stands above the body.
func newPage(s *source) *page {
	p := &page{entry: s.entry}
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
	p.room = maxBytes - sizeOf(p.entry, p.head)
	p.left = maxLines - markers - len(p.head)
	return p
}

func (p *page) subject(value string) {
	one := showSubject(value)
	p.head = append(p.head, row{subjectRow, one.text})
	p.hidden = one.hidden
	if one.cut > 0 {
		p.head = append(p.head, row{remarkRow, remarkSubjectCut})
		p.cut = true
	}
}

// readBody reads the text parts, each to its end for the count.
func (p *page) readBody(body *io.SectionReader, leaves []leaf) error {
	for _, one := range leaves {
		set, known := charsetOf(one.media, one.encoding != identity)
		part := textPart{unknown: !known}
		section := io.NewSectionReader(body, one.start, one.end-one.start)
		octets := decodeTransfer(section, one.encoding)
		if err := p.readPart(&part, newCharReader(octets, set)); err != nil {
			return err
		}
		part.bad = octets.bad()
		p.parts = append(p.parts, part)
	}
	return nil
}

func (p *page) readPart(part *textPart, in *charReader) error {
	lines := lineReader{in: in}
	for lines.more() {
		var blank bool
		if p.full {
			blank = lines.skip()
		} else {
			one := lines.line(textWidth)
			blank = one.blank
			p.keep(part, one)
		}
		part.total++
		part.blanks++
		if !blank {
			part.blanks = 0
		}
	}
	return lines.failure()
}

// keep holds a line if there is room for it. None behind one that did not fit
// is held.
func (p *page) keep(part *textPart, one textLine) {
	rows := one.rows(nil)
	p.left -= len(rows)
	p.room -= len(textPrefix) + len(one.text)
	if p.left < 0 || p.room < 0 {
		p.full = true
		return
	}
	part.lines = append(part.lines, one)
}

// rows appends the line and, if it was cut, the remark under it.
func (t textLine) rows(to []row) []row {
	to = append(to, row{textRow, t.text})
	if t.cut > 0 {
		to = append(to, moreCharacters(t.cut))
	}
	return to
}

// total is the lines of the body, but for the blank ones at its end.
func (p *page) total() (lines, held int) {
	for i, part := range p.parts {
		lines += part.total
		held += len(part.lines)
		if i == len(p.parts)-1 {
			lines -= part.blanks
		}
	}
	return lines, min(lines, held)
}

// finish decides how many lines of the body are shown, as many whole ones as
// let the fence keep its limits, and gives what stands between the markers.
// withheld is the remark that stands for a body that is not shown.
func (p *page) finish(withheld string) ([]row, State, []int) {
	if withheld != "" {
		return append(p.head, row{remarkRow, withheld}), None, p.hidden
	}
	total, held := p.total()
	n := total
	if held < total || !p.fits(total, total) {
		n = sort.Search(min(held, total-1), func(n int) bool { return !p.fits(n+1, total) })
	}
	rows, hidden, cut := p.show(n, total)
	if cut || p.cut || n < total {
		return rows, Cut, hidden
	}
	return rows, Full, hidden
}

// fits reports whether a fence with n lines of the body keeps the limits.
func (p *page) fits(n, total int) bool {
	rows, _, _ := p.show(n, total)
	return len(rows)+markers <= maxLines && sizeOf(p.entry, rows) <= maxBytes
}

// show gives the rows of a fence with the first n of the body's total lines.
func (p *page) show(n, total int) (rows []row, hidden tally, cut bool) {
	rows = append(rows, p.head...)
	hidden.addAll(p.hidden)
	before := 0
	for i, part := range p.parts {
		// A part is begun only for a line of it, or of one behind it.
		if before >= n && n < total {
			break
		}
		if i > 0 {
			rows = append(rows, row{remarkRow, remarkNextPart})
		}
		if part.unknown {
			rows = append(rows, row{remarkRow, remarkCharset})
		}
		hidden.add(badEncoding, part.bad)
		for _, one := range part.lines[:min(len(part.lines), n-before)] {
			rows = one.rows(rows)
			hidden.addAll(one.hidden)
			cut = cut || one.cut > 0
		}
		before += part.total
	}
	if n < total {
		rows = append(rows, moreLines(total-n))
	}
	return rows, hidden, cut
}
