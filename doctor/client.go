package doctor

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"regexp"
	"strconv"
	"strings"
	"time"
)

const (
	talkTime   = 2 * time.Minute // of one SMTP session; postscreen(8) lets clients wait
	maxReplies = 64 << 10        // octets that a server may say in it
)

// reply is what an SMTP server answered (RFC 5321, 4.2), the text of its last
// line.
type reply struct {
	code int
	text string
}

var queuedAs = regexp.MustCompile(`queued as ([0-9A-Za-z]+)`)

// queueID is the id under which the message was taken, "" where none is told.
func (r reply) queueID() string {
	if m := queuedAs.FindStringSubmatch(r.text); m != nil {
		return m[1]
	}
	return ""
}

// hand gives one message to one recipient, with no sender, so that nobody gets a
// bounce. last is the answer that decided, and whole whether it came after the
// message.
func hand(ctx context.Context, address, to, message string) (last reply, whole bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, talkTime)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return reply{}, false, fmt.Errorf("doctor: SMTP: %w", err)
	}
	defer conn.Close()
	if deadline, ok := ctx.Deadline(); ok {
		if err := conn.SetDeadline(deadline); err != nil {
			return reply{}, false, fmt.Errorf("doctor: SMTP: %w", err)
		}
	}
	in := bufio.NewReader(io.LimitReader(conn, maxReplies))
	if last, err = read(in); err != nil || last.code != 220 {
		return last, false, err
	}
	for _, line := range []string{"EHLO localhost", "MAIL FROM:<>", "RCPT TO:<" + to + ">", "DATA"} {
		if last, err = say(conn, in, line); err != nil || last.code >= 400 {
			return last, false, err
		}
	}
	last, err = say(conn, in, stuffed(message)+".")
	if err != nil {
		return last, true, err
	}
	_, _ = io.WriteString(conn, "QUIT\r\n") // the answer is known
	return last, true, nil
}

// stuffed doubles a dot that begins a line (RFC 5321, 4.5.2) and ends the last
// line.
func stuffed(message string) string {
	if !strings.HasSuffix(message, "\r\n") {
		message += "\r\n"
	}
	message = strings.ReplaceAll(message, "\r\n.", "\r\n..")
	if strings.HasPrefix(message, ".") {
		message = "." + message
	}
	return message
}

func say(conn io.Writer, in *bufio.Reader, line string) (reply, error) {
	if _, err := io.WriteString(conn, line+"\r\n"); err != nil {
		return reply{}, fmt.Errorf("doctor: SMTP: %w", err)
	}
	return read(in)
}

func read(in *bufio.Reader) (reply, error) {
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return reply{}, fmt.Errorf("doctor: SMTP: %w", err)
		}
		line = strings.TrimRight(line, "\r\n")
		if len(line) < 3 {
			return reply{}, errors.New("doctor: SMTP: an answer without a code")
		}
		code, err := strconv.Atoi(line[:3])
		if err != nil {
			return reply{}, errors.New("doctor: SMTP: an answer without a code")
		}
		if len(line) == 3 || line[3] != '-' {
			return reply{code, strings.TrimSpace(line[3:])}, nil
		}
	}
}
