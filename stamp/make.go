package stamp

import (
	"slices"

	"stile/fence"
	"stile/verdict"
)

// Info is what the stamp says beside the verdict's own facts.
type Info struct {
	ID       string   // ULID, as in the log and the record
	Policies []string // ids of the policies that accepted, in the order of the configuration

	// AuthservID is whose Authentication-Results are written and, as came,
	// deleted (RFC 8601, 2.5): a letter-digit-hyphen name, "" for no one's.
	AuthservID string
}

// Stamp is what is done to the header of an accepted message: first every
// deletion, then every insertion, each in its order.
type Stamp struct {
	Delete []Deletion
	// Insert holds fields that each go to the very top (index 0), so that the
	// last one ends highest. Values begin with a space and are folded by CRLF.
	Insert []verdict.Field
}

// Make stamps an accepted message with its rendering. It fails if a value
// would not be read back, or a field not be carried whole by the mail system;
// nothing may be delivered then.
func Make(a *verdict.Accepted, r fence.Rendering, info Info, s *Sealer) (Stamp, error) {
	return makeStamp(a, a.Flags(), r, info, s)
}

func makeStamp(a *verdict.Accepted, flags []verdict.Flag, r fence.Rendering, info Info, s *Sealer) (Stamp, error) {
	v := Verdict{
		ID:        info.ID,
		Policies:  info.Policies,
		From:      a.Entry(),
		Domain:    a.Domain(),
		KeyID:     a.KeyID(),
		Algorithm: a.Algorithm(),
		Text:      r.State,
		Flags:     flags,
		Hidden:    r.Hidden,
		Dropped:   r.Dropped,
		Digest:    a.Digest(),
	}
	for _, name := range SignedNames {
		if a.Covers(name) {
			v.Signed = append(v.Signed, name)
		}
	}
	if t, ok := a.Time(); ok {
		v.Time = t
	}
	insert, err := v.fields(r.Text, s)
	if err != nil {
		return Stamp{}, err
	}
	if info.AuthservID != "" {
		results, err := authResults(info.AuthservID, a)
		if err != nil {
			return Stamp{}, err
		}
		insert = slices.Insert(insert, 0, results)
	}
	return Stamp{Delete: stripped(a.Header(), info.AuthservID, a.CoversField), Insert: insert}, nil
}

// fields are the three fields, the one that ends on top last.
func (v Verdict) fields(fenceText string, s *Sealer) ([]verdict.Field, error) {
	verdictValue, err := v.value()
	if err != nil {
		return nil, err
	}
	renderingValue, err := EncodeWords(RenderingName, fenceText)
	if err != nil {
		return nil, err
	}
	sealValue, err := s.seal(v.Policies, verdictValue, fenceText)
	if err != nil {
		return nil, err
	}
	return []verdict.Field{
		{Name: SealName, Value: sealValue},
		{Name: RenderingName, Value: renderingValue},
		{Name: VerdictName, Value: verdictValue},
	}, nil
}
