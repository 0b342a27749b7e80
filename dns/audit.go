package dns

import (
	"context"
	"slices"
	"strings"

	"github.com/miekg/dns"
)

// Servers are the name servers that the Resolver asks, as host:port.
func (r *Resolver) Servers() []string { return slices.Clone(r.servers) }

// Validates reports whether a server says of an answer that it validated it
// (the AD bit: RFC 6840, 5.7). The question is the root's own key, which is
// signed wherever there is DNSSEC.
func (r *Resolver) Validates(ctx context.Context, server string) (bool, error) {
	query := new(dns.Msg).SetQuestion(".", dns.TypeDNSKEY)
	query.SetEdns0(udpSize, true)
	query.AuthenticatedData = true
	m, err := r.question(ctx, server, query)
	if err != nil {
		return false, err
	}
	return m.AuthenticatedData, nil
}

// Exchangers are the hosts of a domain's MX records (RFC 5321, 5.1), lower case
// and without a last dot; none if there is no such record. A name that is none
// of a host is given as "?".
func (r *Resolver) Exchangers(ctx context.Context, domain string) ([]string, error) {
	name, ok := canonical(domain)
	if !ok {
		return nil, nil
	}
	var err error
	for _, server := range r.servers {
		query := new(dns.Msg).SetQuestion(name, dns.TypeMX)
		query.SetEdns0(udpSize, false)
		var m *dns.Msg
		if m, err = r.question(ctx, server, query); err == nil {
			return hosts(m), nil
		}
	}
	return nil, err
}

func hosts(m *dns.Msg) []string {
	var all []string
	for _, rr := range m.Answer {
		if mx, ok := rr.(*dns.MX); ok {
			host := strings.ToLower(strings.TrimSuffix(mx.Mx, "."))
			if host == "" {
				host = "." // no host takes this domain's mail (RFC 7505)
			}
			if strings.Trim(host, "abcdefghijklmnopqrstuvwxyz0123456789.-_") != "" {
				host = "?"
			}
			all = append(all, host)
		}
	}
	return all
}

// question puts one question to one server, again if it does not answer. What is
// neither an answer nor that there is none is an error.
func (r *Resolver) question(ctx context.Context, server string, query *dns.Msg) (m *dns.Msg, err error) {
	for range rounds {
		if m, err = r.once(ctx, server, query); err == nil {
			break
		}
	}
	return m, err
}

// once asks over UDP, and over TCP if the answer did not fit.
func (r *Resolver) once(ctx context.Context, server string, query *dns.Msg) (*dns.Msg, error) {
	for _, network := range []string{"udp", "tcp"} {
		ctx, cancel := context.WithTimeout(ctx, r.timeout)
		client := dns.Client{Net: network, Timeout: r.timeout}
		m, _, err := client.ExchangeContext(ctx, query, server)
		cancel()
		if m != nil && m.Id == query.Id && m.Truncated && network == "udp" {
			continue
		}
		if err != nil {
			return nil, classify(err)
		}
		if m.Rcode != dns.RcodeSuccess && m.Rcode != dns.RcodeNameError {
			return nil, errRefused
		}
		return m, nil
	}
	return nil, errTooLarge
}
