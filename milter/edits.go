package milter

import (
	"errors"
	"io"

	"github.com/emersion/go-milter"

	"stile/fence"
	"stile/stamp"
	"stile/verdict"
)

// edits are the modifications of one message, in the order in which they are
// sent: indexes count what was inserted, so deletions come first.
type edits struct {
	delete []stamp.Deletion
	insert []verdict.Field
	body   func(io.Writer) error // writes the new body; nil: it stays
	remove []string              // recipients
	forged int                   // how many of the deletions are of forged fields

	hidden   fence.Counts    // what the message hides
	carriers []fence.Carrier // the same by place
}

// The causes of an error of prepare.
var (
	errRender = errors.New("milter: the message could not be rendered")
	errStamp  = errors.New("milter: the stamp could not be made")

	errActions = errors.New("milter: the session began before a configuration that changes bodies")
)

// prepare renders and stamps the message for the mailboxes that accept it, and
// finds what else is to be done to it. Nothing is sent yet, and nothing is done
// to mail that nobody is left to get.
func (s *session) prepare(all []decision) (edits, error) {
	var e edits
	if s.left(all) == 0 {
		return e, nil
	}
	e.delete = stamp.Forged(s.msg.forged, s.config.AuthservID)
	e.forged = len(e.delete)
	if err := s.stamp(&e, all); err != nil {
		return edits{}, err
	}
	for _, d := range all {
		if d.outcome == verdict.Accept {
			continue
		}
		for _, r := range s.msg.recipients {
			if r.mailbox != d.mailbox {
				continue
			}
			address, err := r.deletable()
			if err != nil {
				return edits{}, err
			}
			e.remove = append(e.remove, address)
		}
	}
	return e, nil
}

// stamp adds the stamp, if a mailbox accepts the message.
func (s *session) stamp(e *edits, all []decision) error {
	var accepted []*verdict.Accepted
	var ids []string
	for _, d := range all {
		if d.accepted != nil {
			accepted = append(accepted, d.accepted)
			ids = append(ids, d.policy)
		}
	}
	if len(accepted) == 0 {
		return nil
	}
	a := verdict.Unite(accepted)
	r, err := fence.Render(a)
	if err != nil {
		return errRender
	}
	e.hidden, e.carriers = r.Hidden, r.Carriers
	info := stamp.Info{ID: s.msg.id, Policies: ids, AuthservID: s.config.AuthservID}
	if bodyLimit(all) > 0 {
		return s.replace(e, a, r, info, all)
	}
	made, err := stamp.Make(a, r, info, s.server.o.Sealer)
	if err != nil {
		return errStamp
	}
	e.delete, e.insert = made.Delete, made.Insert
	return nil
}

// left counts the recipients who would still get the message.
func (s *session) left(all []decision) int {
	n := s.msg.others
	for _, d := range all {
		if d.outcome == verdict.Accept {
			n++
		}
	}
	return n
}

// send makes the modifications. After an error the answer must be 451, with
// which the MTA drops those that were sent.
func (e edits) send(m *milter.Modifier) error {
	for _, d := range e.delete {
		if err := m.ChangeHeader(d.Index, d.Name, ""); err != nil {
			return err
		}
	}
	for _, f := range e.insert {
		if err := m.InsertHeader(0, f.Name, f.Value); err != nil {
			return err
		}
	}
	for _, address := range e.remove {
		if err := m.DeleteRecipient(address); err != nil {
			return err
		}
	}
	if e.body == nil {
		return nil
	}
	return sendBody(m, e.body)
}
