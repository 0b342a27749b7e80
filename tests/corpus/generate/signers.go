package main

import (
	"strings"

	"stile/tests/corpus"
	"stile/tests/signed"
)

// signers are messages that the From domain did not sign, or not so that
// nothing can be appended.
func signers() []recipe {
	none := func(name, what string, edits ...edit) recipe {
		return message("refuse/unsigned/"+name, what, "nobody proves who sent it", edits...)
	}
	other := func(name, what string, edits ...edit) recipe {
		return message("refuse/misaligned/"+name, what, "only the address's own domain speaks for it: d= equals it, byte for byte", edits...)
	}
	length := func(name, what string, edits ...edit) recipe {
		return message("refuse/length-tag/"+name, what, "anyone can append text to it (RFC 6376, 8.2)", edits...)
	}
	l := func(s *signed.Signature) { s.Length = true }
	ed := signature("example.org", "corpus-ed")
	edLength := ed
	edLength.Length = true
	// service is a message that a service signed in its own name.
	service := func(class, domain string) recipe {
		r := other("service-"+domain, "signed by "+domain+" alone", by(domain, "corpus"))
		r.keys.Signer = class
		return r
	}
	return []recipe{
		service("onmicrosoft", "example.onmicrosoft.com"),
		service("gappssmtp", "example-org.20230601.gappssmtp.com"),
		service("amazonses", "amazonses.com"), service("amazonses", "eu-west-1.amazonses.com"),
		service("sendgrid", "sendgrid.net"), service("sendgrid", "sendgrid.info"), service("sendgrid", "sendgrid.me"),
		service("mailgun", "mailgun.org"), service("mailgun", "mg.mailgun.net"), service("mailgun", "mailgun.us"),
		service("mailchimp", "mailchimpapp.net"), service("mailchimp", "mandrillapp.com"), service("mailchimp", "mail1.mcsv.net"), service("mailchimp", "rsgsv.net"),
		service("mailchimp", "mailchimp.com"), service("mailchimp", "mcdlv.net"), service("mailchimp", "mailchimpapp.com"),
		service("other", "notamazonses.com"), service("other", "amazonses.com.evil.example"),
		none("no-signature", "no signature", unsigned).with(corpus.Keys{Signer: "none"}),
		none("other-name", "the signature under another name", swap("DKIM-Signature:", "X-DKIM-Signature:")),
		none("in-body", "the signature in the body", unsigned, body("DKIM-Signature: v=1; d=example.org\r\n\r\nHello\r\n")),
		none("domainkeys", "an obsolete DomainKey-Signature", unsigned, top("DomainKey-Signature: a=rsa-sha1; d=example.org; s=corpus; b=AAAA\r\n")),
		none("results-claimed", "Authentication-Results that say pass", unsigned, top("Authentication-Results: mx.estate.example; dkim=pass header.d=example.org\r\n")),
		none("arc-claimed", "an ARC set that says pass", unsigned, top("ARC-Seal: i=1; cv=none; d=example.org; s=corpus; b=AAAA\r\nARC-Authentication-Results: i=1; mx.estate.example; dkim=pass header.d=example.org\r\n")),

		other("other-domain", "signed by another domain", by("evil.example", "corpus")),
		other("parent", "signed by the parent domain", line("From", "From: <ops@sub.example.org>"), by("example.org", "corpus")),
		other("child", "signed by a subdomain", by("sub.example.org", "corpus")),
		other("suffix", "signed by a domain that ends in it", by("badexample.org", "corpus")),
		other("no-d", "no d=", noTag("d")),
		other("d-empty", "an empty d=", tag("d", "d=")),
		other("d-dot-last", "a dot last in d=", tag("d", "d=example.org.")),
		other("d-space", "white space inside d=", tag("d", "d=example. org")),
		other("d-quoted", "quotes around d=", tag("d", `d="example.org"`)),
		other("d-parenthesis", "a parenthesis behind the domain", tag("d", "d=example.org(.evil.example")),
		other("d-nul-escaped", "an escaped NUL behind the domain", tag("d", `d=example.org\x00.evil.example`)),
		other("d-full-width", "full-width letters in d=", tag("d", "d=\uff45xample.org")),
		other("d-ideographic-stop", "an ideographic full stop in d=", tag("d", "d=example\u3002org")),
		other("d-long-s", "U+017F in d=", line("From", "From: <news@xn--bcher-kva.example>"), tag("d", "d=xn--bcher-kva.example\u017f")),
		other("i-aligned", "i= at the From domain, d= another", by("evil.example", "corpus"), tags("i=alice@example.org;")),
		other("name-upper-case", "D= for d=", tag("d", "D=example.org")),
		other("hundred", "a hundred signatures of others", by("evil.example", "corpus"), late(func(raw string) (string, error) {
			return strings.Repeat("DKIM-Signature: v=1; a=rsa-sha256; d=list.example; s=corpus; h=from; bh=AAAA; b=AAAA\r\n", 100) + raw, nil
		})),
		message("accept/crowd-of-others", "a hundred signatures of others above the own", "signatures of other domains are not looked at",
			top(strings.Repeat("DKIM-Signature: v=1; a=rsa-sha256; d=evil.example; s=corpus-dead; h=from; bh=AAAA; b=AAAA\r\n", 100))),
		message("accept/d-upper-case", "d= in upper case", "domains compare without case", tag("d", "d=EXAMPLE.ORG")),

		length("whole", "l= of the whole body", sign(l)),
		length("appended", "l=, and text appended", sign(l), tail("Pay 100 to Eve.\r\n")),
		length("appended-html", "l=, and a part appended behind the last boundary", set("Content-Type", "multipart/mixed; boundary=b"),
			body("--b\r\nContent-Type: text/plain\r\n\r\nHello\r\n--b--\r\n"), sign(l), tail("--b\r\nContent-Type: text/html\r\n\r\n<p>Pay Eve</p>\r\n--b--\r\n")),
		length("zero", "l=0", tags("l=0;"), tag("bh", "bh=47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=")),
		length("empty", "l= without a number", tags("l=;")),
		length("no-number", "l= with letters", tags("l=all;")),
		length("huge", "l= over 76 digits", tags("l="+strings.Repeat("9", 77)+";")),
		length("space", "white space around l=", tags("l = 5 ;")),
		length("twice", "two l=", tags("l=5; l=6;")),
		length("each", "l= in both signatures", sign(l), also(edLength)),
		message("accept/length-upper-case", "L=5", "3.2: names of tags compare with case, so it is an unknown one", tags("L=5;")),
		message("accept/length-beside-clean", "a signature with l= and one without", "all conditions hold for one and the same signature", sign(l), also(ed)),
	}
}

// bad is a message that is signed, and does not verify.
func bad(name, what, why string, edits ...edit) recipe {
	return message("refuse/bad-signature/"+name, what, why, edits...)
}
