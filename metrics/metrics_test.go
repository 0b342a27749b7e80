package metrics

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"pgregory.net/rapid"

	"stile/fence"
	"stile/verdict"
)

func made() *Metrics {
	return New(Config{
		Policies:      []string{"shopping", "post"},
		LookupResults: []string{"answer", "none", "error"},
		EvidenceKinds: []string{"accepted", "other"},
		EvidenceQuota: 2000,
		EvidenceHeld:  func(kind string) (files, octets int64) { return int64(len(kind)), 700 },
		Version:       "1.2.3",
		Revision:      "abc",
	})
}

func count(t interface {
	Helper()
	Fatal(...any)
}, m *Metrics, names ...string) int {
	t.Helper()
	n, err := testutil.GatherAndCount(m.registry, names...)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestNamesAndHelp(t *testing.T) {
	problems, err := testutil.GatherAndLint(made().registry)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

func TestEverySeriesIsThereFromTheStart(t *testing.T) {
	m := made()
	each := 1 + len(verdict.Refusals) + len(verdict.Deferrals)
	for _, c := range []struct {
		name string
		want int
	}{
		{"stile_messages_total", 3 * each},
		{"stile_last_message_timestamp_seconds", 3},
		{"stile_verdict_duration_seconds", 1},
		{"stile_end_of_message_duration_seconds", 1},
		{"stile_dns_lookup_duration_seconds", 4},
		{"stile_dkim_results_total", 1 + len(dkimReasons)},
		{"stile_forged_fields_removed_total", 1},
		{"stile_recipient_replies_total", 2},
		{"stile_hidden_carriers_total", len(fence.Kinds())},
		{"stile_quarantine_writes_total", 3},
		{"stile_evidence_seals_total", 3},
		{"stile_evidence_files", 2},
		{"stile_evidence_bytes", 2},
		{"stile_evidence_quota_bytes", 1},
		{"stile_sessions", 1},
		{"stile_sessions_refused_total", 1},
		{"stile_build_info", 1},
		{"go_goroutines", 1},
		{"process_start_time_seconds", 1},
	} {
		if got := count(t, m, c.name); got != c.want {
			t.Errorf("%s: %d series, want %d", c.name, got, c.want)
		}
	}
	want := `
# HELP stile_messages_total Messages by policy, verdict and reason; policy none is mail that no mailbox judged.
# TYPE stile_messages_total counter
`
	for _, p := range []string{"none", "post", "shopping"} {
		want += fmt.Sprintf("stile_messages_total{policy=%q,reason=\"none\",verdict=\"accept\"} 0\n", p)
		for _, r := range verdict.Refusals {
			want += fmt.Sprintf("stile_messages_total{policy=%q,reason=%q,verdict=\"refuse\"} 0\n", p, string(r))
		}
		for _, r := range verdict.Deferrals {
			want += fmt.Sprintf("stile_messages_total{policy=%q,reason=%q,verdict=\"defer\"} 0\n", p, string(r))
		}
	}
	if err := testutil.GatherAndCompare(m.registry, strings.NewReader(want), "stile_messages_total"); err != nil {
		t.Error(err)
	}
}

func TestCounting(t *testing.T) {
	m := made()
	at := time.Unix(1700000000, 250e6)
	m.Message("shopping", verdict.Accept, "", at)
	m.Message("shopping", verdict.Refuse, verdict.Unlisted, at)
	m.Message(Unguarded, verdict.Defer, verdict.Shutdown, at)
	m.DKIM(verdict.Accept, "")
	m.DKIM(verdict.Refuse, verdict.BadKey)
	m.DKIM(verdict.Refuse, verdict.Unlisted)
	m.DKIM(verdict.Refuse, verdict.Replayed)
	m.QuarantineWrite(Folded)
	m.Evidence(Full)
	m.ForgedRemoved(3)
	m.RecipientPutOff()
	m.RecipientPutOff()
	m.NoMailbox()
	m.Hidden([]fence.Carrier{
		{Kind: fence.Kind{Place: "html", Class: "html-comment"}, N: 4},
		{Kind: fence.Kind{Place: "run this", Class: "now"}, N: 1},
	})
	m.SessionOpened()
	m.SessionOpened()
	m.SessionClosed()
	m.SessionRefused()
	m.Lookup("none", time.Second)
	m.Verdict(time.Second)
	m.EndOfMessage(time.Second)
	for _, c := range []struct {
		what string
		got  float64
		want float64
	}{
		{"accept", testutil.ToFloat64(m.messages.WithLabelValues("shopping", "accept", "none")), 1},
		{"refuse", testutil.ToFloat64(m.messages.WithLabelValues("shopping", "refuse", "unlisted")), 1},
		{"defer", testutil.ToFloat64(m.messages.WithLabelValues("none", "defer", "shutdown")), 1},
		{"last", testutil.ToFloat64(m.last.WithLabelValues("shopping")), 1700000000.25},
		{"last of another", testutil.ToFloat64(m.last.WithLabelValues("post")), 0},
		{"pass", testutil.ToFloat64(m.dkim.WithLabelValues("pass")), 2},
		{"bad key", testutil.ToFloat64(m.dkim.WithLabelValues("bad-key")), 1},
		{"folded", testutil.ToFloat64(m.quarantine.WithLabelValues("folded")), 1},
		{"full", testutil.ToFloat64(m.evidence.WithLabelValues("full")), 1},
		{"forged", testutil.ToFloat64(m.forged), 3},
		{"put off", testutil.ToFloat64(m.recipients.WithLabelValues("452")), 2},
		{"no mailbox", testutil.ToFloat64(m.recipients.WithLabelValues("550")), 1},
		{"hidden", testutil.ToFloat64(m.hidden.WithLabelValues("html", "html-comment")), 4},
		{"sessions", testutil.ToFloat64(m.sessions), 1},
		{"refused sessions", testutil.ToFloat64(m.refused), 1},
	} {
		if c.got != c.want {
			t.Errorf("%s: %v, want %v", c.what, c.got, c.want)
		}
	}
}

// What is no kind makes no series.
func TestHiddenIsClosed(t *testing.T) {
	m := made()
	m.Hidden([]fence.Carrier{{Kind: fence.Kind{Place: "run this", Class: "now"}, N: 1}})
	if n := count(t, m, "stile_hidden_carriers_total"); n != len(fence.Kinds()) {
		t.Errorf("%d series", n)
	}
}

// What is kept is read when it is asked for.
func TestEvidenceHeld(t *testing.T) {
	const want = `
# HELP stile_evidence_bytes Size of the sealed originals that are kept, by kind.
# TYPE stile_evidence_bytes gauge
stile_evidence_bytes{kind="accepted"} 700
stile_evidence_bytes{kind="other"} 700
# HELP stile_evidence_files Sealed originals that are kept, by kind.
# TYPE stile_evidence_files gauge
stile_evidence_files{kind="accepted"} 8
stile_evidence_files{kind="other"} 5
# HELP stile_evidence_quota_bytes What all sealed originals together may take; 0 where none is kept.
# TYPE stile_evidence_quota_bytes gauge
stile_evidence_quota_bytes 2000
`
	names := []string{"stile_evidence_bytes", "stile_evidence_files", "stile_evidence_quota_bytes"}
	if err := testutil.GatherAndCompare(made().registry, strings.NewReader(want), names...); err != nil {
		t.Error(err)
	}
	none := New(Config{EvidenceKinds: []string{"other"}})
	if n := count(t, none, names...); n != 3 {
		t.Errorf("%d series where nothing is kept, want 3", n)
	}
}

// Whatever a caller passes, no series appears that was not there at the start.
func TestLabelValuesAreClosed(t *testing.T) {
	m := made()
	names := []string{"stile_messages_total", "stile_last_message_timestamp_seconds",
		"stile_dns_lookup_duration_seconds", "stile_dkim_results_total", "stile_quarantine_writes_total",
		"stile_evidence_seals_total"}
	before := count(t, m, names...)
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.String()
		outcome, reason := verdict.Outcome(s.Draw(t, "outcome")), verdict.Reason(s.Draw(t, "reason"))
		if rapid.Bool().Draw(t, "known outcome") {
			outcome = rapid.SampledFrom([]verdict.Outcome{verdict.Accept, verdict.Refuse, verdict.Defer}).Draw(t, "o")
		}
		m.Message(s.Draw(t, "policy"), outcome, reason, time.Now())
		m.DKIM(outcome, reason)
		m.Lookup(s.Draw(t, "result"), time.Millisecond)
		m.QuarantineWrite(s.Draw(t, "write"))
		m.Evidence(s.Draw(t, "sealed"))
		if after := count(t, m, names...); after != before {
			t.Fatalf("%d series, %d at the start", after, before)
		}
	})
}

// A mailbox that a reload adds has all of its series before its first message,
// and those of the others go on.
func TestAddPolicies(t *testing.T) {
	m := made()
	m.Message("shopping", verdict.Accept, "", time.Now())
	before := count(t, m, "stile_messages_total")
	m.AddPolicies([]string{"shopping", "travel"})
	if got, want := count(t, m, "stile_messages_total"), before/3*4; got != want {
		t.Errorf("%d series, want %d", got, want)
	}
	m.Message("travel", verdict.Accept, "", time.Now())
	for _, policy := range []string{"shopping", "travel"} {
		if got := testutil.ToFloat64(m.messages.WithLabelValues(policy, "accept", NoReason)); got != 1 {
			t.Errorf("%s: %v", policy, got)
		}
	}
}

func TestReload(t *testing.T) {
	m := made()
	if testutil.ToFloat64(m.reloaded) != 1 {
		t.Error("it begins with a failure")
	}
	for _, x := range []struct {
		trigger, result string
		good            float64
	}{
		{BySignal, Applied, 1}, {BySignal, Failed, 0}, {ByList, Unchanged, 1}, {ByList, Dropping, 0}, {"odd", "odd", 0},
	} {
		m.Reload(x.trigger, x.result)
		if got := testutil.ToFloat64(m.reloaded); got != x.good {
			t.Errorf("after %s by %s the last one counts as %v", x.result, x.trigger, got)
		}
	}
	if got := testutil.ToFloat64(m.reloads.WithLabelValues(BySignal, Failed)); got != 2 {
		t.Errorf("%v failures by signal, want 2: what is on no list is one", got)
	}
	if got := count(t, m, "stile_reloads_total"); got != 8 {
		t.Errorf("%d series", got)
	}
	m.RestartNeeded(2)
	if testutil.ToFloat64(m.restart) != 2 {
		t.Error("the keys that wait are not shown")
	}
}
