package verdict

import (
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/x509"
	"slices"
)

// Bounds on an RSA key in bits. The lower is RFC 8301, 3.2; the upper keeps
// the cost of one verification small. Keys under weakRSA are flagged.
const (
	minRSA  = 1024
	weakRSA = 2048
	maxRSA  = 8192
)

// maxKeyRecord bounds a key record in octets; 8192 bits of RSA need 1.4 KiB.
const maxKeyRecord = 8 << 10

// publicKey is a usable key record (RFC 6376, 3.6.1).
type publicKey struct {
	algorithm string // rsa or ed25519
	rsa       *rsa.PublicKey
	ed25519   ed25519.PublicKey
	testing   bool // t=y
	strict    bool // t=s
	weak      bool
}

// parseKey reads the TXT records found at a key's name and says whether there
// is exactly one key, fit to verify a signature of algorithm a.
func parseKey(records []string, a string) (k publicKey, ok bool) {
	// More than one record is undefined (3.6.2.2): which one would it be?
	if len(records) != 1 {
		return k, false
	}
	if len(records[0]) > maxKeyRecord {
		return k, false
	}
	// What is malformed reads as no tags at all, p= among them.
	tags, _ := strictTags(records[0])
	if v, there := tags["v"]; there && v != "DKIM1" {
		return k, false
	}
	// h= names the hashes that the owner of the key allows.
	if h, there := tags["h"]; there && !slices.Contains(colonList(h), "sha256") {
		return k, false
	}
	// s= names the services that the key is for.
	if s, there := tags["s"]; there && !forMail(colonList(s)) {
		return k, false
	}
	k.algorithm = "rsa"
	if alg, there := tags["k"]; there {
		k.algorithm = alg
	}
	if k.algorithm+"-sha256" != a {
		return k, false
	}
	flags := colonList(tags["t"])
	k.testing, k.strict = slices.Contains(flags, "y"), slices.Contains(flags, "s")
	// An empty p= is a key that was revoked; it decodes to nothing.
	data, ok := decodeBase64(tags["p"])
	if !ok {
		return k, false
	}
	// Go does not say whether a variable is read before a call beside it.
	ok = k.read(data)
	return k, ok
}

func forMail(services []string) bool {
	return slices.Contains(services, "*") || slices.Contains(services, "email")
}

// read reports whether the key data is a key of a size that proves anything.
func (k *publicKey) read(data []byte) (ok bool) {
	if k.algorithm == "ed25519" {
		k.ed25519 = data // RFC 8463, 4
		return len(data) == ed25519.PublicKeySize
	}
	if k.rsa, ok = parseRSA(data); !ok {
		return false
	}
	bits := k.rsa.N.BitLen()
	if bits < minRSA {
		return false
	}
	if bits > maxRSA {
		return false
	}
	k.weak = bits < weakRSA
	return true
}

// parseRSA takes a SubjectPublicKeyInfo or an RSAPublicKey: RFC 6376 says one
// in 3.6.1 and shows the other (erratum 3017), and zones hold both.
func parseRSA(der []byte) (*rsa.PublicKey, bool) {
	if pub, err := x509.ParsePKIXPublicKey(der); err == nil {
		key, ok := pub.(*rsa.PublicKey)
		return key, ok
	}
	key, err := x509.ParsePKCS1PublicKey(der)
	return key, err == nil
}
