// Package command runs the corpus through the commands verdict and show.
package command

import (
	"encoding/json"
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"stile/tests/corpus"
	"stile/verdict"
)

// run is what the messages of one call have in common.
type run struct {
	at   time.Time
	null bool
}

// TestCommand calls each command once for all messages that it can be told to
// judge alike.
func TestCommand(t *testing.T) {
	c, err := corpus.Load("..")
	if err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(t.TempDir(), "stile")
	if out, err := exec.Command("go", "build", "-o", bin, "stile/cmd/stile").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	all := map[run][]*corpus.Message{}
	for _, m := range c.Messages {
		if judgedSo(m) {
			r := run{m.Time(), m.Null}
			all[r] = append(all[r], m)
		}
	}
	for r, messages := range all {
		checkVerdicts(t, r.call(t, bin, "verdict", messages), messages)
		checkShown(t, r.call(t, bin, "show", messages), messages)
	}
}

// judgedSo reports whether the command line can be told to judge a message as
// its row says. With --sender the limit on a message's size is the default one.
func judgedSo(m *corpus.Message) bool {
	return m.Policy == "" && m.After == "" && m.Fails == "" && len(m.Raw) <= corpus.MaxMessage
}

// call runs a command and returns what it prints, a line a message.
func (r run) call(t *testing.T, bin, command string, messages []*corpus.Message) []string {
	t.Helper()
	args := []string{command, "--json", "--zone", "../zone", "--at", r.at.Format(time.RFC3339)}
	for _, s := range corpus.Senders {
		args = append(args, "--sender", s)
	}
	if r.null {
		args = append(args, "--envelope", "<>")
	}
	for _, m := range messages {
		args = append(args, filepath.Join("..", m.Path+".eml"))
	}
	out, err := exec.Command(bin, args...).Output()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	if len(lines) != len(messages) {
		t.Fatalf("%s: %d lines for %d messages", command, len(lines), len(messages))
	}
	return lines
}

func checkVerdicts(t *testing.T, lines []string, messages []*corpus.Message) {
	for i, m := range messages {
		var got struct {
			Verdict verdict.Outcome
			Reason  verdict.Reason
			Address string
			Flags   []verdict.Flag
		}
		if err := json.Unmarshal([]byte(lines[i]), &got); err != nil {
			t.Fatal(err)
		}
		if is := corpus.OutcomeOf(got.Verdict, got.Reason); is != m.Wanted() {
			t.Errorf("%s: %s, want %s", m.Path, is, m.Wanted())
		}
		if m.Address != nil && got.Address != *m.Address {
			t.Errorf("%s: address %q, want %q", m.Path, got.Address, *m.Address)
		}
		for _, fault := range m.CheckFlags(got.Flags) {
			t.Errorf("%s: %s", m.Path, fault)
		}
	}
}

func checkShown(t *testing.T, lines []string, messages []*corpus.Message) {
	for i, m := range messages {
		var got struct{ Text string }
		if err := json.Unmarshal([]byte(lines[i]), &got); err != nil {
			t.Fatal(err)
		}
		if m.Outcome == verdict.Accept {
			entry, _, _ := strings.Cut(strings.TrimPrefix(got.Text, "+-- UNTRUSTED TEXT from "), " ")
			for _, fault := range m.CheckText(entry, got.Text) {
				t.Errorf("%s: %s", m.Path, fault)
			}
			continue
		}
		word := map[verdict.Outcome]string{verdict.Refuse: "refused", verdict.Defer: "deferred"}[m.Outcome]
		if want := word + " (" + string(m.Reason) + "): headers and body not shown"; got.Text != want {
			t.Errorf("%s: shows %.60q, want %q", m.Path, got.Text, want)
		}
	}
}
