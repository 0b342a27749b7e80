package main

import (
	"regexp"
	"strings"

	"stile/tests/signed"
)

// syntaxes are signatures by the grammar of RFC 6376, 3.2 and 3.5, and others.
func syntaxes() []recipe {
	ok := func(name, what, why string, edits ...edit) recipe {
		return message("accept/"+name, what, why, edits...)
	}
	list := "3.2: no tag list"
	all := []recipe{
		bad("tag-empty", "an empty tag", list, tags(";")),
		bad("tag-twice", "a tag that stands twice", "3.2: the tag list is invalid", tags("c=relaxed/relaxed;")),
		bad("tag-unknown-twice", "an unknown tag that stands twice", "3.2: the tag list is invalid", tags("n=a; n=b;")),
		bad("d-twice", "two d=, one aligned", "3.2: the tag list is invalid", tags("d=evil.example;")),
		bad("tag-no-equals", "a tag without =", list, tags("x;")),
		bad("tag-no-name", "a tag without a name", list, tags("=x;")),
		bad("tag-name-digit", "a name that begins with a digit", list, tags("1x=y;")),
		bad("tag-name-underscore", "a name that begins with an underscore", list, tags("_x=y;")),
		bad("tag-name-hyphen", "a name with a hyphen", list, tags("x-y=z;")),
		bad("tag-value-utf-8", "a value that is not ASCII", list, tags("n=\u00e9;")),
		ok("tag-unknown", "an unknown tag", "3.2: it is ignored", tags("xx_1=y z;")),
		ok("tag-empty-value", "an unknown tag without a value", "3.2: tag-value may be empty", tags("n=;")),

		bad("no-v", "no v=", "3.5: required", noTag("v")),
		bad("v-2", "v=2", "3.5: 1 is the version", tag("v", "v=2")),
		bad("v-one-point-zero", "v=1.0", "3.5: 1, as a string", tag("v", "v=1.0")),
		bad("no-a", "no a=", "3.5: required", noTag("a")),
		bad("a-sha1", "rsa-sha1", "RFC 8301, 3.1", tag("a", "a=rsa-sha1")),
		bad("a-unknown", "an algorithm that nobody knows", "3.3", tag("a", "a=rsa-sha512")),
		bad("a-none", "a=none", "3.3", tag("a", "a=none")),
		bad("a-upper-case", "a= in upper case", "3.2: values compare with case", tag("a", "a=RSA-SHA256")),
		bad("no-h", "no h=", "3.5: required", noTag("h")),
		bad("no-s", "no s=", "3.5: required", noTag("s")),
		bad("no-bh", "no bh=", "3.5: required", noTag("bh")),
		bad("no-b", "no b=", "3.5: required", late(replaceB("", ""))),

		bad("c-header-unknown", "an unknown canonicalization of the header", "3.4", tag("c", "c=nowsp/relaxed")),
		bad("c-body-unknown", "an unknown canonicalization of the body", "3.4", tag("c", "c=relaxed/nowsp")),
		bad("c-empty", "an empty c=", "3.5", tag("c", "c=")),
		bad("c-three", "three canonicalizations", "3.5", tag("c", "c=relaxed/relaxed/relaxed")),
		bad("c-upper-case", "c= in upper case", "3.2: values compare with case", tag("c", "c=Relaxed/Relaxed")),
		ok("c-simple", "c=simple/simple", "3.4", simple),
		ok("c-none", "no c=", "3.5: simple/simple", simple, noTag("c")),

		bad("s-empty", "an empty s=", "3.5", tag("s", "s=")),
		bad("s-empty-label", "an empty label in s=", "3.1", tag("s", "s=a..b")),
		bad("s-dot-last", "a dot last in s=", "3.1", tag("s", "s=corpus.")),
		bad("s-long-label", "a label of 64 octets in s=", "63 is the most (RFC 1035, 2.3.4)", tag("s", "s="+strings.Repeat("a", 64))),
		bad("s-slash", "a slash in s=", "no label", tag("s", "s=x/corpus")),
		bad("s-mark", "a mark in s=", "no label", tag("s", "s=cor!pus")),
		bad("s-space", "white space in s=", "no label", tag("s", "s=cor pus")),
		bad("s-long-name", "a key's name of over 253 octets", "253 is the most (RFC 1035, 2.3.4)", tag("s", "s="+strings.Repeat(strings.Repeat("a", 60)+".", 4)+"a")),
		ok("s-63", "a label of 63 octets in s=", "the most that a label may have", by("example.org", longSelector)),
		ok("s-labels", "several labels in s=", "3.1", by("example.org", "a.corpus")),
		ok("s-underscore", "an underscore in s=", "senders have them", by("example.org", "corpus_1")),
		ok("s-upper-case", "s= in upper case", "names are asked for without case", tag("s", "s=CORPUS")),

		bad("q-unknown", "an unknown query method alone", "3.5: no method is known", tags("q=dns/https;")),
		bad("q-empty", "an empty q=", "3.5", tags("q=;")),
		ok("q-dns", "q=dns/txt", "3.5", tags("q=dns/txt;")),

		bad("i-no-at", "i= without @", "3.5", tags("i=example.org;")),
		bad("i-other", "i= at another domain", "3.5: d= or below it", tags("i=alice@evil.example;")),
		bad("i-suffix", "i= at a domain that ends in d=", "3.5: below it, not behind it", tags("i=alice@badexample.org;")),
		bad("i-parent", "i= at the parent of d=", "3.5", line("From", "From: <ops@sub.example.org>"), by("sub.example.org", "corpus"), tags("i=@example.org;")),
		bad("i-no-domain", "i= with nothing behind the @", "no domain", tags("i=alice@;")),
		bad("i-long-domain", "i= at a name of 255 octets, below d=", "253 is the most (RFC 1035, 2.3.4)", tags("i=@"+strings.Repeat(strings.Repeat("a", 60)+".", 4)+"example.org;")),
		bad("i-bad-domain", "i= at a name that is no domain, below d=", "no LDH label", tags("i=alice@-x.example.org;")),
		ok("i-below", "i= at a subdomain of d=", "3.5", tags("i=alice@mail.example.org;")),
		ok("i-no-local", "i= without a local part", "3.5", tags("i=@example.org;")),
		ok("i-case", "i= in upper case", "domains compare without case", tags("i=ALICE@EXAMPLE.ORG;")),
	}
	for _, c := range []struct{ name, what, text string }{
		{"empty", "empty", ""},
		{"character", "with a foreign character", "AA*A"},
		{"url", "in the URL alphabet", "__-_"},
		{"no-padding", "without padding", "AAA"},
		{"half", "that is not a multiple of four", "AAAAA"},
		{"bits", "with unused bits that are not zero", "AB=="},
		{"padding-inside", "with padding in the middle", "AA==AAAA"},
	} {
		all = append(all,
			bad("b-"+c.name, "b= "+c.what, "one signature has one spelling", late(replaceB("b=", c.text))),
			bad("bh-"+c.name, "bh= "+c.what, "one hash has one spelling", tag("bh", "bh="+c.text)))
	}
	return append(all,
		bad("bh-and-more", "the own bh= with a character behind it", "one hash has one spelling", sign(moreHash)),
		ok("b-folded", "b= with white space and folds inside", "3.5: it is ignored", late(spreadB)),
		bad("b-bits-of-own", "the own b= with unused bits that are not zero", "one signature has one spelling", by("example.org", "corpus-ed"), late(loosenB)))
}

func simple(l *letter) error {
	l.signs[0].Simple = true
	return nil
}

// moreHash puts a character behind bh= that is none of base64.
func moreHash(s *signed.Signature) {
	s.Alter = alsoAlter(s.Alter, func(field string) string {
		return tagPattern("bh").ReplaceAllStringFunc(field, func(tag string) string { return strings.TrimSuffix(tag, ";") + "*;" })
	})
}

var tagB = regexp.MustCompile(`(\r\n b=)([A-Za-z0-9+/=]+)`)

// replaceB puts another tag in the place of the topmost b=.
func replaceB(name, value string) func(string) (string, error) {
	return func(raw string) (string, error) {
		at := tagB.FindStringIndex(raw)
		if at == nil {
			return "", errNothing
		}
		if name == "" {
			return strings.TrimSuffix(raw[:at[0]], ";") + raw[at[1]:], nil
		}
		return raw[:at[0]] + "\r\n " + name + value + raw[at[1]:], nil
	}
}

// spreadB puts white space into the topmost b=.
func spreadB(raw string) (string, error) {
	m := tagB.FindStringSubmatch(raw)
	if m == nil {
		return "", errNothing
	}
	return strings.Replace(raw, m[2], m[2][:10]+" "+m[2][10:20]+"\t"+m[2][20:60]+"\r\n "+m[2][60:], 1), nil
}

// loosenB sets the last of the unused bits of the topmost b=, which decodes to
// the same as before.
func loosenB(raw string) (string, error) {
	m := tagB.FindStringSubmatch(raw)
	if m == nil || !strings.HasSuffix(m[2], "==") {
		return "", errNothing
	}
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	at := len(m[2]) - 3
	other := alphabet[strings.IndexByte(alphabet, m[2][at])|1]
	return strings.Replace(raw, m[2], m[2][:at]+string(other)+"==", 1), nil
}
