package rig

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// Mailbox is a Maildir that Postfix delivers to.
type Mailbox struct {
	dir  string
	seen map[string]bool
}

// Mailbox is the mailbox of that name, its messages unread.
func (f *Postfix) Mailbox(name string) *Mailbox {
	return &Mailbox{dir: filepath.Join(f.Dir, "mail", name, "new"), seen: map[string]bool{}}
}

// Next returns the path of a message that it has not returned before, and waits
// for one if need be.
func (m *Mailbox) Next(ctx context.Context) (string, error) {
	var path string
	err := Until(ctx, func() (bool, error) {
		unread, err := m.Unread()
		if err != nil || len(unread) == 0 {
			return false, err
		}
		path = unread[0]
		m.seen[filepath.Base(path)] = true
		return true, nil
	}, m.dir)
	if err != nil {
		return "", fmt.Errorf("rig: no message in %s: %w", m.dir, err)
	}
	return path, nil
}

// Unread returns the paths of the messages that Next has not returned.
func (m *Mailbox) Unread() ([]string, error) {
	entries, err := os.ReadDir(m.dir)
	if err != nil {
		return nil, fmt.Errorf("rig: %w", err)
	}
	var out []string
	for _, e := range entries {
		if !m.seen[e.Name()] {
			out = append(out, filepath.Join(m.dir, e.Name()))
		}
	}
	return out, nil
}
