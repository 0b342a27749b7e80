package stamp

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"stile/verdict"
)

func named(names ...string) []verdict.Field {
	var header []verdict.Field
	for _, n := range names {
		header = append(header, verdict.Field{Name: n, Value: " x"})
	}
	return header
}

func TestForged(t *testing.T) {
	for _, c := range []struct {
		name   string
		header []verdict.Field
		want   []Deletion
	}{
		{"none", named("From", "To"), nil},
		{"one", named("From", "Stile-Verdict", "To"), []Deletion{{"Stile-Verdict", 1}}},
		{"any case, among others", named("Stile-Verdict", "From", "STILE-VERDICT", "stile-seal", "StIle-vErDict", "x-sTiLe-seal", "Stile-Seal"),
			[]Deletion{{"Stile-Seal", 2}, {"x-sTiLe-seal", 1}, {"StIle-vErDict", 3}, {"stile-seal", 1}, {"STILE-VERDICT", 2}, {"Stile-Verdict", 1}}},
		{"any name behind the prefix", named("Stile-", "X-Stile-", "Stile-Anything", "X-Stile-Anything"),
			[]Deletion{{"X-Stile-Anything", 1}, {"Stile-Anything", 1}, {"X-Stile-", 1}, {"Stile-", 1}}},
		{"names that are others", named("Stile", "X-Stile", "Stiles-Verdict", "Turnstile-Verdict", "X-X-Stile-Seal", "Stile_Verdict", "\u017ftile-Verdict", "X-Turnstile-A"), nil},
		{"white space before the colon", named("Stile-Verdict", "Stile-Verdict \t", "stile-verdict"),
			[]Deletion{{"stile-verdict", 3}, {"Stile-Verdict", 2}, {"Stile-Verdict", 1}}},
		{"no colon", []verdict.Field{{Name: "Stile-Verdict", NoColon: true}, {Name: "Stile-Verdict"}}, []Deletion{{"Stile-Verdict", 1}}},
		{"an octet that is not UTF-8", named("Stile-\xe9", "Stile-\xe8", "Stile-\xe9"),
			[]Deletion{{"Stile-\xe9", 2}, {"Stile-\xe8", 1}, {"Stile-\xe9", 1}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Forged(c.header, ""); !slices.Equal(got, c.want) {
				t.Errorf("got  %v\nwant %v", got, c.want)
			}
		})
	}
}

func TestStripped(t *testing.T) {
	header := named("Reply-To", "From", "reply-to", "X-Stile-Seal", "List-Unsubscribe", "REPLY-TO", "Sender", "To", "Reply-To-All", "Cc")
	covered := []int{2, 6}
	got := stripped(header, "", func(i int) bool { return slices.Contains(covered, i) })
	want := []Deletion{{"REPLY-TO", 3}, {"List-Unsubscribe", 1}, {"X-Stile-Seal", 1}, {"Reply-To", 1}}
	if !slices.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	for _, name := range []string{
		"Reply-To", "Mail-Reply-To", "Mail-Followup-To", "Resent-Reply-To", "Sender",
		"Errors-To", "Disposition-Notification-To", "Return-Receipt-To",
		"X-Confirm-Reading-To", "List-Unsubscribe", "List-Unsubscribe-Post", "List-Post",
	} {
		if got := stripped(named(strings.ToUpper(name)), "", func(int) bool { return false }); len(got) != 1 {
			t.Errorf("an uncovered %s stays", name)
		}
		if got := stripped(named(name), "", func(int) bool { return true }); len(got) != 0 {
			t.Errorf("a covered %s goes", name)
		}
	}
	// A forged field goes, whatever signature covers it.
	if got := stripped(named("Stile-Seal"), "", func(int) bool { return true }); len(got) != 1 {
		t.Error("a covered Stile-Seal stays")
	}
}

// remove deletes as the MTA does: the index-th field of that name, without
// case, counted at the time of the deletion.
func remove(header []verdict.Field, d Deletion) []verdict.Field {
	n := 0
	for i, f := range header {
		if strings.EqualFold(strings.TrimRight(f.Name, " \t"), d.Name) {
			if n++; n == d.Index {
				return slices.Delete(slices.Clone(header), i, i+1)
			}
		}
	}
	return header
}

// Carried out one by one, the deletions leave exactly what may stay.
func TestDeletionsProperty(t *testing.T) {
	names := []string{"From", "To", "Stile-Verdict", "STILE-VERDICT", "stile-Seal", "X-Stile-A", "x-stile-a", "Reply-To", "REPLY-TO", "Sender", "sender", "Stile", "List-Post"}
	rapid.Check(t, func(t *rapid.T) {
		header := named(rapid.SliceOf(rapid.SampledFrom(names)).Draw(t, "header")...)
		covers := make([]bool, len(header))
		var want []verdict.Field
		for i := range header {
			header[i].Value = strings.Repeat("i", i)
			covers[i] = rapid.Bool().Draw(t, "covered")
			forged := strings.HasPrefix(strings.ToLower(header[i].Name), "stile-") || strings.HasPrefix(strings.ToLower(header[i].Name), "x-stile-")
			reply := slices.ContainsFunc(verdict.ReplyFields, header[i].Is)
			if !forged && !(reply && !covers[i]) {
				want = append(want, header[i])
			}
		}
		left := slices.Clone(header)
		for _, d := range stripped(header, "", func(i int) bool { return covers[i] }) {
			left = remove(left, d)
		}
		if !slices.Equal(left, want) {
			t.Fatalf("left %v\nwant %v", left, want)
		}
	})
}
