package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// mutated are the packages whose code is changed. The tests of each are its own
// and those of the corpus.
var mutated = []string{"verdict", "fence"}

const corpus = "tests/corpus"

// ofCost are tests of time and memory, which take much of both and notice no
// outcome.
var ofCost = []string{"TestMemoryDoesNotGrow", "TestPassesAreBounded", "TestSplitBounded"}

// Where things are, from the root of the tree.
const (
	list    = "tests/mutate/equivalent.tsv"
	work    = "build/mutate"
	noticed = "build/mutate/noticed" // the mutations that tests noticed, a line each
)

func main() {
	match := flag.String("match", "", "only mutations whose file, function or text holds `TEXT`")
	again := flag.Bool("again", false, "only those that no test has noticed in runs before")
	workers := flag.Int("workers", runtime.NumCPU(), "how many at a time")
	flag.Parse()
	faults, err := run(*match, *again, *workers)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	if faults > 0 {
		os.Exit(1)
	}
}

func run(match string, again bool, workers int) (faults int, err error) {
	start := time.Now()
	root, err := os.Getwd()
	if err != nil {
		return 0, fmt.Errorf("mutate: %w", err)
	}
	why, err := readList(list)
	if err != nil {
		return 0, err
	}
	dir := filepath.Join(root, work)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return 0, fmt.Errorf("mutate: %w", err)
	}
	sources, err := load(root, mutated...)
	if err != nil {
		return 0, err
	}
	all, tests, err := build(root, dir, sources, append(slices.Clone(mutated), corpus))
	if err != nil {
		return 0, err
	}
	chosen, err := choose(all, match, again)
	if err != nil {
		return 0, err
	}
	for _, b := range tests {
		if !slices.ContainsFunc(chosen, b.judges) {
			continue
		}
		if err := b.survey(root, dir); err != nil {
			return 0, err
		}
	}
	fmt.Fprintf(os.Stderr, "%d mutations; surveyed in %.0f s\n", len(all), time.Since(start).Seconds())
	r := &runner{root: root, binaries: tests, known: map[string]map[*test]int{}, outcomes: map[*mutant]outcome{}}
	mode := os.O_APPEND
	if !again {
		mode = os.O_TRUNC
	}
	if r.noticed, err = os.OpenFile(noticed, os.O_CREATE|os.O_WRONLY|mode, 0o644); err != nil {
		return 0, fmt.Errorf("mutate: %w", err)
	}
	defer r.noticed.Close()
	if err := r.tryAll(chosen, workers); err != nil {
		return 0, err
	}
	return report(why, all, chosen, r.outcomes, start), nil
}

// choose picks the mutations that are tried.
func choose(all []*mutant, match string, again bool) ([]*mutant, error) {
	known := map[string]bool{}
	if again {
		text, err := os.ReadFile(noticed)
		if err != nil {
			return nil, fmt.Errorf("mutate: %w", err)
		}
		for line := range strings.Lines(string(text)) {
			known[strings.TrimSuffix(line, "\n")] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(all), func(m *mutant) bool {
		return known[m.key()] || !strings.Contains(m.key(), match)
	}), nil
}

// report prints what there is to do, and returns how much.
func report(why map[string]string, all, chosen []*mutant, outcomes map[*mutant]outcome, start time.Time) (faults int) {
	count := map[outcome]int{}
	listed := 0
	for _, m := range chosen {
		o := outcomes[m]
		count[o]++
		if o != survived && o != notReached {
			continue
		}
		if why[m.key()] != "" {
			listed++
			continue
		}
		faults++
		fmt.Printf("%s:%d %s\n%s\t\n", m.file, m.line, o, m.key())
	}
	for _, s := range stale(why, all, outcomes) {
		faults++
		fmt.Printf("stale: %s\n", s)
	}
	fmt.Printf("%d mutations: %d noticed by a test, %d by their time, %d listed, %d left of which no test reaches %d; %.0f s\n",
		len(chosen), count[failed], count[endless], listed, count[survived]+count[notReached]-listed, count[notReached], time.Since(start).Seconds())
	return faults
}
