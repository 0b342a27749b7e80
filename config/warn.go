package config

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"golang.org/x/net/publicsuffix"

	"stile/verdict"
)

// warn gathers what is allowed and probably not meant.
func (b *builder) warn() {
	b.warnListeners()
	b.warnGuarded()
	b.warnEvidence()
	for _, m := range b.c.Mailboxes {
		b.warnMailbox(m)
	}
	slices.SortStableFunc(b.c.warnings, func(a, b Warning) int {
		if c := strings.Compare(a.File, b.File); c != 0 {
			return c
		}
		return a.Line - b.Line
	})
}

func (b *builder) warning(at position, format string, args ...any) {
	b.c.warnings = append(b.c.warnings, Warning{at.file, at.line, fmt.Sprintf(format, args...)})
}

func (b *builder) warnListeners() {
	whole := position{file: b.end.file}
	if b.c.Listen.Network == "tcp" && !loopback(b.c.Listen.Address) {
		b.warning(whole, "listen: %s is not loopback; whoever reaches it can feed stile mail and read its answers", b.c.Listen.Address)
	}
	if b.c.Metrics != "" && !loopback(b.c.Metrics) {
		b.warning(whole, "metrics: %s is not loopback; whoever reaches it can read the counts", b.c.Metrics)
	}
}

// loopback reports whether host:port is reached from this host alone.
func loopback(hostPort string) bool {
	host := strings.Trim(hostPort[:strings.LastIndexByte(hostPort, ':')], "[]")
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.IsLoopback()
	}
	return fold(host) == "localhost"
}

func (b *builder) warnGuarded() {
	for i, domain := range b.c.GuardedDomains {
		if m, _ := b.c.Resolve("postmaster@" + domain); m == nil {
			b.warning(b.guardedAt[i], "guarded_domains: postmaster@%s is no mailbox and will be answered 550; mail servers are asked to have one (RFC 5321, 4.5.1)", domain)
		}
	}
}

func (b *builder) warnMailbox(m *Mailbox) {
	seen := make(map[string]position, len(m.Senders))
	for _, e := range b.entries[m] {
		b.warnSender(e.at, e.text)
		address := fold(e.text)
		if first, ok := seen[address]; ok {
			b.warning(e.at, "senders: %s is given twice, first on line %d of %s; that spelling is the one shown", e.text, first.line, first.file)
			continue
		}
		seen[address] = e.at
	}
	for _, e := range b.also[m] {
		if other, _ := b.c.Resolve(e.text); other != nil {
			b.warning(e.at, "also_addressed: %s is the guarded mailbox %s; here belong addresses elsewhere that forward to this one", e.text, other.ID)
		}
	}
	if m.policy.Addressed == verdict.AddressedOff {
		b.warning(b.at[m], "addressed: off lets mail that a listed sender wrote to somebody else be sent on to %s", m.Address)
	}
	if m.policy.AllowAutomatic {
		b.warning(b.at[m], "automatic: accept lets a listed sender's auto-reply carry what a stranger wrote to them")
	}
}

// warnSender warns of an entry that could be anyone. A signature must be made
// by the very domain of the address, so what counts is who can sign as that.
func (b *builder) warnSender(at position, address string) {
	if m, _ := b.c.Resolve(address); m != nil {
		b.warning(at, "senders: %s is the guarded mailbox %s; what its agent writes would be shown to this one", address, m.ID)
	}
	domain := fold(address[strings.IndexByte(address, '@')+1:])
	suffix, icann := publicsuffix.PublicSuffix(domain)
	private := !icann && strings.Contains(suffix, ".") // without a dot it is the list's rule for what it does not know
	switch {
	case private && suffix == domain:
		b.warning(at, "senders: %s: strangers can have names under %s and may be able to sign as it", address, domain)
	case private:
		b.warning(at, "senders: %s: anyone can ask %s for such a name, and whoever holds it next can sign as it", address, suffix)
	case icann && suffix == domain:
		b.warning(at, "senders: %s: %s is a public suffix, under which anyone can register", address, domain)
	}
}
