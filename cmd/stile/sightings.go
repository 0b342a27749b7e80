package main

import (
	"context"
	"errors"
	"time"

	"stile/quarantine"
)

type quarantineSightingsCmd struct {
	listing
	Policy string `placeholder:"ID" help:"Only those of this mailbox."`
	Since  string `placeholder:"RFC3339" help:"Only those of this time or later."`
	Limit  int    `default:"100" placeholder:"N" help:"At most so many; 0 is all (default: ${default})."`
}

func (*quarantineSightingsCmd) Help() string {
	return `Prints where accepted messages hid text, of which class and how often; doc/hidden.md
says what counts. The text is not kept: the hash is the same where the same was hidden,
and needs a key that is in the store. It can be used while stile runs.

Example:

    stile quarantine sightings --policy shopping --since 2026-11-30T00:00:00Z`
}

// sightingLine is a sighting in JSON. All keys are always there.
type sightingLine struct {
	ID     string    `json:"id"`
	Time   time.Time `json:"time"`
	Policy string    `json:"policy"`
	Place  string    `json:"place"`
	Class  string    `json:"class"`
	Count  int64     `json:"count"`
	Hash   string    `json:"hash"`
}

func (c *quarantineSightingsCmd) Run(a *app) error {
	if c.Limit < 0 {
		return errors.New("--limit: a number below zero")
	}
	from, err := since(c.Since)
	if err != nil {
		return err
	}
	r, err := reader(a)
	if err != nil {
		return err
	}
	defer r.Close()
	all, err := r.Sightings(context.Background(), quarantine.Filter{Policy: c.Policy, Since: from, Limit: c.Limit})
	if err != nil {
		return err
	}
	if !c.asJSON(a) {
		a.print("%-20s  %-12s  %-15s  %-15s  %5s  %-16s  %s", "TIME", "POLICY", "PLACE", "CLASS", "COUNT", "HASH", "ID")
	}
	for _, s := range all {
		if c.asJSON(a) {
			if err := a.object(sightingLine{s.ID, s.Time.UTC(), s.Policy, s.Place, s.Class, s.Count, s.Hash}); err != nil {
				return err
			}
			continue
		}
		a.print("%-20s  %-12s  %-15s  %-15s  %5d  %-16s  %s", s.Time.UTC().Format(time.RFC3339), s.Policy, s.Place, s.Class,
			s.Count, dash(s.Hash), s.ID)
	}
	return nil
}
