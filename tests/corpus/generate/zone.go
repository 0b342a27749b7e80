package main

import (
	"crypto"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"strings"
	"sync"

	"stile/tests/corpus"
)

// record is what stands at a name of the zone.
type record struct {
	name   string
	text   string
	noKey  bool          // delegated to a server that does not answer
	signer crypto.Signer // what signs with that selector
}

// String is the record as a line of a master file (RFC 1035, 5.1).
func (r record) String() string {
	if r.noKey {
		return r.name + ". IN NS unreachable.invalid.\n"
	}
	var b strings.Builder
	b.WriteString(r.name + ". IN TXT")
	for s := r.text; ; s = s[min(len(s), 255):] {
		fmt.Fprintf(&b, " \"%s\"", s[:min(len(s), 255)])
		if len(s) <= 255 {
			return b.String() + "\n"
		}
	}
}

// point is p=, the public key in base64.
func point(k crypto.Signer) string {
	if pub, ed := k.Public().(ed25519.PublicKey); ed {
		return base64.StdEncoding.EncodeToString(pub)
	}
	return base64.StdEncoding.EncodeToString(spki(k.Public()))
}

func spki(public any) []byte {
	der, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		panic(err) // of a key of ours
	}
	return der
}

// keyRecord is the key record in its usual form.
func keyRecord(k crypto.Signer) string {
	if _, isRSA := k.Public().(*rsa.PublicKey); isRSA {
		return "v=DKIM1; k=rsa; p=" + point(k)
	}
	return "v=DKIM1; k=ed25519; p=" + point(k)
}

// keyOf is the key that signs with a selector: its record's or, where it says
// nothing, the usual one.
func keyOf(selector string) crypto.Signer {
	for _, r := range records() {
		if strings.HasPrefix(r.name, selector+"._domainkey.") && r.signer != nil {
			return r.signer
		}
	}
	return rsaOf(2048)
}

// longDomain is the domain of corpus.LongAddress.
var _, longDomain, _ = strings.Cut(corpus.LongAddress, "@")

// records are all of ours.
var records = sync.OnceValue(allRecords)

func allRecords() []record { return append(plainRecords(), keyRecords()...) }
