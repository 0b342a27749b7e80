package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"
)

// What is printed as JSON is one line without a character that cannot be seen,
// and reads as what it was.
func TestObject(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.StringOf(rapid.OneOf(rapid.Rune(), rapid.SampledFrom([]rune("\n\x1b\x7f\u009b\u202e\u2028\u00a0\ufe0f\U000e0041\U0001f600<\"\\")))).Draw(t, "name")
		var out bytes.Buffer
		if err := (&app{stdout: &out}).object(showLine{File: want}); err != nil {
			t.Fatal(err)
		}
		line, whole := strings.CutSuffix(out.String(), "\n")
		if !whole || strings.ContainsFunc(line, func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Fatalf("%q", out.String())
		}
		var got showLine
		if err := json.Unmarshal(out.Bytes(), &got); err != nil || got.File != want {
			t.Fatalf("%q reads as %q, %v", out.String(), got.File, err)
		}
	})
}
