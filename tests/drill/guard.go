package main

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"
)

// guard is an if that refuses.
type guard struct {
	source *source
	fn     string // TYPE.METHOD or FUNCTION
	cond   ast.Expr
	code   string // what it refuses with, "" where its function only says no
}

// name is how a table names the function of a guard.
func (g guard) name() string { return g.source.path + " " + g.fn }

// guards finds the guards of a file: each if without an else whose body ends in
// a return of one refusal. codes are the names that stand for one.
func guards(s *source, codes map[string]string) []guard {
	var all []guard
	for _, d := range s.ast.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Body == nil {
			continue
		}
		name := f.Name.Name
		if f.Recv != nil {
			name = strings.TrimPrefix(s.span(f.Recv.List[0].Type), "*") + "." + name
		}
		ast.Inspect(f.Body, func(n ast.Node) bool {
			i, ok := n.(*ast.IfStmt)
			if !ok || i.Else != nil || len(i.Body.List) == 0 {
				return true
			}
			r, ok := i.Body.List[len(i.Body.List)-1].(*ast.ReturnStmt)
			if !ok {
				return true
			}
			code, refuses := refusal(r, codes)
			if !refuses {
				return true
			}
			for _, c := range alternatives(i.Cond) {
				all = append(all, guard{s, name, c, code})
			}
			return true
		})
	}
	return all
}

// refusal is what a return refuses with: the one name among its results that
// stands for a refusal, or false, which says no and leaves it to the caller
// what to.
func refusal(r *ast.ReturnStmt, codes map[string]string) (code string, refuses bool) {
	var found []string
	for _, result := range r.Results {
		ast.Inspect(result, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				if c := codes[id.Name]; c != "" && !slices.Contains(found, c) {
					found = append(found, c)
				}
			}
			return true
		})
	}
	if len(found) == 1 {
		return found[0], true
	}
	if len(found) > 1 || len(r.Results) == 0 {
		return "", false
	}
	is := func(name string) func(ast.Expr) bool {
		return func(e ast.Expr) bool {
			id, ok := e.(*ast.Ident)
			return ok && id.Name == name
		}
	}
	// With an error it says nothing.
	return "", slices.ContainsFunc(r.Results, is("false")) && !slices.ContainsFunc(r.Results, is("err"))
}

// alternatives are the operands of ||, each of which is a condition of its own.
func alternatives(e ast.Expr) []ast.Expr {
	switch x := e.(type) {
	case *ast.ParenExpr:
		return alternatives(x.X)
	case *ast.BinaryExpr:
		if x.Op == token.LOR {
			return append(alternatives(x.X), alternatives(x.Y)...)
		}
	}
	return []ast.Expr{e}
}
