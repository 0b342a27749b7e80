package main

import (
	"fmt"
	"io"
	"os"

	"stile/verdict"
)

// message is one message of the command line.
type message struct {
	name string // as it was given
	raw  *io.SectionReader
	file *os.File
}

func (m message) close() { m.file.Close() }

// open opens a message file; "-" is standard input. What is no regular file is
// copied first, limit octets and one more at most: that one shows that the
// message is too large, and nothing behind it would be read.
func (a *app) open(name string, limit int64) (message, error) {
	if name == "-" {
		return spool(name, a.stdin, limit)
	}
	f, err := os.Open(name)
	if err != nil {
		return message{}, fmt.Errorf("%s: %s", name, cause(err))
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return message{}, fmt.Errorf("%s: %s", name, cause(err))
	}
	if !info.Mode().IsRegular() {
		defer f.Close()
		return spool(name, f, limit)
	}
	return message{name, io.NewSectionReader(f, 0, info.Size()), f}, nil
}

// spool copies into a temporary file without a name, so that nothing is left
// behind however the process ends.
func spool(name string, r io.Reader, limit int64) (message, error) {
	f, err := os.CreateTemp("", "stile-")
	if err != nil {
		return message{}, fmt.Errorf("a temporary file cannot be made: %s", cause(err))
	}
	if err := os.Remove(f.Name()); err != nil {
		f.Close()
		return message{}, fmt.Errorf("a temporary file cannot be unlinked: %s", cause(err))
	}
	n, err := io.Copy(f, io.LimitReader(r, limit+1))
	if err != nil {
		f.Close()
		return message{}, fmt.Errorf("%s: %s", name, cause(err))
	}
	return message{name, io.NewSectionReader(f, 0, n), f}, nil
}

// split reads the header.
func (m message) split(nullSender bool) (verdict.Message, error) {
	v, err := verdict.Split(m.raw)
	if err != nil {
		return v, fmt.Errorf("%s: %s", m.name, cause(err))
	}
	v.NullSender = nullSender
	return v, nil
}
