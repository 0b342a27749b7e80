package fence

import (
	"strings"
	"sync"
)

//go:generate go run emojigen.go

// emojiSequences maps each RGI emoji sequence of more than one code point to
// true and each beginning of one to false.
var emojiSequences = sync.OnceValue(func() map[string]bool {
	all := make(map[string]bool, 4096)
	for sequence := range strings.SplitSeq(strings.TrimSuffix(emojiTable, " "), " ") {
		for i := range sequence {
			if head := sequence[:i]; head != "" && !all[head] {
				all[head] = false
			}
		}
		all[sequence] = true
	}
	return all
})

// emojiLength is the number of characters of the longest RGI emoji sequence of
// more than one code point that text begins with, or 0.
func emojiLength(text []char) int {
	if len(text) < 2 || !continuesEmoji(text[1]) {
		return 0
	}
	table := emojiSequences()
	var sequence [4 * maxUnit]byte
	length, head := 0, sequence[:0]
	for i, c := range text[:min(len(text), maxUnit)] {
		if c < 0 {
			break
		}
		head = appendRune(head, c)
		whole, known := table[string(head)]
		if !known {
			break
		}
		if whole {
			length = i + 1
		}
	}
	return length
}

// continuesEmoji reports whether c can be the second code point of an emoji
// sequence: it spares all other text the look-up.
func continuesEmoji(c char) bool {
	switch {
	case c < 0x200D:
		return false
	case c == 0xFE0F, c == 0x200D:
		return true
	case 0x1F3FB <= c && c <= 0x1F3FF: // skin tones
		return true
	case 0x1F1E6 <= c && c <= 0x1F1FF: // regional indicators
		return true
	}
	return 0xE0020 <= c && c <= 0xE007F // tags
}
