package milter

import (
	"bufio"
	"context"
	"io"

	"github.com/emersion/go-milter"

	"stile/fence"
	"stile/stamp"
	"stile/verdict"
)

// maxPacket is the largest piece of a body in one packet (milter protocol:
// MILTER_CHUNK_SIZE).
const maxPacket = 65535

// bodyLimit is how large the body may be that takes the place of the message's
// own, 0 where nobody who accepts it has that done. A message is one for all of
// its recipients, so the strictest holds for all of them: those whose own
// policy would leave it as it came get the fence as well.
func bodyLimit(all []decision) int {
	limit := 0
	for _, d := range all {
		if d.accepted == nil {
			continue
		}
		if !d.mailbox.Body {
			continue
		}
		if own := int(d.mailbox.BodyLimit); limit == 0 || own < limit {
			limit = own
		}
	}
	return limit
}

// maxBodies bounds the octets of all bodies that take others' places at one
// time: sixteen of the usual limit. Messages that are over it wait. As much as
// the largest body_limit, so that each has its turn.
const maxBodies = 16 << 20

// enter waits until there is room for a body, if the message gets another one.
// The room is the message's until that is closed.
func (s *session) enter(ctx context.Context, all []decision) error {
	s.msg.leave() // it was settled once already, and another copy was first
	n := min(int64(bodyLimit(all)), maxBodies)
	// Not even behind those who wait for room.
	if n == 0 {
		return nil
	}
	if err := s.server.bodies.Acquire(ctx, n); err != nil {
		return err
	}
	s.msg.room = func() { s.server.bodies.Release(n) }
	return nil
}

// replace adds what makes the message one of stile's own.
func (s *session) replace(e *edits, a *verdict.Accepted, r fence.Rendering, info stamp.Info, all []decision) error {
	// The MTA was not asked to let bodies be changed, and closes the session of
	// a milter that does (milter protocol: SMFIF_CHGBODY).
	if s.conn.actions&milter.OptChangeBody == 0 {
		return errActions
	}
	body, err := fence.RenderBody(a, bodyLimit(all))
	if err != nil {
		return errRender
	}
	to := stamp.Envelope{Hostname: s.config.Hostname}
	for _, d := range all {
		if d.accepted != nil {
			to.To = append(to.To, d.mailbox.Address)
		}
	}
	made, err := stamp.Replace(a, r, body, info, to, s.server.o.Sealer)
	if err != nil {
		return errStamp
	}
	e.delete, e.insert, e.body = made.Delete, made.Insert, made.WriteBody
	return nil
}

// sendBody replaces the body by what write writes.
func sendBody(m *milter.Modifier, write func(io.Writer) error) error {
	out := bufio.NewWriterSize(packets{m}, maxPacket)
	if err := write(out); err != nil {
		return err
	}
	return out.Flush()
}

// packets writes each piece of a body as one packet. A second one is appended
// to the first.
type packets struct{ m *milter.Modifier }

func (p packets) Write(piece []byte) (int, error) {
	if err := p.m.ReplaceBody(piece); err != nil {
		return 0, err
	}
	return len(piece), nil
}
