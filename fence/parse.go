package fence

import (
	"crypto/rand"
	"errors"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Fence is a fence that was read back.
type Fence struct {
	Entry string // the owner's spelling of the sender
	Nonce string

	// Subject is the Subject as shown, without its label. A fence has none
	// where the message has none. Only its place tells it from text: the
	// first line of the text of a message without a Subject that reads like
	// one is taken for it.
	Subject    string
	HasSubject bool

	Parts   []Part   // the text, none where the body is not shown
	Remarks []string // stile's own, in order

	rows []row
}

// Part is one text part of a message.
type Part struct {
	Lines []string // as shown, without the prefix
}

// Text is the part as shown, lines joined by LF.
func (p Part) Text() string { return strings.Join(p.Lines, "\n") }

// Errors of Parse. None quotes the text.
var (
	errLimits  = errors.New("fence: over the limits of a fence")
	errMarkers = errors.New("fence: a marker line is missing or malformed")
	errLine    = errors.New("fence: a line is neither stile's nor behind the prefix")
	errEscape  = errors.New("fence: a line holds what escaping does not give")
	errNonce   = errors.New("fence: the nonce stands in the text")
	errOrder   = errors.New("fence: a remark stands where none belongs")
)

// Parse reads a fence back. It is strict: it takes what Render makes, byte for
// byte, and nothing else, no line end behind the closing line either.
func Parse(text string) (*Fence, error) { return parse(text, usual) }

// ParseBody reads back what RenderBody made with that limit, as strictly.
func ParseBody(text string, limit int) (*Fence, error) { return parse(text, ofBody(limit)) }

func parse(text string, l limits) (*Fence, error) {
	if !l.keep(extent{len(text), 1 + strings.Count(text, "\n")}) {
		return nil, errLimits
	}
	lines := strings.Split(text, "\n")
	for _, line := range lines {
		if utf8.RuneCountInString(line) > maxWidth {
			return nil, errLimits
		}
	}
	if len(lines) < markers {
		return nil, errMarkers
	}
	f := &Fence{}
	if !f.opening(lines[0]) {
		return nil, errMarkers
	}
	last := len(lines) - 1
	if lines[last] != closingStart+nonceStart+f.Nonce {
		return nil, errMarkers
	}
	if err := f.read(lines[1:last]); err != nil {
		return nil, err
	}
	return f, nil
}

// opening reads the opening line.
func (f *Fence) opening(line string) bool {
	line, found := strings.CutPrefix(line, openingStart)
	if !found {
		return false
	}
	if line, found = strings.CutSuffix(line, openingEnd); !found {
		return false
	}
	if f.Entry, f.Nonce, found = strings.Cut(line, nonceStart); !found {
		return false
	}
	return isEntry(f.Entry) && isNonce(f.Nonce) && !strings.Contains(f.Entry, f.Nonce)
}

func isNonce(s string) bool {
	for i := range len(s) {
		if hexValue(s[i]) < 0 || 'A' <= s[i] && s[i] <= 'F' {
			return false
		}
	}
	return len(s) == nonceLength
}

// read reads the lines between the markers.
func (f *Fence) read(lines []string) error {
	p := grammar{fence: f}
	for i, line := range lines {
		words, ours := f.remark(line)
		if ours {
			f.Remarks = append(f.Remarks, words)
			f.rows = append(f.rows, row{remarkRow, words})
			if !p.remark(words) {
				return errOrder
			}
			continue
		}
		text, ok := strings.CutPrefix(line, textPrefix)
		if line == emptyLine {
			text, ok = "", true
		} else if text == "" {
			ok = false
		}
		if !ok {
			return errLine
		}
		if _, ok := Unescape(text); !ok {
			return errEscape
		}
		if strings.Contains(text, f.Nonce) {
			return errNonce
		}
		if !p.text(text, i == 0 || p.state == afterRecipient) {
			return errOrder
		}
	}
	return p.end()
}

// remark reports whether the line is one of stile's remarks, and its words.
func (f *Fence) remark(line string) (string, bool) {
	words, found := strings.CutPrefix(line, remarkStart)
	if !found {
		return "", false
	}
	return strings.CutSuffix(words, nonceStart+f.Nonce)
}

// Text is the fence, byte for byte.
func (f *Fence) Text() string { return layOut(f.Entry, f.Nonce, f.rows) }

// Fresh is the same fence under a fresh nonce.
func (f *Fence) Fresh() (*Fence, error) {
	var s sheet
	s.open(f.Entry)
	s.rows(f.rows...)
	s.close()
	nonce, err := s.number(rand.Reader)
	if err != nil {
		return nil, err
	}
	again := *f
	again.Nonce = nonce
	return &again, nil
}

// The least that can be quoted: less is found in any text.
const (
	minQuote        = 8 // characters
	minQuoteLetters = 6 // letters or digits among them
)

// Quoted reports whether the quote, trimmed, stands contiguous in the Subject
// or in one part of the text as shown. One too short is never quoted.
func (f *Fence) Quoted(quote string) bool {
	quote = strings.TrimSpace(quote)
	if utf8.RuneCountInString(quote) < minQuote {
		return false
	}
	letters := 0
	for _, r := range quote {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			letters++
		}
	}
	if letters < minQuoteLetters {
		return false
	}
	if strings.Contains(f.Subject, quote) {
		return true
	}
	for _, p := range f.Parts {
		if strings.Contains(p.Text(), quote) {
			return true
		}
	}
	return false
}

// counting reads a remark that counts: a number of one or more, without
// leading zeros, before the words.
func counting(remark, words string) bool {
	digits, found := strings.CutSuffix(remark, words)
	if !found {
		return false
	}
	n, err := strconv.Atoi(digits)
	return err == nil && n > 0 && strconv.Itoa(n) == digits
}
