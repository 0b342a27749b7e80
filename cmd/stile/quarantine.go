package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"stile/config"
	"stile/quarantine"
	"stile/verdict"
)

type quarantineCmd struct {
	List  quarantineListCmd  `cmd:"" help:"Print the records, newest first."`
	Show  quarantineShowCmd  `cmd:"" help:"Print the records of one message."`
	Stats quarantineStatsCmd `cmd:"" help:"Count the records by mailbox and code."`
	Purge quarantinePurgeCmd `cmd:"" help:"Delete records."`

	Sightings quarantineSightingsCmd `cmd:"" help:"Print what accepted messages hid, newest first."`
}

// reader opens the config's store for reading.
func reader(a *app) (*quarantine.Reader, error) {
	cfg, err := config.Load(a.config)
	if err != nil {
		return nil, err
	}
	r, err := quarantine.OpenReader(context.Background(), cfg.Store)
	if err != nil {
		return nil, fmt.Errorf("store: %s: %w", cfg.Store, err)
	}
	return r, nil
}

// recordLine is a record in JSON. All keys are always there.
type recordLine struct {
	ID           string         `json:"id"`
	Time         time.Time      `json:"time"`
	Last         time.Time      `json:"last"`
	Count        int64          `json:"count"`
	Policy       string         `json:"policy"`
	Reason       verdict.Reason `json:"reason"`
	Address      string         `json:"address"`
	AddressHash  string         `json:"addr"`
	Proved       string         `json:"proved"`
	ClaimsListed bool           `json:"claims_listed"`
	Signer       string         `json:"signer"`
	Size         int64          `json:"size"`
	SHA256       string         `json:"sha256"`
	QueueID      string         `json:"queue_id"`
	ClientIP     string         `json:"client_ip"`
	Evidence     string         `json:"evidence"`
}

func lineOf(r quarantine.Record) recordLine {
	return recordLine{
		ID: r.ID, Time: r.Time.UTC(), Last: r.Last.UTC(), Count: r.Count, Policy: r.Policy, Reason: r.Reason,
		Address: r.Address, AddressHash: r.AddressHash, Proved: r.Proved, ClaimsListed: r.ClaimsListed, Signer: r.Signer,
		Size: r.Size, SHA256: r.SHA256, QueueID: r.QueueID, ClientIP: r.ClientIP, Evidence: r.Evidence,
	}
}

type quarantineListCmd struct {
	listing
	Policy string `placeholder:"ID" help:"Only those of this mailbox."`
	Reason string `placeholder:"CODE" help:"Only those with this code."`
	Since  string `placeholder:"RFC3339" help:"Only those first seen at this time or later."`
	Limit  int    `default:"100" placeholder:"N" help:"At most so many; 0 is all (default: ${default})."`
}

func (*quarantineListCmd) Help() string {
	return `Prints what is known of refused mail. No text of a message is kept, so none is
printed. It can be used while stile runs.

Example:

    stile quarantine list --policy shopping --reason unlisted`
}

func (c *quarantineListCmd) Run(a *app) error {
	filter, err := c.filter()
	if err != nil {
		return err
	}
	r, err := reader(a)
	if err != nil {
		return err
	}
	defer r.Close()
	records, err := r.List(context.Background(), filter)
	if err != nil {
		return err
	}
	if !c.asJSON(a) {
		a.print("%-20s  %5s  %-12s  %-16s  %-32s  %s", "LAST", "COUNT", "POLICY", "REASON", "ADDRESS", "ID")
	}
	for _, record := range records {
		if c.asJSON(a) {
			if err := a.object(lineOf(record)); err != nil {
				return err
			}
			continue
		}
		a.print("%-20s  %5d  %-12s  %-16s  %-32s  %s", record.Last.UTC().Format(time.RFC3339), record.Count,
			record.Policy, record.Reason, dash(record.Address), record.ID)
	}
	return nil
}

func (c *quarantineListCmd) filter() (quarantine.Filter, error) {
	f := quarantine.Filter{Policy: c.Policy, Reason: verdict.Reason(c.Reason), Limit: c.Limit}
	if c.Reason != "" && !slices.Contains(verdict.Refusals, f.Reason) {
		return f, fmt.Errorf("--reason: %q is no code of a refusal", c.Reason)
	}
	if c.Limit < 0 {
		return f, errors.New("--limit: a number below zero")
	}
	var err error
	f.Since, err = since(c.Since)
	return f, err
}

// since reads the value of --since.
func since(value string) (time.Time, error) {
	if value == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.RFC3339, value)
	if err != nil {
		return t, fmt.Errorf("--since: %q is no RFC 3339 time; write it as 2026-11-30T20:57:13Z", value)
	}
	return t, nil
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

type quarantineShowCmd struct {
	listing
	ID string `arg:"" help:"The id, as in the log, the reply and the list."`
}

func (*quarantineShowCmd) Help() string {
	return `Prints the records of one message, one for each mailbox that refused it. Exit 1 if
there is none.

Example:

    stile quarantine show 01K6ZV3M5T8Q2W4X6Y7Z9ABCDE`
}

func (c *quarantineShowCmd) Run(a *app) error {
	r, err := reader(a)
	if err != nil {
		return err
	}
	defer r.Close()
	records, err := r.Get(context.Background(), c.ID)
	if errors.Is(err, quarantine.ErrNotFound) {
		a.worst(exitNo)
		fmt.Fprintln(a.stderr, "stile: no record has that id")
		return nil
	}
	if err != nil {
		return err
	}
	for i, record := range records {
		if c.asJSON(a) {
			if err := a.object(lineOf(record)); err != nil {
				return err
			}
			continue
		}
		if i > 0 {
			a.print("")
		}
		a.printRecord(record)
	}
	return nil
}

func (a *app) printRecord(r quarantine.Record) {
	for _, l := range []struct {
		name  string
		value any
	}{
		{"id", r.ID}, {"time", r.Time.UTC().Format(time.RFC3339)}, {"last", r.Last.UTC().Format(time.RFC3339)},
		{"count", r.Count}, {"policy", r.Policy}, {"reason", r.Reason}, {"address", dash(r.Address)},
		{"addr", dash(r.AddressHash)}, {"proved", r.Proved}, {"claims listed", r.ClaimsListed}, {"signer", dash(r.Signer)},
		{"size", r.Size}, {"sha256", dash(r.SHA256)}, {"queue id", dash(r.QueueID)}, {"client ip", dash(r.ClientIP)},
		{"evidence", r.Evidence},
	} {
		a.print("%-14s %v", l.name, l.value)
	}
}

type quarantineStatsCmd struct {
	listing
}

func (*quarantineStatsCmd) Help() string {
	return `Counts records, and the messages folded in them, by mailbox and code.

Example:

    stile quarantine stats`
}

type statLine struct {
	Policy   string         `json:"policy"`
	Reason   verdict.Reason `json:"reason"`
	Records  int64          `json:"records"`
	Messages int64          `json:"messages"`
}

func (c *quarantineStatsCmd) Run(a *app) error {
	r, err := reader(a)
	if err != nil {
		return err
	}
	defer r.Close()
	stats, err := r.Stats(context.Background())
	if err != nil {
		return err
	}
	if !c.asJSON(a) {
		a.print("%-12s  %-16s  %8s  %8s", "POLICY", "REASON", "RECORDS", "MESSAGES")
	}
	for _, s := range stats {
		if c.asJSON(a) {
			if err := a.object(statLine{s.Policy, s.Reason, s.Records, s.Messages}); err != nil {
				return err
			}
			continue
		}
		a.print("%-12s  %-16s  %8d  %8d", s.Policy, s.Reason, s.Records, s.Messages)
	}
	return nil
}

type quarantinePurgeCmd struct {
	Before string `placeholder:"RFC3339" xor:"which" help:"Delete the records first seen before this time."`
	All    bool   `xor:"which" required:"" help:"Delete every record."`
	Yes    bool   `help:"It is meant; without it nothing is deleted."`
}

func (*quarantinePurgeCmd) Help() string {
	return `Deletes records for good. stile deletes those over records.keep and records.max by
itself. Sightings go with the records of their time.

Example:

    stile quarantine purge --before 2026-10-01T00:00:00Z --yes`
}

func (c *quarantinePurgeCmd) Run(a *app) error {
	if c.Before == "" && !c.All {
		return errors.New("give --before RFC3339 or --all")
	}
	// A record that is written meanwhile is not one that was meant.
	before := time.Now()
	if c.Before != "" {
		t, err := time.Parse(time.RFC3339, c.Before)
		if err != nil {
			return fmt.Errorf("--before: %q is no RFC 3339 time; write it as 2026-11-30T20:57:13Z", c.Before)
		}
		before = t
	}
	if !c.Yes {
		return errors.New("records are deleted for good; add --yes if that is meant")
	}
	cfg, err := config.Load(a.config)
	if err != nil {
		return err
	}
	// Opening for reading creates nothing: there is nothing to purge in a store
	// that is not there.
	r, err := quarantine.OpenReader(context.Background(), cfg.Store)
	if err != nil {
		return fmt.Errorf("store: %s: %w", cfg.Store, err)
	}
	if err := r.Close(); err != nil {
		return err
	}
	s, err := quarantine.Open(context.Background(), cfg.Store, quarantine.Limits{})
	if err != nil {
		return fmt.Errorf("store: %s: %w", cfg.Store, err)
	}
	deleted, err := s.Purge(context.Background(), before)
	if err != nil {
		return errors.Join(err, s.Close())
	}
	a.print("%d deleted", deleted)
	return s.Close()
}
