package e2e

import (
	wire "encoding/binary"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"

	"stile/tests/rig"
)

// testNoReply: Postfix waits for no answer to CONNECT, MAIL, header and end
// of header, whichever version of the protocol the answer to its offer names,
// and good mail and bad mail end as they should.
func testNoReply(t *testing.T) {
	for _, version := range []uint32{2, 6} {
		t.Run(fmt.Sprintf("version-%d", version), func(t *testing.T) {
			w := begin(t, "")
			var mu sync.Mutex
			var said strings.Builder // commands, and answers in brackets
			proxy, err := w.Stile.Interpose(rig.Tap{
				Command: func(packet []byte) bool {
					mu.Lock()
					defer mu.Unlock()
					if packet[0] != 'D' {
						said.WriteByte(packet[0])
					}
					return true
				},
				Answer: func(packet []byte) bool {
					mu.Lock()
					defer mu.Unlock()
					if packet[0] == 'O' {
						wire.BigEndian.PutUint32(packet[1:], version)
					}
					fmt.Fprintf(&said, "(%c)", packet[0])
					return true
				},
			})
			w.do(err)
			defer proxy.Close()
			c := w.dial()
			defer c.Close()
			for i := range 2 {
				r, err := c.Send(friend, []string{shopping}, w.good(fmt.Sprintf("list %d", i)))
				w.do(err)
				w.settled(r.Data)
				w.read("shopping", "shopping")
				r, err = c.Send(stranger, []string{shopping}, letter(stranger, shopping, fmt.Sprintf("other list %d", i), "bread\r\n"))
				w.do(err)
				w.discarded(r.Data)
			}
			w.empty("shopping")
			mu.Lock()
			defer mu.Unlock()
			good, bad := "MR(c)L+NB(c)E(i)(i)(i)(a)", "MR(c)L+NB(c)E(d)"
			want := "O(O)C" + strings.Join([]string{good, bad, good, bad}, "A")
			got := regexp.MustCompile("L+").ReplaceAllString(said.String(), "L+")
			if !strings.HasPrefix(got, want) {
				t.Errorf("said %q, want %q", got, want)
			}
		})
	}
}
