package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"strings"
)

// mutant is one mutation.
type mutant struct {
	id     int // what turns it on, from 1
	site   int // the id by which reaching its place is noted
	file   string
	fn     string // TYPE.METHOD, FUNCTION, or "var" outside of them
	line   int    // for a reader; not part of what names it
	before string // the lines as they are, white space collapsed
	after  string // the lines with the mutation
}

// key names a mutation in the list.
func (m *mutant) key() string {
	return strings.Join([]string{m.file, m.fn, m.before, m.after}, "\t")
}

// longestLines is how much of lines is kept, in octets.
const longestLines = 200

// describe sets what names the mutation that puts text in the place of n.
func (m *mutant) describe(f *sourceFile, n ast.Node, text string) {
	from, to := f.offset(n.Pos()), f.offset(n.End())
	start := bytes.LastIndexByte(f.plain[:from], '\n') + 1
	end := len(f.plain)
	if i := bytes.IndexByte(f.plain[to:], '\n'); i >= 0 {
		end = to + i
	}
	if text == "" {
		text = "{}"
	}
	m.file, m.line = f.path, f.fset.Position(n.Pos()).Line
	m.before = collapse(string(f.plain[start:end]))
	m.after = collapse(string(f.plain[start:from]) + text + string(f.plain[to:end]))
}

func collapse(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > longestLines {
		return strings.ToValidUTF8(s[:longestLines], "") + "…"
	}
	return s
}

// number tells mutations apart that would be named alike.
func number(all []*mutant) {
	times := map[string]int{}
	for _, m := range all {
		key := m.key()
		times[key]++
		if n := times[key]; n > 1 {
			m.after = fmt.Sprintf("%s #%d", m.after, n)
		}
	}
}
