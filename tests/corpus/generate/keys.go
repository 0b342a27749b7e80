package main

import (
	"bytes"
	"crypto"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/binary"
	"io"
	"math/big"
	"sync"
)

// edKey is the Ed25519 key that a seed stands for.
func edKey(seed string) ed25519.PrivateKey {
	sum := sha256.Sum256([]byte(seed))
	return ed25519.NewKeyFromSeed(sum[:])
}

// rsaKey is an RSA key of any length, the same in every run: it is made of
// small primes, which are found quickly, and signs by arithmetic, since the
// standard library signs with no key that is too short to prove anything.
type rsaKey struct {
	public rsa.PublicKey
	d      *big.Int
}

var (
	rsaKeys  = map[int]*rsaKey{}
	rsaMutex sync.Mutex
)

// rsaOf is the RSA key of that many bits.
func rsaOf(bits int) *rsaKey {
	rsaMutex.Lock()
	defer rsaMutex.Unlock()
	if rsaKeys[bits] == nil {
		rsaKeys[bits] = deriveRSA(bits)
	}
	return rsaKeys[bits]
}

// primeBits is about the length of a prime.
const primeBits = 512

func deriveRSA(bits int) *rsaKey {
	n, phi, one := big.NewInt(1), big.NewInt(1), big.NewInt(1)
	e := big.NewInt(65537)
	for i := 0; n.BitLen() < bits; i++ {
		// The last prime makes up what is missing.
		low, high := new(big.Int).Lsh(one, primeBits-1), new(big.Int).Lsh(one, primeBits)
		if left := bits - n.BitLen(); left < 2*primeBits {
			if left > primeBits+8 {
				left = left / 2
				low, high = new(big.Int).Lsh(one, uint(left-1)), new(big.Int).Lsh(one, uint(left))
			} else {
				low = new(big.Int).Div(new(big.Int).Lsh(one, uint(bits-1)), n)
				high = new(big.Int).Div(new(big.Int).Lsh(one, uint(bits)), n)
			}
		}
		p := primeBetween(low, high, int64(bits), int64(i), e)
		n.Mul(n, p)
		phi.Mul(phi, new(big.Int).Sub(p, one))
	}
	return &rsaKey{public: rsa.PublicKey{N: n, E: 65537}, d: new(big.Int).ModInverse(e, phi)}
}

// primeBetween is the first prime p behind a number that is derived from its
// arguments, such that p-1 has no factor e.
func primeBetween(low, high *big.Int, bits, i int64, e *big.Int) *big.Int {
	var seed [16]byte
	binary.BigEndian.PutUint64(seed[:8], uint64(bits))
	binary.BigEndian.PutUint64(seed[8:], uint64(i))
	var stream []byte
	for block := byte(0); len(stream) < primeBits/8+16; block++ {
		sum := sha256.Sum256(append(seed[:], block))
		stream = append(stream, sum[:]...)
	}
	p := new(big.Int).SetBytes(stream)
	p.Mod(p, new(big.Int).Sub(high, low))
	p.Add(p, low).SetBit(p, 0, 1)
	for two := big.NewInt(2); ; p.Add(p, two) {
		if !p.ProbablyPrime(10) {
			continue
		}
		minus := new(big.Int).Sub(p, big.NewInt(1))
		if new(big.Int).Mod(minus, e).Sign() != 0 {
			return p
		}
	}
}

// Public is the public key, an *rsa.PublicKey.
func (k *rsaKey) Public() crypto.PublicKey { return &k.public }

// prefix is the DigestInfo of SHA-256 (RFC 8017, 9.2).
var prefix = []byte{
	0x30, 0x31, 0x30, 0x0d, 0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x01, 0x05, 0x00, 0x04, 0x20,
}

// Sign is RSASSA-PKCS1-v1_5 with SHA-256 (RFC 8017, 8.2.1).
func (k *rsaKey) Sign(_ io.Reader, digest []byte, _ crypto.SignerOpts) ([]byte, error) {
	size := (k.public.N.BitLen() + 7) / 8
	tail := append(append([]byte{0}, prefix...), digest...)
	em := append([]byte{0, 1}, bytes.Repeat([]byte{0xff}, size-2-len(tail))...)
	m := new(big.Int).SetBytes(append(em, tail...))
	return m.Exp(m, k.d, k.public.N).FillBytes(make([]byte, size)), nil
}
