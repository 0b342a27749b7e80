package fence

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"
)

// outline says what a body was found to be made of: each text part's octets,
// and what was dropped.
func outline(t fataler, media, body string) ([]string, string, structure) {
	t.Helper()
	h := partHeader{media: parseMediaType(media), inline: true}
	found, err := walk(sectionOf(body), h)
	if err != nil {
		t.Fatalf("walk: %v", err)
	}
	var texts []string
	for _, l := range found.leaves {
		texts = append(texts, body[l.start:l.end])
	}
	return texts, countsOf(DroppedClasses, found.dropped[:]).String(), found
}

func TestWalk(t *testing.T) {
	const mixed = "multipart/mixed; boundary=b"
	for _, c := range []struct {
		name, media, body string
		texts             []string
		dropped           string
	}{
		{"no parts at all", "text/plain", "a\r\n", []string{"a\r\n"}, "none"},
		{"HTML", "text/html", "<p>", nil, "html:1"},
		{"one part", mixed, "--b\r\n\r\na\r\n--b--\r\n", []string{"a"}, "none"},
		{"bare LF", mixed, "--b\n\na\nb\n--b--\n", []string{"a\nb"}, "none"},
		{"two parts", mixed, "--b\r\n\r\na\r\n--b\r\n\r\nb\r\n--b--\r\n", []string{"a", "b"}, "none"},
		{"empty part", mixed, "--b\r\n\r\n--b--\r\n", []string{""}, "none"},
		{"empty line in a part", mixed, "--b\r\n\r\n\r\n--b--\r\n", []string{""}, "none"},
		{"no header, no empty line", mixed, "--b\r\n--b--\r\n", []string{""}, "none"},
		{"header only", mixed, "--b\r\nContent-Type: text/html\r\n--b--\r\n", nil, "html:1"},
		{"preamble and epilogue", mixed, "x\r\n--b\r\n\r\na\r\n--b--\r\ny\r\n--b\r\n\r\nz\r\n", []string{"a"}, "none"},
		{"no closing delimiter", mixed, "--b\r\n\r\na\r\n", []string{"a\r\n"}, "none"},
		{"no line end at all", mixed, "--b\r\n\r\na", []string{"a"}, "none"},
		{"closing without line end", mixed, "--b\r\n\r\na\r\n--b--", []string{"a"}, "none"},
		{"white space behind", mixed, "--b \t\r\n\r\na\r\n--b-- \r\n", []string{"a"}, "none"},
		{"white space before", mixed, "--b\r\n\r\n --b\r\n--b--\r\n", []string{" --b"}, "none"},
		{"more behind", mixed, "--b\r\n\r\n--bx\r\n--b x\r\n--b---\r\n--b--x\r\n--b--\r\n", []string{"--bx\r\n--b x\r\n--b---\r\n--b--x"}, "none"},
		{"inside a line", mixed, "--b\r\n\r\nx--b\r\n--b--\r\n", []string{"x--b"}, "none"},
		{"bare CR is no line end", mixed, "--b\r\n\r\na\r--b\r\n--b\r\r\n--b--\r\n", []string{"a\r--b\r\n--b\r"}, "none"},
		{"bare CR behind the closing one", mixed, "--b\r\n\r\na\r\n--b--\r", []string{"a\r\n--b--\r"}, "none"},
		{"delimiter never comes", mixed, "text\r\n", nil, "other:1"},
		{"no boundary", "multipart/mixed", "--b\r\n\r\na\r\n--b--\r\n", nil, "other:1"},
		{"no boundary, and lines of dashes", "multipart/mixed", "--\r\n\r\na\r\n----\r\n", nil, "other:1"},
		{"empty boundary", `multipart/mixed; boundary=""`, "--\r\n\r\na\r\n----\r\n", nil, "other:1"},
		{"boundary with a blank", `multipart/mixed; boundary="b c"`, "--b c\r\n\r\na\r\n--b c--\r\n", nil, "other:1"},
		{"two boundaries", mixed + "; boundary=c", "--b\r\n\r\na\r\n--b--\r\n", nil, "other:1"},
		{"nested", mixed, part("multipart/alternative; boundary=c", "--c\r\n\r\na\r\n--c\r\nContent-Type: text/html\r\n\r\nx\r\n--c--\r\n") + "--b--\r\n", []string{"a"}, "html:1"},
		{"prefix boundary", "multipart/mixed; boundary=a", "--a\r\nContent-Type: multipart/mixed; boundary=ab\r\n\r\n--ab\r\n\r\nin\r\n--ab--\r\n--a\r\n\r\nout\r\n--a--\r\n", []string{"in", "out"}, "none"},
		{"inner multipart left open", mixed, part("multipart/mixed; boundary=c", "--c\r\n\r\na\r\n") + "--b\r\n\r\nb\r\n--b--\r\n", []string{"a", "b"}, "none"},
		{"inner closing behind the outer one", mixed, part("multipart/mixed; boundary=c", "--c\r\n\r\na\r\n") + "--b--\r\n--c\r\n\r\nz\r\n--c--\r\n", []string{"a"}, "none"},
		{"the same boundary inside", mixed, part("multipart/mixed; boundary=b", "--b\r\n\r\nin\r\n--b--\r\n") + "--b--\r\n", []string{"in"}, "other:1"},
		{"alternative takes the first", "multipart/alternative; boundary=b", part("text/plain", "a\r\n") + part("text/plain", "b\r\n") + "--b--\r\n", []string{"a"}, "text:1"},
		{"alternative takes the first that can be read", "multipart/alternative; boundary=b", "--b\r\nContent-Transfer-Encoding: x-y\r\n\r\na\r\n--b\r\n\r\nb\r\n--b--\r\n", []string{"b"}, "other:1"},
		{"alternative in depth", "multipart/alternative; boundary=b", part("multipart/mixed; boundary=c", "--c\r\n\r\na\r\n--c\r\n\r\nb\r\n--c--\r\n") + "--b--\r\n", []string{"a"}, "text:1"},
		{"alternative twice", mixed, part("multipart/alternative; boundary=c", "--c\r\n\r\na\r\n--c--\r\n") + part("multipart/alternative; boundary=c", "--c\r\n\r\nb\r\n--c--\r\n") + "--b--\r\n", []string{"a", "b"}, "none"},
		{"digest", "multipart/digest; boundary=b", "--b\r\n\r\na\r\n" + part("text/plain", "b\r\n") + "--b--\r\n", []string{"b"}, "message:1"},
		{"forwarded message", mixed, part("message/rfc822", "From: x\r\n\r\ninner\r\n") + "--b--\r\n", nil, "message:1"},
		{"calendar", mixed, part("text/calendar", "BEGIN\r\n") + "--b--\r\n", nil, "calendar:1"},
		{"image", mixed, part("image/png", "x\r\n") + "--b--\r\n", nil, "other:1"},
		{"attachment", mixed, "--b\r\nContent-Disposition: attachment\r\n\r\na\r\n--b--\r\n", nil, "attachment:1"},
		{"HTML as attachment", mixed, "--b\r\nContent-Type: text/html\r\nContent-Disposition: x\r\n\r\na\r\n--b--\r\n", nil, "attachment:1"},
		{"multipart as attachment", mixed, "--b\r\nContent-Type: multipart/mixed; boundary=c\r\nContent-Disposition: attachment\r\n\r\n--c\r\n\r\na\r\n--c--\r\n--b--\r\n", nil, "attachment:1"},
		{"unknown encoding", mixed, "--b\r\nContent-Transfer-Encoding: x-y\r\n\r\na\r\n--b--\r\n", nil, "other:1"},
		{"encoding on a multipart", mixed, "--b\r\nContent-Type: multipart/mixed; boundary=c\r\nContent-Transfer-Encoding: base64\r\n\r\n--c\r\n\r\na\r\n--c--\r\n--b--\r\n", []string{"a"}, "none"},
	} {
		t.Run(c.name, func(t *testing.T) {
			texts, dropped, _ := outline(t, c.media, c.body)
			if !slices.Equal(texts, c.texts) || dropped != c.dropped {
				t.Errorf("got %q and %s, want %q and %s", texts, dropped, c.texts, c.dropped)
			}
		})
	}
}

func part(media, body string) string {
	return "--b\r\nContent-Type: " + media + "\r\n\r\n" + body
}

// A part whose header is not what a header must be is left out, and no other.
func TestOddPartHeaders(t *testing.T) {
	for name, header := range map[string]string{
		"no colon":                "Content-Type text/plain\r\n",
		"empty name":              ": x\r\n",
		"blank before the colon":  "Content-Type : text/plain\r\n",
		"blank in the name":       "Content Type: text/plain\r\n",
		"octet above ASCII":       "X\xe9: y\r\n",
		"continuation first":      " Content-Type: text/plain\r\n",
		"continuation of blanks":  "X: y\r\n \t\r\n",
		"NUL":                     "X: \x00\r\n",
		"bare CR":                 "X: a\rContent-Type: text/html\r\n",
		"DEL":                     "X: \x7f\r\n",
		"second Content-Type":     "Content-Type: text/plain\r\nContent-Type: text/plain\r\n",
		"another encoding":        "Content-Transfer-Encoding: 7bit\r\nContent-Transfer-Encoding: 8bit\r\n",
		"another disposition":     "Content-Disposition: inline\r\ncontent-disposition: Inline\r\n",
		"a second type, in parts": "Content-Type: text/plain\r\nX: y\r\nCONTENT-TYPE: text/html\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			body := "--b\r\n" + header + "\r\nodd\r\n--b\r\n\r\nfine\r\n--b--\r\n"
			texts, dropped, _ := outline(t, "multipart/mixed; boundary=b", body)
			if !slices.Equal(texts, []string{"fine"}) || dropped != "other:1" {
				t.Errorf("got %q and %s", texts, dropped)
			}
		})
	}
	for name, header := range map[string]string{
		"none":                     "",
		"folded":                   "Content-Type:\r\n text/plain;\r\n\tcharset=utf-8\r\n",
		"octets above ASCII":       "X: \xe9\r\n",
		"the same encoding twice":  "Content-Transfer-Encoding: 7bit\r\nContent-Transfer-Encoding:  7bit \r\n",
		"the same disposition":     "Content-Disposition: inline\r\nContent-Disposition: inline\r\n",
		"an empty value":           "X:\r\n",
		"invalid type":             "Content-Type: text\r\n",
		"TAB":                      "X:\ty\r\n",
		"many fields":              strings.Repeat("X: y\r\n", 2000),
		"LF only":                  "Content-Type: text/plain\n",
		"white space behind value": "Content-Type: text/plain \r\n",
	} {
		t.Run(name, func(t *testing.T) {
			texts, dropped, _ := outline(t, "multipart/mixed; boundary=b", "--b\r\n"+header+"\r\nfine\r\n--b--\r\n")
			if !slices.Equal(texts, []string{"fine"}) || dropped != "none" {
				t.Errorf("got %q and %s", texts, dropped)
			}
		})
	}
}

func levelsOf(n int) string {
	var out strings.Builder
	for i := range n - 1 {
		fmt.Fprintf(&out, "--b%d\r\nContent-Type: multipart/mixed; boundary=b%d\r\n\r\n", i, i+1)
	}
	fmt.Fprintf(&out, "--b%d\r\n\r\ntext\r\n", n-1)
	return out.String()
}

func TestWalkBounds(t *testing.T) {
	const mixed = "multipart/mixed; boundary=b"
	longest := "X: " + strings.Repeat("x", maxPartHeader-len("X: \r\n"))
	for _, c := range []struct {
		name, media, body string
		over              bool
	}{
		{"most levels", "multipart/mixed; boundary=b0", levelsOf(maxLevels), false},
		{"a level more", "multipart/mixed; boundary=b0", levelsOf(maxLevels + 1), true},
		{"most parts", mixed, strings.Repeat("--b\r\n\r\nx\r\n", maxParts) + "--b--\r\n", false},
		{"a part more", mixed, strings.Repeat("--b\r\n\r\nx\r\n", maxParts+1) + "--b--\r\n", true},
		{"most header", mixed, "--b\r\n" + longest + "\r\n\r\nx\r\n--b--\r\n", false},
		{"most header, LF", mixed, "--b\n" + longest + "\n\nx\n--b--\n", false},
		{"an octet more", mixed, "--b\r\n" + longest + "x\r\n\r\nx\r\n--b--\r\n", true},
		{"an octet more, LF", mixed, "--b\n" + longest + "x\n\nx\n--b--\n", true},
		{"far more header", mixed, "--b\r\nX: " + strings.Repeat("x", 3*walkBuffer) + "\r\n\r\nx\r\n--b--\r\n", true},
		{"header of many lines", mixed, "--b\r\n" + strings.Repeat("X: y\r\n", maxPartHeader/6+1) + "\r\nx\r\n--b--\r\n", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			texts, dropped, found := outline(t, c.media, c.body)
			if found.overLimits != c.over {
				t.Fatalf("over limits: %v, want %v", found.overLimits, c.over)
			}
			if c.over && (len(texts) > 0 || dropped != "other:1") {
				t.Errorf("got %d texts and %s", len(texts), dropped)
			}
			if !c.over && len(texts) == 0 {
				t.Error("no text")
			}
		})
	}
}

// Lines longer than any buffer: white space that was added behind a delimiter
// leaves it one, and what is no delimiter is text.
func TestWalkLongLines(t *testing.T) {
	for _, n := range []int{walkBuffer - 4, walkBuffer - 3, walkBuffer - 2, walkBuffer, 3 * walkBuffer} {
		blanks := strings.Repeat(" ", n)
		for _, end := range []string{"\r\n", "\n"} {
			head := "--b" + end + end + "a" + end
			texts, _, _ := outline(t, "multipart/mixed; boundary=b", head+"--b"+blanks+end+end+"b"+end+"--b--"+blanks+end+"--b"+end+end+"c")
			if !slices.Equal(texts, []string{"a", "b"}) {
				t.Errorf("%d blanks before %q: %d parts", n, end, len(texts))
			}
			for _, tail := range []string{"x" + end, "\r x" + end, "\r", "\r" + "\r\n"} {
				texts, _, _ = outline(t, "multipart/mixed; boundary=b", head+"--b"+blanks+tail)
				if len(texts) != 1 {
					t.Errorf("%d blanks before %q: %d parts", n, tail, len(texts))
				}
			}
		}
	}
	long := strings.Repeat("y", maxPartHeader)
	texts, _, _ := outline(t, "multipart/mixed; boundary="+long, "--"+long+"\r\n\r\na\r\n--"+long+"--\r\n")
	if !slices.Equal(texts, []string{"a"}) {
		t.Errorf("a long boundary gave %d parts", len(texts))
	}
}

func TestEncrypted(t *testing.T) {
	for media, want := range map[string]bool{
		"multipart/encrypted; boundary=b":                     true,
		"application/pkcs7-mime; smime-type=enveloped-data":   true,
		"application/pkcs7-mime":                              true,
		"application/pkcs7-mime; smime-type=\"Signed-Data\"":  false,
		"application/pkcs7-mime; smime-type=compressed-data":  true,
		"application/octet-stream":                            false,
		"multipart/mixed; boundary=b; smime-type=signed-data": false,
	} {
		if _, _, found := outline(t, media, "x\r\n"); found.encrypted != want {
			t.Errorf("%s: %v", media, found.encrypted)
		}
	}
}

// A body that cannot be read is an error, at whatever step it fails.
func TestReadErrors(t *testing.T) {
	broken := errors.New("broken")
	for _, s := range shapes {
		src := s.source(64 << 10)
		good, err := io.ReadAll(src.body)
		if err != nil {
			t.Fatal(err)
		}
		src.body = io.NewSectionReader(failAt{good, 3 << 10, broken}, 0, int64(len(good)))
		if _, err := render(src, usual, rand.Reader); !errors.Is(err, broken) {
			t.Errorf("%s: %v", s.name, err)
		}
	}
}

// A nonce that cannot be drawn is an error.
func TestNoRandomness(t *testing.T) {
	broken := errors.New("broken")
	if _, err := render(shapes[0].source(10), usual, iotest.ErrReader(broken)); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
}

// failAt is a body that cannot be read from an offset on.
type failAt struct {
	octets []byte
	from   int64
	err    error
}

func (f failAt) ReadAt(p []byte, at int64) (int, error) {
	if at+int64(len(p)) > f.from {
		n := copy(p, f.octets[min(at, f.from):f.from])
		return n, f.err
	}
	return copy(p, f.octets[at:]), nil
}

// Parts that are written are found, whatever stands in them.
func TestWalkProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		end := rapid.SampledFrom([]string{"\r\n", "\n"}).Draw(t, "line end")
		var body strings.Builder
		body.WriteString("preamble" + end)
		var want []string
		for range rapid.IntRange(1, 5).Draw(t, "parts") {
			text := strings.ReplaceAll(drawText(t, "text"), "-", "")
			text = strings.TrimRight(text, "\r") // with LF it would be CRLF
			body.WriteString("--b" + end + end + text + end)
			want = append(want, text)
		}
		body.WriteString("--b--" + end)
		texts, dropped, _ := outline(t, "multipart/mixed; boundary=b", body.String())
		if !slices.Equal(texts, want) || dropped != "none" {
			t.Fatalf("got %q and %s, want %q", texts, dropped, want)
		}
	})
}
