package fence

import (
	"bytes"
	"encoding/base64"
	"io"
	"mime/quotedprintable"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func decodeString(t fataler, body string, encoding transfer) (string, int) {
	t.Helper()
	octets := decodeTransfer(sectionOf(body), encoding)
	out, err := io.ReadAll(octets)
	if err != nil {
		t.Fatalf("decoding %q: %v", body, err)
	}
	return string(out), octets.bad()
}

func TestDecodeTransfer(t *testing.T) {
	for _, c := range []struct {
		name     string
		encoding transfer
		in, want string
		bad      int
	}{
		{"as it is", identity, "a=3D\r\n", "a=3D\r\n", 0},
		{"base64", base64Encoding, "aGVs\r\nbG8=\r\n", "hello", 0},
		{"base64 with foreign characters", base64Encoding, "SGVs!bG8*=", "Hello", 2},
		{"base64 of two runs", base64Encoding, "Zmlyc3Q=\r\nc2Vjb25k", "firstsecond", 1},
		{"base64 of three runs", base64Encoding, "YQ==YWI=YWJj", "aababc", 2},
		{"base64 without padding", base64Encoding, "aGVsbG8", "hello", 1},
		{"base64 with half a byte", base64Encoding, "aGVsb", "hel", 1},
		{"base64 with a pad too few", base64Encoding, "YQ=", "a", 0},
		{"base64 of pads", base64Encoding, "====", "", 1},
		{"base64 pad behind one character", base64Encoding, "a=", "", 1},
		{"base64 with blanks", base64Encoding, " a G\tV\rs ", "hel", 0},
		{"base64 of nothing", base64Encoding, "", "", 0},
		{"escapes", quotedPrintable, "=41=c3=A9=3D", "Aé=", 0},
		{"soft breaks", quotedPrintable, "a=\r\nb=\nc=", "abc", 0},
		{"soft break with blanks", quotedPrintable, "a= \t\r\nb", "ab", 0},
		{"blanks at line ends", quotedPrintable, "a \t\r\nb \nc ", "a\r\nb\nc", 0},
		{"blanks inside", quotedPrintable, "a \t b", "a \t b", 0},
		{"escaped blank at a line end", quotedPrintable, "a=20\r\nb=09 \r\n", "a \r\nb\t\r\n", 0},
		{"bad escapes", quotedPrintable, "a=ZZ=4=", "a=ZZ=4", 2},
		{"bad escape before blanks", quotedPrintable, "a=  b", "a=  b", 1},
		{"two equals signs", quotedPrintable, "==41", "=A", 1},
		{"bare CR", quotedPrintable, "a \rb=\rc", "a \rb=\rc", 1},
		{"raw high octets", quotedPrintable, "\xc3\xa9", "\xc3\xa9", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got, bad := decodeString(t, c.in, c.encoding); got != c.want || bad != c.bad {
				t.Errorf("got %q and %d, want %q and %d", got, bad, c.want, c.bad)
			}
		})
	}
}

// White space that was added on the way decides nothing, however long it is.
func TestQuotedPrintableLongBlanks(t *testing.T) {
	for _, n := range []int{4000, 4096, 8190, 8192, 8193, 20000} {
		blanks := strings.Repeat(" \t", n/2)
		for in, want := range map[string]string{
			"a" + blanks + "\r\nb":  "a\r\nb",
			"a=" + blanks + "\r\nb": "ab",
			"a" + blanks + "b":      "a" + blanks + "b",
			"a" + blanks:            "a",
		} {
			if got, bad := decodeString(t, in, quotedPrintable); got != want || bad != 0 {
				t.Errorf("%d blanks: %d octets and %d bad, want %d", n, len(got), bad, len(want))
			}
		}
	}
}

func TestTransferProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		original := rapid.SliceOfN(rapid.Byte(), 0, 200).Draw(t, "octets")
		encoded := base64.StdEncoding.EncodeToString(original)
		at := rapid.IntRange(0, len(encoded)).Draw(t, "fold")
		if got, bad := decodeString(t, encoded[:at]+"\r\n"+encoded[at:], base64Encoding); got != string(original) || bad != 0 {
			t.Fatalf("base64 gave %q and %d, want %q", got, bad, original)
		}
		var out bytes.Buffer
		w := quotedprintable.NewWriter(&out)
		w.Binary = true
		if _, err := w.Write(original); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if got, bad := decodeString(t, out.String(), quotedPrintable); got != string(original) || bad != 0 {
			t.Fatalf("quoted-printable gave %q and %d, want %q", got, bad, original)
		}
	})
}

func TestParseTransfer(t *testing.T) {
	for in, want := range map[string]transfer{
		" 7bit": identity, " 8BIT ": identity, " binary": identity, " Base64": base64Encoding,
		" quoted-printable": quotedPrintable, " base64 (x)": base64Encoding,
		"": unknownTransfer, " 7bit, base64": unknownTransfer, " base64;": unknownTransfer,
		" x-uuencode": unknownTransfer, " base64 (": unknownTransfer, " base 64": unknownTransfer,
	} {
		if got := parseTransfer(in); got != want {
			t.Errorf("%q: %d, want %d", in, got, want)
		}
	}
}
