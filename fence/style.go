package fence

import (
	"bytes"
	"strconv"
	"unicode/utf8"
)

// hidesText reports whether a style attribute's value hides the element's text
// from whoever looks at it. The value is changed.
func hidesText(style []byte) bool {
	var s styles
	for rest, more := plainStyle(style), true; more; {
		var one []byte
		one, rest, more = bytes.Cut(rest, []byte(";"))
		name, value, found := bytes.Cut(one, []byte(":"))
		if !found {
			continue
		}
		value, _, _ = bytes.Cut(value, []byte("!"))
		if s.declare(bytes.TrimSpace(name), bytes.TrimSpace(value)) {
			return true
		}
	}
	return s.flat && s.clipped || s.text.known && s.text == s.behind
}

// styles are the declarations that hide text together.
type styles struct {
	flat, clipped bool // no height or width; what sticks out is cut off
	text, behind  colour
}

// declare takes a declaration and reports whether it hides the text by itself.
func (s *styles) declare(name, value []byte) bool {
	switch string(name) {
	case "display":
		return string(value) == "none"
	case "visibility":
		return string(value) == "hidden" || string(value) == "collapse"
	case "mso-hide":
		return string(value) == "all"
	case "opacity":
		n, unit, ok := measure(value)
		return ok && (unit == "" && n <= 0.1 || unit == "%" && n <= 10)
	case "font-size", "line-height":
		return tiny(value)
	case "text-indent", "left", "top", "margin-left", "margin-top":
		return farAway(value)
	case "height", "max-height", "width", "max-width":
		n, _, ok := measure(value)
		s.flat = s.flat || ok && n == 0
	case "overflow", "overflow-x", "overflow-y":
		s.clipped = s.clipped || string(value) == "hidden" || string(value) == "clip"
	case "color":
		s.text = colourOf(value)
		return s.text.clear
	case "background", "background-color":
		s.behind = colourOf(value)
	}
	return false
}

// tiny reports whether a size is too small to be read.
func tiny(value []byte) bool {
	n, unit, ok := measure(value)
	if !ok || n < 0 {
		return false
	}
	switch unit {
	case "px", "pt":
		return n <= 1
	case "%":
		return n <= 10
	case "em", "rem":
		return n <= 0.1
	}
	return n == 0
}

// farAway reports whether a distance leads out of the window.
func farAway(value []byte) bool {
	n, unit, ok := measure(value)
	switch unit {
	case "px", "pt":
		return ok && n <= -500
	case "em", "rem":
		return ok && n <= -50
	}
	return false
}

// measure reads a number and what stands behind it.
func measure(value []byte) (n float64, unit string, ok bool) {
	end := 0
	for end < len(value) && bytes.IndexByte([]byte("+-.0123456789"), value[end]) >= 0 {
		end++
	}
	n, err := strconv.ParseFloat(string(value[:end]), 64)
	return n, string(value[end:]), err == nil
}

// colour is a colour that is known.
type colour struct {
	rgb   [3]uint8
	known bool
	clear bool // nothing of it is seen
}

var colourNames = map[string][3]uint8{
	"black": {}, "white": {255, 255, 255}, "silver": {192, 192, 192}, "gray": {128, 128, 128}, "grey": {128, 128, 128},
	"red": {255, 0, 0}, "maroon": {128, 0, 0}, "yellow": {255, 255, 0}, "olive": {128, 128, 0}, "lime": {0, 255, 0},
	"green": {0, 128, 0}, "aqua": {0, 255, 255}, "cyan": {0, 255, 255}, "teal": {0, 128, 128}, "blue": {0, 0, 255},
	"navy": {0, 0, 128}, "fuchsia": {255, 0, 255}, "magenta": {255, 0, 255}, "purple": {128, 0, 128},
}

// colourOf reads a name, #rgb, #rrggbb, rgb() or rgba(), each with or without
// how much of it is seen.
func colourOf(value []byte) colour {
	if string(value) == "transparent" {
		return colour{clear: true}
	}
	if rgb, known := colourNames[string(value)]; known {
		return colour{rgb: rgb, known: true}
	}
	if digits, found := bytes.CutPrefix(value, []byte("#")); found {
		return hexColour(digits)
	}
	if inner, found := bytes.CutPrefix(value, []byte("rgb")); found {
		return functionColour(bytes.TrimPrefix(inner, []byte("a")))
	}
	return colour{}
}

func hexColour(digits []byte) colour {
	size := 2
	if len(digits) < 6 {
		size = 1
	}
	var parts [4]uint8
	parts[3] = 255
	if len(digits) != 3*size && len(digits) != 4*size {
		return colour{}
	}
	for i := range len(digits) / size {
		n, err := strconv.ParseUint(string(digits[i*size:(i+1)*size]), 16, 8)
		if err != nil {
			return colour{}
		}
		if size == 1 {
			n *= 17
		}
		parts[i] = uint8(n)
	}
	return colour{rgb: [3]uint8(parts[:3]), known: true, clear: parts[3] == 0}
}

// functionColour reads what stands behind "rgb": three numbers and, as a share
// of one, a fourth.
func functionColour(inner []byte) colour {
	c := colour{known: true}
	i := 0
	for n := range bytes.FieldsFuncSeq(inner, func(r rune) bool { return bytes.ContainsRune([]byte("(), /"), r) }) {
		part, _, ok := measure(n)
		if !ok || i > 3 {
			return colour{}
		}
		if i < 3 {
			c.rgb[i] = uint8(min(max(part, 0), 255))
		} else {
			c.clear = part == 0
		}
		i++
	}
	if i < 3 {
		return colour{}
	}
	return c
}

// plainStyle is a style in lower case, without comments and with its escapes
// decoded (CSS Syntax, 4.3.7). It takes the place of the old one.
func plainStyle(style []byte) []byte {
	out := style[:0]
	for len(style) > 0 {
		if bytes.HasPrefix(style, []byte("/*")) {
			_, style, _ = bytes.Cut(style[2:], []byte("*/"))
			continue
		}
		c := style[0]
		style = style[1:]
		switch {
		case c == '\\':
			var r rune
			r, style = styleEscape(style)
			out = utf8.AppendRune(out, r)
		case 'A' <= c && c <= 'Z':
			out = append(out, c+'a'-'A')
		default:
			out = append(out, c)
		}
	}
	return out
}

// styleEscape reads what follows a backslash: up to six hex digits and one
// white space, or a character that stands for itself. It stands for no more
// octets than it is made of.
func styleEscape(rest []byte) (rune, []byte) {
	n, value := 0, uint64(0)
	for n < min(6, len(rest)) {
		digit, err := strconv.ParseUint(string(rest[n:n+1]), 16, 8)
		if err != nil {
			break
		}
		value = value<<4 | digit
		n++
	}
	if n == 0 {
		r, size := utf8.DecodeRune(rest)
		if r == utf8.RuneError {
			return '?', rest[size:]
		}
		return r, rest[size:]
	}
	rest = rest[n:]
	if len(rest) > 0 && bytes.IndexByte([]byte(" \t\r\n\f"), rest[0]) >= 0 {
		rest = rest[1:]
	}
	if value > unicodeEnd || !utf8.ValidRune(rune(value)) {
		return '?', rest
	}
	if 'A' <= value && value <= 'Z' {
		value += 'a' - 'A'
	}
	return rune(value), rest
}

const unicodeEnd = utf8.MaxRune
