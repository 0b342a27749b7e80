package milter

import (
	"errors"
	"net"
	"syscall"
)

// temporary are the errors of accept(2) after which the next call may succeed.
var temporary = []error{
	syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM,
	syscall.ECONNABORTED, syscall.EPROTO, syscall.EINTR, syscall.EAGAIN, syscall.EPERM,
}

// errOne ends the library's loop after its one connection.
var errOne = errors.New("milter: one connection only")

// single is a listener with one connection in it.
type single struct {
	conn  net.Conn
	taken bool
}

// Accept gives the connection, once.
func (l *single) Accept() (net.Conn, error) {
	if l.taken {
		return nil, errOne
	}
	l.taken = true
	return l.conn, nil
}

// Close does nothing: the connection outlives the listener.
func (l *single) Close() error { return nil }

// Addr is the connection's own.
func (l *single) Addr() net.Addr { return l.conn.LocalAddr() }
