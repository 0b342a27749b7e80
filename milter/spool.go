package milter

import (
	"errors"
	"io"
	"os"
)

// spoolMemory is how much of a body is kept in memory.
const spoolMemory = 256 << 10

// spool holds a body: in memory while it is small, else in a file without a
// name, mode 0600, that is gone when the process is. The zero value with a
// directory is an empty one. Reading is safe for concurrent use, writing is
// not.
type spool struct {
	dir    string // where the file is made
	limit  int64  // octets kept; what is over is counted and not kept
	memory []byte
	file   *os.File
	kept   int64
}

// Write keeps p, as far as it is within the limit.
func (s *spool) Write(p []byte) (int, error) {
	whole := len(p)
	if room := s.limit - s.kept; int64(len(p)) > room {
		p = p[:room]
	}
	if s.file == nil && len(s.memory)+len(p) > spoolMemory {
		if err := s.spill(); err != nil {
			return 0, err
		}
	}
	if s.file == nil {
		s.memory = append(s.memory, p...)
	} else if _, err := s.file.Write(p); err != nil {
		return 0, errors.New("milter: spool: the file cannot be written")
	}
	s.kept += int64(len(p))
	return whole, nil
}

// spill moves what is in memory to a file.
func (s *spool) spill() error {
	f, err := unnamed(s.dir)
	if err != nil {
		return err
	}
	if _, err := f.Write(s.memory); err != nil {
		_ = f.Close()
		return errors.New("milter: spool: the file cannot be written")
	}
	s.file, s.memory = f, nil
	return nil
}

// unnamed makes a file of mode 0600 and removes its name.
func unnamed(dir string) (*os.File, error) {
	f, err := os.CreateTemp(dir, "stile-spool-")
	if err != nil {
		return nil, errors.New("milter: spool: the file cannot be made")
	}
	if err := os.Remove(f.Name()); err != nil {
		_ = f.Close()
		return nil, errors.New("milter: spool: the file's name cannot be removed")
	}
	return f, nil
}

// ReadAt reads what was kept.
func (s *spool) ReadAt(p []byte, off int64) (int, error) {
	if s.file != nil {
		return s.file.ReadAt(p, off)
	}
	if off < 0 {
		return 0, errors.New("milter: spool: negative offset")
	}
	if off >= int64(len(s.memory)) {
		return 0, io.EOF
	}
	n := copy(p, s.memory[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// section is the whole of what was kept.
func (s *spool) section() *io.SectionReader { return io.NewSectionReader(s, 0, s.kept) }

// close lets go of what was kept.
func (s *spool) close() {
	if s.file != nil {
		_ = s.file.Close()
	}
	s.file, s.memory, s.kept = nil, nil, 0
}
