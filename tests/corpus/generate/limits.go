package main

import (
	"fmt"
	"strings"

	"stile/tests/corpus"
	"stile/verdict"
)

// Limits that the package verdict keeps to itself.
const (
	maxField      = 64 << 10
	maxFieldLines = 4000
)

// limits are messages at each limit, and one beyond.
func limits() []recipe {
	at := func(name, what string, n int, why string, make func(n int) edit) []recipe {
		return []recipe{
			message("accept/"+name, what+", the most allowed", "a limit is the largest size allowed", make(n)),
			message("refuse/too-large/"+name+"-and-one", what+", one more than allowed", why, make(n+1)),
		}
	}
	why := "a header this large costs more to read than an honest one is worth"
	var all []recipe
	all = append(all, at("fields", "500 fields", verdict.MaxFields, why, manyFields)...)
	all = append(all, at("header-octets", "a header of 256 KiB", verdict.MaxHeader, why, headerOctets)...)
	all = append(all, at("field-octets", "a field of 64 KiB", maxField, why, fieldOctets)...)
	all[len(all)-1].keys.Postfix = "accept" // it cuts a field at 60,000 octets
	all = append(all, at("field-lines", "a field of 4,000 lines", maxFieldLines, why, fieldLines)...)
	all = append(all, at("message-octets", "a message of max_message", corpus.MaxMessage, "the operator's limit", messageOctets)...)
	return all
}

// manyFields makes the header n fields.
func manyFields(n int) edit {
	return late(func(raw string) (string, error) {
		head, _, _ := strings.Cut(raw, "\r\n\r\n")
		have := 1 + strings.Count(head, "\r\n") - strings.Count(head, "\r\n ")
		var b strings.Builder
		for i := range n - have {
			fmt.Fprintf(&b, "X-%d: x\r\n", i)
		}
		return b.String() + raw, nil
	})
}

// headerOctets makes the header n octets, in fields below their own limit.
func headerOctets(n int) edit {
	return late(func(raw string) (string, error) {
		head, _, _ := strings.Cut(raw, "\r\n\r\n")
		left := n - len(head) - 2
		var b strings.Builder
		for left > 0 {
			size := min(left, 50<<10) // Postfix cuts a field at 60,000 octets
			if rest := left - size; rest > 0 && rest < 100 {
				size -= 100
			}
			b.WriteString(longField("X-Long", size))
			left -= size
		}
		return b.String() + raw, nil
	})
}

// fieldOctets puts one field of n octets on top.
func fieldOctets(n int) edit { return top(longField("X-Long", n)) }

// longField is a field of n octets, folded.
func longField(name string, n int) string {
	var b strings.Builder
	b.WriteString(name + ":")
	for n -= len(name) + 1 + 2; n > 0; {
		size := min(n, 70)
		if rest := n - size; rest > 0 && rest < 10 {
			size -= 10
		}
		if b.Len() > len(name)+1 {
			b.WriteString("\r\n " + filler(size-3))
		} else {
			b.WriteString(" " + filler(size-1))
		}
		n -= size
	}
	return b.String() + "\r\n"
}

// fieldLines puts one field of n lines on top.
func fieldLines(n int) edit { return top("X-Long: x" + strings.Repeat("\r\n x", n-1) + "\r\n") }

// messageOctets makes the message n octets. Signing does not change its size.
func messageOctets(n int) edit {
	return func(l *letter) error {
		raw, err := l.raw()
		if err != nil {
			return err
		}
		var b strings.Builder
		for room := n - len(raw); room > 0; room -= 80 {
			b.WriteString(filler(min(room, 80)-2) + "\r\n")
		}
		l.body += b.String()
		return nil
	}
}
