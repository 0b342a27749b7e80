package quarantine

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"stile/verdict"
)

func TestReduced(t *testing.T) {
	tests := []struct {
		address string
		want    bool
	}{
		{"mallory@evil.example", true},
		{"m@e.x", true},
		{"a.b@evil.example", true},
		{"a_b@mail.evil.example", true},
		{"a+b@evil.example", true},
		{"a-b@ev-il.example", true},
		{"abcdefghijklmnopqrstuvwx@evil.example", true},
		{"a@" + strings.Repeat("x", 32) + ".example", true},
		{"a@xn--bcher-kva.example", true},
		{"a@xn--bcher-kva.xn--p1ai", true},
		{"", false},
		{"evil.example", false},
		{"@evil.example", false},
		{"a@", false},
		{"a@evil", false},
		{"abcdefghijklmnopqrstuvwxy@evil.example", false},
		{"a.b.c@evil.example", false},
		{"a.b-c@evil.example", false},
		{"a@" + strings.Repeat("x", 33) + ".example", false},
		{"a@b.mail.evil.example", false},
		{"a@e-v-il.example", false},
		{"a@xn--b-cher-kva.example", false},
		{"a@x--y.example", false},
		{"Mallory@evil.example", false},
		{"mallory@Evil.example", false},
		{"a@b@evil.example", false},
		{"a b@evil.example", false},
		{"a@evil..example", false},
		{"a@evil.example.", false},
		{"a@ev_il.example", false},
		{"a@ev+il.example", false},
		{"mällory@evil.example", false},
		{"a\n@evil.example", false},
		{`"a"@evil.example`, false},
		{"a@[192.0.2.1]", false},
	}
	for _, test := range tests {
		if got := reduced(test.address); got != test.want {
			t.Errorf("reduced(%q) = %v", test.address, got)
		}
	}
}

// What package verdict reduces fits here, and nothing else that it takes for
// an address does.
func TestReducedAsJudged(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		address := rapid.StringMatching(`[a-z0-9]{1,8}([._+-]?[a-z0-9]{1,9}){0,3}@((xn--)?[a-z0-9]{1,9}(-?[a-z0-9]{1,9}){0,2}\.){1,3}[a-z]{1,9}`).Draw(t, "address")
		if !verdict.ValidAddress(address) {
			t.Fatalf("%q is no address", address)
		}
		message := verdict.Message{Header: []verdict.Field{{Name: "From", Value: " " + address}}, Size: int64(len(address) + 9)}
		claim := verdict.Open(message, verdict.Env{Now: noon}).Claim()
		if got := claim.Reduced(); reduced(address) != (got == address) {
			t.Fatalf("%q: reduced %v, and judged %q", address, reduced(address), got)
		}
	})
}

func TestFits(t *testing.T) {
	for i, edit := range []func(*Record){
		func(*Record) {},
		func(r *Record) { r.Policy = "a" },
		func(r *Record) { r.Policy = "9" + strings.Repeat("-", 31) },
		func(r *Record) { r.Address = Withheld },
		func(r *Record) { r.Address, r.AddressHash = "", "" },
		func(r *Record) { r.Proved = "yes" },
		func(r *Record) { r.Signer = "none" },
		func(r *Record) { r.Size = 0 },
		func(r *Record) { r.QueueID, r.ClientIP = "", "" },
		func(r *Record) { r.QueueID = strings.Repeat("Z", 32) },
		func(r *Record) { r.Evidence = EvidenceFull },
		func(r *Record) { r.Last, r.Count = time.Time{}, -1 }, // are not read
	} {
		s, _ := fresh(t, Limits{})
		r := record(1)
		edit(&r)
		if _, err := s.Add(t.Context(), r); err != nil {
			t.Errorf("edit %d: %v", i, err)
		}
	}
	s, _ := fresh(t, Limits{})
	for n, reason := range verdict.Refusals {
		r := record(n)
		r.Reason = reason
		if _, err := s.Add(t.Context(), r); err != nil {
			t.Errorf("%s: %v", reason, err)
		}
	}
}

// A value that does not fit is refused by its column, and no file holds it.
func TestDoesNotFit(t *testing.T) {
	const canary = "CanAry7f3a9c"
	s, url := fresh(t, Limits{})
	tests := []struct {
		column string
		edit   func(*Record)
	}{
		{"id", func(r *Record) { r.ID = canary }},
		{"id", func(r *Record) { r.ID = strings.ToLower(r.ID) }},
		{"id", func(r *Record) { r.ID = "8" + r.ID[1:] }},
		{"id", func(r *Record) { r.ID = "" }},
		{"time", func(r *Record) { r.Time = time.Time{} }},
		{"time", func(r *Record) { r.Time = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC) }},
		{"policy", func(r *Record) { r.Policy = canary }},
		{"policy", func(r *Record) { r.Policy = "" }},
		{"policy", func(r *Record) { r.Policy = "-a" }},
		{"policy", func(r *Record) { r.Policy = strings.Repeat("a", 33) }},
		{"reason", func(r *Record) { r.Reason = canary }},
		{"reason", func(r *Record) { r.Reason = "" }},
		{"reason", func(r *Record) { r.Reason = verdict.DNS }},
		{"address", func(r *Record) { r.Address = canary }},
		{"address", func(r *Record) { r.Address = canary + " please@evil.example" }},
		{"address_hash", func(r *Record) { r.AddressHash = canary }},
		{"address_hash", func(r *Record) { r.AddressHash = "0000000G" }},
		{"address_hash", func(r *Record) { r.AddressHash = "" }},
		{"address_hash", func(r *Record) { r.Address = "" }},
		{"proved", func(r *Record) { r.Proved = canary }},
		{"proved", func(r *Record) { r.Proved = "" }},
		{"signer", func(r *Record) { r.Signer = canary }},
		{"size", func(r *Record) { r.Size = -1 }},
		{"sha256", func(r *Record) { r.SHA256 = canary }},
		{"sha256", func(r *Record) { r.SHA256 = strings.Repeat("A", 64) }},
		{"queue_id", func(r *Record) { r.QueueID = canary + "\n" }},
		{"queue_id", func(r *Record) { r.QueueID = strings.Repeat("A", 33) }},
		{"client_ip", func(r *Record) { r.ClientIP = canary }},
		{"client_ip", func(r *Record) { r.ClientIP = "192.0.2.1:25" }},
		{"evidence", func(r *Record) { r.Evidence = canary }},
		{"evidence", func(r *Record) { r.Evidence = "" }},
	}
	for i, test := range tests {
		r := record(i)
		test.edit(&r)
		id, err := s.Add(t.Context(), r)
		if !errors.Is(err, ErrRecord) || id != "" {
			t.Errorf("%d, %s: %q, %v", i, test.column, id, err)
			continue
		}
		if text := err.Error(); !strings.HasSuffix(text, ": "+test.column) || strings.Contains(text, canary) {
			t.Errorf("%d, %s: %v", i, test.column, err)
		}
	}
	if all := list(t, s.Reader, Filter{}); len(all) > 0 {
		t.Errorf("kept %v", all)
	}
	dir := filepath.Dir(strings.TrimPrefix(url, "sqlite:"))
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := fs.ReadFile(os.DirFS(dir), path)
		if strings.Contains(string(content), canary) {
			t.Errorf("%s holds the canary", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// Whatever a column is given, a record that is kept reads back as it was.
func TestAnyValue(t *testing.T) {
	s, _ := fresh(t, Limits{})
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		r := record(n)
		columns := []*string{&r.ID, &r.Policy, (*string)(&r.Reason), &r.Address, &r.AddressHash, &r.Proved, &r.Signer, &r.SHA256, &r.QueueID, &r.ClientIP, &r.Evidence}
		column := columns[rapid.IntRange(0, len(columns)-1).Draw(t, "column")]
		*column = rapid.OneOf(rapid.String(), rapid.StringMatching(`[a-z0-9@.:-]{0,12}`), rapid.StringMatching(`[0-9A-HJKMNP-TV-Z]{26}`)).Draw(t, "value")
		id, err := s.Add(t.Context(), r)
		if err != nil {
			if !errors.Is(err, ErrRecord) {
				t.Fatal(err)
			}
			return
		}
		got, err := s.Get(t.Context(), id)
		if err != nil || len(got) != 1 {
			t.Fatalf("Get = %v, %v", got, err)
		}
		r.ClientIP = got[0].ClientIP // in another notation
		if got[0] != r {
			t.Fatalf("Get = %v, want %v", got[0], r)
		}
	})
}
