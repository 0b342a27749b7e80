package config

import (
	"io"
	"slices"
	"strings"

	"filippo.io/age"
)

// setRecipients reads public keys. A text that is none is not quoted: it may be
// a private key that was pasted into the wrong place.
func setRecipients(b *builder, k *key, n node) {
	for _, e := range b.texts(k, n) {
		if strings.HasPrefix(strings.ToUpper(e.text), "AGE-SECRET-KEY-") {
			b.wrong(k, e, "a private key, which must not be on this host; make a new pair")
			continue
		}
		// Only what age itself writes: no comment, no second line.
		if strings.Trim(e.text, "abcdefghijklmnopqrstuvwxyz0123456789") != "" {
			b.wrong(k, e, "not a public key of age")
			continue
		}
		recipients, err := age.ParseRecipients(strings.NewReader(e.text))
		if err != nil {
			b.wrong(k, e, "not a public key of age")
			continue
		}
		b.c.Evidence.Recipients = append(b.c.Evidence.Recipients, recipients...)
	}
	b.recipients = n
}

// checkEvidence asks that it is written out that nothing is kept: refused mail
// is answered 250 and would otherwise be gone without the operator's word.
func (b *builder) checkEvidence(root node) {
	none := b.end
	if table, ok := root.table["evidence"]; ok {
		none = table.at
		if n, ok := table.table["none"]; ok {
			none = n.at
		}
	}
	listed := len(b.recipients.list) > 0 // good ones or bad
	if listed && b.c.Evidence.None {
		b.add(none, "evidence.none: true, and there are recipients; write none = false, or leave recipients out")
	}
	for _, m := range b.c.Mailboxes {
		if m.Body && !listed {
			b.add(b.render[m], "render: body leaves nothing of a message but its sealed original; write recipients under [evidence], or render = \"header\"")
		}
	}
	diverts := slices.ContainsFunc(b.c.Mailboxes, func(m *Mailbox) bool { return !m.Reject })
	if diverts && !listed && !b.c.Evidence.None {
		b.add(none, "refused mail is diverted and no evidence is kept; write recipients, or none = true under [evidence] to say that this is meant")
	}
	if len(b.c.Evidence.Recipients) == 0 {
		return
	}
	// age keeps keys that resist a quantum computer apart from those that do
	// not.
	if _, err := age.Encrypt(io.Discard, b.c.Evidence.Recipients...); err != nil {
		b.add(b.recipients.at, "evidence.recipients: keys of different kinds cannot be recipients of one file; write those of one kind")
	}
}

// warnEvidence warns where the part of the quota that one claimed address is
// sure of, a fortieth, cannot hold the largest message.
func (b *builder) warnEvidence() {
	e := b.c.Evidence
	if len(e.Recipients) == 0 {
		return
	}
	if e.MaxBytes/40 < b.c.MaxMessage {
		b.warning(b.recipients.at, "evidence.max_bytes: a fortieth of it, which is kept for each claimed address, is less than max_message; a large message that claims a listed sender may have to wait")
	}
}
