package main

import (
	"fmt"
	"strings"

	"stile/tests/corpus"
)

// subjects are Subject fields, and what one line is shown of each (RFC 2047).
func subjects() (all []recipe) {
	show := func(name, what, subject, shown string, remarks ...string) recipe {
		return message("accept/subject-"+name, what, "decoded once, one line", set("Subject", subject)).
			with(corpus.Keys{Rendering: corpus.Rendering{Subject: []byte(quote(shown)), Remarks: &remarks}})
	}
	long := func(n int) string { // n letters, folded
		return strings.TrimSuffix(strings.Repeat(strings.Repeat("x", 49)+"\r\n ", n/50), "\r\n ") + strings.Repeat("y", n%50)
	}
	flat := func(s string) string { return strings.ReplaceAll(s, "\r\n", "") }
	most := long(950) + strings.Repeat("z", 998-len(flat(long(950))))
	return []recipe{
		show("empty", "an empty Subject", "", ""),
		show("blank", "a Subject of white space", " \t ", ""),
		show("white-space", "white space at both ends", "  \t Hi  \t", "Hi"),
		show("folded", "a folded Subject", "Weekly\r\n\t numbers", "Weekly\t numbers"),
		show("two-words", "two encoded words, white space between", "=?utf-8?q?a?= \r\n =?utf-8?q?b?=", "ab"),
		show("word-and-text", "an encoded word and text", "=?utf-8?q?a?= b", "a b"),
		show("glued-before", "text before an encoded word, no white space", "x=?utf-8?q?a?=", "x=?utf-8?q?a?="),
		show("glued-behind", "text behind an encoded word, no white space", "=?utf-8?q?a?=x", "=?utf-8?q?a?=x"),
		show("glued-words", "two encoded words, nothing between", "=?utf-8?q?a?==?utf-8?q?b?=", "=?utf-8?q?a?==?utf-8?q?b?="),
		show("unknown-charset", "an encoded word in a charset that nobody knows", "=?x-none?q?a?=", "=?x-none?q?a?="),
		show("unknown-encoding", "an encoded word in an encoding that nobody knows", "=?utf-8?x?a?=", "=?utf-8?x?a?="),
		show("bad-base64", "an encoded word whose base64 is none", "=?utf-8?b?@@@@?=", "=?utf-8?b?@@@@?="),
		show("language", "an encoded word with a language", "=?utf-8*en?q?a?=", "a"),
		show("upper-case", "an encoded word in upper case", "=?UTF-8?Q?a?=", "a"),
		show("underscore", "an underscore in an encoded word", "=?utf-8?q?a_b?=", "a b"),
		show("long-word", "an encoded word of over 75 octets", "=?utf-8?q?"+strings.Repeat("a", 100)+"?=", strings.Repeat("a", 100)),
		show("998", "998 characters", most, flat(most)),
		show("999", "999 characters", most+"z", flat(most), "subject cut"),
		show("998-escaped", "characters that are over 998 when they are escaped", strings.Repeat("\u200b", 150), strings.Repeat(`\u{200B}`, 124), "subject cut"),
	}
}

// sizes are texts at each limit of a fence, and one beyond.
func sizes() []recipe {
	show := func(name, what, text string, keys corpus.Rendering) recipe {
		return message("accept/size-"+name, what, "never cut inside an escape or a line, and never without a remark", body(text)).
			with(corpus.Keys{Rendering: keys})
	}
	lines := func(n int) string { return strings.Repeat("x\r\n", n) }
	number := func(n int) *int { return &n }
	more := func(what string) *[]string { return &[]string{what + " more characters not shown"} }
	rest := func(n int) *[]string { return &[]string{fmt.Sprintf("%d more lines not shown", n)} }
	return []recipe{
		show("line-2000", "a line of 2,000 characters with its prefix", strings.Repeat("x", 1998)+"\r\n", corpus.Rendering{Contains: []string{strings.Repeat("x", 1998)}, Remarks: &[]string{}}),
		show("line-2001", "a line of 2,001 characters with its prefix", strings.Repeat("x", 1999)+"\r\n", corpus.Rendering{NotContains: []string{strings.Repeat("x", 1999)}, Remarks: more("1")}),
		show("lines-2000", "2,000 lines with the markers and the Subject", lines(1997), corpus.Rendering{BodyLines: number(1997), Remarks: &[]string{}}),
		show("lines-2001", "2,001 lines with the markers and the Subject", lines(1998), corpus.Rendering{BodyLines: number(1996), Remarks: rest(2)}),
		show("blank-behind", "blank lines behind the text", "Hello\r\n \r\n\t\r\n\r\n", corpus.Rendering{BodyLines: number(1), Remarks: &[]string{}}),
		show("blank-between", "blank lines in the text", "Hello\r\n\r\n \r\nBye\r\n", corpus.Rendering{BodyLines: number(4), Remarks: &[]string{}}),
		show("blank-before", "blank lines before the text", "\r\n\r\nHello\r\n", corpus.Rendering{BodyLines: number(3), Remarks: &[]string{}}),
		show("24k", "a text of over 24 KiB", strings.Repeat(strings.Repeat("x", 98)+"\r\n", 300), corpus.Rendering{Truncated: true}),
		show("escape-uncut", "a line of escapes that ends inside one", strings.Repeat("\u200b", 400)+"\r\n", corpus.Rendering{Truncated: true, Contains: []string{`\u{200B}`}}),
	}
}
