package dns

import (
	"context"
	"errors"
	"net"

	"github.com/miekg/dns"
)

// udpSize is the answer that we take over UDP: it crosses every common path
// without fragments, which could be forged (RFC 9715).
const udpSize = 1232

// ask goes through the servers in order, twice at most, until one answers. The
// error is the last attempt's. When ctx is over, attempts fail at once.
func (r *Resolver) ask(ctx context.Context, name string) (answer, error) {
	last := errTimeout
	for range rounds {
		for _, server := range r.servers {
			a, err := r.attempt(ctx, server, name)
			if err == nil {
				return a, nil
			}
			last = err
		}
	}
	return answer{}, last
}

// attempt asks one server once: over UDP, and over TCP if the answer did not
// fit (RFC 7766, section 5).
func (r *Resolver) attempt(ctx context.Context, server, name string) (answer, error) {
	m, err := r.exchange(ctx, "udp", server, name)
	if err == nil && m.Truncated {
		m, err = r.exchange(ctx, "tcp", server, name)
		// Over TCP nothing is left to fetch the rest with.
		if err == nil && m.Truncated {
			return answer{}, errTooLarge
		}
	}
	if err != nil {
		return answer{}, err
	}
	return read(name, m)
}

// exchange sends one query, with an ID of its own, and waits for the response.
func (r *Resolver) exchange(ctx context.Context, network, server, name string) (*dns.Msg, error) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	query := new(dns.Msg).SetQuestion(name, dns.TypeTXT)
	query.SetEdns0(udpSize, false)
	client := dns.Client{Net: network, Timeout: r.timeout}
	m, _, err := client.ExchangeContext(ctx, query, server)
	if err == nil {
		return m, nil
	}
	// A response may be cut in the midst of a record; that it says so is
	// enough to ask for the whole.
	if m != nil && m.Id == query.Id && m.Truncated {
		return m, nil
	}
	return nil, classify(err)
}

// classify ends the library's errors, which can quote a name.
func classify(err error) error {
	if timeout := net.Error(nil); errors.As(err, &timeout) && timeout.Timeout() {
		return errTimeout
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return errTimeout
	}
	if wire := (*dns.Error)(nil); errors.As(err, &wire) {
		return errMalformed
	}
	return errNetwork
}
