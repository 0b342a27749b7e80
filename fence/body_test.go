package fence

import (
	"crypto/rand"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Where the usual limits cut nothing, the fence of a body is the same but for
// its nonce.
func TestBodyIsTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSource(t)
		short := mustRender(t, s)
		long, err := render(s, ofBody(1<<20), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		checkFenceOf(t, s, long, ofBody(1<<20))
		if short.State == Cut {
			return
		}
		if strings.ReplaceAll(short.Text, short.Nonce, "") != strings.ReplaceAll(long.Text, long.Nonce, "") {
			t.Fatalf("%q, and as a body %q", short.Text, long.Text)
		}
		if long.State != short.State || long.Hidden.String() != short.Hidden.String() || long.Dropped.String() != short.Dropped.String() {
			t.Fatalf("%+v, and as a body %+v", short, long)
		}
	})
}

// The limit of a body is one of bytes, and it is used.
func TestBodyLimit(t *testing.T) {
	const limit = 100 << 10
	for name, one := range map[string]struct {
		line  string
		lines int
		size  int // a line's, shown
	}{
		"words":      {"eggs and milk", 20000, len("| eggs and milk\n")},
		"blanks":     {"", 200000, len("|\n")},
		"wide lines": {strings.Repeat("ü", 1998), 100, len("| \n") + 2*1998},
		"over wide":  {strings.Repeat("x", 3000), 100, len("| \n+-- 1002 more characters not shown - nonce 0000000000000000\n") + 1998},
	} {
		t.Run(name, func(t *testing.T) {
			s := plain(strings.Repeat(one.line+"\r\n", one.lines) + "end\r\n")
			s.entry = "friend@example.org"
			r, err := render(s, ofBody(limit), rand.Reader)
			if err != nil {
				t.Fatal(err)
			}
			f := checkFenceOf(t, s, r, ofBody(limit))
			n := len(f.Parts[0].Lines)
			if want := fmt.Sprintf("%d more lines not shown", one.lines+1-n); r.State != Cut || f.Remarks[len(f.Remarks)-1] != want {
				t.Errorf("%d lines, state %s, remarks end in %q", n, r.State, f.Remarks[len(f.Remarks)-1])
			}
			if len(r.Text) > limit || len(r.Text)+one.size <= limit {
				t.Errorf("%d of %d bytes are used", len(r.Text), limit)
			}
			if _, err := Parse(r.Text); err == nil {
				t.Error("it passes for a fence of the usual limits")
			}
		})
	}
}
