package main

import (
	"fmt"
	"slices"

	"stile/fence"
	"stile/verdict"
)

type explainCmd struct {
	judging
	Files []string `arg:"" name:"file" help:"Messages; - is standard input."`
}

func (*explainCmd) Help() string {
	return `Prints each condition of the verdict in its order, with pass, fail, not reached or
not applied, and what can be done about the one that decided; of accepted mail also
its flags, and what it hides by class and place (doc/hidden.md).

Example:

    stile explain --mailbox shopping@estate.example message.eml`
}

// result is how a condition turned out.
type result string

const (
	pass       result = "pass"
	failed     result = "fail"
	notReached result = "not reached"
	notApplied result = "not applied"
)

type conditionLine struct {
	Code    verdict.Reason `json:"code"`
	Result  result         `json:"result"`
	Decided bool           `json:"decided"`
}

type explainLine struct {
	File       string              `json:"file"`
	Verdict    verdict.Outcome     `json:"verdict"`
	Reason     verdict.Reason      `json:"reason"`
	Address    string              `json:"address"`
	Signer     verdict.SignerClass `json:"signer"` // of misaligned mail, else ""
	Flags      []verdict.Flag      `json:"flags"`
	Hidden     []hiddenLine        `json:"hidden"` // what accepted mail hides
	Conditions []conditionLine     `json:"conditions"`
	Help       string              `json:"help"`
}

type hiddenLine struct {
	Place string `json:"place"`
	Class string `json:"class"`
	Count int    `json:"count"`
}

func (c *explainCmd) Run(a *app) error {
	court, err := c.court(a)
	if err != nil {
		return err
	}
	for _, name := range c.Files {
		report := func(j judged) error { return c.report(a, j, court.policy) }
		if err := court.one(a, name, report); err != nil {
			a.fail(err)
		}
	}
	return nil
}

func (c *explainCmd) report(a *app, j judged, p *verdict.Policy) error {
	out := explainLine{
		File: j.file, Verdict: j.verdict.Outcome(), Reason: j.verdict.Reason(), Address: j.claim.Reduced(),
		Flags: []verdict.Flag{}, Hidden: []hiddenLine{}, Conditions: conditions(j.verdict, p), Help: help(j),
	}
	if m := j.verdict.Accepted(); m != nil {
		out.Address = m.Entry()
		out.Flags = append(out.Flags, m.Flags()...)
		r, err := fence.Render(m)
		if err != nil {
			return fmt.Errorf("%s: %w", j.file, err)
		}
		for _, one := range r.Carriers {
			out.Hidden = append(out.Hidden, hiddenLine{one.Place, one.Class, one.N})
		}
	}
	if out.Reason == verdict.Misaligned {
		out.Signer = j.signer
	}
	if c.JSON {
		return a.object(out)
	}
	a.print("%s: %s", j.file, j.line())
	for _, l := range out.Conditions {
		mark := ""
		if l.Decided {
			mark = "  <- decided"
		}
		a.print("  %-11s  %s%s", l.Result, l.Code, mark)
	}
	for _, f := range out.Flags {
		a.print("  flag         %s", f)
	}
	for _, h := range out.Hidden {
		a.print("  hidden       %s in %s: %d", h.Class, h.Place, h.Count)
	}
	if out.Signer != "" {
		a.print("  signer       %s", out.Signer)
	}
	a.print("%s", out.Help)
	for _, f := range out.Flags {
		a.print("%s: %s", f, flagHelps[f])
	}
	return nil
}

// conditions says how each condition turned out. They are looked at in their
// order, so that what stands before the reason passed. Deferred mail passed all
// that needs no key.
func conditions(v verdict.Verdict, p *verdict.Policy) []conditionLine {
	skipped := map[verdict.Reason]bool{
		verdict.Automatic:    p.AllowAutomatic,
		verdict.NotAddressed: p.Addressed == verdict.AddressedOff,
		verdict.Stale:        p.MaxAge == 0,
		verdict.Replayed:     true, // a file has no delivery that it could repeat
	}
	deciding := v.Reason()
	if v.Outcome() == verdict.Defer {
		deciding = verdict.BadSignature
	}
	at := slices.Index(verdict.Refusals, deciding)
	if v.Outcome() == verdict.Accept {
		at = len(verdict.Refusals)
	}
	var all []conditionLine
	for i, code := range verdict.Refusals {
		l := conditionLine{Code: code, Result: pass}
		switch {
		case i == at && v.Outcome() == verdict.Refuse:
			l.Result, l.Decided = failed, true
		case skipped[code]:
			l.Result = notApplied
		case i >= at:
			l.Result = notReached
		}
		all = append(all, l)
	}
	return all
}
