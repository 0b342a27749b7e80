package main

import (
	"slices"
	"strings"
	"testing"
)

const sample = `package p

func judge(a, b int, s []string) (string, Reason) {
	if a > b {
		return "", TooMany
	}
	if len(s) == 0 || s[0] == "" {
		log()
		return "", Unsigned
	}
	if a == b {
		return "", ""
	} else if a < 0 {
		return "", Unsigned
	}
	return "x", ""
}

func (c *Case) valid(a int) bool {
	if a < 0 {
		return false
	}
	if a > 9 {
		return true
	}
	x := a
	switch {
	case a == 1:
		return x == 1
	}
	return a == 2
}
`

func sampleSource(t *testing.T) *source {
	t.Helper()
	s, err := parseSource("p/p.go", []byte(sample))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Guards are found with their function and reason, and what is none is not.
func TestGuards(t *testing.T) {
	s := sampleSource(t)
	var found []string
	for _, g := range guards(s, map[string]string{"TooMany": "too-many", "Unsigned": "unsigned"}) {
		found = append(found, g.fn+" "+g.code+" "+s.span(g.cond))
	}
	want := []string{
		"judge too-many a > b",
		"judge unsigned len(s) == 0",
		`judge unsigned s[0] == ""`,
		"judge unsigned a < 0",
		"Case.valid  a < 0",
	}
	if !slices.Equal(found, want) {
		t.Errorf("found %q\nwant  %q", found, want)
	}
}

// Each kind of piece is cut in its way, and what encloses another still does.
func TestCutRow(t *testing.T) {
	s := sampleSource(t)
	for i, r := range []row{
		{code: "condition", piece: "a > b", with: "false"},
		{code: "result", piece: "return «a == 2»", with: "true"},
		{code: "value", piece: `return «"x"», ""`, with: `"y"`},
		{code: "statement", piece: "log()", with: ""},
		{code: "statements", piece: "log()\n\t\treturn \"\", Unsigned", with: "panic(0)"},
		{code: "definition", piece: "x := a", with: "x = 0"},
		{code: "case", piece: "case «a == 1»:", with: "false"},
	} {
		if _, err := cutRow(s, r, i+1); err != nil {
			t.Error(err)
		}
	}
	text := string(s.edited())
	for _, want := range []string{
		"if (!drillCut(1) && (a > b)) {",
		"return (drillCut(2) || (a == 2))",
		`return drillPick(3, "y", "x"), ""`,
		"if drillCut(5) { panic(0) } else { if drillCut(4) {  } else { log() }\n\t\treturn \"\", Unsigned }",
		"x := a; if drillCut(6) { x = 0 }",
		"case (!drillCut(7) && (a == 1)):",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("lacks %q:\n%s", want, text)
		}
	}
	if _, err := parseSource("p/p.go", []byte(text)); err != nil {
		t.Error(err)
	}
}

// A piece that is gone, that stands twice or that is no whole is an error.
func TestCutRowRefuses(t *testing.T) {
	for _, piece := range []string{"a > c", "a == b", `return ""`, "log()\n", "a", "if a > b {", "case a == 1:\n\t\treturn x == 1"} {
		if _, err := cutRow(sampleSource(t), row{piece: piece, with: "false"}, 1); (err == nil) != (piece == "a == b") {
			t.Errorf("%q: %v", piece, err)
		}
	}
}

// The table fits the source, every reason has a guard, and every guard of a
// reason a message.
func TestPlan(t *testing.T) {
	p, err := makePlan("../..", table())
	if err != nil {
		t.Fatal(err)
	}
	for _, sources := range p.sources {
		for _, s := range sources {
			if _, err := parseSource(s.path, s.edited()); err != nil {
				t.Error(err)
			}
		}
	}
	used := map[string]bool{}
	for _, g := range p.spared {
		used[g] = true
	}
	for name := range exempt {
		if !used[name] {
			t.Errorf("there is no guard %s", name)
		}
	}
}

func TestFailedTests(t *testing.T) {
	out := "--- FAIL: TestA (0.00s)\n    --- FAIL: TestA/b (0.00s)\n        --- FAIL: TestA/b/c d (0.00s)\n    x_test.go:1: no\n--- FAIL: TestE (0.00s)\n"
	failed := failedTests(out)
	if want := []string{"TestA", "TestA/b", "TestA/b/c d", "TestE"}; !slices.Equal(failed, want) {
		t.Errorf("%q", failed)
	}
	if got := deepest(failed); got != "TestA/b/c d" {
		t.Errorf("%q", got)
	}
	if got := exactly("TestA/b/c.1", "TestA/b/d"); got != `^TestA$/^b$/^(c\.1|d)$` {
		t.Errorf("%q", got)
	}
}
