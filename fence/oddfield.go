package fence

import (
	"bytes"
	"iter"
	"slices"
	"strings"
	"unicode"
)

// ordinaryFields are those in which words in a row are nothing odd: names of
// people and programs, titles, traces and signatures.
var ordinaryFields = func() map[string]bool {
	all := make(map[string]bool)
	for name := range strings.FieldsSeq(`
		from sender reply-to to cc bcc resent-from resent-sender resent-to resent-cc resent-bcc
		mail-reply-to mail-followup-to errors-to disposition-notification-to return-receipt-to
		subject thread-topic date resent-date
		received x-received received-spf return-path authentication-results
		arc-authentication-results arc-message-signature arc-seal
		dkim-signature domainkey-signature x-google-dkim-signature
		mime-version content-type content-transfer-encoding content-disposition content-id
		list-id list-unsubscribe list-subscribe list-post list-help list-owner list-archive
		organization user-agent x-mailer x-mimeole x-virus-scanned accept-language content-language`) {
		all[name] = true
	}
	return all
}()

// oddWords is how many words in a row make a field odd.
const oddWords = 3

// header counts the names that a header gives to a part, its fields that are
// odd, and the invisible characters in all of them.
func (c *carriers) header(fields iter.Seq2[string, string]) {
	var names []string
	for name, value := range fields {
		var room [32]byte
		lower := appendLower(room[:0], name)
		switch string(lower) {
		case "content-type":
			names = append(names, partNames(value, "name")...)
			continue
		case "content-disposition":
			names = append(names, partNames(value, "filename")...)
			continue
		}
		c.field(ordinaryFields[string(lower)], value)
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		c.text(kind{siteName, attachmentName}, []byte(name))
	}
}

func (c *carriers) field(ordinary bool, value string) {
	plain := isASCII(value) && !strings.Contains(value, "=?")
	if plain && ordinary {
		return
	}
	text := value
	if !plain {
		text = decoded(value)
		c.octetsOf(siteHeader, []byte(text))
	}
	if !ordinary && oddText(text) {
		c.add(kind{siteHeader, oddField}, []byte(text))
	}
}

// decoded is an unstructured value with its encoded words decoded, as UTF-8.
func decoded(value string) string {
	var out []byte
	for _, one := range decodeWords(strings.ReplaceAll(value, "\r\n", "")) {
		if one < 0 {
			one = unicode.ReplacementChar
		}
		out = appendRune(out, one)
	}
	return string(out)
}

func appendLower(dst []byte, s string) []byte {
	for i := range len(s) {
		c := s[i]
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		dst = append(dst, c)
	}
	return dst
}

// oddText reports whether a value holds words in a row.
func oddText(value string) bool {
	words := 0
	for token := range strings.FieldsSeq(value) {
		n := wordsOf(token)
		if n == 0 {
			words = 0
		}
		words += n
		if words >= oddWords {
			return true
		}
	}
	return false
}

// wordsOf is how many words a token is: one if it is made of letters, with
// hyphens and apostrophes inside and punctuation around, and none otherwise. Of
// scripts that set no white space between words, two letters are a word.
func wordsOf(token string) int {
	token = strings.Trim(token, "-\"'()[]*_.,:;!?\u2018\u2019\u201c\u201d\u3001\u3002\uff0c\uff01\uff1f")
	if token == "" {
		return 0
	}
	unspaced := 0
	for _, r := range token {
		switch {
		case r < 0x80 && ('a' <= r|0x20 && r|0x20 <= 'z' || r == '-' || r == '\''), r == '\u2019':
		case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar):
			unspaced++
		case r >= 0x80 && unicode.In(r, unicode.L, unicode.M), classOf(char(r)) != visible:
		default:
			return 0
		}
	}
	return max(1, unspaced/2)
}

// partNames are the values of a parameter that names a part, however it is
// written. Of a field whose parameters cannot be read, and that has such a
// word, the whole value is one.
func partNames(value, parameter string) []string {
	value = strings.ReplaceAll(value, "\r\n", "")
	_, list, found := strings.Cut(value, ";")
	if !found {
		return nil
	}
	s := fieldScanner{text: ";" + list}
	all, ok := s.parameterList()
	if !ok {
		if strings.Contains(lowerASCII(list), parameter) {
			return []string{decoded(list)}
		}
		return nil
	}
	one := all[parameter]
	if one == nil {
		return nil
	}
	var names []string
	for _, name := range append(one.whole, one.joined()) {
		if name != "" {
			names = append(names, decoded(name))
		}
	}
	return names
}

// joined are the sections of a value in their order, whether or not one is
// missing.
func (p *parameter) joined() string {
	var numbers []int
	for n := range p.sections {
		numbers = append(numbers, n)
	}
	slices.Sort(numbers)
	var out strings.Builder
	for _, n := range numbers {
		out.WriteString(p.sections[n])
	}
	return out.String()
}

// partFields are the fields of a part's header: lines that each end in LF.
func partFields(raw []byte) iter.Seq2[string, string] {
	return func(yield func(name, value string) bool) {
		for len(raw) > 0 {
			end := bytes.IndexByte(raw, '\n') + 1
			for end < len(raw) && isBlank(char(raw[end])) {
				next := bytes.IndexByte(raw[end:], '\n') + 1
				end += next
			}
			name, value, _ := strings.Cut(string(raw[:end-1]), ":")
			if !yield(name, strings.ReplaceAll(value, "\n", "")) {
				return
			}
			raw = raw[end:]
		}
	}
}
