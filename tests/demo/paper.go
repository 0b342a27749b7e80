package main

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"stile/tests/rig"
)

// paper is what the report is printed on: for a terminal of a hundred columns,
// with colours only where it is one.
type paper struct{ color bool }

const (
	bold  = "\x1b[1m"
	green = "\x1b[32m"
	red   = "\x1b[31m"
	amber = "\x1b[33m"
	reset = "\x1b[0m"
)

func (p paper) paint(how, text string) string {
	if !p.color {
		return text
	}
	return how + text + reset
}

func (p paper) heading(format string, args ...any) {
	fmt.Printf("\n%s\n", p.paint(bold, fmt.Sprintf(format, args...)))
}

func (p paper) line(format string, args ...any) { fmt.Printf("  "+format+"\n", args...) }

// text prints a block as it is, moved in by two columns.
func (p paper) text(block string) {
	for line := range strings.Lines(strings.TrimRight(block, "\n") + "\n") {
		fmt.Print("  " + line)
	}
}

// table prints a block whose columns stand two blanks or more apart, as narrow
// as what is in them.
func (p paper) table(block string) {
	var rows [][]string
	width := map[int]int{}
	for line := range strings.Lines(block) {
		row := columns.Split(strings.TrimSpace(line), -1)
		for i, cell := range row {
			width[i] = max(width[i], len(cell))
		}
		rows = append(rows, row)
	}
	for _, row := range rows {
		var b strings.Builder
		for i, cell := range row {
			fmt.Fprintf(&b, "%-*s ", width[i], cell)
		}
		fmt.Println(strings.TrimRight(b.String(), " "))
	}
}

var columns = regexp.MustCompile("  +")

func (p paper) row(n int, what, verdict, where string) {
	how := red
	switch {
	case strings.HasPrefix(verdict, "accept"):
		how = green
	case strings.HasPrefix(verdict, "defer"):
		how = amber
	}
	fmt.Printf("  %2d  %-36s %s %s\n", n, what, p.paint(how, fmt.Sprintf("%-26s", verdict)), where)
}

// moved prints the counters that are not what they were. How long things took
// is left out.
func (p paper) moved(before, after rig.Series) {
	for _, name := range slices.Sorted(maps.Keys(after)) {
		if !strings.HasPrefix(name, "stile_") || strings.Contains(name, "_seconds") {
			continue
		}
		if rise := after[name] - before[name]; rise != 0 {
			p.line("%+3.0f  %s", rise, name)
		}
	}
}
