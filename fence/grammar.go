package fence

import (
	"strings"
	"unicode/utf8"
)

// grammar holds the order in which lines stand between the markers:
//
//	[recipient not signed]
//	[Subject [subject cut] | subject not shown]
//	( body not shown | [part *( next text part part )] [K more lines] )
//	part = [charset not known] *( text [K more characters] )
type grammar struct {
	fence *Fence
	state state
}

// state is what was read last.
type state uint8

const (
	afterOpening state = iota
	afterRecipient
	afterSubject
	afterHead    // a remark about the Subject
	afterPart    // next text part
	afterCharset // charset not known
	afterText
	afterCut     // K more characters
	afterMore    // K more lines
	afterNotBody // body not shown
)

// remark takes a remark and reports whether it belongs here.
func (g *grammar) remark(words string) bool {
	next, allowed := afterOpening, false
	switch words {
	case remarkToUnsigned:
		next, allowed = afterRecipient, g.state == afterOpening
	case remarkSubjectUnsigned:
		next, allowed = afterHead, g.state <= afterRecipient
	case remarkSubjectCut:
		next, allowed = afterHead, g.state == afterSubject
	case remarkNoText, remarkUnsigned, remarkNotDecodable, remarkEncrypted, remarkOverLimits:
		next, allowed = afterNotBody, g.state <= afterHead
	case remarkCharset:
		next, allowed = afterCharset, g.state <= afterPart
	case remarkNextPart:
		next, allowed = afterPart, g.state < afterMore
	default:
		return g.countingRemark(words)
	}
	switch next {
	case afterCharset:
		g.part()
	case afterPart:
		// The first part stands above, even if nothing of it does.
		g.part()
		g.fence.Parts = append(g.fence.Parts, Part{})
	}
	g.state = next
	return allowed
}

func (g *grammar) countingRemark(words string) bool {
	next, allowed := afterMore, g.state < afterMore
	switch {
	case counting(words, linesNotShown):
	case counting(words, charsNotShown):
		next, allowed = afterCut, g.state == afterText
	default:
		return false
	}
	g.state = next
	return allowed
}

// part makes sure that there is a part.
func (g *grammar) part() {
	if len(g.fence.Parts) == 0 {
		g.fence.Parts = append(g.fence.Parts, Part{})
	}
}

// text takes a line of text; the first may be the Subject.
func (g *grammar) text(text string, first bool) bool {
	if g.state >= afterMore {
		return false
	}
	if subject, found := strings.CutPrefix(text, subjectLabel); found && first {
		return g.subject(subject)
	}
	g.part()
	part := &g.fence.Parts[len(g.fence.Parts)-1]
	part.Lines = append(part.Lines, text)
	g.fence.rows = append(g.fence.rows, row{textRow, text})
	g.state = afterText
	return true
}

// subject takes what stands behind the Subject's label: nothing, or a blank
// and the Subject. What begins otherwise is text.
func (g *grammar) subject(rest string) bool {
	shown, found := strings.CutPrefix(rest, " ")
	if rest != "" && (!found || shown == "" || isBlank(char(shown[0])) || utf8.RuneCountInString(shown) > subjectWidth) {
		return g.text(subjectLabel+rest, false)
	}
	g.fence.Subject, g.fence.HasSubject = shown, true
	g.fence.rows = append(g.fence.rows, row{subjectRow, shown})
	g.state = afterSubject
	return true
}

// end reports whether the fence may end here: the text of one that was not
// cut does not end in a blank line.
func (g *grammar) end() error {
	if g.state == afterMore || len(g.fence.Parts) == 0 {
		return nil
	}
	lines := g.fence.Parts[len(g.fence.Parts)-1].Lines
	if len(lines) > 0 && g.state != afterCut && strings.Trim(lines[len(lines)-1], " \t") == "" {
		return errOrder
	}
	return nil
}
