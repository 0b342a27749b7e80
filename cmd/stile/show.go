package main

import (
	"fmt"
	"strings"

	"stile/fence"
	"stile/verdict"
)

type showCmd struct {
	judging
	Files []string `arg:"" name:"file" help:"Messages; - is standard input."`
}

func (*showCmd) Help() string {
	return `Prints the fence of an accepted message. Of any other message nothing is shown but
the reason.

Example:

    stile show --sender friend@example.org message.eml`
}

type showLine struct {
	File    string          `json:"file"`
	Verdict verdict.Outcome `json:"verdict"`
	Reason  verdict.Reason  `json:"reason"`
	Text    string          `json:"text"`
}

func (c *showCmd) Run(a *app) error {
	return c.each(a, c.Files, func(j judged) error { return c.report(a, j) })
}

func (c *showCmd) report(a *app, j judged) error {
	text, err := j.shown()
	if err != nil {
		return err
	}
	if c.JSON {
		return a.object(showLine{j.file, j.verdict.Outcome(), j.verdict.Reason(), text})
	}
	_, err = fmt.Fprintln(a.stdout, text)
	return err
}

// shown is the fence, or the one line in its place.
func (j judged) shown() (string, error) {
	m := j.verdict.Accepted()
	if m == nil {
		return j.withheld(), nil
	}
	r, err := fence.Render(m)
	if err != nil {
		return "", fmt.Errorf("%s: %w", j.file, err)
	}
	return r.Text, nil
}

type quoteCmd struct {
	judging
	Text string `arg:"" help:"What the message is said to say: 8 or more characters with 6 letters or digits."`
	File string `arg:"" help:"The message; - is standard input."`
}

func (*quoteCmd) Help() string {
	return `Prints "quoted" if the text stands, letter for letter, in one part of the message as
stile shows it, and "not quoted" if it does not. So what an agent says that a
message says can be checked.

Example:

    stile quote --sender friend@example.org "two litres of milk" message.eml`
}

type quoteLine struct {
	File    string          `json:"file"`
	Verdict verdict.Outcome `json:"verdict"`
	Reason  verdict.Reason  `json:"reason"`
	Quoted  bool            `json:"quoted"`
}

func (c *quoteCmd) Run(a *app) error {
	return c.each(a, []string{c.File}, func(j judged) error { return c.report(a, j) })
}

func (c *quoteCmd) report(a *app, j judged) error {
	answer, quoted, err := c.answer(j)
	if err != nil {
		return err
	}
	if j.verdict.Accepted() != nil && !quoted {
		a.worst(exitNo)
	}
	if c.JSON {
		return a.object(quoteLine{j.file, j.verdict.Outcome(), j.verdict.Reason(), quoted})
	}
	a.print("%s", answer)
	return nil
}

func (c *quoteCmd) answer(j judged) (answer string, quoted bool, err error) {
	if j.verdict.Accepted() == nil {
		return j.withheld(), false, nil
	}
	text, err := j.shown()
	if err != nil {
		return "", false, err
	}
	f, err := fence.Parse(text)
	if err != nil {
		return "", false, fmt.Errorf("%s: %w", j.file, err)
	}
	if f.Quoted(strings.TrimSpace(c.Text)) {
		return "quoted", true, nil
	}
	return "not quoted", false, nil
}
