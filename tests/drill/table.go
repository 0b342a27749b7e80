package main

import (
	"slices"
	"strings"
)

// table is the cuts of guards that are no if of their own. One whose code is a
// reason must be missed by a message that is filed under it, another by the
// test that it names.
func table() []row {
	return slices.Concat(twelve, verdictRows, listRows(), fenceRows, stampRows, quarantineRows, recordRows(), milterRows, configRows)
}

// listRows leave one element out of a list at a time.
func listRows() (rows []row) {
	for _, l := range lists {
		elements := strings.SplitAfter(strings.TrimSuffix(l.elements, ","), ",")
		for i, e := range elements {
			rest := slices.Delete(slices.Clone(elements), i, i+1)
			e = strings.Trim(strings.TrimSpace(e), `,"`)
			rows = append(rows, row{
				code: l.code, file: l.file, test: l.test, name: e,
				piece: l.kind + "{" + l.elements + "\n}",
				with:  l.kind + "{" + strings.TrimSuffix(strings.Join(rest, ""), ",") + ",\n}",
			})
		}
	}
	return rows
}

// lists are those each of whose elements is a guard.
var lists = []struct{ code, file, kind, elements, test string }{
	{"duplicate-field", "verdict/header.go", "[]string", `
	"Subject", "To", "Cc", "Bcc", "Date", "Message-ID", "Sender", "Reply-To",
	"In-Reply-To", "References", "MIME-Version", "Content-Type",
	"Content-Transfer-Encoding", "Content-Disposition", "Content-ID", "Content-Description",`, ""},
	{"reply-fields", "verdict/reason.go", "[]string", `
	"Reply-To", "Mail-Reply-To", "Mail-Followup-To", "Resent-Reply-To", "Sender",
	"Errors-To", "Disposition-Notification-To", "Return-Receipt-To",
	"X-Confirm-Reading-To", "List-Unsubscribe", "List-Unsubscribe-Post", "List-Post",`, "stamp TestStripped"},
	{"escaped", "fence/class.go", "[]*unicode.RangeTable", `
	unicode.Cc, unicode.Cf, unicode.Co, unicode.Cn, unicode.Cs, unicode.Zl, unicode.Zp,
	unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector,`, ""},
}

// recordRows let a column of a record take anything.
func recordRows() (rows []row) {
	for _, fits := range []string{
		`validID(r.ID)`, `validTime(r.Time)`, `validPolicy(r.Policy)`,
		`slices.Contains(verdict.Refusals, r.Reason)`, `validAddress(r.Address)`,
		`r.AddressHash == "" || hex(r.AddressHash, 8)`, `(r.AddressHash == "") == (r.Address == "")`,
		`slices.Contains([]string{"yes", "no", "unknown"}, r.Proved)`,
		`r.Signer == "" || slices.Contains(verdict.SignerClasses, verdict.SignerClass(r.Signer))`,
		`r.Size >= 0`, `hex(r.SHA256, 64)`, `len(r.QueueID) <= 32`, `only(r.QueueID, letters+capitals+digits)`,
		`r.ClientIP == "" || canonicalIP(r.ClientIP) == r.ClientIP`,
		`slices.Contains(evidenceStates, r.Evidence)`,
	} {
		rows = append(rows, row{code: "record", file: "quarantine/record.go", piece: fits, with: "true", test: "quarantine TestDoesNotFit"})
	}
	return rows
}
