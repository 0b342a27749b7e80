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

// Of any number of parts as many whole lines are shown as let the fence keep
// its limits, and not one more.
func TestPartsAtTheLimit(t *testing.T) {
	type drawn struct {
		lines   []string
		unknown bool
	}
	rapid.Check(t, func(t *rapid.T) {
		var parts []drawn
		body, total := "", 0
		for range rapid.IntRange(1, 5).Draw(t, "parts") {
			one := drawn{
				lines:   rapid.SliceOfN(rapid.SampledFrom([]string{"", "", "a", "eggs and milk", strings.Repeat("x", 1999)}), 0, rapid.SampledFrom([]int{0, 3, 12}).Draw(t, "most")).Draw(t, "lines"),
				unknown: rapid.Bool().Draw(t, "unknown"),
			}
			parts = append(parts, one)
			charset := "utf-8"
			if one.unknown {
				charset = "x"
			}
			body += "--b\r\nContent-Type: text/plain; charset=" + charset + "\r\n\r\n"
			for _, line := range one.lines {
				body += line + "\r\n"
			}
			body += "\r\n" // of the delimiter
			total += len(one.lines)
		}
		for last := parts[len(parts)-1].lines; len(last) > 0 && last[len(last)-1] == ""; last = last[:len(last)-1] {
			total--
		}
		s := plain(body + "--b--\r\n")
		s.entry, s.media = "friend@example.org", signed("multipart/mixed; boundary=b")
		head := []row{{subjectRow, "groceries"}}
		// The rows with n lines, by the plainest way.
		begun := true // also parts without a line that is shown
		rows := func(n int) []row {
			all, before := head, 0
			for i, part := range parts {
				if (n < total || !begun) && before >= n {
					break
				}
				if i > 0 {
					all = append(all, row{remarkRow, "next text part"})
				}
				if part.unknown {
					all = append(all, row{remarkRow, "charset not known: bytes shown"})
				}
				for k, line := range part.lines {
					if before+k >= n {
						break
					}
					if len(line) > 1998 {
						all = append(all, row{textRow, line[:1998]}, row{remarkRow, "1 more characters not shown"})
					} else {
						all = append(all, row{textRow, line})
					}
				}
				before += len(part.lines)
			}
			if n < total {
				all = append(all, row{remarkRow, fmt.Sprintf("%d more lines not shown", total-n)})
			}
			return all
		}
		least, whole := extentOf(s.entry, append(head, moreLines(total))...), extentOf(s.entry, rows(total)...)
		l := limits{
			bytes: max(least.bytes, whole.bytes-rapid.IntRange(-200, 300).Draw(t, "bytes less")),
			lines: max(least.lines, whole.lines-rapid.IntRange(-20, 8).Draw(t, "lines less")),
		}
		n := total
		for n > 0 && !l.keep(extentOf(s.entry, rows(n)...)) {
			n--
		}
		begun = l.keep(extentOf(s.entry, rows(n)...))
		r, err := render(s, l, rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		if want := layOut(s.entry, r.Nonce, rows(n)); r.Text != want {
			t.Fatalf("limits %+v:\n%s\nwant %d of %d lines:\n%s", l, r.Text, n, total, want)
		}
	})
}
