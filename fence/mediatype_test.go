package fence

import (
	"mime"
	"testing"

	"pgregory.net/rapid"
)

func TestParseMediaType(t *testing.T) {
	for in, want := range map[string]string{
		"text/plain":                   "text/plain",
		" TEXT/HTML ; charset=utf-8":   "text/html",
		"\ttext (a (b) \\) c) / plain": "text/plain",
		"multipart/mixed; boundary=b":  "multipart/mixed",
		"text/html; charset":           "text/html", // bad parameters: HTML stays HTML
		"text/html; charset=\"utf-8":   "text/html",
		"application/pdf; name=a b":    "application/pdf",
		"":                             "text/plain",
		"text":                         "text/plain",
		"text/":                        "text/plain",
		"/html":                        "text/plain",
		"te xt/html":                   "text/plain",
		"text/html (":                  "text/plain",
		"=?utf-8?q?text/html?=":        "text/plain",
		"text\u00a0/html":              "text/plain",
	} {
		if got := parseMediaType(in); got.major+"/"+got.minor != want {
			t.Errorf("%q: %s/%s, want %s", in, got.major, got.minor, want)
		}
	}
}

func TestBoundary(t *testing.T) {
	for in, want := range map[string]string{
		"multipart/mixed; boundary=b":                          "b",
		"multipart/mixed; BOUNDARY=\"b c\\\"d\"":               "",
		"multipart/mixed; boundary=\"b\\1\"":                   "b1",
		"multipart/mixed; boundary=\"b;1\"":                    "b;1",
		"multipart/mixed; boundary=----=_Part_1/:?":            "----=_Part_1/:?",
		"multipart/mixed;; ; boundary=b ;":                     "b",
		"multipart/mixed; boundary=b (comment)":                "b",
		"multipart/mixed; (c) boundary (c) = (c) b":            "b",
		"multipart/mixed; boundary*0=b; boundary*1=1":          "b1",
		"multipart/mixed; boundary*1=1; boundary*0=b":          "b1",
		"multipart/mixed; boundary*=utf-8'en'b%31":             "b1",
		"multipart/mixed; boundary*0*=''b%31; boundary*1*=%32": "b12",
		"multipart/mixed":                                      "",
		"multipart/mixed; boundary=":                           "",
		"multipart/mixed; boundary=\"\"":                       "",
		"multipart/mixed; boundary=\"a b\"":                    "",
		"multipart/mixed; boundary=\" \"":                      "",
		"multipart/mixed; boundary=\"a\tb\"":                   "",
		"multipart/mixed; boundary*=''a%20b":                   "",
		"multipart/mixed; boundary=b1; boundary=b2":            "",
		"multipart/mixed; boundary=b; Boundary=b":              "",
		"multipart/mixed; boundary=b2; boundary*0=b1":          "",
		"multipart/mixed; boundary*=''b; boundary=b":           "",
		"multipart/mixed; boundary*0=b; boundary*0=c":          "",
		"multipart/mixed; boundary*1=b":                        "",
		"multipart/mixed; boundary*x=b":                        "",
		"multipart/mixed; boundary*=b":                         "",
		"multipart/mixed; boundary*=''%4":                      "",
		"multipart/mixed; boundary*=''%zz":                     "",
		"multipart/mixed; boundary=b; x":                       "",
		"multipart/mixed; boundary=b x=y":                      "",
		"multipart/mixed; boundary=\"b":                        "",
		"multipart/mixed; boundary=b; x=\"" + "unended":        "",
		"multipart/mixed; boundary=b; (unended":                "",
		"multipart/mixed boundary=b":                           "",
		"multipart/mixed; boundary*99999999999999999999=b":     "",
	} {
		if got := parseMediaType(in).boundary(); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestParseDisposition(t *testing.T) {
	for in, want := range map[string]bool{
		"inline": true, " INLINE ; filename=x": true, "inline (c)": true, "(c) inline": true,
		"attachment": false, "": false, "inlined": false, "inline x": false,
		"=?utf-8?Q?inline?=": false, "inline (": true, "form-data; inline": false, "\"inline\"": false,
	} {
		if got := parseDisposition(in); got != want {
			t.Errorf("%q: %v, want %v", in, got, want)
		}
	}
}

// What the standard library writes is read back.
func TestMediaTypeAgreesWithMime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.StringMatching(`[!-~ ]{1,40}`).Draw(t, "value")
		text := mime.FormatMediaType("text/plain", map[string]string{"charset": value})
		got, there := parseMediaType(text).parameters.get("charset")
		if there != single || got != value {
			t.Fatalf("%q: %q (%d), want %q", text, got, there, value)
		}
	})
}

func FuzzMediaType(f *testing.F) {
	f.Add("multipart/mixed; boundary*0*=''b%31; boundary*1=\"\\1\" (c)")
	f.Fuzz(func(t *testing.T, s string) {
		m := parseMediaType(s)
		if m.major == "" || m.minor == "" {
			t.Fatal("no type")
		}
		// A second reading of every parameter gives none.
		if _, there := parseMediaType(s + ";boundary=b;boundary=b").parameters.get("boundary"); there == single {
			t.Fatal("a doubled boundary was taken")
		}
	})
}
