package milter

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	dj "github.com/d--j/go-milter"

	"stile/quarantine"
	"stile/stamp"
	"stile/tests/signed"
	"stile/verdict"
)

var (
	poster   = rcpt{"post@agents.example", "post@agents.example"}
	traveler = rcpt{"travel@estate.example", "travel@estate.example"}
	bob      = rcpt{"bob@other.example", "bob@other.example"}
)

// clock is a clock that a test moves.
type clock struct{ at atomic.Int64 }

func (c *clock) set(t time.Time) { c.at.Store(t.UnixNano()) }
func (c *clock) now() time.Time  { return time.Unix(0, c.at.Load()) }

// runAt starts a server that goes by a clock.
func runAt(t *testing.T, lookup verdict.LookupTXT) (*place, *clock) {
	c := &clock{}
	c.set(time.Now())
	return run(t, lookup, func(s *Server) { s.o.Now = c.now }), c
}

// became is what a message became for whom: the policies that accepted it and
// its flags, or "451" or "discard".
func became(t *testing.T, p *place, raw string, acts []dj.ModifyAction, a *dj.Action) string {
	t.Helper()
	switch {
	case a.Type == dj.ActionDiscard:
		return "discard"
	case a.Type != dj.ActionAccept:
		return fmt.Sprint(a.SMTPCode)
	}
	header, _ := applied(t, signed.Message(t, raw).Header, acts)
	at := slices.IndexFunc(header, func(f verdict.Field) bool { return f.Is(stamp.VerdictName) })
	if at < 0 {
		return "passed"
	}
	v, err := stamp.ParseVerdict(header[at].Value)
	must(t, err)
	words := []string{"accept", strings.Join(v.Policies, ",")}
	for _, f := range v.Flags {
		words = append(words, string(f))
	}
	return strings.Join(words, " ")
}

func (p *place) send(raw string, to ...rcpt) string {
	p.t.Helper()
	t := p.t.(*testing.T)
	acts, a := p.dial().deliver(raw, to...)
	return became(t, p, raw, acts, a)
}

// reasons are policy and reason of every record, sorted.
func (p *place) reasons() (all []string) {
	p.t.Helper()
	for _, r := range p.records() {
		all = append(all, fmt.Sprintf("%s %s %s %d", r.Policy, r.Reason, r.Proved, r.Count))
	}
	slices.Sort(all)
	return all
}

func want(t *testing.T, what string, got, want any) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// The life of one proof: first, retries in the window of the first, replays.
func TestReplay(t *testing.T) {
	spec := signed.Spec{}
	p, clock := runAt(t, signed.Lookup(t, spec))
	start := clock.now()
	raw := signed.Mail(t, spec)
	want(t, "the first", p.send(raw, shopper), "accept shopping")
	want(t, "at once again", p.send(raw, shopper), "accept shopping duplicate")
	relayed := "Received: by a; now\r\nReturn-Path: <x@y.example>\r\n" + raw
	want(t, "by another way", p.send(relayed, shopper), "accept shopping duplicate")
	other := "ARC-Seal: i=1\r\nReturn-Path: <x@y.example>\r\nReceived: by b; later\r\n" + raw
	want(t, "by a third, in another order", p.send(other, shopper), "accept shopping duplicate")
	clock.set(start.Add(4*time.Hour - time.Minute))
	want(t, "a retry in the window", p.send(raw, shopper), "accept shopping duplicate")
	// The window does not move with the retries.
	clock.set(start.Add(4*time.Hour + time.Minute))
	want(t, "beyond the window", p.send(raw, shopper), "discard")
	clock.set(start)
	want(t, "with a field more", p.send("X-Note: pay now\r\n"+raw, shopper), "discard")
	want(t, "with b= written otherwise", p.send(strings.Replace(raw, "\r\n b=", "\r\n b=\r\n\t ", 1), shopper), "discard")
	want(t, "records", p.reasons(), []string{"shopping replayed yes 1", "shopping replayed yes 2"})
	lines := p.lines("policy=shopping verdict=refuse reason=replayed", "proved=yes", "address=friend@example.org")
	want(t, "lines of refusals", len(lines), 3)
	want(t, "lines of repeats", len(p.lines("verdict=accept", "flags=duplicate")), 4)
	// What was not seen before is no repeat.
	fresh := signed.Mail(t, signed.Spec{Body: "bread\r\n"})
	want(t, "another message", p.send(fresh, shopper), "accept shopping")
}

// Taking a signature off, or adding one, makes no other proof.
func TestReplayOfTwoSignatures(t *testing.T) {
	field := func(selector string) string {
		f, _, _ := strings.Cut(signed.Mail(t, signed.Spec{Selector: selector}), "\r\nFrom:")
		return f + "\r\n"
	}
	mail := signed.Mail(t, signed.Spec{Unsigned: true})
	one, two, dead := field("one"), field("two"), field("dead")
	record := signed.Record(t, false)
	var silent atomic.Bool
	silent.Store(true)
	lookup := func(_ context.Context, name string) ([]string, error) {
		if strings.HasPrefix(name, "dead.") && silent.Load() {
			return nil, errors.New("no answer")
		}
		return []string{record}, nil
	}
	for _, c := range []struct{ name, first, then string }{
		{"the accepting one off", one + two, two},
		{"the other one off", one + two, one},
		{"the other way round", one + two, two + one},
		{"one added above", one, two + one},
		{"one added below", one, one + two},
		{"the one without an answer is left", dead + one, dead},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := run(t, lookup, nil)
			silent.Store(true)
			want(t, "first", p.send(c.first+mail, shopper), "accept shopping")
			silent.Store(false)
			want(t, "then", p.send(c.then+mail, shopper), "discard")
			want(t, "records", p.reasons(), []string{"shopping replayed yes 1"})
		})
	}
}

// Each mailbox has proofs of its own, and decides for itself.
func TestReplayByMailbox(t *testing.T) {
	spec := signed.Spec{}
	p := run(t, signed.Lookup(t, spec), nil)
	raw := signed.Mail(t, spec)
	want(t, "to one", p.send(raw, poster), "accept post")
	want(t, "to the other", p.send(raw, shopper), "accept shopping")
	want(t, "to both, again", p.send(raw, shopper, poster), "accept shopping,post duplicate")

	raw = signed.Mail(t, signed.Spec{Body: "bread\r\n"})
	want(t, "to one", p.send(raw, poster), "accept post")
	changed := "X-A: b\r\n" + raw
	acts, a := p.dial().deliver(changed, shopper, poster, bob)
	want(t, "to both, changed", became(t, p, changed, acts, a), "accept shopping")
	_, removed := applied(t, signed.Message(t, changed).Header, acts)
	want(t, "taken out", removed, []string{"<post@agents.example>"})
	want(t, "records", p.reasons(), []string{"post replayed yes 1"})
	want(t, "to one of both, first as the other got it", p.send(changed, shopper), "accept shopping duplicate")

	// A repeat for one and a first for the other: flags are united.
	raw = signed.Mail(t, signed.Spec{Body: "butter\r\n"})
	want(t, "to one", p.send(raw, poster), "accept post")
	want(t, "to both", p.send(raw, poster, shopper), "accept shopping,post duplicate")
}

// A deferral leaves nothing behind by which the retry would be a repeat.
func TestDeferredLeavesNoProof(t *testing.T) {
	// The lower signature, which names nobody and has no time, is enough for
	// one mailbox; the other one waits for the key of the upper.
	lower := signed.Mail(t, signed.Spec{Sign: []string{"from"}, NoTime: true})
	upper, _, _ := strings.Cut(signed.Mail(t, signed.Spec{Selector: "dead"}), "\r\nFrom:")
	raw := upper + "\r\n" + lower
	record := signed.Record(t, false)
	p := run(t, func(_ context.Context, name string) ([]string, error) {
		if strings.HasPrefix(name, "dead.") {
			return nil, errors.New("no answer")
		}
		return []string{record}, nil
	}, nil)
	want(t, "to both", p.send(raw, shopper, poster), "451")
	flags := " undated to-unsigned subject-unsigned"
	want(t, "to the one who could decide", p.send(raw, poster), "accept post"+flags)
	want(t, "again", p.send(raw, poster), "accept post duplicate"+flags)

	// A message that cannot be made ready.
	fresh := signed.Mail(t, signed.Spec{Body: "bread\r\n"})
	odd := rcpt{"travel(c)@estate.example", "travel@estate.example"}
	want(t, "beside a recipient that cannot be taken out", p.send(fresh, poster, odd), "451")
	want(t, "alone", p.send(fresh, poster), "accept post")
	want(t, "records", p.reasons(), []string{})
}

// However many copies come at once, one is the first, and none is lost.
func TestReplayAtOnce(t *testing.T) {
	spec := signed.Spec{}
	p := run(t, signed.Lookup(t, spec), nil)
	const rounds, copies = 5, 8
	for round := range rounds {
		raw := signed.Mail(t, signed.Spec{Body: fmt.Sprintf("round %d\r\n", round)})
		clients := make([]*mta, copies)
		for i := range clients {
			clients[i] = p.dial()
			clients[i].envelope("friend@example.org", shopper, traveler)
		}
		got := make([]string, copies)
		var all sync.WaitGroup
		for i, c := range clients {
			all.Go(func() {
				acts, a := c.content(raw)
				got[i] = became(t, p, raw, acts, a)
			})
		}
		all.Wait()
		slices.Sort(got)
		want(t, "copies", got, append([]string{"accept shopping"}, slices.Repeat([]string{"accept shopping duplicate"}, copies-1)...))
	}
	// One that is settled twice is recorded once where it is refused.
	want(t, "records", p.reasons(), []string{fmt.Sprintf("travel unlisted unknown %d", rounds*copies)})
	// Two that differ: one is accepted, the other is a replay.
	for round := range 5 {
		raw := signed.Mail(t, signed.Spec{Body: fmt.Sprintf("differs %d\r\n", round)})
		got := make([]string, 2)
		var all sync.WaitGroup
		for i := range got {
			c := p.dial()
			c.envelope("friend@example.org", shopper)
			all.Go(func() {
				copied := fmt.Sprintf("X-Copy: %d\r\n", i) + raw
				acts, a := c.content(copied)
				got[i] = became(t, p, copied, acts, a)
			})
		}
		all.Wait()
		slices.Sort(got)
		want(t, "two that differ", got, []string{"accept shopping", "discard"})
	}
}

// database is the path of the store's file.
func (p *place) database() string { return filepath.Join(filepath.Dir(p.socket), "quarantine.db") }

// A server that is started again knows what was accepted before.
func TestReplayAfterRestart(t *testing.T) {
	spec := signed.Spec{}
	p := run(t, signed.Lookup(t, spec), nil)
	raw := signed.Mail(t, spec)
	want(t, "before", p.send(raw, shopper), "accept shopping")
	p.stop()
	must(t, <-p.ended)
	must(t, p.store.Close())

	store, err := quarantine.Open(context.Background(), "sqlite:"+p.database(), quarantine.Limits{})
	must(t, err)
	t.Cleanup(func() { _ = store.Close() })
	again := run(t, signed.Lookup(t, spec), func(s *Server) { s.o.Store = store })
	again.store = store
	want(t, "after", again.send(raw, shopper), "accept shopping duplicate")
	want(t, "changed", again.send("X-A: b\r\n"+raw, shopper), "discard")
	want(t, "records", again.reasons(), []string{"shopping replayed yes 1"})
}

// Where the proof cannot be made durable, nothing is accepted, and nothing is
// lost.
func TestReplayUnwritable(t *testing.T) {
	spec := signed.Spec{}
	p := run(t, signed.Lookup(t, spec), nil)
	raw := signed.Mail(t, spec)
	away := p.database() + ".away"
	must(t, os.Rename(p.database(), away))
	acts, a := p.dial().deliver(raw, shopper)
	isTryLater(t, a)
	want(t, "modifications", len(acts), 0)
	want(t, "lines", len(p.lines("policy=shopping verdict=defer reason=store cause=store")), 1)
	must(t, os.Rename(away, p.database()))
	want(t, "when it can", p.send(raw, shopper), "accept shopping")
	// A repeat is not taken without the store either.
	must(t, os.Rename(p.database(), away))
	want(t, "a repeat", p.send(raw, shopper), "451")
	must(t, os.Rename(away, p.database()))
	want(t, "when it can", p.send(raw, shopper), "accept shopping duplicate")
}

// Where it cannot be found out what was accepted before, nothing is.
func TestReplayUnreadable(t *testing.T) {
	spec := signed.Spec{}
	p := run(t, signed.Lookup(t, spec), nil)
	raw := signed.Mail(t, spec)
	want(t, "first", p.send(raw, shopper), "accept shopping")
	db, err := sql.Open("sqlite", p.database())
	must(t, err)
	_, err = db.Exec("ALTER TABLE proof RENAME TO elsewhere")
	must(t, err)
	want(t, "without the table", p.send(raw, shopper), "451")
	want(t, "lines", len(p.lines("verdict=defer reason=store cause=store")), 1)
	_, err = db.Exec("ALTER TABLE elsewhere RENAME TO proof")
	must(t, err)
	must(t, db.Close())
	want(t, "with it", p.send(raw, shopper), "accept shopping duplicate")
}

// Mail that the MTA lost after stile had accepted it comes again.
func TestReplayAfterLostAnswer(t *testing.T) {
	spec := signed.Spec{}
	p := run(t, signed.Lookup(t, spec), nil)
	raw := signed.Mail(t, spec)
	c := p.dial()
	acts, a := c.deliver(raw, shopper)
	want(t, "first", became(t, p, raw, acts, a), "accept shopping")
	must(t, c.s.Close()) // the MTA ends before it queues the message
	want(t, "the retry", p.send(raw, shopper), "accept shopping duplicate")
}

// Mail that no mailbox accepts leaves no proof, nor does mail for others.
func TestNoProofOfRefused(t *testing.T) {
	spec := signed.Spec{}
	p := run(t, signed.Lookup(t, spec), nil)
	raw := signed.Mail(t, spec)
	want(t, "to one who does not list the sender", p.send(raw, traveler), "discard")
	want(t, "to somebody else", p.send(raw, bob), "passed")
	want(t, "to one who does", p.send(raw, shopper), "accept shopping")
}
