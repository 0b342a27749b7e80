package config

import (
	"time"

	"filippo.io/age"

	"stile/verdict"
)

// Config is the operator's file, checked. A key whose only built value is its
// default has no field here.
type Config struct {
	Listen   Endpoint
	Metrics  string   // host:port, "" is off
	Hostname string   // an LDH name
	DNS      []string // host:port; none: the system's resolvers
	Store    string   // sqlite:/path
	SealKey  string   // the path of the private key

	RecipientDelimiter string   // each character ends the mailbox's name
	GuardedDomains     []string // canonical, lower case
	MaxMessage         int64    // octets
	AuthservID         string   // RFC 8601, 2.5: an LDH name, "" is none

	Evidence Evidence
	Records  Records

	Mailboxes []*Mailbox // in the file's order, at least one
	Lists     []List     // the files of senders that were read

	path     string              // of the file that this is made of
	doc      []byte              // its text
	same     map[string]string   // a name of this host, lower case → its canonical domain
	guarded  map[string]bool     // GuardedDomains
	known    map[string]*Mailbox // canonical address → mailbox, addresses and aliases
	warnings []Warning
}

// Endpoint is where the milter listens.
type Endpoint struct {
	Network string // "unix", "tcp" or "systemd"
	Address string // a path or host:port, "" for systemd
}

// Evidence says what becomes of the originals. Either None holds, or there are
// Recipients, or no mailbox asks for originals to be kept.
type Evidence struct {
	Recipients []age.Recipient // who can open them; none: nothing is kept
	Dir        string
	Keep       time.Duration
	MaxBytes   int64 // octets of all of them, sealed
	None       bool  // it is written out that nothing is kept
}

// Records bounds the quarantine store.
type Records struct {
	Keep time.Duration
	Max  int64 // rows
}

// Mailbox is one guarded mailbox.
type Mailbox struct {
	ID      string // [a-z0-9][a-z0-9-]{0,31}
	Address string // the operator's spelling
	Aliases []string

	// AlsoAddressed are addresses elsewhere that forward here. They count in
	// To and Cc and are no recipients.
	AlsoAddressed []string

	Senders []string // the operator's spelling; senders, then senders_file

	// Reject says that refused mail is answered 550 where that is possible.
	Reject bool

	// Body says that accepted mail is replaced by its fence (render = "body").
	Body      bool
	BodyLimit int64 // octets of that fence

	policy verdict.Policy
}

// Policy is what the mailbox asks of a message.
func (m *Mailbox) Policy() *verdict.Policy { return &m.policy }

// Warnings are what is allowed and probably not meant, in the order of the lines.
func (c *Config) Warnings() []Warning { return c.warnings }
