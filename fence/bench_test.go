package fence_test

import (
	"strings"
	"testing"

	"stile/fence"
	"stile/tests/signed"
)

// usualHeader is a header as mail systems make it.
const usualHeader = "To: shopping@estate.example\r\nSubject: groceries\r\n" +
	"Date: Mon, 30 Nov 2026 20:57:13 +0000\r\nMessage-ID: <CAJ1x7d0f3@mail.example.org>\r\nMIME-Version: 1.0\r\n" +
	"User-Agent: Mail 16.0\r\nX-Spam-Status: No, score=-1.1 required=5.0 tests=DKIM_VALID\r\n" +
	"Received: from [192.0.2.7] (client.example.org [192.0.2.7])\r\n\tby mail.example.org (Postfix) with ESMTPSA id 4QfT3z0Kbz1\r\n" +
	"\tfor <shopping@estate.example>; Mon, 30 Nov 2026 20:57:13 +0000 (UTC)\r\nIn-Reply-To: <5f1@estate.example>\r\n"

// BenchmarkRender2KB is the ordinary case: a short text, alone and beside HTML.
func BenchmarkRender2KB(b *testing.B) {
	text := strings.Repeat("two litres of milk, a dozen eggs and bread\r\n", 46)
	for _, c := range []struct{ name, media, body string }{
		{"plain", "text/plain; charset=utf-8", text},
		{"alternative", "multipart/alternative; boundary=b", "--b\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n" + text +
			"\r\n--b\r\nContent-Type: text/html; charset=utf-8\r\n\r\n<html><body><p style=\"margin:0\">" +
			strings.ReplaceAll(text, "\r\n", "<br>\r\n") + "</p></body></html>\r\n--b--\r\n"},
	} {
		b.Run(c.name, func(b *testing.B) {
			a := signed.Accepted(b, signed.Spec{Header: usualHeader + "Content-Type: " + c.media + "\r\n", Body: c.body})
			b.ReportAllocs()
			for b.Loop() {
				if _, err := fence.Render(a); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
