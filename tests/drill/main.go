package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"time"
)

func main() {
	match := flag.String("match", "", "only cuts whose code, place or source holds `TEXT`")
	flag.Parse()
	left, err := drill(*match)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	if left > 0 {
		os.Exit(1)
	}
}

// drill makes the cuts that match, and returns how many no test missed.
func drill(match string) (left int, err error) {
	start := time.Now()
	root, err := os.Getwd()
	if err != nil {
		return 0, fmt.Errorf("drill: %w", err)
	}
	p, err := makePlan(root, table())
	if err != nil {
		return 0, err
	}
	work, err := os.MkdirTemp("", "drill")
	if err != nil {
		return 0, fmt.Errorf("drill: %w", err)
	}
	defer os.RemoveAll(work)
	var chosen []*cut
	for _, c := range p.cuts {
		if strings.Contains(c.code+" "+c.place()+" "+c.what, match) {
			chosen = append(chosen, c)
		}
	}
	f, err := p.prepare(root, work, chosen)
	if err != nil {
		return 0, err
	}
	fmt.Fprintf(os.Stderr, "%d cuts; prepared in %.0f s\n", len(chosen), time.Since(start).Seconds())
	missed := make([]string, len(chosen))
	faults := make([]error, len(chosen))
	together(len(chosen), func(i int) error {
		missed[i], faults[i] = f.try(chosen[i])
		return nil
	})
	for i, c := range chosen {
		if missed[i] != "" {
			fmt.Println("cut", c.code, c.place(), missed[i])
			continue
		}
		left++
		fmt.Printf("NOT MISSED %s %s: %s\n", c.code, c.place(), collapse(c.what))
		if faults[i] != nil {
			fmt.Println("\t", faults[i])
		}
	}
	fmt.Printf("%d cuts, %d of which no test missed; %.0f s\n", len(chosen), left, time.Since(start).Seconds())
	return left, nil
}

// prepare compiles the tests that the cuts need and finds out what they reach.
func (p *plan) prepare(root, work string, chosen []*cut) (*field, error) {
	list, err := p.overlay(root, work)
	if err != nil {
		return nil, err
	}
	f := &field{work: work, binaries: map[string]*binary{}, reached: map[string][]*reach{}}
	for _, c := range chosen {
		run, search := c.needs()
		for _, folder := range run {
			if f.binaries[folder] != nil {
				continue
			}
			if f.binaries[folder], err = build(root, work, list, folder); err != nil {
				return nil, err
			}
		}
		for _, folder := range search {
			if f.reached[folder] != nil {
				continue
			}
			if err := f.survey(folder); err != nil {
				return nil, err
			}
		}
	}
	return f, nil
}
