package rig

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"

	"github.com/miekg/dns"
)

// Mood is how the DNS server answers.
type Mood int

// The moods.
const (
	Answering Mood = iota
	ServFail       // SERVFAIL to everything
	Silent         // no answer at all
	Slow           // no answer before the mood changes, and then as it says
)

// DNS is an authoritative server on loopback for TXT records (RFC 1035), on UDP
// and TCP.
type DNS struct {
	Addr    string // host:port
	Queries *Lines // the name of each question, lower case, one a line

	mu     sync.Mutex
	txt    map[string][]string
	mood   Mood
	change chan struct{} // closed and replaced when the mood changes
	udp    *dns.Server
	tcp    *dns.Server
	served sync.WaitGroup
}

// StartDNS starts a server without records, at a free port.
func StartDNS() (*DNS, error) { return StartDNSAt("127.0.0.1:0") }

// StartDNSAt is StartDNS at an address of one's own.
func StartDNSAt(addr string) (*DNS, error) {
	// One port number for both: UDP's is taken first, and TCP's may be in use.
	var packets net.PacketConn
	var conns net.Listener
	var err error
	for range 20 {
		if packets, err = net.ListenPacket("udp", addr); err != nil {
			return nil, fmt.Errorf("rig: DNS: %w", err)
		}
		if conns, err = net.Listen("tcp", packets.LocalAddr().String()); err == nil {
			break
		}
		packets.Close()
	}
	if err != nil {
		return nil, fmt.Errorf("rig: DNS: %w", err)
	}
	d := &DNS{Addr: packets.LocalAddr().String(), Queries: NewLines(), txt: map[string][]string{}, change: make(chan struct{})}
	d.udp = &dns.Server{PacketConn: packets, Handler: d}
	d.tcp = &dns.Server{Listener: conns, Handler: d}
	for _, server := range []*dns.Server{d.udp, d.tcp} {
		ready := make(chan struct{})
		server.NotifyStartedFunc = func() { close(ready) }
		d.served.Go(func() { _ = server.ActivateAndServe() }) // ends by Shutdown
		<-ready
	}
	return d, nil
}

// SetTXT makes the records at name those values; without one the name exists no
// more.
func (d *DNS) SetTXT(name string, values ...string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.txt[strings.ToLower(dns.Fqdn(name))] = values
}

// SetMood says how queries are answered from now on.
func (d *DNS) SetMood(m Mood) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.mood = m
	close(d.change)
	d.change = make(chan struct{})
}

// ServeDNS answers one query.
func (d *DNS) ServeDNS(w dns.ResponseWriter, q *dns.Msg) {
	m := new(dns.Msg)
	m.SetReply(q)
	m.Authoritative = true
	if len(q.Question) != 1 {
		m.Rcode = dns.RcodeFormatError
		_ = w.WriteMsg(m)
		return
	}
	name := strings.ToLower(q.Question[0].Name)
	mood, values, change := d.now(name)
	fmt.Fprintln(d.Queries, strings.TrimSuffix(name, "."))
	for mood == Slow {
		<-change
		mood, values, change = d.now(name)
	}
	switch {
	case mood == ServFail:
		m.Rcode = dns.RcodeServerFailure
	case len(values) == 0:
		m.Rcode = dns.RcodeNameError
	case q.Question[0].Qtype == dns.TypeTXT:
		for _, v := range values {
			m.Answer = append(m.Answer, &dns.TXT{
				Hdr: dns.RR_Header{Name: q.Question[0].Name, Rrtype: dns.TypeTXT, Class: dns.ClassINET, Ttl: 300},
				Txt: strings255(v),
			})
		}
	}
	if mood != Silent {
		if _, udp := w.LocalAddr().(*net.UDPAddr); udp {
			m.Truncate(512) // RFC 1035, 4.2.1; EDNS is not read
		}
		_ = w.WriteMsg(m) // a client that is gone needs no answer
	}
}

// now is what holds for a name, until change is closed.
func (d *DNS) now(name string) (mood Mood, values []string, change <-chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.mood, d.txt[name], d.change
}

// strings255 cuts a record into character strings (RFC 1035, 3.3).
func strings255(s string) []string {
	var out []string
	for len(s) > 255 {
		out = append(out, s[:255])
		s = s[255:]
	}
	return append(out, s)
}

// Stop ends the server.
func (d *DNS) Stop(ctx context.Context) {
	d.SetMood(Silent) // nobody waits for it
	_ = d.udp.ShutdownContext(ctx)
	_ = d.tcp.ShutdownContext(ctx)
	d.served.Wait()
}
