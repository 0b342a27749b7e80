package main

import (
	"fmt"
	"strings"

	"stile/tests/corpus"
)

// fields are messages whose lines two parsers could take for two things
// (RFC 5322, 2.2).
func fields() []recipe {
	bad := func(name, what, why string, edits ...edit) recipe {
		return message("refuse/malformed-header/"+name, what, why, edits...)
	}
	good := func(name, what, why string, edits ...edit) recipe {
		return message("accept/"+name, what, why, edits...)
	}
	// Postfix ends the header at a line that is no field, and what stands
	// below it is body: the signature's body hash no longer holds.
	cut := corpus.Keys{Postfix: "refuse/from-count"}
	cutBelow := corpus.Keys{Postfix: "refuse/bad-signature"}
	mended := corpus.Keys{Postfix: "accept"}
	return append([]recipe{
		bad("no-colon", "a line without a colon", "some end the header there, some skip it", top("This is no field\r\n")).with(cut),
		bad("no-colon-below", "a line without a colon, below the signed fields", "some end the header there", add("This is no field")).with(cutBelow),
		bad("mbox-line", "a From_ line of a mailbox file on top", "a name with spaces", top("From alice@example.org Tue Nov 14 22:13:20 2023\r\n")).with(mended),
		bad("mbox-quoted", "a quoted From_ line on top", "a name with spaces", top(">From alice@example.org Tue Nov 14 22:13:20 2023\r\n")).with(mended),
		bad("folded-first", "a header that begins with a continuation", "a continuation of nothing", top(" X-Folded: x\r\n")).with(cut),
		bad("empty-name", "a field without a name", "a name is one or more octets", top(": x\r\n")).with(cut),
		bad("space-before-colon", "SP before a colon", "obsolete syntax (RFC 5322, 4.5.8): some drop the field, some read it", top("X-Space : x\r\n")).with(mended),
		bad("tab-before-colon", "TAB before a colon", "the same", top("X-Tab\t: x\r\n")).with(mended),
		bad("space-in-name", "SP inside a name", "no name", top("X Space: x\r\n")).with(cut),
		bad("signed-space-before-colon", "the signed From with SP before its colon", "relaxed canonicalization drops it, and some readers the field", line("From", "From : Alice <alice@example.org>")).with(mended),
		bad("name-nul", "a NUL in a name", "a C string ends there", top("X-\x00Nul: x\r\n")).with(cut),
		bad("name-delete", "DEL in a name", "outside ! to ~", top("X-\x7fDel: x\r\n")).with(cut),
		bad("name-latin-1", "an octet over 127 in a name", "outside ! to ~", top("X-\xe9: x\r\n")).with(cut),
		bad("name-no-break-space", "U+00A0 behind From, above the signed From", "Unicode's white space: trimmed, it is a second From", top("From\u00a0: Eve <eve@evil.example>\r\n")).with(cut),
		bad("name-zero-width", "U+200B in From, above the signed From", "drawn, it is From", top("Fr\u200bom: Eve <eve@evil.example>\r\n")).with(cut),
		bad("name-cyrillic", "a Cyrillic letter in Subject", "drawn, it is Subject", top("Subje\u0441t: Pay now\r\n")).with(cut),
		bad("name-byte-order-mark", "U+FEFF before the first name", "some readers skip it", top("\ufeffSubject: Pay now\r\n")).with(cut),
		bad("blank-fold-space", "a continuation of one SP", "some end the header there", add("X-Fold: a\r\n \r\n b")),
		bad("blank-fold-tab", "a continuation of one TAB", "some end the header there", add("X-Fold: a\r\n\t\r\n b")),
		bad("blank-fold-last", "a continuation of SP and TAB at the end of a field", "some end the header there", add("X-Fold: a\r\n \t ")),
		bad("blank-fold-signed", "a blank continuation in the signed Subject", "what stands behind it is Subject for one reader and body for another", set("Subject", "Weekly\r\n \r\n numbers")),
		bad("fold-bare-lf", "a fold that ends in LF alone", "a line end for some, an octet for others", top("X-Fold: a\n b\r\n")).with(mended),
		bad("lf-and-one-crlf", "line ends that are LF but for one, far behind", "one CR LF makes each LF a bare one", body(strings.Repeat("x", 33000)+"\r\n"), late(lfButOne)).with(cutBelow),
		bad("injected-lf", "a field behind a bare LF", "a second field for some", set("Subject", "Weekly numbers\nReply-To: eve@evil.example")).with(cutBelow),
		bad("injected-cr", "a field behind a bare CR", "a second field for some", set("Subject", "Weekly numbers\rReply-To: eve@evil.example")).with(corpus.Keys{Postfix: "refuse/bad-signature"}),

		good("name-punctuation", "a name of punctuation", "! to ~ but the colon is a name", add(`!#$%&'*+-./0;<=>?@[\]^_{|}~: x`)),
		good("value-latin-1", "octets over 127 in an unsigned value", "no control character", add("X-Cafe: caf\xe9")),
		good("value-tab", "TAB in a value", "white space", set("Subject", "Weekly\tnumbers")),
		good("value-empty", "a field without a value", "allowed", add("X-Empty:")),
		good("fold-first", "a value that begins with a fold", "allowed: only a continuation may not be blank", line("Subject", "Subject:\r\n Weekly numbers")),
		good("fold-first-blank", "a value that begins with white space and a fold", "only a continuation may not be blank", line("Subject", "Subject: \r\n Weekly numbers")),
		good("fold-tab", "a fold with TAB", "a fold is CRLF and SP or TAB", set("Subject", "Weekly\r\n\tnumbers")),
		good("resent", "Resent-From and Resent-Sender of another", "trace fields: not who wrote it (RFC 5322, 3.6.6)", top("Resent-From: eve@evil.example\r\nResent-Sender: eve@evil.example\r\n")),
	}, controls()...)
}

// lfButOne makes each line end LF but one, whose CR and LF stand in two of the
// pieces of 32 KiB that a file is read in.
func lfButOne(raw string) (string, error) {
	raw = strings.ReplaceAll(raw, "\r\n", "\n")
	const at = 32<<10 - 1
	if !strings.HasPrefix(raw[at:], "xx") {
		return "", errNothing
	}
	return raw[:at] + "\r\n" + raw[at:], nil
}

// controls are messages with one octet that no value may have (RFC 5322, 2.2).
func controls() (all []recipe) {
	for c := range byte(128) {
		if c >= ' ' && c != 127 || c == '\t' {
			continue
		}
		k := corpus.Keys{}
		switch c {
		case '\r', 0: // cleanup(8) replaces both
			k.Postfix = "accept"
		case '\n':
			k.Postfix = "refuse/bad-signature"
		}
		all = append(all, message(fmt.Sprintf("refuse/malformed-header/value-%02x", c),
			fmt.Sprintf("octet %02X in a value", c), "a line end or the end of the text for some readers",
			add("X-Control: a"+string(c)+"b")).with(k))
	}
	return all
}

// froms are messages with another number of From fields than one.
func froms() []recipe {
	bad := func(name, what string, edits ...edit) recipe {
		return message("refuse/from-count/"+name, what, "who was proved is not who is shown (RFC 6376, 8.15)", edits...)
	}
	evil := "From: Eve <eve@evil.example>"
	return []recipe{
		bad("no-from", "no From", without("From"), uncovered("from")),
		bad("only-sender", "Sender in From's place", line("From", "Sender: Alice <alice@example.org>"), uncovered("from"), covering("sender")),
		bad("second-above", "another From above the signed one", top(evil+"\r\n")),
		bad("second-below", "another From below the signed one, which is no longer the lowest", late(func(raw string) (string, error) {
			return strings.Replace(raw, "\r\n\r\n", "\r\n"+evil+"\r\n\r\n", 1), nil
		})),
		bad("second-signed", "two From fields, both signed", addSigned(evil)),
		bad("second-same", "the same From twice", top("From: Alice <alice@example.org>\r\n")),
		bad("second-upper-case", "another FROM", top("FROM: Eve <eve@evil.example>\r\n")),
		bad("second-empty", "an empty From above the signed one", top("From:\r\n")),
		bad("second-folded", "another From, folded before its value", top("From:\r\n Eve <eve@evil.example>\r\n")),
		bad("hundred", "a hundred From fields", top(strings.Repeat(evil+"\r\n", 99))),
		message("accept/from-name-upper-case", "the one From is spelt FROM", "names compare without case", line("From", "FROM: Alice <alice@example.org>")),
		message("accept/from-in-attachment", "another From in an attached message", "the body is not read",
			set("Content-Type", "multipart/mixed; boundary=b"),
			body("--b\r\nContent-Type: text/plain\r\n\r\nSee below.\r\n--b\r\nContent-Type: message/rfc822\r\n\r\n"+evil+"\r\n\r\nHello\r\n--b--\r\n")).
			with(corpus.Keys{Rendering: corpus.Rendering{Contains: []string{"See below."}, NotContains: []string{"Eve", "Hello"}}}),
	}
}

// repeats are messages with a field twice that may stand once (RFC 5322, 3.6).
func repeats() (all []recipe) {
	why := "a verifier takes the lowest, most readers show the topmost"
	values := map[string][2]string{ // of the signed one, and of another
		"Subject": {"Weekly numbers", "Pay now"}, "To": {"Shopping <" + corpus.Mailbox + ">", "eve@evil.example"},
		"Cc": {"bob@example.org", "eve@evil.example"}, "Bcc": {"bob@example.org", "eve@evil.example"},
		"Date":       {"Tue, 14 Nov 2023 22:13:20 +0000", "Wed, 15 Nov 2023 22:13:20 +0000"},
		"Message-ID": {"", "<other@evil.example>"}, "Sender": {"alice@example.org", "eve@evil.example"},
		"Reply-To": {"alice@example.org", "eve@evil.example"}, "In-Reply-To": {"<a@example.org>", "<b@evil.example>"},
		"References": {"<a@example.org> <b@example.org>", "<c@evil.example>"}, "MIME-Version": {"1.0", "1.1"},
		"Content-Type": {"text/plain; charset=utf-8", "text/html"}, "Content-Transfer-Encoding": {"7bit", "base64"},
		"Content-Disposition": {"inline", "attachment"}, "Content-ID": {"<a@example.org>", "<b@evil.example>"},
		"Content-Description": {"numbers", "orders"},
	}
	for _, name := range []string{
		"Subject", "To", "Cc", "Bcc", "Date", "Message-ID", "Sender", "Reply-To", "In-Reply-To", "References",
		"MIME-Version", "Content-Type", "Content-Transfer-Encoding", "Content-Disposition", "Content-ID", "Content-Description",
	} {
		first, other := values[name][0], values[name][1]
		there := func(l *letter) error {
			if name != "Message-ID" && line(name, name+": "+first)(l) != nil {
				return addSigned(name + ": " + first)(l)
			}
			return nil
		}
		k := corpus.Keys{}
		if name == "Bcc" {
			k.Postfix = "refuse/bad-signature" // cleanup(8) takes Bcc away
		}
		slug := strings.ToLower(name)
		all = append(all, message("refuse/duplicate-field/second-"+slug, "another "+name+" above the signed one", why, there, top(name+": "+other+"\r\n")).with(k))
		switch name {
		case "In-Reply-To", "References", "MIME-Version", "Content-Transfer-Encoding", "Content-Disposition":
			all = append(all,
				message("accept/same-"+slug, name+" twice, word for word", "careless senders do, and it says one thing", there, top(name+": "+first+"\r\n")),
				message("accept/same-relaxed-"+slug, name+" twice, with other white space", "identical after relaxed canonicalization", there, top(name+":\t"+strings.ReplaceAll(first, " ", "\r\n\t ")+" \r\n")),
				message("refuse/duplicate-field/third-"+slug, name+" twice word for word, and another one", why, there, top(name+": "+other+"\r\n"+name+": "+first+"\r\n")))
		case "Message-ID":
		default:
			all = append(all, message("refuse/duplicate-field/same-"+slug, name+" twice, word for word", "this field is not one that careless senders repeat", there, top(name+": "+first+"\r\n")).with(k))
		}
	}
	return append(all,
		message("refuse/duplicate-field/upper-case", "another SUBJECT", "names compare without case", top("SUBJECT: Pay now\r\n")),
		message("refuse/duplicate-field/case-of-value", "MIME-Version twice, in another case of its comment", "not identical", set("MIME-Version", "1.0 (A)"), top("MIME-Version: 1.0 (a)\r\n")),
		message("accept/x-field-twice", "another field twice", "not one that may stand once", add("X-Mark: 1", "X-Mark: 2")),
	)
}
