package doctor

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"stile/config"
)

// maxHeader is how much of a delivered message is read: its header.
const maxHeader = 1 << 20

// SendSigned sends a message that stile accepts for the mailbox through the
// first server that takes it, and looks for the stamp in what is delivered.
// entry is the listed sender. The message is delivered like any other.
func SendSigned(ctx context.Context, o Options, m *config.Mailbox, entry, raw string) (Probe, error) {
	pf, err := readPostfix(ctx, o.Postfix)
	if err != nil {
		return Probe{}, err
	}
	a := newAudit(ctx, o, pf)
	p := &prober{audit: a}
	gate := a.gate(m.Address)
	probe := Probe{Claim: "stamped", Mailbox: m.ID, Result: Unproved, What: "no server takes the message"}
	for _, s := range pf.by("smtpd", "postscreen") {
		address, ok := p.dialed(s)
		if !ok || s == gate {
			continue
		}
		start := time.Now()
		last, whole, err := hand(ctx, address, m.Address, raw)
		if err != nil || !whole || last.code >= 300 {
			continue
		}
		probe.Service = s.id()
		probe.Result, probe.What = a.awaitStamp(m, entry, messageID(raw), start)
		break
	}
	return probe, nil
}

// awaitStamp waits for the message where virtual(8) delivers it.
func (a *audit) awaitStamp(m *config.Mailbox, entry, id string, start time.Time) (Result, string) {
	box := a.box(strings.ToLower(m.Address))
	if !strings.HasSuffix(box, "/") {
		return Unproved, "the server took the message; look for Stile-Verdict in what is delivered, for the mailbox is none that can be looked into"
	}
	folder := filepath.Join(a.pf.get("virtual_mailbox_base"), box, "new")
	again := time.NewTicker(lookAgain)
	defer again.Stop()
	for time.Since(start) < routeTime && a.ctx.Err() == nil {
		for _, header := range newer(folder, start) {
			stamped := strings.Contains(header, "\nStile-Verdict: accept;") && strings.Contains(header, "from="+entry+";")
			if stamped && slices.Contains(policies(header), m.ID) {
				return Proved, "the delivered message has its stamp"
			}
			if id != "" && strings.Contains(header, "\n"+id+"\n") && !strings.Contains(header, "\nStile-Verdict:") {
				return Failed, "the message was delivered without a stamp"
			}
		}
		select {
		case <-again.C:
		case <-a.ctx.Done():
		}
	}
	return Unproved, fmt.Sprintf("the server took the message, and it is not in %s: stile may have refused it", folder)
}

// newer are the headers of the messages that came after that time, with LF as
// line ends.
func newer(folder string, start time.Time) []string {
	var all []string
	entries, _ := os.ReadDir(folder) // none where it cannot be read
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || info.ModTime().Before(start.Add(-time.Second)) {
			continue
		}
		f, err := os.Open(filepath.Join(folder, e.Name()))
		if err != nil {
			continue
		}
		text, err := io.ReadAll(io.LimitReader(f, maxHeader))
		f.Close()
		if err != nil {
			continue
		}
		header, _, _ := strings.Cut("\n"+strings.ReplaceAll(string(text), "\r\n", "\n"), "\n\n")
		all = append(all, header+"\n")
	}
	return all
}

// policies are those that a stamp names.
func policies(header string) []string {
	_, rest, _ := strings.Cut(header, "\nStile-Verdict: accept;")
	_, rest, _ = strings.Cut(rest, "policy=")
	list, _, _ := strings.Cut(rest, ";")
	return strings.Split(list, ",")
}

// messageID is the field of that name, "" where there is none.
func messageID(raw string) string {
	header, _, _ := strings.Cut("\r\n"+raw, "\r\n\r\n")
	for _, line := range strings.Split(header, "\r\n") {
		if len(line) > 11 && strings.EqualFold(line[:11], "message-id:") {
			return line
		}
	}
	return ""
}
