package milter

import (
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"io"
	"math"
	"strings"
	"time"

	"stile/stamp"
	"stile/verdict"
)

// Bounds on what is remembered of a message beside its header and body.
const (
	maxForged     = 256 << 10 // octets of the names of forged fields, 32 more for each
	maxRecipients = 1 << 20   // octets of the arguments of guarded recipients, 32 more for each
	perEntry      = 32
)

// message is what is known of the message in hand.
type message struct {
	id         string // ULID; the same in reply, log, record and stamp
	queue      string // the MTA's id, or ""
	nullSender bool
	late       bool  // it began after the server was asked to stop
	fault      cause // the first thing that went wrong; "" is nothing

	recipients    []recipient // those that concern a mailbox
	recipientSize int
	others        int // how many do not
	putOff        int // how many were answered 452

	header     []verdict.Field // no more than shows that it is too large
	headerSize int
	authservID string          // whose Authentication-Results are deleted, "" is nobody's
	forged     []verdict.Field // what stamp.Forged needs of the header, however large that is
	rest       spool           // the fields behind those
	forgedSize int

	size int64 // octets of the whole message, kept or not
	sum  hash.Hash
	body spool

	original original // what becomes of the original
	room     func()   // gives back what the body takes that replaces the message's; nil: nothing
}

// begin makes a new message of m. The body, and a header beyond what is judged,
// are kept in dir, limit octets of each; 0 is no limit.
func (m *message) begin(now time.Time, dir string, limit int64) {
	if limit == 0 {
		limit = math.MaxInt64
	}
	m.close()
	*m = message{
		id:   newID(now),
		sum:  sha256.New(),
		rest: spool{dir: dir, limit: limit},
		body: spool{dir: dir, limit: limit},
	}
}

// close lets go of what is on disk, and of the room for another body.
func (m *message) close() {
	m.leave()
	m.rest.close()
	m.body.close()
}

// leave gives the room for another body back.
func (m *message) leave() {
	if m.room != nil {
		m.room()
	}
	m.room = nil
}

// concerned reports whether a mailbox of the configuration, or an address that
// ought to be one, is among the recipients.
func (m *message) concerned() bool { return len(m.recipients) > 0 }

// addField takes a field as the MTA has it: LF for each line end inside.
func (m *message) addField(name, value string) cause {
	f := verdict.Field{Name: name, Value: strings.ReplaceAll(value, "\n", "\r\n")}
	if trace, needed := stamp.Trace(f, m.authservID); needed {
		m.forged = append(m.forged, trace)
		m.forgedSize += len(trace.Name) + perEntry
	}
	// What has to be deleted must be counted, and cannot without end.
	if m.forgedSize > maxForged {
		m.forged = nil
		return causeForged
	}
	if !m.concerned() {
		return ""
	}
	m.count(f.Name, ":", f.Value, "\r\n")
	// One field over the limits is enough for the verdict to see that.
	if len(m.header) > verdict.MaxFields {
		return m.addRest(f)
	}
	if m.headerSize > verdict.MaxHeader {
		return m.addRest(f)
	}
	m.header = append(m.header, f)
	m.headerSize += len(f.Name) + len(f.Value) + len(":\r\n")
	return ""
}

// addRest takes a field that is not judged, for the original's sake.
func (m *message) addRest(f verdict.Field) cause {
	if _, err := io.WriteString(&m.rest, f.Name+":"+f.Value+"\r\n"); err != nil {
		return causeSpool
	}
	return ""
}

// endHeader takes the empty line.
func (m *message) endHeader() { m.count("\r\n") }

// addBody takes a piece of the body. What is over max_message is counted and
// not kept.
func (m *message) addBody(chunk []byte) cause {
	m.size += int64(len(chunk))
	m.sum.Write(chunk)
	if _, err := m.body.Write(chunk); err != nil {
		return causeSpool
	}
	return ""
}

func (m *message) count(parts ...string) {
	for _, p := range parts {
		m.size += int64(len(p))
		m.sum.Write([]byte(p))
	}
}

// judged is the message as judging takes it.
func (m *message) judged() verdict.Message {
	return verdict.Message{Header: m.header, Body: m.body.section(), Size: m.size, NullSender: m.nullSender}
}

// digest is SHA-256 of the message, in hex.
func (m *message) digest() string { return hex.EncodeToString(m.sum.Sum(nil)) }
