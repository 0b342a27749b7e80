package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"

	"filippo.io/age"

	"stile/config"
	"stile/stamp"
)

type initCmd struct {
	Mailbox   string   `placeholder:"ADDR" help:"The mailbox to guard."`
	Senders   []string `name:"sender" placeholder:"ADDR" help:"Whose mail is to be shown; as often as needed."`
	AgentOnly *bool    `negatable:"" help:"Only an agent reads the mailbox: the fence becomes the body."`
	ID        string   `placeholder:"ID" help:"The policy's name (default: of the mailbox)."`
	Hostname  string   `placeholder:"NAME" help:"The name of this host (default: Postfix's myhostname)."`
	Recipient []string `name:"evidence-recipient" placeholder:"KEY" help:"A public key of age that can open the kept originals; without one a pair is made."`
	Identity  string   `name:"evidence-key" default:"stile-evidence.key" placeholder:"FILE" help:"Where the private half of that pair goes (default: ${default})."`
	Postfix   string   `placeholder:"DIR" help:"Postfix's configuration directory (default: postconf's own)."`
	Wiring    string   `placeholder:"a|b" enum:",a,b" default:"" help:"a: the agents' domain alone, through a server of its own; b: every message (default: a, where the domain can be routed)."`
	Apply     bool     `help:"Wire Postfix, instead of printing the commands that do."`
}

func (*initCmd) Help() string {
	return `Writes a commented config, makes the key that seals stamps and a key pair for the kept
originals, and prints the commands that wire Postfix. What no flag says is asked on a
terminal, and else found out of Postfix: this host's name, its other names and
addresses, the recipient delimiter, the queue directory. No file is overwritten. The
keys lie beside the config (-c); the private half of the evidence pair is to leave this
host.

Example:

    stile init --mailbox shopping@agents.example --sender friend@example.org
    stile init --mailbox shopping@agents.example --sender friend@example.org --wiring a --apply`
}

func (c *initCmd) Run(a *app) error {
	if err := c.ask(a); err != nil {
		return err
	}
	mta, err := findMTA(context.Background(), c.Postfix)
	if err != nil {
		return err
	}
	s, err := c.plan(a, mta)
	if err != nil {
		return err
	}
	// A Postfix that cannot be wired is told of before anything is written.
	commands, err := mta.wire(c.Wiring, s.domain, true)
	if err != nil {
		return err
	}
	if err := s.write(); err != nil {
		return err
	}
	s.report(a)
	if c.Apply {
		if _, err := mta.wire(c.Wiring, s.domain, false); err != nil {
			return err
		}
	}
	c.reportWiring(a, mta, commands)
	return nil
}

// setup is what init writes.
type setup struct {
	config, sealKey, identity string // paths; identity "" is none
	values                    map[string]string
	private, public           string // the key that seals
	secret                    string // the identity's text
	domain                    string // of the mailbox
}

// plan settles every value before anything is written.
func (c *initCmd) plan(a *app, mta *mta) (*setup, error) {
	local, domain, _ := cutAddress(c.Mailbox)
	if c.ID == "" {
		c.ID = policyID(local)
	}
	if c.Hostname == "" {
		c.Hostname = mta.hostname
	}
	if c.Wiring == "" {
		c.Wiring = mta.wiring(domain)
	}
	// The config names the key for a daemon that starts in another folder.
	path, err := filepath.Abs(a.config)
	if err != nil {
		return nil, fmt.Errorf("%s: %s", a.config, cause(err))
	}
	s := &setup{config: path, domain: domain, sealKey: filepath.Join(filepath.Dir(path), "seal.key")}
	if s.private, s.public, err = stamp.GenerateKey(c.Hostname); err != nil {
		return nil, err
	}
	if len(c.Recipient) == 0 {
		pair, err := age.GenerateX25519Identity()
		if err != nil {
			return nil, errors.New("a key pair cannot be made: the system gives no random octets")
		}
		s.identity, s.secret = c.Identity, pair.String()
		c.Recipient = []string{pair.Recipient().String()}
	}
	render := "header"
	if *c.AgentOnly {
		render = "body"
	}
	s.values = map[string]string{
		"listen":              quote("unix:" + filepath.Join(mta.queue, "stile/stile.sock")),
		"hostname":            quote(c.Hostname),
		"seal_key":            quote(s.sealKey),
		"recipient_delimiter": quote(mta.delimiter),
		"same_domain":         sameDomain(domain, mta.sameAs(domain)),
		"evidence.recipients": quoteAll(c.Recipient),
		"mailbox.id":          quote(c.ID),
		"mailbox.address":     quote(c.Mailbox),
		"mailbox.senders":     quoteAll(c.Senders),
		"mailbox.render":      quote(render),
	}
	return s, nil
}

// write writes the files, all or none.
func (s *setup) write() (err error) {
	var made []string
	defer func() {
		if err != nil {
			for _, path := range made {
				err = errors.Join(err, os.Remove(path))
			}
		}
	}()
	if err := os.MkdirAll(filepath.Dir(s.config), 0o755); err != nil {
		return fmt.Errorf("%s cannot be made: %s", filepath.Dir(s.config), cause(err))
	}
	for _, f := range []struct {
		path, text string
		mode       fs.FileMode
	}{
		{s.sealKey, s.private + "\n", 0o600},
		{publicBeside(s.sealKey), s.public + "\n", 0o644},
		{s.identity, s.secret + "\n", 0o600},
		{s.config, config.Sample(s.values), 0o644},
	} {
		if f.path == "" {
			continue
		}
		if err := writeNew(f.path, f.text, f.mode); err != nil {
			return err
		}
		made = append(made, f.path)
	}
	// What is written is what serve will read: with a fault in it nothing stays.
	if _, err := config.Load(s.config); err != nil {
		return err
	}
	return ownedByAccount(s.sealKey)
}

// ownedByAccount gives the key to the account that stile runs under, where
// there is one and we may.
func ownedByAccount(path string) error {
	account, err := user.Lookup("stile")
	if err != nil || os.Geteuid() != 0 {
		return nil
	}
	uid, err1 := strconv.Atoi(account.Uid)
	gid, err2 := strconv.Atoi(account.Gid)
	if err := errors.Join(err1, err2, os.Chown(path, uid, gid)); err != nil {
		return fmt.Errorf("%s cannot be given to the account stile: %s", path, cause(err))
	}
	return nil
}

// report says what was written.
func (s *setup) report(a *app) {
	a.print("wrote %s", s.config)
	a.print("wrote %s, and %s for whoever reads the mailbox", s.sealKey, publicBeside(s.sealKey))
	if s.identity != "" {
		a.print("wrote %s, which opens the kept originals: take it off this host, to where", s.identity)
		a.print("  you will look at them, and remove it here (shred -u %s)", s.identity)
	}
}

// reportWiring says what became of Postfix and what is to be done now.
func (c *initCmd) reportWiring(a *app, mta *mta, commands []string) {
	if !mta.found {
		a.print("found no Postfix here: same_domain and recipient_delimiter are to be set by hand")
		return
	}
	if c.Apply {
		a.print("wired Postfix (%s); start stile, then: postfix reload", c.Wiring)
		return
	}
	a.print("these commands wire Postfix (%s); --apply would have run them:", c.Wiring)
	for _, line := range commands {
		a.print("  %s", line)
	}
	a.print("run them, start stile, then: postfix reload")
}

// policyID makes a policy's name of a local part.
func policyID(local string) string {
	id := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(local))
	id = strings.Trim(id[:min(len(id), 32)], "-")
	if id == "" || id == "none" {
		return "mailbox"
	}
	return id
}

func cutAddress(address string) (local, domain string, ok bool) {
	at := strings.LastIndexByte(address, '@')
	if at < 0 {
		return address, "", false
	}
	return address[:at], strings.ToLower(address[at+1:]), true
}

// quote is a TOML string. What Go escapes otherwise than TOML is no value of
// any key, and is told when the config is loaded.
func quote(s string) string { return strconv.Quote(s) }

func quoteAll(all []string) string {
	quoted := make([]string, len(all))
	for i, s := range all {
		quoted[i] = quote(s)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

func sameDomain(domain string, names []string) string {
	if len(names) == 0 {
		return "{}"
	}
	return "{ " + quote(domain) + " = " + quoteAll(names) + " }"
}
