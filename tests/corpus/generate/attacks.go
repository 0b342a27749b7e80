package main

import (
	"strings"

	"stile/tests/corpus"
	"stile/tests/signed"
)

// compositions are the messages of "Composition Kills" (Chen, Paxson and Jiang,
// 2020), in its order: components that read one message in two ways. The
// attacker has a domain with a key of its own; what concerns the envelope alone
// (A1, A2, A5 to A7) is judged by what the header says.
func compositions() []recipe {
	paper := func(place, name, what string, edits ...edit) recipe {
		return message(place+"/composition-"+name, what, "Composition Kills, "+strings.ToUpper(name), edits...)
	}
	evil := by("evil.example", "corpus")
	from := func(value string) edit { return line("From", "From:"+value) }
	header := corpus.Keys{Postfix: "refuse/from-count"}
	return []recipe{
		paper("refuse/unsigned", "a1", "the listed address from a server that nobody knows", unsigned),
		paper("refuse/malformed-header", "a3", "a NUL in s=, behind another key's name", tag("s", "s=corpus._domainkey.evil.example.\x00.any")).with(corpus.Keys{Postfix: "refuse/bad-signature"}),
		paper("refuse/misaligned", "a4", "a quote in d=, behind the listed domain", tag("d", "d=example.org'a.evil.example")),
		paper("refuse/from-count", "a8", "two From fields, the listed one last", from(" <first@evil.example>"), evil, add("From: <alice@example.org>")),
		paper("refuse/malformed-header", "a9", "two From fields, white space before the first", top(" From: <first@evil.example>\r\n")).with(header),
		paper("refuse/malformed-header", "a10", "two From fields, white space behind the name of the second", from(" <first@evil.example>"), evil, add("From : <alice@example.org>")).with(header),
		paper("refuse/malformed-header", "a11", "two From fields, the first folded before its colon", top("From\r\n : <first@evil.example>\r\n")).with(header),
		paper("refuse/malformed-header", "a12", "no From but one folded before its colon, and a listed Sender", line("From", "From\r\n : <first@evil.example>"), evil, add("Sender: <alice@example.org>")).with(header),
		paper("refuse/unlisted", "a12-sender", "a stranger's From, and a listed Sender", from(" <first@evil.example>"), evil, add("Sender: <alice@example.org>")),
		paper("refuse/unlisted", "a13", "a stranger's From, and a listed Resent-From", from(" <first@evil.example>"), evil, top("Resent-From: <alice@example.org>\r\n")),
		paper("refuse/address-count", "a14", "two addresses in From", from(" <first@evil.example>, <alice@example.org>"), evil),
		paper("refuse/address-count", "a15", "the listed address in an encoded word, before another", from("=?utf-8?B?PGFsaWNlQGV4YW1wbGUub3JnPg==?=,<second@evil.example>"), evil),
		paper("refuse/from-syntax", "a16", "a route before the listed address", from(" <@evil.example,@any.example:alice@example.org>")),
		paper("refuse/address-count", "a17", "a quoted comma outside quotes", from(` <alice@example.org>\,<second@evil.example>`), evil),
		paper("refuse/address-count", "a18", "a bare address, a comma, and another", from(" alice@example.org,<second@evil.example>"), evil),
		paper("refuse/from-syntax", "a19", "the listed address behind angle brackets", from(" <any@evil.example>alice@example.org"), evil),
		paper("refuse/duplicate-field", "replay", "a signed message with another Subject on top", top("Subject: Pay now\r\n")),
		paper("refuse/length-tag", "replay-length", "a signed message with l=, its body replaced behind that", sign(func(s *signed.Signature) { s.Length = true }), top("Content-Type: multipart/mixed; boundary=b\r\n"), without("Content-Type"), uncovered("content-type"), tail("--b\r\n\r\nPay now\r\n--b--\r\n")),
	}
}

// chains are messages of "Weak Links in Authentication Chains" (Shen and others,
// 2021) that the paper above does not have.
func chains() []recipe {
	from := func(value string) edit { return line("From", "From: "+value) }
	evil := by("evil.example", "corpus")
	bad := func(place, name, what string, edits ...edit) recipe {
		return message("refuse/"+place+"/chain-"+name, what, "Weak Links in Authentication Chains", edits...)
	}
	return []recipe{
		bad("from-syntax", "truncated-nul", "an encoded NUL behind the listed address", from("=?utf-8?q?alice=40example.org=00?=@evil.example"), evil),
		bad("malformed-header", "truncated-raw-nul", "a NUL behind the listed address", from("alice@example.org\x00@evil.example"), evil).with(corpus.Keys{Postfix: "refuse/misaligned"}),
		bad("from-syntax", "truncated-bracket", "a bracket behind the listed address", from("alice@example.org>@evil.example"), evil),
		bad("from-syntax", "truncated-quote", "a quote behind the listed address", from(`alice@example.org"@evil.example`), evil),
		bad("from-syntax", "truncated-backslash", "a backslash behind the listed address", from(`alice@example.org\@evil.example`), evil),
		bad("from-syntax", "truncated-colon", "a colon behind the listed address", from("alice@example.org:@evil.example"), evil),
		bad("address-count", "truncated-comma", "a comma behind the listed address", from("alice@example.org,@evil.example"), evil),
		bad("misaligned", "truncated-parenthesis", "a comment behind the listed address", from("alice@example.org(@evil.example)"), evil),
		bad("from-syntax", "encoded-angle", "encoded angle brackets around the listed address", from("=?utf-8?B?PGFsaWNlQGV4YW1wbGUub3JnPg==?= eve@evil.example"), evil),
		bad("unlisted", "encoded-name", "the listed address as an encoded display name", from("=?utf-8?B?PGFsaWNlQGV4YW1wbGUub3JnPg==?= <eve@evil.example>"), evil),
		bad("unlisted", "subdomain", "a subdomain that nobody has", from("alice@notexist.example.org"), evil),
		bad("from-syntax", "homograph", "a domain of look-alike letters", from("alice@\u0435xample.org"), evil),
		bad("from-syntax", "right-to-left", "a right-to-left override before an address that reads backwards", from("\u202egro.elpmaxe@ecila"), evil),
		bad("unlisted", "right-to-left-name", "a right-to-left override in the display name", from("\"\u202egro.elpmaxe@ecila\" <eve@evil.example>"), evil),
		bad("unlisted", "long-name", "a display name that pushes the address out of sight", from(`"alice@example.org`+strings.Repeat(" ", 300)+`" <eve@evil.example>`), evil),
		bad("unsigned", "forwarded", "what a forwarder took the signature off", unsigned, top("X-Forwarded-For: alice@example.org\r\nReceived: from mail.example.org by forwarder.example; Tue, 14 Nov 2023 22:13:21 +0000\r\n")),
		bad("misaligned", "forwarder-signs", "what a forwarder signed in its own name", by("list.example", "corpus")),
	}
}

// appends are messages of the l= abuse of 2024: what a signature leaves out is
// replaced.
func appends() []recipe {
	html := "--evil\r\nContent-Type: text/html\r\n\r\n<p>Pay Eve</p>\r\n--evil--\r\n"
	length := sign(func(s *signed.Signature) { s.Length = true })
	open := uncovered("content-type", "content-transfer-encoding", "mime-version", "subject")
	unsure := corpus.Keys{Rendering: corpus.Rendering{
		NoText: true, NotContains: []string{"Pay Eve"}, Remarks: &[]string{"body not shown: unsigned structure"},
	}}
	return []recipe{
		message("refuse/length-tag/abuse-boundary", "l=, the type not signed and another boundary, a part behind the end", "a reader shows the part behind the end alone",
			open, length, set("Content-Type", "multipart/mixed; boundary=evil"), tail(html)),
		message("refuse/length-tag/abuse-zero", "l=0, and a body of someone else's", "nothing of the body is signed",
			open, tags("l=0;"), tag("bh", "bh=47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="), late(func(raw string) (string, error) {
				head, _, _ := strings.Cut(raw, "\r\n\r\n")
				return head + "\r\n\r\n" + html, nil
			})),
		message("refuse/length-tag/abuse-subject", "l=, and another Subject that is not signed", "a notice of a service becomes anyone's", open, length, set("Subject", "Pay now"), tail("Pay Eve\r\n")),
		message("accept/type-added", "no l=, a type added that reads the signed text as HTML", "what is not signed must be certain", without("Content-Type"), uncovered("content-type"),
			top("Content-Type: text/html\r\n")).with(unsure),
		message("accept/boundary-replaced", "no l=, another boundary in an unsigned type", "what is not signed must be certain", uncovered("content-type"),
			set("Content-Type", "multipart/mixed; boundary=b"), body("--b\r\n\r\nHello\r\n--evil\r\n\r\nPay Eve\r\n--b--\r\n"), swap("boundary=b", "boundary=evil")).with(unsure),
		message("accept/encoding-added", "no l=, an encoding added that makes another text of the signed one", "what is not signed must be certain",
			without("Content-Transfer-Encoding"), uncovered("content-transfer-encoding"), body("UGF5IEV2ZSAxMDAgZXVyb3Mgbm93\r\n"), top("Content-Transfer-Encoding: 7bit\r\n")).with(unsure),
		message("accept/charset-replaced", "no l=, another charset in an unsigned type", "what is not signed must be certain", uncovered("content-type"),
			set("Content-Type", "text/plain; charset=iso-8859-1"), body("caf\xe9\r\n")).with(unsure),
		message("accept/subject-replaced", "another Subject that is not signed", "what is not signed is not shown", uncovered("subject"), set("Subject", "Pay now")).
			with(corpus.Keys{Rendering: corpus.Rendering{Subject: []byte("null"), NotContains: []string{"Pay now"}, Remarks: &[]string{"subject not shown: not signed"}}}),
	}
}

// smuggled are ends of a message that one server takes for an end and another
// does not (SMTP smuggling, 2023). The signed text holds a line end, a dot and
// a line end; in transit its line ends became others.
func smuggled() (all []recipe) {
	const inner = "MAIL FROM:<eve@evil.example>\r\nRCPT TO:<shopping@estate.example>\r\nDATA\r\nFrom: Eve <eve@evil.example>\r\n\r\nsmuggled\r\n"
	shown := corpus.Rendering{Contains: []string{"Hello", "MAIL FROM:<eve@evil.example>", "smuggled"}}
	// Behind a bare LF Postfix takes the dot for one that a client doubled.
	const undotted = "refuse/bad-signature"
	for _, c := range []struct{ name, what, end, postfix string }{
		{"crlf-crlf", "CR LF . CR LF", "\r\n.\r\n", ""},
		{"lf-lf", "LF . LF", "\n.\n", undotted},
		{"lf-crlf", "LF . CR LF", "\n.\r\n", undotted},
		{"crlf-lf", "CR LF . LF", "\r\n.\n", ""},
	} {
		all = append(all, message("accept/smuggled-"+c.name, c.what+" in the body, and a message behind it", "text like any other; a bare LF is CR LF",
			body("Hello\r\n.\r\n"+inner), swap("Hello\r\n.\r\n", "Hello"+c.end)).
			with(corpus.Keys{Postfix: c.postfix, Rendering: shown}))
	}
	for _, c := range []struct{ name, what, end string }{
		{"cr-cr", "CR . CR", "\r.\r"}, {"crlf-cr", "CR LF . CR", "\r\n.\r"}, {"cr-lf", "CR . LF", "\r.\n"},
		{"nul", "CR LF NUL . CR LF", "\r\n\x00.\r\n"},
	} {
		all = append(all, bad("smuggled-"+c.name, c.what+" in the body, which was a line end, a dot and a line end when it was signed",
			"a bare CR is an octet like another", body("Hello\r\n.\r\n"+inner), swap("Hello\r\n.\r\n", "Hello"+c.end)))
	}
	return all
}
