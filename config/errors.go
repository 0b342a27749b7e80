package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// position is a place in a file. Line 0 is the file as a whole, column 0 the
// whole line.
type position struct {
	file         string
	line, column int
}

func (p position) String() string {
	switch {
	case p.line == 0:
		return p.file
	case p.column == 0:
		return fmt.Sprintf("%s:%d", p.file, p.line)
	}
	return fmt.Sprintf("%s:%d:%d", p.file, p.line, p.column)
}

// Error is one thing wrong in the config or in a list that it names.
type Error struct {
	File   string
	Line   int    // from 1; 0: the file as a whole
	Column int    // in octets, from 1; 0: not known
	Text   string // what is wrong and what to write instead
}

func (e *Error) Error() string { return "config: " + e.Where() + ": " + e.Text }

// Where is file:line:column, as far as they are known.
func (e *Error) Where() string { return position{e.File, e.Line, e.Column}.String() }

// Warning is something allowed that is probably not meant.
type Warning struct {
	File string
	Line int // from 1; 0: the file as a whole
	Text string
}

func (w Warning) String() string { return position{w.File, w.Line, 0}.String() + ": " + w.Text }

// problems gathers what is wrong, so that one run tells everything.
type problems struct{ all []*Error }

func (p *problems) add(at position, format string, args ...any) {
	p.all = append(p.all, &Error{at.file, at.line, at.column, fmt.Sprintf(format, args...)})
}

func (p *problems) err() error {
	slices.SortStableFunc(p.all, func(a, b *Error) int {
		if c := strings.Compare(a.File, b.File); c != 0 {
			return c
		}
		return a.Line - b.Line
	})
	errs := make([]error, len(p.all))
	for i, e := range p.all {
		errs[i] = e
	}
	return errors.Join(errs...)
}
