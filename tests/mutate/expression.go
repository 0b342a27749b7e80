package main

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"strconv"
)

// place is where an expression stands.
type place int

const (
	asValue place = iota
	inPlace       // what is assigned to, called, selected from or has its address taken: no value to change
	inAnd         // an operand of &&, whose being false is the whole's
	inOr          // an operand of ||, whose being true is the whole's
	inNot         // an operand of !, whose mutations are the whole's
)

// expression writes an expression with its mutations.
func (w *writer) expression(e ast.Expr, in place) string {
	tv := w.info.Types[e]
	if tv.IsType() || tv.IsBuiltin() {
		return w.file.source(e)
	}
	if tv.Value != nil {
		return w.constant(e, tv, in)
	}
	text := w.operands(e, in)
	if in == inPlace {
		return text
	}
	if _, paren := e.(*ast.ParenExpr); paren {
		return text
	}
	if isBool(tv.Type) {
		return w.condition(e, in, text)
	}
	if b, ok := e.(*ast.BinaryExpr); ok {
		return w.arithmetic(b, tv.Type, text)
	}
	return text
}

// operands writes an expression with mutations of its parts only.
func (w *writer) operands(e ast.Expr, in place) string {
	each := func(in place) func(ast.Node) string {
		return func(n ast.Node) string {
			if e, ok := n.(ast.Expr); ok {
				return w.expression(e, in)
			}
			return w.file.source(n)
		}
	}
	switch e := e.(type) {
	case *ast.ParenExpr:
		return w.inside(e, each(in))
	case *ast.BinaryExpr:
		switch e.Op {
		case token.LAND:
			return w.inside(e, each(inAnd))
		case token.LOR:
			return w.inside(e, each(inOr))
		}
		return w.inside(e, each(asValue))
	case *ast.UnaryExpr:
		return w.unary(e, each)
	case *ast.CallExpr:
		return w.call(e)
	case *ast.SelectorExpr:
		return w.expression(e.X, inPlace) + w.file.span(e.X.End(), e.End())
	case *ast.StarExpr:
		return w.inside(e, each(inPlace))
	case *ast.IndexExpr:
		return w.inside(e, func(n ast.Node) string {
			if n == e.X {
				return w.expression(e.X, inPlace)
			}
			return w.expression(e.Index, asValue)
		})
	case *ast.SliceExpr:
		return w.inside(e, func(n ast.Node) string {
			if n == e.X {
				return w.expression(e.X, inPlace)
			}
			return w.bound(n.(ast.Expr))
		})
	case *ast.CompositeLit:
		return w.composite(e)
	case *ast.FuncLit:
		return w.file.span(e.Pos(), e.Body.Pos()) + w.body(e.Type, e.Body)
	case *ast.TypeAssertExpr:
		return w.expression(e.X, asValue) + w.file.span(e.X.End(), e.End())
	}
	return w.file.source(e)
}

func (w *writer) unary(e *ast.UnaryExpr, each func(place) func(ast.Node) string) string {
	switch e.Op {
	case token.NOT:
		return w.inside(e, each(inNot))
	case token.AND:
		return w.inside(e, each(inPlace))
	}
	return w.inside(e, each(asValue))
}

// call writes a call. The text of an error is no outcome, and a capacity is
// none.
func (w *writer) call(c *ast.CallExpr) string {
	fun := w.file.source(c.Fun)
	if fun == "errors.New" || fun == "fmt.Errorf" {
		return w.file.source(c)
	}
	return w.inside(c, func(n ast.Node) string {
		if n == c.Fun {
			return w.expression(c.Fun, inPlace)
		}
		if fun == "make" && w.isCapacity(c, n) {
			return w.file.source(n)
		}
		return w.expression(n.(ast.Expr), asValue)
	})
}

func (w *writer) isCapacity(c *ast.CallExpr, argument ast.Node) bool {
	if _, ok := w.info.TypeOf(c).Underlying().(*types.Map); ok {
		return argument != c.Args[0]
	}
	return len(c.Args) == 3 && argument == c.Args[2]
}

func (w *writer) composite(c *ast.CompositeLit) string {
	_, isMap := w.info.TypeOf(c).Underlying().(*types.Map)
	return w.inside(c, func(n ast.Node) string {
		if n == c.Type {
			return w.file.source(n)
		}
		pair, ok := n.(*ast.KeyValueExpr)
		if !ok {
			return w.expression(n.(ast.Expr), asValue)
		}
		key := w.file.source(pair.Key)
		if isMap {
			key = w.expression(pair.Key, asValue)
		}
		return key + w.file.span(pair.Key.End(), pair.Value.Pos()) + w.expression(pair.Value, asValue)
	})
}

// bound writes a bound of a slice.
func (w *writer) bound(e ast.Expr) string {
	text := w.expression(e, asValue)
	tv := w.info.Types[e]
	if tv.Value != nil {
		return text
	}
	source := w.file.source(e)
	return w.stepped(e, tv.Type, text, source+"+1", source+"-1")
}

// stepped writes a number that is one more or one less.
func (w *writer) stepped(e ast.Expr, t types.Type, text, more, less string) string {
	step := "1"
	// Clocks are read in seconds.
	if w.typeText(t) == "time.Duration" {
		step = "time.Second"
		more, less = text+"+time.Second", text+"-time.Second"
	}
	id := w.add(e, more, less)
	return fmt.Sprintf("mutantStep[%s](%d, %s, %s)", w.typeText(t), id, text, step)
}

// constant writes a constant: a number one up and one down, a text emptied and
// cut, a truth turned over.
func (w *writer) constant(e ast.Expr, tv types.TypeAndValue, in place) string {
	text := w.file.source(e)
	basic, ok := tv.Type.Underlying().(*types.Basic)
	if in == inPlace || !ok {
		return text
	}
	switch {
	case basic.Info()&types.IsBoolean != 0:
		id := w.add(e, "!"+text)
		return fmt.Sprintf("(mutantOn(%d) != %s)", id, text)
	case basic.Info()&types.IsInteger != 0:
		return w.stepped(e, tv.Type, text, one(tv.Value, text, token.ADD), one(tv.Value, text, token.SUB))
	case basic.Info()&types.IsString != 0:
		return w.text(e, tv, text)
	}
	return text
}

// one spells a constant one up or down.
func one(v constant.Value, text string, op token.Token) string {
	if _, err := strconv.ParseInt(text, 0, 64); err == nil {
		return constant.BinaryOp(v, op, constant.MakeInt64(1)).ExactString()
	}
	return text + op.String() + "1"
}

func (w *writer) text(e ast.Expr, tv types.TypeAndValue, text string) string {
	value := constant.StringVal(tv.Value)
	if value == "" {
		return text
	}
	others := []string{`""`}
	_, named := tv.Type.(*types.Named)
	// Of a code that is compared whole, one other value is enough.
	if len(value) > 1 && !named {
		others = append(others, strconv.Quote(value[:len(value)-1]), strconv.Quote(value[1:]))
	}
	id := w.add(e, others...)
	for len(others) < 3 {
		others = append(others, text)
	}
	return fmt.Sprintf("mutantText[%s](%d, %s, %s, %s, %s)", w.typeText(tv.Type), id, text, others[0], others[1], others[2])
}

// otherBoundary is a comparison's other side of the border.
var otherBoundary = map[token.Token][]string{
	token.LSS: {"<="}, token.LEQ: {"<"}, token.GTR: {">="}, token.GEQ: {">"},
	token.EQL: {"<=", ">="}, token.NEQ: {"<", ">"},
}

// condition writes what is true or false.
func (w *writer) condition(e ast.Expr, in place, text string) string {
	var others []string
	b, binary := e.(*ast.BinaryExpr)
	sameAround := binary && (in == inAnd && b.Op == token.LAND || in == inOr && b.Op == token.LOR)
	switch {
	case sameAround:
	case in == asValue:
		others = append(others, "true", "false")
	case in == inAnd:
		others = append(others, "true")
	case in == inOr:
		others = append(others, "false")
	}
	if binary {
		others = append(others, w.otherOperators(b)...)
	}
	if len(others) == 0 {
		return text
	}
	id := w.add(e, others...)
	written := fmt.Sprintf("(!mutantAny(%d, %d) && (%s)", id, id+len(others)-1, text)
	for i, o := range others {
		written += fmt.Sprintf(" || mutantOn(%d) && (%s)", id+i, o)
	}
	return written + ")"
}

func (w *writer) otherOperators(b *ast.BinaryExpr) (others []string) {
	x, y := w.file.source(b.X), w.file.source(b.Y)
	switch b.Op {
	case token.LAND:
		return []string{x + " || " + y}
	case token.LOR:
		// && binds tighter than what is around.
		return []string{"(" + x + ") && (" + y + ")"}
	}
	// One up or down from a constant is the same.
	if w.info.Types[b.X].Value != nil || w.info.Types[b.Y].Value != nil || !isNumber(w.info.TypeOf(b.X)) {
		return nil
	}
	for _, op := range otherBoundary[b.Op] {
		others = append(others, x+" "+op+" "+y)
	}
	return others
}

// otherArithmetic is what an operation is changed to.
var otherArithmetic = map[token.Token]string{
	token.ADD: "-", token.SUB: "+", token.MUL: "/", token.QUO: "*", token.REM: "*",
	token.AND: "|", token.OR: "&", token.XOR: "|", token.AND_NOT: "&", token.SHL: ">>", token.SHR: "<<",
}

// arithmetic writes an operation on numbers, or texts put together, of which a
// part that is not constant is left out.
func (w *writer) arithmetic(b *ast.BinaryExpr, t types.Type, text string) string {
	x, y := w.file.source(b.X), w.file.source(b.Y)
	var others []string
	switch {
	case isNumber(t):
		others = append(others, x+" "+otherArithmetic[b.Op]+" "+y)
	case b.Op == token.ADD:
		if w.info.Types[b.X].Value == nil {
			others = append(others, y)
		}
		if w.info.Types[b.Y].Value == nil {
			others = append(others, x)
		}
	}
	if len(others) == 0 {
		return text
	}
	id := w.add(b, others...)
	written := fmt.Sprintf("func() %s { if mutantAny(%d, %d) {", w.typeText(t), id, id+len(others)-1)
	for i, o := range others {
		written += fmt.Sprintf(" if mutantOn(%d) { return %s };", id+i, o)
	}
	return written + " }; return " + text + " }()"
}

func isBool(t types.Type) bool   { return isBasic(t, types.IsBoolean) }
func isNumber(t types.Type) bool { return isBasic(t, types.IsNumeric) }

func isBasic(t types.Type, info types.BasicInfo) bool {
	if t == nil {
		return false
	}
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&info != 0
}
