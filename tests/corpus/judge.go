package corpus

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"stile/verdict"
)

// Policies are the switches of the mailbox, by the value of the key "policy".
// The list of senders and the mailbox's address are the same in all.
var Policies = map[string]verdict.Policy{
	"sender":    {Addressed: verdict.AddressedOff}, // as with --sender
	"default":   {Addressed: verdict.AddressedSigned, MaxAge: 7 * 24 * time.Hour},
	"signed":    {Addressed: verdict.AddressedSigned},
	"strict":    {Addressed: verdict.AddressedStrict},
	"aged":      {Addressed: verdict.AddressedOff, MaxAge: 7 * 24 * time.Hour},
	"automatic": {Addressed: verdict.AddressedOff, AllowAutomatic: true},
}

// Switches are those of the message's policy, without a list.
func (m *Message) Switches() verdict.Policy { return Policies[cmp.Or(m.Policy, "sender")] }

// policy is what the message is judged by.
func (m *Message) policy() (*verdict.Policy, error) {
	p := m.Switches()
	var err error
	if p.Senders, err = verdict.NewSenders(Senders); err != nil {
		return nil, fmt.Errorf("corpus: %w", err)
	}
	p.Addressee = func(address string) bool { return strings.EqualFold(address, Mailbox) }
	p.RetryWindow = 4 * time.Hour
	return &p, nil
}

// Time is when the message is judged.
func (m *Message) Time() time.Time {
	if m.At.IsZero() {
		return Clock
	}
	return m.At
}

var (
	errBusy = fmt.Errorf("corpus: %w", verdict.ErrBusy)
	errBody = errors.New("corpus: the body cannot be read")
)

// Split is the message as it is handed to judging.
func (m *Message) Split() (verdict.Message, error) {
	split, err := verdict.Split(io.NewSectionReader(bytes.NewReader(m.Raw), 0, int64(len(m.Raw))))
	if err != nil {
		return split, fmt.Errorf("corpus: %s: %w", m.Path, err)
	}
	split.NullSender = m.Null
	if m.Fails == "body" {
		split.Body = io.NewSectionReader(unreadable{}, 0, split.Body.Size())
	}
	return split, nil
}

type unreadable struct{}

func (unreadable) ReadAt([]byte, int64) (int, error) { return 0, errBody }

// Judged is what judging gave.
type Judged struct {
	Case    *verdict.Case
	Verdict verdict.Verdict
	proof   verdict.Proof
}

// Judge judges a message, and the one that it comes after.
func (c *Corpus) Judge(ctx context.Context, m *Message) (Judged, error) {
	j, err := c.judgeAlone(ctx, m)
	if err != nil || m.After == "" {
		return j, err
	}
	first := c.Find(m.After)
	before, err := c.judgeAlone(ctx, first)
	if err != nil {
		return j, err
	}
	if before.Verdict.Outcome() != verdict.Accept || j.Verdict.Outcome() != verdict.Accept {
		return j, fmt.Errorf("corpus: %s after %s: each must be acceptable by itself", m.Path, first.Path)
	}
	var earlier []verdict.Earlier
	for _, s := range j.proof.Signatures {
		if slices.Contains(before.proof.Signatures, s) {
			earlier = append(earlier, verdict.Earlier{Signature: s, Message: before.proof.Message, First: first.Time()})
		}
	}
	p, err := m.policy()
	j.Verdict = j.Case.Again(p, j.Verdict, j.proof, earlier)
	return j, err
}

func (c *Corpus) judgeAlone(ctx context.Context, m *Message) (Judged, error) {
	split, err := m.Split()
	if err != nil {
		return Judged{}, err
	}
	p, err := m.policy()
	if err != nil {
		return Judged{}, err
	}
	env := verdict.Env{Lookup: c.Zone.LookupTXT, Now: m.Time(), MaxMessage: MaxMessage}
	if m.Fails == "bound" {
		env.Lookup = func(context.Context, string) ([]string, error) { return nil, errBusy }
	}
	j := Judged{Case: verdict.Open(split, env)}
	j.Verdict = j.Case.Judge(ctx, p)
	if a := j.Verdict.Accepted(); a != nil {
		if j.proof, err = j.Case.Proof(ctx, a); err != nil {
			return j, fmt.Errorf("corpus: %s: %w", m.Path, err)
		}
	}
	return j, nil
}
