package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"stile/tests/rig"
)

// The targets: how many times OpenDKIM's rate, and how much memory.
const (
	wantRatio  = 1.8 // at 2 KB and 8 connections
	wantMemory = 100 // MB at 10 MB and 64 connections
)

// cell is a size, a number of connections and how many messages make a round.
type cell struct {
	name        string
	size        int
	connections int
	messages    int
}

// sizes are those of messages, with how many make a round.
var sizes = []cell{
	{name: "2k", size: 2000, messages: 2000},
	{name: "20k", size: 20000, messages: 1600},
	{name: "1m", size: 1000000, messages: 160},
	{name: "10m", size: 10000000, messages: 64},
}

// options are what the command line says.
type options struct {
	cells  []cell
	rounds int
	only   string
	keep   string
	bin    string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	o, err := parse(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	met, err := run(ctx, o)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	if !met {
		os.Exit(1)
	}
}

// parse reads the command line.
func parse(args []string) (options, error) {
	var o options
	flags := flag.NewFlagSet("load", flag.ContinueOnError)
	wanted := flags.String("sizes", "2k,20k,1m,10m", "sizes of messages")
	connections := flags.String("conns", "1,8,64", "numbers of connections at once")
	flags.IntVar(&o.rounds, "rounds", 5, "rounds of each milter in a cell; the median counts")
	flags.StringVar(&o.only, "only", "", "measure this milter alone: stile or OpenDKIM")
	flags.StringVar(&o.keep, "keep", "", "an empty directory for configurations and logs; they stay there")
	flags.StringVar(&o.bin, "stile", "", "the binary to measure; it is built if not given")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	for name := range strings.SplitSeq(*wanted, ",") {
		size, ok := find(name)
		if !ok {
			return o, fmt.Errorf("load: no such size: %s", name)
		}
		for n := range strings.SplitSeq(*connections, ",") {
			var err error
			if size.connections, err = strconv.Atoi(n); err != nil || size.connections < 1 {
				return o, fmt.Errorf("load: no number of connections: %s", n)
			}
			o.cells = append(o.cells, size)
		}
	}
	if o.rounds < 1 {
		return o, errors.New("load: no rounds")
	}
	return o, nil
}

func find(name string) (cell, bool) {
	for _, s := range sizes {
		if s.name == name {
			return s, true
		}
	}
	return cell{}, false
}

// run measures every cell and prints the table. met says that no target was
// missed.
func run(ctx context.Context, o options) (met bool, err error) {
	dir := o.keep
	if dir == "" {
		if dir, err = os.MkdirTemp("", "stile-load-"); err != nil {
			return false, fmt.Errorf("load: %w", err)
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return false, fmt.Errorf("load: %w", err)
	}
	m, err := newMint()
	if err != nil {
		return false, err
	}
	record, err := m.record()
	if err != nil {
		return false, err
	}
	dns, err := rig.StartDNS()
	if err != nil {
		return false, err
	}
	defer dns.Stop(context.Background())
	dns.SetTXT(selector+"._domainkey."+domain, record)
	contenders, err := choose(ctx, o, dir, dns.Addr, record)
	if err != nil {
		return false, err
	}
	head(contenders)
	met = true
	for _, c := range o.cells {
		results, err := measure(ctx, c, o.rounds, contenders, m, dir)
		if err != nil {
			return false, err
		}
		row(c, results)
		met = targets(c, contenders, results) && met
	}
	return met, nil
}

// choose makes what is measured.
func choose(ctx context.Context, o options, dir, dns, record string) ([]contender, error) {
	repo, err := root()
	if err != nil {
		return nil, err
	}
	var all []contender
	if o.only == "" || o.only == "stile" {
		if o.bin == "" {
			o.bin = filepath.Join(dir, "stile")
			if err := build(ctx, repo, o.bin); err != nil {
				return nil, err
			}
		}
		all = append(all, stile(o.bin, dns))
	}
	if o.only == "" || o.only == "OpenDKIM" {
		other, err := openDKIM(filepath.Join(repo, "build/opendkim/root"), record)
		if err != nil {
			return nil, err
		}
		all = append(all, other)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("load: no such milter: %s", o.only)
	}
	return all, nil
}

// build builds stile as it is shipped.
func build(ctx context.Context, repo, bin string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", bin, "./cmd/stile")
	cmd.Dir, cmd.Env = repo, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("load: go build: %w\n%s", err, out)
	}
	return nil
}

// root is the module's directory.
func root() (string, error) {
	out, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		return "", fmt.Errorf("load: go env GOMOD: %w", err)
	}
	return filepath.Dir(strings.TrimSpace(string(out))), nil
}

func head(contenders []contender) {
	line, rule := "| size × connections |", "|---|"
	for _, c := range contenders {
		line += fmt.Sprintf(" %s msg/s | CPU s/1000 | peak RSS MB |", c.name)
		rule += "---|---|---|"
	}
	if len(contenders) == 2 {
		line += " ratio |"
		rule += "---|"
	}
	fmt.Println(line + "\n" + rule)
}

func row(c cell, results []result) {
	line := fmt.Sprintf("| %s × %d |", c.name, c.connections)
	for _, r := range results {
		line += fmt.Sprintf(" %.4g | %.2f | %.0f |", r.rate, r.cpu, r.memory)
	}
	if len(results) == 2 {
		line += fmt.Sprintf(" %.2f |", results[0].rate/results[1].rate)
	}
	fmt.Println(line)
}

// targets reports whether the cell's targets, if it has any, were met, and says
// which was missed.
func targets(c cell, contenders []contender, results []result) bool {
	met := true
	if c.name == "2k" && c.connections == 8 && len(results) == 2 {
		if ratio := results[0].rate / results[1].rate; ratio < wantRatio {
			fmt.Printf("MISSED: %s × %d: ratio %.2f, want %.1f\n", c.name, c.connections, ratio, wantRatio)
			met = false
		}
	}
	if c.name == "10m" && c.connections == 64 && contenders[0].name == "stile" {
		if results[0].memory >= wantMemory {
			fmt.Printf("MISSED: %s × %d: %.0f MB, want less than %d\n", c.name, c.connections, results[0].memory, wantMemory)
			met = false
		}
	}
	return met
}

// elapsed is how long f takes.
func elapsed(f func() error) (time.Duration, error) {
	start := time.Now()
	err := f()
	return time.Since(start), err
}
