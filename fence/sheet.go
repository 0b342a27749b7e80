package fence

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"io"
)

// sheet is a fence that is being written. Its nonce is drawn when all of it is
// there; until then blanks stand in its places.
type sheet struct {
	text   []byte
	places []int // where the nonce belongs
}

// blankNonce is no nonce and cannot be a part of one.
const blankNonce = "                "

// open writes the opening line.
func (s *sheet) open(entry string) {
	s.text = append(s.text, openingStart+entry+nonceStart...)
	s.place()
	s.text = append(s.text, openingEnd+"\n"...)
}

// rows writes lines that stand between the markers.
func (s *sheet) rows(rows ...row) {
	for _, r := range rows {
		s.text = r.append(s.text, "")
		if r.kind == remarkRow {
			s.place()
		}
		s.text = append(s.text, '\n')
	}
}

// close writes the closing line.
func (s *sheet) close() {
	s.text = append(s.text, closingStart+nonceStart...)
	s.place()
}

func (s *sheet) place() {
	s.places = append(s.places, len(s.text))
	s.text = append(s.text, blankNonce...)
}

// number draws nonces until one stands nowhere in the text, and puts it in its
// places.
func (s *sheet) number(random io.Reader) (string, error) {
	for {
		var octets [nonceLength / 2]byte
		if _, err := io.ReadFull(random, octets[:]); err != nil {
			return "", fmt.Errorf("fence: drawing a nonce: %w", err)
		}
		nonce := hex.EncodeToString(octets[:])
		if bytes.Contains(s.text, []byte(nonce)) {
			continue
		}
		for _, at := range s.places {
			copy(s.text[at:], nonce)
		}
		return nonce, nil
	}
}

// layOut is a whole fence.
func layOut(entry, nonce string, rows []row) string {
	var s sheet
	s.open(entry)
	s.rows(rows...)
	s.close()
	for _, at := range s.places {
		copy(s.text[at:], nonce)
	}
	return string(s.text)
}
