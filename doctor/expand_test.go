package doctor

import (
	"slices"
	"strings"
	"testing"
)

func TestExpand(t *testing.T) {
	e := func(text string) string {
		x := expander{lookup: func(name string) string {
			return map[string]string{
				"one": "1", "list": "$one, { inet:a:1, default_action=$act }", "act": "accept",
				"self": "$self$self", "old": "$(one)", "level": "3.6",
			}[name]
		}}
		return x.expand(text)
	}
	for text, want := range map[string]string{
		"$one":                             "1",
		"${one}x$(one)":                    "1x1",
		"$$one $":                          "$one $",
		"$list":                            "1, { inet:a:1, default_action=accept }",
		"$old$none.":                       "1.",
		"${one?yes}${none?no}":             "yes",
		"${one:no}${none:{yes}}":           "yes",
		"${none?{a}:{b}}":                  "b",
		"${ one ? {$one} : {b} }":          "1",
		"${{$level} == {3.6} ? {a} : {b}}": "a",
		"${{$level} != {3.6} ? {a} : {b}}": "b",
		"$self":                            "",
		"${one":                            "1",
		"":                                 "",
	} {
		if got := e(text); got != want {
			t.Errorf("%q: %q, not %q", text, got, want)
		}
	}
}

func TestItems(t *testing.T) {
	for list, want := range map[string][]string{
		"":                        nil,
		" , ":                     nil,
		"a,b  c":                  {"a", "b", "c"},
		"{ a, b }, inline:{x y}z": {"{ a, b }", "inline:{x y}z"},
		"a}b {c":                  {"a}b", "{c"},
	} {
		if got := items(list); !slices.Equal(got, want) {
			t.Errorf("%q: %q, not %q", list, got, want)
		}
	}
}

func TestMilters(t *testing.T) {
	got := milters("inet:h:1, { unix:s, default_action = accept,connect_timeout=1s, {protocol = 2} } {}")
	if len(got) != 2 || got[0].address != "inet:h:1" || got[1].String() != "{ unix:s, connect_timeout=1s, default_action=accept, protocol=2 }" {
		t.Errorf("%v", got)
	}
}

// FuzzList holds that whatever stands in a configuration ends, and that what a
// list of milters is made of can be read again.
func FuzzList(f *testing.F) {
	for _, s := range []string{"$a", "${a?{b}:{c}}", "{ unix:s, default_action = accept }", "${{a} == {$b} ? {", "}{,"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		e := expander{lookup: func(string) string { return text }}
		if got := e.expand(text); len(got) > 2*maxExpanded*(1+len(text)) {
			t.Errorf("%d octets", len(got))
		}
		for _, m := range milters(text) {
			if strings.ContainsAny(m.address, " ,\t\r\n") && !strings.Contains(m.address, "{") {
				t.Errorf("%q", m.address)
			}
		}
	})
}
