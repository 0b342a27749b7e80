package main

import (
	"context"
	"fmt"

	"stile/config"
	"stile/doctor"
)

type doctorCmd struct {
	listing
	Postfix string `placeholder:"DIR" help:"Where main.cf lies (default: where postconf looks)."`
}

func (*doctorCmd) Help() string {
	return `Looks at how stile is wired into Postfix and names what lets mail round it or may
lose or delay mail, each with the command that mends it. Changes nothing. Run it as root, after every change of
Postfix's or stile's config. Exit 1: something lets mail round the gate.

Example:

    stile doctor --postfix /etc/postfix`
}

// findingLine is a finding in JSON. All keys are always there.
type findingLine struct {
	ID       string          `json:"id"`
	Severity doctor.Severity `json:"severity"`
	What     string          `json:"what"`
	Why      string          `json:"why"`
	Mend     []string        `json:"mend"`
}

func (c *doctorCmd) Run(a *app) error {
	cfg, err := config.Load(a.config)
	if err != nil {
		return err
	}
	found, err := doctor.Audit(context.Background(), doctor.Options{Config: cfg, File: a.config, Postfix: c.Postfix})
	if err != nil {
		return err
	}
	for _, f := range found {
		if f.Severity == doctor.Bypass {
			a.worst(exitNo)
		}
		if c.asJSON(a) {
			if err := a.object(findingLine(f)); err != nil {
				return err
			}
			continue
		}
		c.text(a, f)
	}
	if !c.asJSON(a) {
		a.print("%s", c.summary(found))
	}
	return nil
}

func (*doctorCmd) text(a *app, f doctor.Finding) {
	a.print("%-6s  %s", f.Severity, f.ID)
	a.print("    what  %s", f.What)
	a.print("    why   %s", f.Why)
	for _, command := range f.Mend {
		a.print("    mend  %s", command)
	}
}

func (*doctorCmd) summary(found []doctor.Finding) string {
	if len(found) == 0 {
		return "ok"
	}
	counts := map[doctor.Severity]int{}
	for _, f := range found {
		counts[f.Severity]++
	}
	return fmt.Sprintf("%d let mail round, %d may lose or delay mail, %d notes; after a change of Postfix's config: postfix reload",
		counts[doctor.Bypass], counts[doctor.Loss], counts[doctor.Note])
}
