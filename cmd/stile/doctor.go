package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"stile/config"
	"stile/dns"
	"stile/doctor"
	"stile/quarantine"
	"stile/verdict"
)

type doctorCmd struct {
	listing
	Postfix string `placeholder:"DIR" help:"Where main.cf lies (default: where postconf looks)."`
	Probe   bool   `help:"Also send a test message to each mailbox, by each way in, and see that stile refuses it."`
	Signed  string `placeholder:"FILE" help:"With --probe: a message that a listed sender's domain has signed; sent too, to see that it is stamped."`
}

func (*doctorCmd) Help() string {
	return `Looks at how stile is wired into Postfix and names what lets mail round it or may
lose or delay mail, each with the command that mends it. Changes nothing. Run it as root, after every change of
Postfix's or stile's config. Exit 1: something lets mail round the gate.

With --probe it sends labelled messages without a signature through the running Postfix and looks for stile's record of
each. Run it once more with stile stopped: then they must wait. A message that goes round stile is delivered. That
accepted mail is stamped takes a message of a listed sender that was not delivered here before: --signed FILE.

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
	if c.Signed != "" && !c.Probe {
		return errors.New("--signed sends a message and goes with --probe: write stile doctor --probe --signed FILE")
	}
	cfg, err := config.Load(a.config)
	if err != nil {
		return err
	}
	options := doctor.Options{Config: cfg, File: a.config, Postfix: c.Postfix}
	found, err := doctor.Audit(context.Background(), options)
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
	if c.Probe {
		return c.probe(a, options)
	}
	return nil
}

// probeLine is a probe in JSON. All keys are always there.
type probeLine struct {
	Claim   string        `json:"probe"`
	Service string        `json:"service"`
	Mailbox string        `json:"mailbox"`
	Result  doctor.Result `json:"result"`
	What    string        `json:"what"`
}

func (c *doctorCmd) probe(a *app, options doctor.Options) error {
	store, err := reader(a)
	if err != nil {
		return err
	}
	defer store.Close()
	start := time.Now()
	recorded := func(ctx context.Context, policy, address string) (string, error) {
		records, err := store.List(ctx, quarantine.Filter{Policy: policy, Reason: verdict.Unlisted, Since: start})
		for _, r := range records {
			if r.Address == address {
				return r.ID, nil
			}
		}
		return "", err
	}
	probes, err := doctor.Send(context.Background(), options, recorded)
	if err != nil {
		return err
	}
	stamped, err := c.stamped(a, options)
	if err != nil {
		return err
	}
	for _, p := range append(probes, stamped) {
		if p.Result == doctor.Failed {
			a.worst(exitNo)
		}
		if c.asJSON(a) {
			if err := a.object(probeLine(p)); err != nil {
				return err
			}
			continue
		}
		a.print("%-8s  %-8s  %s  %s  %s", p.Result, p.Claim, dash(p.Service), dash(p.Mailbox), p.What)
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
	return fmt.Sprintf("bypass %d, loss %d, note %d; after a change of Postfix's config: postfix reload",
		counts[doctor.Bypass], counts[doctor.Loss], counts[doctor.Note])
}

// stamped sends the message of a listed sender, if stile would accept it.
func (c *doctorCmd) stamped(a *app, options doctor.Options) (doctor.Probe, error) {
	probe := doctor.Probe{Claim: "stamped", Result: doctor.Unproved,
		What: "it takes a message that a listed sender's domain has signed: --signed FILE"}
	if c.Signed == "" {
		return probe, nil
	}
	cfg := options.Config
	m, err := a.open(c.Signed, cfg.MaxMessage)
	if err != nil {
		return probe, err
	}
	defer m.close()
	raw, err := io.ReadAll(io.NewSectionReader(m.raw, 0, cfg.MaxMessage))
	if err != nil {
		return probe, fmt.Errorf("%s: %s", c.Signed, cause(err))
	}
	text := string(raw)
	if !strings.Contains(text, "\r\n") {
		text = strings.ReplaceAll(text, "\n", "\r\n")
	}
	split, err := m.split(true)
	if err != nil {
		return probe, err
	}
	resolver, err := dns.New(dns.Config{Servers: cfg.DNS})
	if err != nil {
		return probe, err
	}
	for _, box := range cfg.Mailboxes {
		court := &court{policy: box.Policy(), env: verdict.Env{Now: time.Now(), MaxMessage: cfg.MaxMessage, Lookup: resolver.LookupTXT}}
		j := court.judge(c.Signed, split)
		if accepted := j.verdict.Accepted(); accepted != nil {
			return doctor.SendSigned(context.Background(), options, box, accepted.Entry(), text)
		}
		probe.What = fmt.Sprintf("no mailbox accepts %s; %s says %s", c.Signed, box.ID, j.line())
	}
	return probe, nil
}
