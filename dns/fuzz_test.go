package dns

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/miekg/dns"
)

func TestUnescape(t *testing.T) {
	tests := []struct {
		in, want string
		ok       bool
	}{
		{"", "", true},
		{"plain", "plain", true},
		{`\"\\\;`, `"\;`, true},
		{`\000\127\255`, "\x00\x7f\xff", true},
		{`\0480`, "00", true},
		{`\256`, "", false},
		{`\999`, "", false},
		{`\12`, "", false},
		{`\1x2`, "", false},
		{`\`, "", false},
		{`a\\\`, "", false},
		{"\xff\u200b", "\xff\u200b", true},
	}
	for _, test := range tests {
		if got, ok := unescape(test.in); got != test.want || ok != test.ok {
			t.Errorf("unescape(%q) = %q, %v, want %q, %v", test.in, got, ok, test.want, test.ok)
		}
	}
}

// Whatever octets stand in a record, the same come out of the response.
func FuzzUnescape(f *testing.F) {
	f.Add([]byte("v=DKIM1; p=AAAA"))
	f.Add([]byte("a\"b\\c\x00\xff\\034"))
	f.Fuzz(func(t *testing.T, octets []byte) {
		octets = octets[:min(len(octets), 255)]
		wire := append([]byte{
			0, 1, 0x80, 0x80, 0, 1, 0, 1, 0, 0, 0, 0,
			1, 'a', 0, 0, 16, 0, 1,
			0xc0, 12, 0, 16, 0, 1, 0, 0, 1, 0, byte((len(octets) + 1) >> 8), byte(len(octets) + 1), byte(len(octets)),
		}, octets...)
		m := new(dns.Msg)
		if err := m.Unpack(wire); err != nil {
			t.Fatal(err)
		}
		a, err := read("a.", m)
		if err != nil || !slices.Equal(a.txt, []string{string(octets)}) {
			t.Errorf("read = %q, %v, want %q", a.txt, err, octets)
		}
		_, _ = unescape(string(octets))
	})
}

// Whatever comes over the wire is an answer within the bounds or an error of
// ours.
func FuzzRead(f *testing.F) {
	for _, text := range []string{key + ` 300 IN TXT "a"`, key + " 300 IN CNAME a.example.", key + " 300 IN SOA a b 1 2 3 4 5"} {
		m := new(dns.Msg).SetQuestion(key, dns.TypeTXT)
		m.Response, m.RecursionAvailable = true, true
		m.Answer = []dns.RR{rr(f, text)}
		wire, err := m.Pack()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(wire)
	}
	ours := []error{errServFail, errRefused, errMalformed, errQuestion, errReferral, errChain, errTooLarge}
	f.Fuzz(func(t *testing.T, wire []byte) {
		m := new(dns.Msg)
		if m.Unpack(wire) != nil {
			return
		}
		a, err := read(key, m)
		if err != nil && !slices.ContainsFunc(ours, func(e error) bool { return errors.Is(err, e) }) {
			t.Errorf("error %v", err)
		}
		if n := len(strings.Join(a.txt, "")); n > maxText || a.ttl < 0 {
			t.Errorf("%d octets for %v", n, a.ttl)
		}
	})
}

// A zone file is read or is an error, and what was read can be looked up.
func FuzzZone(f *testing.F) {
	f.Add(sample)
	f.Add("$ORIGIN a.\n@ TXT ( \"x\"\n y )\n")
	f.Fuzz(func(t *testing.T, text string) {
		// Each $GENERATE makes up to 65,535 records, which only costs time.
		if strings.Contains(strings.ToUpper(text), "GENERATE") {
			return
		}
		z, err := ReadZone(strings.NewReader(text))
		if err != nil {
			return
		}
		for name := range z.names {
			_, _ = z.LookupTXT(t.Context(), name)
		}
	})
}
