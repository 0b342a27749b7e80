package dns

import (
	"slices"
	"testing"

	"github.com/miekg/dns"
)

func TestValidates(t *testing.T) {
	for _, want := range []bool{true, false} {
		s := serve(t, func(_ string, reply *dns.Msg) bool {
			reply.AuthenticatedData = want
			return true
		})
		r, err := New(Config{Servers: []string{s.addr}})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := r.Validates(t.Context(), s.addr); err != nil || got != want {
			t.Errorf("%v, %v", got, err)
		}
	}
	s := serve(t, func(_ string, reply *dns.Msg) bool {
		reply.Rcode, reply.AuthenticatedData = dns.RcodeRefused, true
		return true
	})
	r, err := New(Config{Servers: []string{s.addr}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Validates(t.Context(), s.addr); err == nil {
		t.Error("an answer that is none says that it is validated")
	}
}

func TestExchangers(t *testing.T) {
	s := serve(t, func(network string, reply *dns.Msg) bool {
		if network == "udp" {
			reply.Truncated = true
			return true
		}
		for _, host := range []string{"MX.example.org.", "odd\x1bhost.example.org.", "."} {
			reply.Answer = append(reply.Answer, &dns.MX{
				Hdr: dns.RR_Header{Name: reply.Question[0].Name, Rrtype: dns.TypeMX, Class: dns.ClassINET}, Mx: host,
			})
		}
		return true
	})
	r, err := New(Config{Servers: []string{s.addr}})
	if err != nil {
		t.Fatal(err)
	}
	got, err := r.Exchangers(t.Context(), "example.org")
	if want := []string{"mx.example.org", "?", "."}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v", got, err)
	}
}
