package fence

import (
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// shape is a message body that is awkward at any size.
type shape struct {
	name    string
	media   string // Content-Type, "" for none
	coding  string // Content-Transfer-Encoding, "" for none
	covered bool   // the signature covers both
	body    func(size int) string
}

func repeat(s string) func(int) string {
	return func(size int) string { return strings.Repeat(s, size/len(s)) }
}

func between2(before, s, after string) func(int) string {
	return func(size int) string { return before + strings.Repeat(s, size/len(s)) + after }
}

var shapes = []shape{
	{"one line", "text/plain", "", true, repeat("a")},
	{"blanks", "text/plain", "", true, repeat(" ")},
	{"line ends", "text/plain", "", true, repeat("\n")},
	{"bare CR", "text/plain", "", true, repeat("\r")},
	{"short lines", "text/plain; charset=utf-8", "", true, repeat("x\r\n")},
	{"bad bytes", "text/plain; charset=utf-8", "", true, repeat("\xff")},
	{"hidden", "text/plain; charset=utf-8", "", true, repeat("\u200b")},
	{"ideographs", "text/plain; charset=utf-8", "", true, repeat("漢")},
	{"unassigned", "text/plain; charset=utf-8", "", true, repeat("\U000E0FFF")},
	{"emoji", "text/plain; charset=utf-8", "", true, repeat("👩🏽\u200d❤\ufe0f\u200d💋\u200d👨🏿")},
	{"almost emoji", "text/plain; charset=utf-8", "", true, repeat("👩🏽\u200d❤\ufe0f\u200d💋\u200d")},
	{"backslashes", "text/plain; charset=utf-8", "", true, repeat(`\u{`)},
	{"windows-1252", "text/plain; charset=windows-1252", "", true, repeat("\x81\xe9")},
	{"shift_jis", "text/plain; charset=shift_jis", "", true, repeat("\x83\x5c\x81\r\n")},
	{"shift_jis broken", "text/plain; charset=shift_jis", "", true, repeat("\xfc\xfc")},
	{"gb18030", "text/plain; charset=gb18030", "", true, repeat("\x84\x31\xa4\x37")},
	{"iso-2022-jp", "text/plain; charset=iso-2022-jp", "", true, repeat("\x1b$B$\"\x1b(B")},
	{"big5", "text/plain; charset=big5", "", true, repeat("\x88\x62")},
	{"utf-16", "text/plain; charset=utf-16", "base64", true, repeat("2AAAYSAoAGI=")},
	{"base64", "text/plain; charset=utf-8", "base64", true, repeat("YWFhYWFh")},
	{"base64 foreign", "text/plain; charset=utf-8", "base64", true, repeat("!")},
	{"base64 pads", "text/plain; charset=utf-8", "base64", true, repeat("YQ==")},
	{"qp escapes", "text/plain; charset=utf-8", "quoted-printable", true, repeat("=C3=A9")},
	{"qp soft", "text/plain; charset=utf-8", "quoted-printable", true, repeat("=\r\n")},
	{"qp blanks", "text/plain; charset=utf-8", "quoted-printable", true, between2("", " \t", "x")},
	{"qp equals", "text/plain; charset=utf-8", "quoted-printable", true, repeat("= ")},
	{"qp equals blanks", "text/plain; charset=utf-8", "quoted-printable", true, between2("=", " \t", "x")},
	{"qp CR", "text/plain; charset=utf-8", "quoted-printable", true, repeat(" \r")},
	{"delimiters", "multipart/mixed; boundary=b", "", true, repeat("--b\r\n")},
	{"near delimiters", "multipart/mixed; boundary=b", "", true, between2("--b\r\n\r\n", "--bx\r\n", "")},
	{"padded delimiter", "multipart/mixed; boundary=b", "", true, between2("--b\r\n\r\nx\r\n--b", " \t", "\r\n\r\ny")},
	{"long header", "multipart/mixed; boundary=b", "", true, between2("--b\r\nX: ", "x", "")},
	{"header lines", "multipart/mixed; boundary=b", "", true, between2("--b\r\n", "X:x\r\n", "")},
	{"preamble", "multipart/mixed; boundary=b", "", true, repeat("-- \r\n")},
	{"levels", "multipart/mixed; boundary=b0", "", true, nested},
	{"levels, near delimiters", "multipart/mixed; boundary=b0", "", true, nestedNear},
	{"epilogue", "multipart/mixed; boundary=b", "", true, between2("--b\r\n\r\n--b--\r\n", "a\u200b\r\n", "")},
	{"calendar", "text/calendar; charset=utf-8", "", true, repeat("SUMMARY:a\u200b\r\n")},
	{"calendar line", "text/calendar; charset=utf-8", "", true, between2("SUMMARY:", "a", "")},
	{"unshown text", "text/csv; charset=utf-8", "", true, repeat("a\u200b\r\n")},
	{"unshown emoji", "text/csv; charset=utf-8", "", true, repeat("👩🏽\u200d❤\ufe0f\u200d💋\u200d")},
	{"unsigned text", "", "", false, repeat("hello\r\n")},
	{"unsigned dashes", "", "", false, distinctDashes},
	{"unsigned closers", "", "", false, repeat("--x\r\n--y--\r\n")},
	{"unsigned qp", "text/plain; charset=utf-8", "quoted-printable", false, repeat("=C3=A9=\r\n")},
	{"unsigned base64", "text/plain; charset=utf-8", "base64", false, repeat("YWFhYWFh\r\n")},
	{"unsigned html", "text/plain; charset=utf-8", "8bit", false, repeat("<spa")},
	{"unsigned one line", "text/plain; charset=utf-8", "7bit", false, repeat("a=3D")},
	{"unsigned multipart", "multipart/mixed; boundary=b", "", false, between2("--b\r\n\r\n", "x\r\n", "--b--\r\n")},
}

// pages are shapes of HTML, whose tokenizer makes garbage of each tag. What it
// holds is bounded.
var pages = []shape{
	{"html", "text/html; charset=utf-8", "", true, repeat("<p style='display:none'>a&#8203;</p><!-- b --><img alt='c d'>\r\n")},
	{"html text", "text/html; charset=utf-8", "", true, repeat("\u200b")},
	{"html tag", "text/html; charset=utf-8", "", true, between2("<a ", "b=c ", "")},
	{"html attributes", "text/html; charset=utf-8", "", true, between2("<a ", "b ", "")},
	{"html comment", "text/html; charset=utf-8", "", true, between2("<!--", "-- >", "")},
	{"html openings", "text/html; charset=utf-8", "", true, repeat("<")},
	{"html script", "text/html; charset=utf-8", "", true, between2("<script>", "<!--<script", "")},
	{"html references", "text/html; charset=windows-1252", "", true, repeat("&")},
	{"html style", "text/html; charset=utf-8", "", true, between2("<a style='", `/*\9a:`, "'>")},
	{"html levels", "text/html; charset=utf-8", "", true, repeat("<b hidden>")},
}

func nested(size int) string {
	var out strings.Builder
	for i := range maxLevels - 1 {
		fmt.Fprintf(&out, "--b%d\r\nContent-Type: multipart/mixed; boundary=b%d\r\n\r\n", i, i+1)
	}
	fmt.Fprintf(&out, "--b%d\r\n\r\n", maxLevels-1)
	out.WriteString(strings.Repeat("text\r\n", size/6))
	return out.String()
}

func nestedNear(size int) string {
	var out strings.Builder
	for i := range maxLevels - 1 {
		fmt.Fprintf(&out, "--b%d\r\nContent-Type: multipart/mixed; boundary=b%d\r\n\r\n", i, i+1)
	}
	fmt.Fprintf(&out, "--b%d\r\n\r\n", maxLevels-1)
	out.WriteString(strings.Repeat("--b\r\n", size/5))
	return out.String()
}

func distinctDashes(size int) string {
	var out strings.Builder
	for i := 0; out.Len() < size; i++ {
		fmt.Fprintf(&out, "--%d\r\n", i)
	}
	return out.String()
}

func (s shape) source(size int) *source {
	return &source{
		entry:    "friend@example.org",
		subject:  field{value: "groceries", present: true, covered: true},
		media:    field{value: s.media, present: s.media != "", covered: s.covered},
		encoding: field{value: s.coding, present: s.coding != "", covered: s.covered},
		body:     sectionOf(s.body(size)),
	}
}

func sectionOf(body string) *io.SectionReader {
	return io.NewSectionReader(strings.NewReader(body), 0, int64(len(body)))
}

// A rendering holds the same memory whatever the size of the message.
func TestMemoryDoesNotGrow(t *testing.T) {
	for _, s := range shapes {
		t.Run(s.name, func(t *testing.T) {
			small, large := allocated(t, s, 256<<10), allocated(t, s, 2<<20)
			if large > small+512<<10 {
				t.Errorf("a body of 256 KiB takes %d bytes, one of 2 MiB %d", small, large)
			}
		})
	}
}

// Nor do the pages hold more.
func TestPagesHoldNoMore(t *testing.T) {
	for _, s := range pages {
		t.Run(s.name, func(t *testing.T) {
			small, large := held(t, s, 512<<10), held(t, s, 2<<20)
			if large > small+512<<10 {
				t.Errorf("a body of 512 KiB holds %d bytes, one of 2 MiB %d", small, large)
			}
		})
	}
}

// held is the most that a rendering holds while it reads.
func held(t *testing.T, s shape, size int) uint64 {
	src := s.source(size)
	in := &watched{r: src.body}
	src.body = io.NewSectionReader(in, 0, src.body.Size())
	runtime.GC()
	var before runtime.MemStats
	runtime.ReadMemStats(&before)
	mustRender(t, src)
	return in.most - min(in.most, before.HeapAlloc)
}

// watched looks at the heap at every 128 KiB that are read.
type watched struct {
	r    io.ReaderAt
	n    int
	most uint64
}

func (w *watched) ReadAt(p []byte, at int64) (int, error) {
	n, err := w.r.ReadAt(p, at)
	if w.n += n; w.n >= 128<<10 {
		w.n = 0
		runtime.GC()
		var now runtime.MemStats
		runtime.ReadMemStats(&now)
		w.most = max(w.most, now.HeapAlloc)
	}
	return n, err
}

// allocated is every byte that a rendering asks for.
func allocated(t *testing.T, s shape, size int) uint64 {
	src := s.source(size)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	mustRender(t, src)
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// counted counts the octets that are read.
type counted struct {
	r io.ReaderAt
	n int64
}

func (c *counted) ReadAt(p []byte, at int64) (int, error) {
	n, err := c.r.ReadAt(p, at)
	c.n += int64(n)
	return n, err
}

// TestPassesAreBounded: a body is gone through a few times, whatever its shape
// and size. What each pass costs is for BenchmarkRender10MB to say.
func TestPassesAreBounded(t *testing.T) {
	const passes = 8
	for _, s := range slices.Concat(shapes, pages) {
		t.Run(s.name, func(t *testing.T) {
			src := s.source(1280 << 10)
			size := src.body.Size()
			in := &counted{r: src.body}
			src.body = io.NewSectionReader(in, 0, size)
			mustRender(t, src)
			if in.n > passes*size {
				t.Errorf("%d octets read of a body of %d", in.n, size)
			}
		})
	}
}

func BenchmarkRender10MB(b *testing.B) {
	for _, s := range slices.Concat(shapes, pages) {
		b.Run(s.name, func(b *testing.B) {
			src := s.source(10 << 20)
			b.SetBytes(src.body.Size())
			for b.Loop() {
				mustRender(b, src)
			}
		})
	}
}
