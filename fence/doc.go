// Package fence knows how an accepted message is shown: as a fence, two marker
// lines with what the sender wrote between them, every line of it behind a
// prefix and nothing of it able to leave its place.
//
// [Render] writes a fence, [Parse] reads one back and takes nothing else. The
// order is decode, split into lines, escape, limit, prefix. What is escaped
// stays readable and [Unescape] gives it back: nothing is removed. [RenderBody]
// and [ParseBody] are the same for a fence that is a message's body: a limit of
// bytes stands for the usual ones of bytes and lines, a line is no wider.
//
// MIME is read by this package itself. A body is gone through once, line by
// line, to find its parts, and the text parts are read again from where they
// stand, once to see how much of them fits and once to write that, so that
// neither the size of a message nor the depth of its parts costs memory or more
// than linear time. Bounds stand on levels, parts and
// each part's header; a part whose header contradicts itself is left out while
// the others are shown; and octets that do not decode are told apart from
// characters that do. These three need the octets' places at every step, so
// of libraries only the charset tables of golang.org/x/text are used. Which
// code points are escaped follows the Unicode 15.0 tables of the Go release
// and the list of emoji sequences of the same version in emoji-15.0.txt.
//
// What a message hides is counted by place and class, see [Carrier]: in what is
// shown, by the escapes that were written; in what is not, by another pass over
// parts that are HTML, a calendar or text, where there are any. Nothing of that
// decides anything. HTML is read token by token with golang.org/x/net/html and
// no tree is built.
//
// # Security
//
// The package does no I/O but through the reader of the body and the system's
// randomness, and renders a [verdict.Accepted] only, which judging alone can
// make. Subject, Content-Type, Content-Transfer-Encoding and
// Content-Disposition count only as far as the accepting signature covers
// them; where it leaves the structure open, the body is shown only if it can
// be read in one way. HTML is never shown. The nonce is drawn afresh for each
// rendering and never one that stands in the text.
//
// # Diagnostics
//
// Render fails when the body cannot be read; the reader's error is wrapped.
// The errors of Parse are constant and quote nothing.
//
// # Limits
//
// A fence of a message without a Subject does not tell a first line of text
// that reads "Subject: ..." from a Subject. The escapes, cuts and markers hold
// either way.
//
// Of HTML the style sheets are not applied, and of the parts that are not shown
// no more than 4 MiB are read for what they hide.
package fence
