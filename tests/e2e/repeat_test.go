package e2e

import (
	"slices"
	"strings"
	"testing"

	"stile/verdict"
)

// testRepeat: a sender that did not hear our answer sends the same message
// again, and it arrives marked as a repeat; the same proof on a message that was
// changed where the signature does not look is refused.
func testRepeat(t *testing.T) {
	w := begin(t, "")
	raw := w.good("groceries")
	w.settled(w.send(friend, raw, shopping).Data)
	if got := w.read("shopping", "shopping"); slices.Contains(got.verdict.Flags, verdict.Duplicate) {
		t.Errorf("flags %v on the first", got.verdict.Flags)
	}
	// Over whatever hosts it comes this time.
	again := "Received: from elsewhere.example by client.example; Tue, 1 Dec 2026 00:00:00 +0000\r\n" + raw
	w.settled(w.send(friend, again, shopping).Data)
	if got := w.read("shopping", "shopping"); !slices.Contains(got.verdict.Flags, verdict.Duplicate) {
		t.Errorf("flags %v on the repeat, want duplicate", got.verdict.Flags)
	}
	for _, changed := range []string{
		"Comments: hello\r\n" + raw,
		strings.Replace(raw, "\r\nTo:", "\r\nReply-To: mallory@evil.example\r\nTo:", 1),
	} {
		w.discarded(w.send(friend, changed, shopping).Data)
		if r := newest(w.records()); r.Text("reason") != "replayed" {
			t.Errorf("the record is %v, want replayed", r)
		}
	}
	w.empty("shopping")
}
