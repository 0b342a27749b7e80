package fence

import (
	"encoding/base64"
	"mime/quotedprintable"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	mail "stile/tests/signed"
	"stile/verdict"
)

// The values that someone on the way may write into a field that the signature
// does not cover.
var (
	types = []string{
		"text/plain", "text/plain; charset=us-ascii", "text/plain; charset=utf-8", "text/plain; charset=iso-8859-1",
		"text/plain; charset=utf-16", "text/plain; charset=iso-2022-jp", "text/plain; charset=x", "text/plain; charset=\"\"",
		"text/plain; charset=utf-8; charset=us-ascii", "text/plain; format=flowed; delsp=yes", "text/html", "text/html; charset=utf-8",
		"text/calendar", "message/rfc822", "application/octet-stream", "image/png", "text", "",
		"multipart/mixed; boundary=b", "multipart/alternative; boundary=b", "multipart/related; boundary=\"b\"", "multipart/digest; boundary=b",
		"multipart/mixed; boundary=c", "multipart/mixed; boundary=\"b--\"", "multipart/mixed; boundary*=us-ascii''b", "multipart/mixed; boundary=b; boundary=c",
		"multipart/mixed", "multipart/encrypted; boundary=b", "(text/html) text/plain", "TEXT/PLAIN; CHARSET=UTF-8",
	}
	codings = []string{
		"7bit", "8bit", "binary", "base64", "quoted-printable", "BASE64", "quoted-printable (x)", "x-uuencode", "", "base64; x=y", "7bit, base64",
	}
)

// drawField draws a field as an attacker leaves it.
func drawField(t *rapid.T, label string, values []string) field {
	if rapid.Bool().Draw(t, label+" there") {
		return unsigned(rapid.SampledFrom(values).Draw(t, label))
	}
	return unsignedAbsence
}

// drawBody draws a body that could be of several structures.
func drawBody(t *rapid.T) string {
	text := func() string {
		return strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{
			"eggs and milk", "\r\n", "\r\n", "Gr\u00fc\u00dfe", "\xfc", "=", "=3D", "=20\r\n", "=C3=BC", "=41", "= \r\n", " ", "\t", "--b", "--b--", "--c", "--c--", "-- ", "--",
			"<b>", "<p>", "<div>", "<br>", "eggs", "\x1b$B$\"\x1b(B", "\x00", "Content-Type: text/html\r\n\r\n", "QUJD", "A", "\u0085", "+AD4-",
		}), 0, 10).Draw(t, "text"), "")
	}
	coded := func(s string) string {
		switch rapid.IntRange(0, 4).Draw(t, "coded") {
		case 0:
			return wrapped(base64.StdEncoding.EncodeToString([]byte(s)))
		case 1:
			var b strings.Builder
			w := quotedprintable.NewWriter(&b)
			_, _ = w.Write([]byte(s)) // to memory
			_ = w.Close()
			return b.String()
		}
		return s
	}
	if rapid.Bool().Draw(t, "one part") {
		return coded(text())
	}
	var b strings.Builder
	b.WriteString(rapid.SampledFrom([]string{"", "preamble\r\n", "--a\r\n"}).Draw(t, "preamble"))
	for range rapid.IntRange(1, 3).Draw(t, "parts") {
		b.WriteString("--b\r\n" + rapid.SampledFrom([]string{
			"", "Content-Type: text/html\r\n", "Content-Type: text/plain; charset=utf-8\r\n", "Content-Transfer-Encoding: base64\r\n",
		}).Draw(t, "header") + "\r\n" + coded(text()) + "\r\n")
	}
	b.WriteString(rapid.SampledFrom([]string{"--b--\r\n", "--b--", "--b\r\n", "--b--\r\nepilogue\r\n", "--b--\r\n\r\n"}).Draw(t, "end"))
	return b.String()
}

// wrapped is text in lines of 76 characters.
func wrapped(s string) string {
	var b strings.Builder
	for len(s) > 76 {
		b.WriteString(s[:76] + "\r\n")
		s = s[76:]
	}
	return b.String() + s + "\r\n"
}

// TestUnsignedStructureIsCertain: whatever the fields say that the signature
// does not cover, a body is shown in one way, or it is not shown. White space
// at the end of a line is not signed either: relaxed canonicalization drops it.
func TestUnsignedStructureIsCertain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		body := drawBody(t)
		media, coding := drawField(t, "type", types), drawField(t, "encoding", codings)
		which := rapid.IntRange(0, 3).Draw(t, "covered")
		media.covered, coding.covered = which == 1, which == 2
		shown, as := "", ""
		for range 8 {
			if !media.covered {
				media = drawField(t, "type", types)
			}
			if !coding.covered {
				coding = drawField(t, "encoding", codings)
			}
			got := structureOf(t, media, coding, body)
			if strings.HasPrefix(got, "body not shown") {
				continue
			}
			got = relaxedBody(got)
			how := media.value + ", " + coding.value
			if as != "" && got != shown {
				t.Fatalf("%q is shown as %q under %s, as %q under %s", body, shown, as, got, how)
			}
			shown, as = got, how
		}
	})
}

// onTheWay draws what someone between signer and reader makes of a message
// without breaking its signature: fields that are not covered removed, changed
// or put in anywhere.
func onTheWay(t *rapid.T, raw string, covered []string) string {
	head, body, _ := strings.Cut(raw, "\r\n\r\n")
	var fields []string
	for line := range strings.SplitSeq(head, "\r\n") {
		name, _, _ := strings.Cut(line, ":")
		if strings.HasPrefix(name, "Content-") && !slices.Contains(covered, name) && rapid.Bool().Draw(t, "removed") {
			continue
		}
		fields = append(fields, line)
	}
	for range rapid.IntRange(0, 3).Draw(t, "inserted") {
		name := rapid.SampledFrom([]string{
			"Content-Type", "content-type", "Content-Transfer-Encoding", "CONTENT-TRANSFER-ENCODING", "MIME-Version", "Content-Disposition",
			"Content-Type ", "Content\u2010Type", "X-Content-Type", "Content-Language", "Content-Base",
		}).Draw(t, "name")
		value := rapid.SampledFrom(slices.Concat(types, codings, []string{"attachment", "1.0"})).Draw(t, "value")
		fold := rapid.SampledFrom([]string{" ", "", "\r\n\t", " (x)\r\n "}).Draw(t, "fold")
		at := rapid.IntRange(0, len(fields)).Draw(t, "at")
		for at < len(fields) && strings.HasPrefix(fields[at], " ") {
			at++
		}
		fields = slices.Insert(fields, at, name+":"+fold+value)
	}
	return strings.Join(fields, "\r\n") + "\r\n\r\n" + body
}

// TestOnTheWay: whatever is done to accepted mail on the way, it shows the same
// text or none.
func TestOnTheWay(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		spec := mail.Spec{Ed25519: true, Header: "To: shopping@estate.example\r\nSubject: groceries\r\n", Body: drawBody(r)}
		if rapid.Bool().Draw(r, "type there") {
			spec.Header += "Content-Type: " + rapid.SampledFrom(types).Draw(r, "type") + "\r\n"
		}
		if rapid.Bool().Draw(r, "encoding there") {
			spec.Header += "Content-Transfer-Encoding: " + rapid.SampledFrom(codings).Draw(r, "encoding") + "\r\n"
		}
		covered := rapid.SampledFrom([][]string{
			nil, {"Content-Type"}, {"Content-Transfer-Encoding"}, {"Content-Type", "Content-Transfer-Encoding"},
		}).Draw(r, "covered")
		spec.Sign = append([]string{"From", "To", "Subject"}, covered...)
		raw, lookup := mail.Mail(t, spec), mail.Lookup(t, spec)
		shown, as := "", ""
		for i := range 6 {
			changed := raw
			if i > 0 {
				changed = onTheWay(r, raw, covered)
			}
			c := verdict.Open(mail.Message(t, changed), verdict.Env{Lookup: lookup, Now: time.Now()})
			a := c.Judge(t.Context(), mail.Policy(t)).Accepted()
			if a == nil {
				continue
			}
			one, err := Render(a)
			if err != nil {
				r.Fatal(err)
			}
			if one.State == None {
				continue
			}
			got := relaxedBody(withoutNonce(one))
			if as != "" && got != shown {
				r.Fatalf("%q\nis shown as\n%s\nand %q\nas\n%s", as, shown, changed, got)
			}
			shown, as = got, changed
		}
	})
}

// withoutNonce is a rendering as it would be with another nonce.
func withoutNonce(r Rendering) string { return strings.ReplaceAll(r.Text, r.Nonce, "nonce") }
