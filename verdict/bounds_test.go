package verdict

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"io"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestHeaderSizes: names, colons and line ends count, and a limit is the
// largest size allowed.
func TestHeaderSizes(t *testing.T) {
	const from = "From: a@b.example"
	filler := func(octets int) Field { return Field{Name: "X", Value: strings.Repeat("a", octets-4)} }
	for over, want := range map[int]Reason{0: "", 1: TooLarge} {
		header := fields(from)
		for left := 256<<10 - len(from) - 2 + over; left > 0; left -= min(left, 60<<10) {
			header = append(header, filler(min(left, 60<<10)))
		}
		if got := Open(Message{Header: header}, Env{}).fault; got != want {
			t.Errorf("header %d octets over: %q", over, got)
		}
		if got := Open(Message{Header: append(fields(from), filler(64<<10+over))}, Env{}).fault; got != want {
			t.Errorf("field %d octets over: %q", over, got)
		}
		folded := Field{Name: "X", Value: strings.Repeat("\r\n a", 3999+over)}
		if got := Open(Message{Header: append(fields(from), folded)}, Env{}).fault; got != want {
			t.Errorf("field %d lines over: %q", over, got)
		}
	}
	for size, want := range map[int64]Reason{99: "", 100: "", 101: TooLarge} {
		if got := Open(Message{Header: fields(from), Size: size}, Env{MaxMessage: 100}).fault; got != want {
			t.Errorf("%d octets of 100: %q", size, got)
		}
		if got := Open(Message{Header: fields(from), Size: size}, Env{}).fault; got != "" {
			t.Errorf("%d octets without a limit: %q", size, got)
		}
	}
}

// TestTimes: each allowance is the largest allowed, by the second.
func TestTimes(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	day := 24 * time.Hour
	sign := func(tags string) (*signature, []Field) {
		header := append(fields("DKIM-Signature:d=b.example;h=from:date;"+tags), fields("From: a@b.example", "Date: Tue, 14 Nov 2023 22:13:20 +0000")...)
		return openSignatures(header, "b.example")[0], header
	}
	for _, c := range []struct {
		tags  string
		later time.Duration
		fresh bool
		valid bool
	}{
		{"t=1700000000", 0, true, true},
		{"t=1700000000", 7 * day, true, true},
		{"t=1700000000", 7*day + time.Second, false, true},
		{"t=1700000000", -10 * time.Minute, true, true},
		{"t=1700000000", -10*time.Minute - time.Second, false, false},
		{"", 7 * day, true, true},
		{"", 7*day + time.Second, false, true},
		{"", -day, true, true},
		{"", -day - time.Second, false, true},
		{"t=", 8 * day, true, false},
		{"t=x", 8 * day, true, false},
		{"t=1700000000; x=1700000000", 0, true, true},
		{"t=1700000000; x=1700000000", time.Second, true, false},
		{"t=1700000001; x=1700000000", 0, true, false},
		{"t=1700000000; x=1699999999", -time.Minute, true, false},
		{"x=1700000000", -time.Minute, true, true},
		{"x=1700000000", time.Second, true, false},
		{"x=", 0, true, false},
		{"x=never", 0, true, false},
		{"x=9999999999999", 0, true, false},
	} {
		s, _ := sign(c.tags)
		if got := s.fresh(now.Add(c.later), 7*day); got != c.fresh {
			t.Errorf("%q after %v: fresh %v", c.tags, c.later, got)
		}
		if got := s.checkTimes(now.Add(c.later)); got != c.valid {
			t.Errorf("%q after %v: valid %v", c.tags, c.later, got)
		}
	}
	if s, _ := sign("t=1700000005"); !s.time.Equal(time.Unix(1_700_000_005, 0)) || s.time.Location() != time.UTC || !s.dated || s.brokenTime() {
		t.Errorf("t= is %v, %v", s.time, s.dated)
	}
	if s, _ := sign(""); !s.time.Equal(now) || s.time.Location() != time.UTC || !s.dated || s.brokenTime() {
		t.Errorf("Date is %v, %v", s.time, s.dated)
	}
	if s, _ := sign("t=soon"); s.dated || !s.brokenTime() {
		t.Errorf("t= in words is %v, %v", s.time, s.dated)
	}
	for value, ok := range map[string]bool{
		" Tue, 14 Nov 2023 22:13:20 +0000": true, "\t14 Nov 2023 22:13:20 +0000 ": true, "\r\n Tue, 14 Nov 2023\r\n\t22:13:20 +0000": true,
		"Tue,  14\tNov 2023 22:13:20 +0000": true, "Tue, 14 Nov 2023 23:13:20 +0100 (CET)": true, "": false, "yesterday": false,
	} {
		if got, read := parseDate(value); read != ok || ok && !got.Equal(now) || got.Location() != time.UTC {
			t.Errorf("Date %q: %v, %v", value, got, read)
		}
	}
}

// TestAlignment: d= is the From domain, as a plain name, in any place of the
// list; the domain of i= is that or below it.
func TestAlignment(t *testing.T) {
	for list, want := range map[string]bool{
		"d=b.example": true, "d= b.example ": true, "a=x; d=B.Example; d=c": true, "d=c; d=b.example": true,
		"d=b.example.": false, "d=c.b.example": false, "d=example": false, "d=b .example": false, "D=b.example": false,
		"e=b.example": false, "d=": false, "": false, "d=xb.example": false, "d=b\u3002example": false,
	} {
		if got := alignedDomain(looseTags(list), "b.example"); got != want {
			t.Errorf("%q is aligned: %v", list, got)
		}
	}
	for i, want := range map[string]bool{
		"@b.example": true, "x@B.Example": true, "x@y@b.example": true, "@c.b.example": true, "x@example": false,
		"x@cb.example": false, "x": false, "": false, "b.example": false, "x@": false, "x@.b.example": false, "x@c..b.example": false,
	} {
		var s signature
		if got := s.checkIdentity(map[string]string{"i": i}, "b.example"); got != want {
			t.Errorf("i=%s: %v", i, got)
		}
	}
	var s signature
	if !s.checkIdentity(nil, "b.example") || s.strict.auidDomain != "b.example" {
		t.Errorf("without i= it is %q", s.strict.auidDomain)
	}
	if got := keyName("S1", "b.example"); got != "s1._domainkey.b.example" {
		t.Errorf("the key is at %s", got)
	}
	s.strict = strictSignature{selector: "s1", signature: []byte("abc")}
	if want := sha256.Sum256([]byte("b.example\x00s1\x00abc")); s.digest("b.example") != want {
		t.Error("the digest is another")
	}
	if want := fmt.Sprintf("%x", sha256.Sum256([]byte("s1._domainkey.b.example")))[:16]; s.keyID("b.example") != want {
		t.Error("the key's name is another")
	}
}

// TestSignatureBounds: 16 KiB in one field, names, colon and line end counted,
// and each tag that must be there.
func TestSignatureBounds(t *testing.T) {
	const good = "v=1;a=rsa-sha256;d=b.example;s=x;h=from;bh=QUJD;b=QUJD"
	valid := func(list string) bool {
		var s signature
		return s.checkSyntax(Field{Name: "DKIM-Signature", Value: list}, "b.example")
	}
	for list, want := range map[string]bool{
		good: true, good + ";": true, good + ";;": false, good + ";q=dns/txt": true, good + ";q=dns": false,
		strings.Replace(good, "v=1;", "", 1): false, strings.Replace(good, "v=1", "v=2", 1): false,
		strings.Replace(good, "a=rsa-sha256;", "", 1): false, strings.Replace(good, "rsa-sha256", "rsa-sha1", 1): false,
		strings.Replace(good, "rsa-sha256", "ed25519-sha256", 1): true, strings.Replace(good, "rsa-sha256", "RSA-SHA256", 1): false,
		strings.Replace(good, "s=x;", "", 1): false, strings.Replace(good, "bh=QUJD;", "", 1): false, strings.Replace(good, ";b=QUJD", "", 1): false,
		strings.Replace(good, "bh=QUJD", "bh=QUJ", 1): false, strings.Replace(good, ";b=QUJD", ";b=QUJ", 1): false,
		good + ";c=relaxed": true, good + ";c=other": false,
		good + ";n=" + strings.Repeat("x", 16<<10-len("DKIM-Signature:")-len(good)-len(";n=")-len("\r\n")):   true,
		good + ";n=" + strings.Repeat("x", 16<<10-len("DKIM-Signature:")-len(good)-len(";n=")-len("\r\n")+1): false,
	} {
		if got := valid(list); got != want {
			t.Errorf("%.90q of %d octets: %v", list, len(list), got)
		}
	}
}

// TestKeySizes: RSA from 1024 to 8192 bits, under 2048 flagged; Ed25519 of 32
// octets; a record of 8 KiB.
func TestKeySizes(t *testing.T) {
	record := func(bits uint) string {
		n := new(big.Int).SetBit(new(big.Int).Lsh(big.NewInt(1), bits-1), 0, 1)
		der := x509.MarshalPKCS1PublicKey(&rsa.PublicKey{N: n, E: 65537})
		return "p=" + base64.StdEncoding.EncodeToString(der)
	}
	for bits, want := range map[uint]struct{ ok, weak bool }{
		1023: {false, false}, 1024: {true, true}, 1025: {true, true}, 2047: {true, true}, 2048: {true, false}, 2049: {true, false},
		8191: {true, false}, 8192: {true, false}, 8193: {false, false},
	} {
		if k, ok := parseKey([]string{record(bits)}, "rsa-sha256"); ok != want.ok || ok && k.weak != want.weak {
			t.Errorf("%d bits: %v, weak %v", bits, ok, k.weak)
		}
	}
	for octets, want := range map[int]bool{31: false, 32: true, 33: false} {
		key := "k=ed25519;p=" + base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{7}, octets))
		if k, ok := parseKey([]string{key}, "ed25519-sha256"); ok != want || ok && k.weak {
			t.Errorf("Ed25519 of %d octets: %v, weak %v", octets, ok, k.weak)
		}
	}
	good := record(2048) + ";n="
	for over, want := range map[int]bool{0: true, 1: false} {
		if _, ok := parseKey([]string{good + strings.Repeat("x", 8<<10-len(good)+over)}, "rsa-sha256"); ok != want {
			t.Errorf("a record %d octets over: %v", over, ok)
		}
	}
	for tags, want := range map[string]string{
		"": "", "t=y": "y", "t=s": "s", "t=y:s": "ys", "t= s : y ": "ys", "t=z:y": "y", "t=Y": "", "t=ys": "",
	} {
		k, ok := parseKey([]string{record(2048) + ";" + tags}, "rsa-sha256")
		got := map[bool]string{true: "y"}[k.testing] + map[bool]string{true: "s"}[k.strict]
		if !ok || got != want {
			t.Errorf("%s: %v, %q", tags, ok, got)
		}
	}
}

// TestCoverage: RFC 6376, 5.4.2: from the bottom, as often as the name is given.
func TestCoverage(t *testing.T) {
	header := fields("A: 1", "b: 2", "a: 3", "C: 4", "A: 5")
	for _, c := range []struct {
		names string
		order []int
	}{
		{"a", []int{4}}, {"A:a", []int{4, 2}}, {"a:a:a", []int{4, 2, 0}}, {"a:a:a:a", []int{4, 2, 0}}, {"b:a:d", []int{1, 4}}, {"d", nil}, {"C:B", []int{3, 1}},
	} {
		got := cover(header, strings.Split(c.names, ":"))
		if !slices.Equal(got.order, c.order) {
			t.Errorf("h=%s takes %v, want %v", c.names, got.order, c.order)
		}
		for i, covered := range got.fields {
			if covered != slices.Contains(c.order, i) {
				t.Errorf("h=%s, field %d: %v", c.names, i, covered)
			}
		}
	}
	one, two := cover(header, []string{"a", "b", "x", "z"}), cover(header, []string{"A", "a", "c", "X"})
	both := one.both(two)
	if !slices.Equal(both.fields, []bool{false, false, false, false, true}) {
		t.Errorf("both cover %v", both.fields)
	}
	for name, want := range map[string]bool{"A": true, "b": false, "C": false, "x": true, "y": false, "z": false} {
		if got := both.covers(header, name); got != want {
			t.Errorf("both cover %s: %v", name, got)
		}
	}
	if one.covers(header, "C") || !one.covers(header, "X") || !two.covers(header, "a") {
		t.Error("one of the two changed")
	}
	for value, want := range map[string]string{"": "", " ": "", " a \t b\r\n\tc ": "a b c", "a\u00a0b": "a\u00a0b", "a\vb": "a\vb", "A": "A"} {
		if got := Relaxed(value); got != want {
			t.Errorf("%q is relaxed to %q", value, got)
		}
	}
}

// TestSplitAnywhere: line ends of a file are told from its first CRLF, wherever
// it is, and a header is cut from the body at the first empty line.
func TestSplitAnywhere(t *testing.T) {
	for _, n := range []int{1, 32<<10 - 2, 32<<10 - 1, 32 << 10, 64<<10 - 1} {
		head := "A: b\n"
		raw := head + strings.Repeat("x", n-len("\r")) + "\r\n\r\nbody"
		m, err := Split(io.NewSectionReader(strings.NewReader(raw), 0, int64(len(raw))))
		if err != nil || len(m.Header) != 1 || m.Body.Size() != 4 {
			t.Errorf("CRLF behind %d octets: %d fields, %v", n, len(m.Header), err)
		}
		raw = strings.Repeat("x", n) + "\n\nbody"
		if m, err = Split(io.NewSectionReader(strings.NewReader(raw), 0, int64(len(raw)))); err != nil || m.Body.Size() != 4 || m.Header[0].Name != raw[:n] {
			t.Errorf("LF behind %d octets: a body of %d, %v", n, m.Body.Size(), err)
		}
		raw = strings.Repeat("x", n) + "\r" + "y\n\nbody\r"
		if m, err = Split(io.NewSectionReader(strings.NewReader(raw), 0, int64(len(raw)))); err != nil || m.Body.Size() != 5 {
			t.Errorf("CR and LF apart: a body of %d, %v", m.Body.Size(), err)
		}
	}
	for raw, want := range map[string][]Field{
		"A:b\r\n c\r\n\td\r\n\r\n": {{Name: "A", Value: "b\r\n c\r\n\td"}},
		"\tA:b\r\n c\r\n\r\n":      {{Name: "\tA", Value: "b\r\n c"}},
		"A\r\n:b\r\n\r\n":          {{Name: "A", NoColon: true}, {Value: "b"}},
		"A:b:c\r\nD:":              {{Name: "A", Value: "b:c"}, {Name: "D"}},
		"A:b\r\n":                  {{Name: "A", Value: "b"}},
		"A:b\n\r\nC:d":             {{Name: "A", Value: "b\n"}, {Name: "C", Value: "d"}},
	} {
		m, err := Split(io.NewSectionReader(strings.NewReader(raw), 0, int64(len(raw))))
		if err != nil || !slices.Equal(m.Header, want) || m.Size != int64(len(raw)) || m.Body == nil {
			t.Errorf("%q: %v, %v", raw, m.Header, err)
		}
	}
}

// TestKeyedHash: HMAC-SHA-256 of the address, its first four octets.
func TestKeyedHash(t *testing.T) {
	key := make([]byte, 32)
	rand.Read(key)
	h := hmac.New(sha256.New, key)
	io.WriteString(h, "a@b.example")
	if got, want := (Claim{"a@b.example"}).Hash(key), fmt.Sprintf("%x", h.Sum(nil))[:8]; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestShortBodies: every body of up to five octets of these four.
func TestShortBodies(t *testing.T) {
	bodies := []string{""}
	for from := 0; len(bodies[from]) < 5; from++ {
		for _, c := range []string{"a", " ", "\r", "\n"} {
			bodies = append(bodies, bodies[from]+c)
		}
	}
	for _, body := range bodies {
		for _, simple := range []bool{false, true} {
			want := sha256.Sum256([]byte(naiveBody(body, simple)))
			if got := hashBody(strings.NewReader(body), int64(len(body)), simple); !bytes.Equal(got.sum, want[:]) {
				t.Errorf("body %q, simple %v: canonical form is not %q", body, simple, naiveBody(body, simple))
			}
		}
	}
}
