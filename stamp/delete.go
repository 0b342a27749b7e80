package stamp

import (
	"slices"
	"strings"

	"stile/verdict"
)

// Deletion is one field to be deleted.
type Deletion struct {
	Name  string // as received
	Index int    // among the fields of that name, without case, from 1 in order of receipt
}

// forgedPrefixes begin the names that only the milter may write.
var forgedPrefixes = []string{"stile-", "x-stile-"}

// Forged are the deletions of every Stile-* and X-Stile-* field and, unless
// authservID is "", of every Authentication-Results of that id, in the order in
// which they are to be sent: of each name the highest index first, for a
// deletion moves the fields of that name below it up by one.
func Forged(header []verdict.Field, authservID string) []Deletion {
	return deletions(header, func(i int, name string) bool { return isForged(header[i], name, authservID) })
}

// Trace is all that Forged needs of a field, which is little however long the
// field is; false if that is nothing.
func Trace(f verdict.Field, authservID string) (verdict.Field, bool) {
	name := lower(fieldName(f))
	if hasForgedPrefix(name) {
		return verdict.Field{Name: f.Name}, true
	}
	if authservID == "" {
		return verdict.Field{}, false
	}
	if isResultsOf(f, authservID) {
		return verdict.Field{Name: f.Name, Value: authservID}, true
	}
	// It counts where another of its name is to be deleted.
	return verdict.Field{Name: f.Name}, name == lower(AuthResultsName)
}

// stripped are the deletions for an accepted message: forged fields, and those
// of verdict.ReplyFields that the accepting signature does not cover. Anyone
// can add these to signed mail, and agents act on them.
func stripped(header []verdict.Field, authservID string, covers func(i int) bool) []Deletion {
	return deletions(header, func(i int, name string) bool {
		if isForged(header[i], name, authservID) {
			return true
		}
		return isReply(name) && !covers(i)
	})
}

// deletions counts each name's fields and collects those that go, last first.
func deletions(header []verdict.Field, goes func(i int, name string) bool) []Deletion {
	count := map[string]int{}
	var all []Deletion
	for i, f := range header {
		if f.NoColon {
			continue // no field to the MTA
		}
		received := fieldName(f)
		name := lower(received)
		count[name]++
		if goes(i, name) {
			all = append(all, Deletion{received, count[name]})
		}
	}
	slices.Reverse(all)
	return all
}

// fieldName is the name by which the MTA finds the field: white space before
// the colon (RFC 5322, 4.5) is not part of it.
func fieldName(f verdict.Field) string { return strings.TrimRight(f.Name, " \t") }

// isForged takes a field and its name in lower case.
func isForged(f verdict.Field, name, authservID string) bool {
	if hasForgedPrefix(name) {
		return true
	}
	return authservID != "" && isResultsOf(f, authservID)
}

// hasForgedPrefix takes a name in lower case.
func hasForgedPrefix(name string) bool {
	return slices.ContainsFunc(forgedPrefixes, func(prefix string) bool {
		return strings.HasPrefix(name, prefix)
	})
}

// isReply takes a name in lower case.
func isReply(name string) bool {
	return slices.ContainsFunc(verdict.ReplyFields, func(reply string) bool {
		return lower(reply) == name
	})
}

// lower folds A-Z and nothing else, as the MTA compares names.
func lower(s string) string {
	b := []byte(s)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}
