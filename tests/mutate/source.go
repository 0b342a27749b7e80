package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

// source is one package that is mutated, parsed and type-checked.
type source struct {
	path  string // its folder from the root
	name  string
	files []*sourceFile
	info  *types.Info
	types *types.Package
}

type sourceFile struct {
	path  string // from the root
	text  []byte
	plain []byte // the same with comments blanked
	ast   *ast.File
	fset  *token.FileSet
}

// listed is what go list says of a package.
type listed struct {
	ImportPath, Export string
	GoFiles            []string
}

// load reads the packages in those folders under root.
func load(root string, folders ...string) ([]*source, error) {
	args := []string{"list", "-export", "-deps", "-json=ImportPath,Export,GoFiles"}
	for _, f := range folders {
		args = append(args, "./"+f)
	}
	cmd := exec.Command("go", args...)
	cmd.Dir = root
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("mutate: go list: %w", err)
	}
	all := map[string]listed{}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var l listed
		if err := d.Decode(&l); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("mutate: go list: %w", err)
		}
		all[l.ImportPath] = l
	}
	export := func(path string) (io.ReadCloser, error) { return os.Open(all[path].Export) }
	var sources []*source
	for _, f := range folders {
		s, err := parse(root, f, all["stile/"+f].GoFiles, export)
		if err != nil {
			return nil, err
		}
		sources = append(sources, s)
	}
	return sources, nil
}

func parse(root, folder string, names []string, export importer.Lookup) (*source, error) {
	fset := token.NewFileSet()
	s := &source{path: folder, info: &types.Info{Types: map[ast.Expr]types.TypeAndValue{}}}
	var files []*ast.File
	for _, name := range names {
		f := &sourceFile{path: filepath.Join(folder, name), fset: fset}
		var err error
		if f.text, err = os.ReadFile(filepath.Join(root, f.path)); err != nil {
			return nil, fmt.Errorf("mutate: %w", err)
		}
		if f.ast, err = parser.ParseFile(fset, f.path, f.text, parser.ParseComments); err != nil {
			return nil, fmt.Errorf("mutate: %w", err)
		}
		files = append(files, f.ast)
		if ast.IsGenerated(f.ast) {
			continue
		}
		f.plain = withoutComments(f)
		s.files = append(s.files, f)
	}
	s.name = files[0].Name.Name
	config := types.Config{Importer: importer.ForCompiler(fset, "gc", export)}
	var err error
	if s.types, err = config.Check("stile/"+folder, fset, files, s.info); err != nil {
		return nil, fmt.Errorf("mutate: %w", err)
	}
	return s, nil
}

// withoutComments is the text with spaces for comments, each octet in place.
func withoutComments(f *sourceFile) []byte {
	plain := bytes.Clone(f.text)
	for _, g := range f.ast.Comments {
		for _, c := range g.List {
			for i := f.offset(c.Pos()); i < f.offset(c.End()); i++ {
				if plain[i] != '\n' {
					plain[i] = ' '
				}
			}
		}
	}
	return plain
}

func (f *sourceFile) offset(p token.Pos) int { return f.fset.Position(p).Offset }

// span is the source between two places, without comments.
func (f *sourceFile) span(from, to token.Pos) string {
	return string(f.plain[f.offset(from):f.offset(to)])
}

func (f *sourceFile) source(n ast.Node) string { return f.span(n.Pos(), n.End()) }
