package doctor

import (
	"cmp"
	"context"
	"os"
	"regexp"
	"slices"
	"strings"

	"stile/config"
)

// Severity is what a finding means for the mail.
type Severity string

// The severities, the worst first.
const (
	Bypass Severity = "bypass" // lets mail round the gate
	Loss   Severity = "loss"   // may lose or delay mail
	Note   Severity = "note"   // neither, and worth knowing
)

var severities = []Severity{Bypass, Loss, Note}

// Finding is one thing that is not as it should be. What and Mend quote
// configuration files and must be escaped before they are shown.
type Finding struct {
	ID       string // of the closed list in [Describe]
	Severity Severity
	What     string   // what stands there
	Why      string   // why it matters
	Mend     []string // commands of a shell, in order
}

// Options says what is audited.
type Options struct {
	Config  *config.Config
	File    string // the path that Config was read from
	Postfix string // the directory of main.cf, "" is the one that postconf(1) takes

	// Synchronised reports whether the machine's clock is set by somebody; nil
	// asks the kernel.
	Synchronised func() bool
}

// Audit looks at everything and changes nothing. An error means that Postfix's
// configuration could not be read; what else cannot be read is a finding.
func Audit(ctx context.Context, o Options) ([]Finding, error) {
	pf, err := readPostfix(ctx, o.Postfix)
	if err != nil {
		return nil, err
	}
	if o.Synchronised == nil {
		o.Synchronised = synchronised
	}
	a := newAudit(ctx, o, pf)
	if os.Geteuid() != 0 {
		a.add("unprivileged", nil, "stile doctor does not run as root")
	}
	a.wiring()
	a.tables()
	a.addresses()
	a.edits()
	a.smtp()
	a.socket()
	a.permissions()
	a.surroundings()
	slices.SortStableFunc(a.found, func(x, y Finding) int {
		return cmp.Compare(slices.Index(severities, x.Severity), slices.Index(severities, y.Severity))
	})
	return a.found, nil
}

// audit is one run.
type audit struct {
	Options
	ctx   context.Context
	pf    *postfix
	found []Finding

	guarded []guarded            // set by wiring
	gates   []*service           // the servers that guarded addresses are routed to
	routed  bool                 // every guarded address is routed to one
	lists   map[string]listing   // tables that were read, by type:name
	asked   map[[2]string]string // answers, by key and table
}

func newAudit(ctx context.Context, o Options, pf *postfix) *audit {
	return &audit{Options: o, ctx: ctx, pf: pf, lists: map[string]listing{}, asked: map[[2]string]string{}}
}

// vars fill the {names} in a kind's commands.
type vars map[string]string

// add notes a finding in main.cf, or in none of Postfix's files.
func (a *audit) add(id string, v vars, what string) { a.addAt(id, nil, v, what) }

// addAt notes a finding. Where the parameter that a command names is set by an
// option of the service, the command changes that.
func (a *audit) addAt(id string, s *service, v vars, what string) {
	k := kindOf(id)
	f := Finding{ID: id, Severity: k.severity, What: what, Why: k.why}
	for _, command := range k.mend {
		f.Mend = append(f.Mend, a.command(command, s, v))
	}
	// One setting of main.cf shows in many services: it is told once.
	if !slices.ContainsFunc(a.found, func(g Finding) bool { return g.ID == f.ID && g.What == f.What }) {
		a.found = append(a.found, f)
	}
}

// command fills a kind's command in.
func (a *audit) command(text string, s *service, v vars) string {
	var pairs []string
	for name, value := range v {
		pairs = append(pairs, "{"+name+"}", shellQuoted(value))
	}
	text = strings.NewReplacer(pairs...).Replace(text)
	verb, rest, _ := strings.Cut(text, " ")
	if verb != "postconf" {
		return text
	}
	option, setting, _ := strings.Cut(rest, " ")
	name, _, _ := strings.Cut(strings.Trim(setting, "'"), " ")
	if s != nil && s.overrides(name) {
		setting = "'" + s.id() + "/" + compact(strings.Trim(setting, "'")) + "'"
		option = strings.NewReplacer("-e", "-P", "-X", "-PX").Replace(option)
	}
	if a.Postfix != "" {
		option = "-c " + shellWord(a.Postfix) + " " + option
	}
	return verb + " " + option + " " + setting
}

var separators = regexp.MustCompile(`[\s,]+`)

// compact writes a setting of a list without white space, which postconf -P does
// not take.
func compact(setting string) string {
	name, value, ok := strings.Cut(setting, "=")
	if !ok {
		return setting
	}
	value = separators.ReplaceAllString(strings.TrimSpace(value), ",")
	return strings.TrimSpace(name) + "=" + strings.NewReplacer("{,", "{", ",}", "}").Replace(value)
}

// shellQuoted makes text fit between the single quotes in which a kind's
// commands hold what they are filled with.
func shellQuoted(text string) string { return strings.ReplaceAll(text, "'", `'\''`) }

// shellWord is text as one word of a shell.
func shellWord(text string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-:@+=,[]", r)
	}
	if text != "" && strings.IndexFunc(text, func(r rune) bool { return !plain(r) }) < 0 {
		return text
	}
	return "'" + shellQuoted(text) + "'"
}
