package stamp

import (
	"encoding/base64"
	"errors"
	"io"
	"slices"
	"strings"
	"time"

	"stile/fence"
	"stile/verdict"
)

// Envelope is what a replaced message says beside its fence and stamp.
type Envelope struct {
	To       []string // the addresses of the mailboxes that accepted, at least one
	Hostname string   // an LDH name
}

// Replacement is a message that takes the place of an accepted one: of that one
// no field is left, and no byte of its sender stands outside the fence.
type Replacement struct {
	Stamp
	text string
	wide bool // base64 is needed
}

// The least and the most that is asked of what a mail system carries unharmed.
const (
	plainLine   = 900 // octets of a line of 7bit; delivery breaks one over 998
	encodedLine = 76  // octets of a line of base64 (RFC 2045, 6.8)
)

var errAddress = errors.New("stamp: an address has no place in a field")

// Replace makes the message whose body is the fence in body, stamped as Make
// does. The stamp's own fence is r, as everywhere. It fails as Make does.
func Replace(a *verdict.Accepted, r, body fence.Rendering, info Info, to Envelope, s *Sealer) (Replacement, error) {
	// Every field is deleted, so an Authentication-Results has nothing to be
	// told apart from.
	info.AuthservID = ""
	made, err := makeStamp(a, flagsReplaced(a), r, info, s)
	if err != nil {
		return Replacement{}, err
	}
	// What is no plain address could end the field, or be read as two.
	if slices.ContainsFunc(to.To, func(address string) bool { return !verdict.ValidAddress(address) }) {
		return Replacement{}, errAddress
	}
	p := Replacement{text: body.Text, wide: isWide(body.Text)}
	p.Delete = deletions(a.Header(), func(int, string) bool { return true })
	p.Insert = append(p.fields(a, info, to), made.Insert...)
	return p, nil
}

// flagsReplaced are the flags of a message of which every field is deleted.
func flagsReplaced(a *verdict.Accepted) []verdict.Flag {
	removed := slices.ContainsFunc(a.Header(), func(f verdict.Field) bool { return isReply(lower(fieldName(f))) })
	return slices.DeleteFunc(slices.Clone(verdict.Flags), func(f verdict.Flag) bool {
		if f == verdict.ReplyToRemoved {
			return !removed
		}
		return !slices.Contains(a.Flags(), f)
	})
}

// fields are the fields beside the stamp, the one that ends on top last.
func (p Replacement) fields(a *verdict.Accepted, info Info, to Envelope) []verdict.Field {
	charset, encoding := "us-ascii", "7bit"
	if !isASCII(p.text) {
		charset = "utf-8"
	}
	if p.wide {
		encoding = "base64"
	}
	fields := []verdict.Field{
		{Name: "Content-Transfer-Encoding", Value: " " + encoding},
		{Name: "Content-Type", Value: " text/plain; charset=" + charset},
		{Name: "MIME-Version", Value: " 1.0"},
		{Name: "Message-ID", Value: " <" + info.ID + "@" + to.Hostname + ">"},
		{Name: "Subject", Value: " [stile] message " + info.ID},
		{Name: "To", Value: " " + strings.Join(to.To, ",\r\n ")},
		{Name: "From", Value: " " + a.Entry()},
	}
	if date, ok := dateOf(a); ok {
		fields = append(fields, verdict.Field{Name: "Date", Value: " " + date.UTC().Format(dateFormat)})
	}
	return fields
}

// dateFormat is RFC 5322, 3.3.
const dateFormat = "Mon, 02 Jan 2006 15:04:05 -0700"

// dateOf is what the signed Date says, else the time of the signature. A time
// that nobody signed is not told.
func dateOf(a *verdict.Accepted) (time.Time, bool) {
	if date, ok := a.Date(); ok {
		return date, true
	}
	return a.Time()
}

func isASCII(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r > '~' }) < 0
}

// isWide reports whether the text cannot go as 7bit.
func isWide(text string) bool {
	for line := range strings.SplitSeq(text, "\n") {
		if len(line) > plainLine {
			return true
		}
	}
	return !isASCII(text)
}

// WriteBody writes the body in its transfer encoding, lines ended by LF, which
// a milter may write for CRLF. It never writes a part of more than a line.
func (p Replacement) WriteBody(w io.Writer) error {
	if !p.wide {
		return writeLines(w, p.text, "\n")
	}
	folded := &folder{to: w}
	encoded := base64.NewEncoder(base64.StdEncoding, folded)
	// The line end of text is CRLF within base64 too (RFC 2046, 4.1.1).
	if err := writeLines(encoded, p.text, "\r\n"); err != nil {
		return err
	}
	if err := encoded.Close(); err != nil {
		return err
	}
	return folded.end()
}

// writeLines writes each line of the text with that end, the last one too.
func writeLines(w io.Writer, text, end string) error {
	for line := range strings.SplitSeq(text, "\n") {
		if _, err := io.WriteString(w, line); err != nil {
			return err
		}
		if _, err := io.WriteString(w, end); err != nil {
			return err
		}
	}
	return nil
}

// folder ends a line after every encodedLine octets.
type folder struct {
	to   io.Writer
	used int // octets on the line
}

func (f *folder) Write(p []byte) (int, error) {
	wrote := 0
	for wrote < len(p) {
		if f.used == encodedLine {
			if err := f.end(); err != nil {
				return wrote, err
			}
		}
		n, err := f.to.Write(p[wrote:min(len(p), wrote+encodedLine-f.used)])
		wrote += n
		f.used += n
		if err != nil {
			return wrote, err
		}
	}
	return wrote, nil
}

// end ends the line that was begun.
func (f *folder) end() error {
	f.used = 0
	_, err := io.WriteString(f.to, "\n")
	return err
}
