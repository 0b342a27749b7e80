package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"stile/config"
	"stile/fence"
)

// The exit codes.
const (
	exitYes   = 0
	exitNo    = 1
	exitError = 2
	exitLater = 75 // EX_TEMPFAIL of sysexits.h
)

// commands is the command line.
type commands struct {
	Config string `short:"c" name:"config" default:"/etc/stile/stile.toml" placeholder:"FILE" help:"The config (default: ${default})."`

	Serve      serveCmd      `cmd:"" help:"Run the milter, the metrics and the status page."`
	Verdict    verdictCmd    `cmd:"" help:"Judge messages."`
	Show       showCmd       `cmd:"" help:"Show accepted messages inside a fence."`
	Quote      quoteCmd      `cmd:"" help:"Ask whether an accepted message says a text."`
	Explain    explainCmd    `cmd:"" help:"Show how each condition of the verdict turned out."`
	Check      checkCmd      `cmd:"" help:"Check the config and what it names, without starting."`
	ConfigFile configCmd     `cmd:"" name:"config" help:"About the config."`
	Doctor     doctorCmd     `cmd:"" help:"Find the ways round stile in Postfix's wiring, and what mends them."`
	Quarantine quarantineCmd `cmd:"" help:"Look through the records of refused mail."`
	Evidence   evidenceCmd   `cmd:"" help:"List the sealed originals, and open one with its key."`
	Key        keyCmd        `cmd:"" help:"Make and show the key that seals stamps."`
	Init       initCmd       `cmd:"" help:"Write a config and keys, and wire Postfix."`
	Drill      drillCmd      `cmd:"" help:"Prove on this machine that the guards hold."`
	Version    versionCmd    `cmd:"" help:"Print the version."`
}

// app is what a command runs with.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	terminal       bool   // stdout is one
	config         string // the path given by -c
	code           int
}

func main() {
	a := &app{stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, terminal: isTerminal(os.Stdout)}
	os.Exit(a.run(os.Args[1:]))
}

// run parses the command line and runs the command.
func (a *app) run(args []string) int {
	var cli commands
	helped := false
	parser, err := kong.New(&cli,
		kong.Name("stile"),
		kong.Description("Lets proved mail of the people you know step over the fence, and keeps everything else out."),
		kong.Writers(a.stdout, a.stderr),
		kong.Exit(func(int) { helped = true }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true, WrapUpperBound: 100}),
	)
	if err != nil {
		a.fail(err)
		return a.code
	}
	ctx, err := parser.Parse(args)
	if helped {
		return exitYes
	}
	if err != nil {
		a.fail(fmt.Errorf("%w (see stile --help)", err))
		return a.code
	}
	a.config = cli.Config
	if err := ctx.Run(a); err != nil {
		a.fail(err)
	}
	return a.code
}

// worst notes an outcome; of several the first in the order 2, 75, 1, 0 stays.
func (a *app) worst(code int) {
	order := []int{exitError, exitLater, exitNo, exitYes}
	if slices.Index(order, code) < slices.Index(order, a.code) {
		a.code = code
	}
}

// fail prints an error, a line for each of those joined in it, and notes exit 2.
func (a *app) fail(err error) {
	a.worst(exitError)
	for _, e := range parts(err) {
		text := e.Error()
		var ce *config.Error
		if errors.As(e, &ce) {
			text = ce.Where() + ": " + ce.Text
		}
		a.tellError(text)
	}
}

// tellError prints one line of diagnostics.
func (a *app) tellError(text string) { fmt.Fprintln(a.stderr, fence.Escape("stile: "+text)) }

// parts takes apart what errors.Join joined, and nothing else that wraps
// several errors.
func parts(err error) []error {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	var texts []string
	for _, e := range joined.Unwrap() {
		texts = append(texts, e.Error())
	}
	if strings.Join(texts, "\n") != err.Error() {
		return []error{err}
	}
	var all []error
	for _, e := range joined.Unwrap() {
		all = append(all, parts(e)...)
	}
	return all
}

// print prints one line. What comes from a file name or an argument is escaped.
func (a *app) print(format string, args ...any) {
	if _, err := fmt.Fprintln(a.stdout, fence.Escape(fmt.Sprintf(format, args...))); err != nil {
		a.worst(exitError) // an answer that was not heard is none
	}
}

// cause is what the system said of a file, without its path.
func cause(err error) string {
	var pe *os.PathError
	if errors.As(err, &pe) {
		return pe.Err.Error()
	}
	return err.Error()
}
