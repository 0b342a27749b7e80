package config

import (
	"regexp"
	"time"

	"stile/verdict"
)

// year is how long the proofs of accepted mail are remembered.
const year = 365 * 24 * time.Hour

var mailboxKeys = []key{
	{name: "id", kind: kindText, show: `"shopping"`,
		doc:  "The policy's name in metrics, records and stamps: a-z, 0-9 and -, 32 at most.",
		want: `id = "shopping", of a-z, 0-9 and -, 32 characters at most`,
		set:  setID},
	{name: "address", kind: kindText, show: `"shopping@estate.example"`,
		doc:  "The guarded address.",
		want: `address = "shopping@estate.example"`,
		set: func(b *builder, k *key, n node) {
			b.m.Address = n.text
			b.address(k, n)
		}},
	{name: "aliases", kind: kindList, def: `[]`, show: `["shop@estate.example"]`,
		doc:  "Other recipients that are this mailbox.",
		want: `aliases = ["shop@estate.example"]`,
		set: func(b *builder, k *key, n node) {
			for _, e := range b.texts(k, n) {
				b.m.Aliases = append(b.m.Aliases, e.text)
				b.address(k, e)
			}
		}},
	{name: "also_addressed", kind: kindList, def: `[]`,
		doc:  "Addresses elsewhere that forward here. They count in To and Cc only.",
		want: `also_addressed = ["me@elsewhere.example"]`,
		set: func(b *builder, k *key, n node) {
			for _, e := range b.texts(k, n) {
				if !verdict.ValidAddress(e.text) {
					b.bad(k, e, "is not an address")
				}
				b.m.AlsoAddressed = append(b.m.AlsoAddressed, e.text)
				b.also[b.m] = append(b.also[b.m], e)
			}
		}},
	{name: "senders", kind: kindList, def: `[]`, show: `["friend@example.org"]`,
		doc:  "Whose mail is shown, once proved. Full addresses: no domains, no patterns.",
		want: `senders = ["friend@example.org"]`,
		set: func(b *builder, k *key, n node) {
			for _, e := range b.texts(k, n) {
				b.sender(e.at, e.text)
			}
		}},
	{name: "senders_file", kind: kindText, show: `"/etc/stile/shopping.senders"`, off: true,
		doc:  "More senders: one address a line, # before a comment.",
		want: `senders_file = "/etc/stile/shopping.senders"`,
		set: func(b *builder, k *key, n node) {
			if path := b.path(k, n, n.text); path != "" {
				b.sendersFile(n.at, path)
			}
		}},
	{name: "refused", kind: kindText, def: `"divert"`,
		doc:  "divert: refused mail is answered 250 and goes no further. reject: it is answered\n550, unless others get the message or it came from sendmail(1); then diverted.",
		want: `refused = "divert" or "reject"`,
		set: func(b *builder, k *key, n node) {
			switch n.text {
			case "divert", "reject":
				b.m.Reject = n.text == "reject"
			default:
				b.bad(k, n, "is not one of the choices")
			}
		}},
	{name: "unlisted", kind: kindText, def: `"refuse"`,
		doc:  "refuse: a sender who is not listed is not looked up. defer is not built yet.",
		want: `unlisted = "refuse"`,
		set:  only("refuse", "defer")},
	{name: "render", kind: kindText, def: `"header"`,
		doc:  "header: the fence stands in a header field, the body stays. body, for mailboxes\nthat only agents read: the fence is the body, and all else of the message is gone\nbut for its sealed original; it needs evidence.recipients.",
		want: `render = "header" or "body"`,
		set: func(b *builder, k *key, n node) {
			switch n.text {
			case "header", "body":
				b.m.Body = n.text == "body"
			default:
				b.bad(k, n, "is not one of the choices")
			}
			b.render[b.m] = n.at
		}},
	{name: "addressed", kind: kindText, def: `"signed"`,
		doc:  "signed: a signed To or Cc must name this mailbox, and mail that signs neither is\nflagged. strict: it must be signed and name it. off: To and Cc are not looked at.",
		want: `addressed = "signed", "strict" or "off"`,
		set: func(b *builder, k *key, n node) {
			switch a := verdict.Addressed(n.text); a {
			case verdict.AddressedSigned, verdict.AddressedStrict, verdict.AddressedOff:
				b.m.policy.Addressed = a
			default:
				b.bad(k, n, "is not one of the choices")
			}
		}},
	{name: "max_age", kind: kindText, def: `"7d"`,
		doc:  "How old a signature may be.",
		want: `max_age = "7d", a year at most`,
		set: func(b *builder, k *key, n node) {
			age := b.duration(k, n)
			// Proofs are remembered for a year: beyond it a replay could not be told.
			if age > year {
				b.bad(k, n, "is over a year")
			}
			b.m.policy.MaxAge = age
		}},
	{name: "retry_window", kind: kindText, def: `"4h"`,
		doc:  "How long, from when a message was accepted, its sender may send it once more. The\nsame proof later, or with anything changed, is a replay.",
		want: `retry_window = "4h", a year at most`,
		set: func(b *builder, k *key, n node) {
			window := b.duration(k, n)
			if window > year {
				b.bad(k, n, "is over a year")
			}
			b.m.policy.RetryWindow = window
		}},
	{name: "automatic", kind: kindText, def: `"refuse"`,
		doc:  "refuse or accept: auto-replies, which often quote whatever a stranger wrote.",
		want: `automatic = "refuse" or "accept"`,
		set: func(b *builder, k *key, n node) {
			switch n.text {
			case "refuse", "accept":
				b.m.policy.AllowAutomatic = n.text == "accept"
			default:
				b.bad(k, n, "is not one of the choices")
			}
		}},
	{name: "body_limit", kind: kindText, def: `"1MiB"`, off: true,
		doc:  `How large the body may be that render = "body" writes.`,
		want: `body_limit = "1MiB", of 24KiB to 16MiB`,
		set:  setBodyLimit},
	{name: "observe_until", kind: kindDate, show: `2027-01-15`, off: true,
		doc:  "Until then, 14 days ahead at most, refused mail is delivered all the same. Not built yet.",
		want: `a date without quotes and at most 14 days ahead, or leave it out`,
		set:  setObserve},
}

// only is a key of which one value is built.
func only(built string, later ...string) func(*builder, *key, node) {
	return func(b *builder, k *key, n node) {
		if n.text == built {
			return
		}
		for _, l := range later {
			if n.text == l {
				b.add(n.at, "%s = %q is not built yet; write %s", k.name, l, k.want)
				return
			}
		}
		b.bad(k, n, "is not one of the choices")
	}
}

// setBodyLimit takes no less than what is shown anyway, and no more than is held
// in memory with ease.
func setBodyLimit(b *builder, k *key, n node) {
	limit := b.size(k, n)
	if limit > 0 && limit < 24<<10 {
		b.bad(k, n, "is less than the fence in the header may take")
	}
	if limit > 16<<20 {
		b.bad(k, n, "is more than a body may take")
	}
	b.m.BodyLimit = limit
}

var idPattern = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,31}$`)

func setID(b *builder, k *key, n node) {
	if !idPattern.MatchString(n.text) {
		b.bad(k, n, "is not an id")
	}
	// Metrics, records and stamps say "none" where there is no mailbox.
	if n.text == "none" {
		b.bad(k, n, "is what stands where there is no mailbox")
	}
	if first, ok := b.ids[n.text]; ok {
		b.add(n.at, "id: %q is given twice, first on line %d; write another one", n.text, first.line)
	}
	b.ids[n.text] = n.at
	b.m.ID = n.text
}

func setObserve(b *builder, k *key, n node) {
	day := n.date.AsTime(time.Local)
	now := time.Now()
	switch {
	case day.After(now.AddDate(0, 0, 14)):
		b.wrong(k, n, "%s is over 14 days ahead", n.date)
	case now.After(day.AddDate(0, 0, 1)):
		b.wrong(k, n, "%s is past", n.date)
	default:
		b.add(n.at, "observe_until is not built yet; leave it out")
	}
}

func setMailboxes(b *builder, k *key, n node) {
	for _, e := range n.list {
		if e.kind != kindTable {
			b.wrong(k, e, "%s where a mailbox belongs", e.kind)
			continue
		}
		b.m = &Mailbox{}
		b.c.Mailboxes = append(b.c.Mailboxes, b.m)
		b.at[b.m] = e.at
		b.read(mailboxKeys, e, "")
		for _, required := range []string{"id", "address"} {
			if _, ok := e.table[required]; !ok {
				b.add(e.at, "the mailbox has no %s; write %s", required, find(mailboxKeys, required).want)
			}
		}
		if len(b.entries[b.m]) == 0 && !b.senderFailed[b.m] {
			b.add(e.at, "the mailbox has no sender; write %s, or a senders_file that names one", find(mailboxKeys, "senders").want)
		}
	}
}

func find(keys []key, name string) *key {
	for i := range keys {
		if keys[i].name == name {
			return &keys[i]
		}
	}
	panic("config: no key " + name)
}
