package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"filippo.io/age"

	"stile/config"
	"stile/fence"
	"stile/quarantine"
)

type evidenceCmd struct {
	List evidenceListCmd `cmd:"" help:"Print which originals are kept, newest first."`
	Open evidenceOpenCmd `cmd:"" help:"Write one original into a file."`
}

// evidenceDir is the config's directory of originals.
func evidenceDir(a *app) (string, error) {
	cfg, err := config.Load(a.config)
	if err != nil {
		return "", err
	}
	return cfg.Evidence.Dir, nil
}

// originalLine is an original in JSON. All keys are always there.
type originalLine struct {
	ID          string          `json:"id"`
	Time        time.Time       `json:"time"`
	Size        int64           `json:"size"`
	Kind        quarantine.Kind `json:"kind"`
	AddressHash string          `json:"addr"`
	Policy      string          `json:"policy"`
}

type evidenceListCmd struct {
	listing
	Policy string `placeholder:"ID" help:"Only those that this mailbox was the first to have kept."`
}

func (*evidenceListCmd) Help() string {
	return `Prints what is kept sealed: the id, when the message came, the size of the sealed
file, whether it was accepted, claimed a listed sender or was other mail, the hash of
the claimed address as in the records, and the mailbox, with +N where N more have it
kept. No key is needed, and it can be used while stile runs.

Example:

    stile evidence list --policy shopping`
}

func (c *evidenceListCmd) Run(a *app) error {
	dir, err := evidenceDir(a)
	if err != nil {
		return err
	}
	all, err := quarantine.Originals(dir)
	if err != nil {
		return fmt.Errorf("evidence: %s: %w", dir, err)
	}
	if !c.asJSON(a) {
		a.print("%-20s  %10s  %-8s  %-8s  %-16s  %s", "TIME", "SIZE", "KIND", "ADDR", "POLICY", "ID")
	}
	for _, o := range all {
		if c.Policy != "" && o.Policy != c.Policy {
			continue
		}
		if c.asJSON(a) {
			if err := a.object(originalLine{o.ID, o.Time(), o.Size, o.Kind, o.AddressHash, o.Policies()}); err != nil {
				return err
			}
			continue
		}
		a.print("%-20s  %10d  %-8s  %-8s  %-16s  %s", o.Time().Format(time.RFC3339), o.Size, o.Kind, dash(o.AddressHash),
			o.Policies(), o.ID)
	}
	return nil
}

type evidenceOpenCmd struct {
	ID       string `arg:"" help:"The id, as in the list, the log and the records."`
	Identity string `short:"i" required:"" placeholder:"IDENTITY" help:"The file with the private key, as age-keygen makes it."`
	Output   string `short:"o" name:"output" required:"" placeholder:"FILE" help:"Where the original goes; the file must not be there yet."`
	Fenced   bool   `help:"Write it neutralised: each line escaped, behind a prefix, between two markers."`
}

func (*evidenceOpenCmd) Help() string {
	return `Writes an original, byte for byte as stile was handed it, into a new file of mode
0600. It may say anything to whoever reads it, so it never goes to a terminal, and no
agent should be given the file; with --fenced it can be looked at. Exit 1 if there is
no such original or the key does not open it.

Example:

    stile evidence open 01K6ZV3M5T8Q2W4X6Y7Z9ABCDE -i key.txt -o message.eml`
}

func (c *evidenceOpenCmd) Run(a *app) error {
	if c.Output == "-" {
		return errors.New("-o: an original is written into a file, never to a terminal or a pipe")
	}
	identities, err := readIdentities(c.Identity)
	if err != nil {
		return err
	}
	dir, err := evidenceDir(a)
	if err != nil {
		return err
	}
	sealed, o, err := quarantine.OpenOriginal(dir, c.ID)
	if errors.Is(err, quarantine.ErrNotFound) {
		a.no("no original has that id")
		return nil
	}
	if err != nil {
		return fmt.Errorf("evidence: %s: %w", dir, err)
	}
	defer sealed.Close()
	plain, err := age.Decrypt(sealed, identities...)
	// The library's texts are not passed on: they may quote the file.
	var none *age.NoIdentityMatchError
	if errors.As(err, &none) {
		a.no("the key in " + c.Identity + " does not open it")
		return nil
	}
	if err != nil {
		return errDamagedOriginal
	}
	err = writeStream(c.Output, func(w io.Writer) error {
		if c.Fenced {
			return writeFenced(w, plain, o)
		}
		_, err := io.Copy(w, plain)
		return err
	})
	if err != nil {
		return err
	}
	a.print("%s", c.Output)
	return nil
}

// no says why the answer is no.
func (a *app) no(why string) {
	a.worst(exitNo)
	fmt.Fprintln(a.stderr, fence.Escape("stile: "+why))
}

// readIdentities reads private keys. What is wrong with the file is told
// without a byte of it.
func readIdentities(path string) ([]age.Identity, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("the identity %s cannot be read: %s", path, cause(err))
	}
	defer f.Close()
	identities, err := age.ParseIdentities(io.LimitReader(f, maxKeyFile))
	if err != nil {
		return nil, fmt.Errorf("%s holds no private key as age-keygen makes it; one under a passphrase is opened with age -d first", path)
	}
	return identities, nil
}

var errDamagedOriginal = errors.New("the sealed original is damaged and was not opened")

// writeStream writes a file that is not there yet, mode 0600, to the disk. When
// write fails, nothing is left.
func writeStream(path string, write func(io.Writer) error) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return fmt.Errorf("%s is there already and is not overwritten", path)
	}
	if err != nil {
		return fmt.Errorf("%s cannot be written: %s", path, cause(err))
	}
	out := &sink{f: f}
	if err := write(out); err != nil {
		why := errDamagedOriginal
		if out.err != nil {
			why = fmt.Errorf("%s cannot be written: %s", path, cause(out.err))
		}
		return errors.Join(why, f.Close(), os.Remove(path))
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return errors.Join(fmt.Errorf("%s cannot be written: %s", path, cause(err)), os.Remove(path))
	}
	return nil
}

// sink tells an error of the file from one of what is written into it.
type sink struct {
	f   *os.File
	err error
}

func (s *sink) Write(p []byte) (int, error) {
	n, err := s.f.Write(p)
	if err != nil {
		s.err = err
	}
	return n, err
}
