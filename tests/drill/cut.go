package main

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"strings"
)

// cut is one change that a test must notice.
type cut struct {
	id   int // what makes it, from 1
	code string
	file string // from the root
	line int
	what string // the source that is cut

	vectors []string // the messages of the corpus that are filed under its reason, as names of tests
	strict  bool     // one of them must miss it, not any test
	test    string   // for a row of the table: "PACKAGE TestNAME"
}

func (c *cut) place() string { return fmt.Sprintf("%s:%d", c.file, c.line) }

// row is a cut that the syntax tree alone does not show: a piece of source that
// stands exactly once in its file, what it becomes, and the test that must fail.
type row struct {
	code  string
	name  string // of what is cut, where the piece says too much
	file  string
	piece string // stands exactly once in the file; see parts
	with  string
	test  string // "PACKAGE TestNAME", the package from the root; "": a message of the reason that is the code, or any that reaches it
}

// parts are the piece and what stands around it: of a piece with a part in « »
// only that is cut.
func (r row) parts() (before, piece, after string) {
	before, rest, marked := strings.Cut(r.piece, "«")
	if !marked {
		return "", r.piece, ""
	}
	piece, after, _ = strings.Cut(rest, "»")
	return before, piece, after
}

// cutGuard makes a guard's condition false. It is still computed, for its
// effects and so that only what it refuses reaches the switch.
func cutGuard(g guard, id int) *cut {
	from, to := g.source.offset(g.cond.Pos()), g.source.offset(g.cond.End())
	g.source.enclose(from, to, id, "((", fmt.Sprintf(") && !drillCut(%d))", id))
	return &cut{id: id, file: g.source.path, line: g.source.line(g.cond.Pos()), what: g.source.span(g.cond)}
}

// cutRow puts the other text in the place of the piece: of an expression, or of
// statements of one block.
func cutRow(s *source, r row, id int) (*cut, error) {
	before, piece, after := r.parts()
	whole := []byte(before + piece + after)
	if n := bytes.Count(s.text, whole); n != 1 {
		return nil, fmt.Errorf("drill: %s: cut %s: the piece stands there %d times, not once: %s", r.file, r.code, n, r.piece)
	}
	from := bytes.Index(s.text, whole) + len(before)
	to := from + len(piece)
	c := &cut{id: id, code: r.code, file: r.file, line: 1 + bytes.Count(s.text[:from], []byte("\n")), what: cmp.Or(r.name, piece), test: r.test}
	switch kind := s.kindOf(from, to); {
	case kind == expression && r.with == "false":
		s.enclose(from, to, id, fmt.Sprintf("(!drillCut(%d) && (", id), "))")
	case kind == expression && r.with == "true":
		s.enclose(from, to, id, fmt.Sprintf("(drillCut(%d) || (", id), "))")
	case kind == expression:
		s.enclose(from, to, id, fmt.Sprintf("drillPick(%d, %s, ", id, r.with), ")")
	case kind == definition:
		s.enclose(from, to, id, "", fmt.Sprintf("; if drillCut(%d) { %s }", id, r.with))
	case kind == statements:
		s.enclose(from, to, id, fmt.Sprintf("if drillCut(%d) { %s } else { ", id, r.with), " }")
	default:
		return nil, fmt.Errorf("drill: %s: cut %s: the piece is no expression and no statements", r.file, r.code)
	}
	return c, nil
}

// kind is what a piece of source is.
type kind int

const (
	neither kind = iota
	expression
	statements
	definition // a statement whose names are used behind it; the cut follows it
)

// kindOf finds what stands exactly between two offsets.
func (s *source) kindOf(from, to int) (found kind) {
	ast.Inspect(s.ast, func(n ast.Node) bool {
		switch n := n.(type) {
		case nil:
			return false
		case *ast.BlockStmt:
			found = max(found, s.statementsBetween(n.List, from, to))
		case *ast.CaseClause:
			found = max(found, s.statementsBetween(n.Body, from, to))
		case ast.Expr:
			if s.offset(n.Pos()) == from && s.offset(n.End()) == to {
				found = max(found, expression)
			}
		}
		return true
	})
	return found
}

func (s *source) statementsBetween(list []ast.Stmt, from, to int) kind {
	begins := false
	for _, one := range list {
		if _, clause := one.(*ast.CaseClause); clause {
			return neither
		}
		begins = begins || s.offset(one.Pos()) == from
		if !begins || s.offset(one.End()) != to {
			continue
		}
		if a, ok := one.(*ast.AssignStmt); ok && a.Tok.String() == ":=" {
			return definition
		}
		return statements
	}
	return neither
}

// collapse is source on one line.
func collapse(s string) string { return strings.Join(strings.Fields(s), " ") }
