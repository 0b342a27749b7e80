package main

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strconv"
	"syscall"
	"time"

	"stile/config"
)

// socketMode lets the group of the socket's folder in, which is Postfix's, and
// nobody else.
const socketMode = 0o660

// listen opens the listener of the milter.
func listen(at config.Endpoint) (net.Listener, error) {
	switch at.Network {
	case "systemd":
		return inherit()
	case "unix":
		// A socket unit may hold this very socket.
		if handedSockets() {
			return inheritAt(at.Address)
		}
		return listenUnix(at.Address)
	default:
		return listenTCP("listen", at.Address)
	}
}

func listenTCP(key, address string) (net.Listener, error) {
	ln, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("%s: %s cannot be listened at: %s", key, address, system(err))
	}
	return ln, nil
}

// listenUnix listens at a path. The socket of a process that is gone is
// replaced, that of one that answers is not.
func listenUnix(path string) (net.Listener, error) {
	if err := clear(path); err != nil {
		return nil, err
	}
	ln, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("listen: the socket %s cannot be made: %s", path, system(err))
	}
	if err := os.Chmod(path, socketMode); err != nil {
		return nil, errors.Join(fmt.Errorf("listen: the socket %s cannot be opened to Postfix: %s", path, cause(err)), ln.Close())
	}
	return ln, nil
}

// clear takes a dead socket out of the way.
func clear(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("listen: %s: %s", path, cause(err))
	}
	if info.Mode().Type() != fs.ModeSocket {
		return fmt.Errorf("listen: %s is there and is no socket; remove it or listen somewhere else", path)
	}
	conn, err := net.DialTimeout("unix", path, time.Second)
	if err == nil {
		_ = conn.Close()
		return fmt.Errorf("listen: another process answers at %s", path)
	}
	// Only a refused connection shows that nobody holds the socket any more.
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("listen: %s is there and cannot be asked whether it is in use: %s", path, system(err))
	}
	if err := os.Remove(path); err != nil {
		return fmt.Errorf("listen: the dead socket %s cannot be removed: %s", path, cause(err))
	}
	return nil
}

// firstInherited is SD_LISTEN_FDS_START of sd_listen_fds(3).
const firstInherited = 3

// handedSockets reports whether systemd hands sockets over to this process. The
// variables are inherited by children, for whom they are not meant.
func handedSockets() bool { return os.Getenv("LISTEN_PID") == strconv.Itoa(os.Getpid()) }

// inheritAt is inherit of the socket at that path and no other.
func inheritAt(path string) (net.Listener, error) {
	ln, err := inherit()
	if err != nil {
		return nil, err
	}
	if at := ln.Addr().String(); at != path {
		return nil, errors.Join(fmt.Errorf("listen: systemd handed over %s, and the config says %s", at, path), ln.Close())
	}
	return ln, nil
}

// inherit takes the one socket that systemd hands over.
func inherit() (net.Listener, error) {
	if !handedSockets() {
		return nil, errors.New("listen: systemd handed no socket over to this process")
	}
	if os.Getenv("LISTEN_FDS") != "1" {
		return nil, errors.New("listen: systemd handed over another number of sockets than one")
	}
	f := os.NewFile(firstInherited, "systemd")
	defer f.Close()
	ln, err := net.FileListener(f)
	if err != nil {
		return nil, fmt.Errorf("listen: what systemd handed over is no socket: %s", system(err))
	}
	return ln, nil
}

// system is what the system said, without addresses and paths around it.
func system(err error) string {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return errno.Error()
	}
	return err.Error()
}
