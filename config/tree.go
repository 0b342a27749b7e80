package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// kind is what a value of the file is.
type kind string

const (
	kindText   kind = "a text"
	kindNumber kind = "a whole number"
	kindFlag   kind = "true or false"
	kindDate   kind = "a date"
	kindList   kind = "a list"
	kindTable  kind = "a table"
	kindOther  kind = "a value of another type"
)

// node is a value of the file with its place.
type node struct {
	at   position
	kind kind

	text   string // kindText
	number int64  // kindNumber
	flag   bool   // kindFlag
	date   toml.LocalDate
	list   []node          // kindList
	table  map[string]node // kindTable
	order  []string        // the keys of table, as in the file
}

// parse reads a TOML document. go-toml's decoder says whether it is one, keys
// given twice included, and holds the values; its parser says where each
// stands.
func parse(file string, doc []byte) (node, *Error) {
	var values map[string]any
	if err := toml.Unmarshal(doc, &values); err != nil {
		var de *toml.DecodeError
		if errors.As(err, &de) {
			line, column := de.Position()
			return node{}, &Error{file, line, column, "this is not TOML: " + strings.TrimPrefix(de.Error(), "toml: ")}
		}
		return node{}, &Error{file, 0, 0, "this is not TOML"}
	}
	p := places{file: file, of: map[string]position{}, order: map[string][]string{}, elements: map[string]int{}}
	if err := p.walk(doc); err != nil {
		return node{}, &Error{file, 0, 0, "this is not TOML"}
	}
	return p.node("", position{file: file}, values), nil
}

// places are the positions of keys and list elements by path.
type places struct {
	file     string
	parser   unstable.Parser
	lines    []int // where each line starts
	of       map[string]position
	order    map[string][]string // path of a table → its keys
	elements map[string]int      // path of an array of tables → how many so far
}

func child(path, key string) string     { return path + "\x00" + key }
func element(path string, i int) string { return fmt.Sprintf("%s\x01%d", path, i) }

// deepest is beyond every key of ours, mailbox.senders.0 being three deep.
const deepest = 8

func depth(path string) int { return strings.Count(path, "\x00") + strings.Count(path, "\x01") }

func (p *places) walk(doc []byte) error {
	p.lines = []int{0}
	for i, c := range doc {
		if c == '\n' {
			p.lines = append(p.lines, i+1)
		}
	}
	p.parser.Reset(doc)
	table := ""
	for p.parser.NextExpression() {
		switch e := p.parser.Expression(); e.Kind {
		case unstable.Table:
			table = p.keys("", e)
		case unstable.ArrayTable:
			table = p.arrayTable(e)
		case unstable.KeyValue:
			p.keyValue(table, e)
		}
	}
	return p.parser.Error()
}

// keys notes each part of a dotted key and answers the path of the whole. A
// part that names an array of tables means its last element.
func (p *places) keys(path string, e *unstable.Node) string {
	for k := e.Key(); k.Next(); {
		path = p.note(path, string(k.Node().Data), k.Node())
		if n := p.elements[path]; n > 0 {
			path = element(path, n-1)
		}
	}
	return path
}

func (p *places) note(path, key string, at *unstable.Node) string {
	whole := child(path, key)
	if _, seen := p.of[whole]; !seen {
		p.order[path] = append(p.order[path], key)
		p.of[whole] = p.position(at)
	}
	return whole
}

func (p *places) arrayTable(e *unstable.Node) string {
	path := ""
	for k := e.Key(); k.Next(); {
		at := p.position(k.Node())
		path = p.note(path, string(k.Node().Data), k.Node())
		if !k.IsLast() {
			if n := p.elements[path]; n > 0 {
				path = element(path, n-1)
			}
			continue
		}
		n := p.elements[path]
		p.elements[path] = n + 1
		path = element(path, n)
		p.of[path] = at
	}
	return path
}

func (p *places) keyValue(table string, e *unstable.Node) {
	p.value(p.keys(table, e), e.Value())
}

// value notes what stands inside a list or an inline table. What is nested
// deeper than any key of ours has its parent's place.
func (p *places) value(path string, v *unstable.Node) {
	if depth(path) > deepest {
		return
	}
	switch v.Kind {
	case unstable.Array:
		i := 0
		for c := v.Children(); c.Next(); i++ {
			at := element(path, i)
			if c.Node().Raw.Length > 0 {
				p.of[at] = p.position(c.Node())
			}
			p.value(at, c.Node())
		}
	case unstable.InlineTable:
		for c := v.Children(); c.Next(); {
			p.keyValue(path, c.Node())
		}
	}
}

func (p *places) position(n *unstable.Node) position {
	offset := int(n.Raw.Offset)
	line, exact := slices.BinarySearch(p.lines, offset)
	if exact {
		line++
	}
	return position{p.file, line, offset - p.lines[line-1] + 1}
}

// node joins a decoded value with its place; what has none stands where its
// parent does.
func (p *places) node(path string, at position, v any) node {
	if depth(path) > deepest {
		return node{at: at, kind: kindOther}
	}
	if own, ok := p.of[path]; ok {
		at = own
	}
	n := node{at: at, kind: kindOther}
	switch v := v.(type) {
	case string:
		n.kind, n.text = kindText, v
	case int64:
		n.kind, n.number = kindNumber, v
	case bool:
		n.kind, n.flag = kindFlag, v
	case toml.LocalDate:
		n.kind, n.date = kindDate, v
	case []any:
		n.kind = kindList
		for i, e := range v {
			n.list = append(n.list, p.node(element(path, i), at, e))
		}
	case map[string]any:
		n.kind, n.table, n.order = kindTable, make(map[string]node, len(v)), p.order[path]
		for k, e := range v {
			n.table[k] = p.node(child(path, k), at, e)
		}
	}
	return n
}
