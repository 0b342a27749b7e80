package e2e

import (
	"strings"
	"testing"

	"stile/tests/rig"
)

// testShapes sends mail as large providers write and sign it: accepted, and
// the text shown in full.
func testShapes(t *testing.T) {
	w := begin(t, "")
	for _, s := range []struct {
		name string
		raw  string
		sign []func(*rig.Signing)
		body string // what the fence shows
		not  string // what it does not show
		flag string // one of the verdict's flags, "" for none
	}{
		{
			name: "simple, odd white space, folds, tabs",
			raw: "From:  \t Friend   <friend@example.org>  \r\n" +
				"To:shopping@estate.example\r\n" +
				"Subject:\tgroceries \r\n\t for\t the  week \r\n" +
				"X-Empty:\r\n" +
				"X-Blank: \r\n" +
				"Date:   " + date() + "\r\n" +
				"Content-Type:\ttext/plain;\r\n\tcharset=utf-8 \r\n" +
				"\r\n" +
				"eggs \t\r\n.\r\n..two dots\r\n\r\n",
			sign: []func(*rig.Signing){canon("simple/simple"), headers("From", "To", "Subject", "X-Empty", "X-Blank", "Date", "Content-Type")},
			body: "Subject: groceries \t for\t the  week\neggs \t\n.\n..two dots",
		},
		{
			name: "Microsoft 365",
			raw: "From: Friend <friend@example.org>\r\n" +
				"To: \"shopping@estate.example\" <shopping@estate.example>\r\n" +
				"Subject: groceries\r\n" +
				"Thread-Topic: groceries\r\n" +
				"Date: " + date() + "\r\n" +
				"Message-ID: <AM0PR08MB1234@AM0PR08MB1234.eurprd08.prod.example.org>\r\n" +
				"Accept-Language: en-GB, en-US\r\n" +
				"Content-Language: en-GB\r\n" +
				"X-MS-Has-Attach:\r\n" +
				"Content-Type: multipart/alternative;\r\n\tboundary=\"_000_AM0PR08MB1234_\"\r\n" +
				"MIME-Version: 1.0\r\n" +
				"\r\n" +
				"--_000_AM0PR08MB1234_\r\n" +
				"Content-Type: text/plain; charset=\"iso-8859-1\"\r\n" +
				"Content-Transfer-Encoding: quoted-printable\r\n" +
				"\r\n" +
				"caf=E9 cr=E8me\r\n" +
				"--_000_AM0PR08MB1234_\r\n" +
				"Content-Type: text/html; charset=\"iso-8859-1\"\r\n" +
				"Content-Transfer-Encoding: quoted-printable\r\n" +
				"\r\n" +
				"<html><body>the html</body></html>\r\n" +
				"--_000_AM0PR08MB1234_--\r\n",
			sign: []func(*rig.Signing){undated, selector("selector1"), headers("From", "Date", "Subject", "Message-ID",
				"Content-Type", "MIME-Version", "X-MS-Exchange-SenderADCheck")},
			body: "Subject: groceries\ncafé crème",
			not:  "the html",
			flag: "to-unsigned",
		},
		{
			name: "Gmail",
			raw: "MIME-Version: 1.0\r\n" +
				"From: Friend <friend@example.org>\r\n" +
				"Date: " + date() + "\r\n" +
				"Message-ID: <CAF=4x8n0Z@mail.example.org>\r\n" +
				"Subject: groceries\r\n" +
				"To: shopping@estate.example\r\n" +
				"Content-Type: multipart/alternative; boundary=\"000000000000a1b2c3\"\r\n" +
				"\r\n" +
				"--000000000000a1b2c3\r\n" +
				"Content-Type: text/plain; charset=\"UTF-8\"\r\n" +
				"Content-Transfer-Encoding: base64\r\n" +
				"\r\n" +
				"ZWdncyDwn6WaDQptaWxrDQo=\r\n" +
				"--000000000000a1b2c3\r\n" +
				"Content-Type: text/html; charset=\"UTF-8\"\r\n" +
				"\r\n" +
				"<div dir=\"ltr\">the html</div>\r\n" +
				"--000000000000a1b2c3--\r\n",
			sign: []func(*rig.Signing){selector("20230601"), headers("To", "Subject", "Message-ID", "Date", "From",
				"MIME-Version", "From", "To", "Cc", "Subject", "Date", "Message-ID", "Reply-To")},
			body: "Subject: groceries\neggs 🥚\nmilk",
			flag: "structure-unsigned",
		},
		{
			name: "Apple Mail",
			raw: "From: Friend <friend@example.org>\r\n" +
				"Content-Type: multipart/mixed;\r\n\tboundary=\"Apple-Mail=_5D1F\"\r\n" +
				"Mime-Version: 1.0 (Mac OS X Mail 16.0 \\(3731.700.6\\))\r\n" +
				"Subject: groceries\r\n" +
				"Message-Id: <5D1F0C3E@example.org>\r\n" +
				"Date: " + date() + "\r\n" +
				"To: shopping@estate.example\r\n" +
				"X-Mailer: Apple Mail (2.3731.700.6)\r\n" +
				"\r\n\r\n" +
				"--Apple-Mail=_5D1F\r\n" +
				"Content-Transfer-Encoding: 7bit\r\n" +
				"Content-Type: text/plain;\r\n\tcharset=us-ascii\r\n" +
				"\r\n" +
				"before the picture\r\n\r\n" +
				"--Apple-Mail=_5D1F\r\n" +
				"Content-Disposition: inline;\r\n\tfilename=fridge.png\r\n" +
				"Content-Type: image/png;\r\n\tname=\"fridge.png\"\r\n" +
				"Content-Transfer-Encoding: base64\r\n" +
				"\r\n" +
				"iVBORw0KGgo=\r\n" +
				"--Apple-Mail=_5D1F\r\n" +
				"Content-Transfer-Encoding: 7bit\r\n" +
				"Content-Type: text/plain;\r\n\tcharset=us-ascii\r\n" +
				"\r\n" +
				"after the picture\r\n\r\n" +
				"--Apple-Mail=_5D1F--\r\n",
			sign: []func(*rig.Signing){selector("sig1"), headers("From", "Content-Type", "Mime-Version", "Subject",
				"Message-Id", "Date", "To")},
			body: "Subject: groceries\nbefore the picture\nafter the picture",
			not:  "fridge.png",
		},
	} {
		t.Run(strings.ReplaceAll(s.name, " ", "-"), func(t *testing.T) {
			for _, sel := range []string{"selector1", "20230601", "sig1"} {
				w.DNS.SetTXT(sel+"._domainkey.example.org", key().Record)
			}
			raw := w.sign(s.raw, s.sign...)
			w.settled(w.send(friend, raw, shopping).Data)
			got := w.read("shopping", "shopping")
			chunks, err := w.dial().SendChunks(friend, shopping, raw, 333)
			w.do(err)
			w.settled(chunks)
			if again := w.read("shopping", "shopping"); again.body() != got.body() {
				t.Errorf("by BDAT the fence shows\n%q", again.body())
			}
			if got.body() != s.body {
				t.Errorf("the fence shows\n%q\nwant\n%q", got.body(), s.body)
			}
			if got.verdict.Text != "full" {
				t.Errorf("text=%s, want full", got.verdict.Text)
			}
			if s.not != "" && strings.Contains(got.text, s.not) {
				t.Errorf("the fence shows %q:\n%s", s.not, got.text)
			}
			if s.flag != "" && !strings.Contains(got.raw, s.flag) {
				t.Errorf("no flag %s in\n%s", s.flag, got.raw)
			}
		})
	}
}

func canon(c string) func(*rig.Signing)    { return func(s *rig.Signing) { s.Canon = c } }
func selector(n string) func(*rig.Signing) { return func(s *rig.Signing) { s.Selector = n } }
func undated(s *rig.Signing)               { s.Undated = true }
