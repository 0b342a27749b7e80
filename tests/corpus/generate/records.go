package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"math/big"
	"strings"

	"stile/tests/corpus"
	"stile/verdict"
)

// longSelector is a label of the most octets.
var longSelector = strings.Repeat("s", 63)

// plainRecords are keys that verify.
func plainRecords() []record {
	usual, ed := keyRecord(rsaOf(2048)), edKey("corpus")
	var all []record
	for _, d := range []string{
		"example.org", "sub.example.org", "evil.example", "example.com", "list.example", "badexample.org",
		"example.org.evil.example", "xn--exmple-4nf.org", "xn--bcher-kva.example", longDomain,
	} {
		all = append(all, record{name: "corpus._domainkey." + d, text: usual})
	}
	for _, s := range []string{"corpus_1", "a.corpus", longSelector, "corpus-other-1", "corpus-other-2", "corpus-other-3", "corpus-other-4"} {
		all = append(all, record{name: s + "._domainkey.example.org", text: usual})
	}
	return append(all,
		record{name: "corpus-ed._domainkey.example.org", text: keyRecord(ed), signer: ed},
		record{name: "corpus-dead._domainkey.example.org", noKey: true},
		record{name: "corpus-dead._domainkey.evil.example", noKey: true},
		record{name: "corpus-dead-1._domainkey.example.org", noKey: true},
		record{name: "corpus-dead-2._domainkey.example.org", noKey: true},
		record{name: "corpus-dead-3._domainkey.example.org", noKey: true},
		record{name: "corpus-dead-4._domainkey.example.org", noKey: true},
	)
}

// keyCase is a key record, and what becomes of mail that it signed.
type keyCase struct {
	selector, what, why string
	record              record
	edits               []edit
	keys                corpus.Keys
}

// unusable are key records that prove nothing (RFC 6376, 3.6.1).
func unusable() []keyCase {
	p, ed := "p="+point(rsaOf(2048)), edKey("corpus")
	text := func(s string) record { return record{text: s} }
	all := []keyCase{
		{selector: "no-record", what: "no key record", why: "3.6.2.2"},
		{selector: "empty-record", what: "an empty record", why: "no p=", record: text("")},
		{selector: "revoked", what: "an empty p=", why: "revoked", record: text("v=DKIM1; k=rsa; p=")},
		{selector: "p-and-more", what: "p= with a character behind it", why: "one key has one spelling", record: text("v=DKIM1; k=rsa; " + p + "*")},
		{selector: "no-p", what: "no p=", why: "required", record: text("v=DKIM1; k=rsa")},
		{selector: "spf", what: "another kind of record", why: "no key", record: text("v=spf1 -all")},
		{selector: "text", what: "a text", why: "no tag list", record: text("this is no key " + p)},
		{selector: "tag-twice", what: "two p=", why: "3.2: the tag list is invalid", record: text("v=DKIM1; " + p + "; " + p)},
		{selector: "tag-empty", what: "an empty tag", why: "3.2: the tag list is invalid", record: text("v=DKIM1;; " + p)},
		{selector: "v-2", what: "v=DKIM2", why: "another version", record: text("v=DKIM2; " + p)},
		{selector: "v-case", what: "v=dkim1", why: "values compare with case", record: text("v=dkim1; " + p)},
		{selector: "v-empty", what: "an empty v=", why: "another version", record: text("v=; " + p)},
		{selector: "sha1", what: "h=sha1", why: "not for this hash", record: text("v=DKIM1; h=sha1; " + p)},
		{selector: "h-empty", what: "an empty h=", why: "for no hash", record: text("v=DKIM1; h=; " + p)},
		{selector: "service", what: "s=tlsrpt", why: "not for e-mail", record: text("v=DKIM1; s=tlsrpt; " + p)},
		{selector: "service-empty", what: "an empty s=", why: "for no service", record: text("v=DKIM1; s=; " + p)},
		{selector: "k-ed", what: "k=ed25519 for an rsa-sha256 signature", why: "not for this algorithm", record: text("v=DKIM1; k=ed25519; " + p)},
		{selector: "k-unknown", what: "an unknown k=", why: "not for this algorithm", record: text("v=DKIM1; k=dsa; " + p)},
		{selector: "k-upper-case", what: "k=RSA", why: "values compare with case", record: text("v=DKIM1; k=RSA; " + p)},
		{selector: "k-rsa", what: "an RSA key for an ed25519-sha256 signature", why: "not for this algorithm", record: record{text: "v=DKIM1; " + p, signer: ed}},
		{selector: "base64", what: "p= with foreign characters", why: "malformed", record: text("v=DKIM1; p=@@@@")},
		{selector: "base64-half", what: "half of p=", why: "malformed", record: text("v=DKIM1; " + p[:len(p)/2+1])},
		{selector: "der", what: "p= that is no key", why: "malformed", record: text("v=DKIM1; p=AAAA")},
		{selector: "der-tail", what: "p= with an octet behind the key", why: "malformed", record: text("v=DKIM1; p=" + base64.StdEncoding.EncodeToString(append(spki(rsaOf(2048).Public()), 0)))},
		{selector: "elliptic", what: "p= with a P-256 key", why: "no RSA key", record: text("v=DKIM1; p=" + base64.StdEncoding.EncodeToString(spki(p256())))},
		{selector: "ed-short", what: "an Ed25519 key of 31 octets", why: "32 octets (RFC 8463, 4)", record: record{text: "v=DKIM1; k=ed25519; p=" + base64.StdEncoding.EncodeToString(ed[32:63]), signer: ed}},
		{selector: "ed-long", what: "an Ed25519 key of 33 octets", why: "32 octets (RFC 8463, 4)", record: record{text: "v=DKIM1; k=ed25519; p=" + base64.StdEncoding.EncodeToString(append(ed[32:64:64], 0)), signer: ed}},
		{selector: "ed-spki", what: "an Ed25519 key as SubjectPublicKeyInfo", why: "the octets alone (RFC 8463, 4)", record: record{text: "v=DKIM1; k=ed25519; p=" + base64.StdEncoding.EncodeToString(spki(ed.Public())), signer: ed}},
		{selector: "rsa-512", what: "an RSA key of 512 bits", why: "RFC 8301, 3.2", record: ofRSA(512)},
		{selector: "rsa-1023", what: "an RSA key of 1023 bits", why: "RFC 8301, 3.2", record: ofRSA(1023)},
		{selector: "rsa-8193", what: "an RSA key of 8193 bits", why: "over our bound", record: ofRSA(8193)},
		{selector: "record-8k-and-one", what: "a key record of 8 KiB and an octet", why: "over our bound", record: text(padded(8<<10 + 1))},
		{selector: "strict", what: "t=s, i= at a subdomain", why: "3.6.1: the domain of i= is d= itself", record: text("v=DKIM1; t=s; " + p), edits: []edit{tags("i=alice@mail.example.org;")}},
		{selector: "strict-testing", what: "t=y:s, i= at a subdomain", why: "3.6.1: the domain of i= is d= itself", record: text("v=DKIM1; t=y:s; " + p), edits: []edit{tags("i=alice@mail.example.org;")}},
	}
	return all
}

// usable are key records that look odd and prove the domain.
func usable() []keyCase {
	p, ed := "p="+point(rsaOf(2048)), edKey("corpus")
	text := func(s string) record { return record{text: s} }
	flag := func(f verdict.Flag) corpus.Keys {
		return corpus.Keys{Rendering: corpus.Rendering{Flags: []verdict.Flag{f}}}
	}
	return []keyCase{
		{selector: "p-only", what: "p= alone", why: "all else has a default", record: text(p)},
		{selector: "v-last", what: "v= at the end", why: "it may stand anywhere", record: text(p + "; v=DKIM1;")},
		{selector: "unknown-tags", what: "g= and n=", why: "unknown tags are ignored", record: text("v=DKIM1; g=*; n=a note; " + p)},
		{selector: "h-list", what: "h=sha1:sha256", why: "for this hash too", record: text("v=DKIM1; h=sha1 : sha256; " + p)},
		{selector: "s-list", what: "s=tlsrpt:email", why: "for e-mail too", record: text("v=DKIM1; s=tlsrpt : email; " + p)},
		{selector: "s-all", what: "s=*", why: "for every service", record: text("v=DKIM1; s=*; " + p)},
		{selector: "p-spaced", what: "white space in p=", why: "3.6.1: it is ignored", record: text("v=DKIM1; " + p[:50] + " " + p[50:100] + "  " + p[100:])},
		{selector: "pkcs1", what: "p= as RSAPublicKey", why: "erratum 3017 of RFC 6376", record: text("v=DKIM1; p=" + base64.StdEncoding.EncodeToString(x509.MarshalPKCS1PublicKey(&rsaOf(2048).public)))},
		{selector: "testing", what: "t=y", why: "it proves the domain as well", record: text("v=DKIM1; t=y; " + p), keys: flag(verdict.TestingKey)},
		{selector: "flags-unknown", what: "an unknown flag in t=", why: "3.6.1: it is ignored", record: text("v=DKIM1; t=z:y; " + p), keys: flag(verdict.TestingKey)},
		{selector: "strict-same", what: "t=s, i= at d=", why: "3.6.1", record: text("v=DKIM1; t=s; " + p), edits: []edit{tags("i=alice@example.org;")}},
		{selector: "strict-none", what: "t=s, no i=", why: "3.5: i= is @ and d= then", record: text("v=DKIM1; t=s; " + p)},
		{selector: "rsa-1024", what: "an RSA key of 1024 bits", why: "RFC 8301, 3.2", record: ofRSA(1024), keys: flag(verdict.WeakKey)},
		{selector: "rsa-2047", what: "an RSA key of 2047 bits", why: "RFC 8301, 3.2", record: ofRSA(2047), keys: flag(verdict.WeakKey)},
		{selector: "rsa-4096", what: "an RSA key of 4096 bits", why: "RFC 8301, 3.2", record: ofRSA(4096)},
		{selector: "rsa-8192", what: "an RSA key of 8192 bits", why: "the most that is taken", record: ofRSA(8192)},
		{selector: "record-8k", what: "a key record of 8 KiB", why: "the most that is taken", record: text(padded(8 << 10))},
		{selector: "ed-testing", what: "an Ed25519 key with t=y", why: "it proves the domain as well", record: record{text: "v=DKIM1; k=ed25519; t=y; p=" + point(ed), signer: ed}, keys: flag(verdict.TestingKey)},
	}
}

func ofRSA(bits int) record { return record{text: keyRecord(rsaOf(bits)), signer: rsaOf(bits)} }

// padded is a key record of n octets.
func padded(n int) string {
	text := keyRecord(rsaOf(2048)) + "; n="
	return text + filler(n-len(text))
}

// p256 is the generator of that curve: a key whose private half is one.
func p256() *ecdsa.PublicKey {
	c := elliptic.P256()
	x, y := c.ScalarBaseMult(big.NewInt(1).Bytes())
	return &ecdsa.PublicKey{Curve: c, X: x, Y: y}
}

// name is where the case's record stands.
func (k keyCase) name() string { return "key-" + k.selector }

func (k keyCase) at() record {
	r := k.record
	r.name = k.name() + "._domainkey.example.org"
	return r
}

func keyRecords() (all []record) {
	for _, k := range append(unusable(), usable()...) {
		if k.selector != "no-record" {
			all = append(all, k.at())
		}
	}
	usual := keyRecord(rsaOf(2048))
	return append(all,
		record{name: "key-several._domainkey.example.org", text: usual},
		record{name: "key-several._domainkey.example.org", text: "v=spf1 -all"},
		record{name: "key-same-twice._domainkey.example.org", text: usual},
		record{name: "key-same-twice._domainkey.example.org", text: usual + " "})
}

// keyMessages are messages signed by the keys above, one each.
func keyMessages() (all []recipe) {
	for _, k := range unusable() {
		all = append(all, message("refuse/bad-key/"+k.name(), k.what, k.why, append(k.edits, by("example.org", k.name()))...))
	}
	for _, k := range usable() {
		all = append(all, message("accept/"+k.name(), k.what, k.why, append(k.edits, by("example.org", k.name()))...).with(k.keys))
	}
	key := func(name, what, why string, edits ...edit) recipe {
		return message("refuse/bad-key/"+name, what, why, edits...)
	}
	dead := signature("example.org", "corpus-dead")
	revoked := signature("example.org", "key-revoked")
	return append(all,
		key("key-several", "two records at the key's name", "which would it be? (3.6.2.2)", by("example.org", "key-several")),
		key("key-same-twice", "the same record twice", "which would it be? (3.6.2.2)", by("example.org", "key-same-twice")),
		key("two-keys", "two signatures, both of a key that is revoked", "no candidate has a key", by("example.org", "key-no-p"), also(revoked)),
		key("key-and-changed-body", "a revoked key and a changed header", "an unusable key decides before the signature is computed", by("example.org", "key-revoked"), swap("Weekly numbers", "Pay now")),
		bad("key-beside-changed", "a revoked key, and a signature that does not verify", "bad-signature if any candidate has it", swap("Weekly numbers", "Pay now"), also(revoked)),
		message("accept/revoked-beside-good", "a revoked key above a good one", "all conditions hold for one and the same signature", also(revoked)),
		message("accept/dead-beside-good", "a key without an answer above a good one", "all conditions hold for one and the same signature", also(dead)),
		message("defer/four-dead", "four keys without an answer, and a fifth that verifies", "a fifth key is not asked for, and each of the four may be the one that proves it", fourDead),
		message("defer/dead", "the key has no answer", "no decision now", by("example.org", "corpus-dead")),
		message("defer/dead-beside-changed", "a key without an answer, and a signature that does not verify", "the one without an answer may be the one that proves it", changedBelow, also(dead)),
		message("defer/dead-beside-revoked", "a key without an answer, and a revoked one", "the one without an answer may be the one that proves it", by("example.org", "corpus-dead"), also(revoked)),
		bad("dead-and-changed-body", "a key without an answer, and a changed body", "what fails without the key asks nothing and cannot defer", by("example.org", "corpus-dead"), swap("wiki page", "evil page")),
		message("refuse/stale/dead-and-old", "a key without an answer, and an old signature", "what fails without the key asks nothing and cannot defer", by("example.org", "corpus-dead"), dated(signedAt.AddDate(0, 0, -30))).with(corpus.Keys{Policy: "aged"}),
		message("refuse/length-tag/dead-and-length", "a key without an answer, and l=", "what fails without the key asks nothing and cannot defer", by("example.org", "corpus-dead"), tags("l=5;")),
		message("defer/bound", "the bound on look-ups is reached", "no decision now").with(corpus.Keys{Fails: "bound", Deferral: string(verdict.Busy)}),
		message("defer/body", "the body cannot be read", "nothing is decided on a message that could not be read").with(corpus.Keys{Fails: "body", Deferral: string(verdict.Internal)}),
	)
}

// fourDead puts four signatures on top whose keys have no answer.
func fourDead(l *letter) error {
	for i := range maxKeys {
		l.signs = append(l.signs, signature("example.org", fmt.Sprintf("corpus-dead-%d", i+1)))
	}
	return nil
}

// changedBelow makes the base's signature one that does not verify.
func changedBelow(l *letter) error {
	l.signs[0].Key = rsaOf(1024)
	return nil
}
