package rig

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"filippo.io/age"
)

// owner is who may read the originals. The private key lies beside stile's
// state, not in it.
type owner struct {
	dir    string
	public string
}

// begin makes the owner's directory and key.
func (o *owner) begin(dir string, n ids) error {
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		return fmt.Errorf("rig: %w", err)
	}
	o.dir, o.public = dir, identity.Recipient().String()
	if err := os.Mkdir(dir, 0o700); err != nil {
		return fmt.Errorf("rig: %w", err)
	}
	if err := os.WriteFile(o.key(), []byte(identity.String()+"\n"), 0o600); err != nil {
		return fmt.Errorf("rig: %w", err)
	}
	// The commands run as stile does.
	for _, path := range []string{dir, o.key()} {
		if err := os.Chown(path, n.stileUID, n.stileGID); err != nil {
			return fmt.Errorf("rig: %w", err)
		}
	}
	return nil
}

func (o *owner) key() string { return filepath.Join(o.dir, "key.txt") }

// Sealed waits until so many originals lie in stile's evidence directory.
func (s *Stile) Sealed(ctx context.Context, n int) error {
	dir := filepath.Join(s.State, "evidence")
	err := Until(ctx, func() (bool, error) {
		all, err := filepath.Glob(filepath.Join(dir, "[^.]*.age")) // .sealing-* is not finished
		return len(all) >= n, err
	}, dir)
	if err != nil {
		return fmt.Errorf("rig: no %d originals in %s: %w", n, dir, err)
	}
	return nil
}

// Original opens a sealed original as its owner does.
func (s *Stile) Original(ctx context.Context, id string) (string, error) {
	file := filepath.Join(s.owner.dir, "original.eml")
	out, err := s.Run(ctx, "", "evidence", "open", id, "-i", s.owner.key(), "-o", file, "-c", s.Config)
	if err != nil {
		return "", err
	}
	if out.Exit != 0 {
		return "", fmt.Errorf("rig: stile evidence open: exit %d: %s", out.Exit, out.Stderr)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("rig: %w", err)
	}
	return string(text), os.Remove(file)
}
