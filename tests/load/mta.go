package main

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"time"
)

// Steps of the negotiation and bits of it (sendmail, mfdef.h).
const (
	version = 6
	actions = 0x1ff    // all that version 6 has
	offered = 0x1fffff // likewise

	noConnect, noHelo, noMail, noRcpt, noBody, noHeader, noEOH = 1 << 0, 1 << 1, 1 << 2, 1 << 3, 1 << 4, 1 << 5, 1 << 6
	noData                                                     = 1 << 9
	nrHeader, nrConnect, nrHelo, nrMail, nrRcpt, nrData        = 1 << 7, 1 << 12, 1 << 13, 1 << 14, 1 << 15, 1 << 16
	nrEOH, nrBody                                              = 1 << 18, 1 << 19
	leadingSpace                                               = 1 << 20
)

// Sizes and times of Postfix.
const (
	chunk  = 65535 // of a body
	stream = 4096  // of a write: what takes no reply is sent when so much is there
	wait   = 2 * time.Minute
)

// stage is one at which a milter may choose its macros.
type stage int

// macros are those that Postfix sends by default and has a value for.
var macros = map[stage][]string{
	0: {"j", "{daemon_name}", "{daemon_addr}", "v", "_"},
	2: {"{mail_addr}", "{mail_host}", "{mail_mailer}"},
	3: {"i", "{rcpt_addr}", "{rcpt_host}", "{rcpt_mailer}"},
	4: {"i"},
	5: {"i"},
	6: {"i"},
}

// macroValue is the value of each in every session.
var macroValue = map[string]string{
	"j": "mx.estate.example", "{daemon_name}": "smtpd", "{daemon_addr}": "192.0.2.1", "v": "Postfix 3.7.11",
	"_": "out.example.org [192.0.2.7]", "{mail_addr}": from, "{mail_host}": domain, "{mail_mailer}": "smtp",
	"i": "4QfT3z0Kbz1", "{rcpt_addr}": to, "{rcpt_host}": "estate.example", "{rcpt_mailer}": "virtual",
}

// event is one step of a session.
type event struct {
	code  byte
	stage stage // of its macros; -1: it has none
	skip  int   // the bit that leaves it out
	mute  int   // the bit that leaves it unanswered
}

var (
	connect   = event{'C', 0, noConnect, nrConnect}
	helo      = event{'H', 1, noHelo, nrHelo}
	mailFrom  = event{'M', 2, noMail, nrMail}
	rcptTo    = event{'R', 3, noRcpt, nrRcpt}
	data      = event{'T', 4, noData, nrData}
	header    = event{'L', 6, noHeader, nrHeader}
	endHeader = event{'N', 6, noEOH, nrEOH}
	body      = event{'B', 5, noBody, nrBody}
	endBody   = event{'E', 5, 0, 0}
)

// mta is one session with a milter.
type mta struct {
	conn     net.Conn
	out      *bufio.Writer
	in       *bufio.Reader
	protocol int                // what was negotiated
	macros   map[stage][]string // likewise
}

// reply is a milter's answer.
type reply struct {
	code  byte
	added []field // the fields that it adds
}

// deliver hands a message over and gives the answer at its end.
func deliver(socket string, m mail) (reply, error) {
	c, err := net.Dial("unix", socket)
	if err != nil {
		return reply{}, fmt.Errorf("load: %w", err)
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(wait)); err != nil {
		return reply{}, fmt.Errorf("load: %w", err)
	}
	s := &mta{conn: c, out: bufio.NewWriterSize(c, stream), in: bufio.NewReader(c)}
	r, err := s.session(m)
	if err != nil {
		return reply{}, fmt.Errorf("load: the session: %w", err)
	}
	return r, nil
}

func (s *mta) session(m mail) (reply, error) {
	if err := s.negotiate(); err != nil {
		return reply{}, err
	}
	steps := []func() (byte, error){
		func() (byte, error) { return s.say(connect, "out.example.org\x004\x9c\x40192.0.2.7\x00") },
		func() (byte, error) { return s.say(helo, "out.example.org\x00") },
		func() (byte, error) { return s.say(mailFrom, "<"+from+">\x00SIZE=1000\x00") },
		func() (byte, error) { return s.say(rcptTo, "<"+to+">\x00") },
		func() (byte, error) { return s.say(data, "") },
		func() (byte, error) { return s.fields(m.header) },
		func() (byte, error) { return s.say(endHeader, "") },
		func() (byte, error) { return s.text(m.body) },
	}
	for _, step := range steps {
		code, err := step()
		if err != nil {
			return reply{}, err
		}
		if code != 'c' && code != 's' {
			return reply{}, fmt.Errorf("answered %q before the end of the message", code)
		}
	}
	r, err := s.end()
	if err != nil {
		return reply{}, err
	}
	s.frame('A', "")
	s.frame('Q', "")
	return r, s.out.Flush()
}

// negotiate offers everything and takes what the milter wants of it.
func (s *mta) negotiate() error {
	offer := binary.BigEndian.AppendUint32(nil, version)
	offer = binary.BigEndian.AppendUint32(offer, actions)
	offer = binary.BigEndian.AppendUint32(offer, offered)
	s.frame('O', string(offer))
	code, answer, err := s.read()
	if err != nil {
		return err
	}
	if code != 'O' || len(answer) < 12 {
		return errors.New("the offer is not answered by one")
	}
	if v := binary.BigEndian.Uint32(answer); v < 2 || v > version {
		return fmt.Errorf("version %d is answered", v)
	}
	s.protocol = int(binary.BigEndian.Uint32(answer[8:]))
	if s.protocol&^offered != 0 {
		return fmt.Errorf("protocol bits %#x are answered, which were not offered", s.protocol)
	}
	s.macros = macros
	for rest := answer[12:]; len(rest) > 4; {
		if len(rest) == len(answer)-12 {
			s.macros = map[stage][]string{}
		}
		end := slices.Index(rest[4:], 0)
		if end < 0 {
			return errors.New("a list of macros is not ended")
		}
		s.macros[stage(binary.BigEndian.Uint32(rest))] = strings.Fields(string(rest[4 : 4+end]))
		rest = rest[4+end+1:]
	}
	return nil
}

// say sends an event and gives the answer, "continue" if it takes none.
func (s *mta) say(e event, data string) (byte, error) {
	// Postfix sends the macros of an event that is left out, too.
	s.sendMacros(e)
	if s.protocol&e.skip != 0 {
		return 'c', nil
	}
	s.frame(e.code, data)
	if s.protocol&e.mute != 0 {
		return 'c', nil
	}
	code, _, err := s.read()
	return code, err
}

func (s *mta) sendMacros(e event) {
	names := s.macros[e.stage]
	if len(names) == 0 {
		return
	}
	var b strings.Builder
	b.WriteByte(e.code)
	for _, name := range names {
		if v, ok := macroValue[name]; ok {
			b.WriteString(name + "\x00" + v + "\x00")
		}
	}
	s.frame('D', b.String())
}

func (s *mta) fields(all []field) (byte, error) {
	for _, f := range all {
		value := f.value
		if s.protocol&leadingSpace == 0 {
			value = strings.TrimPrefix(value, " ")
		}
		if code, err := s.say(header, f.name+"\x00"+value+"\x00"); err != nil || code != 'c' {
			return code, err
		}
	}
	return 'c', nil
}

// text sends the body until the milter has enough of it.
func (s *mta) text(rest string) (byte, error) {
	for len(rest) > 0 {
		n := min(len(rest), chunk)
		if code, err := s.say(body, rest[:n]); err != nil || code != 'c' {
			return code, err
		}
		rest = rest[n:]
	}
	return 'c', nil
}

// end ends the message and reads modifications until the answer.
func (s *mta) end() (reply, error) {
	s.sendMacros(endBody)
	s.frame(endBody.code, "")
	var r reply
	for {
		code, data, err := s.read()
		if err != nil {
			return reply{}, err
		}
		switch code {
		case 'i', 'h':
			parts := strings.Split(string(data), "\x00")
			if code == 'i' {
				parts = strings.Split(string(data[4:]), "\x00")
			}
			if len(parts) != 3 {
				return reply{}, errors.New("a field that is added is not one")
			}
			r.added = append(r.added, field{parts[0], parts[1]})
		case 'm', 'b', '+', '-', 'e', 'q', 'p':
		default:
			r.code = code
			return r, nil
		}
	}
}

func (s *mta) frame(code byte, data string) {
	var head [5]byte
	binary.BigEndian.PutUint32(head[:], uint32(len(data)+1))
	head[4] = code
	s.out.Write(head[:])    // an error shows at Flush
	s.out.WriteString(data) // likewise
}

// read sends what is due and reads a frame.
func (s *mta) read() (byte, []byte, error) {
	if err := s.out.Flush(); err != nil {
		return 0, nil, err
	}
	var head [5]byte
	if _, err := io.ReadFull(s.in, head[:]); err != nil {
		return 0, nil, err
	}
	n := binary.BigEndian.Uint32(head[:])
	if n == 0 || n > 1<<20 {
		return 0, nil, fmt.Errorf("a frame of %d octets", n)
	}
	data := make([]byte, n-1)
	_, err := io.ReadFull(s.in, data)
	return head[4], data, err
}
