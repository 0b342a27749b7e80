package doctor

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// maxFile is how much of a file is read.
const maxFile = 16 << 20

// listing is a table's entries, in its order.
type listing struct {
	entries [][2]string // key, value
	unread  bool        // it cannot be listed
}

// direct takes off what sends a query to proxymap(8): the table itself is asked.
func direct(table string) string {
	for {
		rest, ok := strings.CutPrefix(table, "proxy:")
		if !ok {
			return table
		}
		table = rest
	}
}

// patterns reports whether a table's keys are patterns; Postfix asks those for
// whole addresses only.
func patterns(table string) bool {
	kind, _, _ := strings.Cut(table, ":")
	return slices.Contains([]string{"regexp", "pcre", "cidr"}, kind)
}

// query asks tables for a key, in order; "" where none has it.
func (a *audit) query(key string, tables []string) string {
	for _, table := range tables {
		if !strings.Contains(table, ":") {
			continue
		}
		if value := a.ask(key, direct(table)); value != "" {
			return value
		}
	}
	return ""
}

// ask asks one table. One that cannot be asked is told of.
func (a *audit) ask(key, table string) string {
	if !patterns(table) {
		if l := a.list(table); !l.unread {
			return l.find(strings.ToLower(key))
		}
	}
	question := [2]string{key, table}
	if answer, ok := a.asked[question]; ok {
		return answer
	}
	r, err := run(a.ctx, "postmap", a.pf.args("-q", key, table)...)
	if err != nil || r.exit != 0 && r.said {
		a.unread(table)
	}
	answer := ""
	if err == nil && r.exit == 0 {
		answer = strings.TrimSpace(r.stdout)
	}
	a.asked[question] = answer
	return answer
}

func (l listing) find(key string) string {
	for _, e := range l.entries {
		if e[0] == key {
			return e[1]
		}
	}
	return ""
}

// queryAddress asks for an address as Postfix does: the whole, then its domain.
// The keys are what a table is asked for beside the whole address.
func (a *audit) queryAddress(address string, tables []string, keys ...string) string {
	if v := a.query(address, tables); v != "" {
		return v
	}
	exact := slices.DeleteFunc(slices.Clone(tables), func(t string) bool { return patterns(direct(t)) })
	for _, key := range keys {
		if v := a.query(key, exact); v != "" {
			return v
		}
	}
	return ""
}

func (a *audit) unread(table string) {
	a.add("table-unread", vars{"table": table}, "what is in "+table+" cannot be listed")
}

// list is what is in a table.
func (a *audit) list(table string) listing {
	table = direct(table)
	if l, ok := a.lists[table]; ok {
		return l
	}
	l := listing{}
	r, err := run(a.ctx, "postmap", a.pf.args("-s", table)...)
	if err != nil || r.exit != 0 {
		l.unread = true
	}
	for line := range strings.Lines(r.stdout) {
		key, value, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		// Marks that NIS and sendmail(8) put into a table of aliases.
		if ok && !strings.HasPrefix(key, "YP_") && key != "@" {
			l.entries = append(l.entries, [2]string{strings.ToLower(key), value})
		}
	}
	a.lists[table] = l
	return l
}

// rules is the text of a table of patterns, or a listing's values: where an
// action would stand. It is empty where there is nothing to read.
func (a *audit) rules(table string) string {
	table = direct(table)
	if !patterns(table) {
		var b strings.Builder
		for _, e := range a.list(table).entries {
			b.WriteString(e[1] + "\n")
		}
		return b.String()
	}
	_, text, _ := strings.Cut(table, ":")
	if strings.HasPrefix(text, "{") {
		return text
	}
	content, err := readFile(text)
	if err != nil {
		a.unread(table)
	}
	return content
}

// readFile reads a file of the operator's.
func readFile(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if info.Size() > maxFile {
		return "", errOutput
	}
	text, err := os.ReadFile(filepath.Clean(path))
	return string(text), err
}

// tablesOf is a parameter that lists tables.
func (a *audit) tablesOf(name string) []string { return items(a.pf.get(name)) }

// transport is the transport:nexthop that the transport map has for an address,
// "" where it has none (transport(5)).
func (a *audit) transport(address string) string {
	tables := a.tablesOf("transport_maps")
	if len(tables) == 0 {
		return ""
	}
	domain := domainOf(address)
	keys := []string{domain}
	for rest := domain; strings.Contains(rest, "."); {
		_, rest, _ = strings.Cut(rest, ".")
		keys = append(keys, "."+rest)
	}
	return a.queryAddress(strings.ToLower(address), tables, append(keys, "*")...)
}

// inList reports whether a list of domains, as Postfix has them, holds one.
func (a *audit) inList(domain, name string) bool {
	for _, item := range a.tablesOf(name) {
		switch {
		case strings.EqualFold(item, domain):
			return true
		case strings.HasPrefix(item, "/"):
			text, err := readFile(item)
			if err != nil {
				a.unread(item)
			}
			if slices.Contains(items(strings.ToLower(text)), domain) {
				return true
			}
		case strings.Contains(item, ":"):
			if a.query(domain, []string{item}) != "" {
				return true
			}
		}
	}
	return false
}

func domainOf(address string) string {
	return strings.ToLower(address[strings.LastIndexByte(address, '@')+1:])
}

func localOf(address string) string {
	return strings.ToLower(address[:max(0, strings.LastIndexByte(address, '@'))])
}
