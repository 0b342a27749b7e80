package fence_test

import (
	"strings"
	"testing"

	"stile/fence"
	"stile/tests/signed"
)

// What the accepting signature covers decides what is shown.
func TestRenderAccepted(t *testing.T) {
	const (
		head = "To: shopping@estate.example\r\nSubject: groceries\r\nContent-Type: text/plain; charset=utf-8\r\n"
		html = "Content-Type: text/html\r\n"
	)
	for _, c := range []struct {
		name  string
		spec  signed.Spec
		inner []string
	}{
		{"all covered", signed.Spec{Header: head, Body: "Grüße\r\n"}, []string{"| Subject: groceries", "| Grüße"}},
		{"Subject not covered", signed.Spec{Header: head, Body: "eggs\r\n", Sign: []string{"from", "to", "content-type"}}, []string{"+-- subject not shown: not signed", "| eggs"}},
		{"no Subject", signed.Spec{Header: "To: shopping@estate.example\r\n", Body: "eggs\r\n"}, []string{"| eggs"}},
		{"recipient not covered", signed.Spec{Header: head, Body: "eggs\r\n", Sign: []string{"from", "subject", "content-type"}}, []string{"+-- recipient not signed", "| Subject: groceries", "| eggs"}},
		{"type not covered, certain", signed.Spec{Header: head, Body: "Grüße\r\n", Sign: []string{"from", "to", "subject"}}, []string{"| Subject: groceries", "| Grüße"}},
		{"type not covered, not certain", signed.Spec{Header: head, Body: "gr\xfc\xdfe\r\n", Sign: []string{"from", "to", "subject"}}, []string{"| Subject: groceries", "+-- body not shown: unsigned structure"}},
		{"HTML put on in transit", signed.Spec{Body: "eggs\r\n", Above: html}, []string{"| Subject: groceries", "+-- body not shown: unsigned structure"}},
		{"disposition put on in transit", signed.Spec{Header: head, Body: "eggs\r\n", Above: "Content-Disposition: attachment\r\n"}, []string{"| Subject: groceries", "| eggs"}},
		{"disposition covered", signed.Spec{Header: head + "Content-Disposition: attachment\r\n", Body: "eggs\r\n"}, []string{"| Subject: groceries", "+-- body not shown: no plain-text part"}},
		{"encoding put on in transit", signed.Spec{Header: head, Body: "eggs and milk\r\n", Above: "Content-Transfer-Encoding: base64\r\n"}, []string{"| Subject: groceries", "+-- body not shown: unsigned structure"}},
		{"folded type", signed.Spec{Header: "To: shopping@estate.example\r\nSubject: two\r\n words\r\nContent-Type: text/plain;\r\n\tcharset=utf-8\r\n", Body: "ü\r\n"}, []string{"| Subject: two words", "| ü"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := fence.Render(signed.Accepted(t, c.spec))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			all := strings.Split(r.Text, "\n")
			for _, line := range all[1 : len(all)-1] {
				got = append(got, strings.TrimSuffix(line, " - nonce "+r.Nonce))
			}
			if strings.Join(got, "\n") != strings.Join(c.inner, "\n") {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.inner, "\n"))
			}
			if _, err := fence.Parse(r.Text); err != nil {
				t.Error(err)
			}
		})
	}
}

// Each rendering has a nonce of its own.
func TestNonceIsFresh(t *testing.T) {
	a := signed.Accepted(t, signed.Spec{})
	seen := make(map[string]bool)
	for range 20 {
		r, err := fence.Render(a)
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Nonce) != 16 || seen[r.Nonce] || strings.Count(r.Text, r.Nonce) != 2 {
			t.Fatalf("nonce %q in\n%s", r.Nonce, r.Text)
		}
		seen[r.Nonce] = true
	}
}

// A body may have more lines, and never less of them.
func TestRenderBody(t *testing.T) {
	a := signed.Accepted(t, signed.Spec{Body: strings.Repeat("eggs\r\n", 10000)})
	r, err := fence.RenderBody(a, fence.MinBody)
	if err != nil {
		t.Fatal(err)
	}
	f, err := fence.ParseBody(r.Text, fence.MinBody)
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Parts[0].Lines) <= 2000 {
		t.Errorf("%d lines are shown", len(f.Parts[0].Lines))
	}
	if _, err := fence.RenderBody(a, fence.MinBody-1); err == nil {
		t.Error("a body may be smaller than what is shown beside it")
	}
}
