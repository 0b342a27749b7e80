package rig

import (
	"context"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Until looks whether done is true, and again after every change in one of the
// paths (a directory or a file that exists), until it is or ctx ends.
func Until(ctx context.Context, done func() (bool, error), paths ...string) error {
	fd, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	if err != nil {
		return fmt.Errorf("rig: inotify: %w", err)
	}
	f := os.NewFile(uintptr(fd), "inotify") // not blocking: deadlines hold
	defer f.Close()
	for _, p := range paths {
		const changes = unix.IN_CREATE | unix.IN_MOVED_TO | unix.IN_MODIFY | unix.IN_DELETE | unix.IN_ATTRIB
		if _, err := unix.InotifyAddWatch(fd, p, changes); err != nil {
			return fmt.Errorf("rig: inotify: %s: %w", p, err)
		}
	}
	// A context that ends makes the read return at once.
	stop := context.AfterFunc(ctx, func() { _ = f.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	events := make([]byte, 64<<10)
	for {
		ok, err := done()
		if err != nil || ok {
			return err
		}
		if _, err := f.Read(events); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return fmt.Errorf("rig: inotify: %w", err)
		}
	}
}
