package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"stile/verdict"
)

type drillCmd struct{}

func (*drillCmd) Help() string {
	return `Makes a key, signs mail with it, answers for the DNS itself, and puts to this very
binary what it must refuse, what it must show and how. Nothing is read, written or
sent. One line a check, "ok" or "FAIL"; why a check failed is said on standard error.

Example:

    stile drill`
}

func (*drillCmd) Run(a *app) error {
	p, err := newPost()
	if err != nil {
		return err
	}
	d, err := newDrill(p)
	if err != nil {
		return err
	}
	return d.run(a)
}

// drill holds what the checks put to the proof: judging, and what the commands
// make of what was judged.
type drill struct {
	post   *post
	judge  func(raw string) (judged, error)
	show   func(j judged) (string, error)
	quoted func(j judged, text string) (bool, error)
	tell   func(j judged) (string, error) // all that the commands print of it
}

func newDrill(p *post) (*drill, error) {
	c, err := p.court()
	if err != nil {
		return nil, err
	}
	tell := func(j judged) (string, error) { return told(j, c.policy) }
	return &drill{post: p, judge: c.judgeText, show: judged.shown, quoted: quotedIn, tell: tell}, nil
}

func quotedIn(j judged, text string) (bool, error) {
	_, quoted, err := (&quoteCmd{Text: text}).answer(j)
	return quoted, err
}

// told is what each command that judges prints of a message, as text and as
// JSON.
func told(j judged, p *verdict.Policy) (string, error) {
	var (
		out bytes.Buffer
		all error
	)
	a := &app{stdout: &out, stderr: io.Discard}
	for _, form := range []judging{{}, {JSON: true}} {
		all = errors.Join(all,
			(&verdictCmd{judging: form}).report(a, j),
			(&showCmd{judging: form}).report(a, j),
			(&quoteCmd{judging: form, Text: "two litres of milk"}).report(a, j),
			(&explainCmd{judging: form}).report(a, j, p),
		)
	}
	return out.String(), all
}

// run makes every check.
func (d *drill) run(a *app) error {
	failed := 0
	for i, c := range checks {
		mark := "ok   "
		if err := c.holds(d); err != nil {
			failed++
			mark = "FAIL "
			a.tellError(fmt.Sprintf("check %d: %v", i+1, err))
		}
		a.print("%s %s", mark, c.text)
	}
	if failed > 0 {
		a.worst(exitNo)
		a.print("%d of %d checks failed", failed, len(checks))
		return nil
	}
	a.print("all checks passed")
	return nil
}

// send has a message judged, as a domain signed it.
func (d *drill) send(domain string, l letter) (judged, error) {
	raw, err := d.post.sign(domain, l.raw())
	if err != nil {
		return judged{}, err
	}
	return d.judge(raw)
}

// accepted sends mail of the listed sender's, which must be accepted.
func (d *drill) accepted(l letter) (judged, error) {
	if l.from == "" {
		l.from = "From: " + drillSender
	}
	j, err := d.send("example.org", l)
	if err != nil {
		return judged{}, err
	}
	if j.verdict.Accepted() == nil {
		return judged{}, fmt.Errorf("an honest message: %s", j.line())
	}
	return j, nil
}
