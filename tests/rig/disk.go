package rig

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// disk is a small file system, where the machine lets us mount one. Elsewhere,
// as in most containers, a full disk is a limit on the size of the daemon's
// files (setrlimit(2), RLIMIT_FSIZE): every write that makes a file grow fails
// then as well, with another error number.
type disk struct {
	dir string // where it is mounted; "": nowhere
}

// mount mounts a file system of that size, if we may.
func (d *disk) mount(dir string, size int64) error {
	err := unix.Mount("stile-rig", dir, "tmpfs", 0, fmt.Sprintf("size=%d,mode=0700", size))
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) || errors.Is(err, unix.ENODEV) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("rig: mount: %w", err)
	}
	d.dir = dir
	return nil
}

func (d *disk) unmount() error {
	if d.dir == "" {
		return nil
	}
	if err := unix.Unmount(d.dir, unix.MNT_DETACH); err != nil {
		return fmt.Errorf("rig: unmount: %w", err)
	}
	return nil
}

func (d *disk) filler() string { return filepath.Join(d.dir, "filler") }

// FillDisk leaves no room to the running daemon. The rig must have been started
// with a DiskSize.
func (s *Stile) FillDisk() error {
	if s.disk.dir == "" {
		return s.limitFiles("0")
	}
	f, err := os.OpenFile(s.disk.filler(), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("rig: %w", err)
	}
	defer f.Close()
	// The page size, so that nothing smaller fits at the end.
	for page := make([]byte, os.Getpagesize()); err == nil; {
		_, err = f.Write(page)
	}
	if !errors.Is(err, unix.ENOSPC) {
		return fmt.Errorf("rig: filling the disk: %w", err)
	}
	return nil
}

// FreeDisk makes room again.
func (s *Stile) FreeDisk() error {
	if s.disk.dir == "" {
		return s.limitFiles("unlimited")
	}
	return os.Remove(s.disk.filler())
}

// limitFiles sets the running daemon's RLIMIT_FSIZE. Root alone may not, but the
// daemon's own account may.
func (s *Stile) limitFiles(size string) error {
	cmd := exec.Command("prlimit", "--pid", strconv.Itoa(s.PID()), "--fsize="+size+":")
	cmd.SysProcAttr = s.account()
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("rig: prlimit: %w: %s", err, out)
	}
	return nil
}
