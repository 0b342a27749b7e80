package e2e

import (
	"slices"
	"strings"
	"testing"

	"stile/stamp"
	"stile/verdict"
)

// testAccept sends one good message and reads it as an agent would.
func testAccept(t *testing.T) {
	w := begin(t, "")
	w.settled(w.send(friend, w.good("groceries"), shopping).Data)
	got := w.read("shopping", "shopping")

	if want := "Subject: groceries\neggs\nmilk"; got.body() != want {
		t.Errorf("the fence shows %q, want %q", got.body(), want)
	}
	first, _, _ := strings.Cut(got.text, "\n")
	if !strings.HasPrefix(first, "+-- UNTRUSTED TEXT from "+friend+" - nonce ") {
		t.Errorf("the fence opens with %q", first)
	}
	for _, name := range []string{"Stile-Verdict", "Stile-Rendering", "Stile-Seal", "DKIM-Signature"} {
		if n := got.fields(name); n != 1 {
			t.Errorf("%d fields %s, want 1", n, name)
		}
	}
	if !strings.HasSuffix(got.raw, "\r\n\r\neggs\r\nmilk\r\n") {
		t.Errorf("the body is not as it came:\n%s", got.raw)
	}
	if records := w.records(); len(records) != 0 {
		t.Errorf("accepted mail left records: %v", records)
	}
	breakSeal(t, w, got)
}

// breakSeal changes one bit at a time, anywhere in the verdict or in the fence:
// the seal must not hold.
func breakSeal(t *testing.T, w *world, got received) {
	keys := w.sealKeys()
	for i, f := range got.header {
		if !f.Is("Stile-Verdict") && !f.Is("Stile-Rendering") {
			continue
		}
		for at := range len(f.Value) {
			for _, bit := range []byte{0x01, 0x20} {
				header := slices.Clone(got.header)
				changed := []byte(f.Value)
				changed[at] ^= bit
				header[i].Value = string(changed)
				_, text, err := stamp.Open(header, "shopping", keys...)
				if err == nil && !sameMeaning(f, header[i], got.text, text) {
					t.Fatalf("%s: bit %#x of octet %d changed, and the seal holds:\n%s", f.Name, bit, at, changed)
				}
			}
		}
	}
}

// sameMeaning reports whether the change is one that the seal does not speak of:
// the verdict is sealed after relaxed canonicalization (RFC 6376, 3.4.2), the
// rendering as the text that it decodes to.
func sameMeaning(was, is verdict.Field, text, now string) bool {
	if was.Is("Stile-Verdict") {
		return strings.Join(strings.Fields(was.Value), " ") == strings.Join(strings.Fields(is.Value), " ")
	}
	return text == now
}
