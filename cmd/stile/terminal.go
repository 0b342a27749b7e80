package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// isTerminal reports whether f is a terminal.
func isTerminal(f *os.File) bool {
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}

// listing are the flags of the commands that print lists.
type listing struct {
	JSON bool `name:"json" xor:"form" help:"Print JSON, one object a line (what a pipe gets)."`
	Text bool `xor:"form" help:"Print text (what a terminal gets)."`
}

func (l listing) asJSON(a *app) bool { return l.JSON || !l.Text && !a.terminal }
