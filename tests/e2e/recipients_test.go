package e2e

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// testRecipients sends one message to a mailbox that accepts it, one whose
// own list refuses it, one that is not named in it and would say no aloud, one
// that is not guarded and one that is none.
func testRecipients(t *testing.T) {
	w := begin(t, "")
	raw := w.sign(strings.Replace(letter(friend, shopping, "groceries", "eggs\r\nmilk\r\n"),
		"To: "+shopping, "To: "+shopping+", "+travel, 1))
	sent := w.send(friend, raw, counter, shopping, "anyone@agents.example", travel, desk)
	for i, code := range []int{250, 250, 550, 250, 250} {
		w.want(code, sent.Rcpt[i])
	}
	w.settled(sent.Data)
	got := w.read("shopping", "shopping")
	if policies := got.verdict.Policies; !slices.Equal(policies, []string{"shopping"}) {
		t.Errorf("policies %q, want shopping alone", policies)
	}
	if n := w.read("desk", "shopping").fields("Stile-Verdict"); n != 1 {
		t.Errorf("the unguarded recipient's copy has %d verdicts, want the stamp", n)
	}
	w.empty("shopping", "counter", "travel", "agents", "desk")
	refused := map[string]string{}
	for _, r := range w.records() {
		refused[r.Text("policy")] = r.Text("reason")
	}
	if want := map[string]string{"travel": "unlisted", "counter": "not-addressed"}; !maps.Equal(refused, want) {
		t.Errorf("the records say %v, want %v", refused, want)
	}
}

// testTwoAccept sends one message that two mailboxes accept.
func testTwoAccept(t *testing.T) {
	w := begin(t, "")
	raw := w.sign(strings.Replace(letter(friend, shopping, "groceries", "eggs\r\n"),
		"To: "+shopping, "To: "+shopping+", "+counter, 1))
	w.settled(w.send(friend, raw, counter, shopping).Data)
	for mailbox := range map[string]bool{"shopping": true, "counter": true} {
		if got := w.read(mailbox, mailbox); !slices.Equal(got.verdict.Policies, []string{"shopping", "counter"}) {
			t.Errorf("%s: policies %q, want those of the config in its order", mailbox, got.verdict.Policies)
		}
	}
}

// testPolicies sends messages that several mailboxes judge, each by its own
// list and its own switches.
func testPolicies(t *testing.T) {
	t.Run("two-accept", testTwoAccept)
	t.Run("none-accepts", testMixedRefusals)
}

// testMixedRefusals: 550 only where every recipient is refused and says no
// aloud.
func testMixedRefusals(t *testing.T) {
	w := begin(t, "")
	raw := letter(friend, shopping, "hello", "hello\r\n") // not signed
	w.discarded(w.send(friend, raw, counter, shopping).Data)
	w.settled(w.send(friend, raw, counter, desk).Data)
	w.want(550, w.send(friend, raw, counter).Data)
	w.empty("counter", "shopping")
	got := w.arrives(w.Postfix.Mailbox("desk"))
	if strings.Contains(got, "Stile-") {
		t.Errorf("a message that nobody accepted is stamped:\n%s", got)
	}
	policies := map[string]bool{}
	for _, r := range w.records() {
		policies[r.Text("policy")] = true
	}
	if !policies["counter"] || !policies["shopping"] {
		t.Errorf("records for %v, want counter and shopping", policies)
	}
}

// testSpellings sends refused mail to every spelling of a guarded mailbox
// that Postfix takes for it, alone and beside an unguarded one: none passes.
// Mail that is accepted shows that they lead to the mailbox.
func testSpellings(t *testing.T) {
	w := begin(t, "")
	raw := letter(stranger, desk, "hello", "hello\r\n")
	good := w.good("groceries")
	for _, to := range []string{
		shopping,
		"shopping+x@estate.example",
		"SHOPPING@Estate.Example",
		"shop@estate.example",
		"SHOPPING@localhost",
		"shopping@mx.estate.example",
		"shopping@[127.0.0.1]",
		`"shopping"@estate.example`,
		`"shop\ping"@estate.example`,
		`"shopping+x y"@estate.example`,
		"@elsewhere.example,@more.example:shopping@estate.example",
		"shopping+a+b@localhost",
		"shopping@estate.example.",
		"shopping",
		"shopping%estate.example@localhost",
		"estate.example!shopping",
		"mx.estate.example!estate.example!shopping",
		`"shopping@estate.example"@localhost`,
		"shopping@[127.0.0.1].",
		`"shopping+"@estate.example`,
	} {
		mark := w.Postfix.Log.Len()
		alone := w.send(stranger, raw, to)
		w.discarded(alone.Data)
		if r := newest(w.records()); r.Text("policy") != "shopping" {
			t.Errorf("%s: the record is %v, want policy shopping", to, r)
		}
		beside := w.send(stranger, raw, to, desk)
		w.settled(beside.Data)
		for _, line := range w.Postfix.Log.Since(mark) {
			if strings.Contains(line, "postfix/virtual") && !strings.Contains(line, "to=<"+desk+">") {
				t.Errorf("%s: delivered: %s", to, line)
			}
		}
		w.take("desk")
		w.empty("shopping", "desk")
		w.settled(w.send(friend, good, to).Data)
		w.read("shopping", "shopping")
	}
}

// testGuardedDomain: in a domain of the agents' own, an address that is no
// mailbox is refused where it is named.
func testGuardedDomain(t *testing.T) {
	w := begin(t, "")
	got := w.send(friend, w.good("groceries"), "anyone@agents.example")
	if len(got.Rcpt) != 1 {
		t.Fatalf("answers %v, want one to RCPT", got.Rcpt)
	}
	w.want(550, got.Rcpt[0])
	if !strings.Contains(got.Rcpt[0].Text, "5.1.1") {
		t.Errorf("the reply is %q, want 5.1.1", got.Rcpt[0])
	}
	w.empty("agents")
}
