package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"strings"
)

// writer writes a file with every mutation behind its switch. Alternatives are
// made of the source as it is, for only one is ever on, so that what is written
// grows with the source and no faster.
type writer struct {
	*source
	file    *sourceFile
	fn      string
	results []string // the types of the function's results, as written
	named   bool     // they have names
	last    ast.Stmt // the function's last return, without which it would return zero values
	mutants *[]*mutant
}

// mutate returns the mutated text of a file and adds its mutations.
func mutate(s *source, f *sourceFile, mutants *[]*mutant) string {
	w := &writer{source: s, file: f, mutants: mutants}
	return w.inside(f.ast, func(n ast.Node) string {
		switch n := n.(type) {
		case *ast.FuncDecl:
			return w.function(n)
		case *ast.GenDecl:
			w.fn = "var"
			return w.declaration(n)
		}
		return w.file.source(n)
	})
}

// inside copies a node but for its children, which each writes.
func (w *writer) inside(n ast.Node, each func(child ast.Node) string) string {
	var b strings.Builder
	at := n.Pos()
	depth := 0
	ast.Inspect(n, func(child ast.Node) bool {
		if child == nil {
			depth--
			return false
		}
		if depth == 0 {
			depth++
			return true
		}
		if _, comment := child.(*ast.CommentGroup); !comment {
			b.WriteString(w.file.span(at, child.Pos()))
			b.WriteString(each(child))
			at = child.End()
		}
		return false
	})
	b.WriteString(w.file.span(at, n.End()))
	return b.String()
}

func (w *writer) function(f *ast.FuncDecl) string {
	w.fn = f.Name.Name
	if f.Recv != nil {
		w.fn = strings.TrimPrefix(w.file.source(f.Recv.List[0].Type), "*") + "." + w.fn
	}
	return w.file.span(f.Pos(), f.Body.Pos()) + w.body(f.Type, f.Body)
}

// body writes a function's body. Early returns are left out by some mutations,
// so that it needs a return at the end.
func (w *writer) body(t *ast.FuncType, b *ast.BlockStmt) string {
	results, named := w.results, w.named
	defer func() { w.results, w.named = results, named }()
	w.results, w.named = nil, false
	if n := len(b.List); n > 0 {
		if r, ok := b.List[n-1].(*ast.ReturnStmt); ok {
			w.last = r
		}
	}
	if t.Results == nil {
		return w.list(b.Lbrace+1, b.List, b.Rbrace, "{", "}")
	}
	var zero []string
	for _, field := range t.Results.List {
		for range max(1, len(field.Names)) {
			w.results = append(w.results, w.file.source(field.Type))
			zero = append(zero, "*new("+w.file.source(field.Type)+")")
		}
		w.named = len(field.Names) > 0
	}
	end := "\nreturn " + strings.Join(zero, ", ") + "\n}"
	if w.named {
		end = "\nreturn\n}"
	}
	return w.list(b.Lbrace+1, b.List, b.Rbrace, "{", end)
}

// list writes the statements between two places.
func (w *writer) list(from token.Pos, list []ast.Stmt, to token.Pos, before, after string) string {
	var b strings.Builder
	b.WriteString(before)
	for _, s := range list {
		b.WriteString(w.file.span(from, s.Pos()))
		b.WriteString(w.statement(s, s != w.last))
		from = s.End()
	}
	b.WriteString(w.file.span(from, to))
	b.WriteString(after)
	return b.String()
}

// statement writes one statement. One that stands in a list can be left out.
func (w *writer) statement(s ast.Stmt, listed bool) string {
	switch s := s.(type) {
	case *ast.BlockStmt:
		return w.list(s.Lbrace+1, s.List, s.Rbrace, "{", "}")
	case *ast.CaseClause:
		return w.clause(s)
	case *ast.ReturnStmt:
		return w.optional(s, w.returned(s), listed)
	case *ast.ExprStmt:
		return w.optional(s, w.expression(s.X, inPlace), listed)
	case *ast.BranchStmt:
		return w.optional(s, w.file.source(s), listed && s.Tok != token.FALLTHROUGH)
	case *ast.IncDecStmt:
		other := map[token.Token]string{token.INC: "--", token.DEC: "++"}[s.Tok]
		text := w.expression(s.X, inPlace) + s.Tok.String()
		return w.optional(s, text, listed, w.file.source(s.X)+other)
	case *ast.AssignStmt:
		return w.assignment(s, listed)
	}
	return w.inside(s, w.part)
}

// part writes a part of a statement that is not in a list.
func (w *writer) part(n ast.Node) string {
	switch n := n.(type) {
	case *ast.BlockStmt:
		return w.statement(n, true)
	case ast.Stmt:
		return w.statement(n, false)
	case *ast.GenDecl:
		return w.declaration(n)
	case ast.Expr:
		return w.expression(n, asValue)
	}
	return w.file.source(n)
}

// clause writes one case of a switch.
func (w *writer) clause(c *ast.CaseClause) string {
	var b strings.Builder
	at := c.Pos()
	for _, e := range c.List {
		b.WriteString(w.file.span(at, e.Pos()))
		b.WriteString(w.expression(e, asValue))
		at = e.End()
	}
	b.WriteString(w.file.span(at, c.Colon+1))
	return w.list(c.Colon+1, c.Body, c.End(), b.String(), "")
}

// optional writes a statement that some mutations leave out or put another in
// place of.
func (w *writer) optional(s ast.Stmt, text string, listed bool, others ...string) string {
	if !listed {
		return text
	}
	first := w.add(s, append([]string{""}, others...)...)
	switched := fmt.Sprintf("if mutantAny(%d, %d) {", first, first+len(others))
	for i, o := range others {
		switched += fmt.Sprintf(" if mutantOn(%d) { %s };", first+1+i, o)
	}
	return switched + " } else {\n" + text + "\n}"
}

// otherAssignment is what an assignment with an operation is changed to.
var otherAssignment = map[token.Token]string{
	token.ADD_ASSIGN: "-=", token.SUB_ASSIGN: "+=", token.MUL_ASSIGN: "/=", token.QUO_ASSIGN: "*=",
	token.OR_ASSIGN: "&=", token.AND_ASSIGN: "|=", token.SHL_ASSIGN: ">>=", token.SHR_ASSIGN: "<<=",
}

func (w *writer) assignment(s *ast.AssignStmt, listed bool) string {
	text := w.inside(s, func(n ast.Node) string {
		context := asValue
		if n.Pos() < s.TokPos {
			context = inPlace
		}
		return w.expression(n.(ast.Expr), context)
	})
	if s.Tok == token.DEFINE {
		return text
	}
	var others []string
	if op, ok := otherAssignment[s.Tok]; ok && isNumber(w.info.TypeOf(s.Lhs[0])) {
		others = []string{w.file.source(s.Lhs[0]) + " " + op + " " + w.file.source(s.Rhs[0])}
	}
	return w.optional(s, text, listed, others...)
}

// returned writes a return with its results.
func (w *writer) returned(s *ast.ReturnStmt) string {
	i := -1
	return w.inside(s, func(n ast.Node) string {
		i++
		e := n.(ast.Expr)
		text := w.expression(e, asValue)
		if len(s.Results) != len(w.results) || !w.worthZeroing(e) {
			return text
		}
		id := w.add(e, "*new("+w.results[i]+")")
		return fmt.Sprintf("mutantZero[%s](%d, %s)", w.results[i], id, text)
	})
}

// worthZeroing reports whether the zero value is another than e, and no
// mutation of e gives it.
func (w *writer) worthZeroing(e ast.Expr) bool {
	if c, literal := e.(*ast.CompositeLit); literal && len(c.Elts) == 0 {
		return false
	}
	tv := w.info.Types[e]
	return tv.Value == nil && !tv.IsNil() && !isBool(tv.Type)
}

// declaration writes variables and their values. Constants stay as they are:
// where they are used they are changed.
func (w *writer) declaration(d *ast.GenDecl) string {
	if d.Tok != token.VAR {
		return w.file.source(d)
	}
	return w.inside(d, func(n ast.Node) string {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return w.file.source(n)
		}
		return w.inside(spec, func(n ast.Node) string {
			for _, v := range spec.Values {
				if v == n {
					return w.expression(v, asValue)
				}
			}
			return w.file.source(n)
		})
	})
}

// add notes the mutations that put each of the texts in the place of n, and
// returns the id of the first.
func (w *writer) add(n ast.Node, texts ...string) int {
	first := len(*w.mutants) + 1
	for i, text := range texts {
		m := &mutant{id: first + i, site: first, fn: w.fn}
		m.describe(w.file, n, text)
		*w.mutants = append(*w.mutants, m)
	}
	return first
}

// typeText is a type as the package writes it.
func (w *writer) typeText(t types.Type) string {
	return types.TypeString(types.Default(t), func(p *types.Package) string {
		if p == w.types {
			return ""
		}
		return p.Name()
	})
}
