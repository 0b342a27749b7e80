package verdict

import (
	"crypto"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/sha256"
	"strings"
)

// holds reports whether the signature's b= is the key's signature of the
// header hash (RFC 6376, 3.7). It reads the header alone.
func (s *signature) holds(header []Field) bool {
	sum := sha256.Sum256([]byte(s.signedData(header)))
	if s.key.algorithm == "ed25519" {
		return ed25519.Verify(s.key.ed25519, sum[:], s.strict.signature) // RFC 8463, 3
	}
	return rsa.VerifyPKCS1v15(s.key.rsa, crypto.SHA256, sum[:], s.strict.signature) == nil
}

// signedData is what the header hash is over: the fields that the signature
// takes, in the order of h=, then its own field with an empty b= and without
// the last line end.
func (s *signature) signedData(header []Field) string {
	canonical := Field.relaxed
	if s.strict.simpleHeader {
		canonical = Field.raw
	}
	var data strings.Builder
	for _, i := range s.cover.order {
		data.WriteString(canonical(header[i]))
	}
	own := header[s.at]
	own.Value = emptySignature(own.Value)
	data.WriteString(strings.TrimSuffix(canonical(own), "\r\n"))
	return data.String()
}

// relaxed is the field under relaxed canonicalization (RFC 6376, 3.4.2).
func (f Field) relaxed() string { return lowerASCII(f.Name) + ":" + Relaxed(f.Value) + "\r\n" }

// emptySignature takes the value of b= out of a tag list, with the white space
// around it.
func emptySignature(list string) string {
	specs := strings.Split(list, ";")
	for i, spec := range specs {
		if name, _, ok := strings.Cut(spec, "="); ok && strings.Trim(name, fws) == "b" {
			specs[i] = name + "="
		}
	}
	return strings.Join(specs, ";")
}
