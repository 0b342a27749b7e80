package dns

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

const sample = `$TTL 300
s1._domainkey.example.org. IN TXT "v=DKIM1; k=rsa; " "p=AAAA"
two._domainkey.example.org. IN TXT "a"
two._domainkey.example.org. IN TXT "b"
; an owner that no look-up names
s1._domainkey.legitimate.com\(.evil.example. IN TXT "x"
s1._domainkey.example.org'a.evil.example. IN TXT "x"
escapes.example. TXT "a\"b\\c\000\255\;" plain
Capitals.EXAMPLE. TXT "c"
alias.example. CNAME capitals.example.
out.example. CNAME elsewhere.invalid.
loop.example. CNAME pool.example.
pool.example. CNAME loop.example.
double.example. CNAME alias.example.
double.example. CNAME capitals.example.
to-delegated.example. CNAME s.below.example.
other.example. A 192.0.2.1
chaos.example. CH TXT "c"
chaos.example. CH NS elsewhere.invalid.
relative TXT "root"
; a name that is delegated stands for a temporary failure
tempfail._domainkey.example.org. IN NS unreachable.invalid.
below.example. NS ns.below.example.
below.example. TXT "glue of nobody"
apex.example. SOA ns h 1 1 1 1 1
apex.example. NS ns.apex.example.
apex.example. TXT "apex"
s1.apex.example. TXT "own"
$ORIGIN origin.example.
s1 TXT "with origin"
`

func TestZone(t *testing.T) {
	z, err := ReadZone(strings.NewReader(sample))
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name string
		want []string
		err  error
	}{
		{"s1._domainkey.example.org", []string{"v=DKIM1; k=rsa; p=AAAA"}, nil},
		{"S1._domainkey.EXAMPLE.ORG.", []string{"v=DKIM1; k=rsa; p=AAAA"}, nil},
		{"two._domainkey.example.org", []string{"a", "b"}, nil},
		{"escapes.example", []string{"a\"b\\c\x00\xff;plain"}, nil},
		{"capitals.example", []string{"c"}, nil},
		{"alias.example", []string{"c"}, nil},
		{"out.example", nil, nil},
		{"loop.example", nil, errChain},
		{"double.example", nil, errMalformed},
		{"other.example", nil, nil},
		{"chaos.example", nil, nil},
		{"relative", []string{"root"}, nil},
		{"missing.example", nil, nil},
		{"", nil, nil},
		{`s1._domainkey.legitimate.com\(.evil.example`, nil, nil},
		{"tempfail._domainkey.example.org", nil, errServFail},
		{"s.tempfail._domainkey.example.org", nil, errServFail},
		{"below.example", nil, errServFail},
		{"to-delegated.example", nil, errServFail},
		{"apex.example", []string{"apex"}, nil},
		{"s1.apex.example", []string{"own"}, nil},
		{"s1.origin.example", []string{"with origin"}, nil},
	}
	for _, test := range tests {
		got, err := z.LookupTXT(t.Context(), test.name)
		if !slices.Equal(got, test.want) || !errors.Is(err, test.err) || (err == nil) != (test.err == nil) {
			t.Errorf("LookupTXT(%q) = %q, %v, want %q, %v", test.name, got, err, test.want, test.err)
		}
	}
}

func TestLongString(t *testing.T) {
	long := strings.Repeat(`\000x`, 300)
	z, err := ReadZone(strings.NewReader(`a. TXT "` + long + `"`))
	if err != nil {
		t.Fatal(err)
	}
	got, err := z.LookupTXT(t.Context(), "a")
	if err != nil || len(got) != 1 || got[0] != strings.Repeat("\x00x", 300) {
		t.Errorf("LookupTXT: %d records, %v", len(got), err)
	}
}

func TestZoneErrors(t *testing.T) {
	tests := []struct{ name, zone, line string }{
		{"no record", "a. TXT \"x\"\ncanary7f3a9 canary7f3a9\n", "line 2"},
		{"open quote", "a. TXT \"x\nb. TXT y", "line 2"},
		{"unknown type", "\n\n; c\na. IN CANARY7F3A9 x\nb. TXT y\n", "line 4"},
		{"bad escape", "a. TXT \"x\"\nb. TXT \"\\999\"\n", "line 2"},
		{"escape without digits", "b. TXT \"\\12\"\n", "line 1"},
		{"include", "$INCLUDE /etc/passwd\n", "line 1"},
		{"too many", "$GENERATE 1-65535 a$. TXT x\n$GENERATE 1-65535 b$. TXT x\n", "100000"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := ReadZone(strings.NewReader(test.zone))
			if err == nil {
				t.Fatal("no error")
			}
			if s := err.Error(); strings.Contains(strings.ToLower(s), "canary") || !strings.Contains(s, test.line) {
				t.Errorf("%v, want %s and no content", err, test.line)
			}
		})
	}
	broken := errors.New("broken")
	if _, err := ReadZone(iotest.ErrReader(broken)); !errors.Is(err, broken) {
		t.Errorf("a reader that fails: %v", err)
	}
}
