package main

import (
	"fmt"
	"time"

	"stile/tests/corpus"
	"stile/tests/signed"
	"stile/verdict"
)

// times are signatures that are too old or not yet valid.
func times() []recipe {
	stale := func(name, what string, edits ...edit) recipe {
		return message("refuse/stale/"+name, what, "an old message sent again is not what its sender says now", edits...)
	}
	const day = 24 * time.Hour
	aged := corpus.Keys{Policy: "aged"}
	date := func(t time.Time) edit {
		return func(l *letter) error {
			l.signs[0].Time = time.Time{}
			return set("Date", t.Format(time.RFC1123Z))(l)
		}
	}
	now := corpus.Clock
	week := corpus.Policies["aged"].MaxAge
	x := func(t time.Time) edit { return tags(fmt.Sprintf("x=%d;", t.Unix())) }
	return []recipe{
		message("accept/age-most", "signed max_age ago", "the most that is allowed", dated(now.Add(-week))).with(aged),
		stale("age", "signed max_age and a second ago", dated(now.Add(-week-time.Second))).with(aged),
		stale("epoch", "t=0", dated(time.Unix(0, 0))).with(aged),
		message("accept/ahead-most", "signed ten minutes ahead", "clocks differ", dated(now.Add(10*time.Minute))).with(aged),
		stale("ahead", "signed ten minutes and a second ahead", dated(now.Add(10*time.Minute+time.Second))).with(aged),
		message("accept/date-most", "no t=, Date max_age ago", "the most that is allowed", date(now.Add(-week))).with(aged),
		stale("date", "no t=, Date max_age and a second ago", date(now.Add(-week-time.Second))).with(aged),
		message("accept/date-ahead-most", "no t=, Date 24 hours ahead", "Date is of a person's clock", date(now.Add(day))).with(aged),
		stale("date-ahead", "no t=, Date 24 hours and a second ahead", date(now.Add(day+time.Second))).with(aged),
		stale("date-zone", "no t=, Date of today by its hour, of last week by its zone", date(now.Add(-week-time.Hour).In(time.FixedZone("", 14*3600)))).with(aged),
		message("accept/t-before-date", "t= of now, Date of long ago", "t= counts", set("Date", "Sun, 01 Jan 2012 00:00:00 +0000")).with(aged),
		stale("t-old-date-new", "t= of long ago, Date of now", dated(now.Add(-30*day))).with(aged),
		stale("both", "two signatures, both old", dated(now.Add(-30*day)), also(old(now.Add(-31*day)))).with(aged),
		message("accept/old-beside-new", "an old signature and a new one", "all conditions hold for one and the same signature", also(old(now.Add(-31*day)))).with(aged),
		message("accept/undated", "neither t= nor a signed Date", "the age is not known", date(now.Add(-30*day)), uncovered("date")).
			with(corpus.Keys{Policy: "aged", Rendering: corpus.Rendering{Flags: []verdict.Flag{verdict.Undated}}}),
		message("accept/date-unreadable", "no t=, and a signed Date that nobody can read", "the age is not known", date(now), set("Date", "yesterday")).
			with(corpus.Keys{Policy: "aged", Rendering: corpus.Rendering{Flags: []verdict.Flag{verdict.Undated}}}),

		bad("t-no-number", "t= with letters", "3.5: digits", tag("t", "t=now")),
		bad("t-empty", "an empty t=", "3.5: digits", tag("t", "t=")),
		bad("t-negative", "t= below zero", "3.5: digits", tag("t", "t=-1")),
		bad("t-fraction", "t= with a fraction", "3.5: digits", tag("t", "t=1700000000.5")),
		bad("t-13-digits", "t= of thirteen digits", "3.5: twelve at most", tag("t", "t=0001700000000")),
		bad("t-ahead", "t= ten minutes and a second ahead", "more than clocks differ", dated(now.Add(10*time.Minute+time.Second))),
		message("accept/t-ahead-most", "t= ten minutes ahead", "clocks differ", dated(now.Add(10*time.Minute))),
		bad("x-past", "x= a second ago", "3.5: expired", x(now.Add(-time.Second))),
		message("accept/x-now", "x= this second", "3.5: valid up to then", x(now)),
		bad("x-before-t", "x= before t=", "3.5: it must be greater", dated(now.Add(9*time.Minute)), x(now.Add(8*time.Minute))),
		message("accept/x-is-t", "x= is t=", "valid for this second", dated(now.Add(9*time.Minute)), x(now.Add(9*time.Minute))),
		bad("x-no-number", "x= with letters", "3.5: digits", tags("x=never;")),
		bad("x-empty", "an empty x=", "3.5: digits", tags("x=;")),
		bad("x-13-digits", "x= of thirteen digits", "3.5: twelve at most", tags("x=9999999999999;")),
		message("accept/x-no-t", "x= and no t=", "3.5: t= is not required", sign(func(s *signed.Signature) { s.Time = time.Time{} }), x(now.Add(day))),
	}
}

// old is another signature, of that time.
func old(t time.Time) signed.Signature {
	s := signature("example.org", "corpus-ed")
	s.Time = t
	return s
}

// recipients are messages that were written to someone else.
func recipients() []recipe {
	not := func(policy, name, what, why string, edits ...edit) recipe {
		return message("refuse/not-addressed/"+name, what, why, edits...).with(corpus.Keys{Policy: policy})
	}
	ok := func(policy, name, what, why string, edits ...edit) recipe {
		return message("accept/"+name, what, why, edits...).with(corpus.Keys{Policy: policy})
	}
	other := set("To", "bob@example.net")
	why := "a genuine message to someone else, sent on"
	unread := uncovered("to")
	undated := func(l *letter) error {
		l.signs[0].Time = time.Time{}
		return uncovered("date")(l)
	}
	bare := corpus.Keys{Policy: "signed", Rendering: corpus.Rendering{
		Flags: []verdict.Flag{verdict.ToUnsigned}, Remarks: &[]string{"recipient not signed"},
	}}
	return []recipe{
		not("signed", "to-other", "To names another", why, other),
		not("default", "to-other-default", "To names another, all switches at their defaults", why, other),
		not("signed", "to-other-cc-uncovered", "To names another, an unsigned Cc the mailbox", "anyone can add a Cc", other, add("Cc: "+corpus.Mailbox)),
		not("signed", "to-uncovered-cc-other", "Cc is signed and names another, To is not signed", "anyone can change the To", uncovered("to"), addSigned("Cc: bob@example.net")),
		not("signed", "to-empty", "an empty To", "it names nobody", line("To", "To:")),
		not("signed", "to-absent-signed", "no To, and it is signed that there is none", "it names nobody", without("To")),
		not("signed", "group-empty", "undisclosed recipients", "it names nobody", set("To", "undisclosed-recipients:;")),
		not("signed", "display-name", "the mailbox as a display name of another", "the address counts", set("To", `"shopping@estate.example" <bob@example.net>`)),
		not("signed", "comment", "the mailbox in a comment", "the address counts", set("To", "bob@example.net (shopping@estate.example)")),
		not("signed", "quoted-comma", "the mailbox behind a comma in a display name", "a comma in quotes cuts nothing", set("To", `"Bob, shopping@estate.example, " <bob@example.net>`)),
		not("signed", "angle-comma", "the mailbox behind a comma in angle brackets", "no entry of its own", set("To", "<bob@example.net, shopping@estate.example >")),
		not("signed", "suffix", "an address that ends in the mailbox", "addresses compare as a whole", set("To", "not-shopping@estate.example")),
		not("signed", "bcc", "a signed Bcc names the mailbox", "To and Cc count", other, addSigned("Bcc: "+corpus.Mailbox)),
		not("signed", "resent-to", "a signed Resent-To names the mailbox", "To and Cc count", other, addSigned("Resent-To: "+corpus.Mailbox)),
		not("signed", "uncovered-undated", "neither To nor Cc is signed, and no time", "it could be sent on to anyone for ever", unread, undated),
		not("strict", "strict-uncovered", `neither To nor Cc is signed, addressed = "strict"`, "the mailbox must be named in what is signed", unread),
		not("strict", "strict-other", `To names another, addressed = "strict"`, why, other),
		not("signed", "both-other", "two signatures, both over a To that names another", why, other, also(old(signedAt))),
		ok("signed", "to-named", "To names the mailbox", "it was written to it"),
		ok("default", "to-named-default", "To names the mailbox, all switches at their defaults", "it was written to it"),
		ok("strict", "to-named-strict", `To names the mailbox, addressed = "strict"`, "it was written to it"),
		ok("signed", "cc-named", "a signed Cc names the mailbox", "it was written to it", other, addSigned("Cc: Shopping <"+corpus.Mailbox+">")),
		ok("signed", "cc-named-to-uncovered", "a signed Cc names the mailbox, To is not signed", "it was written to it", uncovered("to"), addSigned("Cc: "+corpus.Mailbox)),
		ok("signed", "second-of-three", "the second of three recipients", "each entry is read", set("To", "a@example.net,\r\n Shopping <SHOPPING@Estate.Example> , c@example.net")),
		ok("signed", "group-member", "a member of a group", "groups are read as their members", set("To", "Agents: a@example.net, "+corpus.Mailbox+";")),
		ok("signed", "beside-unreadable", "beside an entry that nobody can read", "such a one is skipped", set("To", "@@, (, \"x\" y), "+corpus.Mailbox)),
		ok("signed", "to-commented", "with comments around", "comments are dropped", set("To", "(the (agent)) "+corpus.Mailbox+" (x)")),
		message("accept/to-uncovered", "neither To nor Cc is signed", "large hosters sign neither", unread).with(bare),
		message("accept/to-uncovered-date", "neither To nor Cc is signed, no t=, but a Date", "it has a time", unread, sign(func(s *signed.Signature) { s.Time = time.Time{} })).with(bare),
		bad("to-uncovered-broken-time", "neither To nor Cc is signed, and t= cannot be read", "a broken signature, whose age is of no interest", unread, tag("t", "t=now")).with(corpus.Keys{Policy: "signed"}),
	}
}
