package fence

import (
	"strconv"
	"strings"
)

// parameters are a Content-Type's parameters by lower-case name, with the
// sources each has (RFC 2231).
type parameters map[string]*parameter

type parameter struct {
	whole    []string       // name=value and name*=charset'language'value
	sections map[int]string // name*0=, name*1=
	bad      bool           // a section twice, or a value that cannot be read
}

// add notes one source of a parameter.
func (p parameters) add(name, value string) {
	base, rest, starred := strings.Cut(name, "*")
	one := p[base]
	if one == nil {
		one = &parameter{sections: make(map[int]string)}
		p[base] = one
	}
	if !starred {
		one.whole = append(one.whole, value)
		return
	}
	if rest == "" {
		decoded, ok := extendedValue(value, true)
		one.bad = one.bad || !ok
		one.whole = append(one.whole, decoded)
		return
	}
	one.addSection(rest, value)
}

// addSection notes one section of a value cut in several: rest is its number,
// with "*" behind it where the value is percent-encoded.
func (p *parameter) addSection(rest, value string) {
	digits, extended := strings.CutSuffix(rest, "*")
	number, err := strconv.ParseUint(digits, 10, 16)
	if err != nil {
		p.bad = true
		return
	}
	if extended {
		decoded, ok := extendedValue(value, number == 0)
		p.bad = p.bad || !ok
		value = decoded
	}
	if _, twice := p.sections[int(number)]; twice {
		p.bad = true
	}
	p.sections[int(number)] = value
}

// extendedValue decodes the percent-encoding; the first section names a
// charset and a language before it.
func extendedValue(value string, first bool) (string, bool) {
	if first {
		parts := strings.SplitN(value, "'", 3)
		if len(parts) < 3 {
			return "", false
		}
		value = parts[2]
	}
	var out strings.Builder
	for i := 0; i < len(value); i++ {
		if value[i] != '%' {
			out.WriteByte(value[i])
			continue
		}
		if i+2 >= len(value) {
			return "", false
		}
		b, ok := hexByte(value[i+1], value[i+2])
		if !ok {
			return "", false
		}
		out.WriteByte(b)
		i += 2
	}
	return out.String(), true
}

// presence says how often a parameter is there.
type presence uint8

const (
	absent presence = iota
	single
	doubled // two sources, which readers choose between as they like, or an unreadable one
)

// get is the value of a parameter, if it has exactly one.
func (p parameters) get(name string) (string, presence) {
	one := p[name]
	if one == nil {
		return "", absent
	}
	if one.bad {
		return "", doubled
	}
	if len(one.whole) == 1 && len(one.sections) == 0 {
		return one.whole[0], single
	}
	if len(one.whole) > 0 {
		return "", doubled
	}
	var out strings.Builder
	for i := range len(one.sections) {
		section, there := one.sections[i]
		if !there {
			return "", doubled
		}
		out.WriteString(section)
	}
	return out.String(), single
}

// boundary is the multipart's boundary, "" where it has none that can be used:
// missing, empty, doubled, or with white space in it.
func (t mediaType) boundary() string {
	value, there := t.parameters.get("boundary")
	if there != single {
		return ""
	}
	if strings.ContainsAny(value, " \t\r\n\v\f") {
		return ""
	}
	return value
}
