package stamp

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/mod/sumdb/note"
	"pgregory.net/rapid"

	"stile/verdict"
)

func TestSealValue(t *testing.T) {
	v := sampleVerdict()
	v.Policies = []string{"shopping", "calendar"}
	header := sampleHeader(t, v, sampleFence)
	const want = " v1;\r\n" +
		" shopping=mx.estate.example+/SHEhZ6R+ZrCIcXtrk2yWnJ14V06WTh3vGN9G/XMrHrxqsjZ0gNCErVbmvqxZA99spX9vOUBPstXGAH+m6eZz6UO6gc=;\r\n" +
		" calendar=mx.estate.example+/SHEheh9kw3vSsUqmCgVts07vgeR3vLi0ik7K8mAsJ89K6AkwEcLYXvbBKUTYk00lHsscvutfpZf9k+uBtzY5OHoeQY="
	if got := value(t, header, SealName); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// The seal is a signed note that other programs can check as well.
func TestSealIsSignedNote(t *testing.T) {
	header := sampleHeader(t, sampleVerdict(), sampleFence)
	_, keys := sampleSealer(t)
	part := strings.TrimPrefix(relaxed(value(t, header, SealName)), "v1; shopping=")
	name, data, _ := strings.Cut(part, "+")
	sum := hexSHA256("accept; id=01K6Z3Q4W5X6Y7Z8A9B0C1D2E3; policy=shopping; from=friend@example.org; d=example.org;" +
		" key=9f2c41d0a7b3e815; alg=rsa-sha256; signed=from,to,subject,date; time=2026-11-30T20:57:13Z;" +
		" text=full; flags=none; hidden=none; dropped=none;" +
		" digest=sha256:c1cda26362828b69266512052b97cb3729e3b052e4ade47c0a1e3383defe73c7")
	text := "stile seal v1\nshopping\n" + sum + "\n" + hexSHA256(sampleFence) + "\n"
	opened, err := note.Open([]byte(text+"\n— "+name+" "+data+"\n"), note.VerifierList(keys...))
	if err != nil {
		t.Fatal(err)
	}
	if opened.Text != text {
		t.Errorf("another text is signed: %q", opened.Text)
	}
}

// value is the value of the one field of that name.
func value(t testing.TB, header []verdict.Field, name string) string {
	t.Helper()
	f, err := only(header, name)
	if err != nil {
		t.Fatal(err)
	}
	return f.Value
}

func TestOpen(t *testing.T) {
	v := sampleVerdict()
	v.Policies = []string{"shopping", "calendar"}
	header := sampleHeader(t, v, sampleFence)
	_, keys := sampleSealer(t)
	_, otherText, err := GenerateKey("mx.estate.example")
	if err != nil {
		t.Fatal(err)
	}
	other, err := ParsePublic(otherText)
	if err != nil {
		t.Fatal(err)
	}
	both := append(slices.Clone(other), keys...)
	spelled := slices.Clone(header)
	for i, f := range spelled {
		spelled[i].Name = strings.ToUpper(f.Name)
	}
	without := func(name string) []verdict.Field {
		return slices.DeleteFunc(slices.Clone(header), func(f verdict.Field) bool { return f.Is(name) })
	}
	twice := func(name string) []verdict.Field {
		return append(slices.Clone(header), verdict.Field{Name: strings.ToLower(name), Value: value(t, header, name)})
	}
	seal := value(t, header, SealName)
	elsewhere := sampleHeader(t, sampleVerdict(), sampleFence) // sealed for shopping alone
	for _, c := range []struct {
		name   string
		header []verdict.Field
		policy string
		keys   []note.Verifier
		err    error
	}{
		{"one policy", header, "shopping", keys, nil},
		{"the other policy", header, "calendar", keys, nil},
		{"names in another case", spelled, "shopping", keys, nil},
		{"two keys, the second made it", header, "shopping", both, nil},
		{"no policy of it", header, "family", keys, ErrPolicy},
		{"no policy", header, "", keys, ErrPolicy},
		{"policy in another case", header, "Shopping", keys, ErrPolicy},
		{"another key of that name", header, "shopping", other, ErrSeal},
		{"no key", header, "shopping", nil, ErrSeal},
		{"no header", nil, "shopping", keys, ErrNoStamp},
		{"no verdict", without(VerdictName), "shopping", keys, ErrNoStamp},
		{"no rendering", without(RenderingName), "shopping", keys, ErrNoStamp},
		{"no seal", without(SealName), "shopping", keys, ErrNoStamp},
		{"two verdicts", twice(VerdictName), "shopping", keys, ErrDouble},
		{"two renderings", twice(RenderingName), "shopping", keys, ErrDouble},
		{"two seals", twice(SealName), "shopping", keys, ErrDouble},
		{"no verdict at all", change(header, VerdictName, " accept"), "shopping", keys, ErrFormat},
		{"no words", change(header, RenderingName, " text"), "shopping", keys, ErrFormat},
		{"an empty seal", change(header, SealName, ""), "shopping", keys, ErrFormat},
		{"sealed, but not accepted, for it", change(header, VerdictName, value(t, elsewhere, VerdictName)), "calendar", keys, ErrPolicy},
		{"accepted, but not sealed, for it", change(header, SealName, value(t, elsewhere, SealName)), "calendar", keys, ErrPolicy},
		{"another message's seal", change(header, SealName, value(t, elsewhere, SealName)), "shopping", keys, ErrSeal},
		{"another policy's signature", change(header, SealName, " v1; calendar="+strings.TrimPrefix(relaxed(value(t, elsewhere, SealName)), "v1; shopping=")), "calendar", keys, ErrSeal},
		{"verdict folded otherwise", change(header, VerdictName, strings.ReplaceAll(value(t, header, VerdictName), "; ", ";\r\n\t  ")), "shopping", keys, nil},
		{"verdict unfolded", change(header, VerdictName, relaxed(value(t, header, VerdictName))+" \t"), "shopping", keys, nil},
		{"seal folded otherwise", change(header, SealName, strings.ReplaceAll(seal, "\r\n ", "\r\n\t")), "shopping", keys, nil},
		{"rendering unfolded", change(header, RenderingName, strings.ReplaceAll(value(t, header, RenderingName), "\r\n", "")), "shopping", keys, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, fenceText, err := Open(c.header, c.policy, c.keys...)
			if err != c.err {
				t.Fatalf("got the error %v, want %v", err, c.err)
			}
			if err != nil {
				if fenceText != "" || got.From != "" {
					t.Error("something is handed out with an error")
				}
				return
			}
			if fenceText != sampleFence {
				t.Errorf("another fence: %q", fenceText)
			}
			if !slices.Equal(got.pairs(), v.pairs()) {
				t.Errorf("another verdict: %v", got.pairs())
			}
		})
	}
}

// One bit changed anywhere in the verdict, the fence or the seal: no stamp.
func TestOpenOneBit(t *testing.T) {
	header := sampleHeader(t, sampleVerdict(), sampleFence)
	_, keys := sampleSealer(t)
	open := func(name, value string) (string, error) {
		_, fenceText, err := Open(change(header, name, value), "shopping", keys...)
		return fenceText, err
	}
	for _, name := range []string{VerdictName, SealName, RenderingName} {
		good := value(t, header, name)
		eachBit(good, func(at int, bad string) {
			fenceText, err := open(name, bad)
			if err == nil && (name != RenderingName || fenceText != sampleFence) {
				t.Errorf("%s: octet %d is %q instead of %q, and it opens", name, at, bad[at], good[at])
			}
		})
	}
	eachBit(sampleFence, func(at int, bad string) {
		if !utf8.ValidString(bad) {
			return
		}
		words, err := EncodeWords(RenderingName, bad)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := open(RenderingName, words); err != ErrSeal {
			t.Errorf("the fence's octet %d is %q instead of %q: %v", at, bad[at], sampleFence[at], err)
		}
	})
}

// eachBit calls f with s for each of its bits, that bit changed.
func eachBit(s string, f func(at int, changed string)) {
	for at := range len(s) {
		for bit := range 8 {
			b := []byte(s)
			b[at] ^= 1 << bit
			f(at, string(b))
		}
	}
}

// Any stamp that can be made opens to what was put in, and to nothing once an
// octet is put in, taken out or replaced.
func TestOpenProperty(t *testing.T) {
	s, keys := sampleSealer(t)
	rapid.Check(t, func(t *rapid.T) {
		v := drawVerdict(t)
		fenceText := drawFence(t)
		header, err := v.fields(fenceText, s)
		if err != nil {
			t.Fatal(err)
		}
		for _, policy := range v.Policies {
			got, gotFence, err := Open(header, policy, keys...)
			if err != nil {
				t.Fatal(err)
			}
			if gotFence != fenceText || !slices.Equal(got.pairs(), v.pairs()) {
				t.Fatal("something else is opened")
			}
		}
		changed := slices.Clone(header)
		f := &changed[rapid.IntRange(0, 2).Draw(t, "field")]
		at := rapid.IntRange(0, len(f.Value)-1).Draw(t, "at")
		put := rapid.SampledFrom([]string{"", "a", "A", "=", ";", ",", "; a=b", "0"}).Draw(t, "put")
		cut := rapid.IntRange(0, 1).Draw(t, "cut")
		f.Value = f.Value[:at] + put + f.Value[at+cut:]
		policy := v.Policies[0]
		got, gotFence, err := Open(changed, policy, keys...)
		if err != nil {
			return
		}
		if gotFence != fenceText || !slices.Equal(got.pairs(), v.pairs()) {
			t.Fatalf("%s with %q put in at %d opens to something else", f.Name, put, at)
		}
	})
}

func TestParseSealRefuses(t *testing.T) {
	good := relaxed(value(t, sampleHeader(t, sampleVerdict(), sampleFence), SealName))
	part := strings.TrimPrefix(good, "v1; ")
	if _, err := parseSeal(good); err != nil {
		t.Fatal(err)
	}
	for name, bad := range map[string]string{
		"empty":              "",
		"the version alone":  "v1",
		"another version":    "v2; " + part,
		"no version":         part,
		"no space":           "v1;" + part,
		"semicolon at end":   good + ";",
		"an empty part":      good + "; ",
		"a policy twice":     good + "; " + part,
		"no policy":          "v1; " + strings.TrimPrefix(part, "shopping"),
		"policy of no shape": "v1; " + strings.Replace(part, "shopping", "Shopping", 1),
		"no name":            "v1; " + strings.Replace(part, "mx.estate.example", "", 1),
		"name of no shape":   "v1; " + strings.Replace(part, "mx.estate.example", "mx—estate", 1),
		"a space":            "v1; " + strings.Replace(part, "+", "+ ", 1),
		"no data":            "v1; shopping=mx.estate.example",
		"cut":                good[:len(good)-4],
		"longer":             good + "AAAA",
		"without padding":    strings.TrimSuffix(good, "="),
		"spare bits":         good[:len(good)-2] + string(good[len(good)-2]+1) + "=",
		"no base64":          good[:len(good)-5] + "\u00e9\u00e9=",
		"a line end":         good[:len(good)-5] + "\n" + good[len(good)-4:],
	} {
		if got, err := parseSeal(bad); err != ErrFormat || got != nil {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

// A long list of policies is folded one a line, and more than the mail system
// carries is refused.
func TestSealOfManyPolicies(t *testing.T) {
	s, keys := sampleSealer(t)
	v := sampleVerdict()
	v.Policies = manyPolicies(29)
	header, err := v.fields(sampleFence, s)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := Open(header, v.Policies[28], keys...); err != nil {
		t.Error(err)
	}
	if _, err := s.seal(manyPolicies(400), "accept", sampleFence); err != errTooLong {
		t.Errorf("400 policies: %v", err)
	}
}

func FuzzParseSeal(f *testing.F) {
	v := sampleVerdict()
	v.Policies = []string{"shopping", "calendar"}
	f.Add(value(f, sampleHeader(f, v, sampleFence), SealName))
	f.Add(" v1; a=b+c")
	f.Fuzz(func(t *testing.T, value string) {
		signatures, err := parseSeal(value)
		if err != nil {
			return
		}
		parts := []string{"v1"}
		for _, s := range signatures {
			parts = append(parts, s.policy+"="+s.name+"+"+s.data)
		}
		if again := strings.Join(parts, "; "); again != relaxed(value) {
			t.Errorf("%q is read as %q", value, again)
		}
	})
}

func FuzzOpen(f *testing.F) {
	header := sampleHeader(f, sampleVerdict(), sampleFence)
	_, keys := sampleSealer(f)
	want := value(f, header, VerdictName)
	f.Add(want, value(f, header, RenderingName), value(f, header, SealName))
	f.Fuzz(func(t *testing.T, verdictValue, renderingValue, sealValue string) {
		changed := change(header, VerdictName, verdictValue)
		changed = change(changed, RenderingName, renderingValue)
		changed = change(changed, SealName, sealValue)
		_, fenceText, err := Open(changed, "shopping", keys...)
		if err != nil {
			return
		}
		if fenceText != sampleFence {
			t.Errorf("opens to the fence %q", fenceText)
		}
		if relaxed(verdictValue) != relaxed(want) {
			t.Errorf("opens with the verdict %q", verdictValue)
		}
	})
}
