package verdict

import (
	"slices"
	"strings"
)

// Limits on a header. Each is the largest size allowed; sizes count names,
// colons and line ends.
const (
	MaxFields     = 500       // fields in a header
	MaxHeader     = 256 << 10 // octets in a header
	maxField      = 64 << 10  // octets in one field
	maxFieldLines = 4000      // lines in one field
)

// single are the fields that may stand once. All but Content-* and
// MIME-Version (RFC 2045) are RFC 5322, 3.6.
var single = []string{
	"Subject", "To", "Cc", "Bcc", "Date", "Message-ID", "Sender", "Reply-To",
	"In-Reply-To", "References", "MIME-Version", "Content-Type",
	"Content-Transfer-Encoding", "Content-Disposition", "Content-ID", "Content-Description",
}

// repeatable are those of them that careless senders repeat word for word,
// which leaves no doubt about what they say.
var repeatable = []string{
	"MIME-Version", "Content-Transfer-Encoding", "Content-Disposition", "In-Reply-To", "References",
}

func headerSize(header []Field) (n int) {
	for _, f := range header {
		n += f.size()
	}
	return n
}

func (f Field) lines() int { return 1 + strings.Count(f.Value, "\r\n") }

// validFieldName: one or more octets of "!" to "~" but the colon (RFC 5322,
// 3.6.8). White space before the colon, an octet outside ASCII, a letter that
// looks like another: each makes a name that two parsers read as two.
func validFieldName(name string) bool {
	for i := 0; i < len(name); i++ {
		if name[i] < '!' || name[i] > '~' || name[i] == ':' {
			return false
		}
	}
	return name != ""
}

// hasControl reports whether the value has a control character but TAB
// outside its folds: a NUL ends the value for some readers, a bare CR or LF is
// a line end for some.
func (f Field) hasControl() bool {
	v := f.Value
	for i := 0; i < len(v); i++ {
		if strings.HasPrefix(v[i:], "\r\n ") || strings.HasPrefix(v[i:], "\r\n\t") {
			i += 2
			continue
		}
		if v[i] < ' ' && v[i] != '\t' || v[i] == 127 {
			return true
		}
	}
	return false
}

// hasBlankLine reports whether a continuation is white space only, which some
// readers take for the end of the header.
func (f Field) hasBlankLine() bool {
	lines := strings.Split(f.Value, "\r\n")
	return slices.ContainsFunc(lines[1:], func(l string) bool { return strings.Trim(l, " \t") == "" })
}

// repeats reports whether a field that may stand once stands twice.
func repeats(header []Field, name string) bool {
	at := indexes(header, name)
	if len(at) < 2 {
		return false
	}
	if !slices.Contains(repeatable, name) {
		return true
	}
	first := Relaxed(header[at[0]].Value)
	return slices.ContainsFunc(at[1:], func(i int) bool { return Relaxed(header[i].Value) != first })
}

// each calls holds for the value of every field of that name: up to ";",
// comments dropped, folded to lower case, without white space at the ends.
func each(header []Field, name string, holds func(value string) bool) bool {
	for _, i := range indexes(header, name) {
		v, _, _ := strings.Cut(dropComments(unfold(header[i].Value)), ";")
		if holds(strings.Trim(lowerASCII(v), " \t")) {
			return true
		}
	}
	return false
}

func is(want string) func(string) bool    { return func(v string) bool { return v == want } }
func isNot(want string) func(string) bool { return func(v string) bool { return v != want } }

// signers are the domains under which services sign for domains that have no
// key of their own, in the order of SignerClasses.
var signers = []struct {
	class    SignerClass
	suffixes []string
}{
	{"onmicrosoft", []string{"onmicrosoft.com"}},
	{"gappssmtp", []string{"gappssmtp.com"}},
	{"amazonses", []string{"amazonses.com"}},
	{"sendgrid", []string{"sendgrid.net", "sendgrid.info", "sendgrid.me"}},
	{"mailgun", []string{"mailgun.org", "mailgun.net", "mailgun.us"}},
	{"mailchimp", []string{"mailchimpapp.net", "mailchimp.com", "mcsv.net", "mcdlv.net", "rsgsv.net", "mandrillapp.com", "mailchimpapp.com"}},
}

// classify names the topmost service among the signatures' d=.
func classify(header []Field) SignerClass {
	at := indexes(header, "DKIM-Signature")
	if len(at) == 0 {
		return "none"
	}
	for _, i := range at {
		for _, t := range looseTags(header[i].Value) {
			if t.name != "d" {
				continue
			}
			if class, ok := signerOf(lowerASCII(t.value)); ok {
				return class
			}
		}
	}
	return "other"
}

func signerOf(domain string) (SignerClass, bool) {
	for _, s := range signers {
		for _, suffix := range s.suffixes {
			if domain == suffix || strings.HasSuffix(domain, "."+suffix) {
				return s.class, true
			}
		}
	}
	return "", false
}
