package quarantine

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// A name says all, and nothing else is one.
func TestNames(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := Original{
			ID:          newID(noon.Add(time.Duration(rapid.Int64Range(0, 1e15).Draw(t, "at"))), rapid.IntRange(0, 1000).Draw(t, "n")),
			Kind:        rapid.SampledFrom(Kinds).Draw(t, "kind"),
			AddressHash: rapid.StringMatching(`[0-9a-f]{8}`).Draw(t, "hash"),
			Policy:      rapid.StringMatching(`[a-z0-9][a-z0-9-]{0,31}`).Draw(t, "policy"),
			More:        rapid.IntRange(0, maxMore).Draw(t, "more"),
		}
		if o.Kind != KindClaimed && rapid.Bool().Draw(t, "nameless") {
			o.AddressHash = ""
		}
		if got, ok := parseName(o.name()); !ok || got != o {
			t.Fatalf("%+v is named %q, which is %+v, %v", o, o.name(), got, ok)
		}
		if len(temporary+o.name()) > 255 {
			t.Fatalf("%q is too long for a name", o.name())
		}
	})
}

func FuzzParseName(f *testing.F) {
	f.Add(original(1, 0).name())
	f.Add(newID(noon, 1) + ".accepted.a+01.eml.age")
	f.Fuzz(func(t *testing.T, name string) {
		if o, ok := parseName(name); ok && o.name() != name {
			t.Errorf("%q is taken for %q", name, o.name())
		}
	})
}
