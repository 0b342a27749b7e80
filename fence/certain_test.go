package fence

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// structureOf renders a body under the given fields and says what became of
// it: the remark, or the text that is shown.
func structureOf(t fataler, media, coding field, body string) string {
	t.Helper()
	s := &source{entry: "friend@example.org", media: media, encoding: coding, body: sectionOf(body)}
	r, err := render(s, usual, zeroReader{})
	if err != nil {
		t.Fatalf("render: %v", err)
	}
	f, err := Parse(r.Text)
	if err != nil {
		t.Fatalf("parse: %v\n%s", err, r.Text)
	}
	for _, words := range f.Remarks {
		if strings.HasPrefix(words, "body not shown") {
			return words
		}
	}
	var all []string
	for _, p := range f.Parts {
		all = append(all, p.Text())
	}
	return strings.Join(all, "|")
}

// zeroReader is randomness for tests that do not look at the nonce.
type zeroReader struct{}

func (zeroReader) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

func signed(value string) field   { return field{value: value, present: true, covered: true} }
func unsigned(value string) field { return field{value: value, present: true} }

var (
	signedAbsence   = field{covered: true}
	unsignedAbsence = field{}
)

func TestUnsignedStructure(t *testing.T) {
	const withheld = remarkUnsigned
	const mixed = "--b\r\n\r\nplain\r\n--b--\r\n"
	sixteen := strings.Repeat("QUJD", 4)
	for _, c := range []struct {
		name          string
		media, coding field
		body, want    string
	}{
		{"nothing there, nothing signed", unsignedAbsence, unsignedAbsence, "hello\r\n", "hello"},
		{"an empty body", unsignedAbsence, unsignedAbsence, "", ""},
		{"no type, octets above ASCII", unsignedAbsence, signedAbsence, "ü\r\n", withheld},
		{"signed absence, octets above ASCII", signedAbsence, signedAbsence, "ü\r\n", `\x{C3}\x{BC}`},
		{"utf-8", unsigned("text/plain; charset=utf-8"), signedAbsence, "ü\r\n", "ü"},
		{"invalid utf-8", unsigned("text/plain; charset=utf-8"), signedAbsence, "\xfc\r\n", withheld},
		{"another charset", unsigned("text/plain; charset=iso-8859-1"), signedAbsence, "a\r\n", withheld},
		{"unknown charset", unsigned("text/plain; charset=utf-7"), signedAbsence, "a\r\n", withheld},
		{"doubled charset", unsigned("text/plain; charset=utf-8; charset=utf-8"), signedAbsence, "a\r\n", withheld},
		{"a type that cannot be read", unsigned("text"), signedAbsence, "a\r\n", "a"},
		{"HTML named", unsigned("text/html"), signedAbsence, "a\r\n", withheld},
		{"message named", unsigned("message/rfc822"), signedAbsence, "\r\na\r\n", withheld},
		{"HTML named and signed", signed("text/html"), signedAbsence, "a\r\n", remarkNoText},
		{"tag", unsignedAbsence, signedAbsence, "a<BR>\r\n", withheld},
		{"tag cut by a line", unsignedAbsence, signedAbsence, "a<\r\nbr>\r\n", "a<\nbr>"},
		{"tag behind another <", unsignedAbsence, signedAbsence, "a<<sPaN x>\r\n", withheld},
		{"doctype", unsignedAbsence, signedAbsence, "<!DOCTYPE html>\r\n", withheld},
		{"what is no tag of HTML", unsignedAbsence, signedAbsence, "1 <2, <pre>, <p x>, <!docs>\r\n", "1 <2, <pre>, <p x>, <!docs>"},
		{"tag in base64", unsigned("text/plain"), signed("base64"), "PHRhYmxlPg==\r\n", withheld},
		{"tag across a soft break", unsigned("text/plain"), signed("quoted-printable"), "<di=\r\nv>\r\n", withheld},

		{"delimiters", unsignedAbsence, signedAbsence, mixed, withheld},
		{"delimiters with blanks behind", unsignedAbsence, signedAbsence, "--b \r\n\r\nplain\r\n--b--\t\r\n", withheld},
		{"delimiters the other way round", unsignedAbsence, signedAbsence, "--b--\r\nplain\r\n--b\r\n", withheld},
		{"delimiter with a blank inside", unsignedAbsence, signedAbsence, "--b  c\r\nx\r\n--b c--\r\n", withheld},
		{"opening only", unsignedAbsence, signedAbsence, "--b\r\nplain\r\n", "--b\nplain"},
		{"closing only", unsignedAbsence, signedAbsence, "plain\r\n--b--\r\n", "plain\n--b--"},
		{"not at the line's start", unsignedAbsence, signedAbsence, " --b\r\nplain\r\n --b--\r\n", " --b\nplain\n --b--"},
		{"another delimiter", unsignedAbsence, signedAbsence, "--b\r\nplain\r\n--c--\r\n", "--b\nplain\n--c--"},
		{"rules", unsignedAbsence, signedAbsence, "--\r\n----\r\n-- \r\nname\r\n", "--\n----\n-- \nname"},
		{"rules of two lengths", unsignedAbsence, signedAbsence, "---\r\n-----\r\n", withheld},
		{"long delimiters", unsignedAbsence, signedAbsence, "--" + strings.Repeat("b", 200) + "\r\n--" + strings.Repeat("b", 200) + "--\r\n", withheld},
		{"too many to tell", unsignedAbsence, signedAbsence, closers(maxClosers + 1), withheld},

		{"multipart", unsigned("multipart/mixed; boundary=b"), unsignedAbsence, mixed, "plain"},
		{"alternative is read as mixed", unsigned("multipart/alternative; boundary=b"), unsignedAbsence, "--b\r\n\r\na\r\n--b\r\n\r\nb\r\n--b--\r\n", "a|b"},
		{"digest is read as mixed", unsigned("multipart/digest; boundary=b"), unsignedAbsence, mixed, "plain"},
		{"encrypted is read as mixed", unsigned("multipart/encrypted; boundary=b"), unsignedAbsence, "--b\r\nContent-Type: x/y\r\n\r\na\r\n--b--\r\n", remarkNoText},
		{"alternative, signed", signed("multipart/alternative; boundary=b"), unsignedAbsence, "--b\r\n\r\na\r\n--b\r\n\r\nb\r\n--b--\r\n", "a"},
		{"blank lines behind the closing one", unsigned("multipart/mixed; boundary=b"), unsignedAbsence, mixed + "\r\n \t\r\n", "plain"},
		{"blanks behind the delimiters", unsigned("multipart/mixed; boundary=b"), unsignedAbsence, "--b \r\n\r\nplain\r\n--b--  ", "plain"},
		{"preamble", unsigned("multipart/mixed; boundary=b"), unsignedAbsence, "preamble\r\n" + mixed, "plain"},
		{"preamble of dashes", unsigned("multipart/mixed; boundary=b"), unsignedAbsence, "--a\r\n" + mixed, withheld},
		{"another boundary", unsigned("multipart/mixed; boundary=c"), unsignedAbsence, mixed + "--c--\r\n", withheld},
		{"epilogue", unsigned("multipart/mixed; boundary=b"), unsignedAbsence, mixed + "x\r\n", withheld},
		{"epilogue, signed", signed("multipart/mixed; boundary=b"), unsignedAbsence, mixed + "x\r\n", "plain"},
		{"no closing", unsigned("multipart/mixed; boundary=b"), unsignedAbsence, "--b\r\n\r\nplain\r\n", withheld},
		{"no boundary", unsigned("multipart/mixed"), unsignedAbsence, mixed, withheld},
		{"delimiter longer than the boundary", unsigned("multipart/mixed; boundary=b"), unsignedAbsence, "--bbbbbbbb\r\n\r\nplain\r\n--b--\r\n", withheld},
		{"encoding on a multipart", signed("multipart/mixed; boundary=b"), unsigned("base64"), mixed, "plain"},

		{"base64, not named", signedAbsence, unsignedAbsence, sixteen + "QUJDREVG\r\n", withheld},
		{"base64, named 7bit", signedAbsence, unsigned("7bit"), sixteen + "QUJDREVG\r\n", withheld},
		{"base64, named quoted-printable", signedAbsence, unsigned("quoted-printable"), sixteen + "QUJDREVG\r\n", withheld},
		{"base64, named so", signedAbsence, unsigned("base64"), sixteen + "QUJDREVG\r\n", "ABCABCABCABCABCDEF"},
		{"base64 in lines", signedAbsence, unsigned("base64"), "QUJDQUJDQUJD \r\n\r\nQUJDQUJDQQ==\r\n\r\n", "ABCABCABCABCABCA"},
		{"base64 in lines, not named", signedAbsence, unsignedAbsence, "QUJDQUJDQUJD \r\n\r\nQUJDQUJDQQ==\r\n\r\n", withheld},
		{"short base64", signedAbsence, unsigned("base64"), "QUJDQUJDQUJDQUJDQUI=\r\n", withheld},
		{"short base64, not named", signedAbsence, unsignedAbsence, "QUJDQUJDQUJDQUJDQQ==\r\n", "QUJDQUJDQUJDQUJDQQ=="},
		{"short base64 that ends in what reads as a soft break", signedAbsence, unsignedAbsence, "QUJDQUJDQUJDQUJDQUI=\r\n", withheld},
		{"base64 with a blank inside", signedAbsence, unsigned("base64"), sixteen + " QUJDREVG\r\n", withheld},
		{"base64 with a foreign character", signedAbsence, unsigned("base64"), sixteen + "!QUJDREVG\r\n", withheld},
		{"base64 of three quarters", signedAbsence, unsigned("base64"), sixteen + "QUJDREV\r\n", withheld},
		{"base64 with bits left over", signedAbsence, unsigned("base64"), sixteen + "QUJDQR==\r\n", withheld},
		{"base64 padded inside", signedAbsence, unsigned("base64"), sixteen + "QQ==QUJD\r\n", withheld},
		{"base64 padded thrice", signedAbsence, unsigned("base64"), sixteen + "QUJDQ===\r\n", withheld},
		{"base64 of a control character", signedAbsence, unsigned("base64"), sixteen + "QUJDAAAA\r\n", withheld},
		{"base64 of a control character, not named", signedAbsence, unsignedAbsence, sixteen + "QUJDAAAA\r\n", sixteen + "QUJDAAAA"},
		{"base64 of C1", signedAbsence, unsigned("base64"), sixteen + "QUJDwoVB\r\n", withheld},
		{"base64 of what is not UTF-8", signedAbsence, unsigned("base64"), sixteen + "QUJD////\r\n", withheld},
		{"base64 of line ends and TAB", signed("text/plain; charset=utf-8"), unsigned("base64"), "QUJDQUJDQUJDQUJDQQkNCg==", "ABCABCABCABCA\t"},
		{"base64, signed and lenient", signedAbsence, signed("base64"), "QUJD!", "ABC"},

		{"soft break", signedAbsence, unsigned("quoted-printable"), "a=\r\nb\r\n", "ab"},
		{"soft break at the end", signedAbsence, unsigned("quoted-printable"), "a=", "a"},
		{"soft break before blanks", signedAbsence, unsigned("quoted-printable"), "a= \r\nb\r\n", "ab"},
		{"equals sign", signedAbsence, unsigned("quoted-printable"), "a =3D b\r\n", "a = b"},
		{"equals sign, small", signedAbsence, unsigned("quoted-printable"), "a =3d b\r\n", withheld},
		{"blank at a line end", signedAbsence, unsigned("quoted-printable"), "a=20\r\nb=09\r\n", "a \nb\t"},
		{"blank inside", signedAbsence, unsigned("quoted-printable"), "a=20b\r\n", withheld},
		{"blank before another escape", signedAbsence, unsigned("quoted-printable"), "a=20=3D\r\n", withheld},
		{"letter", signedAbsence, unsigned("quoted-printable"), "=41\r\n", withheld},
		{"no escape", signedAbsence, unsigned("quoted-printable"), "a=x\r\n", withheld},
		{"two equals signs", signedAbsence, unsigned("quoted-printable"), "a==3D\r\n", withheld},
		{"half an escape", signedAbsence, unsigned("quoted-printable"), "a=3\r\n", withheld},
		{"nothing to decode", signedAbsence, unsigned("quoted-printable"), "hello\r\n", "hello"},
		{"high octets", signed("text/plain; charset=utf-8"), unsigned("quoted-printable"), "=C3=A9=c3=a9\r\n", "éé"},
		{"high octets, no charset", signedAbsence, unsigned("quoted-printable"), "=C3=A9\r\n", withheld},
		{"high octets, nothing signed", unsigned("text/plain; charset=utf-8"), unsigned("quoted-printable"), "=C3=A9\r\n", "é"},
		{"half a character", signed("text/plain; charset=utf-8"), unsigned("quoted-printable"), "=C3\r\n", withheld},
		{"high octets of another charset", signed("text/plain; charset=iso-8859-1"), unsigned("quoted-printable"), "=E9\r\n", "é"},
		{"high octets of an unknown charset", signed("text/plain; charset=x-y"), unsigned("quoted-printable"), "=E9\r\n", withheld},

		{"UTF-16, named quoted-printable", signed("text/plain; charset=utf-16"), unsigned("quoted-printable"), "eggs\r\n", withheld},
		{"UTF-16, not named", signed("text/plain; charset=utf-16be"), unsignedAbsence, "eggs\r\n", withheld},

		{"7bit without an equals sign", signedAbsence, unsigned("7bit"), "hello\r\n", "hello"},
		{"7bit with one", signedAbsence, unsigned("7bit"), "a = b\r\n", "a = b"},
		{"7bit that reads as quoted-printable", signedAbsence, unsigned("7bit"), "a=3D\r\n", withheld},
		{"8bit that reads as quoted-printable", signedAbsence, unsigned("8bit"), "a=\r\nb\r\n", withheld},
		{"binary with both", signedAbsence, unsigned("binary"), "a=3D x=y\r\n", "a=3D x=y"},
		{"none that reads as quoted-printable", signedAbsence, unsignedAbsence, "a=3D\r\n", withheld},
		{"7bit, signed", signedAbsence, signed("7bit"), "a=3D\r\n", "a=3D"},
		{"unknown encoding", signedAbsence, unsigned("x-y"), "a\r\n", withheld},
		{"unknown encoding, signed", signedAbsence, signed("x-y"), "a\r\n", remarkNotDecodable},
		{"unknown encoding, signed, the type not", unsignedAbsence, signed("x-y"), "a\r\n", withheld},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := structureOf(t, c.media, c.coding, c.body); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func closers(n int) string {
	var out strings.Builder
	for i := range n {
		out.WriteString("--" + strings.Repeat("x", i%97) + string(rune('a'+i%26)) + strings.Repeat("y", i/97) + "--\r\n")
	}
	return out.String()
}

// relaxedBody is relaxed canonicalization (RFC 6376, 3.4.4), read the slow
// way, lines ended by LF.
func relaxedBody(body string) string {
	var lines []string
	for _, line := range strings.Split(strings.ReplaceAll(body, "\r\n", "\n"), "\n") {
		blank := false
		out := ""
		for _, c := range []byte(line) {
			if c == ' ' || c == '\t' {
				blank = true
				continue
			}
			if blank {
				out += " "
				blank = false
			}
			out += string([]byte{c})
		}
		lines = append(lines, out)
	}
	out := strings.TrimRight(strings.Join(lines, "\n"), "\n")
	if out == "" {
		return ""
	}
	return out + "\n"
}

func TestCanonical(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		body := drawText(t, "body")
		var got strings.Builder
		if err := canonical(sectionOf(body), func(p []byte) { got.Write(p) }); err != nil {
			t.Fatal(err)
		}
		if want := relaxedBody(body); got.String() != want {
			t.Fatalf("%q: got %q, want %q", body, got.String(), want)
		}
	})
}

// White space that may be changed without breaking the signature never
// changes whether an unsigned structure is certain.
func TestCertainIsCanonical(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.SampledFrom([]string{"--b", "--b--", "a", "=", "=3D", "=20", "QUJDQUJDQUJD", "<br>", " ", "\t", "\r\n", "\r\n"})
		body := strings.Join(rapid.SliceOfN(word, 0, 12).Draw(t, "body"), "")
		media := rapid.SampledFrom([]string{"text/plain", "multipart/mixed; boundary=b"}).Draw(t, "type")
		coding := rapid.SampledFrom([]string{"7bit", "base64", "quoted-printable"}).Draw(t, "encoding")
		changed := strings.ReplaceAll(relaxedBody(body), "\n", " \t\r\n")
		changed = strings.ReplaceAll(changed, " ", "  ") + "\r\n\r\n"
		if got, want := sure(t, media, coding, changed), sure(t, media, coding, body); got != want {
			t.Fatalf("%q is certain: %v, with other white space %v", body, want, got)
		}
	})
}

func sure(t fataler, media, coding, body string) bool {
	s := &source{media: unsigned(media), encoding: unsigned(coding), body: sectionOf(body)}
	ok, err := s.certain(s.header())
	if err != nil {
		t.Fatalf("certain: %v", err)
	}
	return ok
}

// TestClosersBounded: however many lines could close a multipart, few are held.
func TestClosersBounded(t *testing.T) {
	lines := newDashLines()
	lines.write([]byte(strings.ReplaceAll(closers(2*maxClosers), "\r\n", "\n")))
	if n := len(lines.closers); n > maxClosers+1 {
		t.Errorf("%d lines are held", n)
	}
}
