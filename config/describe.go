package config

import "strings"

// Describe is a whole config with a comment on every key, made of the table by
// which [Load] reads. Load takes it as it is.
func Describe() string { return commented(key.example) }

// Sample is the same config with values of one's own: set has them as TOML, by
// the name that errors call a key by ("mailbox.senders"). Every other key is at
// its default; one that has none, or is seldom used, is commented out.
func Sample(set map[string]string) string {
	return commented(func(k key, name string) (value string, off bool) {
		if v, ok := set[name]; ok {
			return v, false
		}
		if k.def == "" {
			return k.show, true
		}
		return k.def, k.off
	})
}

// example is the value that Describe prints, and whether commented out.
func (k key) example(string) (value string, off bool) {
	if k.show != "" {
		return k.show, k.off
	}
	return k.def, k.off
}

// isSection reports whether the key is a table with keys of its own.
func (k key) isSection() bool { return k.show == "" && (k.def == "" || k.def == "{}") }

func commented(choose func(k key, name string) (value string, off bool)) string {
	var b strings.Builder
	b.WriteString("# The config of stile. A key that is commented out is shown at its default, or as\n" +
		"# an example where it has none. An unknown key is an error.\n\n")
	for _, section := range []struct {
		head, prefix string
		keys         []key
	}{
		{"", "", topKeys},
		{"[evidence]\n", "evidence.", evidenceKeys},
		{"[digest]\n", "digest.", digestKeys},
		{"[records]\n", "records.", recordKeys},
		{"[[mailbox]]\n", "mailbox.", mailboxKeys},
	} {
		b.WriteString(section.head)
		for _, k := range section.keys {
			if k.isSection() {
				continue // its own keys describe it
			}
			value, off := choose(k, section.prefix+k.name)
			for line := range strings.Lines(k.doc) {
				b.WriteString("# " + strings.TrimSuffix(line, "\n") + "\n")
			}
			if off {
				b.WriteString("# ")
			}
			b.WriteString(k.name + " = " + value + "\n")
		}
		b.WriteString("\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}
