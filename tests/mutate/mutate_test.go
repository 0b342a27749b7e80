package main

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const sample = `package sample

const limit = 24

var sizes = map[string]bool{"big": true}

// over has some of everything.
func over(n int, name string) (string, bool) {
	if n > limit && sizes[name] { // a comment
		return "", false
	}
	n++
	return name[1:n], true
}
`

// mutatedSample is the mutations of the sample, and its text with all of them.
func mutatedSample(t *testing.T) ([]*mutant, string) {
	t.Helper()
	fset := token.NewFileSet()
	parsed, err := parser.ParseFile(fset, "sample.go", sample, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	f := &sourceFile{path: "sample.go", text: []byte(sample), ast: parsed, fset: fset}
	f.plain = withoutComments(f)
	s := &source{path: "sample", name: "sample", info: &types.Info{Types: map[ast.Expr]types.TypeAndValue{}}}
	if s.types, err = new(types.Config).Check("sample", fset, []*ast.File{parsed}, s.info); err != nil {
		t.Fatal(err)
	}
	var all []*mutant
	text := mutate(s, f, &all)
	number(all)
	return all, text
}

func TestMutations(t *testing.T) {
	all, _ := mutatedSample(t)
	var got []string
	for i, m := range all {
		if m.id != i+1 {
			t.Errorf("%q has the id %d", m.key(), m.id)
		}
		got = append(got, m.fn+": "+m.before+" => "+m.after)
	}
	guard, early, end := "over: if n > limit && sizes[name] { => ", `over: return "", false => `, "over: return name[1:n], true => "
	table := `var: var sizes = map[string]bool{"big": true} => var sizes = map[string]bool`
	want := []string{
		table + `{"": true}`, table + `{"bi": true}`, table + `{"ig": true}`, table + `{"big": !true}`,
		guard + "if n > limit+1 && sizes[name] {", guard + "if n > limit-1 && sizes[name] {",
		guard + "if true && sizes[name] {", guard + "if n > limit && true {",
		guard + "if true {", guard + "if false {", guard + "if n > limit || sizes[name] {",
		early + `return "", !false`, early + "{}",
		"over: n++ => {}", "over: n++ => n--",
		end + "return name[2:n], true", end + "return name[0:n], true",
		end + "return name[1:n+1], true", end + "return name[1:n-1], true",
		end + "return *new(string), true", end + "return name[1:n], !true",
	}
	for _, w := range want {
		if !slices.Contains(got, w) {
			t.Errorf("there is no %s", w)
		}
	}
	for _, g := range got {
		if !slices.Contains(want, g) {
			t.Errorf("there is also %s", g)
		}
	}
}

// TestCompiles: with all mutations and the switches the text is Go.
func TestCompiles(t *testing.T) {
	_, text := mutatedSample(t)
	fset := token.NewFileSet()
	var files []*ast.File
	for _, text := range []string{text, strings.NewReplacer("PACKAGE", "sample", "MUTANTS", "100").Replace(switches)} {
		f, err := parser.ParseFile(fset, "", text, 0)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		files = append(files, f)
	}
	config := types.Config{Importer: importer.ForCompiler(fset, "source", nil)}
	if _, err := config.Check("sample", fset, files, nil); err != nil {
		t.Errorf("%v\n%s", err, text)
	}
}

func TestNumber(t *testing.T) {
	all := []*mutant{{before: "x", after: "y"}, {before: "x", after: "z"}, {before: "x", after: "y"}}
	number(all)
	if all[0].after != "y" || all[1].after != "z" || all[2].after != "y #2" {
		t.Errorf("%v", all)
	}
}

func TestList(t *testing.T) {
	read := func(rows string) (map[string]string, error) {
		file := filepath.Join(t.TempDir(), "list")
		if err := os.WriteFile(file, []byte(rows), 0o600); err != nil {
			t.Fatal(err)
		}
		return readList(file)
	}
	for _, bad := range []string{
		"", "file\n",
		columns + "\nf\tg\tx\ty\t\n",
		columns + "\nf\tg\tx\ty\n",
		columns + "\nf\tg\tx\ty\twhy\nf\tg\tx\ty\tbecause\n",
	} {
		if _, err := read(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
	noticed := &mutant{file: "f", fn: "g", before: "x", after: "z"}
	survivor := &mutant{file: "f", fn: "g", before: "x", after: "y"}
	all, outcomes := []*mutant{noticed, survivor}, map[*mutant]outcome{noticed: failed, survivor: survived}
	for rows, want := range map[string]int{
		columns + "\n":                        0,
		columns + "\nf\tg\tx\ty\twhy\n":       0,
		columns + "\nf\tg\tx\tz\twhy\n":       1,
		columns + "\nf\tg\tx\tnothing\twhy\n": 1,
	} {
		why, err := read(rows)
		if err != nil {
			t.Fatal(err)
		}
		if faults := stale(why, all, outcomes); len(faults) != want {
			t.Errorf("%q: %q", rows, faults)
		}
	}
}

// TestListIsFresh: every row of the list is a mutation of the source as it is.
func TestListIsFresh(t *testing.T) {
	why, err := readList("equivalent.tsv")
	if err != nil {
		t.Fatal(err)
	}
	sources, err := load("../..", mutated...)
	if err != nil {
		t.Fatal(err)
	}
	var all []*mutant
	for _, s := range sources {
		for _, f := range s.files {
			mutate(s, f, &all)
		}
	}
	number(all)
	for _, fault := range stale(why, all, nil) {
		t.Error(fault)
	}
}
