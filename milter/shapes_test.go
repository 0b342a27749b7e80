package milter

import (
	"encoding/base64"
	"fmt"
	"math"
	"strings"
	"syscall"
	"testing"
	"time"

	dj "github.com/d--j/go-milter"

	"stile/tests/signed"
)

// shape is a kind of message that costs more than its octets: n of them.
type shape struct {
	name string
	spec func(n int) signed.Spec
}

const toUs = "To: shopping@estate.example\r\nSubject: groceries\r\n"

// filled is s over and over, n octets.
func filled(s string, n int) string { return strings.Repeat(s, n/len(s)+1)[:n] }

// body is a shape of which only the body is odd, under the given fields.
func body(name, fields string, make func(n int) string) shape {
	return shape{name, func(n int) signed.Spec {
		return signed.Spec{Header: toUs + fields, Body: make(n)}
	}}
}

func text(name, charset, s string) shape {
	return body(name, "Content-Type: text/plain; charset="+charset+"\r\n", func(n int) string { return filled(s, n) })
}

func encoded(name, encoding, s string) shape {
	return body(name, "Content-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: "+encoding+"\r\n", func(n int) string { return filled(s, n) })
}

// bare is a shape whose structure is not signed.
func bare(s shape) shape {
	return shape{s.name + ", unsigned", func(n int) signed.Spec {
		spec := s.spec(n)
		spec.Sign = []string{"from", "to", "subject"}
		return spec
	}}
}

func nested(levels int, boundary func(int) string) string {
	var b strings.Builder
	for i := 1; i < levels; i++ {
		fmt.Fprintf(&b, "--%s\r\nContent-Type: multipart/mixed; boundary=\"%s\"\r\n\r\n", boundary(i-1), boundary(i))
	}
	return b.String() + "--" + boundary(levels-1) + "\r\n\r\n"
}

const (
	mixed  = "Content-Type: multipart/mixed; boundary=b\r\n"
	letter = "The quick brown fox jumps over the lazy dog and runs away from all of it.\r\n"

	largest = 10 << 20 // octets of a message
)

func shapes() []shape {
	short := func(i int) string { return fmt.Sprint("b", i) }
	long := func(i int) string { return strings.Repeat("b", 60_000) + fmt.Sprint(i) }
	return []shape{
		text("plain", "utf-8", letter),
		body("deep", "Content-Type: multipart/mixed; boundary=b0\r\n", func(n int) string { return nested(50, short) + filled(letter, n) }),
		body("deep, dashes", "Content-Type: multipart/mixed; boundary=b0\r\n", func(n int) string { return nested(50, short) + filled("--b\r\n", n) }),
		body("deep, long boundaries", "Content-Type: multipart/mixed; boundary="+long(0)+"\r\n", func(n int) string {
			return nested(50, long) + filled("--"+strings.Repeat("b", 60_000)+"x\r\n", n)
		}),
		body("too deep", "Content-Type: multipart/mixed; boundary=b0\r\n", func(n int) string { return nested(5000, short) + filled(letter, n) }),
		body("1000 parts", mixed, func(n int) string { return strings.Repeat("--b\r\n\r\n"+filled(letter, n/1000), 1000) }),
		body("too many parts", mixed, func(n int) string { return filled("--b\r\n\r\nx\r\n", n) }),
		body("large headers of parts", mixed, func(n int) string {
			return filled("--b\r\nContent-Type: text/plain;"+filled(" a=b;", 60_000)+"\r\n\r\nx\r\n", n)
		}),
		body("sections of parameters", mixed, func(n int) string {
			var p strings.Builder
			for i := range 4000 {
				fmt.Fprintf(&p, " x*%d*=%%41;", i)
			}
			return filled("--b\r\nContent-Type: text/plain;"+p.String()+"\r\n\r\nx\r\n", n)
		}),
		body("folded headers of parts", mixed, func(n int) string {
			return filled("--b\r\nContent-Type: text/plain"+filled("\r\n ;", 60_000)+"\r\n\r\nx\r\n", n)
		}),
		fieldsOfParts("encoded words", " =?gb18030?q?a?="),
		fieldsOfParts("encoded words of ISO-2022-JP", " =?iso-2022-jp?q?a?="),
		fieldsOfParts("encoded words of Big5", " =?big5?b?YQ==?="),
		fieldsOfParts("words that are none", " \u6f22\u5b571"),
		fieldsOfParts("letters", " \u0e01\u00e91"),
		fieldsOfParts("invisible characters", "\u200b"),
		body("names of parts", mixed, func(n int) string {
			return filled("--b\r\nContent-Type: image/png; name=\""+strings.Repeat(" =?gb18030?q?a?=", 3000)+"\"\r\n\r\nx\r\n", n)
		}),
		body("comments", mixed, func(n int) string { return filled("--b\r\nContent-Type: "+filled("(", 30_000)+"\r\n\r\nx\r\n", n) }),
		bare(body("closers", "", func(n int) string {
			var b strings.Builder
			for i := 0; b.Len() < n; i++ {
				fmt.Fprintf(&b, "--%d--\r\n", i)
			}
			return b.String()
		})),
		bare(text("tags", "utf-8", "<")),
		bare(text("almost tags", "utf-8", "<!doctyp")),
		bare(text("equals signs", "utf-8", "=")),
		bare(body("base64 or not", "", func(n int) string { return filled("QUJD", n-n%4) })),

		text("one line", "utf-8", "x"),
		text("empty lines", "utf-8", "\r\n"),
		text("bare LF", "utf-8", "\n"),
		text("bare CR", "utf-8", "\r"),
		text("CR and LF", "utf-8", "\r\r\n"),
		text("white space", "utf-8", " "),
		text("white space, CR", "utf-8", " \r"),
		text("NUL", "utf-8", "\x00"),
		text("backslashes", "utf-8", `\u{`),
		text("invalid", "utf-8", "\xff"),
		text("half a character", "utf-8", "\xf0\x9f\x98"),
		text("zero width", "utf-8", "\u200b"),
		text("tag characters", "utf-8", "\U000e0041"),
		text("families", "utf-8", "👨\u200d👩\u200d👧\u200d👦"),
		text("half families", "utf-8", "👨\u200d👩\u200d👧\u200d"),
		text("flags", "utf-8", "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067"),
		text("escape octets", "iso-2022-jp", "\x1b"),
		text("escape sequences", "iso-2022-jp", "\x1b$B\x1b(B"),
		text("half of pairs", "iso-2022-jp", "\x1b$B!\x1b"),
		text("Japanese", "shift_jis", "\x82\xa0"),
		text("not Japanese", "shift_jis", "\x81\x20\xfd"),
		text("not Japanese either", "euc-jp", "\x8f\xff\x8f"),
		text("not Chinese", "gb18030", "\x81\x30\x81"),
		text("Chinese", "gb18030", "\x81\x30\x81\x30"),
		text("big5", "big5", "\x87\x40\xff"),
		text("not Korean", "euc-kr", "\xfe\xff"),
		text("one octet", "koi8-r", "\xe1"),
		text("unknown charset", "x-y", "\xe1"),
		text("format=flowed", "utf-8; format=flowed; delsp=yes", "x \r\n"),

		encoded("base64", "base64", base64.StdEncoding.EncodeToString([]byte(letter[:75]))+"\r\n"),
		encoded("base64 in one line", "base64", "QUJD"),
		encoded("base64, padding", "base64", "="),
		encoded("base64, padded runs", "base64", "QQ=="),
		encoded("base64, foreign characters", "base64", "!"),
		encoded("base64 of UTF-16", "base64", "AAoA"),
		body("base64, UTF-16", "Content-Type: text/plain; charset=utf-16\r\nContent-Transfer-Encoding: base64\r\n", func(n int) string { return filled("2ADY", n) }),
		encoded("quoted", "quoted-printable", "=C3=A9"),
		encoded("quoted, bad", "quoted-printable", "="),
		encoded("quoted, white space", "quoted-printable", " "),
		encoded("quoted, white space and not", "quoted-printable", filled(" ", 4000)+"x"),
		encoded("quoted, white space and equals signs", "quoted-printable", "="+filled(" ", 5000)),
		encoded("quoted, soft breaks", "quoted-printable", "=\r\n"),
		encoded("quoted, soft breaks and white space", "quoted-printable", "= \t\r\n"),
		encoded("quoted, CR", "quoted-printable", " \r"),

		body("HTML", "Content-Type: text/html\r\n", func(n int) string { return filled("<p style='display:none'>x<!-- y --><img alt=z>", n) }),
		body("HTML, styles", "Content-Type: text/html\r\n", func(n int) string {
			return filled("<p style='\\64 isplay:none/**/;color:#fff;background:rgb(1,2,3)'>", n)
		}),
		body("HTML, invisible characters", "Content-Type: text/html\r\n", func(n int) string { return filled("\u200b\U000e0041", n) }),
		body("HTML, hidden text", "Content-Type: text/html\r\n", func(n int) string { return "<div hidden>" + filled("<p>\u200bx</p>", n) }),
		body("calendar, invisible characters", "Content-Type: text/calendar\r\n", func(n int) string { return filled("NOTE:\u200b\u200b\r\n", n) }),
		body("preamble", mixed, func(n int) string { return filled("\u200b x\r\n", n) }),
		body("epilogue", mixed, func(n int) string { return "--b\r\n\r\nx\r\n--b--\r\n" + filled("\u200b\xff x\r\n", n) }),
		body("text parts that are not shown", "Content-Type: multipart/alternative; boundary=b\r\n", func(n int) string {
			return "--b\r\n\r\nx\r\n--b\r\nContent-Type: text/plain; charset=iso-2022-jp\r\n\r\n" + filled("\x1b", n)
		}),
		body("HTML, open tags", "Content-Type: text/html\r\n", func(n int) string { return filled("<", n) }),
		body("HTML, open comments", "Content-Type: text/html\r\n", func(n int) string { return filled("<!--", n) }),
		body("HTML, one tag", "Content-Type: text/html\r\n", func(n int) string { return "<p " + filled("a=b ", n) }),
		body("HTML, deep", "Content-Type: text/html\r\n", func(n int) string { return filled("<div>", n) }),
		body("HTML, entities", "Content-Type: text/html\r\n", func(n int) string { return filled("&amp;&#8203;&", n) }),
		body("HTML, quotes", "Content-Type: text/html\r\n", func(n int) string { return filled("<a title='", n) }),
		body("HTML, style", "Content-Type: text/html\r\n", func(n int) string { return filled("<style>{display:none}", n) }),
		body("calendar", "Content-Type: text/calendar\r\n", func(n int) string { return filled("DESCRIPTION:x\r\n y\r\n", n) }),

		header("500 fields", func(int) string { return filled("X-A: b\r\n", 496*8) }),
		header("256 KiB", func(int) string { return strings.Repeat("X-A:"+filled(" b", 60_000)+"\r\n", 4) }),
		header("folds", func(int) string { return strings.Repeat("X-A: a"+strings.Repeat("\r\n b", 3900)+"\r\n", 12) }),
		header("forged fields", func(int) string { return filled("Stile-X: b\r\n", 490*12) }),
		header("signatures", func(int) string { return strings.Repeat("DKIM-Signature: d=example.org; h=from:to\r\n", 490) }),
		header("signatures with long lists", func(int) string {
			return strings.Repeat("DKIM-Signature: d=example.org; h=from:to"+filled(":x", 15_000)+"\r\n", 16)
		}),
		header("tags", func(int) string {
			return strings.Repeat("DKIM-Signature: d=example.org"+filled(";d=x", 60_000)+"\r\n", 4)
		}),
		header("signatures of white space", func(int) string {
			return strings.Repeat("DKIM-Signature: d=example.org; b="+filled(" a", 60_000)+"\r\n", 4)
		}),
		{"signatures and addresses", func(int) signed.Spec {
			return signed.Spec{
				Header: "To: " + filled("a,", 60_000) + "x@y.example\r\n",
				Above:  strings.Repeat("DKIM-Signature: d=example.org;h=to\r\n", 490),
			}
		}},
		{"signatures and quoted addresses", func(int) signed.Spec {
			return signed.Spec{
				Header: "To: " + filled(`"a\a"(())`, 60_000) + "\r\n",
				Above:  strings.Repeat("DKIM-Signature: d=example.org;h=to\r\n", 490),
			}
		}},
		{"signatures and a Date", func(int) signed.Spec {
			return signed.Spec{
				Header: "To: shopping@estate.example\r\nDate: " + filled("(Mon, ", 60_000) + "\r\n",
				Above:  strings.Repeat("DKIM-Signature: d=example.org;h=date\r\n", 490),
			}
		}},
		{"a From of words", func(int) signed.Spec { return signed.Spec{From: filled("a ", 60_000) + "<friend@example.org>"} }},
		{"a From of encoded words", func(int) signed.Spec {
			return signed.Spec{From: filled("=?utf-8?q?a?= ", 60_000-60_000%14) + "<friend@example.org>"}
		}},
		{"a From of quotes", func(int) signed.Spec { return signed.Spec{From: filled(`"a" `, 60_000) + "<friend@example.org>"} }},
		{"a From of comments", func(int) signed.Spec { return signed.Spec{From: "friend@example.org" + filled("(", 60_000)} }},
		{"a From of addresses", func(int) signed.Spec {
			return signed.Spec{From: filled("a@b.example ", 60_000) + "<friend@example.org>"}
		}},
		{"a Subject of encoded words", func(int) signed.Spec { return subject(filled("=?iso-2022-jp?b?GyRCGyhC?= ", 60_000-60_000%27)) }},
		{"a Subject of charsets", func(int) signed.Spec {
			return subject(filled("=?gb18030?q?a?= =?euc-kr?q?a?= =?big5?q?a?= ", 60_000-60_000%44))
		}},
		{"a Subject of one word", func(int) signed.Spec { return subject("=?utf-8?q?" + filled("=00", 60_000) + "?=") }},
		{"a Subject of white space", func(int) signed.Spec { return subject(filled(" \t", 60_000) + "x") }},
		{"Auto-Submitted of comments", func(int) signed.Spec {
			return signed.Spec{Header: toUs + strings.Repeat("Auto-Submitted: "+filled("(", 60_000)+"\r\n", 4)}
		}},
	}
}

// fieldsOfParts is a shape whose parts have a field of s over and over.
func fieldsOfParts(name, s string) shape {
	return body("fields of parts, "+name, mixed, func(n int) string {
		return filled("--b\r\nX-A:"+strings.Repeat(s, 60_000/len(s))+"\r\n\r\nx\r\n", n)
	})
}

// header is a shape of which only the header is odd. Its body is small: what a
// header may be is bounded.
func header(name string, make func(n int) string) shape {
	return shape{name, func(n int) signed.Spec { return signed.Spec{Above: make(n)} }}
}

func subject(value string) signed.Spec {
	return signed.Spec{Header: "To: shopping@estate.example\r\nSubject: " + value + "\r\n"}
}

// cpu is what this process has used of processors so far.
func cpu(t testing.TB) time.Duration {
	t.Helper()
	var u syscall.Rusage
	must(t, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// cost is the processor time that a message of the shape takes, n octets of
// it, from the file to the last answer; the least of some deliveries.
func (s shape) cost(b *testing.B, n int) time.Duration {
	b.Helper()
	spec := s.spec(n)
	spec.Simple = true // quicker to sign
	raw := signed.Mail(b, spec)
	p := replacing(b, signed.Lookup(b, spec), 1<<20)
	p.server.o.Config.MaxMessage = 0
	c := p.dial()
	least := time.Duration(math.MaxInt64)
	for range 3 {
		before := cpu(b)
		m := signed.Message(b, raw)
		c.envelope("friend@example.org", shopper)
		c.header(m.Header)
		_, a, err := c.s.BodyReadFrom(m.Body)
		must(b, err)
		least = min(least, cpu(b)-before)
		if a.Type != dj.ActionAccept && a.Type != dj.ActionDiscard {
			b.Fatalf("%+v", a)
		}
	}
	return least
}

// The most that 10 MB of any shape may cost of what 10 MB of letters do, which
// take a quarter of a second; and the most by which that may grow when the
// message does, fourfold.
const (
	dearest = 6
	steeper = 1.8
)

// BenchmarkShapes is the processor time of the dearest message there is of each
// shape, which is to be under two seconds. It fails where a shape costs too
// much beside ordinary text, or more than in proportion to its octets.
func BenchmarkShapes(b *testing.B) {
	const quarter = largest / 4
	plain := shapes()[0]
	most, less := plain.cost(b, largest), plain.cost(b, quarter)
	for _, s := range shapes() {
		b.Run(s.name, func(b *testing.B) {
			for b.Loop() {
				whole, part := s.cost(b, largest), s.cost(b, quarter)
				ratio, before := float64(whole)/float64(most), float64(part)/float64(less)
				b.ReportMetric(whole.Seconds(), "cpu-s")
				b.ReportMetric(ratio, "x-plain")
				if ratio > dearest {
					b.Errorf("%.1f times what ordinary text costs", ratio)
				}
				if ratio > 1 && ratio > steeper*before {
					b.Errorf("a quarter of it costs %.1f times what ordinary text does, the whole %.1f times", before, ratio)
				}
			}
		})
	}
}
