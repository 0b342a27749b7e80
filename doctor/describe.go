package doctor

import (
	"fmt"
	"regexp"
	"strings"
)

// severityTexts are the heads of the list's parts.
var severityTexts = map[Severity]string{
	Bypass: "bypass: lets mail round the gate",
	Loss:   "loss: may lose or delay mail",
	Note:   "note",
}

var placeholder = regexp.MustCompile(`\{[a-z]+\}`)

// Describe is every finding there can be, with why it matters and what mends it,
// in Markdown.
func Describe() string {
	var b strings.Builder
	b.WriteString(intro)
	for _, s := range severities {
		fmt.Fprintf(&b, "\n## %s\n", severityTexts[s])
		for _, k := range kinds {
			if k.severity != s {
				continue
			}
			fmt.Fprintf(&b, "\n### %s\n\n%s %s\n\n", k.id, k.title, k.why)
			for _, command := range k.mend {
				command = strings.ReplaceAll(command, "{setting}", k.example)
				b.WriteString("    " + placeholder.ReplaceAllStringFunc(command, func(p string) string {
					return strings.ToUpper(strings.Trim(p, "{}"))
				}) + "\n")
			}
		}
	}
	return b.String()
}

const intro = `# What stile doctor finds

` + "`stile doctor`" + ` looks at how stile is wired into Postfix and at what both rely on,
and changes nothing. Run it as root, after every change of either:

    stile doctor
    stile doctor --postfix /etc/postfix-in    # another instance
    stile doctor --json                       # one object a line, as on a pipe

Each finding has an id of the list below, what was found, why it matters and the
commands that mend it. Exit 1: at least one lets mail round the gate. Exit 2: the
config of stile or of Postfix could not be read.

Where a setting is an option in master.cf the command is ` + "`postconf -P`" + ` in place of
` + "`postconf -e`" + ` (` + "`-PX`" + ` of ` + "`-X`" + `). After any of them: ` + "`postfix reload`" + `. A line that
begins with # is for you to do. What stands here in capitals the command has in
full: VALUE is what stood there, with what was wrong in it put right.

What it cannot see: ` + "`.forward`" + ` files, access control lists, what a program does that
an alias starts, tables of patterns and those on other hosts, and who can append
to a mailbox by IMAP.
`
