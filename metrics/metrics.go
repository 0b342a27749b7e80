package metrics

import (
	"slices"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"stile/fence"
	"stile/verdict"
)

// Unguarded is the policy label of mail that no mailbox of the configuration
// judged: mail for others, and mail that failed before a mailbox was known.
const Unguarded = "none"

// NoReason is the reason label of mail that was neither refused nor deferred.
const NoReason = "none"

// other stands for a label value that is on no list.
const other = "other"

// The results of a write to the quarantine store.
const (
	Stored = "stored" // a new row
	Folded = "folded" // counted in a row that was there
	Failed = "failed"
)

// The results of keeping an original, beside Failed.
const (
	Kept = "kept" // sealed and on disk
	Full = "full" // there was no room
)

// What made stile read its configuration again.
const (
	BySignal = "signal" // SIGHUP
	ByList   = "list"   // a file of senders changed
)

// The results of that, beside Failed.
const (
	Applied   = "applied"   // something is different from now on
	Unchanged = "unchanged" // nothing is
	Dropping  = "dropping"  // a mailbox would be guarded no more: the old one stays
)

// The replies to a recipient that is not taken.
const (
	putOff    = "452"
	noMailbox = "550"
)

// The results of DKIM, by mailbox and message.
const dkimPass = "pass"

// dkimReasons are the reasons of a verdict that say what DKIM found. A verdict
// for another reason was reached without it, or after a pass is not certain.
var dkimReasons = []verdict.Reason{
	verdict.Unsigned, verdict.Misaligned, verdict.LengthTag,
	verdict.BadSignature, verdict.BadKey, verdict.DNS,
}

// Config says which label values there are beside the fixed ones.
type Config struct {
	Policies      []string // the mailboxes' ids
	LookupResults []string // what Lookup can be told
	EvidenceKinds []string // of originals
	EvidenceQuota int64    // octets of all originals; 0: none is kept

	// EvidenceHeld counts the originals of a kind that are kept, and their
	// octets; nil where none is. It is called at each scrape.
	EvidenceHeld func(kind string) (files, octets int64)
	Version      string // of the build
	Revision     string // of the source
}

// Metrics counts what the process does. It is safe for concurrent use.
type Metrics struct {
	registry *prometheus.Registry

	policies atomic.Pointer[[]string]
	lookups  []string
	kinds    []fence.Kind

	messages    *prometheus.CounterVec
	last        *prometheus.GaugeVec
	verdicts    prometheus.Histogram
	ends        prometheus.Histogram
	lookupTimes *prometheus.HistogramVec
	dkim        *prometheus.CounterVec
	forged      prometheus.Counter
	recipients  *prometheus.CounterVec
	hidden      *prometheus.CounterVec
	quarantine  *prometheus.CounterVec
	evidence    *prometheus.CounterVec
	sessions    prometheus.Gauge
	refused     prometheus.Counter
	reloads     *prometheus.CounterVec
	reloaded    prometheus.Gauge
	restart     prometheus.Gauge
}

// New makes the metrics of one process, in a registry of their own.
func New(c Config) *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		lookups:  append([]string{other}, c.LookupResults...),
		kinds:    fence.Kinds(),

		messages: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "stile_messages_total",
			Help: "Messages by policy, verdict and reason; policy none is mail that no mailbox judged.",
		}, []string{"policy", "verdict", "reason"}),
		last: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "stile_last_message_timestamp_seconds",
			Help: "When the last message of a policy was answered, in seconds since 1970; 0 before the first.",
		}, []string{"policy"}),
		verdicts: histogram("stile_verdict_duration_seconds",
			"Time to judge one message for all its mailboxes, look-ups included."),
		ends: histogram("stile_end_of_message_duration_seconds",
			"Time from the end of a message to its answer."),
		lookupTimes: prometheus.NewHistogramVec(histogramOpts("stile_dns_lookup_duration_seconds",
			"Time of a look-up of a key record, by result."), []string{"result"}),
		dkim: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "stile_dkim_results_total",
			Help: "What DKIM found for a message and a policy, where the verdict says it.",
		}, []string{"result"}),
		forged: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "stile_forged_fields_removed_total",
			Help: "Header fields of incoming mail that had a name of stile's own and were deleted.",
		}),
		recipients: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "stile_recipient_replies_total",
			Help: "Recipients that were not taken, by reply: 452 where one has to come in a message of its own, 550 where it is no mailbox.",
		}, []string{"reply"}),
		hidden: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "stile_hidden_carriers_total",
			Help: "What accepted mail hides, by place and class; doc/hidden.md says what counts.",
		}, []string{"place", "class"}),
		quarantine: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "stile_quarantine_writes_total",
			Help: "Records of refused mail written to the quarantine store, by result.",
		}, []string{"result"}),
		evidence: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "stile_evidence_seals_total",
			Help: "Originals that were to be kept, by result.",
		}, []string{"result"}),
		sessions: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "stile_sessions",
			Help: "Milter sessions that are open.",
		}),
		refused: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "stile_sessions_refused_total",
			Help: "Milter connections closed at once because too many were open.",
		}),
		reloads: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "stile_reloads_total",
			Help: "How often the configuration was read again, by what made stile do it and by result.",
		}, []string{"trigger", "result"}),
		reloaded: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "stile_last_reload_successful",
			Help: "1 unless the last attempt to read the configuration again left the old one in force.",
		}),
		restart: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "stile_restart_needed_keys",
			Help: "Keys of the configuration whose new values wait for a restart.",
		}),
	}
	build := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "stile_build_info",
		Help: "1, with the version and the revision of the source as labels.",
	}, []string{"version", "revision"})
	build.WithLabelValues(c.Version, c.Revision).Set(1)
	m.registry.MustRegister(m.messages, m.last, m.verdicts, m.ends, m.lookupTimes, m.dkim,
		m.forged, m.hidden, m.recipients, m.quarantine, m.evidence, m.sessions, m.refused, m.reloads, m.reloaded, m.restart, build,
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.showEvidence(c)
	m.policies.Store(&[]string{})
	m.AddPolicies(append([]string{Unguarded}, c.Policies...))
	m.zero()
	return m
}

// showEvidence registers what is kept, read when it is asked for.
func (m *Metrics) showEvidence(c Config) {
	held := c.EvidenceHeld
	if held == nil {
		held = func(string) (files, octets int64) { return 0, 0 }
	}
	gauge := func(name, help, kind string, value func() float64) {
		o := prometheus.GaugeOpts{Name: name, Help: help}
		if kind != "" {
			o.ConstLabels = prometheus.Labels{"kind": kind}
		}
		m.registry.MustRegister(prometheus.NewGaugeFunc(o, value))
	}
	for _, kind := range c.EvidenceKinds {
		gauge("stile_evidence_files", "Sealed originals that are kept, by kind.", kind,
			func() float64 { files, _ := held(kind); return float64(files) })
		gauge("stile_evidence_bytes", "Size of the sealed originals that are kept, by kind.", kind,
			func() float64 { _, octets := held(kind); return float64(octets) })
	}
	gauge("stile_evidence_quota_bytes", "What all sealed originals together may take; 0 where none is kept.", "",
		func() float64 { return float64(c.EvidenceQuota) })
}

// AddPolicies makes the series of mailboxes that are new. It is not safe for
// concurrent use with itself.
func (m *Metrics) AddPolicies(ids []string) {
	all := *m.policies.Load()
	for _, p := range ids {
		if slices.Contains(all, p) {
			continue
		}
		all = append(slices.Clip(all), p)
		m.last.WithLabelValues(p)
		m.messages.WithLabelValues(p, string(verdict.Accept), NoReason)
		for _, r := range verdict.Refusals {
			m.messages.WithLabelValues(p, string(verdict.Refuse), string(r))
		}
		for _, r := range verdict.Deferrals {
			m.messages.WithLabelValues(p, string(verdict.Defer), string(r))
		}
	}
	m.policies.Store(&all)
}

// zero makes every other series that can be.
func (m *Metrics) zero() {
	m.reloaded.Set(1)
	for _, t := range []string{BySignal, ByList} {
		for _, r := range []string{Applied, Unchanged, Dropping, Failed} {
			m.reloads.WithLabelValues(t, r)
		}
	}
	for _, r := range m.lookups {
		m.lookupTimes.WithLabelValues(r)
	}
	for _, k := range m.kinds {
		m.hidden.WithLabelValues(k.Place, k.Class)
	}
	m.dkim.WithLabelValues(dkimPass)
	for _, r := range dkimReasons {
		m.dkim.WithLabelValues(string(r))
	}
	for _, r := range []string{putOff, noMailbox} {
		m.recipients.WithLabelValues(r)
	}
	for _, r := range []string{Stored, Folded, Failed} {
		m.quarantine.WithLabelValues(r)
	}
	for _, r := range []string{Kept, Full, Failed} {
		m.evidence.WithLabelValues(r)
	}
}

// histogram has both forms: the native one for servers that take it, buckets
// for the others.
func histogram(name, help string) prometheus.Histogram {
	return prometheus.NewHistogram(histogramOpts(name, help))
}

func histogramOpts(name, help string) prometheus.HistogramOpts {
	return prometheus.HistogramOpts{
		Name:                            name,
		Help:                            help,
		Buckets:                         []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 20},
		NativeHistogramBucketFactor:     1.1,
		NativeHistogramMaxBucketNumber:  100,
		NativeHistogramMinResetDuration: time.Hour,
	}
}

// Message counts one message for one policy, at the time when it was answered.
// Policy is a mailbox's id or Unguarded; reason is "" on acceptance.
func (m *Metrics) Message(policy string, outcome verdict.Outcome, reason verdict.Reason, at time.Time) {
	policy = m.policy(policy)
	m.last.WithLabelValues(policy).Set(float64(at.UnixMilli()) / 1000)
	switch {
	case outcome == verdict.Accept:
		m.messages.WithLabelValues(policy, string(verdict.Accept), NoReason).Inc()
	case outcome == verdict.Refuse && slices.Contains(verdict.Refusals, reason):
		m.messages.WithLabelValues(policy, string(verdict.Refuse), string(reason)).Inc()
	case outcome == verdict.Defer && slices.Contains(verdict.Deferrals, reason):
		m.messages.WithLabelValues(policy, string(verdict.Defer), string(reason)).Inc()
	default:
		// What is no verdict is a failure of ours.
		m.messages.WithLabelValues(policy, string(verdict.Defer), string(verdict.Internal)).Inc()
	}
}

// policy is the label value for a policy; an unknown one is none of the
// configuration's.
func (m *Metrics) policy(id string) string {
	if slices.Contains(*m.policies.Load(), id) {
		return id
	}
	return Unguarded
}

// DKIM counts what a verdict says about DKIM.
func (m *Metrics) DKIM(outcome verdict.Outcome, reason verdict.Reason) {
	if outcome == verdict.Accept {
		m.dkim.WithLabelValues(dkimPass).Inc()
		return
	}
	// A replay verifies as well as what it repeats.
	if reason == verdict.Replayed {
		m.dkim.WithLabelValues(dkimPass).Inc()
		return
	}
	if slices.Contains(dkimReasons, reason) {
		m.dkim.WithLabelValues(string(reason)).Inc()
	}
}

// Verdict observes how long judging took.
func (m *Metrics) Verdict(took time.Duration) { m.verdicts.Observe(took.Seconds()) }

// EndOfMessage observes how long a message's sender waited for the answer.
func (m *Metrics) EndOfMessage(took time.Duration) { m.ends.Observe(took.Seconds()) }

// Lookup observes one look-up of a key.
func (m *Metrics) Lookup(result string, took time.Duration) {
	if !slices.Contains(m.lookups, result) {
		result = other
	}
	m.lookupTimes.WithLabelValues(result).Observe(took.Seconds())
}

// ForgedRemoved counts n deleted fields.
func (m *Metrics) ForgedRemoved(n int) { m.forged.Add(float64(n)) }

// RecipientPutOff counts a recipient that has to come in a message of its own.
func (m *Metrics) RecipientPutOff() { m.recipients.WithLabelValues(putOff).Inc() }

// NoMailbox counts an address of a guarded domain that is no mailbox.
func (m *Metrics) NoMailbox() { m.recipients.WithLabelValues(noMailbox).Inc() }

// Hidden counts what one accepted message hides, once for all its mailboxes.
// What is of no kind of package fence is not counted.
func (m *Metrics) Hidden(all []fence.Carrier) {
	for _, c := range all {
		if slices.Contains(m.kinds, c.Kind) {
			m.hidden.WithLabelValues(c.Place, c.Class).Add(float64(c.N))
		}
	}
}

// QuarantineWrite counts a write: Stored, Folded or Failed. Any other word is
// a failure.
func (m *Metrics) QuarantineWrite(result string) {
	if result != Stored && result != Folded {
		result = Failed
	}
	m.quarantine.WithLabelValues(result).Inc()
}

// Evidence counts an original that was to be kept: Kept, Full or Failed. Any
// other word is a failure.
func (m *Metrics) Evidence(result string) {
	if result != Kept && result != Full {
		result = Failed
	}
	m.evidence.WithLabelValues(result).Inc()
}

// Reload counts an attempt to read the configuration again. trigger is BySignal
// or ByList, any other word is the former; result is Applied, Unchanged,
// Dropping or Failed, any other word is a failure.
func (m *Metrics) Reload(trigger, result string) {
	if trigger != ByList {
		trigger = BySignal
	}
	good := result == Applied || result == Unchanged
	if !good && result != Dropping {
		result = Failed
	}
	m.reloads.WithLabelValues(trigger, result).Inc()
	m.reloaded.Set(0)
	if good {
		m.reloaded.Set(1)
	}
}

// RestartNeeded says how many keys wait for a restart.
func (m *Metrics) RestartNeeded(keys int) { m.restart.Set(float64(keys)) }

// SessionOpened counts a milter session in.
func (m *Metrics) SessionOpened() { m.sessions.Inc() }

// SessionClosed counts a milter session out.
func (m *Metrics) SessionClosed() { m.sessions.Dec() }

// SessionRefused counts a connection that was closed at once.
func (m *Metrics) SessionRefused() { m.refused.Inc() }
