package main

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"stile/tests/corpus"
	"stile/tests/signed"
)

// signedAt is when the base is signed.
var signedAt = time.Unix(1_700_000_000, 0).UTC()

// letter is a message in the making.
type letter struct {
	name   string
	fields []string // each with its folds, without its line end; top first
	body   string
	signs  []signed.Signature                 // the last ends on top
	after  []func(raw string) (string, error) // edits of the signed message
}

// edit is one change to the base.
type edit func(*letter) error

// recipe says how a message is made, and its row.
type recipe struct {
	path, what, why string
	keys            corpus.Keys
	edits           []edit
}

// message is a recipe without keys.
func message(path, what, why string, edits ...edit) recipe {
	return recipe{path: path, what: what, why: why, edits: edits}
}

// with is the recipe with those keys.
func (r recipe) with(k corpus.Keys) recipe {
	r.keys = k
	return r
}

// base is the message that every edit starts from, accepted as it is. Its
// Message-ID is its own, and so is its signature: what was accepted once would
// else be a replay.
func base(name string) *letter {
	return &letter{
		name: name,
		fields: []string{
			"From: Alice <alice@example.org>",
			"To: Shopping <" + corpus.Mailbox + ">",
			"Subject: Weekly numbers",
			"Date: " + signedAt.Format(time.RFC1123Z),
			"Message-ID: <" + name + "@example.org>",
			"MIME-Version: 1.0",
			"Content-Type: text/plain; charset=utf-8",
			"Content-Transfer-Encoding: 7bit",
		},
		body:  "Hello agent,\r\n\r\nthe numbers are on the wiki page.\r\n\r\nAlice\r\n",
		signs: []signed.Signature{signature("example.org", "corpus")},
	}
}

// signature is one that covers every field of the base.
func signature(domain, selector string) signed.Signature {
	return signed.Signature{
		Domain: domain, Selector: selector, Key: keyOf(selector), Time: signedAt,
		Names: []string{"from", "to", "subject", "date", "message-id", "mime-version", "content-type", "content-transfer-encoding"},
	}
}

func (r recipe) make() (*corpus.Message, error) {
	l := base(path.Base(r.path))
	fail := func(err error) (*corpus.Message, error) { return nil, fmt.Errorf("generate: %s: %w", r.path, err) }
	for _, e := range r.edits {
		if err := e(l); err != nil {
			return fail(err)
		}
	}
	raw, err := l.raw()
	if err != nil {
		return fail(err)
	}
	return &corpus.Message{Path: r.path, What: r.what, Why: r.why, Keys: r.keys, Raw: []byte(raw)}, nil
}

// raw signs the message and makes the edits that come after.
func (l *letter) raw() (string, error) {
	raw := strings.Join(append(slices.Clone(l.fields), ""), "\r\n") + "\r\n" + l.body
	var err error
	for _, s := range l.signs {
		if raw, err = signed.Sign(raw, s); err != nil {
			return "", fmt.Errorf("generate: %w", err)
		}
	}
	for _, change := range l.after {
		if raw, err = change(raw); err != nil {
			return "", err
		}
	}
	return raw, nil
}

var (
	errNothing = errors.New("nothing to edit")
	errNoField = errors.New("no field of that name")
)

func named(name string) func(string) bool {
	return func(f string) bool { return strings.HasPrefix(f, name+":") }
}

// set gives a field another value before it is signed.
func set(name, value string) edit { return line(name, name+": "+value) }

// line puts another field, written out, in a field's place.
func line(name, whole string) edit {
	return func(l *letter) error {
		i := slices.IndexFunc(l.fields, named(name))
		if i < 0 {
			return errNoField
		}
		l.fields[i] = whole
		return nil
	}
}

// without takes fields away before the message is signed.
func without(names ...string) edit {
	return func(l *letter) error {
		for _, n := range names {
			i := slices.IndexFunc(l.fields, named(n))
			if i < 0 {
				return errNoField
			}
			l.fields = slices.Delete(l.fields, i, i+1)
		}
		return nil
	}
}

// add puts fields below the others. No signature covers them.
func add(fields ...string) edit {
	return func(l *letter) error {
		l.fields = append(l.fields, fields...)
		return nil
	}
}

// addSigned is add, and the signature covers them.
func addSigned(fields ...string) edit {
	return func(l *letter) error {
		l.fields = append(l.fields, fields...)
		for _, f := range fields {
			name, _, _ := strings.Cut(f, ":")
			l.signs[0].Names = append(l.signs[0].Names, name)
		}
		return nil
	}
}

// body is another body.
func body(text string) edit {
	return func(l *letter) error {
		l.body = text
		return nil
	}
}

// unsigned leaves the signature out.
func unsigned(l *letter) error {
	l.signs = nil
	return nil
}

// sign changes how the message is signed.
func sign(change func(*signed.Signature)) edit {
	return func(l *letter) error {
		change(&l.signs[0])
		return nil
	}
}

// uncovered takes names out of h=.
func uncovered(names ...string) edit {
	return sign(func(s *signed.Signature) {
		s.Names = slices.DeleteFunc(s.Names, func(n string) bool { return slices.Contains(names, n) })
	})
}

// covering puts names into h=.
func covering(names ...string) edit {
	return sign(func(s *signed.Signature) { s.Names = append(s.Names, names...) })
}

// by makes the signature that of another key or domain.
func by(domain, selector string) edit {
	return sign(func(s *signed.Signature) { s.Domain, s.Selector, s.Key = domain, selector, keyOf(selector) })
}

// dated makes the signature's t= another time.
func dated(t time.Time) edit { return sign(func(s *signed.Signature) { s.Time = t }) }

// tag puts another text ("v=2") in a tag's place, before the message is signed.
func tag(name, whole string) edit {
	return sign(func(s *signed.Signature) {
		s.Alter = alsoAlter(s.Alter, func(field string) string {
			return tagPattern(name).ReplaceAllLiteralString(field, whole+";")
		})
	})
}

// noTag leaves a tag of the signature out, before it is signed.
func noTag(name string) edit {
	return sign(func(s *signed.Signature) {
		s.Alter = alsoAlter(s.Alter, func(field string) string {
			return regexp.MustCompile(`\s*`+tagPattern(name).String()).ReplaceAllLiteralString(field, "")
		})
	})
}

// tags puts text between the signature's tags, each tag ended by ";".
func tags(text string) edit { return sign(func(s *signed.Signature) { s.Tags = text }) }

func tagPattern(name string) *regexp.Regexp {
	return regexp.MustCompile(`\b` + name + `=[^;]*;`)
}

func alsoAlter(first, then func(string) string) func(string) string {
	if first == nil {
		return then
	}
	return func(field string) string { return then(first(field)) }
}

// also puts further signatures on top of the first.
func also(more ...signed.Signature) edit {
	return func(l *letter) error {
		l.signs = append(l.signs, more...)
		return nil
	}
}

// top puts text on top of the signed message: fields, each with its line end.
func top(text string) edit {
	return late(func(raw string) (string, error) { return text + raw, nil })
}

// tail puts text behind the signed message.
func tail(text string) edit {
	return late(func(raw string) (string, error) { return raw + text, nil })
}

// swap puts one text in the place of another, which stands once in the signed
// message.
func swap(was, is string) edit {
	return late(func(raw string) (string, error) {
		if strings.Count(raw, was) != 1 {
			return "", fmt.Errorf("%w: %q stands %d times", errNothing, was, strings.Count(raw, was))
		}
		return strings.Replace(raw, was, is, 1), nil
	})
}

// late is an edit of the signed message.
func late(change func(raw string) (string, error)) edit {
	return func(l *letter) error {
		l.after = append(l.after, change)
		return nil
	}
}

// filler is n octets of text.
func filler(n int) string { return strings.Repeat("x", n) }
