package verdict

import (
	"crypto/sha256"
	"io"
	"strings"
)

// bodyHash is a canonical body's SHA-256, or why it could not be had.
type bodyHash struct {
	sum []byte
	err error
}

// hashBody hashes the canonical body (RFC 6376, 3.4.3 and 3.4.4) of so many
// octets. A bare LF is CRLF, as it is for the rendering; a bare CR is an
// ordinary octet.
func hashBody(body io.Reader, size int64, simple bool) bodyHash {
	h := sha256.New()
	c := canonicalBody{w: h, simple: simple}
	buf := make([]byte, min(size+1, 32<<10))
	for {
		n, err := body.Read(buf)
		c.write(buf[:n])
		if err == io.EOF {
			c.close()
			return bodyHash{sum: h.Sum(nil)}
		}
		if err != nil {
			return bodyHash{err: err}
		}
	}
}

// canonicalBody writes the canonical form of what it is given to w, which
// never fails. It keeps state between pieces, so that a line end, a run of
// white space or of empty lines may be cut anywhere.
type canonicalBody struct {
	w      io.Writer
	simple bool
	cr     bool // the last octet was CR and is not yet written
	space  bool // relaxed: white space was seen and is not yet written
	ends   int  // line ends seen and not yet written
	wrote  bool
	out    []byte
}

var (
	crlf     = []byte("\r\n")
	ordinary = func() (o [256]bool) {
		for c := range o {
			o[c] = !strings.ContainsRune("\r\n \t", rune(c))
		}
		return o
	}()
)

func (c *canonicalBody) write(p []byte) {
	for len(p) > 0 {
		if n := c.run(p); n > 0 {
			c.text(p[:n])
			p = p[n:]
			continue
		}
		c.special(p[0])
		p = p[1:]
	}
	c.w.Write(c.out)
	c.out = c.out[:0]
}

// run counts the octets at the start of p that stand for themselves, single
// spaces between words among them.
func (c *canonicalBody) run(p []byte) int {
	i := 0
	for i < len(p) && (ordinary[p[i]] || p[i] == ' ' && i > 0 && i+1 < len(p) && ordinary[p[i+1]] && p[i-1] != ' ') {
		i++
	}
	return i
}

// special takes an octet that may belong to a line end or to white space.
func (c *canonicalBody) special(b byte) {
	switch {
	case b == '\n':
		c.cr = false
		c.endLine()
	case b == '\r':
		if c.cr {
			c.cr = false
			c.text(crlf[:1])
		}
		c.cr = true
	case c.simple:
		c.text([]byte{b})
	default:
		if c.cr {
			c.text(nil)
		}
		c.space = true
	}
}

// text writes octets that stand for themselves, and before them what was held
// back: empty lines, a bare CR, white space.
func (c *canonicalBody) text(p []byte) {
	for ; c.ends > 0; c.ends-- {
		c.emit(crlf)
	}
	if c.space {
		c.out = append(c.out, ' ')
		c.space = false
	}
	if c.cr {
		c.out = append(c.out, '\r')
		c.cr = false
	}
	c.out = append(c.out, p...)
	c.wrote = true
}

// emit writes through, so that a long run of empty lines is not held.
func (c *canonicalBody) emit(p []byte) {
	if len(c.out) > 64<<10 {
		c.w.Write(c.out)
		c.out = c.out[:0]
	}
	c.out = append(c.out, p...)
}

// endLine ends a line. White space before it goes in relaxed form.
func (c *canonicalBody) endLine() {
	c.space = false
	c.ends++
}

func (c *canonicalBody) close() {
	if c.cr {
		c.text(nil)
	}
	// A body is empty, or its last line has a line end and no empty line
	// stands behind it. In simple form an empty body is one line end.
	if c.wrote || c.simple {
		c.out = append(c.out, crlf...)
	}
	c.w.Write(c.out)
}
