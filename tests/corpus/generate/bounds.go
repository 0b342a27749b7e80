package main

import (
	"encoding/base64"
	"fmt"
	"strings"

	"stile/tests/corpus"
	"stile/tests/signed"
)

// Bounds that the package verdict keeps to itself.
const (
	maxAligned   = 16
	maxSignature = 16 << 10
	maxSigned    = 256
	maxKeys      = 4
)

// bounds are signatures at each of our bounds, and one beyond.
func bounds() []recipe {
	why := "over our bound"
	junk := func(n int) edit { // n aligned signatures on top that fail without a look-up
		return top(strings.Repeat("DKIM-Signature: v=1; a=rsa-sha256; d=example.org; s=corpus; h=from;\r\n bh=47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=; b=AAAA\r\n", n))
	}
	names := func(n int) edit {
		return sign(func(s *signed.Signature) {
			for i := len(s.Names); i < n; i++ {
				s.Names = append(s.Names, fmt.Sprintf("x-%d", i))
			}
		})
	}
	size := func(n int) edit {
		return func(l *letter) error {
			raw, err := l.raw()
			if err != nil {
				return err
			}
			field, _, _ := strings.Cut(raw, "\r\nFrom:")
			room := n - len(field) - len("\r\n") - len(" n=;")
			return tags("n=" + filler(room) + ";")(l)
		}
	}
	keys := func(n int) edit { // that many signatures on top, each by a key of its own that others have
		return func(l *letter) error {
			for i := range n {
				s := signature("example.org", fmt.Sprintf("corpus-other-%d", i+1))
				s.Key = rsaOf(1024) // not the one in the zone
				l.signs = append(l.signs, s)
			}
			return nil
		}
	}
	return []recipe{
		message("accept/sixteenth", "the sixteenth aligned signature verifies", "a bound is the most that is taken", junk(maxAligned-1)),
		bad("seventeenth", "the seventeenth aligned signature verifies", why, junk(maxAligned)),
		message("accept/names-256", "256 names in h=", "a bound is the most that is taken", names(maxSigned)),
		bad("names-257", "257 names in h=", why, names(maxSigned+1)),
		message("accept/signature-16k", "a signature of 16 KiB", "a bound is the most that is taken", size(maxSignature)),
		bad("signature-16k-and-one", "a signature of 16 KiB and an octet", why, size(maxSignature+1)),
		message("accept/fourth-key", "the fourth key asked for verifies", "a bound is the most that is taken", keys(maxKeys-1)),
		bad("fifth-key", "the fifth key verifies", why, keys(maxKeys)),
		message("accept/blank-lines", "a run of 512 Ki line ends in the body", "lines are shown up to the limit of the fence, and hashed without one", body("Hello"+strings.Repeat("\r\n", 512<<10)+"agent\r\n")),
		bad("h-no-name", "an empty name in h=", "3.5: no field has it", covering("")),
		bad("h-space", "a name with white space inside in h=", "no field has it", covering("x y")),
		bad("h-latin-1", "a name that is not ASCII in h=", "no field has it", covering("x\xe9")),
		message("accept/h-absent", "a field in h= that is not there", "5.4.2: it takes the absence", covering("x-none")),
		message("accept/h-oversigned", "From twice in h=", "5.4.2: the second takes the absence", covering("from")),
		message("accept/h-upper-case", "names in upper case in h=", "names compare without case", sign(func(s *signed.Signature) {
			for i, n := range s.Names {
				s.Names[i] = strings.ToUpper(n)
			}
		})),
		bad("from-not-signed", "From is not in h=", "5.4: it must be", uncovered("from")),
		bad("signs-itself", "DKIM-Signature in h=, and no other is there", "its own b= was empty when it was signed", covering("dkim-signature")),
		bad("signs-itself-no-answer", "DKIM-Signature in h=, and no answer for the key", "what fails without the key asks for none", by("example.org", "corpus-dead"), covering("dkim-signature")),
		message("accept/signs-another", "a signature that covers the one below it", "5.4.2", also(func() signed.Signature {
			s := signature("example.org", "corpus-ed")
			s.Names = append(s.Names, "dkim-signature")
			return s
		}())),
	}
}

// forgeries are messages that were changed after they were signed.
func forgeries() []recipe {
	evil := signature("example.org", "corpus")
	evil.Key = rsaOf(1024)
	edEvil := signature("example.org", "corpus-ed")
	edEvil.Key = edKey("another")
	only := func(s signed.Signature) edit {
		return func(l *letter) error {
			l.signs = []signed.Signature{s}
			return nil
		}
	}
	why := "not what was signed (RFC 6376, 6.1.3)"
	return []recipe{
		bad("body-changed", "a word of the body changed", why, swap("wiki page", "evil page")),
		bad("body-appended", "text behind the body", why, tail("Pay 100 to Eve.\r\n")),
		bad("body-emptied", "no body any more", why, late(func(raw string) (string, error) {
			head, _, _ := strings.Cut(raw, "\r\n\r\n")
			return head + "\r\n\r\n", nil
		})),
		bad("body-space", "a space more between two words, simple", why, simple, swap("wiki page", "wiki  page")),
		bad("body-line-first", "an empty line before the body", why, swap("\r\n\r\nHello", "\r\n\r\n\r\nHello")),
		bad("header-end-moved", "an empty line inside the header", "what was header is body", swap("\r\nMIME-Version", "\r\n\r\nMIME-Version")),
		bad("bare-cr-in-line-end", "a bare CR at the end of a body line", "an octet like another, never white space", swap("wiki page.\r\n", "wiki page.\r\r\n")).with(corpus.Keys{Postfix: "accept"}),
		bad("from-changed", "another display name", why, swap("From: Alice <", "From: Your bank <")),
		bad("subject-changed", "another Subject", why, swap("Weekly numbers", "Pay now")),
		bad("to-changed", "another To", why, swap("To: Shopping", "To: Eve")),
		bad("date-taken-away", "Date taken away", why, swap("Date: Tue, 14 Nov 2023 22:13:20 +0000\r\n", "")),
		bad("header-space", "a space more behind a colon, simple", why, simple, swap("Subject: ", "Subject:  ")),
		bad("header-case", "a name in another case, simple", why, simple, swap("Subject: ", "SUBJECT: ")),
		bad("tag-changed", "a tag of the signature changed", "its own field is signed too", swap("t=1700000000;", "t=1700000001;")),
		bad("absent-added", "a field that was signed as absent", "5.4.2", covering("reply-to"), top("Reply-To: eve@evil.example\r\n")),
		bad("other-key", "signed by another RSA key", "the key proves the domain", only(evil)),
		bad("other-ed25519", "signed by another Ed25519 key", "the key proves the domain", only(edEvil)),
		bad("zeros", "b= of zeros", "no signature", late(replaceB("b=", base64.StdEncoding.EncodeToString(make([]byte, 256))))),
		bad("ones", "b= of one octet", "no signature", late(replaceB("b=", "AA=="))),
		message("accept/body-line-ends", "empty lines behind the body", "3.4.4: they are ignored", tail("\r\n\r\n")),
		message("accept/body-white-space", "more white space in the body, relaxed", "3.4.4", swap("wiki page.\r\n", "wiki\t  page. \r\n")),
		message("accept/header-white-space", "more white space in the header, relaxed", "3.4.2", swap("Subject: Weekly numbers", "SUBJECT:\tWeekly\r\n   numbers ")),
		message("accept/body-no-line-end", "a body without a last line end", "3.4.4: it has one", body("Hello agent")),
		message("accept/no-empty-line", "no empty line behind the header", "it is all header, the body is empty", body(""), late(func(raw string) (string, error) {
			return strings.TrimSuffix(raw, "\r\n"), nil
		})),
		message("accept/no-last-line-end", "no line end behind the header", "it is all header, the body is empty", body(""), late(func(raw string) (string, error) {
			return strings.TrimSuffix(raw, "\r\n\r\n"), nil
		})),
		message("accept/lf-only", "a file whose line ends are all LF", "it is read as if they were CR LF", late(func(raw string) (string, error) {
			return strings.ReplaceAll(raw, "\r\n", "\n"), nil
		})),
		message("accept/body-empty", "an empty body", "3.4.4", body("")),
		message("accept/body-empty-simple", "an empty body, simple", "3.4.3: it is one line end", simple, body("")),
		message("accept/ed25519", "ed25519-sha256", "RFC 8463", by("example.org", "corpus-ed")),
		message("accept/good-below-bad", "a signature that verifies below one that does not", "the topmost that meets all conditions accepts", also(edEvil)),
		message("accept/received-added", "trace fields on top", "nobody signed them", top("Received: from a.example by b.example; Tue, 14 Nov 2023 22:13:21 +0000\r\nX-Spam: no\r\n")),
	}
}
