package main

import (
	"fmt"
	"strings"

	"stile/tests/corpus"
	"stile/tests/signed"
	"stile/verdict"
)

// parts are bodies that readers take apart in different ways, after "Inbox
// Invasion" (Zhang and others, 2024): what is shown is what every one of stile's
// rules allows, and where the structure is in doubt nothing is.
func parts() []recipe {
	const none = "body not shown: no plain-text part"
	show := func(name, what, contentType, text string, keys corpus.Rendering) recipe {
		return message("accept/mime-"+name, what, "readers take it apart in different ways", set("Content-Type", contentType), body(text), set("Content-Transfer-Encoding", "8bit")).
			with(corpus.Keys{Rendering: keys})
	}
	sees := func(what ...string) corpus.Rendering {
		return corpus.Rendering{Contains: what, NotContains: []string{"hidden"}}
	}
	nothing := func(remark string) corpus.Rendering {
		return corpus.Rendering{NoText: true, Remarks: &[]string{remark}}
	}
	part := func(header, text string) string { return "--b\r\n" + header + "\r\n" + text + "\r\n" }
	const mixed, last, plain = "multipart/mixed; boundary=b", "--b--\r\n", "Content-Type: text/plain\r\n"
	nested := func(levels int) string {
		var b strings.Builder
		for i := range levels {
			fmt.Fprintf(&b, "--b%d\r\nContent-Type: multipart/mixed; boundary=b%d\r\n\r\n", i, i+1)
		}
		fmt.Fprintf(&b, "--b%d\r\n\r\ninnermost\r\n", levels)
		for i := levels; i >= 0; i-- {
			fmt.Fprintf(&b, "--b%d--\r\n", i)
		}
		return b.String()
	}
	// mended is a part whose header Postfix mends or cuts, which breaks the
	// signature.
	mended := func(r recipe) recipe {
		r.keys.Postfix = "refuse/bad-signature"
		return r
	}
	return []recipe{
		show("boundary-twice", "two boundary parameters", "multipart/mixed; boundary=b; boundary=c", part(plain, "hidden")+last, nothing(none)),
		show("boundary-none", "no boundary", "multipart/mixed", part(plain, "hidden")+last, nothing(none)),
		show("boundary-empty", "an empty boundary", `multipart/mixed; boundary=""`, "--\r\n\r\nhidden\r\n----\r\n", nothing(none)),
		show("boundary-space", "a boundary with white space in it", `multipart/mixed; boundary="b c"`, "--b c\r\n\r\nhidden\r\n--b c--\r\n", nothing(none)),
		show("boundary-quoted", "a quoted boundary", `multipart/mixed; boundary="b"`, part(plain, "Hello")+last, sees("Hello")),
		show("boundary-comment", "a comment behind the boundary", "multipart/mixed; boundary=b (c)", part(plain, "Hello")+last, sees("Hello")),
		show("boundary-upper-case", "the boundary in another case", mixed, part(plain, "Hello")+"--B\r\n\r\nhello too\r\n"+last, sees("Hello", "--B", "hello too")),
		show("boundary-prefix", "an inner boundary that begins with the outer one", mixed,
			part("Content-Type: multipart/mixed; boundary=bb\r\n", "--bb\r\n\r\nHello\r\n--bb--")+last, sees("Hello")),
		show("boundary-same", "an inner multipart with the outer boundary", mixed, part("Content-Type: multipart/mixed; boundary=b\r\n", "")+part(plain, "Hello")+last, sees("Hello")),
		show("delimiter-white-space", "white space behind a delimiter", mixed, "--b \t\r\n\r\nHello\r\n--b-- \r\n", sees("Hello")),
		show("delimiter-text", "text behind a delimiter", mixed, part(plain, "Hello")+"--b text\r\n\r\nhello too\r\n"+last, sees("Hello", "--b text")),
		show("delimiter-indented", "white space before a delimiter", mixed, part(plain, "Hello")+" --b\r\nhello too\r\n"+last, sees("Hello", " --b")),
		show("no-closing", "no closing delimiter", mixed, part(plain, "Hello"), sees("Hello")),
		show("preamble", "text before the first delimiter", mixed, "hidden\r\n"+part(plain, "Hello")+last, sees("Hello")),
		show("epilogue", "a part behind the closing delimiter", mixed, part(plain, "Hello")+last+part(plain, "hidden")+last, sees("Hello")),
		show("no-parts", "a multipart without parts", mixed, "hidden\r\n", nothing(none)),
		show("no-header", "a part without a header", mixed, "--b\r\n\r\nHello\r\n"+last, sees("Hello")),
		show("header-malformed", "a part with a line that is no field", mixed, "--b\r\nno field\r\n\r\nhidden\r\n"+part(plain, "Hello")+last, sees("Hello")),
		show("header-folded-first", "a part whose header begins with a continuation", mixed, "--b\r\n x\r\n\r\nhidden\r\n"+part(plain, "Hello")+last, sees("Hello")),
		show("header-blank-fold", "a part with a continuation of white space", mixed, part("Content-Type: text/plain;\r\n \r\n charset=utf-8\r\n", "hidden")+part(plain, "Hello")+last, sees("Hello")),
		mended(show("header-space-colon", "a part with white space before a colon", mixed, part("Content-Type : text/html\r\n", "hidden")+part(plain, "Hello")+last, sees("Hello"))),
		mended(show("header-bare-cr", "a part with a bare CR in a field", mixed, part("Content-Type: text/plain\rX: y\r\n", "hidden")+part(plain, "Hello")+last, sees("Hello"))),
		show("type-twice", "a part with two types", mixed, part("Content-Type: text/plain\r\nContent-Type: text/html\r\n", "hidden")+part(plain, "Hello")+last, sees("Hello")),
		show("type-twice-same", "a part with one type twice", mixed, part(plain+plain, "hidden")+part(plain, "Hello")+last, sees("Hello")),
		show("encoding-twice", "a part with two encodings", mixed, part(plain+"Content-Transfer-Encoding: base64\r\nContent-Transfer-Encoding: 7bit\r\n", "aGlkZGVu")+part(plain, "Hello")+last, sees("Hello")),
		show("encoding-twice-same", "a part with one encoding twice", mixed, part(plain+"Content-Transfer-Encoding: 7bit\r\nContent-Transfer-Encoding: 7bit\r\n", "Hello")+last, sees("Hello")),
		show("disposition-twice", "a part with two dispositions", mixed, part(plain+"Content-Disposition: inline\r\nContent-Disposition: attachment\r\n", "hidden")+part(plain, "Hello")+last, sees("Hello")),
		show("disposition-odd", "a part with a disposition that nobody knows", mixed, part(plain+"Content-Disposition: inlined\r\n", "hidden")+part(plain, "Hello")+last, sees("Hello")),
		show("attachment", "a plain-text attachment", mixed, part(plain, "Hello")+part(plain+"Content-Disposition: attachment; filename=x.txt\r\n", "hidden")+last, sees("Hello")),
		show("attachment-alone", "a plain-text attachment alone", mixed, part(plain+"Content-Disposition: attachment\r\n", "hidden")+last, nothing(none)),
		show("message", "an attached message", mixed, part(plain, "Hello")+part("Content-Type: message/rfc822\r\n", "Subject: x\r\n\r\nhidden")+last, sees("Hello")),
		show("message-partial", "a fragment of a message", "message/partial; id=x; number=1", "hidden\r\n", nothing(none)),
		show("message-external", "a body that lies elsewhere", "message/external-body; access-type=url", "Content-Type: text/plain\r\n\r\nhidden\r\n", nothing(none)),
		show("alternative", "the second text of an alternative", "multipart/alternative; boundary=b", part(plain, "Hello")+part(plain, "hidden")+last, sees("Hello")),
		show("alternative-html", "the HTML of an alternative", "multipart/alternative; boundary=b", part(plain, "Hello")+part("Content-Type: text/html\r\n", "<p>hidden</p>")+last, sees("Hello")),
		show("html", "HTML alone", "text/html", "<p>hidden</p>\r\n", nothing(none)),
		show("digest", "a digest, whose parts are messages unless they say otherwise", "multipart/digest; boundary=b", "--b\r\n\r\nSubject: x\r\n\r\nhidden\r\n"+last, nothing(none)),
		show("related", "text and a picture", "multipart/related; boundary=b", part(plain, "Hello")+part("Content-Type: image/png\r\nContent-Transfer-Encoding: base64\r\n", "aGlkZGVu")+last, sees("Hello")),
		show("two-texts", "two plain texts", mixed, part(plain, "Hello")+part(plain, "Bye")+last, corpus.Rendering{Contains: []string{"Hello", "Bye"}, Remarks: &[]string{"next text part"}}),
		show("type-invalid", "a type that is no type", "text", "Hello\r\n", sees("Hello")),
		show("type-html-mangled", "HTML with parameters that nobody can read", "text/html; ;;=x", "<p>hidden</p>\r\n", nothing(none)),
		show("charset-twice", "two charsets", "text/plain; charset=utf-8; charset=utf-7", "caf\u00e9 +AGg-\r\n", corpus.Rendering{Contains: []string{`caf\x{C3}\x{A9} +AGg-`}, Remarks: &[]string{"charset not known: bytes shown"}}),
		show("charset-unknown", "a charset that nobody knows", "text/plain; charset=x-none", "caf\u00e9\r\n", corpus.Rendering{Contains: []string{`caf\x{C3}\x{A9}`}, Remarks: &[]string{"charset not known: bytes shown"}}),
		show("charset-utf-7", "UTF-7", "text/plain; charset=utf-7", "+AGgAaQBkAGQAZQBu-\r\n", corpus.Rendering{Contains: []string{"+AGg"}, NotContains: []string{"hidden"}, Remarks: &[]string{"charset not known: bytes shown"}}),
		show("charset-ascii-high", "octets over 127 in us-ascii", "text/plain; charset=us-ascii", "caf\xe9\r\n", corpus.Rendering{Contains: []string{`caf\x{E9}`}}),
		inBase64(show("encoding-on-multipart", "an encoding on a multipart", mixed, part(plain, "Hello")+last, sees("Hello"))),
		show("encoding-on-inner-multipart", "an encoding on an inner multipart", mixed, part("Content-Type: multipart/mixed; boundary=c\r\nContent-Transfer-Encoding: base64\r\n", "--c\r\n\r\nHello\r\n--c--")+last, sees("Hello")),
		show("message-alone", "a message in the message", "message/rfc822", "Subject: x\r\n\r\nhidden\r\n", nothing(none)),
		show("charset-utf-16-bare", "UTF-16 without a transfer encoding", "text/plain; charset=utf-16", "Hi\r\n", corpus.Rendering{Contains: []string{"Hi"}, Remarks: &[]string{"charset not known: bytes shown"}}),
		show("pkcs7-enveloped", "an S/MIME message that is encrypted", "application/pkcs7-mime; smime-type=enveloped-data", "hidden\r\n", nothing("body not shown: encrypted")),
		show("pkcs7-signed", "an S/MIME message that is signed", "application/pkcs7-mime; smime-type=signed-data", "hidden\r\n", nothing(none)),
		show("nested-alternative", "an alternative in a mixed, with a text behind it", mixed, part("Content-Type: multipart/alternative; boundary=c\r\n", "--c\r\n\r\nHello\r\n--c\r\n\r\nhidden\r\n--c--")+part(plain, "Bye")+last, corpus.Rendering{Contains: []string{"Hello", "Bye"}, NotContains: []string{"hidden"}, Remarks: &[]string{"next text part"}}),
		show("encrypted", "an encrypted message", `multipart/encrypted; protocol="application/pgp-encrypted"; boundary=b`, part("Content-Type: application/pgp-encrypted\r\n", "Version: 1")+part("Content-Type: application/octet-stream\r\n", "hidden")+last, nothing("body not shown: encrypted")),
		show("signed", "a signed message, whose signature is a part", `multipart/signed; protocol="application/pgp-signature"; boundary=b`, part(plain, "Hello")+part("Content-Type: application/pgp-signature\r\n", "hidden")+last, sees("Hello")),
		show("levels-50", "50 levels of multipart", "multipart/mixed; boundary=b0", nested(49), sees("innermost")),
		show("levels-51", "51 levels of multipart", "multipart/mixed; boundary=b0", nested(50), nothing("body not shown: over limits")),
		show("parts-1000", "1,000 parts", mixed, strings.Repeat("--b\r\n\r\nx\r\n", 1000)+last, corpus.Rendering{Contains: []string{"x"}}),
		show("parts-1001", "1,001 parts", mixed, strings.Repeat("--b\r\n\r\nx\r\n", 1001)+last, nothing("body not shown: over limits")),
		mended(show("part-header-64k", "a part's header of 64 KiB", mixed, part(longField("X-Long", 64<<10), "Hello")+last, sees("Hello"))),
		mended(show("part-header-64k-and-one", "a part's header of 64 KiB and an octet", mixed, part(longField("X-Long", 64<<10+1), "hidden")+last, nothing("body not shown: over limits"))),
	}
}

// inBase64 says that a message is in base64.
func inBase64(r recipe) recipe {
	r.edits = append(r.edits, set("Content-Transfer-Encoding", "base64"))
	return r
}

// encodings are transfer encodings that decoders read in different ways.
func encodings() []recipe {
	show := func(name, what, encoding, text string, keys corpus.Rendering) recipe {
		return message("accept/encoding-"+name, what, "decoders read it in different ways", set("Content-Transfer-Encoding", encoding), body(text)).
			with(corpus.Keys{Rendering: keys})
	}
	odd := []string{"bad-encoding"}
	undecoded := corpus.Rendering{NoText: true, Remarks: &[]string{"body not shown: not decodable"}}
	return []recipe{
		show("base64", "base64", "base64", "SGVsbG8gYWdlbnQ=\r\n", corpus.Rendering{Contains: []string{"Hello agent"}}),
		show("base64-junk", "foreign characters in base64", "base64", "SGVs*bG8g!YWdlbnQ=\r\n", corpus.Rendering{Contains: []string{"Hello agent"}, Hidden: odd}),
		show("base64-two-runs", "text behind the padding of base64", "base64", "SGVsbG8=IGFnZW50\r\n", corpus.Rendering{Contains: []string{"Hello agent"}}),
		show("base64-cut", "base64 that is cut", "base64", "SGVsbG8gYWdlbn\r\n", corpus.Rendering{Contains: []string{"Hello agen"}, Hidden: odd}),
		show("base64-upper-case", "BASE64", "BASE64", "SGVsbG8=\r\n", corpus.Rendering{Contains: []string{"Hello"}}),
		show("base64-comment", "a comment behind base64", "base64 (x)", "SGVsbG8=\r\n", corpus.Rendering{Contains: []string{"Hello"}}),
		show("base64-parameter", "a parameter behind base64", "base64; x=y", "SGVsbG8=\r\n", undecoded),
		show("base64-quoted", "base64 in quotes", `"base64"`, "SGVsbG8=\r\n", undecoded),
		show("list", "two encodings in one field", "base64, 7bit", "SGVsbG8=\r\n", undecoded),
		show("uuencode", "an encoding of old", "x-uuencode", "begin 644 x\r\n`\r\nend\r\n", undecoded),
		show("empty", "an empty encoding", "", "SGVsbG8=\r\n", undecoded),
		show("qp", "quoted-printable", "quoted-printable", "Hello =C3=A9gent=\r\n, bye\r\n", corpus.Rendering{Contains: []string{"Hello \u00e9gent, bye"}}),
		show("qp-lower-case", "quoted-printable in lower case", "quoted-printable", "caf=c3=a9\r\n", corpus.Rendering{Contains: []string{"caf\u00e9"}}),
		show("qp-bad", "an = that begins nothing", "quoted-printable", "1+1=2 =ZZ\r\n", corpus.Rendering{Contains: []string{"1+1=2 =ZZ"}, Hidden: odd}),
		show("qp-control", "a control character in quoted-printable", "quoted-printable", "a=00b=1B[2K\r\n", corpus.Rendering{Contains: []string{`a\u{0}b\u{1B}[2K`}, Hidden: []string{"control"}}),
		show("qp-line-end", "a line end in quoted-printable", "quoted-printable", "a=0D=0Ab\r\n", corpus.Rendering{Contains: []string{"a", "b"}}),
		utf16(show("utf-16-low-alone", "UTF-16 in base64 with half a pair, and half a unit at the end", "base64", "SABpAADcaABp\r\n", corpus.Rendering{Contains: []string{`Hi\x{00}\x{DC}h\x{69}`}, Hidden: []string{"invalid-utf8"}})),
		utf16(show("utf-16", "UTF-16 in base64", "base64", "//5IAGUAbABsAG8ADQAKAA==\r\n", corpus.Rendering{Contains: []string{"Hello"}})),
	}
}

// utf16 makes a message's charset UTF-16.
func utf16(r recipe) recipe {
	r.edits = append(r.edits, set("Content-Type", "text/plain; charset=utf-16"))
	return r
}

// coverages are messages of which the signature leaves a part of the structure
// out, though nothing was changed.
func coverages() []recipe {
	open := uncovered("content-type", "content-transfer-encoding")
	show := func(name, what string, keys corpus.Rendering, edits ...edit) recipe {
		return message("accept/unsigned-"+name, what, "each field that is not signed must be certain", append([]edit{open}, edits...)...).
			with(corpus.Keys{Rendering: keys})
	}
	sure := corpus.Rendering{Contains: []string{"Hello"}, Remarks: &[]string{}}
	unsure := corpus.Rendering{NoText: true, Remarks: &[]string{"body not shown: unsigned structure"}}
	as := func(contentType, encoding string) edit {
		return func(l *letter) error {
			if err := set("Content-Type", contentType)(l); err != nil {
				return err
			}
			return set("Content-Transfer-Encoding", encoding)(l)
		}
	}
	const mixed = "multipart/mixed; boundary=b"
	return []recipe{
		show("text", "plain text", sure),
		show("text-none", "plain text, and no field of MIME", sure, without("Content-Type", "Content-Transfer-Encoding", "MIME-Version"), uncovered("mime-version")),
		show("text-delimiters", "text that holds a delimiter and its closing one", unsure, body("Hello\r\n--b\r\n\r\nx\r\n--b--\r\n")),
		show("text-dashes", "text with lines of dashes", sure, body("Hello\r\n-- \r\nAlice\r\n---\r\n----\r\n")),
		show("text-html", "text that holds HTML", unsure, body("Hello <DIV>x\r\n")),
		show("text-latin-1", "text that is not valid in its charset", unsure, body("Hello caf\xe9\r\n")),
		show("text-charset", "text in another charset than us-ascii and utf-8", unsure, as("text/plain; charset=iso-8859-1", "7bit")),
		show("text-equals", "text that holds an escape of quoted-printable", unsure, body("Hello caf=C3=A9\r\n")),
		show("text-equals-plain", "text with an = that is no escape", sure, body("Hello 1+1=2\r\n")),
		show("text-base64", "text that is base64", unsure, body("SGVsbG8gYWdlbnQsIGhlbGxvIQ==\r\n")),
		show("base64", "base64", sure, as("text/plain; charset=utf-8", "base64"), body("SGVsbG8gYWdlbnQsIGhlbGxvIQ==\r\n")),
		show("base64-short", "base64 of fewer than 24 characters", unsure, as("text/plain; charset=utf-8", "base64"), body("SGVsbG8gYWdlbnQ=\r\n")),
		show("base64-junk", "base64 with a foreign character", unsure, as("text/plain; charset=utf-8", "base64"), body("SGVsbG8gYWdlbnQsIGhlbGxv*IQ==\r\n")),
		show("base64-control", "base64 of a control character", unsure, as("text/plain; charset=utf-8", "base64"), body("SGVsbG8gYWdlbnQsIGhlbGxvIRs=\r\n")),
		show("qp", "quoted-printable", sure, as("text/plain; charset=utf-8", "quoted-printable"), body("Hello caf=C3=A9=\r\n, bye=20\r\n")),
		show("qp-ascii", "quoted-printable with an escape of a letter", unsure, as("text/plain; charset=utf-8", "quoted-printable"), body("=48ello\r\n")),
		show("qp-bad", "quoted-printable with an = that begins nothing", unsure, as("text/plain; charset=utf-8", "quoted-printable"), body("Hello =ZZ\r\n")),
		show("qp-latin-1", "quoted-printable that is not valid in its charset", unsure, as("text/plain; charset=utf-8", "quoted-printable"), body("Hello caf=E9\r\n")),
		show("multipart", "a multipart", sure, set("Content-Type", mixed), body("--b\r\n\r\nHello\r\n--b--\r\n")),
		show("multipart-preamble", "a multipart with text before the first delimiter", sure, set("Content-Type", mixed), body("This is MIME.\r\n\r\n--b\r\n\r\nHello\r\n--b--\r\n")),
		show("multipart-other-first", "a multipart whose first delimiter is another", unsure, set("Content-Type", mixed), body("--c\r\n--b\r\n\r\nHello\r\n--b--\r\n")),
		show("multipart-other-last", "a multipart whose last line is another", unsure, set("Content-Type", mixed), body("--b\r\n\r\nHello\r\n--b--\r\nx\r\n")),
		show("multipart-open", "a multipart that is not closed", unsure, set("Content-Type", mixed), body("--b\r\n\r\nHello\r\n")),
		show("alternative", "an alternative, whose subtype anyone can change", corpus.Rendering{Contains: []string{"Hello", "Bye"}}, set("Content-Type", "multipart/alternative; boundary=b"), body("--b\r\n\r\nHello\r\n--b\r\n\r\nBye\r\n--b--\r\n")),
		show("html", "HTML", unsure, set("Content-Type", "text/html")),
		show("disposition", "a disposition, which is not read", sure, add("Content-Disposition: attachment")),
		message("accept/unsigned-encoding-only", "an encoding that is not signed and a type that is", "each field that is not signed must be certain", uncovered("content-transfer-encoding"), set("Content-Transfer-Encoding", "base64")).
			with(corpus.Keys{Rendering: unsure}),
		message("accept/unsigned-type-unknown-encoding", "a type that is not signed, an encoding that is and that nobody knows", "what cannot be decoded cannot be looked at", uncovered("content-type"), set("Content-Transfer-Encoding", "x-none")).
			with(corpus.Keys{Rendering: unsure}),
		message("accept/unsigned-encoding-utf-16", "an encoding that is not signed, a type that is and says UTF-16", "without an encoding the same octets are another text", uncovered("content-transfer-encoding"), set("Content-Type", "text/plain; charset=utf-16")).
			with(corpus.Keys{Rendering: unsure}),
		message("accept/unsigned-encoding-charset", "quoted-printable that is not signed, a type that is and says a charset that nobody knows", "no text can be valid in it", uncovered("content-transfer-encoding"),
			set("Content-Type", "text/plain; charset=x-none"), set("Content-Transfer-Encoding", "quoted-printable"), body("caf=C3=A9\r\n")).
			with(corpus.Keys{Rendering: unsure}),
		message("accept/unsigned-reply-to", "fields that say where an answer goes", "each that is not signed is deleted", add("Reply-To: eve@evil.example", "Sender: eve@evil.example", "List-Unsubscribe: <https://evil.example>")).with(corpus.Keys{Rendering: corpus.Rendering{Flags: []verdict.Flag{verdict.ReplyToRemoved}}}),
		message("accept/two-coverages", "two signatures, the topmost covers less", "what is shown depends on the one that accepts", also(func() signed.Signature {
			s := signature("example.org", "corpus-ed")
			s.Names = []string{"from", "date"}
			return s
		}())).with(corpus.Keys{Rendering: corpus.Rendering{Subject: []byte("null"), Remarks: &[]string{"recipient not signed", "subject not shown: not signed"}}}),
	}
}
