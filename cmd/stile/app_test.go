package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"stile/verdict"
)

// Of several outcomes the worst counts, in the order 2, 75, 1, 0.
func TestWorst(t *testing.T) {
	order := []int{2, 75, 1, 0}
	for i, worse := range order {
		for _, better := range order[i:] {
			for _, codes := range [][]int{{worse, better}, {better, worse}} {
				a := app{}
				for _, c := range codes {
					a.worst(c)
				}
				if a.code != worse {
					t.Errorf("of %v it is %d, want %d", codes, a.code, worse)
				}
			}
		}
	}
}

// A list goes to a terminal as text and to a pipe as JSON, unless a flag says so.
func TestListing(t *testing.T) {
	for _, x := range []struct {
		listing  listing
		terminal bool
		want     bool
	}{
		{listing{}, true, false},
		{listing{}, false, true},
		{listing{JSON: true}, true, true},
		{listing{Text: true}, false, false},
	} {
		if got := x.listing.asJSON(&app{terminal: x.terminal}); got != x.want {
			t.Errorf("%+v on a terminal: %v is JSON: %v", x.listing, x.terminal, got)
		}
	}
}

// Joined errors are a line each, whatever stands in them; an error that wraps
// two others is one.
func TestFail(t *testing.T) {
	one, two := errors.New("one\x1b[31m\nmore"), errors.New("two")
	for _, x := range []struct {
		err   error
		lines int
	}{
		{one, 1},
		{errors.Join(one, two), 2},
		{errors.Join(one, errors.Join(two, one)), 3},
		{fmt.Errorf("%w: %w", one, two), 1},
	} {
		var out bytes.Buffer
		a := app{stderr: &out}
		a.fail(x.err)
		text := out.String()
		if n := strings.Count(text, "\n"); n != x.lines || strings.Count(text, "stile: ") != n || strings.Contains(text, "\x1b") {
			t.Errorf("%q, want %d lines", text, x.lines)
		}
		if a.code != exitError {
			t.Errorf("exit %d", a.code)
		}
	}
}

// Every code and every flag has its row in the documents.
func TestDocuments(t *testing.T) {
	for name, words := range map[string][]string{
		"reasons.md": texts(verdict.Refusals, verdict.Deferrals),
		"stamp.md":   texts(verdict.Flags),
	} {
		text, err := os.ReadFile(filepath.Join("../../doc", name))
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range words {
			if !strings.Contains(string(text), "\n| `"+w+"` |") {
				t.Errorf("%s has no row for %s", name, w)
			}
		}
	}
}

func texts[S ~string](lists ...[]S) (all []string) {
	for _, s := range slices.Concat(lists...) {
		all = append(all, string(s))
	}
	return all
}

// Every code, every flag and every class of signer has its help.
func TestHelp(t *testing.T) {
	for _, r := range append(append([]verdict.Reason{}, verdict.Refusals...), verdict.Deferrals...) {
		if r != verdict.Misaligned && helps[r] == "" {
			t.Errorf("%s has no help", r)
		}
	}
	for _, s := range verdict.SignerClasses {
		if askSigner[s] == "" {
			t.Errorf("mail signed by %s has no help", s)
		}
	}
	for _, f := range verdict.Flags {
		if flagHelps[f] == "" {
			t.Errorf("the flag %s has no help", f)
		}
	}
	if len(flagHelps) != len(verdict.Flags) {
		t.Error("there is help for a flag that is none")
	}
	if len(helps) != len(verdict.Refusals)+len(verdict.Deferrals)-1 || len(askSigner) != len(verdict.SignerClasses) {
		t.Error("there is help for a code that is none")
	}
}
