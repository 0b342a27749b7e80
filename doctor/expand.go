package doctor

import "strings"

// Bounds of an expansion: a value may name itself.
const (
	maxDepth    = 20
	maxNames    = 10000
	maxExpanded = 64 << 10 // octets
)

// expander expands $name, ${name}, $(name), ${name?text}, ${name:text},
// ${name?{text}:{text}} and ${{text} == {text} ? {text} : {text}} (postconf(5)).
type expander struct {
	lookup func(name string) string
	depth  int
	names  int // looked up so far
}

func (e *expander) expand(text string) string {
	if e.depth >= maxDepth {
		return ""
	}
	if e.names++; e.names > maxNames {
		return ""
	}
	e.depth++
	defer func() { e.depth-- }()
	var b strings.Builder
	for len(text) > 0 && b.Len() < maxExpanded {
		i := strings.IndexByte(text, '$')
		if i < 0 || i == len(text)-1 {
			b.WriteString(text)
			break
		}
		b.WriteString(text[:i])
		text = text[i+1:]
		switch text[0] {
		case '$':
			b.WriteByte('$')
			text = text[1:]
		case '{', '(':
			inner, rest := balanced(text)
			b.WriteString(e.braced(strings.TrimSpace(inner)))
			text = rest
		default:
			n := nameLength(text)
			if n > 0 {
				b.WriteString(e.expand(e.lookup(text[:n])))
			}
			text = text[n:]
		}
	}
	return b.String()
}

// braced is the value of what stands between braces.
func (e *expander) braced(inner string) string {
	if strings.HasPrefix(inner, "{") {
		return e.compared(inner)
	}
	n := nameLength(inner)
	value := e.expand(e.lookup(inner[:n]))
	rest := strings.TrimSpace(inner[n:])
	if rest == "" {
		return value
	}
	operator, rest := rest[0], strings.TrimSpace(rest[1:])
	first, second := rest, ""
	if strings.HasPrefix(rest, "{") {
		first, rest = balanced(rest)
		if rest = strings.TrimSpace(rest); strings.HasPrefix(rest, ":") {
			second, _ = balanced(strings.TrimSpace(rest[1:]))
		}
	}
	if (operator == '?') != (value != "") {
		first = second
	}
	return e.expand(strings.TrimSpace(first))
}

// compared is a comparison of two texts. The two operators of equality are all
// that configurations use of them; what is unknown chooses the second text.
func (e *expander) compared(inner string) string {
	left, rest := balanced(inner)
	rest = strings.TrimSpace(rest)
	equal := strings.HasPrefix(rest, "==")
	unequal := strings.HasPrefix(rest, "!=")
	right, rest := balanced(strings.TrimSpace(strings.TrimLeft(rest, "=!<>")))
	first, rest := balanced(strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(rest), "?")))
	second, _ := balanced(strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(rest), ":")))
	same := strings.TrimSpace(e.expand(left)) == strings.TrimSpace(e.expand(right))
	if equal && same || unequal && !same {
		return e.expand(strings.TrimSpace(first))
	}
	return e.expand(strings.TrimSpace(second))
}

// nameLength is how much of the text's beginning is a parameter's name.
func nameLength(text string) int {
	for i, r := range text {
		if r != '_' && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') {
			return i
		}
	}
	return len(text)
}

// balanced takes what stands in the braces or parentheses with which the text
// begins, and what follows them. Braces that are not closed end with the text.
func balanced(text string) (inner, rest string) {
	if text == "" || text[0] != '{' && text[0] != '(' {
		return "", text
	}
	open, closing := text[0], byte('}')
	if open == '(' {
		closing = ')'
	}
	depth := 0
	for i := range len(text) {
		switch text[i] {
		case open:
			depth++
		case closing:
			if depth--; depth == 0 {
				return text[1:i], text[i+1:]
			}
		}
	}
	return text[1:], ""
}

// items splits a list at white space and commas that stand outside braces.
func items(list string) []string {
	var all []string
	depth, start := 0, -1
	for i := 0; i <= len(list); i++ {
		if i < len(list) && (depth > 0 || !strings.ContainsRune(" ,\t\r\n", rune(list[i]))) {
			switch list[i] {
			case '{':
				depth++
			case '}':
				depth = max(0, depth-1)
			}
			if start < 0 {
				start = i
			}
			continue
		}
		if start >= 0 {
			all = append(all, list[start:i])
			start = -1
		}
	}
	return all
}
