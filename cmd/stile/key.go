package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"stile/config"
	"stile/stamp"
)

// maxKeyFile is far beyond a key with its comments.
const maxKeyFile = 64 << 10

type keyCmd struct {
	Generate keyGenerateCmd `cmd:"" help:"Make a key: the private one and, beside it, the public one."`
	Show     keyShowCmd     `cmd:"" help:"Print the public key."`
}

type keyGenerateCmd struct {
	Output string `short:"o" name:"output" required:"" placeholder:"FILE" help:"Where the private key goes; the file must not be there yet."`
	Name   string `placeholder:"NAME" help:"The key's name, which stands in every seal (default: this host's name)."`
}

func (*keyGenerateCmd) Help() string {
	return `The private key is written with mode 0600. The public key is printed and written
beside it, world-readable: /etc/stile/seal.pub beside /etc/stile/seal.key. Readers of
the mailbox need the public key alone.

Example:

    stile key generate -o /etc/stile/seal.key`
}

func (c *keyGenerateCmd) Run(a *app) error {
	name := c.Name
	if name == "" {
		host, err := os.Hostname()
		if err != nil {
			return errors.New("the host has no name; give one with --name")
		}
		name = host
	}
	private, public, err := stamp.GenerateKey(name)
	if err != nil {
		return err
	}
	beside := publicBeside(c.Output)
	if err := writeNew(c.Output, private+"\n", 0o600); err != nil {
		return err
	}
	if err := writeNew(beside, public+"\n", 0o644); err != nil {
		// Half a pair would stand in the way of the next attempt.
		return errors.Join(err, os.Remove(c.Output))
	}
	a.print("%s", public)
	return nil
}

// publicBeside is where the public key of a private key file stands.
func publicBeside(private string) string { return strings.TrimSuffix(private, ".key") + ".pub" }

// writeNew writes a file that is not there yet, to the disk.
func writeNew(path, text string, mode fs.FileMode) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s is there already and is not overwritten", path)
	}
	if err != nil {
		return fmt.Errorf("%s cannot be written: %s", path, cause(err))
	}
	_, err = f.WriteString(text)
	// The umask of whoever calls must not hide the public key from its readers.
	err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close())
	if err != nil {
		return errors.Join(fmt.Errorf("%s cannot be written: %s", path, cause(err)), os.Remove(path))
	}
	return nil
}

type keyShowCmd struct {
	File string `arg:"" optional:"" help:"The private key (default: the config's seal_key)."`
}

func (*keyShowCmd) Help() string {
	return `Prints the public half of the private key.

Example:

    stile key show
    stile key show ./seal.key`
}

func (c *keyShowCmd) Run(a *app) error {
	path := c.File
	if path == "" {
		cfg, err := config.Load(a.config)
		if err != nil {
			return err
		}
		path = cfg.SealKey
	}
	private, err := readKey(path)
	if err != nil {
		return err
	}
	public, err := stamp.PublicKey(private)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	a.print("%s", public)
	return nil
}

// readKey reads the text of a private key file. What is wrong with it is told
// without a byte of it.
func readKey(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", fmt.Errorf("the key %s cannot be read: %s; stile key generate -o %s makes one", path, cause(err), filepath.Clean(path))
	}
	if info.Size() > maxKeyFile {
		return "", fmt.Errorf("%s is longer than a key", path)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("the key %s cannot be read: %s", path, cause(err))
	}
	return string(text), nil
}

// handedOver is where systemd put a file that the unit hands over under its own
// name (LoadCredential=, systemd.exec(5)), or else the path itself. So the key
// can be root's alone.
func handedOver(path string) string {
	folder := os.Getenv("CREDENTIALS_DIRECTORY")
	if folder == "" {
		return path
	}
	credential := filepath.Join(folder, filepath.Base(path))
	if _, err := os.Stat(credential); err != nil {
		return path
	}
	return credential
}

// sealer makes the sealer of the config's key.
func sealer(path string) (*stamp.Sealer, error) {
	path = handedOver(path)
	private, err := readKey(path)
	if err != nil {
		return nil, err
	}
	s, err := stamp.NewSealer(private)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}
