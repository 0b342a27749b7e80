package main

import (
	"fmt"
	"os"
	"strings"
)

// columns is the list's first line.
const columns = "file\tfunction\tbefore\tafter\twhy"

// readList reads the list of mutations that change no outcome: why, by key.
func readList(file string) (map[string]string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("mutate: %w", err)
	}
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	if lines[0] != columns {
		return nil, fmt.Errorf("mutate: %s does not begin with %q", file, columns)
	}
	why := map[string]string{}
	for i, line := range lines[1:] {
		at := strings.LastIndexByte(line, '\t')
		if at < 0 || strings.Count(line, "\t") != 4 || line[at+1:] == "" {
			return nil, fmt.Errorf("mutate: %s:%d: not five columns with a reason", file, i+2)
		}
		if why[line[:at]] != "" {
			return nil, fmt.Errorf("mutate: %s:%d: listed twice", file, i+2)
		}
		why[line[:at]] = line[at+1:]
	}
	return why, nil
}

// stale returns the rows that match none of the mutations, and those whose
// mutation was noticed.
func stale(why map[string]string, mutants []*mutant, outcomes map[*mutant]outcome) (faults []string) {
	known := map[string]*mutant{}
	for _, m := range mutants {
		known[m.key()] = m
	}
	for key := range why {
		m, there := known[key]
		if !there {
			faults = append(faults, "matches nothing: "+key)
			continue
		}
		if o, tried := outcomes[m]; tried && o != survived && o != notReached {
			faults = append(faults, string(o)+": "+key)
		}
	}
	return faults
}
