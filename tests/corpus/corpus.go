package corpus

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"stile/dns"
	"stile/verdict"
)

// Senders is the list that every message is judged by.
var Senders = []string{
	"alice@example.org", "ops@sub.example.org", "news@xn--bcher-kva.example",
	"joe@football.example.com", LongAddress,
}

// LongAddress has 254 octets, the most that an address may have.
var LongAddress = strings.Repeat("a", 50) + "@" + strings.Repeat(strings.Repeat("b", 63)+".", 3) + "example.org"

// Mailbox is the address that the messages are for.
const Mailbox = "shopping@estate.example"

// Clock is when a message is judged whose row says nothing else.
var Clock = time.Unix(1_700_000_060, 0).UTC()

// MaxMessage is the largest message in octets.
const MaxMessage = 2 << 20

// Corpus is all messages and the DNS.
type Corpus struct {
	Messages []*Message // by Path
	Zone     *dns.Zone
}

// Message is one message, with what must become of it.
type Message struct {
	Path string // "accept/NAME", "defer/NAME", "refuse/CODE/NAME"
	Raw  []byte

	Outcome verdict.Outcome
	Reason  verdict.Reason // of a refusal or a deferral

	What string // what it is
	Why  string // why it must have that outcome
	Keys
}

// Keys are the last column of a row, in JSON.
type Keys struct {
	Policy string    `json:"policy,omitempty"` // of Policies; "" is "sender"
	At     time.Time `json:"at,omitzero"`      // when it is judged; zero: Clock
	After  string    `json:"after,omitempty"`  // the path of the message that the mailbox accepted before, at that one's time
	Null   bool      `json:"null,omitempty"`   // the envelope sender is <>
	Fails  string    `json:"fails,omitempty"`  // of Failures: what does not work while it is judged

	Postfix  string `json:"postfix,omitempty"` // a path's outcome, or "refused by Postfix": what it has behind Postfix, which changes its octets
	Deferral string `json:"reason,omitempty"`  // of a deferral; "" is dns

	Signer string `json:"signer,omitempty"` // the class of who signed it instead of its From domain

	Rendering

	Taken string `json:"taken,omitempty"` // hex SHA-256 of a message that the generator did not make
}

// Failures are the values of the key "fails".
var Failures = []string{"bound", "body"} // the bound on look-ups is reached; the body cannot be read

// NotTaken is the outcome through Postfix of a message that Postfix itself does
// not take.
const NotTaken = "refused by Postfix"

// Load reads the corpus in a folder.
func Load(dir string) (*Corpus, error) {
	c := &Corpus{}
	table, err := os.ReadFile(filepath.Join(dir, "corpus.tsv"))
	if err != nil {
		return nil, fmt.Errorf("corpus: %w", err)
	}
	if c.Messages, err = ReadTable(table); err != nil {
		return nil, err
	}
	for _, m := range c.Messages {
		if m.Raw, err = os.ReadFile(filepath.Join(dir, m.Path+".eml")); err != nil {
			return nil, fmt.Errorf("corpus: a row without a message: %w", err)
		}
		if m.Taken != "" && m.Taken != fmt.Sprintf("%x", sha256.Sum256(m.Raw)) {
			return nil, fmt.Errorf("corpus: %s is not the message that was taken", m.Path)
		}
	}
	if err := c.checkFolders(dir); err != nil {
		return nil, err
	}
	zone, err := os.ReadFile(filepath.Join(dir, "zone"))
	if err != nil {
		return nil, fmt.Errorf("corpus: %w", err)
	}
	if c.Zone, err = dns.ReadZone(bytes.NewReader(zone)); err != nil {
		return nil, fmt.Errorf("corpus: %w", err)
	}
	return c, nil
}

// Find returns the message of that path, or nil.
func (c *Corpus) Find(path string) *Message {
	for _, m := range c.Messages {
		if m.Path == path {
			return m
		}
	}
	return nil
}

// checkFolders finds what the table does not name.
func (c *Corpus) checkFolders(dir string) error {
	named := map[string]bool{}
	for _, m := range c.Messages {
		named[m.Path+".eml"] = true
	}
	for _, folder := range []string{"accept", "defer", "refuse"} {
		err := fs.WalkDir(os.DirFS(dir), folder, func(file string, d fs.DirEntry, err error) error {
			if err != nil {
				return fmt.Errorf("corpus: %w", err)
			}
			if !d.IsDir() && !named[file] {
				return fmt.Errorf("corpus: %s has no row", file)
			}
			if d.IsDir() && file != folder && !knownRefusal(file) {
				return fmt.Errorf("corpus: %s is no folder of a reason", file)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func knownRefusal(folder string) bool {
	code, ok := strings.CutPrefix(folder, "refuse/")
	return ok && slices.Contains(verdict.Refusals, verdict.Reason(code))
}

// columns is the first line of the table.
const columns = "message\twhat\twhy\tkeys\n"

// ReadTable reads the rows of a table. The messages have no Raw.
func ReadTable(table []byte) ([]*Message, error) {
	text, ok := strings.CutPrefix(string(table), columns)
	if !ok {
		return nil, fmt.Errorf("corpus: the table does not begin with %q", columns)
	}
	var all []*Message
	paths := map[string]bool{}
	for line := range strings.Lines(text) {
		m, err := readRow(strings.TrimSuffix(line, "\n"))
		if err != nil {
			return nil, err
		}
		if paths[m.Path] {
			return nil, fmt.Errorf("corpus: %s has two rows", m.Path)
		}
		paths[m.Path] = true
		all = append(all, m)
	}
	for _, m := range all {
		if m.After != "" && !paths[m.After] {
			return nil, fmt.Errorf("corpus: %s: after a message that is not there", m.Path)
		}
	}
	return all, nil
}

func readRow(line string) (*Message, error) {
	col := strings.Split(line, "\t")
	if len(col) != 4 {
		return nil, fmt.Errorf("corpus: a row of %d columns: %.60q", len(col), line)
	}
	m := &Message{Path: col[0], What: col[1], Why: col[2]}
	d := json.NewDecoder(strings.NewReader(col[3]))
	d.DisallowUnknownFields()
	if err := d.Decode(&m.Keys); err != nil {
		return nil, fmt.Errorf("corpus: %s: %w", m.Path, err)
	}
	folder, _ := path.Split(m.Path)
	var err error
	if m.Outcome, m.Reason, err = m.outcome(path.Clean(folder)); err != nil {
		return nil, err
	}
	return m, m.checkKeys()
}

// outcome reads the outcome that a folder stands for.
func (m *Message) outcome(folder string) (verdict.Outcome, verdict.Reason, error) {
	switch {
	case folder == "accept" && m.Deferral == "":
		return verdict.Accept, "", nil
	case folder == "defer" && m.Deferral == "":
		return verdict.Defer, verdict.DNS, nil
	case folder == "defer" && slices.Contains(verdict.Deferrals, verdict.Reason(m.Deferral)):
		return verdict.Defer, verdict.Reason(m.Deferral), nil
	case knownRefusal(folder) && m.Deferral == "":
		return verdict.Refuse, verdict.Reason(strings.TrimPrefix(folder, "refuse/")), nil
	}
	return "", "", fmt.Errorf("corpus: %s: no outcome that there is", m.Path)
}

func (m *Message) checkKeys() error {
	if _, known := Policies[m.Policy]; m.Policy != "" && !known {
		return fmt.Errorf("corpus: %s: unknown policy %q", m.Path, m.Policy)
	}
	if m.Fails != "" && !slices.Contains(Failures, m.Fails) {
		return fmt.Errorf("corpus: %s: unknown failure %q", m.Path, m.Fails)
	}
	if m.Postfix != "" && m.Postfix != NotTaken && !knownOutcome(m.Postfix) {
		return fmt.Errorf("corpus: %s: unknown outcome %q", m.Path, m.Postfix)
	}
	if m.What == "" {
		return fmt.Errorf("corpus: %s: nothing says what it is", m.Path)
	}
	return nil
}

// knownOutcome reports whether s is "accept", "refuse/CODE" or "defer/CODE".
func knownOutcome(s string) bool {
	code, deferral := strings.CutPrefix(s, "defer/")
	return s == "accept" || knownRefusal(s) || deferral && slices.Contains(verdict.Deferrals, verdict.Reason(code))
}

// OutcomeOf is a verdict as the table spells it: "accept", "refuse/CODE",
// "defer/CODE".
func OutcomeOf(o verdict.Outcome, r verdict.Reason) string {
	return strings.TrimSuffix(string(o)+"/"+string(r), "/")
}

// Wanted is the outcome that judging must give.
func (m *Message) Wanted() string {
	return OutcomeOf(m.Outcome, m.Reason)
}

// WriteTable is the inverse of ReadTable, sorted by path.
func WriteTable(all []*Message) ([]byte, error) {
	all = slices.SortedFunc(slices.Values(all), func(a, b *Message) int { return strings.Compare(a.Path, b.Path) })
	var b bytes.Buffer
	b.WriteString(columns)
	for _, m := range all {
		var keys bytes.Buffer
		e := json.NewEncoder(&keys)
		e.SetEscapeHTML(false)
		if err := e.Encode(m.Keys); err != nil {
			return nil, fmt.Errorf("corpus: %s: %w", m.Path, err)
		}
		fmt.Fprintf(&b, "%s\t%s\t%s\t%s", m.Path, m.What, m.Why, keys.String())
	}
	return b.Bytes(), nil
}
