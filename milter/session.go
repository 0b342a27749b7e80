package milter

import (
	"context"
	"errors"
	"net"
	"net/textproto"
	"strings"

	"github.com/emersion/go-milter"

	"stile/config"
	"stile/quarantine"
	"stile/verdict"
)

// state is how far the MTA has come.
type state int

const (
	lost       state = iota - 1 // CONNECT was seen again: nothing is known any more
	opened                      // the connection is there; the zero value
	connected                   // CONNECT was seen, and no message is in hand
	envelope                    // MAIL was seen
	recipients                  // RCPT was seen
	inHeader
	inBody // the header's end was seen
)

// session is what one connection is to go-milter: an SMTP session with any
// number of messages. All of its methods but those of its conn run in one
// goroutine.
type session struct {
	server    *Server
	conn      *conn
	log       logger
	config    *config.Config // as it was when the message in hand began
	state     state
	client    string // the SMTP client's address, or ""
	simulated bool   // the MTA plays the session for mail that came otherwise
	msg       message
	field     bool // the piece of a body that comes next is a field
}

var _ milter.Milter = (*session)(nil)

// endOfMessage is the life of one message.
func (s *session) endOfMessage(m *milter.Modifier) milter.Response {
	ctx, cancel := context.WithTimeout(s.server.base, s.server.limits.decision)
	defer cancel()
	s.msg.queue = queueID(m)

	// Where a command is missing, so may be a part of the message.
	if s.state != inBody {
		s.spoil(causeOrder)
	}
	// What was not wholly received is not decided.
	if s.msg.fault != "" {
		return s.deferAll(verdict.Internal, s.msg.fault)
	}
	// What began after the order to stop is for whoever comes after.
	if s.msg.late {
		return s.deferAll(verdict.Shutdown, "")
	}

	// Each mailbox judges it. One that cannot decide now decides for all, for
	// the sender hears one answer; nothing has been written or sent yet.
	c := verdict.Open(s.msg.judged(), s.env())
	all := s.judge(ctx, c)
	if reason, deferred := s.anyDeferred(all); deferred {
		return s.deferAll(reason, causeVerdict)
	}
	return s.settle(ctx, m, c, all)
}

// settle is the rest of its life, once every mailbox could decide.
func (s *session) settle(ctx context.Context, m *milter.Modifier, c *verdict.Case, all []decision) milter.Response {
	// What a mailbox accepted before is its sender's retry now, or a replay.
	if err := s.recall(ctx, c, all); err != nil {
		s.log.store(&s.msg, "what was accepted before was not found out", err)
		return s.deferAll(reasonOf(err))
	}

	// What takes another body's place is in memory until it is sent.
	if err := s.enter(ctx, all); err != nil {
		return s.deferAll(verdict.Busy, causeRoom)
	}

	// For those who accept it, it is rendered, sealed and stamped; fields that
	// only stile may write go from all mail, whoever it is for.
	e, err := s.prepare(all)
	if err != nil {
		return s.deferAll(verdict.Internal, causeOf(err))
	}

	// The original is sealed, and then a refusal recorded, on disk before
	// anyone hears of it.
	if err := s.preserve(ctx, c, all); err != nil {
		s.log.store(&s.msg, "the original was not kept", err)
		return s.deferAll(verdict.Evidence, causeEvidence)
	}
	if err := s.record(ctx, c, all); err != nil {
		s.log.store(&s.msg, "a record was not kept", err)
		s.discard(ctx, all)
		return s.deferAll(verdict.Store, causeStore)
	}
	s.remember(ctx, c)

	// With nobody left to get it, it goes no further.
	if s.left(all) == 0 {
		s.report(all, e)
		return s.dismissal(all)
	}

	// What was accepted is remembered last of all that can fail: until now a
	// retry would be the first. From here on it is a repeat, so that mail which
	// is lost on its way to the MTA comes again. Where another copy was first,
	// this one is settled by that.
	err = s.keep(ctx, all, e.carriers)
	if errors.Is(err, quarantine.ErrRaced) {
		return s.settle(ctx, m, c, all)
	}
	if err != nil {
		s.log.store(&s.msg, "what was accepted was not remembered", err)
		s.discard(ctx, all)
		return s.deferAll(verdict.Store, causeStore)
	}

	// Then the message is changed and goes on.
	if err := errors.Join(e.send(m), s.conn.flush()); err != nil {
		return s.deferAll(verdict.Internal, causeSend)
	}
	s.report(all, e)
	return milter.RespAccept
}

// Connect begins the session.
func (s *session) Connect(host, family string, port uint16, addr net.IP, _ *milter.Modifier) (milter.Response, error) {
	return s.handle(func() milter.Response {
		// Two clients cannot share a session: none of its mail is decided.
		if s.state != opened {
			s.state = lost
			return s.spoilOrder()
		}
		s.state = connected
		if addr != nil {
			s.client = addr.String()
		}
		// The MTA plays an SMTP session for mail from sendmail(1) and for its
		// own notices; no client has port 0.
		s.simulated = host == "localhost" && port == 0
		return milter.RespContinue
	})
}

// Helo is not asked for.
func (s *session) Helo(string, *milter.Modifier) (milter.Response, error) {
	return milter.RespContinue, nil
}

// MailFrom begins a message.
func (s *session) MailFrom(from string, _ *milter.Modifier) (milter.Response, error) {
	return s.handle(func() milter.Response {
		if s.state < connected {
			return s.spoilOrder()
		}
		s.begin()
		s.state = envelope
		s.msg.nullSender = from == ""
		return milter.RespContinue
	})
}

// RcptTo takes one recipient.
func (s *session) RcptTo(argument string, m *milter.Modifier) (milter.Response, error) {
	return s.handle(func() milter.Response {
		if s.state != envelope && s.state != recipients {
			return s.outOfOrder()
		}
		address, ok := take(m, macroRcpt)
		// The argument is not the mailbox: comments, routes and quotes make
		// many spellings of one. Only the MTA's resolved form tells.
		if !ok {
			s.spoil(causeNoMacro)
			s.state = recipients
			return milter.RespContinue
		}
		mailbox, guardedDomain := s.config.Resolve(address)
		unknown := mailbox == nil && guardedDomain
		// To reject one recipient of a played session keeps the whole message
		// in the queue for ever (MILTER_README, "non-SMTP mail").
		if unknown && !s.simulated {
			s.server.o.Metrics.NoMailbox()
			s.log.noMailbox(s)
			return replyNoMailbox
		}
		s.state = recipients
		if s.putsOff(mailbox) {
			s.msg.putOff++
			s.server.o.Metrics.RecipientPutOff()
			s.log.putOff(s)
			return replyAlone
		}
		if mailbox == nil && !unknown {
			s.msg.others++
			return milter.RespContinue
		}
		s.spoil(s.msg.addRecipient(recipient{argument, mailbox}))
		return milter.RespContinue
	})
}

// Header is not called: see BodyChunk.
func (s *session) Header(string, string, *milter.Modifier) (milter.Response, error) {
	return s.handle(s.spoilOrder)
}

// header takes one field, its name and its value each ended by NUL.
func (s *session) header(data []byte) (milter.Response, error) {
	name, value, _ := strings.Cut(strings.TrimSuffix(string(data), "\x00"), "\x00")
	return s.handle(func() milter.Response {
		if s.state != recipients && s.state != inHeader {
			return s.spoilOrder()
		}
		s.state = inHeader
		s.spoil(s.msg.addField(strings.Clone(name), value))
		return milter.RespContinue
	})
}

// Headers takes the header's end.
func (s *session) Headers(textproto.MIMEHeader, *milter.Modifier) (milter.Response, error) {
	return s.handle(func() milter.Response {
		if s.state != recipients && s.state != inHeader {
			return s.spoilOrder()
		}
		s.state = inBody
		s.msg.endHeader()
		return milter.RespContinue
	})
}

// BodyChunk takes a piece of the body, or a field that came as one.
func (s *session) BodyChunk(chunk []byte, _ *milter.Modifier) (milter.Response, error) {
	if s.field {
		return s.header(chunk)
	}
	return s.handle(func() milter.Response {
		if s.state != inBody {
			return s.outOfOrder()
		}
		if !s.msg.concerned() {
			return replySkip
		}
		if s.msg.fault == "" {
			s.spoil(s.msg.addBody(chunk))
		}
		return milter.RespContinue
	})
}

// Body answers at the end of the message.
func (s *session) Body(m *milter.Modifier) (milter.Response, error) {
	start := s.server.o.Now()
	defer func() {
		s.server.o.Metrics.EndOfMessage(s.server.o.Now().Sub(start))
		s.reset()
	}()
	return s.protect(func() milter.Response { return s.endOfMessage(m) }, func() milter.Response {
		return s.deferAll(verdict.Internal, causePanic)
	})
}

// Abort forgets the message in hand.
func (s *session) Abort(*milter.Modifier) error {
	s.reset()
	return nil
}

// begin starts a message, whatever was in hand.
func (s *session) begin() {
	s.conn.setInMessage(true)
	s.config = s.server.config.Load()
	s.msg.begin(s.server.o.Now(), s.server.o.SpoolDir, s.config.MaxMessage)
	s.msg.authservID = s.config.AuthservID
	// What is not judged is kept for the original alone.
	if s.server.o.Evidence == nil {
		s.msg.rest.limit = 0
	}
	s.msg.late = s.conn.isStopping()
}

// reset goes back to the state between two messages.
func (s *session) reset() {
	if s.state > connected {
		s.state = connected
	}
	s.msg.close()
	s.msg = message{}
	s.conn.setInMessage(false)
}

// close ends the session.
func (s *session) close() { s.reset() }

// spoil remembers the first thing that went wrong with the message in hand; it
// is answered 451 at its end. "" is nothing.
func (s *session) spoil(c cause) {
	if c == "" {
		return
	}
	if s.msg.id == "" {
		s.begin()
	}
	if s.msg.fault == "" {
		s.msg.fault = c
	}
}

// outOfOrder answers a command that cannot follow the one before.
func (s *session) outOfOrder() milter.Response {
	s.spoil(causeOrder)
	return replyTryLater(s.msg.id)
}

// spoilOrder is the same for a command that takes no other answer (see
// wantNoReply): the end of the message brings it.
func (s *session) spoilOrder() milter.Response {
	s.spoil(causeOrder)
	return milter.RespContinue
}

// handle runs a handler before the end of the message. A panic spoils the
// message. Where the MTA waits for no answer, the library is spared writing
// one that would not reach it.
func (s *session) handle(f func() milter.Response) (milter.Response, error) {
	r, err := s.protect(f, func() milter.Response {
		s.spoil(causePanic)
		return milter.RespContinue
	})
	if r == milter.RespContinue && s.conn.replies.silent() {
		return nil, err
	}
	return r, err
}

// protect runs a handler; when it panics, what instead returns is the answer.
func (s *session) protect(f, instead func() milter.Response) (r milter.Response, err error) {
	defer func() {
		// The panic's value may quote the message and is not looked at.
		if recover() != nil {
			s.log.panicked(&s.msg)
			r = instead()
		}
	}()
	return f(), nil
}

// deferAll answers that nothing is decided, for all recipients.
func (s *session) deferAll(reason verdict.Reason, why cause) milter.Response {
	now := s.server.o.Now()
	for _, policy := range s.policies() {
		s.server.o.Metrics.Message(policy, verdict.Defer, reason, now)
		s.log.deferred(s, policy, reason, why)
	}
	return replyTryLater(s.msg.id)
}
