package main

import (
	"bytes"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/d--j/go-milter"
	"github.com/emersion/go-msgauth/dkim"
)

// raw is the message as it crossed the wire.
func (m mail) raw() string {
	var b strings.Builder
	for _, f := range m.header {
		b.WriteString(f.name + ":" + strings.ReplaceAll(f.value, "\n", "\r\n") + "\r\n")
	}
	return b.String() + "\r\n" + m.body
}

// Nine of ten messages verify, the tenth does not, no two are the same, and
// they are of the size that was asked for.
func TestMessages(t *testing.T) {
	m, err := newMint()
	if err != nil {
		t.Fatal(err)
	}
	record, err := m.record()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, size := range []int{2000, 20000, 1000000} {
		all, err := m.messages(2*altered, size)
		if err != nil {
			t.Fatal(err)
		}
		for i, one := range all {
			raw := one.raw()
			if n := len(raw); n < size*95/100 || n > size*105/100 {
				t.Errorf("%d octets, want %d", n, size)
			}
			if seen[raw] {
				t.Error("a message is there twice")
			}
			seen[raw] = true
			results, err := dkim.VerifyWithOptions(strings.NewReader(raw), &dkim.VerifyOptions{
				LookupTXT: func(string) ([]string, error) { return []string{record}, nil },
			})
			if err != nil || len(results) != 1 {
				t.Fatalf("%d signatures, %v", len(results), err)
			}
			if verifies := results[0].Err == nil; verifies != one.good || one.good != (i%altered != altered-1) {
				t.Errorf("message %d: verifies %t, good %t", i, verifies, one.good)
			}
		}
	}
}

// recorder is a milter that keeps what it is handed and adds a field.
type recorder struct {
	milter.NoOpMilter
	from   string
	rcpt   string // with the macro
	header []field
	body   bytes.Buffer
}

func (r *recorder) MailFrom(from, _ string, _ milter.Modifier) (*milter.Response, error) {
	r.from = from
	return milter.RespContinue, nil
}

func (r *recorder) RcptTo(to, _ string, m milter.Modifier) (*milter.Response, error) {
	r.rcpt = to + " " + m.Get(milter.MacroRcptAddr)
	return milter.RespContinue, nil
}

func (r *recorder) Header(name, value string, _ milter.Modifier) (*milter.Response, error) {
	r.header = append(r.header, field{name, value})
	return milter.RespContinue, nil
}

func (r *recorder) BodyChunk(chunk []byte, _ milter.Modifier) (*milter.Response, error) {
	r.body.Write(chunk)
	return milter.RespContinue, nil
}

func (r *recorder) EndOfMessage(m milter.Modifier) (*milter.Response, error) {
	if err := m.InsertHeader(0, "X-Queue", m.Get(milter.MacroQueueId)); err != nil {
		return nil, err
	}
	return milter.RespAccept, nil
}

// Another implementation of the milter's side understands the client, whatever
// was negotiated.
func TestDeliver(t *testing.T) {
	m, err := newMint()
	if err != nil {
		t.Fatal(err)
	}
	all, err := m.messages(1, 200000)
	if err != nil {
		t.Fatal(err)
	}
	const quiet = milter.OptNoConnReply | milter.OptNoHeloReply | milter.OptNoMailReply | milter.OptNoHeaderReply | milter.OptNoEOHReply
	for name, protocol := range map[string]milter.OptProtocol{
		"all answered":      milter.OptHeaderLeadingSpace,
		"no leading space":  0,
		"no replies":        milter.OptHeaderLeadingSpace | quiet,
		"nor to body, RCPT": milter.OptHeaderLeadingSpace | quiet | milter.OptNoBodyReply | milter.OptNoRcptReply | milter.OptNoDataReply,
		"nor some commands": milter.OptHeaderLeadingSpace | milter.OptNoConnect | milter.OptNoHelo | milter.OptNoData | milter.OptNoEOH,
	} {
		t.Run(name, func(t *testing.T) {
			socket := filepath.Join(t.TempDir(), "s")
			ln, err := net.Listen("unix", socket)
			if err != nil {
				t.Fatal(err)
			}
			got := &recorder{}
			server := milter.NewServer(milter.WithMilter(func() milter.Milter { return got }),
				milter.WithActions(milter.OptAddHeader), milter.WithProtocols(protocol))
			go func() { _ = server.Serve(ln) }() // ends by Close
			r, err := deliver(socket, all[0])
			server.Close()
			if err != nil {
				t.Fatal(err)
			}
			want := all[0].header
			if protocol&milter.OptHeaderLeadingSpace == 0 {
				want = slices.Clone(want)
				for i := range want {
					want[i].value = strings.TrimPrefix(want[i].value, " ")
				}
			}
			if got.from != from || got.rcpt != to+" "+to {
				t.Errorf("envelope %q, %q", got.from, got.rcpt)
			}
			if !slices.Equal(got.header, want) {
				t.Errorf("header %q", got.header)
			}
			if got.body.String() != all[0].body {
				t.Errorf("a body of %d octets, want %d", got.body.Len(), len(all[0].body))
			}
			if r.code != 'a' || len(r.added) != 1 || r.added[0].name != "X-Queue" || strings.TrimSpace(r.added[0].value) != macroValue["i"] {
				t.Errorf("answered %q, %q", r.code, r.added)
			}
		})
	}
}
