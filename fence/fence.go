package fence

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"stile/verdict"
)

// Count is how often one class occurs.
type Count struct {
	Name string
	N    int
}

// Counts are the classes that occur, in the order of their closed list.
type Counts []Count

// String is "name:n,name:n", or "none".
func (c Counts) String() string {
	if len(c) == 0 {
		return "none"
	}
	var all []string
	for _, one := range c {
		all = append(all, one.Name+":"+strconv.Itoa(one.N))
	}
	return strings.Join(all, ",")
}

// countsOf names what was counted.
func countsOf(names []string, counted []int) Counts {
	var all Counts
	for i, n := range counted {
		if n > 0 {
			all = append(all, Count{names[i], n})
		}
	}
	return all
}

// State says how much of the text a fence shows.
type State string

// The states.
const (
	Full State = "full" // all of it
	Cut  State = "cut"  // the limits cut it
	None State = "none" // no body
)

// Rendering is an accepted message as it may be shown.
type Rendering struct {
	Nonce    string // 16 lower-case hex digits
	Text     string // the fence: lines joined by LF, no line end at the end
	State    State
	Hidden   Counts    // what the shown text neutralises and the rest hides, of HiddenClasses
	Carriers []Carrier // the same by place
	Dropped  Counts    // what is not shown, of DroppedClasses
}

// Render renders an accepted message with a fresh nonce. An error means that
// the body could not be read.
func Render(a *verdict.Accepted) (Rendering, error) {
	return render(sourceOf(a), usual, rand.Reader)
}

// MinBody is the least limit of RenderBody, in bytes: what Render shows fits.
const MinBody = maxBytes

// RenderBody is Render for a fence that is to be a message's body: of limit
// bytes at most, however many lines that are. All else holds as for Render; the
// nonce is another one.
func RenderBody(a *verdict.Accepted, limit int) (Rendering, error) {
	if limit < MinBody {
		return Rendering{}, errors.New("fence: the limit of a body is too small")
	}
	return render(sourceOf(a), ofBody(limit), rand.Reader)
}

// source is what a rendering is made from.
type source struct {
	entry       string // the owner's spelling of the sender
	toUnsigned  bool
	subject     field
	media       field           // Content-Type
	encoding    field           // Content-Transfer-Encoding
	disposition field           // Content-Disposition
	fields      []verdict.Field // all of the header
	body        *io.SectionReader
}

// field is a header field as far as a rendering needs it.
type field struct {
	value   string // unfolded
	present bool
	covered bool // by the accepting signature; an absent field can be covered too
}

func sourceOf(a *verdict.Accepted) *source {
	get := func(name string) field {
		f := field{covered: a.Covers(name)}
		for _, one := range a.Header() {
			if one.Is(name) {
				f.present, f.value = true, strings.ReplaceAll(one.Value, "\r\n", "")
				break
			}
		}
		return f
	}
	return &source{
		entry:       a.Entry(),
		toUnsigned:  slices.Contains(a.Flags(), verdict.ToUnsigned),
		subject:     get("Subject"),
		media:       get("Content-Type"),
		encoding:    get("Content-Transfer-Encoding"),
		disposition: get("Content-Disposition"),
		fields:      a.Header(),
		body:        a.Body(),
	}
}

// header is the message's own header as that of its outermost part. A
// Content-Disposition that is not covered is not read.
func (s *source) header() partHeader {
	h := partHeader{media: plainText, inline: true}
	if s.media.present {
		h.media = parseMediaType(s.media.value)
	}
	if s.encoding.present {
		h.encoding = parseTransfer(s.encoding.value)
	}
	if s.disposition.present && s.disposition.covered {
		h.inline = parseDisposition(s.disposition.value)
	}
	return h
}

// render is Render with the limits and the randomness handed in.
func render(s *source, l limits, random io.Reader) (Rendering, error) {
	if !isEntry(s.entry) {
		return Rendering{}, errors.New("fence: the list entry is no plain address")
	}
	found, remark, err := s.structure()
	if err != nil {
		return Rendering{}, fmt.Errorf("fence: reading the body: %w", err)
	}
	var text sheet
	text.open(s.entry)
	state, err := newPage(s, l, &found.carriers).fill(&text, s.body, found.leaves, remark)
	if err != nil {
		return Rendering{}, fmt.Errorf("fence: reading the body: %w", err)
	}
	if err := found.conceals(s); err != nil {
		return Rendering{}, fmt.Errorf("fence: reading the body: %w", err)
	}
	text.close()
	nonce, err := text.number(random)
	if err != nil {
		return Rendering{}, err
	}
	return Rendering{
		Nonce:    nonce,
		Text:     string(text.text),
		State:    state,
		Hidden:   found.carriers.counts(),
		Carriers: found.carriers.list(),
		Dropped:  countsOf(DroppedClasses, found.dropped[:]),
	}, nil
}

// structure finds the parts of the body, or the remark that says why none is
// shown.
func (s *source) structure() (structure, string, error) {
	h := s.header()
	sure, err := s.certain(h)
	if err != nil {
		return structure{}, "", err
	}
	if !sure {
		return withheld(), remarkUnsigned, nil
	}
	if !s.media.covered && h.media.major == "multipart" {
		h.media.minor = "mixed"
	}
	found, err := walk(s.body, h)
	if err != nil {
		return structure{}, "", err
	}
	switch {
	case found.overLimits:
		return found, remarkOverLimits, nil
	case len(found.leaves) > 0:
		return found, "", nil
	case found.undecodable:
		return found, remarkNotDecodable, nil
	case found.encrypted:
		return found, remarkEncrypted, nil
	}
	return found, remarkNoText, nil
}
