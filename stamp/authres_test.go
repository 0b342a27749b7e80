package stamp

import (
	"slices"
	"strings"
	"testing"

	"github.com/emersion/go-msgauth/authres"
	"pgregory.net/rapid"

	"stile/tests/signed"
	"stile/verdict"
)

const ourID = "Mx.Estate.example"

func results(value string) verdict.Field {
	return verdict.Field{Name: "Authentication-Results", Value: value}
}

func TestResultsOf(t *testing.T) {
	for _, value := range []string{
		" mx.estate.example; none",
		"mx.estate.example;dkim=pass",
		"\tMX.ESTATE.EXAMPLE ; dkim=pass",
		" mx.estate.example 1; dkim=pass",
		" mx.estate.example(version) 1; dkim=pass",
		" (a comment) mx.estate.example; none",
		" (a (nested \\) one)) (and) mx.estate.example; none",
		"\r\n mx.estate.example;\r\n dkim=pass",
		"\r\n\t(fold\r\n here)\r\n mx.estate.example",
		` "mx.estate.example"; none`,
		` "MX.estate\.exam\ple" 1; none`,
		` (c)"mx.estate.example"(c); none`,
		" mx.estate.example/1; none",
		" mx.estate.example",
		` "mx.estate.example`,
		" mx.estate.example=x",
	} {
		if !isResultsOf(results(value), ourID) {
			t.Errorf("%q stays", value)
		}
	}
	for _, value := range []string{
		"", " ", ";", " (mx.estate.example); none", " (mx.estate.example", " other.example; none",
		" other.example (mx.estate.example); none", " mx.estate.example.evil.example; none", " xmx.estate.example; none",
		" mx.estate.example.; none", " mx.estate; none", ` "mx.estate.example "; none`, ` "mx. estate.example"; none`,
		" i=1; mx.estate.example; none", " mx.\u017fstate.example; none", " mx.estate.example\u00a0; none", ") mx.estate.example; none", " \"\" mx.estate.example",
	} {
		if isResultsOf(results(value), ourID) {
			t.Errorf("%q goes", value)
		}
	}
	for name, want := range map[string]bool{
		"AUTHENTICATION-results": true, "Authentication-Results \t": true,
		"ARC-Authentication-Results": false, "X-Authentication-Results": false, "Authentication-Result": false,
	} {
		f := verdict.Field{Name: name, Value: " mx.estate.example; none"}
		if isResultsOf(f, ourID) != want {
			t.Errorf("a field %q goes: %v", name, !want)
		}
	}
}

// However the id is written, it is found, and no other one is.
func TestResultsOfAny(t *testing.T) {
	var comment func(r *rapid.T, depth int) string
	comment = func(r *rapid.T, depth int) string {
		inner := rapid.StringMatching(`([a-z;" ]|\\.){0,6}`).Draw(r, "comment")
		if depth < 2 && rapid.Bool().Draw(r, "nested") {
			inner += comment(r, depth+1)
		}
		return "(" + inner + ")"
	}
	cfws := func(r *rapid.T) string {
		var b strings.Builder
		for range rapid.IntRange(0, 3).Draw(r, "pieces") {
			b.WriteString(rapid.SampledFrom([]string{" ", "\t", "\r\n ", "\r\n\t", comment(r, 0)}).Draw(r, "piece"))
		}
		return b.String()
	}
	rapid.Check(t, func(r *rapid.T) {
		id := rapid.SampledFrom([]string{"mx.estate.example", "mx.estate.exampl", "amx.estate.example", "mx-estate.example"}).Draw(r, "id")
		quoted := rapid.Bool().Draw(r, "quoted")
		var b strings.Builder
		for _, c := range id {
			if quoted && rapid.Bool().Draw(r, "escaped") {
				b.WriteByte('\\')
			}
			if rapid.Bool().Draw(r, "capital") {
				c = []rune(strings.ToUpper(string(c)))[0]
			}
			b.WriteRune(c)
		}
		written := b.String()
		if quoted {
			written = `"` + written + `"`
		}
		value := cfws(r) + written + rapid.SampledFrom([]string{"", " ", "\r\n ", ";", "(c)"}).Draw(r, "behind") + "; dkim=pass"
		if isResultsOf(results(value), ourID) != (id == "mx.estate.example") {
			r.Fatalf("%q", value)
		}
	})
}

// Whatever a plainer reader takes for our id, so do we.
func FuzzResultsID(f *testing.F) {
	f.Add(" mx.estate.example; dkim=pass")
	f.Add(`(c) "mx.estate.example" 1; none`)
	f.Add(`"\`)
	f.Fuzz(func(t *testing.T, value string) {
		ours := isResultsOf(results(value), ourID)
		if id, _, err := authres.Parse(value); err == nil && strings.EqualFold(id, ourID) && !ours {
			t.Errorf("%q: another parser finds %q", value, id)
		}
		trace, needed := Trace(results(value), ourID)
		if !needed || isResultsOf(trace, ourID) != ours {
			t.Errorf("%q: the trace is %+v", value, trace)
		}
	})
}

// Another's results stay and count, ours go wherever they stand.
func TestForgedResults(t *testing.T) {
	ours, other := results(" mx.estate.example; x"), results(" other.example; x")
	header := []verdict.Field{ours, other, {Name: "stile-seal"}, {Name: "authentication-RESULTS", Value: `"MX.estate.example"`}, {Name: "From"}, other, ours}
	want := []Deletion{{"Authentication-Results", 5}, {"authentication-RESULTS", 3}, {"stile-seal", 1}, {"Authentication-Results", 1}}
	if got := Forged(header, ourID); !slices.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	if got := stripped(header, ourID, func(int) bool { return true }); !slices.Equal(got, want) {
		t.Errorf("of an accepted message: %v\nwant %v", got, want)
	}
	if got := Forged(header, ""); !slices.Equal(got, want[2:3]) {
		t.Errorf("without an id: %v", got)
	}
	for id, n := range map[string]int{ourID: 6, "": 1} {
		var traces []verdict.Field
		for _, f := range header {
			if trace, needed := Trace(f, id); needed {
				traces = append(traces, trace)
			}
		}
		if len(traces) != n || !slices.Equal(Forged(traces, id), Forged(header, id)) {
			t.Errorf("id %q: the traces %v", id, traces)
		}
	}
}

// The field of an accepted message: beneath the stamp, as RFC 8601 has it,
// there only if asked for.
func TestMakeResults(t *testing.T) {
	sealer, keys := sampleSealer(t)
	accepted := signed.Accepted(t, signed.Spec{
		Ed25519: true, Domain: "Example.ORG",
		Above: "Authentication-Results: mx.estate.example; dkim=pass header.d=bank.example\r\nAuthentication-Results: other.example; none\r\n",
	})
	info := sampleInfo
	info.AuthservID = ourID
	made, err := Make(accepted, sampleRendering(), info, sealer)
	if err != nil {
		t.Fatal(err)
	}
	header := apply(accepted.Header(), made)
	if got, want := names(header), "Stile-Verdict Stile-Rendering Stile-Seal Authentication-Results Authentication-Results DKIM-Signature From To Subject"; got != want {
		t.Errorf("the header is %s\nwant %s", got, want)
	}
	if got, want := header[3].Value, " Mx.Estate.example;\r\n dkim=pass header.d=example.org header.a=ed25519-sha256"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := header[4].Value, " other.example; none"; got != want {
		t.Errorf("below it stands %q, want %q", got, want)
	}
	id, all, err := authres.Parse(header[3].Value)
	if err != nil || id != ourID || len(all) != 1 {
		t.Fatalf("%q, %d results, %v", id, len(all), err)
	}
	if r, ok := all[0].(*authres.DKIMResult); !ok || r.Value != authres.ResultPass || r.Domain != "example.org" {
		t.Errorf("it says %+v", all[0])
	}
	if _, _, err := Open(header, "shopping", keys...); err != nil {
		t.Errorf("the seal: %v", err)
	}
	if made, err = Make(accepted, sampleRendering(), sampleInfo, sealer); err != nil || len(made.Insert) != 3 || len(made.Delete) != 0 {
		t.Errorf("without an id: %+v, %v", made, err)
	}
	info.AuthservID = strings.Repeat("a", 2000)
	if _, err := Make(accepted, sampleRendering(), info, sealer); err == nil {
		t.Error("a field that would be broken on delivery was made")
	}
}
