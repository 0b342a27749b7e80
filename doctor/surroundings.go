package doctor

import (
	"context"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"stile/dns"
)

// lookupTime bounds all questions to name servers together.
const lookupTime = 20 * time.Second

// surroundings looks at what stile relies on and neither it nor Postfix is.
func (a *audit) surroundings() {
	if !a.Synchronised() {
		a.add("clock", nil, "the kernel says that nobody keeps the clock right")
	}
	a.names()
	a.lmtp()
}

// synchronised is what the kernel was told by whoever sets the clock. A kernel
// that does not answer is not one to complain of.
func synchronised() bool {
	var t unix.Timex
	state, err := unix.Adjtimex(&t)
	return err != nil || state != unix.TIME_ERROR
}

// names asks the name servers that stile asks.
func (a *audit) names() {
	ctx, cancel := context.WithTimeout(a.ctx, lookupTime)
	defer cancel()
	resolver, err := dns.New(dns.Config{Servers: a.Config.DNS})
	if err != nil {
		a.add("resolver-silent", nil, "the system's name servers are not to be found in /etc/resolv.conf")
		return
	}
	answered := false
	for _, server := range resolver.Servers() {
		valid, err := resolver.Validates(ctx, server)
		if err != nil {
			a.add("resolver-silent", nil, "the name server "+server+" does not answer")
			continue
		}
		answered = true
		if !valid {
			a.add("resolver-open", nil, "the name server "+server+" does not validate (DNSSEC)")
		}
	}
	if answered {
		a.exchangers(ctx, resolver)
	}
}

// exchangers looks where mail for the guarded domains is sent to.
func (a *audit) exchangers(ctx context.Context, resolver *dns.Resolver) {
	ours := append(a.localNames(), strings.ToLower(a.pf.get("myhostname")), strings.ToLower(a.Config.Hostname))
	var asked []string
	for _, g := range a.guarded {
		domain := domainOf(g.address)
		if slices.Contains(asked, domain) {
			continue
		}
		asked = append(asked, domain)
		hosts, err := resolver.Exchangers(ctx, domain)
		if err != nil {
			continue // the name server has been told of
		}
		for _, host := range hosts {
			if !slices.Contains(ours, host) {
				a.add("mx-elsewhere", vars{"domain": domain}, fmt.Sprintf("an MX record of %s names %s", domain, host))
			}
		}
	}
}

// lmtp looks for doors into the mailboxes that stand beside Postfix.
func (a *audit) lmtp() {
	for _, transport := range a.deliverers() {
		name, nexthop, _ := strings.Cut(transport, ":")
		if s := a.pf.service(name + "/unix"); s == nil || s.daemon != "lmtp" {
			continue
		}
		if path, ok := strings.CutPrefix(nexthop, "unix:"); ok {
			if !filepath.IsAbs(path) {
				path = a.pf.queue(path)
			}
			info, err := os.Stat(path)
			if err != nil || info.Mode().Type() != fs.ModeSocket {
				continue
			}
			if at, _ := blocked(path, account{uid: -1}); at == "" {
				a.add("lmtp-open", vars{"what": path}, fmt.Sprintf("every account can hand mail to %s (%s)", path, modeOf(path)))
			}
			continue
		}
		host, port := splitNexthop(strings.TrimPrefix(nexthop, "inet:"))
		if port == "25" && !strings.Contains(nexthop, ":25") {
			port = "24" // LMTP's own
		}
		a.add("lmtp-open", vars{"what": net.JoinHostPort(host, port)}, fmt.Sprintf("whoever can connect to %s can hand it mail", net.JoinHostPort(host, port)))
	}
}
