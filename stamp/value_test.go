package stamp

import (
	"crypto/sha256"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"stile/fence"
	"stile/verdict"
)

func TestVerdictValue(t *testing.T) {
	full := sampleVerdict()
	full.Policies = []string{"shopping", "calendar-2"}
	full.Signed = SignedNames
	full.Time = time.Time{}
	full.Text = fence.Cut
	full.Flags = verdict.Flags
	full.Hidden = fence.Counts{{Name: "bidi", N: 12}, {Name: "zero-width", N: 3}}
	full.Dropped = fence.Counts{{Name: "html", N: 1}, {Name: "attachment", N: 2}}
	zone := sampleVerdict()
	zone.Time = zone.Time.In(time.FixedZone("", 5*3600)).Add(999 * time.Millisecond)
	bare := sampleVerdict()
	bare.Signed = nil
	bare.Text = fence.None
	const digest = "digest=sha256:c1cda26362828b69266512052b97cb3729e3b052e4ade47c0a1e3383defe73c7"
	const plain = " accept; id=01K6Z3Q4W5X6Y7Z8A9B0C1D2E3; policy=shopping;\r\n" +
		" from=friend@example.org; d=example.org; key=9f2c41d0a7b3e815;\r\n" +
		" alg=rsa-sha256; signed=from,to,subject,date; time=2026-11-30T20:57:13Z;\r\n" +
		" text=full; flags=none; hidden=none; dropped=none;\r\n " + digest
	for _, c := range []struct {
		name  string
		v     Verdict
		value string
	}{
		{"plain", sampleVerdict(), plain},
		{"another time zone", zone, plain},
		{"nothing covered, nothing shown", bare, " accept; id=01K6Z3Q4W5X6Y7Z8A9B0C1D2E3; policy=shopping;\r\n" +
			" from=friend@example.org; d=example.org; key=9f2c41d0a7b3e815;\r\n" +
			" alg=rsa-sha256; signed=none; time=2026-11-30T20:57:13Z; text=none;\r\n" +
			" flags=none; hidden=none; dropped=none;\r\n " + digest},
		{"everything", full, " accept; id=01K6Z3Q4W5X6Y7Z8A9B0C1D2E3;\r\n" +
			" policy=shopping,calendar-2; from=friend@example.org; d=example.org;\r\n" +
			" key=9f2c41d0a7b3e815; alg=rsa-sha256;\r\n" +
			" signed=from,to,cc,subject,date,message-id,reply-to,mime-version,content-type,content-transfer-encoding;\r\n" +
			" time=none; text=cut;\r\n" +
			" flags=duplicate,testing-key,weak-key,undated,to-unsigned,subject-unsigned,structure-unsigned,reply-to-removed;\r\n" +
			" hidden=bidi:12,zero-width:3; dropped=html:1,attachment:2;\r\n " + digest},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := c.v.value()
			if err != nil {
				t.Fatal(err)
			}
			if got != c.value {
				t.Errorf("got\n%s\nwant\n%s", got, c.value)
			}
		})
	}
}

// No value that has a space, a semicolon or another grammar is ever written.
func TestVerdictValueRefuses(t *testing.T) {
	for name, spoil := range map[string]func(*Verdict){
		"id":                   func(v *Verdict) { v.ID = "01k6z3q4w5x6y7z8a9b0c1d2e3" },
		"no policy":            func(v *Verdict) { v.Policies = nil },
		"policy twice":         func(v *Verdict) { v.Policies = []string{"a", "a"} },
		"policy with comma":    func(v *Verdict) { v.Policies = []string{"a,b"} },
		"policy too long":      func(v *Verdict) { v.Policies = []string{strings.Repeat("a", 33)} },
		"from with semicolon":  func(v *Verdict) { v.From = "a@b;x=y" },
		"from with a pair":     func(v *Verdict) { v.From = "a@b; x=y" },
		"from with line end":   func(v *Verdict) { v.From = "a@b\r\n x" },
		"from with space":      func(v *Verdict) { v.From = "a @b" },
		"from is not ASCII":    func(v *Verdict) { v.From = "ä@b" },
		"from is no address":   func(v *Verdict) { v.From = "friend" },
		"d in upper case":      func(v *Verdict) { v.Domain = "Example.org" },
		"d empty":              func(v *Verdict) { v.Domain = "" },
		"short key":            func(v *Verdict) { v.KeyID = "9f2c" },
		"algorithm":            func(v *Verdict) { v.Algorithm = "rsa-sha1" },
		"signed out of order":  func(v *Verdict) { v.Signed = []string{"to", "from"} },
		"signed unknown":       func(v *Verdict) { v.Signed = []string{"x-mine"} },
		"time":                 func(v *Verdict) { v.Time = time.Date(12026, 1, 1, 0, 0, 0, 0, time.UTC) },
		"text":                 func(v *Verdict) { v.Text = "some" },
		"flag unknown":         func(v *Verdict) { v.Flags = []verdict.Flag{"trusted"} },
		"flags out of order":   func(v *Verdict) { v.Flags = []verdict.Flag{verdict.Undated, verdict.WeakKey} },
		"hidden unknown":       func(v *Verdict) { v.Hidden = fence.Counts{{Name: "html", N: 1}} },
		"hidden zero":          func(v *Verdict) { v.Hidden = fence.Counts{{Name: "bidi", N: 0}} },
		"dropped out of order": func(v *Verdict) { v.Dropped = fence.Counts{{Name: "text", N: 1}, {Name: "html", N: 1}} },
		"dropped twice":        func(v *Verdict) { v.Dropped = fence.Counts{{Name: "html", N: 1}, {Name: "html", N: 1}} },
	} {
		v := sampleVerdict()
		spoil(&v)
		if got, err := v.value(); err != errValue || got != "" {
			t.Errorf("%s: wrote %q, %v", name, got, err)
		}
	}
	v := sampleVerdict()
	v.Policies = manyPolicies(31)
	if got, err := v.value(); err != errTooLong || got != "" {
		t.Errorf("more policies than a line holds: %q, %v", got, err)
	}
	v.Policies = manyPolicies(30)
	if _, err := v.value(); err != nil {
		t.Errorf("as many policies as a line holds: %v", err)
	}
}

// manyPolicies are n ids of full length.
func manyPolicies(n int) []string {
	var ids []string
	for i := range n {
		ids = append(ids, strings.Repeat("p", 30)+string(rune('a'+i/26))+string(rune('a'+i%26)))
	}
	return ids
}

func TestParseVerdict(t *testing.T) {
	value, err := sampleVerdict().value()
	if err != nil {
		t.Fatal(err)
	}
	for name, read := range map[string]string{
		"as written":          value,
		"unfolded":            strings.ReplaceAll(value, "\r\n", ""),
		"folded otherwise":    strings.ReplaceAll(value, "; ", ";\r\n\t "),
		"without first space": value[1:],
		"unknown at the end":  value + "; colour=blue",
		"unknown between":     strings.Replace(value, " d=", " shade=a=b,c; d=", 1),
	} {
		v, err := ParseVerdict(read)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if again, err := v.value(); err != nil || again != value {
			t.Errorf("%s: read as %q, %v", name, again, err)
		}
	}
	swap := func(old, new string) string {
		if strings.Count(value, old) != 1 {
			t.Fatalf("%q does not stand once in the sample", old)
		}
		return strings.Replace(value, old, new, 1)
	}
	for name, read := range map[string]string{
		"empty":               "",
		"accept alone":        " accept",
		"another outcome":     swap(" accept", " refuse"),
		"accept in capitals":  swap(" accept", " Accept"),
		"a name twice":        swap(" d=", " from=mallory@evil.example; d="),
		"a name twice, alike": swap(" d=", " from=friend@example.org; d="),
		"a double at the end": value + "; from=mallory@evil.example",
		"an unknown twice":    value + "; x=1; x=1",
		"an unknown, empty":   value + "; x=",
		"an unknown, 8 bit":   value + "; x=\xe4",
		"a name lacks":        swap(" d=example.org;", ""),
		"the last lacks":      value[:strings.LastIndex(value, ";")],
		"another order":       swap("d=example.org; key=9f2c41d0a7b3e815;", "key=9f2c41d0a7b3e815; d=example.org;"),
		"a name in capitals":  swap(" d=", " D="),
		"no equals sign":      swap(" d=example.org", " d"),
		"no name":             swap(" d=", " =x; d="),
		"no value":            swap("d=example.org", "d="),
		"a space in a value":  swap("d=example.org", "d=example .org"),
		"no space between":    swap("; d=", ";d="),
		"an empty part":       swap("; d=", "; ; d="),
		"semicolon at end":    value + ";",
		"8 bit":               swap("d=example.org", "d=ex\xe4mple.org"),
		"bare LF":             strings.ReplaceAll(value, "\r\n", "\n"),
		"bare CR":             strings.ReplaceAll(value, "\r\n", "\r"),
		"a control":           swap("d=example.org", "d=example\x00.org"),
		"time with offset":    swap("20:57:13Z", "20:57:13+00:00"),
		"time with fraction":  swap("20:57:13Z", "20:57:13.5Z"),
		"time of no day":      swap("2026-11-30", "2026-11-31"),
		"flags empty word":    swap("flags=none", "flags=weak-key,"),
		"flags none and more": swap("flags=none", "flags=none,weak-key"),
		"count none":          swap("hidden=none", "hidden=bidi:0"),
		"count signed":        swap("hidden=none", "hidden=bidi:+1"),
		"count with zero":     swap("hidden=none", "hidden=bidi:01"),
		"count missing":       swap("hidden=none", "hidden=bidi"),
		"count too large":     swap("hidden=none", "hidden=bidi:99999999999999999999"),
		"digest short":        value[:len(value)-2],
		"digest hex capitals": value[:len(value)-1] + "C",
		"digest no hex":       value[:len(value)-1] + "g",
		"digest bare":         swap("digest=sha256:", "digest="),
		"digest in capitals":  swap("digest=sha256:", "digest=SHA256:"),
	} {
		if v, err := ParseVerdict(read); err != ErrFormat || v.From != "" {
			t.Errorf("%s: %v, %v", name, v, err)
		}
	}
}

// drawVerdict draws any Verdict that may be written.
func drawVerdict(t *rapid.T) Verdict {
	v := sampleVerdict()
	v.Policies = rapid.SliceOfNDistinct(rapid.StringMatching(`[a-z0-9][a-z0-9-]{0,31}`), 1, 8, rapid.ID[string]).Draw(t, "policies")
	v.From = rapid.StringMatching("[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]{1,30}(\\.[a-z]{1,9}){0,2}@[a-z0-9]{1,20}(\\.[a-z]{1,9}){1,4}").Draw(t, "from")
	v.Domain = rapid.StringMatching(`[a-z0-9]([a-z0-9-]{0,40}[a-z0-9])?(\.[a-z]{1,9}){1,5}`).Draw(t, "d")
	v.Algorithm = rapid.SampledFrom(algorithms).Draw(t, "alg")
	v.Text = rapid.SampledFrom(states).Draw(t, "text")
	v.Time = time.Unix(rapid.Int64Range(0, 250_000_000_000).Draw(t, "time"), 0)
	if rapid.Bool().Draw(t, "undated") {
		v.Time = time.Time{}
	}
	v.Signed = drawSome(t, "signed", SignedNames)
	v.Flags = drawSome(t, "flags", verdict.Flags)
	for _, name := range drawSome(t, "hidden", fence.HiddenClasses) {
		v.Hidden = append(v.Hidden, fence.Count{Name: name, N: rapid.IntRange(1, 1<<40).Draw(t, "n")})
	}
	for _, name := range drawSome(t, "dropped", fence.DroppedClasses) {
		v.Dropped = append(v.Dropped, fence.Count{Name: name, N: rapid.IntRange(1, 99).Draw(t, "n")})
	}
	v.Digest = sha256.Sum256([]byte(v.From))
	return v
}

// drawSome draws some of a list, in its order.
func drawSome[S ~string](t *rapid.T, label string, all []S) []S {
	var some []S
	for _, one := range all {
		if rapid.Bool().Draw(t, label) {
			some = append(some, one)
		}
	}
	return some
}

// What is written reads back the same, folds after semicolons alone, and has a
// line over 76 octets only where one value needs it.
func TestVerdictProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := drawVerdict(t)
		value, err := v.value()
		if err != nil {
			t.Fatal(err)
		}
		back, err := ParseVerdict(value)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := back.value(); err != nil || again != value {
			t.Fatalf("%q becomes %q, %v", value, again, err)
		}
		lines := strings.Split(VerdictName+":"+value, "\r\n")
		for i, line := range lines {
			if i < len(lines)-1 && !strings.HasSuffix(line, ";") {
				t.Fatalf("a fold not after a semicolon: %q", line)
			}
			if len(line) > 76 && strings.Contains(line, "; ") {
				t.Fatalf("a line of %d octets: %q", len(line), line)
			}
			if len(line) > 998 {
				t.Fatalf("a line of %d octets", len(line))
			}
		}
	})
}

func TestRelaxed(t *testing.T) {
	for value, want := range map[string]string{
		" a":                   "a",
		"a":                    "a",
		"  a \t b\r\n\t c \t ": "a b c",
		"a\r\n b":              "a b",
		"a;\r\n\tb":            "a; b",
		"a\r\n  \r\n b":        "a b",
		"a\nb":                 "a\nb",
		"a\r\nb":               "a\r\nb",
		"a\r\n":                "a\r\n",
		"":                     "",
		" \t ":                 "",
	} {
		if got := relaxed(value); got != want {
			t.Errorf("%q: got %q, want %q", value, got, want)
		}
	}
}

func FuzzParseVerdict(f *testing.F) {
	value, err := sampleVerdict().value()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(value)
	f.Add(strings.Replace(value, "flags=none; hidden=none", "flags=weak-key,undated; new=x; hidden=bidi:3,other:1", 1))
	f.Add(" accept; id=01K6Z3Q4W5X6Y7Z8A9B0C1D2E3; policy=none,a; from=a=b@c")
	f.Fuzz(func(t *testing.T, value string) {
		v, err := ParseVerdict(value)
		if err != nil {
			return
		}
		again, err := v.value()
		if err == errTooLong {
			return // read in fewer, longer lines than may be written
		}
		if err != nil {
			t.Fatalf("%q was read and cannot be written: %v", value, err)
		}
		for _, p := range v.pairs() {
			if !strings.Contains(relaxed(value), p.name+"="+p.value) {
				t.Errorf("%s=%s does not stand in %q", p.name, p.value, value)
			}
		}
		if back, err := ParseVerdict(again); err != nil || list(back.Policies) != list(v.Policies) {
			t.Errorf("%q becomes %q", value, again)
		}
	})
}
