package milter

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"github.com/emersion/go-milter"
)

// errLost is what the library is told, and logs, when a write fails.
var errLost = errors.New("milter: the connection is lost")

// readAhead is how much is read at once, as much as Postfix writes at once
// (VSTREAM_BUFSIZE). A larger frame is read past it.
const readAhead = 4 << 10

// maxUnsent bounds what is held back to be sent at once.
const maxUnsent = 64 << 10

// conn is the MTA's connection as the library sees it. It reads whole frames,
// so that each is inspected before the library has an octet of it, sets a
// deadline for every wait, and keeps from the MTA the replies that it does not
// want. To the library every end is io.EOF, which it does not log; what there
// is to say is said here, in constant words.
//
// Read, Write and Close are called by the session's goroutine alone.
type conn struct {
	net.Conn
	limits  limits
	actions milter.OptAction // that the MTA must offer
	session *session
	closed  func()
	end     sync.Once

	in         *bufio.Reader
	frame      []byte // the frame in hand, length included; its array is used again
	unread     []byte // what the library has not taken of it
	unsent     []byte // what the library wrote and the MTA has not got
	torn       bool   // a write failed
	negotiated bool
	replies    replies

	mu        sync.Mutex
	stopping  bool // the server wants to end
	inMessage bool // MAIL was seen and its message not answered
}

// Read gives the library the frame in hand, and the next one when it has it all.
func (c *conn) Read(p []byte) (int, error) {
	if len(c.unread) == 0 && !c.next() {
		return 0, io.EOF
	}
	n := copy(p, c.unread)
	c.unread = c.unread[n:]
	return n, nil
}

// next reads a frame and inspects it.
func (c *conn) next() bool {
	// The MTA sends nothing more before it has what it waits for.
	if c.flush() != nil {
		c.session.log.connection(connUnsent)
		return false
	}
	if !c.readFrame() {
		return false
	}
	code, data := milter.Code(c.frame[4]), c.frame[5:]
	switch inspect(code, data) {
	case ends:
		c.session.log.connection(connBadFrame)
		return false
	case spoils:
		c.session.spoil(causeFrame)
	}
	if !c.inOrder(code, data) {
		return false
	}
	c.replies.command = code
	// The library keeps each field that it is given, of every message of the
	// connection: it is given them as pieces of a body, which it passes on.
	c.session.field = code == milter.CodeHeader
	if c.session.field {
		c.frame[4] = byte(milter.CodeBody)
	}
	c.unread = c.frame
	return true
}

// inOrder lets nothing but the negotiation be first, and lets it be once.
func (c *conn) inOrder(code milter.Code, data []byte) bool {
	if (code == milter.CodeOptNeg) == c.negotiated {
		c.session.log.connection(connBadFrame)
		return false
	}
	if c.negotiated {
		return true
	}
	c.negotiated = true
	// Without a leading space or the asked macros a message would be judged by
	// other octets than those that were signed, or for another recipient.
	o := readOffer(data)
	if !o.meets(c.actions) {
		c.session.log.connection(connPoorOffer)
		return false
	}
	c.replies.negotiate(o)
	return true
}

// readFrame reads one frame: a length, a command and its data.
func (c *conn) readFrame() bool {
	const head = 4
	// What is here already needs no deadline.
	if c.in.Buffered() < head {
		c.waitForFrame()
	}
	length, err := c.in.Peek(head)
	if err != nil {
		return c.readFailed(err, connIdle)
	}
	n := binary.BigEndian.Uint32(length)
	// A frame without a command is none (milter protocol).
	if n == 0 {
		c.session.log.connection(connBadFrame)
		return false
	}
	// What the length promises is allocated.
	if n > maxFrame {
		c.session.log.connection(connBadFrame)
		return false
	}
	size := head + int(n)
	// The whole frame has one deadline: an octet now and then does not
	// prolong it. A failure to set it shows at the read.
	if c.in.Buffered() < size {
		_ = c.SetReadDeadline(time.Now().Add(c.limits.frame))
	}
	if cap(c.frame) < size {
		c.frame = make([]byte, size)
	}
	c.frame = c.frame[:size]
	if _, err := io.ReadFull(c.in, c.frame); err != nil {
		return c.readFailed(err, connSlow)
	}
	return true
}

// readFailed says what a failed read means, if it means something.
func (c *conn) readFailed(err error, timeout string) bool {
	if errors.Is(err, os.ErrDeadlineExceeded) && !c.isStopping() {
		c.session.log.connection(timeout)
	}
	return false
}

// waitForFrame sets the deadline until which the next frame may begin.
func (c *conn) waitForFrame() {
	c.mu.Lock()
	defer c.mu.Unlock()
	wait := c.limits.idle
	if c.stopping && !c.inMessage {
		wait = c.limits.linger
	}
	// A failure shows at the read.
	_ = c.SetReadDeadline(time.Now().Add(wait))
}

// Write takes a part of a reply, if the MTA waits for one. It goes out with
// what else there is to say, before the next frame is waited for: a stamp is
// one write, not one for each of its fields.
func (c *conn) Write(p []byte) (int, error) {
	out, ok := c.replies.pass(p)
	// Sent, it would be taken for the answer to a later command, and every
	// answer after it for that to the command before.
	if !ok {
		c.session.log.connection(connReply)
		return 0, errLost
	}
	c.unsent = append(c.unsent, out...)
	if len(c.unsent) > maxUnsent {
		return len(p), c.flush()
	}
	return len(p), nil
}

// flush sends what was written.
func (c *conn) flush() error {
	// A part of a frame may have gone out: nothing can follow it.
	if c.torn {
		return errLost
	}
	if len(c.unsent) == 0 {
		return nil
	}
	// A failure to set it shows at the write.
	_ = c.SetWriteDeadline(time.Now().Add(c.limits.write))
	_, err := c.Conn.Write(c.unsent)
	c.unsent = c.unsent[:0]
	if err != nil {
		c.torn = true
		return errLost
	}
	return nil
}

// Close ends the session. The library calls it once, when its loop ends.
func (c *conn) Close() error {
	err := c.Conn.Close()
	c.end.Do(func() {
		c.session.close()
		c.closed()
	})
	return err
}

// abort closes the connection under a session that runs, which then ends.
// It is called by the server.
func (c *conn) abort() { _ = c.Conn.Close() }

// stop asks the session to end when it is between two messages. It is called
// by the server.
func (c *conn) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopping = true
	if !c.inMessage {
		_ = c.SetReadDeadline(time.Now().Add(c.limits.linger))
	}
}

func (c *conn) isStopping() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stopping
}

// setInMessage notes whether a message is in hand.
func (c *conn) setInMessage(in bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.inMessage = in
}
