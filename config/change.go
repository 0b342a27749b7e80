package config

import (
	"reflect"
	"slices"

	"golang.org/x/sys/unix"

	"stile/verdict"
)

// List is a file of senders, and the state of it in which it was read.
type List struct {
	Path  string
	State FileState
}

// FileState tells one state of a file from another. The zero value is that of a
// file that is not there.
type FileState struct {
	device, inode     uint64
	size              int64
	modified, changed unix.Timespec
}

// Look is the state of a file now.
func Look(path string) FileState {
	var s unix.Stat_t
	if unix.Stat(path, &s) != nil {
		return FileState{}
	}
	return FileState{device: uint64(s.Dev), inode: s.Ino, size: s.Size, modified: s.Mtim, changed: s.Ctim}
}

// Reread reads the lists again, under the text of the config as it was when c
// was read. The error is that of [Load].
func (c *Config) Reread() (*Config, error) { return load(c.path, c.doc) }

// Change is what is different between two configurations.
type Change struct {
	// Restart are the keys that stile reads when it starts and not again.
	Restart []string
	// Keys are the others, but for those of mailboxes.
	Keys []string
	// Mailboxes are those that are new or different, in the new order.
	Mailboxes []MailboxChange
	// Dropped is what would be guarded no more: the ids of mailboxes that are
	// gone or have lost an address under which mail reaches them, and
	// "guarded_domains" where one of those is gone.
	Dropped []string
}

// MailboxChange is what is different in one mailbox.
type MailboxChange struct {
	ID                           string
	New                          bool
	SendersAdded, SendersRemoved int
	Settings                     bool // whether anything else is different
}

// Compare says what is different in next.
func (c *Config) Compare(next *Config) Change {
	change := Change{
		Restart: different([]value{
			{"listen", c.Listen, next.Listen},
			{"metrics", c.Metrics, next.Metrics},
			{"dns", c.DNS, next.DNS},
			{"store", c.Store, next.Store},
			{"seal_key", c.SealKey, next.SealKey},
			{"evidence", c.Evidence, next.Evidence},
			{"records", c.Records, next.Records},
		}),
		Keys: different([]value{
			{"hostname", c.Hostname, next.Hostname},
			{"recipient_delimiter", c.RecipientDelimiter, next.RecipientDelimiter},
			{"same_domain", c.same, next.same},
			{"guarded_domains", c.guarded, next.guarded},
			{"max_message", c.MaxMessage, next.MaxMessage},
			{"authserv_id", c.AuthservID, next.AuthservID},
		}),
		Dropped: c.dropped(next),
	}
	for _, m := range next.Mailboxes {
		if d, changed := c.mailbox(m.ID).compare(m); changed {
			change.Mailboxes = append(change.Mailboxes, d)
		}
	}
	return change
}

// value is a key's before and after.
type value struct {
	key       string
	old, next any
}

func different(values []value) []string {
	var keys []string
	for _, v := range values {
		if !reflect.DeepEqual(v.old, v.next) {
			keys = append(keys, v.key)
		}
	}
	return keys
}

// mailbox is the one of that id, or nil.
func (c *Config) mailbox(id string) *Mailbox {
	for _, m := range c.Mailboxes {
		if m.ID == id {
			return m
		}
	}
	return nil
}

// compare says what is different in next, and whether anything is. m is nil
// where there was none.
func (m *Mailbox) compare(next *Mailbox) (MailboxChange, bool) {
	d := MailboxChange{ID: next.ID}
	if m == nil {
		d.New = true
		d.SendersAdded = len(next.Senders)
		return d, true
	}
	d.SendersAdded, d.SendersRemoved = beyond(next.Senders, m.Senders), beyond(m.Senders, next.Senders)
	d.Settings = !reflect.DeepEqual(m.settings(), next.settings())
	// The order of the lists and a repeat in them decide nothing.
	return d, d.Settings || d.SendersAdded > 0 || d.SendersRemoved > 0
}

// beyond counts the entries of a that are not in b.
func beyond(a, b []string) int {
	in := make(map[string]bool, len(b))
	for _, e := range b {
		in[e] = true
	}
	n := 0
	for _, e := range a {
		if !in[e] {
			n++
		}
	}
	return n
}

// settings is the mailbox without its senders, and without what is made of the
// rest.
func (m *Mailbox) settings() Mailbox {
	s := *m
	s.Senders = nil
	s.policy.Senders, s.policy.Addressee = verdict.Senders{}, nil
	return s
}

// dropped is what c guards and next does not.
func (c *Config) dropped(next *Config) []string {
	var all []string
	for _, m := range c.Mailboxes {
		gone := func(address string) bool {
			was, _ := c.Resolve(address) // "a+b" has no "a+b+any"
			now, _ := next.Resolve(address)
			return was != nil && now == nil
		}
		if next.mailbox(m.ID) == nil || slices.ContainsFunc(c.reach(m), gone) {
			all = append(all, m.ID)
		}
	}
	for _, domain := range c.GuardedDomains {
		open := func(name string) bool {
			_, guarded := next.Resolve("any@" + name)
			return !guarded
		}
		if slices.ContainsFunc(c.namesOf(domain), open) {
			return append(all, "guarded_domains")
		}
	}
	return all
}

// reach are addresses of every form under which mail reaches m: each of its
// own under each name of its domain, alone and with each delimiter.
func (c *Config) reach(m *Mailbox) []string {
	var all []string
	for _, own := range append([]string{m.Address}, m.Aliases...) {
		local, domain, _ := c.split(own)
		for _, name := range c.namesOf(domain) {
			all = append(all, local+"@"+name)
			for _, delimiter := range c.RecipientDelimiter {
				all = append(all, local+string(delimiter)+"any@"+name)
			}
		}
	}
	return all
}

// namesOf are the domain and the names that stand for it.
func (c *Config) namesOf(domain string) []string {
	names := []string{domain}
	for name, canonical := range c.same {
		if canonical == domain {
			names = append(names, name)
		}
	}
	return names
}
