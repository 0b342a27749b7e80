package dns

import (
	"errors"
	"time"

	"github.com/miekg/dns"
)

// maxChain bounds the CNAMEs followed from the name to its records.
const maxChain = 8

// What an attempt can fail of. The text is constant: what came over the wire
// is never quoted.
var (
	errTimeout   = errors.New("dns: no name server answered in time")
	errNetwork   = errors.New("dns: no name server could be reached")
	errServFail  = errors.New("dns: the name server failed to find an answer (SERVFAIL)")
	errRefused   = errors.New("dns: the name server did not take the question (REFUSED, FORMERR, NOTIMP or another code)")
	errMalformed = errors.New("dns: the answer is malformed")
	errQuestion  = errors.New("dns: the answer belongs to another question")
	errReferral  = errors.New("dns: the name server points to others instead of answering")
	errChain     = errors.New("dns: the chain of CNAMEs is a loop or too long")
	errTooLarge  = errors.New("dns: the answer is too large")
	errInternal  = errors.New("dns: the look-up failed inside")
)

// answer is what a name holds: records, or none.
type answer struct {
	txt []string
	ttl time.Duration // 0: not to be cached
}

// read takes the answer to the question for TXT at name out of a response.
func read(name string, m *dns.Msg) (answer, error) {
	// The code comes first: a server that could not read the question need not
	// repeat it (RFC 1035, 4.1.1).
	if m.Rcode == dns.RcodeServerFailure {
		return answer{}, errServFail
	}
	if m.Rcode != dns.RcodeSuccess && m.Rcode != dns.RcodeNameError {
		return answer{}, errRefused
	}
	if !echoes(name, m) {
		return answer{}, errQuestion
	}
	end, ttl, err := follow(name, m.Answer)
	if err != nil {
		return answer{}, err
	}
	txt, ttl, err := texts(end, m.Answer, ttl)
	if err != nil {
		return answer{}, err
	}
	if len(txt) > 0 {
		return positive(m, txt, ttl)
	}
	// Records at some other name answer no question of ours (RFC 2181, 5.4.1).
	if holds(m.Answer, dns.TypeTXT) {
		return answer{}, errMalformed
	}
	if refers(m, end != name) {
		return answer{}, errReferral
	}
	return answer{ttl: negativeTTL(m)}, nil
}

// positive is an answer with records. A response that says of the same name
// that it does not exist contradicts itself.
func positive(m *dns.Msg, txt []string, ttl uint32) (answer, error) {
	if m.Rcode == dns.RcodeNameError {
		return answer{}, errMalformed
	}
	return answer{txt, time.Duration(ttl) * time.Second}, nil
}

// echoes reports whether m is a response to the one question for TXT at name.
// A response to another could be a forged or a late one (RFC 5452, 9.1).
func echoes(name string, m *dns.Msg) bool {
	if !m.Response {
		return false
	}
	if m.Opcode != dns.OpcodeQuery {
		return false
	}
	if len(m.Question) != 1 {
		return false
	}
	q := m.Question[0]
	return lower(q.Name) == name && q.Qtype == dns.TypeTXT && q.Qclass == dns.ClassINET
}

// follow goes along the CNAMEs from name to the name that holds the records
// (RFC 1034, 3.6.2). ttl is the least of theirs.
func follow(name string, rrs []dns.RR) (end string, ttl uint32, err error) {
	ttl = ^uint32(0)
	for range maxChain + 1 {
		alias, err := aliasAt(name, rrs)
		if err != nil {
			return "", 0, err
		}
		if alias == nil {
			return name, ttl, nil
		}
		name, ttl = lower(alias.Target), min(ttl, alias.Hdr.Ttl)
	}
	return "", 0, errChain
}

// aliasAt is the CNAME at name, nil if there is none. Two that differ are an
// error: which of them is followed would be chance.
func aliasAt(name string, rrs []dns.RR) (*dns.CNAME, error) {
	var found *dns.CNAME
	for _, rr := range rrs {
		alias, ok := rr.(*dns.CNAME)
		if !ok || !at(name, rr) {
			continue
		}
		if found != nil && lower(found.Target) != lower(alias.Target) {
			return nil, errMalformed
		}
		found = alias
	}
	return found, nil
}

// texts is the TXT records at name, ttl the least of theirs and the one given.
func texts(name string, rrs []dns.RR, ttl uint32) ([]string, uint32, error) {
	var all []string
	size := 0
	for _, rr := range rrs {
		record, ok := rr.(*dns.TXT)
		if !ok || !at(name, rr) {
			continue
		}
		text, err := joined(record)
		if err != nil {
			return nil, 0, err
		}
		if size += len(text) + 1; size > maxText {
			return nil, 0, errTooLarge
		}
		all, ttl = append(all, text), min(ttl, record.Hdr.Ttl)
	}
	return all, ttl, nil
}

// at reports whether the record stands at name, a canonical one.
func at(name string, rr dns.RR) bool {
	return rr.Header().Class == dns.ClassINET && lower(rr.Header().Name) == name
}

// refers reports whether a response without a record leaves the question open:
// it comes from a server that does not recurse and is no authority for the end
// of the chain, or it names other servers (RFC 2308, 2.2).
func refers(m *dns.Msg, chained bool) bool {
	if m.Rcode == dns.RcodeNameError {
		return false
	}
	if !m.RecursionAvailable && chained {
		return true
	}
	if !m.RecursionAvailable && !m.Authoritative {
		return true
	}
	return holds(m.Ns, dns.TypeNS) && !holds(m.Ns, dns.TypeSOA)
}

func holds(rrs []dns.RR, kind uint16) bool {
	for _, rr := range rrs {
		if rr.Header().Rrtype == kind {
			return true
		}
	}
	return false
}

// negativeTTL is how long "no record" holds: the SOA's TTL or MINIMUM, the
// lesser. Without an SOA it must not be cached (RFC 2308, section 5).
func negativeTTL(m *dns.Msg) time.Duration {
	for _, rr := range m.Ns {
		if soa, ok := rr.(*dns.SOA); ok {
			return time.Duration(min(soa.Hdr.Ttl, soa.Minttl)) * time.Second
		}
	}
	return 0
}
