// Mutate changes verdict and fence in every small way that a mistake could, one
// at a time, and runs the tests against each change. A mutation that no test
// notices is a gap in the tests, code that nothing needs, or no change of any
// outcome; the last kind is listed in equivalent.tsv, each with its reason.
//
//	go run ./tests/mutate                    all of them, some minutes
//	go run ./tests/mutate -match partheader  those whose file, function or text holds that
//	go run ./tests/mutate -again             those that no test has noticed in runs before
//
// All mutations are compiled into one copy of the two packages, each behind a
// switch that the environment turns on (mutant schemata), and the copy reaches
// the compiler through go test -overlay: the tree is never touched. Every test
// of the package and of tests/corpus but those of cost first runs by itself to note which
// mutations it reaches; then each mutation has a process of its own with only
// the tests that reach it, until one fails, panics, or does not end in time:
// first those that noticed another mutation of the function, then quick ones.
//
// Mutated are: conditions and parts of them (true, false; negated they would be
// one of these at each moment), comparisons (their boundary), && and ||, arithmetic, constants (one up, one down, emptied,
// cut), statements (left out: assignments, calls, early returns, break and
// continue), results (the zero value), and the bounds of slices. Not mutated
// are the texts of errors and the capacities given to make, which are no
// outcomes, and generated tables.
//
// # The list
//
// A row of equivalent.tsv is file, function, the lines before, the lines after,
// and why no outcome changes. It names no line number, so it stays true while
// code moves. A row that matches no mutation, and one whose mutation a test
// notices, fail the run, and so does a survivor without a row.
//
// # Diagnostics
//
// Survivors are printed as rows of the list whose reason is still to be
// written. Exit 0: every survivor is listed. Exit 1: one is not, or a row is
// stale. Exit 2: nothing was measured.
package main
