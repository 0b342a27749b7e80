package stamp

import (
	"crypto/rand"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/note"
)

func TestGenerateKey(t *testing.T) {
	for _, name := range []string{"stile", "mx.estate.example", "MX_1"} {
		private, public, err := GenerateKey(name)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(private, "PRIVATE+KEY+"+name+"+") {
			t.Errorf("%s: the private text is of another form", name)
		}
		if !strings.HasPrefix(public, name+"+") {
			t.Errorf("%s: the public text is %q", name, public)
		}
		derived, err := PublicKey(private + "\n")
		if err != nil || derived != public {
			t.Errorf("%s: derived %q, %v, want %q", name, derived, err, public)
		}
		other, _, err := GenerateKey(name)
		if err != nil || other == private {
			t.Errorf("%s: the second key is the first", name)
		}
	}
	for _, name := range []string{"", "a b", "a+b", "a\nb", "a;b", "a=b", "a\u212a", "ä", strings.Repeat("a", 254)} {
		if _, _, err := GenerateKey(name); err != ErrKeyName {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestKeyFiles(t *testing.T) {
	_, second, err := GenerateKey("stile")
	if err != nil {
		t.Fatal(err)
	}
	_, third, err := GenerateKey("stile")
	if err != nil {
		t.Fatal(err)
	}
	// A key that a signed note takes and a seal does not: its name has a
	// semicolon.
	badPrivate, badPublic, err := note.GenerateKey(rand.Reader, "mx;estate")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"bare":        samplePrivate,
		"line end":    samplePrivate + "\n",
		"CRLF":        samplePrivate + "\r\n",
		"a remark":    "# made for mx.estate.example\n\n" + samplePrivate + "\n",
		"empty lines": "\n\n" + samplePrivate + "\n\n",
	} {
		if _, err := NewSealer(text); err != nil {
			t.Errorf("private, %s: %v", name, err)
		}
		if public, err := PublicKey(text); err != nil || public != samplePublic {
			t.Errorf("private, %s: public key %q, %v", name, public, err)
		}
	}
	for name, text := range map[string]string{
		"empty":       "",
		"remark only": "# " + samplePrivate,
		"public":      samplePublic,
		"two":         samplePrivate + "\n" + samplePrivate,
		"hash":        strings.Replace(samplePrivate, "+fd21c485+", "+fd21c486+", 1),
		"cut":         samplePrivate[:len(samplePrivate)-4],
		"blank":       samplePrivate + " x",
		"name":        badPrivate,
		"garbage":     "\x00\xff",
	} {
		_, err := NewSealer(text)
		if err != ErrPrivateKey {
			t.Errorf("private, %s: %v", name, err)
		}
		if public, err := PublicKey(text); err != ErrPrivateKey || public != "" {
			t.Errorf("private, %s: public key %q, %v", name, public, err)
		}
	}
	for name, c := range map[string]struct {
		text string
		keys int
	}{
		"one":              {samplePublic, 1},
		"one line":         {samplePublic + "\n", 1},
		"two and a remark": {"# new\n" + second + "\n# old\n" + samplePublic + "\n", 2},
		"empty":            {"", 0},
		"three":            {samplePublic + "\n" + second + "\n" + third, 0},
		"name":             {badPublic, 0},
		"one twice":        {samplePublic + "\n" + samplePublic, 0},
		"one bad":          {samplePublic + "\n" + second[1:], 0},
		"private":          {samplePrivate, 0},
	} {
		keys, err := ParsePublic(c.text)
		if len(keys) != c.keys || (err == nil) != (c.keys > 0) {
			t.Errorf("public, %s: %d keys, %v", name, len(keys), err)
		}
		if err != nil && err != ErrPublicKey {
			t.Errorf("public, %s: %v", name, err)
		}
	}
}

func FuzzParsePublic(f *testing.F) {
	f.Add(samplePublic + "\n# remark\n")
	f.Add(samplePrivate)
	f.Fuzz(func(t *testing.T, text string) {
		keys, err := ParsePublic(text)
		if err != nil {
			return
		}
		for _, key := range keys {
			if !isKeyName(key.Name()) {
				t.Errorf("a key of the name %q", key.Name())
			}
		}
	})
}
