package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"stile/config"
	"stile/dns"
	"stile/quarantine"
)

type checkCmd struct{}

func (*checkCmd) Help() string {
	return `Loads the config and looks at what it names: the key, the store, the folder of the
originals, the folder of the socket, the resolvers. Starts nothing and writes nothing. Run it as the account that
stile serve runs under. Prints "ok", or warnings (exit 1), or errors (exit 2).

Example:

    stile check -c /etc/stile/stile.toml`
}

func (*checkCmd) Run(a *app) error {
	cfg, err := config.Load(a.config)
	if err != nil {
		return err
	}
	_, keyErr := sealer(cfg.SealKey)
	_, dnsErr := dns.New(dns.Config{Servers: cfg.DNS})
	err = errors.Join(keyErr, checkStore(cfg.Store), checkEvidence(cfg), checkSocket(cfg.Listen), dnsErr)
	for _, w := range cfg.Warnings() {
		a.worst(exitNo)
		a.print("warning: %s", w)
	}
	if err == nil && a.code == exitYes {
		a.print("ok")
	}
	return err
}

// checkStore says whether the store's file, or its folder where there is none
// yet, can be written.
func checkStore(url string) error {
	path := strings.TrimPrefix(url, "sqlite:")
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("store: %s is no regular file", path)
	}
	if err == nil && unix.Access(path, unix.W_OK) != nil {
		return fmt.Errorf("store: %s cannot be written by this account", path)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("store: %s: %s", path, cause(err))
	}
	// The last folder is made when the store is; the one above must be there.
	folder := filepath.Dir(path)
	if _, err := os.Stat(folder); errors.Is(err, fs.ErrNotExist) {
		folder = filepath.Dir(folder)
	}
	return checkFolder("store", folder)
}

// checkEvidence says whether the folder of the originals, or the one above where
// there is none yet, can be written.
func checkEvidence(cfg *config.Config) error {
	if len(cfg.Evidence.Recipients) == 0 {
		return nil
	}
	dir := cfg.Evidence.Dir
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		if err := quarantine.CheckEvidence(dir); err != nil {
			return fmt.Errorf("evidence: %s: %w", dir, err)
		}
		return nil
	}
	// The store's folder is made first, and this one may lie in it.
	above := filepath.Dir(dir)
	if above == filepath.Dir(strings.TrimPrefix(cfg.Store, "sqlite:")) {
		return nil // checkStore looked at it
	}
	return checkFolder("evidence", above)
}

func checkSocket(at config.Endpoint) error {
	if at.Network != "unix" {
		return nil
	}
	info, err := os.Lstat(at.Address)
	if err == nil && info.Mode().Type() != fs.ModeSocket {
		return fmt.Errorf("listen: %s is there and is no socket", at.Address)
	}
	return checkFolder("listen", filepath.Dir(at.Address))
}

func checkFolder(key, folder string) error {
	info, err := os.Stat(folder)
	if err != nil {
		return fmt.Errorf("%s: the folder %s: %s", key, folder, cause(err))
	}
	if !info.IsDir() {
		return fmt.Errorf("%s: %s is no folder", key, folder)
	}
	if unix.Access(folder, unix.W_OK|unix.X_OK) != nil {
		return fmt.Errorf("%s: the folder %s cannot be written by this account", key, folder)
	}
	return nil
}
