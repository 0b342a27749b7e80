package dns

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/miekg/dns"
)

// maxRecords bounds a zone file; $GENERATE makes many of one line.
const maxRecords = 100000

// Zone is the content of a master file, for look-ups without a network.
type Zone struct {
	names map[string][]dns.RR
}

// ReadZone reads a master file (RFC 1035, section 5) of class IN. Names
// without a last dot are relative to $ORIGIN, and to the root before it;
// records of other types than TXT, CNAME, NS and SOA are ignored. An error
// names the line.
func ReadZone(r io.Reader) (*Zone, error) {
	lines := &lineReader{r: bufio.NewReader(r), line: 1}
	p := dns.NewZoneParser(lines, ".", "")
	p.SetDefaultTTL(3600)
	z := &Zone{names: make(map[string][]dns.RR)}
	n := 0
	for rr, ok := p.Next(); ok; rr, ok = p.Next() {
		if n++; n > maxRecords {
			return nil, fmt.Errorf("dns: zone file: more than %d records", maxRecords)
		}
		if err := z.add(rr); err != nil {
			return nil, fmt.Errorf("dns: zone file: line %d: %w", lines.line, err)
		}
	}
	if lines.err != nil {
		return nil, fmt.Errorf("dns: zone file: %w", lines.err)
	}
	if p.Err() != nil {
		return nil, fmt.Errorf("dns: zone file: line %d is no record or directive of a master file", lines.line)
	}
	return z, nil
}

func (z *Zone) add(rr dns.RR) error {
	if rr.Header().Class != dns.ClassINET {
		return nil
	}
	if txt, ok := rr.(*dns.TXT); ok {
		if _, err := joined(txt); err != nil {
			return errors.New("a backslash in the text begins no escape")
		}
	}
	name := lower(rr.Header().Name)
	z.names[name] = append(z.names[name], rr)
	return nil
}

// LookupTXT is the TXT records at name, as that of a Resolver. A name at or
// under one that is delegated (it has NS and no SOA) is an error, as if its
// servers did not answer. CNAMEs are followed within the zone.
func (z *Zone) LookupTXT(_ context.Context, name string) ([]string, error) {
	name, ok := canonical(name)
	if !ok {
		return nil, nil
	}
	for range maxChain + 1 {
		if z.delegated(name) {
			return nil, errServFail
		}
		alias, err := aliasAt(name, z.names[name])
		if err != nil {
			return nil, err
		}
		if alias == nil {
			txt, _, err := texts(name, z.names[name], 0)
			return txt, err
		}
		name = lower(alias.Target)
	}
	return nil, errChain
}

// delegated reports whether the name, or one above it, is another server's.
func (z *Zone) delegated(name string) bool {
	for off, end := 0, false; !end; off, end = dns.NextLabel(name, off) {
		rrs := z.names[name[off:]]
		if holds(rrs, dns.TypeNS) && !holds(rrs, dns.TypeSOA) {
			return true
		}
	}
	return false
}

// lineReader counts lines for the parser, which takes an io.ByteReader as it
// is and so reads no further than the line that it is at.
type lineReader struct {
	r    *bufio.Reader
	line int
	lf   bool  // the last octet ended a line
	err  error // what reading failed of
}

func (l *lineReader) Read(p []byte) (int, error) { return 0, errors.ErrUnsupported }

func (l *lineReader) ReadByte() (byte, error) {
	c, err := l.r.ReadByte()
	if err != nil {
		if err != io.EOF {
			l.err = err
		}
		return 0, err
	}
	if l.lf {
		l.line++
	}
	l.lf = c == '\n'
	return c, nil
}
