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

// Interpose takes the milter's socket over. see is called with the command byte
// of each packet that Postfix sent, before the packet goes on.
func (s *Stile) Interpose(see func(command byte)) (*Proxy, error) {
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
			p.open.Go(func() { pass(mta, behind, see) })
		}
	})
	return p, nil
}

// pass carries one connection, packet by packet towards the milter, byte by byte
// back.
func pass(mta net.Conn, behind string, see func(byte)) {
	defer mta.Close()
	filter, err := net.Dial("unix", behind)
	if err != nil {
		return
	}
	defer filter.Close()
	go func() {
		_, _ = io.Copy(mta, filter)
		mta.Close() // the milter is gone: so are we
	}()
	for {
		var head [5]byte
		if _, err := io.ReadFull(mta, head[:]); err != nil {
			return
		}
		see(head[4])
		if _, err := filter.Write(head[:]); err != nil {
			return
		}
		if _, err := io.CopyN(filter, mta, int64(binary.BigEndian.Uint32(head[:4]))-1); err != nil {
			return
		}
	}
}

// Close removes the proxy and its socket.
func (p *Proxy) Close() {
	p.listener.Close()
	p.open.Wait()
}
