package verdict

import "strings"

// coverage is what one signature takes of a header (RFC 6376, 5.4.2).
type coverage struct {
	fields []bool          // the instances that it takes, by their place
	order  []int           // their places, in the order of h=
	named  map[string]bool // the names in h=, in lower case
}

// cover takes for the k-th time that a name stands in h= the k-th instance of
// it from the bottom. Where none is left, it takes the field's absence.
func cover(header []Field, names []string) coverage {
	c := coverage{fields: make([]bool, len(header)), named: map[string]bool{}}
	left := map[string][]int{} // the instances not yet taken, the lowest last
	for i, f := range header {
		name := lowerASCII(f.Name)
		left[name] = append(left[name], i)
	}
	for _, n := range names {
		n = lowerASCII(n)
		c.named[n] = true
		if at := left[n]; len(at) > 0 {
			c.fields[at[len(at)-1]] = true
			c.order = append(c.order, at[len(at)-1])
			left[n] = at[:len(at)-1]
		}
	}
	return c
}

// covers reports whether an instance of the field is covered or, where there
// is none, its name stands in h=. Fields that may be repeated only as they are
// have one meaning, so one covered instance is enough.
func (c coverage) covers(header []Field, name string) bool {
	at := indexes(header, name)
	for _, i := range at {
		if c.fields[i] {
			return true
		}
	}
	return len(at) == 0 && c.named[lowerASCII(name)]
}

// both is what two signatures of one message cover.
func (c coverage) both(o coverage) coverage {
	all := coverage{fields: make([]bool, len(c.fields)), named: map[string]bool{}}
	for i := range c.fields {
		all.fields[i] = c.fields[i] && o.fields[i]
	}
	for n := range c.named {
		all.named[n] = o.named[n]
	}
	return all
}

// Relaxed is a field's value after relaxed header canonicalization (RFC 6376,
// 3.4.2): unfolded, each run of white space one space, none at the ends.
func Relaxed(value string) string {
	return strings.Join(strings.FieldsFunc(unfold(value), func(r rune) bool { return r == ' ' || r == '\t' }), " ")
}
