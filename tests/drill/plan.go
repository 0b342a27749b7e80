package main

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"stile/tests/corpus"
	"stile/verdict"
)

// plan is every cut, and the sources with all of them.
type plan struct {
	sources map[string][]*source // by package
	cuts    []*cut
	spared  []string // the guards that are exempt
	corpus  *corpus.Corpus
}

// guarded are the packages whose guards are found.
var guarded = []string{"verdict", "fence", "stamp"}

// makePlan finds the guards, adds the table, and says what lacks.
func makePlan(root string, table []row) (*plan, error) {
	p := &plan{sources: map[string][]*source{}}
	var err error
	if p.corpus, err = corpus.Load(path.Join(root, "tests/corpus")); err != nil {
		return nil, err
	}
	folders := slices.Clone(guarded)
	for _, r := range table {
		if f := path.Dir(r.file); !slices.Contains(folders, f) {
			folders = append(folders, f)
		}
	}
	for _, f := range folders {
		if p.sources[f], err = readSources(root, f); err != nil {
			return nil, err
		}
	}
	codes, err := p.codes()
	if err != nil {
		return nil, err
	}
	for _, f := range guarded {
		for _, s := range p.sources[f] {
			for _, g := range guards(s, codes) {
				if err := p.addGuard(f, g); err != nil {
					return nil, err
				}
			}
		}
	}
	var faults error
	for _, r := range table {
		faults = errors.Join(faults, p.addRow(r))
	}
	return p, errors.Join(faults, p.complete())
}

// A refusal has one of these names: an error or answer of the package, a
// remark, or one of the reasons.
var (
	refusalName = regexp.MustCompile(`(?m)^(?:\t|var )((?:[eE]rr|remark|conn|reply)[A-Z]\w*)\s+=`)
	reasonName  = regexp.MustCompile(`(?m)^\t(\w+)\s+Reason += "([a-z-]+)"`)
)

// codes are the names that stand for a refusal, and what each is called.
func (p *plan) codes() (map[string]string, error) {
	codes := map[string]string{}
	for _, folder := range guarded {
		for _, s := range p.sources[folder] {
			for _, m := range refusalName.FindAllStringSubmatch(string(s.text), -1) {
				codes[m[1]] = m[1]
			}
			for _, m := range reasonName.FindAllStringSubmatch(string(s.text), -1) {
				codes[m[1]] = m[2]
			}
		}
	}
	for name, r := range results {
		codes[name] = string(r)
	}
	for _, r := range slices.Concat(verdict.Refusals, verdict.Deferrals) {
		if !slices.Contains(mapValues(codes), string(r)) {
			return nil, fmt.Errorf("drill: no constant for the reason %s was found", r)
		}
	}
	return codes, nil
}

func mapValues(m map[string]string) (all []string) {
	for _, v := range m {
		all = append(all, v)
	}
	return all
}

// addGuard cuts a guard. One of verdict must be missed by a message of its
// reason, one of the functions that it asks by any test, such a message first;
// so must any other.
func (p *plan) addGuard(folder string, g guard) error {
	if name := g.name() + ": " + collapse(g.source.span(g.cond)); exempt[name] != "" {
		p.spared = append(p.spared, name)
		return nil
	}
	if folder == "verdict" && g.code == "" && slices.Contains(answers, g.fn) {
		return nil
	}
	if folder == "fence" && g.code == "" && !slices.Contains(rules, g.fn) {
		return nil
	}
	c := cutGuard(g, len(p.cuts)+1)
	c.code = g.code
	if folder == "verdict" {
		if err := p.file(c, g); err != nil {
			return err
		}
	}
	if c.code == "" {
		c.code = g.fn[strings.LastIndexByte(g.fn, '.')+1:]
	}
	p.cuts = append(p.cuts, c)
	return nil
}

// file finds the messages that are filed under the reason of a guard.
func (p *plan) file(c *cut, g guard) error {
	if g.code != "" {
		c.vectors = p.vectors(verdict.Reason(g.code))
		c.strict = isReason(g.code)
		if c.strict && len(c.vectors) == 0 {
			return fmt.Errorf("drill: %s: no message of the corpus is there for %s", c.place(), g.code)
		}
		return nil
	}
	reasons := validators[g.fn]
	if len(reasons) == 0 {
		return fmt.Errorf("drill: %s: %s refuses, and nothing says for which reason", c.place(), g.fn)
	}
	c.code = string(reasons[0])
	for _, r := range reasons {
		c.vectors = append(c.vectors, p.vectors(r)...)
	}
	return nil
}

func isReason(code string) bool {
	return slices.Contains(verdict.Refusals, verdict.Reason(code)) || slices.Contains(verdict.Deferrals, verdict.Reason(code))
}

func (p *plan) addRow(r row) error {
	folder := path.Dir(r.file)
	for _, s := range p.sources[folder] {
		if s.path != r.file {
			continue
		}
		c, err := cutRow(s, r, len(p.cuts)+1)
		if err != nil {
			return err
		}
		if folder == "verdict" && r.test == "" && isReason(r.code) {
			c.vectors, c.strict = p.vectors(verdict.Reason(r.code)), true
		}
		p.cuts = append(p.cuts, c)
		return nil
	}
	return fmt.Errorf("drill: cut %s: there is no %s", r.code, r.file)
}

// vectors are the tests of the messages filed under a reason.
func (p *plan) vectors(r verdict.Reason) (all []string) {
	for _, m := range p.corpus.Messages {
		if m.Reason == r {
			all = append(all, "TestVerdict/"+m.Path)
		}
	}
	return all
}

// complete says which reason of verdict has no guard.
func (p *plan) complete() error {
	for _, r := range verdict.Refusals {
		if !slices.ContainsFunc(p.cuts, func(c *cut) bool { return c.code == string(r) && c.strict }) {
			return fmt.Errorf("drill: the reason %s has no guard", r)
		}
	}
	return nil
}
