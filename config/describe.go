package config

import "strings"

// Describe is a whole config with a comment on every key, made of the table by
// which [Load] reads. Load takes it as it is.
func Describe() string {
	var b strings.Builder
	b.WriteString("# The config of stile. A key that is commented out is shown at its default, or as\n" +
		"# an example where it has none. An unknown key is an error.\n\n")
	describe(&b, topKeys)
	for _, section := range []struct {
		head string
		keys []key
	}{{"[evidence]", evidenceKeys}, {"[digest]", digestKeys}, {"[records]", recordKeys}, {"[[mailbox]]", mailboxKeys}} {
		b.WriteString(section.head + "\n")
		describe(&b, section.keys)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func describe(b *strings.Builder, keys []key) {
	for _, k := range keys {
		value := k.show
		if value == "" {
			value = k.def
		}
		if value == "{}" || value == "" {
			continue // a section, described by itself
		}
		for line := range strings.Lines(k.doc) {
			b.WriteString("# " + strings.TrimSuffix(line, "\n") + "\n")
		}
		if k.off {
			b.WriteString("# ")
		}
		b.WriteString(k.name + " = " + value + "\n")
	}
	b.WriteString("\n")
}
