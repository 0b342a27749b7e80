package rig

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"regexp"
	"strconv"
	"strings"
)

// Reply is what an SMTP server answered (RFC 5321, 4.2).
type Reply struct {
	Code int
	Text string // the text of each line, joined by LF
}

func (r Reply) String() string { return strconv.Itoa(r.Code) + " " + r.Text }

var queued = regexp.MustCompile(`queued as ([0-9A-Za-z]+)`)

// QueueID is the id in "queued as ID", "" if there is none.
func (r Reply) QueueID() string { return QueueID(r.Text) }

// QueueID is the id in "queued as ID", "" if there is none.
func QueueID(text string) string {
	if m := queued.FindStringSubmatch(text); m != nil {
		return m[1]
	}
	return ""
}

// Client is an SMTP client that sends exactly what it is told to.
type Client struct {
	conn net.Conn
	in   *bufio.Reader
	stop func() bool
}

// Dial connects, reads the greeting and says EHLO. When ctx ends, so does the
// connection.
func Dial(ctx context.Context, addr string) (*Client, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("rig: SMTP: %w", err)
	}
	c := &Client{conn: conn, in: bufio.NewReader(conn)}
	c.stop = context.AfterFunc(ctx, func() { conn.Close() })
	if _, err := c.read(); err != nil {
		c.Close()
		return nil, err
	}
	if _, err := c.Command("EHLO client.example"); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// Close closes the connection without QUIT.
func (c *Client) Close() {
	c.stop()
	c.conn.Close()
}

// Command sends one line and reads the reply to it.
func (c *Client) Command(line string) (Reply, error) {
	if err := c.Write(line + "\r\n"); err != nil {
		return Reply{}, err
	}
	return c.read()
}

// Write sends bytes as they are.
func (c *Client) Write(s string) error {
	if _, err := c.conn.Write([]byte(s)); err != nil {
		return fmt.Errorf("rig: SMTP: %w", err)
	}
	return nil
}

func (c *Client) read() (Reply, error) {
	var text []string
	for {
		line, err := c.in.ReadString('\n')
		if err != nil {
			return Reply{}, fmt.Errorf("rig: SMTP: %w", err)
		}
		line = strings.TrimRight(line, "\r\n")
		if len(line) < 3 {
			return Reply{}, fmt.Errorf("rig: SMTP: odd reply %q", line)
		}
		code, err := strconv.Atoi(line[:3])
		if err != nil {
			return Reply{}, fmt.Errorf("rig: SMTP: odd reply %q", line)
		}
		text = append(text, strings.TrimLeft(line[3:], " -"))
		if len(line) == 3 || line[3] == ' ' {
			return Reply{Code: code, Text: strings.Join(text, "\n")}, nil
		}
	}
}

// Result is the answers to one message.
type Result struct {
	Mail Reply
	Rcpt []Reply
	Data Reply // to the end of the message or, if it did not come to that, the last reply
}

// Refused reports whether the message was answered 4xx or 5xx before its end.
func (r Result) Refused() bool { return r.Data.Code >= 400 }

// Send sends one message. An answer other than 2xx is no error.
func (c *Client) Send(from string, to []string, raw string) (Result, error) {
	return c.SendWith("", from, to, raw)
}

// SendWith is Send with those parameters behind MAIL (" SMTPUTF8").
func (c *Client) SendWith(parameters, from string, to []string, raw string) (Result, error) {
	var r Result
	var err error
	if r.Mail, err = c.Command("MAIL FROM:<" + from + ">" + parameters); err != nil {
		return r, err
	}
	r.Data = r.Mail
	taken := 0
	for _, a := range to {
		reply, err := c.Command("RCPT TO:<" + a + ">")
		if err != nil {
			return r, err
		}
		r.Rcpt = append(r.Rcpt, reply)
		r.Data = reply
		if reply.Code < 300 {
			taken++
		}
	}
	if taken == 0 {
		_, err := c.Command("RSET")
		return r, err
	}
	if r.Data, err = c.Command("DATA"); err != nil {
		return r, err
	}
	if r.Data.Code != 354 {
		_, err := c.Command("RSET")
		return r, err
	}
	r.Data, err = c.finish(raw)
	return r, err
}

// SendPipelined is Send to one recipient with fewer round trips (RFC 2920): the
// envelope goes out at once.
func (c *Client) SendPipelined(from, to, raw string) (Result, error) {
	var r Result
	if err := c.Write("MAIL FROM:<" + from + ">\r\nRCPT TO:<" + to + ">\r\nDATA\r\n"); err != nil {
		return r, err
	}
	var rcpt Reply
	for _, reply := range []*Reply{&r.Mail, &rcpt, &r.Data} {
		var err error
		if *reply, err = c.read(); err != nil {
			return r, err
		}
	}
	r.Rcpt = []Reply{rcpt}
	if r.Data.Code != 354 {
		_, err := c.Command("RSET")
		return r, err
	}
	var err error
	r.Data, err = c.finish(raw)
	return r, err
}

// finish sends the message and the dot behind it.
func (c *Client) finish(raw string) (Reply, error) {
	if err := c.Write(stuff(raw)); err != nil {
		return Reply{}, err
	}
	return c.Command(".")
}

// stuff doubles a dot that begins a line (RFC 5321, 4.5.2) and ends the last
// line.
func stuff(raw string) string {
	if raw != "" && !strings.HasSuffix(raw, "\r\n") {
		raw += "\r\n"
	}
	raw = strings.ReplaceAll(raw, "\r\n.", "\r\n..")
	if strings.HasPrefix(raw, ".") {
		raw = "." + raw
	}
	return raw
}

// SendChunks sends one message to one recipient by BDAT (RFC 3030), in pieces
// of that many octets.
func (c *Client) SendChunks(from, to, raw string, size int) (Reply, error) {
	for _, line := range []string{"MAIL FROM:<" + from + ">", "RCPT TO:<" + to + ">"} {
		if r, err := c.Command(line); err != nil || r.Code != 250 {
			return r, err
		}
	}
	for len(raw) > size {
		if r, err := c.chunk(raw[:size], ""); err != nil || r.Code != 250 {
			return r, err
		}
		raw = raw[size:]
	}
	return c.chunk(raw, " LAST")
}

func (c *Client) chunk(octets, last string) (Reply, error) {
	if err := c.Write(fmt.Sprintf("BDAT %d%s\r\n%s", len(octets), last, octets)); err != nil {
		return Reply{}, err
	}
	return c.read()
}
