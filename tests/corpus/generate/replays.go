package main

import (
	"strings"
	"time"

	"stile/tests/corpus"
	"stile/verdict"
)

// replays are messages that the mailbox accepted before, in whole or in part
// (RFC 6376, 8.6).
func replays() []recipe {
	first := func(name string) recipe {
		return message("accept/first-"+name, "a message before its repeat", "the first of its proof")
	}
	// again is the first message with an edit, at another time.
	again := func(outcome, name, what, why string, edits ...edit) recipe {
		r := message(outcome+"/again-"+name, what, why, append([]edit{sameAs("first-" + name)}, edits...)...)
		return r.with(corpus.Keys{After: "accept/first-" + name})
	}
	later := func(r recipe, d time.Duration) recipe {
		r.keys.At = corpus.Clock.Add(d)
		return r
	}
	repeated := func(r recipe) recipe {
		r.keys.Flags = []verdict.Flag{verdict.Duplicate}
		return r
	}
	why := "with anything changed, someone else sends it"
	ed := old(signedAt)
	two := first("stripped")
	two.edits = []edit{also(ed)}
	stripped := again("refuse/replayed", "stripped", "the second of two signatures, alone", "each signature that verified is used up")
	stripped.edits = []edit{sameAs("first-stripped"), also(ed), withoutTop}
	return []recipe{
		first("same"), repeated(again("accept", "same", "the same message at once", "a sender whose connection broke tries again")),
		first("retry"), repeated(later(again("accept", "retry", "the same message after retry_window", "the most that is allowed"), 4*time.Hour)),
		first("late"), later(again("refuse/replayed", "late", "the same message after retry_window and a second", "no retry of a sender's"), 4*time.Hour+time.Second),
		first("trace"), repeated(again("accept", "trace", "the same message with other trace fields", "a retry comes with other trace fields",
			top("Return-Path: <alice@example.org>\r\nReceived: from a.example by b.example; Tue, 14 Nov 2023 22:13:21 +0000\r\nAuthentication-Results: b.example; none\r\nARC-Seal: i=1\r\n"))),
		first("subject"), again("refuse/replayed", "subject", "with an unsigned Reply-To added", why, top("Reply-To: eve@evil.example\r\n")),
		first("x-field"), again("refuse/replayed", "x-field", "with an unsigned field added", why, top("X-Note: pay now\r\n")),
		first("white-space"), again("refuse/replayed", "white-space", "with other white space in a field", why, swap("Subject: Weekly", "Subject:  Weekly")),
		first("body"), again("refuse/replayed", "body", "with other white space in the body", "the signature allows it, and it is another message", swap("wiki page", "wiki  page")),
		first("b-spelling"), again("refuse/replayed", "b-spelling", "with white space in b=", "one signature, however it is spelt", late(spreadB)),
		first("signature-added"), again("refuse/replayed", "signature-added", "with a signature of another domain on top", why, also(signature("evil.example", "corpus"))),
		two, stripped,
	}
}

// sameAs makes the message the one of that name, its Message-ID included.
func sameAs(name string) edit { return set("Message-ID", "<"+name+"@example.org>") }

// withoutTop takes the topmost signature off.
func withoutTop(l *letter) error {
	l.after = append(l.after, func(raw string) (string, error) {
		i := strings.LastIndex(raw, "DKIM-Signature:")
		if i <= 0 {
			return "", errNothing
		}
		return raw[i:], nil
	})
	return nil
}
