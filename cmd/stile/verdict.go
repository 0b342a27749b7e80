package main

import "stile/verdict"

type verdictCmd struct {
	judging
	Files []string `arg:"" name:"file" help:"Messages; - is standard input."`
}

func (*verdictCmd) Help() string {
	return `Prints accept and the listed sender, refuse and the reason, or defer and the reason.
Writes nothing and remembers nothing.

Example:

    stile verdict --sender friend@example.org message.eml
    stile verdict --mailbox shopping@estate.example --json *.eml`
}

// verdictLine is a verdict in JSON. All keys are always there.
type verdictLine struct {
	File    string          `json:"file"`
	Verdict verdict.Outcome `json:"verdict"`
	Reason  verdict.Reason  `json:"reason"`
	Address string          `json:"address"`
	D       string          `json:"d"`
	S       string          `json:"s"`
	Flags   []verdict.Flag  `json:"flags"`
}

func (c *verdictCmd) Run(a *app) error {
	return c.each(a, c.Files, func(j judged) error { return c.report(a, j) })
}

func (c *verdictCmd) report(a *app, j judged) error {
	if !c.JSON {
		a.print("%s", j.line())
		return nil
	}
	out := verdictLine{
		File: j.file, Verdict: j.verdict.Outcome(), Reason: j.verdict.Reason(),
		Address: j.claim.Reduced(), Flags: []verdict.Flag{},
	}
	if m := j.verdict.Accepted(); m != nil {
		out.Address, out.D, out.S = m.Entry(), m.Domain(), m.Selector()
		out.Flags = append(out.Flags, m.Flags()...)
	}
	return a.object(out)
}
