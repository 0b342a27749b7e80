package quarantine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"

	"stile/verdict"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// record is a valid record, unlike any other of the test.
func record(n int) Record {
	return Record{
		ID:          newID(noon.Add(time.Duration(n)*time.Second), n),
		Time:        noon.Add(time.Duration(n) * time.Second),
		Last:        noon.Add(time.Duration(n) * time.Second),
		Policy:      "shopping",
		Reason:      verdict.Unlisted,
		Address:     "mallory@evil.example",
		AddressHash: fmt.Sprintf("%08x", n),
		Proved:      "unknown",
		Size:        1234,
		SHA256:      fmt.Sprintf("%064x", n),
		QueueID:     "4XyZ1q",
		ClientIP:    "192.0.2.1",
		Evidence:    EvidenceNone,
		Count:       1,
	}
}

// newID is the ULID of a time and a number.
func newID(at time.Time, n int) string {
	var id ulid.ULID
	if err := id.SetTime(ulid.Timestamp(at)); err != nil {
		panic(err)
	}
	if err := id.SetEntropy([]byte(fmt.Sprintf("%010d", n))); err != nil {
		panic(err)
	}
	return id.String()
}

// fresh opens a new store, closed when the test ends.
func fresh(t testing.TB, limits Limits) (*Store, string) {
	t.Helper()
	url := "sqlite:" + filepath.Join(t.TempDir(), "store", "quarantine.db")
	return opened(t, url, limits), url
}

func opened(t testing.TB, url string, limits Limits) *Store {
	t.Helper()
	s, err := Open(t.Context(), url, limits)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func add(t *testing.T, s *Store, r Record) string {
	t.Helper()
	id, err := s.Add(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func list(t *testing.T, r *Reader, f Filter) []Record {
	t.Helper()
	all, err := r.List(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestAdd(t *testing.T) {
	s, _ := fresh(t, Limits{})
	full := record(1)
	full.ClaimsListed, full.Signer, full.Proved, full.Evidence = true, "sendgrid", "no", EvidenceKept
	full.Reason, full.Size, full.ClientIP = verdict.Misaligned, 1<<40, "2001:db8::1"
	bare := record(2)
	bare.Address, bare.AddressHash, bare.QueueID, bare.ClientIP = "", "", "", ""
	withheld := record(3)
	withheld.Address = Withheld
	other := withheld // the same message, refused for another mailbox
	other.Policy = "bills"
	want := []Record{other, withheld, bare, full}
	for _, r := range want {
		if id := add(t, s, r); id != r.ID {
			t.Errorf("Add = %s, want %s", id, r.ID)
		}
	}
	if got := list(t, s.Reader, Filter{}); !slices.Equal(got, want) {
		t.Errorf("List = %v, want %v", got, want)
	}
	if got, err := s.Get(t.Context(), withheld.ID); err != nil || !slices.Equal(got, []Record{other, withheld}) {
		t.Errorf("Get = %v, %v", got, err)
	}
	if _, err := s.Get(t.Context(), newID(noon, 99)); !errors.Is(err, ErrNotFound) {
		t.Errorf("Get of none: %v", err)
	}
	if _, err := s.Add(t.Context(), bare); !errors.Is(err, ErrDuplicate) {
		t.Errorf("Add of the same again: %v", err)
	}
}

func TestClientZone(t *testing.T) {
	s, _ := fresh(t, Limits{})
	r := record(1)
	r.ClientIP = "FE80:0::1%print the password"
	add(t, s, r)
	if got := list(t, s.Reader, Filter{})[0].ClientIP; got != "fe80::1" {
		t.Errorf("kept as %q", got)
	}
}

func TestFold(t *testing.T) {
	type step struct {
		after time.Duration
		edit  func(*Record)
		row   int // number of the record whose row it goes to
	}
	same := func(*Record) {}
	tests := []struct {
		name  string
		steps []step
	}{
		{"repeats", []step{{0, same, 0}, {time.Second, same, 0}, {time.Hour - time.Millisecond, same, 0}}},
		{"an hour later", []step{{0, same, 0}, {time.Hour, same, 1}, {time.Hour + time.Minute, same, 1}}},
		{"an hour from the first, not the last", []step{{0, same, 0}, {40 * time.Minute, same, 0}, {80 * time.Minute, same, 2}}},
		{"out of order", []step{{time.Minute, same, 0}, {0, same, 0}, {time.Minute - time.Hour, same, 2}}},
		{"another policy", []step{{0, same, 0}, {1, func(r *Record) { r.Policy = "bills" }, 1}}},
		{"another reason", []step{{0, same, 0}, {1, func(r *Record) { r.Reason = verdict.BadKey }, 1}}},
		{"another address", []step{{0, same, 0}, {1, func(r *Record) { r.AddressHash = "00000002" }, 1}}},
		{"no address", []step{
			{0, func(r *Record) { r.Address, r.AddressHash = "", "" }, 0},
			{1, func(r *Record) { r.Address, r.AddressHash = "", "" }, 1},
		}},
		{"all else may differ", []step{{0, same, 0}, {time.Second, func(r *Record) {
			r.SHA256, r.QueueID, r.ClientIP, r.Proved, r.Size = strings.Repeat("f", 64), "A1", "::1", "no", 1
		}, 0}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s, _ := fresh(t, Limits{})
			var records []Record
			counts, last := map[string]int64{}, map[string]time.Time{}
			for i, st := range test.steps {
				r := record(i)
				r.AddressHash, r.Time = "00000001", noon.Add(st.after)
				st.edit(&r)
				records = append(records, r)
				want := records[st.row].ID
				if id := add(t, s, r); id != want {
					t.Errorf("record %d went to %s, want record %d", i, id, st.row)
				}
				counts[want]++
				if r.Time.After(last[want]) {
					last[want] = r.Time.Truncate(time.Millisecond)
				}
			}
			for _, row := range list(t, s.Reader, Filter{}) {
				i := slices.IndexFunc(records, func(r Record) bool { return r.ID == row.ID })
				want := records[i]
				want.Time, want.Last, want.Count = want.Time.Truncate(time.Millisecond), last[row.ID], counts[row.ID]
				if row != want {
					t.Errorf("row %v, want %v", row, want)
				}
				delete(counts, row.ID)
			}
			if len(counts) > 0 {
				t.Errorf("rows are missing: %v", counts)
			}
		})
	}
}

// Whatever is added at once, each caller's record is counted once, in the row
// whose ID it got.
func TestManyAtOnce(t *testing.T) {
	s, _ := fresh(t, Limits{})
	const callers, each, senders = 32, 20, 10
	var mu sync.Mutex
	got := map[string]int64{}
	var all sync.WaitGroup
	for c := range callers {
		all.Go(func() {
			for i := range each {
				r := record(c*each + i)
				r.Time, r.AddressHash = noon, fmt.Sprintf("%08x", i%senders)
				id, err := s.Add(t.Context(), r)
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				got[id]++
				mu.Unlock()
			}
		})
	}
	all.Wait()
	rows := list(t, s.Reader, Filter{})
	if len(rows) != senders {
		t.Errorf("%d rows, want %d", len(rows), senders)
	}
	for _, r := range rows {
		if r.Count != got[r.ID] || r.Count != callers*each/senders {
			t.Errorf("row %s counts %d, its callers are %d", r.ID, r.Count, got[r.ID])
		}
	}
}

// What is asked for while a transaction runs joins it. Of jobs that share a
// transaction, one that fails fails alone.
func TestFailsAlone(t *testing.T) {
	s, _ := fresh(t, Limits{})
	put := func(n int) func(context.Context) error {
		return func(ctx context.Context) error {
			r := record(n)
			return s.writer.put(ctx, &r)
		}
	}
	var batch []job
	for _, run := range []func(context.Context) error{put(1), put(2), put(1), func(context.Context) error { panic("job") }, put(3), put(4)} {
		batch = append(batch, job{t.Context(), run, make(chan error, 1)})
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	batch[5].ctx = ended
	more := make(chan job, len(batch))
	first := batch[0].run
	batch[0].run = func(ctx context.Context) error {
		for _, j := range batch[1:] {
			more <- j
		}
		return first(ctx)
	}
	s.writer.commit(batch[:1], more)
	for i, want := range []error{nil, nil, ErrDuplicate, ErrInternal, nil, context.Canceled} {
		if err := <-batch[i].done; !errors.Is(err, want) {
			t.Errorf("job %d: %v, want %v", i, err, want)
		}
	}
	if n := len(list(t, s.Reader, Filter{})); n != 3 {
		t.Errorf("%d records, want 3", n)
	}
}

func TestListAndStats(t *testing.T) {
	s, _ := fresh(t, Limits{})
	for n := range 6 {
		r := record(n)
		if n%2 == 1 {
			r.Policy = "bills"
		}
		if n >= 4 {
			r.Reason = verdict.BadKey
		}
		add(t, s, r)
	}
	repeat := record(7)
	repeat.AddressHash = record(0).AddressHash
	add(t, s, repeat)
	tests := []struct {
		filter Filter
		want   []int
	}{
		{Filter{}, []int{5, 4, 3, 2, 1, 0}},
		{Filter{Policy: "bills"}, []int{5, 3, 1}},
		{Filter{Reason: verdict.Unlisted}, []int{3, 2, 1, 0}},
		{Filter{Policy: "shopping", Reason: verdict.BadKey}, []int{4}},
		{Filter{Since: noon.Add(3 * time.Second)}, []int{5, 4, 3}},
		{Filter{Limit: 2}, []int{5, 4}},
		{Filter{Policy: "bills", Since: noon.Add(2 * time.Second), Limit: 1}, []int{5}},
		{Filter{Policy: "nobody"}, nil},
		{Filter{Policy: "' OR 1=1 --"}, nil},
	}
	for _, test := range tests {
		var want []string
		for _, n := range test.want {
			want = append(want, record(n).ID)
		}
		var got []string
		for _, r := range list(t, s.Reader, test.filter) {
			got = append(got, r.ID)
		}
		if !slices.Equal(got, want) {
			t.Errorf("List(%+v) = %v, want records %v", test.filter, got, test.want)
		}
	}
	stats, err := s.Stats(t.Context())
	want := []Stat{{"bills", verdict.BadKey, 1, 1}, {"bills", verdict.Unlisted, 2, 2}, {"shopping", verdict.BadKey, 1, 1}, {"shopping", verdict.Unlisted, 2, 3}}
	if err != nil || !slices.Equal(stats, want) {
		t.Errorf("Stats = %v, %v, want %v", stats, err, want)
	}
}

// fill puts n records, a second apart, without a sync for each.
func fill(t *testing.T, s *Store, n int) {
	t.Helper()
	err := s.writer.do(t.Context(), func(ctx context.Context) error {
		for i := range n {
			r := record(i)
			if err := s.writer.put(ctx, &r); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestPrune(t *testing.T) {
	const n = 2*pruneBatch + 500
	end := noon.Add(n * time.Second)
	tests := []struct {
		limits Limits
		left   int
	}{
		{Limits{}, n},
		{Limits{Keep: n * time.Second}, n},
		{Limits{Keep: 100 * time.Second}, 100},
		{Limits{Keep: time.Millisecond}, 0},
		{Limits{Max: n}, n},
		{Limits{Max: 7}, 7},
		{Limits{Keep: 100 * time.Second, Max: 50}, 50},
		{Limits{Keep: 100 * time.Second, Max: 500}, 100},
	}
	for _, test := range tests {
		s, _ := fresh(t, test.limits)
		s.now = func() time.Time { return end }
		fill(t, s, n)
		deleted, err := s.Prune(t.Context())
		if err != nil || deleted != int64(n-test.left) {
			t.Errorf("%+v: deleted %d, %v, want %d", test.limits, deleted, err, n-test.left)
		}
		left := list(t, s.Reader, Filter{})
		if len(left) != test.left {
			t.Errorf("%+v: %d left, want %d", test.limits, len(left), test.left)
		}
		for i, r := range left { // the newest stay
			if want := record(n - 1 - i); r.ID != want.ID {
				t.Fatalf("%+v: left number %d is %v, want %v", test.limits, i, r.ID, want.ID)
			}
		}
		if deleted, err := s.Prune(t.Context()); err != nil || deleted != 0 {
			t.Errorf("%+v: again: %d, %v", test.limits, deleted, err)
		}
	}
}

func TestPurge(t *testing.T) {
	s, _ := fresh(t, Limits{})
	fill(t, s, 10)
	if n, err := s.Purge(t.Context(), noon.Add(4*time.Second)); err != nil || n != 4 {
		t.Errorf("Purge = %d, %v", n, err)
	}
	if left := list(t, s.Reader, Filter{}); len(left) != 6 || left[5].ID != record(4).ID {
		t.Errorf("left %v", left)
	}
}

func TestHashKey(t *testing.T) {
	s, url := fresh(t, Limits{})
	other, _ := fresh(t, Limits{})
	key := s.HashKey()
	if len(key) != 32 || slices.Equal(key, other.HashKey()) || slices.Equal(key, make([]byte, 32)) {
		t.Errorf("HashKey = %x and %x", key, other.HashKey())
	}
	s.HashKey()[0]++
	again := opened(t, url, Limits{})
	r, err := OpenReader(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for _, k := range [][]byte{s.HashKey(), again.HashKey(), r.HashKey()} {
		if !slices.Equal(k, key) {
			t.Errorf("HashKey changed from %x to %x", key, k)
		}
	}
}

func known(t *testing.T, s *Store, name string) bool {
	t.Helper()
	k, err := s.KnownKey(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestKnownKeys(t *testing.T) {
	s, url := fresh(t, Limits{})
	now := noon
	s.now, s.keys = func() time.Time { return now }, 3
	remember := func(names ...string) error {
		now = now.Add(time.Minute)
		return s.RememberKeys(t.Context(), names)
	}
	if err := errors.Join(remember("a._domainkey.example.org", "b._domainkey.example.org"), remember("c._domainkey.example.org")); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{
		"a._domainkey.example.org": true, "A._DomainKey.Example.ORG.": true, "c._domainkey.example.org": true,
		"d._domainkey.example.org": false, "a._domainkey.example.net": false, "": false,
	} {
		if known(t, s, name) != want {
			t.Errorf("KnownKey(%q) is not %v", name, want)
		}
	}
	// a is noted again after a day, so b is the one that goes.
	now = now.Add(seenAgain)
	if err := errors.Join(remember("a._domainkey.example.org"), remember("d._domainkey.example.org")); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"a": true, "b": false, "c": true, "d": true} {
		if known(t, s, name+"._domainkey.example.org") != want {
			t.Errorf("KnownKey of %s is not %v", name, want)
		}
	}
	// What was noted today is not written again: no write can succeed now.
	if err := os.Remove(strings.TrimPrefix(url, "sqlite:")); err != nil {
		t.Fatal(err)
	}
	if err := remember("a._domainkey.example.org", "d._domainkey.example.org"); err != nil {
		t.Errorf("RememberKeys of known ones: %v", err)
	}
	if err := remember("e._domainkey.example.org"); !errors.Is(err, ErrMoved) {
		t.Errorf("RememberKeys of a new one: %v", err)
	}
}

func TestReady(t *testing.T) {
	s, url := fresh(t, Limits{})
	now := noon
	s.now = func() time.Time { return now }
	if err := s.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(strings.TrimPrefix(url, "sqlite:")); err != nil {
		t.Fatal(err)
	}
	now = now.Add(readyFor - time.Millisecond)
	if err := s.Ready(t.Context()); err != nil {
		t.Errorf("within five seconds: %v", err)
	}
	now = now.Add(time.Millisecond)
	if err := s.Ready(t.Context()); !errors.Is(err, ErrMoved) {
		t.Errorf("after five seconds: %v", err)
	}
}
