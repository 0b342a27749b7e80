package config

import (
	"fmt"
	"strings"
	"testing"
)

func TestWarnings(t *testing.T) {
	for _, x := range []struct {
		name, top, mailbox string
		want               []string // "line word…" of what is warned about
	}{
		{"nothing", "", "", nil},
		{"guarded sender", "", `senders = ["shopping@estate.example"]`, []string{"7 guarded mailbox shopping"}},
		{"guarded sender by another name", "", `senders = ["friend@example.org", "shopping+x@estate.example"]`, []string{"7 guarded mailbox shopping"}},
		{"public suffix", "", `senders = ["friend@co.uk"]`, []string{"7 public suffix"}},
		{"shared domain", "", `senders = ["friend@github.io"]`, []string{"7 strangers can have names under github.io"}},
		{"name in a shared domain", "", `senders = ["a@x.github.io"]`, []string{"7 anyone can ask github.io"}},
		{"unknown top-level domain", "", `senders = ["a@b.unknowntld"]`, nil},
		{"twice", "", `senders = ["friend@example.org", "Friend@example.org"]`, []string{"7 given twice"}},
		{"postmaster", `guarded_domains = ["estate.example"]`, "", []string{"1 postmaster@estate.example"}},
		{"forwarded from itself", "", `also_addressed = ["shopping@estate.example"]`, []string{"7 elsewhere"}},
		{"addressed off", "", `addressed = "off"`, []string{"4 addressed"}},
		{"automatic", "", `automatic = "accept"`, []string{"4 auto-reply"}},
		{"listen", `listen = "inet:0.0.0.0:8891"`, "", []string{"0 listen"}},
		{"loopback", `listen = "inet:[::1]:8891"`, "", nil},
		{"metrics", `metrics = "192.0.2.1:9891"`, "", []string{"0 metrics"}},
	} {
		t.Run(x.name, func(t *testing.T) {
			senders := `senders = ["friend@example.org"]`
			if strings.HasPrefix(x.mailbox, "senders") {
				senders, x.mailbox = x.mailbox, ""
			}
			doc := fmt.Sprintf("%s\n[evidence]\nnone = true\n[[mailbox]]\nid = \"shopping\"\naddress = \"shopping@estate.example\"\n%s\n%s\n", x.top, x.mailbox, senders)
			if x.mailbox == "" {
				doc = strings.Replace(doc, "\n\nsenders", "\nsenders", 1)
			}
			c, err := load("stile.toml", []byte(doc))
			if err != nil {
				t.Fatal(err)
			}
			got := c.Warnings()
			if len(got) != len(x.want) {
				t.Fatalf("got %v, want %v", got, x.want)
			}
			for i, w := range x.want {
				line, words, _ := strings.Cut(w, " ")
				if fmt.Sprint(got[i].Line) != line || !strings.Contains(got[i].Text, words) {
					t.Errorf("got %v, want line %s: %s", got[i], line, words)
				}
			}
		})
	}
}
