package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"stile/config"
	"stile/dns"
	"stile/verdict"
)

// judging are the flags of the commands that judge message files.
type judging struct {
	Sender   []string `placeholder:"ADDR" sep:"none" help:"A listed sender; may be repeated. No config is read, and To, Cc and the age are not looked at."`
	Mailbox  string   `placeholder:"ADDR" help:"Judge by this mailbox of the config."`
	Zone     string   `placeholder:"FILE" xor:"dns" help:"Look keys up in a master file (RFC 1035)."`
	Resolver string   `placeholder:"HOST:PORT" xor:"dns" help:"Look keys up at this name server."`
	At       string   `placeholder:"RFC3339" help:"Judge as if it were this time."`
	Envelope *string  `placeholder:"ADDR" help:"The envelope sender; <> for none."`
	JSON     bool     `name:"json" help:"Print JSON, one object a line."`
}

// court is judging, ready to judge.
type court struct {
	policy     *verdict.Policy
	env        verdict.Env
	nullSender bool
}

var errWhichPolicy = errors.New("give either --sender ADDR, as often as needed, or --mailbox ADDR")

func (j *judging) court(a *app) (*court, error) {
	if (len(j.Sender) > 0) == (j.Mailbox != "") {
		return nil, errWhichPolicy
	}
	c := &court{env: verdict.Env{Now: time.Now()}}
	if j.Envelope != nil {
		c.nullSender = *j.Envelope == "" || *j.Envelope == "<>"
	}
	if j.At != "" {
		at, err := time.Parse(time.RFC3339, j.At)
		if err != nil {
			return nil, fmt.Errorf("--at: %q is no RFC 3339 time; write it as 2026-11-30T20:57:13Z", j.At)
		}
		c.env.Now = at
	}
	var servers []string
	if j.Mailbox != "" {
		cfg, err := config.Load(a.config)
		if err != nil {
			return nil, err
		}
		m, _ := cfg.Resolve(j.Mailbox)
		if m == nil {
			return nil, fmt.Errorf("--mailbox: %s guards no mailbox %q", a.config, j.Mailbox)
		}
		c.policy, c.env.MaxMessage, servers = m.Policy(), cfg.MaxMessage, cfg.DNS
	} else if err := c.bySenders(j.Sender); err != nil {
		return nil, err
	}
	return c, c.lookUp(j, servers)
}

// bySenders makes the policy of --sender: the switches at their defaults, but
// for what needs a mailbox or the time of delivery.
func (c *court) bySenders(entries []string) error {
	for _, e := range entries {
		if !verdict.ValidAddress(e) {
			return fmt.Errorf("--sender: %q is not an address that a list can hold; write it in full and in ASCII, as friend@example.org", e)
		}
	}
	senders, err := verdict.NewSenders(entries)
	if err != nil {
		return err
	}
	c.policy = &verdict.Policy{Senders: senders, Addressed: verdict.AddressedOff}
	c.env.MaxMessage = config.DefaultMaxMessage
	return nil
}

func (c *court) lookUp(j *judging, servers []string) error {
	if j.Zone != "" {
		f, err := os.Open(j.Zone)
		if err != nil {
			return fmt.Errorf("--zone: %s: %s", j.Zone, cause(err))
		}
		defer f.Close()
		zone, err := dns.ReadZone(f)
		if err != nil {
			return fmt.Errorf("--zone: %s: %w", j.Zone, err)
		}
		c.env.Lookup = zone.LookupTXT
		return nil
	}
	if j.Resolver != "" {
		servers = []string{j.Resolver}
	}
	resolver, err := dns.New(dns.Config{Servers: servers})
	if err != nil {
		return err
	}
	c.env.Lookup = resolver.LookupTXT
	return nil
}

// judged is one judged file.
type judged struct {
	file    string
	verdict verdict.Verdict
	claim   verdict.Claim
	signer  verdict.SignerClass
}

// each judges the files in their order and hands every outcome to report. A
// file that cannot be read is told and the next one is judged.
func (j *judging) each(a *app, files []string, report func(judged) error) error {
	c, err := j.court(a)
	if err != nil {
		return err
	}
	for _, name := range files {
		if err := c.one(a, name, report); err != nil {
			a.fail(err)
		}
	}
	return nil
}

func (c *court) one(a *app, name string, report func(judged) error) error {
	m, err := a.open(name, c.env.MaxMessage)
	if err != nil {
		return err
	}
	defer m.close()
	split, err := m.split(c.nullSender)
	if err != nil {
		return err
	}
	j := c.judge(name, split)
	switch j.verdict.Outcome() {
	case verdict.Accept:
		a.worst(exitYes)
	case verdict.Refuse:
		a.worst(exitNo)
	default:
		a.worst(exitLater)
	}
	return report(j)
}

func (c *court) judge(name string, m verdict.Message) judged {
	opened := verdict.Open(m, c.env)
	v := opened.Judge(context.Background(), c.policy)
	return judged{name, v, opened.Claim(), opened.Signer()}
}

// line is the verdict in one line.
func (j judged) line() string {
	switch v := j.verdict; v.Outcome() {
	case verdict.Accept:
		return "accept " + v.Accepted().Entry()
	case verdict.Refuse:
		if address := j.claim.Reduced(); address != "" {
			return "refuse " + string(v.Reason()) + " " + address
		}
		return "refuse " + string(v.Reason())
	default:
		return "defer " + string(v.Reason())
	}
}

// withheld is what stands in place of the fence.
func (j judged) withheld() string {
	word := "deferred"
	if j.verdict.Outcome() == verdict.Refuse {
		word = "refused"
	}
	return word + " (" + string(j.verdict.Reason()) + "): headers and body not shown"
}
