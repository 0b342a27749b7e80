package rig

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
)

// LMTP is a delivery agent that Postfix hands mail to (RFC 2033). It keeps what
// it is handed in memory, byte for byte.
type LMTP struct {
	listener net.Listener
	open     sync.WaitGroup
	mail     chan string
}

// heldMail is how many messages wait for Next; further ones wait to be taken.
const heldMail = 100

// startLMTP listens on a unix socket.
func startLMTP(socket string) (*LMTP, error) {
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return nil, fmt.Errorf("rig: LMTP: %w", err)
	}
	if err := os.Chmod(socket, 0o666); err != nil {
		listener.Close()
		return nil, fmt.Errorf("rig: LMTP: %w", err)
	}
	l := &LMTP{listener: listener, mail: make(chan string, heldMail)}
	l.open.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return // closed
			}
			l.open.Go(func() {
				defer conn.Close()
				l.session(bufio.NewReader(conn), conn)
			})
		}
	})
	return l, nil
}

// stop ends the server. Postfix must have ended: its connections are waited for.
func (l *LMTP) stop() {
	l.listener.Close()
	l.open.Wait()
}

// Next waits for a message and returns it, lines ended by CRLF.
func (l *LMTP) Next(ctx context.Context) (string, error) {
	select {
	case text := <-l.mail:
		return text, nil
	case <-ctx.Done():
		return "", fmt.Errorf("rig: no message by LMTP: %w", ctx.Err())
	}
}

// Unread is how many messages Next has not returned.
func (l *LMTP) Unread() int { return len(l.mail) }

// session answers one client until it goes away or a write fails.
func (l *LMTP) session(in *bufio.Reader, out net.Conn) {
	say := func(reply string) bool {
		_, err := out.Write([]byte(reply + "\r\n"))
		return err == nil
	}
	recipients := 0
	for ok := say("220 reader LMTP"); ok; {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		verb, _, _ := strings.Cut(strings.ToUpper(strings.TrimSpace(line)), " ")
		switch verb {
		case "LHLO":
			recipients = 0
			ok = say("250-reader\r\n250-8BITMIME\r\n250-ENHANCEDSTATUSCODES\r\n250 SMTPUTF8")
		case "MAIL", "RSET", "NOOP":
			recipients = 0
			ok = say("250 2.0.0 ok")
		case "RCPT":
			recipients++
			ok = say("250 2.1.5 ok")
		case "DATA":
			if !say("354 go on") {
				return
			}
			text, err := readData(in)
			if err != nil {
				return
			}
			l.mail <- text
			// One reply for each recipient (RFC 2033, 4.2).
			for ; recipients > 0 && ok; recipients-- {
				ok = say("250 2.0.0 delivered")
			}
		case "QUIT":
			say("221 2.0.0 bye")
			return
		default:
			ok = say("500 5.5.1 what?")
		}
	}
}

// readData reads a message up to the dot (RFC 5321, 4.5.2).
func readData(in *bufio.Reader) (string, error) {
	var text strings.Builder
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return "", err
		}
		if line == ".\r\n" {
			return text.String(), nil
		}
		text.WriteString(strings.TrimPrefix(line, "."))
	}
}
