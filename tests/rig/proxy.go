package rig

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
)

// Proxy stands between Postfix and the milter and sees each command go by.
type Proxy struct {
	listener net.Listener
	open     sync.WaitGroup
}

// Tap sees the packets that go by, behind their lengths, and may change them.
// Where a function says false, the connection is cut before the packet goes on.
// Either may be nil.
type Tap struct {
	Command func(packet []byte) bool // what Postfix says
	Answer  func(packet []byte) bool // what the milter says
}

// Interpose takes the milter's socket over.
func (s *Stile) Interpose(tap Tap) (*Proxy, error) {
	behind := s.Socket + ".behind"
	if err := os.Rename(s.Socket, behind); err != nil {
		return nil, fmt.Errorf("rig: proxy: %w", err)
	}
	listener, err := net.Listen("unix", s.Socket)
	if err != nil {
		return nil, fmt.Errorf("rig: proxy: %w", err)
	}
	if err := os.Chmod(s.Socket, 0o666); err != nil {
		return nil, fmt.Errorf("rig: proxy: %w", err)
	}
	p := &Proxy{listener: listener}
	p.open.Go(func() {
		for {
			mta, err := listener.Accept()
			if err != nil {
				return // closed
			}
			p.open.Go(func() { pass(mta, behind, tap) })
		}
	})
	return p, nil
}

// pass carries one connection, packet by packet.
func pass(mta net.Conn, behind string, tap Tap) {
	defer mta.Close()
	filter, err := net.Dial("unix", behind)
	if err != nil {
		return
	}
	defer filter.Close()
	go func() {
		carry(mta, filter, tap.Answer)
		mta.Close() // the milter is gone: so are we
	}()
	carry(filter, mta, tap.Command)
}

// carry takes whole packets from one side to the other until one of them ends
// or goes says false.
func carry(to io.Writer, from io.Reader, goes func(packet []byte) bool) {
	for {
		var head [4]byte
		if _, err := io.ReadFull(from, head[:]); err != nil {
			return
		}
		size := binary.BigEndian.Uint32(head[:])
		if size == 0 {
			return
		}
		packet := make([]byte, size)
		if _, err := io.ReadFull(from, packet); err != nil {
			return
		}
		if goes != nil && !goes(packet) {
			return
		}
		if _, err := to.Write(append(head[:], packet...)); err != nil {
			return
		}
	}
}

// Close removes the proxy and its socket.
func (p *Proxy) Close() {
	p.listener.Close()
	p.open.Wait()
}
