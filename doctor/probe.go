package doctor

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"stile/config"
)

// Result is what a probe showed.
type Result string

// The results.
const (
	Proved   Result = "proved"
	Failed   Result = "failed"   // the message went round stile, or was not kept
	Unproved Result = "unproved" // nothing was shown
)

// Probe is one message that was sent, or that could not be.
type Probe struct {
	Claim   string // "refused", "deferred" or "stamped"
	Service string // of master.cf, or "sendmail"; "" is none
	Mailbox string // its id; "" is none
	Result  Result
	What    string // quotes configuration and replies
}

// Recorded finds the record of a probe by the address that the probe gave as its
// sender's: the record's id, "" while there is none.
type Recorded func(ctx context.Context, policy, address string) (id string, err error)

// How long a record, or a place in the queue, is waited for.
const (
	recordTime = 15 * time.Second
	routeTime  = 90 * time.Second // through a second server
	lookAgain  = 250 * time.Millisecond
)

// Send sends a labelled, unsigned message for each guarded mailbox through each
// way into this host's Postfix, and sees what becomes of it: stile must refuse
// it, and while stile does not run it must wait. It is the one thing here that
// is not only a look: whatever goes round stile is delivered.
func Send(ctx context.Context, o Options, recorded Recorded) ([]Probe, error) {
	pf, err := readPostfix(ctx, o.Postfix)
	if err != nil {
		return nil, err
	}
	a := newAudit(ctx, o, pf)
	p := &prober{audit: a, recorded: recorded, running: a.listening()}
	for _, s := range pf.by("smtpd", "postscreen") {
		for _, m := range o.Config.Mailboxes {
			p.smtp(s, m)
		}
	}
	// While stile does not run, what sendmail(1) takes would wait where it cannot
	// be told from other mail.
	if p.running {
		for _, m := range o.Config.Mailboxes {
			p.sendmail(m)
		}
	}
	p.await()
	return p.probes, nil
}

// prober is one run.
type prober struct {
	*audit
	recorded Recorded
	running  bool // somebody answers at stile's socket
	probes   []Probe
	open     []sent
}

// sent is a message of which it is not known yet what became of it.
type sent struct {
	probe   int // the index of it
	mailbox *config.Mailbox
	from    string
	answer  reply
	limit   time.Duration
}

// wait keeps a message until it is known what became of it.
func (p *prober) wait(m *config.Mailbox, from string, answer reply) {
	limit := recordTime
	if p.gate(m.Address) != nil {
		limit = routeTime
	}
	p.open = append(p.open, sent{len(p.probes), m, from, answer, limit})
}

func (p *prober) tell(probe Probe) { p.probes = append(p.probes, probe) }

// listening reports whether stile runs.
func (a *audit) listening() bool {
	network, address := "unix", a.socketPath()
	if a.Config.Listen.Network == "tcp" {
		network, address = "tcp", a.Config.Listen.Address
	}
	conn, err := net.DialTimeout(network, address, 2*time.Second)
	if err != nil {
		return false
	}
	_ = conn.Close()
	return true
}

// message is a probe's text and the address that it gives as its sender's: one
// that nobody lists, and short enough to stand in a record.
func message(to string) (text, from string) {
	var b [6]byte
	_, _ = rand.Read(b[:]) // never fails
	from = "probe-" + hex.EncodeToString(b[:]) + "@stile.invalid"
	return "From: " + from + "\r\nTo: " + to + "\r\nSubject: a test by stile doctor\r\n" +
		"Date: " + time.Now().Format(time.RFC1123Z) + "\r\nMessage-ID: <" + from + ">\r\nAuto-Submitted: auto-generated\r\n\r\n" +
		"A test by stile doctor. It is not signed, so stile must refuse it.\r\nWho can read this reads mail that went round stile.\r\n", from
}

// smtp sends a probe to a server.
func (p *prober) smtp(s *service, m *config.Mailbox) {
	probe := Probe{Claim: "refused", Service: s.id(), Mailbox: m.ID}
	if !p.running {
		probe.Claim = "deferred"
	}
	address, ok := p.dialed(s)
	if !ok {
		return // clients reach it through another service
	}
	text, from := message(m.Address)
	last, whole, err := hand(p.ctx, address, m.Address, text)
	switch {
	case err != nil:
		probe.Result, probe.What = Unproved, "no SMTP at "+address
	case p.running && !whole:
		probe.Result, probe.What = Unproved, fmt.Sprintf("the server answered %d before the message: %s", last.code, last.text)
	case !p.running && last.code >= 500:
		probe.Result, probe.What = Failed, fmt.Sprintf("while stile does not run the server answers %d, which sends mail back: %s", last.code, last.text)
	case !p.running && last.code >= 400:
		probe.Result, probe.What = Proved, fmt.Sprintf("stile does not run, and the server answers %d", last.code)
	default:
		p.wait(m, from, last)
	}
	p.tell(probe)
}

// dialed is where a client on this host finds a server.
func (p *prober) dialed(s *service) (string, bool) {
	if s.typ != "inet" {
		return "", false
	}
	host, port := "", s.name
	if i := strings.LastIndexByte(s.name, ':'); i >= 0 {
		host, port = strings.Trim(s.name[:i], "[]"), s.name[i+1:]
	}
	if host != "" {
		return net.JoinHostPort(host, port), true
	}
	for _, item := range items(s.get("inet_interfaces")) {
		if ip := net.ParseIP(strings.Trim(item, "[]")); ip != nil {
			return net.JoinHostPort(ip.String(), port), true
		}
	}
	return net.JoinHostPort("127.0.0.1", port), true
}

// sendmail hands a probe to sendmail(1).
func (p *prober) sendmail(m *config.Mailbox) {
	probe := Probe{Claim: "refused", Service: "sendmail", Mailbox: m.ID}
	text, from := message(m.Address)
	args := []string{"-i", "-f", "<>", "--", m.Address}
	if p.pf.dir != "" {
		args = append([]string{"-C", p.pf.dir}, args...)
	}
	r, err := runWith(p.ctx, strings.ReplaceAll(text, "\r\n", "\n"), "sendmail", args...)
	if err != nil || r.exit != 0 {
		probe.Result, probe.What = Unproved, "sendmail does not take the message"
	} else {
		p.wait(m, from, reply{code: 250})
	}
	p.tell(probe)
}

// await looks again and again for what became of the messages, until it is
// known of each or the time is over.
func (p *prober) await() {
	again := time.NewTicker(lookAgain)
	defer again.Stop()
	for start := time.Now(); len(p.open) > 0; {
		took := time.Since(start)
		p.open = slices.DeleteFunc(p.open, func(s sent) bool {
			late := took > s.limit || p.ctx.Err() != nil
			probe := &p.probes[s.probe]
			if p.running {
				probe.Result, probe.What = p.record(s, late)
			} else {
				probe.Result, probe.What = p.place(s, late)
			}
			return probe.Result != ""
		})
		select {
		case <-again.C:
		case <-p.ctx.Done():
		}
	}
}

// record looks for the record that stile made of a probe. Without a result there
// is none yet.
func (p *prober) record(s sent, late bool) (Result, string) {
	id, err := p.recorded(p.ctx, s.mailbox.ID, s.from)
	switch {
	case err != nil:
		return Unproved, "the store cannot be read"
	case id != "":
		return Proved, fmt.Sprintf("recorded as %s, answered %d", id, s.answer.code)
	case !late:
		return "", ""
	case s.answer.code < 300:
		return Failed, fmt.Sprintf("the message of %s was taken, and stile has no record of it: it may be in the mailbox", s.from)
	}
	return Unproved, fmt.Sprintf("the server answered %d, and stile has no record: %s", s.answer.code, s.answer.text)
}

// place sees whether a probe that was taken while stile does not run waits in
// the queue. Without a result nobody has tried it yet.
func (p *prober) place(s sent, late bool) (Result, string) {
	id := s.answer.queueID()
	switch queue := p.queued(id); {
	case queue == "deferred":
		return Proved, "stile does not run, and the message waits in the queue as " + id
	case queue == "":
		return Failed, "stile does not run, and the message " + id + " has left the queue: it may be in the mailbox"
	case late:
		return Unproved, "stile does not run, and what became of the message " + id + " is not known"
	}
	return "", ""
}

// queued is the queue in which a message lies, "" if it is in none.
func (p *prober) queued(id string) string {
	r, err := run(p.ctx, "postqueue", p.pf.args("-j")...)
	if err != nil || r.exit != 0 {
		return "unknown"
	}
	for d := json.NewDecoder(strings.NewReader(r.stdout)); d.More(); {
		var entry struct {
			Queue string `json:"queue_name"`
			ID    string `json:"queue_id"`
		}
		if d.Decode(&entry) != nil {
			return "unknown"
		}
		if entry.ID == id {
			return entry.Queue
		}
	}
	return ""
}
