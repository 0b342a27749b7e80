package main

import (
	"fmt"
	"strings"

	"stile/tests/corpus"
)

// addresses are messages whose From holds not exactly one address, or holds it
// in another form than the one that every parser reads alike.
func addresses() []recipe {
	count := func(name, what, value string) recipe {
		return message("refuse/address-count/"+name, what, "with two addresses either may be the one that is shown", line("From", "From:"+value))
	}
	syntax := func(name, what, why, value string) recipe {
		return message("refuse/from-syntax/"+name, what, why, line("From", "From: "+value))
	}
	good := func(name, what, value string) recipe {
		return message("accept/from-"+name, what, "the grammar of From has it", line("From", "From:"+value))
	}
	all := []recipe{
		count("empty", "an empty From", ""),
		count("white-space", "a From of white space", " \t "),
		count("two", "two addresses", " Alice <alice@example.org>, Eve <eve@evil.example>"),
		count("two-bare", "two bare addresses", " alice@example.org, eve@evil.example"),
		count("two-folded", "two addresses on two lines", " Eve <eve@evil.example>,\r\n Alice <alice@example.org>"),
		count("comma-last", "a comma behind the address", " Alice <alice@example.org>,"),
		count("comma-first", "a comma before the address", " ,Alice <alice@example.org>"),
		count("comma-in-name", "a comma in a display name without quotes", " Example, Alice <alice@example.org>"),
		count("comma-behind-comment", "a comma behind a comment", " alice@example.org (Alice), eve@evil.example"),
		count("comma-behind-escaped-quote", "a comma behind a quoted string that ends in an escaped backslash", ` "Alice \\" <alice@example.org>, <eve@evil.example>`),
		count("comma-behind-nested-comment", "a comma behind a nested comment", " alice@example.org (a (b) c), eve@evil.example"),

		good("bare", "a bare address", " alice@example.org"),
		good("angle", "an address in angle brackets alone", " <alice@example.org>"),
		good("no-space", "no white space around the address", "Alice<alice@example.org>"),
		good("comma-quoted", "a comma in a quoted display name", ` "Example, Alice" <alice@example.org>`),
		good("comma-in-comment", "a comma in a comment", " alice@example.org (Example, Alice)"),
		good("specials-quoted", "every special in a quoted display name", ` "a@b,c;d:e<f>g(h)i[j]k\\l\"m" <alice@example.org>`),
		good("comment", "a comment at the end", " Alice <alice@example.org> (at work)"),
		good("comment-white-space", "white space around the comment", " alice@example.org \t (Alice) \t "),
		good("comment-empty", "an empty comment", " alice@example.org ()"),
		good("comment-escaped", "escaped parentheses in the comment", ` alice@example.org (a \( b \) c)`),
		good("dots", "dots in a display name", " A. L. Ice <alice@example.org>"),
		good("encoded", "encoded words as display name", " =?utf-8?q?Al=C3=ADce?= =?iso-8859-1?b?6Q==?= <alice@example.org>"),
		good("encoded-unknown-charset", "an encoded word in a charset that nobody knows", " =?x-none?q?Alice?= <alice@example.org>"),
		good("utf-8", "a display name in UTF-8", " Al\u00edce <alice@example.org>"),
		good("upper-case", "an address in upper case", " ALICE@EXAMPLE.ORG"),
		good("folded", "a fold between display name and address", " Alice\r\n <alice@example.org>"),
		good("tabs", "TAB for white space", "\tAlice\t<alice@example.org>\t"),
		good("quoted-empty", "an empty quoted string as display name", ` "" <alice@example.org>`),
		good("name-is-address", "the display name is another address, in quotes", ` "eve@evil.example" <alice@example.org>`),
		message("accept/from-long", "an address of 254 octets", "the grammar of From has it", line("From", "From: <"+corpus.LongAddress+">"), by(longDomain, "corpus")),

		syntax("no-at", "no @", "no address", "alice.example.org"),
		syntax("two-at", "two @", "parsers cut at different ones", "alice@example.org@evil.example"),
		syntax("at-first", "an empty local part", "no address", "@example.org"),
		syntax("at-last", "an empty domain", "no address", "alice@"),
		syntax("angle-empty", "empty angle brackets", "the null address is nobody", "Alice <>"),
		syntax("angle-open", "an angle bracket that is not closed", "parsers repair it differently", "Alice <alice@example.org"),
		syntax("angle-close", "an angle bracket that is not opened", "parsers repair it differently", "alice@example.org>"),
		syntax("angle-twice", "two addresses in angle brackets", "the first or the last?", "<alice@example.org> <eve@evil.example>"),
		syntax("angle-nested", "angle brackets in angle brackets", "the inner or the outer?", "<<alice@example.org>>"),
		syntax("angle-space", "white space inside the angle brackets", "no white space stands inside an address", "< alice@example.org >"),
		syntax("angle-comma", "a comma inside the angle brackets", "no address", "<alice@example.org,eve@evil.example>"),
		syntax("bare-then-angle", "a bare address before one in angle brackets", "the first or the last?", "eve@evil.example <alice@example.org>"),
		syntax("angle-then-bare", "a bare address behind one in angle brackets", "the first or the last?", "<alice@example.org> eve@evil.example"),
		syntax("angle-then-text", "text behind the angle brackets", "no grammar has it", "<alice@example.org> Alice"),
		syntax("group", "a group", "some readers show its members", "Friends: alice@example.org;"),
		syntax("group-empty", "an empty group", "it names nobody", "undisclosed:;"),
		syntax("route", "a source route", "which is the domain? (RFC 5322, 4.4)", "<@evil.example:alice@example.org>"),
		syntax("semicolon", "two addresses with a semicolon between", "a separator for some", "alice@example.org; eve@evil.example"),
		syntax("quoted-local", "a quoted local part", "unquoted, it may be another address", `"alice"@example.org`),
		syntax("quoted-local-at", "a quoted local part with @", "cut at the first @, it is another domain", `"alice@example.org"@evil.example`),
		syntax("literal", "an address literal", "a literal proves no domain", "alice@[192.0.2.1]"),
		syntax("dot-first", "a dot first in the local part", "no dot-atom", ".alice@example.org"),
		syntax("dot-last", "a dot last in the local part", "no dot-atom", "alice.@example.org"),
		syntax("dot-twice", "two dots in the local part", "no dot-atom", "al..ice@example.org"),
		syntax("space-in-local", "white space in the local part", "obsolete syntax", "al ice@example.org"),
		syntax("space-at", "white space around the @", "obsolete syntax (RFC 5322, 4.4)", "alice @ example.org"),
		syntax("fold-in-address", "a fold in the address", "obsolete syntax", "alice@\r\n example.org"),
		syntax("utf-8-local", "a local part in UTF-8", "letters that look alike", "\u0430lice@example.org"),
		syntax("utf-8-domain", "a domain in UTF-8", "letters that look alike", "alice@ex\u0430mple.org"),
		syntax("full-width-at", "a full-width @", "some map it to @", "alice\uff20example.org"),
		syntax("ideographic-stop", "an ideographic full stop in the domain", "some map it to a dot", "alice@example\u3002org"),
		syntax("zero-width", "U+200B in the domain", "some drop it", "alice@exam\u200bple.org"),
		syntax("soft-hyphen", "U+00AD in the domain", "some drop it", "alice@exam\u00adple.org"),
		syntax("kelvin", "U+212A for k in the local part", "Unicode folds it to k", "\u212aate@example.org"),
		syntax("encoded-address", "the whole address in an encoded word", "decoded, it is another (RFC 2047, 5)", "=?us-ascii?q?alice=40example.org?="),
		syntax("encoded-local", "an encoded word for a local part", "decoded, it is another address", "<=?us-ascii?q?alice?=@example.org>"),
		syntax("encoded-begun", "the beginning of an encoded word in the local part", "decoders differ in what they mend", "<=?alice@example.org>"),
		syntax("local-specials", "a special in the local part", "no dot-atom", "al[ice@example.org"),
		syntax("domain-no-dot", "a domain without a dot", "no domain of the world", "alice@example"),
		syntax("domain-dot-last", "a dot last in the domain", "an empty label", "alice@example.org."),
		syntax("domain-dot-first", "a dot first in the domain", "an empty label", "alice@.example.org"),
		syntax("domain-dot-twice", "two dots in the domain", "an empty label", "alice@example..org"),
		syntax("domain-hyphen-first", "a label with a hyphen first", "no LDH label", "alice@-example.org"),
		syntax("domain-hyphen-last", "a label with a hyphen last", "no LDH label", "alice@example-.org"),
		syntax("domain-underscore", "an underscore in the domain", "no LDH label", "alice@exam_ple.org"),
		syntax("domain-long-label", "a label of 64 octets", "63 is the most (RFC 1035, 2.3.4)", "alice@"+strings.Repeat("b", 64)+".example"),
		syntax("long", "an address of 255 octets", "254 is the most (RFC 5321, 4.5.3.1.3)", "<a"+corpus.LongAddress+">"),
		syntax("quote-open", "a quoted string that is not closed", "where does it end?", `"Alice <alice@example.org>`),
		syntax("quote-in-middle", "a quote that is closed and another opened", "where does it end?", `"Alice" "<alice@example.org>`),
		syntax("phrase-latin-1", "a display name that is not UTF-8", "readers guess its charset", "Al\xedce <alice@example.org>"),
		syntax("quoted-latin-1", "a quoted display name that is not UTF-8", "readers guess its charset", "\"Al\xedce\" <alice@example.org>"),
		syntax("comment-latin-1", "a comment that is not UTF-8", "readers guess its charset", "alice@example.org (Al\xedce)"),
		syntax("comment-first", "a comment before the address", "one comment, at the end", "(Alice) alice@example.org"),
		syntax("comment-middle", "a comment before the angle brackets", "one comment, at the end", "Alice (work) <alice@example.org>"),
		syntax("comment-inside", "a comment inside the address", "some read it as part", "alice(work)@example.org"),
		syntax("comment-in-angle", "a comment inside the angle brackets", "some read it as part", "<alice@example.org(work)>"),
		syntax("comment-twice", "two comments", "one comment, at the end", "alice@example.org (a) (b)"),
		syntax("comment-nested", "a comment in a comment", "some end it at the first parenthesis", "alice@example.org (a (b) c)"),
		syntax("comment-open", "a comment that is not closed", "some read on behind it", "alice@example.org (a"),
		syntax("comment-close", "a parenthesis that is not opened", "no grammar has it", "alice@example.org a)"),
		syntax("comment-close-twice", "a comment that is closed twice", "some read on behind the first", "alice@example.org (a) b)"),
		syntax("comment-escaped-close", "a comment whose last parenthesis is escaped", "it is not closed", `alice@example.org (a\)`),
		syntax("comment-alone", "a comment and no address", "it names nobody", "(alice@example.org)"),
		syntax("comment-angle", "the angle brackets in the comment", "some find the address there", "eve (<alice@example.org>)"),
		syntax("encoded-empty", "an empty encoded word as display name", "net/mail finds no address in it", "=?utf-8?b??= <alice@example.org>"),
	}
	for _, c := range `@;:<>()[]\` {
		all = append(all, syntax(fmt.Sprintf("phrase-%02x", c), fmt.Sprintf("%c in a display name without quotes", c),
			"a special ends the phrase (RFC 5322, 3.2.3)", fmt.Sprintf("Al%cice <alice@example.org>", c)))
	}
	return all
}

// claims are messages from addresses that are not on the list.
func claims() (all []recipe) {
	for _, c := range []struct{ name, what, address, domain string }{
		{"stranger", "a stranger, signed by the own domain", "mallory@evil.example", "evil.example"},
		{"plus-tag", "a plus-tag of a listed address", "alice+x@example.org", "example.org"},
		{"dots", "a listed address with a dot more", "al.ice@example.org", "example.org"},
		{"neighbour", "another address of a listed domain", "bob@example.org", "example.org"},
		{"subdomain", "a listed address at a subdomain", "alice@sub.example.org", "sub.example.org"},
		{"parent", "a listed address at the parent domain", "ops@example.org", "example.org"},
		{"suffix", "a domain that ends in a listed one", "alice@badexample.org", "badexample.org"},
		{"prefix", "a domain that begins with a listed one", "alice@example.org.evil.example", "example.org.evil.example"},
		{"other-tld", "the listed address at another top-level domain", "alice@example.com", "example.com"},
		{"punycode", "an A-label that looks like a listed domain", "alice@xn--exmple-4nf.org", "xn--exmple-4nf.org"},
		{"sentence", "an address that is a sentence", "please-forward-all-mail-to@evil.example", "evil.example"},
	} {
		all = append(all, message("refuse/unlisted/"+c.name, c.what, "addresses compare exactly", line("From", "From: <"+c.address+">"), by(c.domain, "corpus")))
	}
	all[len(all)-1].keys.Address = new(string)
	// The address of a record: shown only if it is too short and plain to carry
	// a sentence.
	label := strings.Repeat("d", 32) + ".example"
	for _, c := range []struct {
		name, what, local, domain string
		shown                     bool
	}{
		{"local-24", "a local part of 24 octets", strings.Repeat("a", 24), "evil.example", true},
		{"local-25", "a local part of 25 octets", strings.Repeat("a", 25), "evil.example", false},
		{"one-mark", "one mark in the local part", "pay-now", "evil.example", true},
		{"two-marks", "two marks in the local part", "pay-me_now", "evil.example", false},
		{"other-octet", "an octet in the local part that is no letter, digit or mark", "pay!now", "evil.example", false},
		{"domain-40", "a domain of 40 octets", "eve", label, true},
		{"domain-41", "a domain of 41 octets", "eve", "d" + label, false},
		{"three-labels", "three labels", "eve", "now.evil.example", true},
		{"four-labels", "four labels", "eve", "pay.now.evil.example", false},
		{"one-hyphen", "one hyphen in the domain", "eve", "pay-now.example", true},
		{"two-hyphens", "two hyphens in the domain", "eve", "pay-me-now.example", false},
		{"a-label", "an A-label, whose own hyphens do not count", "eve", "xn--pay-now.example", true},
		{"upper-case", "an address in upper case", "EVE", "EVIL.example", true},
	} {
		address := ""
		if c.shown {
			address = strings.ToLower(c.local + "@" + c.domain)
		}
		r := message("refuse/unlisted/reduced-"+c.name, c.what, "an address that could be a sentence is withheld, never cut", line("From", "From: "+c.local+"@"+c.domain), unsigned)
		r.keys.Address = &address
		all = append(all, r)
	}
	return append(all,
		message("refuse/unlisted/display-name", "a listed address as the display name", "the address counts", line("From", `From: "alice@example.org" <eve@evil.example>`), by("evil.example", "corpus")),
		message("refuse/unlisted/server-dead", "a stranger whose key has no answer", "for strangers nothing is looked up", line("From", "From: <eve@evil.example>"), by("evil.example", "corpus-dead")),
		message("refuse/unlisted/unsigned", "a stranger without a signature", "the list is asked first", line("From", "From: <eve@evil.example>"), unsigned),
		message("accept/listed-upper-case", "a listed address in upper case", "domain and local part fold in ASCII", line("From", "From: <ALICE@EXAMPLE.ORG>")),
	)
}

// automatics are answers that no person wrote (RFC 3834).
func automatics() []recipe {
	bad := func(name, what string, edits ...edit) recipe {
		return message("refuse/automatic/"+name, what, "a friend's responder signs whatever a stranger wrote to it", edits...)
	}
	good := func(name, what, why string, edits ...edit) recipe {
		return message("accept/"+name, what, why, edits...)
	}
	null := corpus.Keys{Null: true}
	return []recipe{
		bad("replied", "Auto-Submitted: auto-replied", add("Auto-Submitted: auto-replied")),
		bad("replied-signed", "Auto-Submitted: auto-replied, signed", addSigned("Auto-Submitted: auto-replied")),
		bad("replied-upper-case", "in upper case", add("AUTO-SUBMITTED: AUTO-REPLIED")),
		bad("replied-parameter", "with a parameter", add("Auto-Submitted: auto-replied; owner-email=\"a@b.example\"")),
		bad("replied-comment", "with a comment before and behind", add("Auto-Submitted: (x) auto-replied (y)")),
		bad("replied-folded", "folded", add("Auto-Submitted:\r\n auto-replied")),
		bad("replied-second", "in the second instance", add("Auto-Submitted: no", "Auto-Submitted: auto-replied")),
		bad("precedence", "Precedence: auto_reply", add("Precedence: auto_reply")),
		bad("x-autoreply", "X-Autoreply: yes", add("X-Autoreply: yes")),
		bad("x-autoreply-empty", "an empty X-Autoreply", add("X-Autoreply:")),
		bad("x-autorespond", "X-Autorespond: with a text", add("X-Autorespond: weekly numbers")),
		bad("report", "multipart/report", set("Content-Type", "multipart/report; report-type=delivery-status; boundary=b")),
		bad("report-space", "multipart / report", set("Content-Type", "multipart / report; boundary=b")),
		bad("report-comment", "multipart/report with a comment", set("Content-Type", "multipart/(x)report; boundary=b")),
		bad("null-generated", "a null sender and Auto-Submitted: auto-generated", add("Auto-Submitted: auto-generated")).with(null),
		bad("null-notified", "a null sender and Auto-Submitted: auto-notified", add("Auto-Submitted: auto-notified")).with(null),
		bad("null-empty", "a null sender and an empty Auto-Submitted", add("Auto-Submitted:")).with(null),
		good("null-sender", "a null sender and no Auto-Submitted", "a null sender alone says nothing").with(null),
		good("null-sender-no", "a null sender and Auto-Submitted: no", "a person wrote it", add("Auto-Submitted: no")).with(null),
		good("auto-generated", "Auto-Submitted: auto-generated", "nobody was answered", add("Auto-Submitted: auto-generated")),
		good("auto-submitted-no", "Auto-Submitted: no", "a person wrote it", add("Auto-Submitted: no")),
		good("precedence-bulk", "Precedence: bulk", "nobody was answered", add("Precedence: bulk")),
		good("x-autoreply-no", "X-Autoreply: No", "a person wrote it", add("X-Autoreply: No")),
		good("x-autorespond-no", "X-Autorespond: no", "a person wrote it", add("X-Autorespond: no")),
		good("automatic-allowed", "Auto-Submitted: auto-replied, where the owner takes it", `automatic = "accept"`, add("Auto-Submitted: auto-replied")).with(corpus.Keys{Policy: "automatic"}),
	}
}
