package e2e

import (
	"regexp"
	"strings"
	"testing"
)

// testLog: a message has one line, with the queue id that Postfix's log has
// and the id that the record or the stamp has.
func testLog(t *testing.T) {
	w := begin(t, "")
	accepted := w.send(friend, w.good("groceries"), shopping)
	w.settled(accepted.Data)
	stamped := w.read("shopping", "shopping")
	refused := w.send(stranger, letter(stranger, shopping, "hello", "hello\r\n"), shopping)
	w.discarded(refused.Data)
	record := newest(w.records())
	if got := record.Text("queue_id"); got != refused.Data.QueueID() {
		t.Errorf("the record's queue id is %q, want %q", got, refused.Data.QueueID())
	}

	for queue, want := range map[string]string{
		accepted.Data.QueueID(): "id=" + stamped.verdict.ID + " policy=shopping verdict=accept reason=none",
		refused.Data.QueueID():  "id=" + record.Text("id") + " policy=shopping verdict=refuse reason=unlisted",
	} {
		var lines []string
		for _, line := range w.Stile.Log.Since(0) {
			if strings.Contains(line, "queue="+queue) {
				lines = append(lines, line)
			}
		}
		if len(lines) != 1 {
			t.Errorf("%d lines for %s, want 1: %q", len(lines), queue, lines)
			continue
		}
		if !strings.Contains(lines[0], want) {
			t.Errorf("the line of %s is\n%s\nwant in it\n%s", queue, lines[0], want)
		}
		if !logfmt.MatchString(lines[0]) {
			t.Errorf("not logfmt: %s", lines[0])
		}
	}
}

// logfmt is pairs of a name and a bare or a quoted value.
var logfmt = regexp.MustCompile(`^([a-z0-9_]+=([^ "=]+|"(\\.|[^"\\])*")( |$))+$`)
