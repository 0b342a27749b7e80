package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"stile/verdict"
)

// ask asks on a terminal for what the flags leave open. Elsewhere that is an
// error, but for who reads the mailbox: then a person may.
func (c *initCmd) ask(a *app) error {
	in := asker{a: a, lines: bufio.NewReader(a.stdin)}
	if f, ok := a.stdin.(*os.File); ok {
		in.terminal = isTerminal(f)
	}
	if c.Mailbox == "" {
		text, err := in.line("Mailbox to guard, as in shopping@agents.example:", "--mailbox ADDR")
		if err != nil {
			return err
		}
		c.Mailbox = text
	}
	if !verdict.ValidAddress(c.Mailbox) {
		return errors.New("--mailbox: write one address, as in shopping@agents.example")
	}
	if len(c.Senders) == 0 {
		text, err := in.line("Addresses whose mail is to be shown, separated by spaces:", "--sender ADDR, as often as needed")
		if err != nil {
			return err
		}
		c.Senders = strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == ',' })
	}
	if len(c.Senders) == 0 {
		return errors.New("--sender: write one address or more, as in friend@example.org")
	}
	for _, s := range c.Senders {
		if !verdict.ValidAddress(s) {
			return errors.New("--sender: write one address each, as in friend@example.org")
		}
	}
	if c.AgentOnly == nil {
		only := false
		if in.terminal {
			text, err := in.line("Does only an agent read this mailbox? Then what is delivered is the fence alone. [y/N]", "")
			if err != nil {
				return err
			}
			only = strings.HasPrefix(strings.ToLower(text), "y")
		}
		c.AgentOnly = &only
	}
	return nil
}

type asker struct {
	a        *app
	lines    *bufio.Reader
	terminal bool
}

// line asks for one line; without a terminal the flag is what is missing.
func (q asker) line(question, flag string) (string, error) {
	if !q.terminal {
		return "", fmt.Errorf("give %s", flag)
	}
	if _, err := fmt.Fprint(q.a.stdout, question, " "); err != nil {
		return "", errors.New("the question cannot be asked")
	}
	text, err := q.lines.ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", errors.New("the answer cannot be read")
	}
	return strings.TrimSpace(text), nil
}
