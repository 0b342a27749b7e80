package main

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// source is one file of a package that is cut.
type source struct {
	path  string // from the root
	text  []byte
	ast   *ast.File
	fset  *token.FileSet
	edits []edit
}

// edit is text put in at an offset.
type edit struct {
	at     int
	text   string
	closes bool
	length int // of what the pair of edits encloses
	id     int
}

// readSources parses the files of a package, without tests and generated tables.
func readSources(root, folder string) ([]*source, error) {
	paths, err := filepath.Glob(filepath.Join(root, folder, "*.go"))
	if err != nil {
		return nil, fmt.Errorf("drill: %w", err)
	}
	var all []*source
	for _, p := range paths {
		if strings.HasSuffix(p, "_test.go") {
			continue
		}
		text, err := os.ReadFile(p)
		if err != nil {
			return nil, fmt.Errorf("drill: %w", err)
		}
		s, err := parseSource(filepath.Join(folder, filepath.Base(p)), text)
		if err != nil {
			return nil, err
		}
		if !ast.IsGenerated(s.ast) {
			all = append(all, s)
		}
	}
	return all, nil
}

func parseSource(path string, text []byte) (*source, error) {
	s := &source{path: path, text: text, fset: token.NewFileSet()}
	var err error
	if s.ast, err = parser.ParseFile(s.fset, path, text, parser.ParseComments|parser.SkipObjectResolution); err != nil {
		return nil, fmt.Errorf("drill: %w", err)
	}
	return s, nil
}

func (s *source) offset(p token.Pos) int { return s.fset.Position(p).Offset }

func (s *source) line(p token.Pos) int { return s.fset.Position(p).Line }

// span is the source of a node.
func (s *source) span(n ast.Node) string { return string(s.text[s.offset(n.Pos()):s.offset(n.End())]) }

// enclose puts text before and behind what stands between two offsets.
func (s *source) enclose(from, to, id int, before, after string) {
	s.edits = append(s.edits,
		edit{from, before, false, to - from, id},
		edit{to, after, true, to - from, id})
}

// edited is the file with its edits. What encloses more opens first and closes
// last.
func (s *source) edited() []byte {
	slices.SortFunc(s.edits, func(a, b edit) int {
		if c := cmp.Compare(a.at, b.at); c != 0 {
			return c
		}
		if a.closes != b.closes {
			if a.closes {
				return -1
			}
			return 1
		}
		c := cmp.Or(cmp.Compare(b.length, a.length), cmp.Compare(a.id, b.id))
		if a.closes {
			return -c
		}
		return c
	})
	var out bytes.Buffer
	at := 0
	for _, e := range s.edits {
		out.Write(s.text[at:e.at])
		out.WriteString(e.text)
		at = e.at
	}
	out.Write(s.text[at:])
	return out.Bytes()
}
