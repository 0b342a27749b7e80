package doctor

import (
	_ "embed"
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

//go:embed intro.md
var intro string
