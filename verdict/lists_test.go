package verdict

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestClosedLists: what stands in records, stamps and metrics is known, in this
// order.
func TestClosedLists(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{fmt.Sprint(Refusals), "[too-large malformed-header from-count duplicate-field address-count from-syntax unlisted automatic unsigned misaligned length-tag not-addressed stale bad-signature bad-key replayed]"},
		{fmt.Sprint(Deferrals), "[dns store evidence internal busy pending shutdown]"},
		{fmt.Sprint(Flags), "[duplicate testing-key weak-key undated to-unsigned subject-unsigned structure-unsigned reply-to-removed]"},
		{fmt.Sprint(SignerClasses), "[onmicrosoft gappssmtp amazonses sendgrid mailgun mailchimp other none]"},
		{fmt.Sprint(ReplyFields), "[Reply-To Mail-Reply-To Mail-Followup-To Resent-Reply-To Sender Errors-To Disposition-Notification-To Return-Receipt-To X-Confirm-Reading-To List-Unsubscribe List-Unsubscribe-Post List-Post]"},
		{fmt.Sprint([]Outcome{Accept, Refuse, Defer}), "[accept refuse defer]"},
		{fmt.Sprint([]Addressed{AddressedSigned, AddressedStrict, AddressedOff}), "[signed strict off]"},
	} {
		if c.got != c.want {
			t.Errorf("%s, want %s", c.got, c.want)
		}
	}
}

// fields makes a header of lines "Name: value".
func fields(lines ...string) (header []Field) {
	for _, l := range lines {
		name, value, _ := strings.Cut(l, ":")
		header = append(header, Field{Name: name, Value: value})
	}
	return header
}

// TestSingleFields: which fields may stand once, and which of them may be
// repeated as they are.
func TestSingleFields(t *testing.T) {
	alike := map[string]bool{
		"Subject": false, "To": false, "Cc": false, "Bcc": false, "Date": false, "Message-ID": false, "Sender": false,
		"Reply-To": false, "In-Reply-To": true, "References": true, "MIME-Version": true, "Content-Type": false,
		"Content-Transfer-Encoding": true, "Content-Disposition": true, "Content-ID": false, "Content-Description": false,
		"Comments": true, "Keywords": true, "Resent-To": true, "Received": true, "X-A": true,
	}
	often := []string{"Comments", "Keywords", "Resent-To", "Received", "X-A"}
	for name, repeatable := range alike {
		judge := func(lines ...string) Reason {
			return Open(Message{Header: fields(append(lines, "From: a@b.example")...)}, Env{}).fault
		}
		for _, c := range []struct {
			lines []string
			ok    bool
		}{
			{[]string{name + ": a b"}, true},
			{[]string{name + ": a b", strings.ToUpper(name) + ":  a\t b "}, repeatable},
			{[]string{name + ": a b", name + ": a\r\n b", name + ":a b"}, repeatable},
			{[]string{name + ": a b", name + ": ab"}, slices.Contains(often, name)},
			{[]string{name + ": a b", name + ": a b", name + ": A b"}, slices.Contains(often, name)},
		} {
			want := Reason("")
			if !c.ok {
				want = DuplicateField
			}
			if got := judge(c.lines...); got != want {
				t.Errorf("%q: %q, want %q", c.lines, got, want)
			}
		}
	}
	if got := Open(Message{Header: fields("To: x")}, Env{}).fault; got != FromCount {
		t.Errorf("no From: %q", got)
	}
}

// TestSigners: each service by its domains and those below them, the topmost
// signature's first.
func TestSigners(t *testing.T) {
	for class, suffixes := range map[SignerClass]string{
		"onmicrosoft": "onmicrosoft.com", "gappssmtp": "gappssmtp.com", "amazonses": "amazonses.com",
		"sendgrid": "sendgrid.net sendgrid.info sendgrid.me", "mailgun": "mailgun.org mailgun.net mailgun.us",
		"mailchimp": "mailchimpapp.net mailchimp.com mcsv.net mcdlv.net rsgsv.net mandrillapp.com mailchimpapp.com",
	} {
		for _, suffix := range strings.Fields(suffixes) {
			for d, want := range map[string]SignerClass{suffix: class, "A.b." + strings.ToUpper(suffix): class, "not" + suffix: "other", suffix + ".example": "other"} {
				if got := classify(fields("DKIM-Signature: v=1; d=" + d + "; s=x")); got != want {
					t.Errorf("d=%s: %s, want %s", d, got, want)
				}
			}
		}
	}
	for want, header := range map[SignerClass][]Field{
		"none":     fields("From: a@b.example"),
		"other":    fields("DKIM-Signature: s=x"),
		"sendgrid": fields("DKIM-Signature: d=b.example", "dkim-signature: d=sendgrid.net", "DKIM-Signature: d=mailgun.org"),
		"mailgun":  fields("DKIM-Signature: D=sendgrid.net; s=sendgrid.net; d=mailgun.org"),
	} {
		if got := classify(header); got != want {
			t.Errorf("%v: %s, want %s", header, got, want)
		}
	}
}

// TestAnswers: each sign of a responder, read up to ";", without comments, in
// any case, in any instance.
func TestAnswers(t *testing.T) {
	for line, want := range map[string][2]bool{ // with a sender, and with none
		"Auto-Submitted: auto-replied": {true, true}, "AUTO-SUBMITTED:\tAUTO-Replied ": {true, true}, "Auto-Submitted: (a)auto-replied(b) ; x=y": {true, true},
		"Auto-Submitted: auto-\r\n replied": {false, true}, "Auto-Submitted: auto-notified": {false, true}, "Auto-Submitted: no": {false, false},
		"Auto-Submitted: NO (really); x=y": {false, false}, "Auto-Submitted:": {false, true}, "Auto-Submitted: x; auto-replied": {false, true},
		"Precedence: auto_reply": {true, true}, "Precedence: bulk": {false, false}, "Precedence: list": {false, false},
		"X-Autoreply: yes": {true, true}, "X-Autoreply:": {true, true}, "X-Autoreply: No": {false, false}, "X-Autoreply: (yes) no": {false, false},
		"X-Autorespond: yes": {true, true}, "X-Autorespond: no": {false, false}, "X-Autorespond: no.": {true, true},
		"Content-Type: multipart/report; boundary=b": {true, true}, "Content-Type: Multipart / Report": {true, true}, "Content-Type: multipart/\r\n\treport": {true, true},
		"Content-Type: multipart/reports": {false, false}, "Content-Type: text/plain; x=multipart/report": {false, false},
		"X-A: auto-replied": {false, false}, "Subject: auto_reply": {false, false},
	} {
		for i, null := range []bool{false, true} {
			c := Open(Message{Header: fields("From: a@b.example", line), NullSender: null}, Env{})
			if got := c.automatic(); got != want[i] {
				t.Errorf("%q, null sender %v: %v", line, null, got)
			}
		}
	}
	if !Open(Message{Header: fields("From: a@b.example", "Precedence: bulk", "Precedence: auto_reply")}, Env{}).automatic() {
		t.Error("the second instance is not read")
	}
}
