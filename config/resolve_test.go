package config

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"stile/verdict"
)

func estate(t testing.TB) *Config {
	c, err := load("stile.toml", []byte(`
recipient_delimiter = "+-"
same_domain = { "estate.example" = ["mx.estate.example", "localhost", "[192.0.2.1]", "[IPv6:2001:db8::1]"] }
guarded_domains = ["agents.example", "estate.example"]
[evidence]
none = true
[[mailbox]]
id = "shopping"
address = "Shopping@estate.example"
aliases = ["shop@estate.example", "x+y@estate.example"]
also_addressed = ["me@elsewhere.example"]
senders = ["friend@example.org"]
[[mailbox]]
id = "other"
address = "other@free.example"
senders = ["friend@example.org"]
`))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestResolve(t *testing.T) {
	c := estate(t)
	for _, x := range []struct {
		address, id string
		guarded     bool
	}{
		{"shopping@estate.example", "shopping", true},
		{"SHOPPING@ESTATE.EXAMPLE", "shopping", true},
		{"shopping+x@estate.example", "shopping", true},
		{"shopping-x+y@estate.example", "shopping", true},
		{"shopping+@estate.example", "shopping", true},
		{"shopping++@estate.example", "shopping", true},
		{`"shopping"@estate.example`, "shopping", true},
		{`"shopping+x y"@estate.example`, "shopping", true},
		{`"sh\opping"@estate.example`, "shopping", true},
		{"shopping+a b@estate.example", "shopping", true},
		{"shopping+a@b@estate.example", "shopping", true},
		{"shopping@[192.0.2.1]", "shopping", true},
		{"shopping@[IPv6:2001:DB8:0:0::1]", "shopping", true},
		{"shopping@[IPv6:2001:db8::2]", "", false},
		{"shopping@[2001:db8::1]", "", false},
		{"shopping@[IPv6:192.0.2.1]", "", false},
		{"SHOPPING@localhost", "shopping", true},
		{"shopping@mx.Estate.example", "shopping", true},
		{"shop@estate.example", "shopping", true},
		{"x+y@estate.example", "shopping", true}, // the whole address first
		{"x+z@estate.example", "", true},
		{"x+y+z@estate.example", "", true}, // cut before the first octet, not the last
		{"+shopping@estate.example", "", true},
		{"+@estate.example", "", true},
		{"nobody@estate.example", "", true},
		{"nobody@agents.example", "", true},
		{"other@free.example", "other", false},
		{"other+x@free.example", "other", false},
		{"nobody@free.example", "", false},
		{"shopping@elsewhere.example", "", false},
		{"me@elsewhere.example", "", false}, // forwards here, is no recipient
		{"shopping@estate.example.", "", false},
		{"\u017fhopping@estate.example", "", true},
		{"", "", false},
		{"shopping", "", false},
		{"@", "", false},
		{"shopping@", "", false},
		{"@estate.example", "", true},
		{`""@estate.example`, "", true},
		{`"shopping@estate.example`, "", true},
		{`"shopping"x@estate.example`, "", true},
		{`"shopping\"@estate.example`, "", true},
		{`"shopping\`, "", false},
		{"shopping@[192.0.2.1", "", false},
		{"shopping@estate.example ", "", false},
	} {
		m, guarded := c.Resolve(x.address)
		id := ""
		if m != nil {
			id = m.ID
		}
		if id != x.id || guarded != x.guarded {
			t.Errorf("Resolve(%q) = %q, %v, want %q, %v", x.address, id, guarded, x.id, x.guarded)
		}
	}
}

func TestNoDelimiter(t *testing.T) {
	c := estate(t)
	c.RecipientDelimiter = ""
	if m, _ := c.Resolve("shopping+x@estate.example"); m != nil {
		t.Error("an address was cut where nothing is a delimiter")
	}
}

func TestAddressee(t *testing.T) {
	c := estate(t)
	p := c.Mailboxes[0].Policy()
	for address, want := range map[string]bool{
		"shopping@estate.example":   true,
		"Shop+x@localhost":          true,
		"me@elsewhere.example":      true,
		"Me+tag@Elsewhere.example":  true,
		`"me"@elsewhere.example`:    true,
		"you@elsewhere.example":     false,
		"other@free.example":        false,
		"nobody@estate.example":     false,
		"me":                        false,
		"":                          false,
		"shopping@estate.example.x": false,
	} {
		if got := p.Addressee(address); got != want {
			t.Errorf("Addressee(%q) = %v, want %v", address, got, want)
		}
	}
	if c.Mailboxes[1].Policy().Addressee("shopping@estate.example") {
		t.Error("one mailbox took another's address for its own")
	}
}

// Every way to write a recipient of the mailbox leads to it.
func TestResolveProperty(t *testing.T) {
	c := estate(t)
	rapid.Check(t, func(t *rapid.T) {
		local := rapid.SampledFrom([]string{"shopping", "shop", "x+y"}).Draw(t, "local")
		if local != "x+y" && rapid.Bool().Draw(t, "extended") {
			local += rapid.SampledFrom([]string{"+", "-"}).Draw(t, "delimiter") + rapid.String().Draw(t, "extension")
		}
		var b strings.Builder
		for i := range len(local) {
			if 'a' <= local[i] && local[i] <= 'z' && rapid.Bool().Draw(t, "upper") {
				b.WriteByte(local[i] - 'a' + 'A')
				continue
			}
			b.WriteByte(local[i])
		}
		address := b.String()
		if rapid.Bool().Draw(t, "quoted") {
			address = `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(address) + `"`
		}
		address += "@" + rapid.SampledFrom([]string{"estate.example", "LocalHost", "mx.estate.example", "[192.0.2.1]", "[IPv6:2001:db8:0::1]"}).Draw(t, "domain")
		if m, guarded := c.Resolve(address); m != c.Mailboxes[0] || !guarded {
			t.Errorf("Resolve(%q) = %v, %v", address, m, guarded)
		}
	})
}

func FuzzResolve(f *testing.F) {
	for _, s := range []string{"shopping@estate.example", `"sh\opping+ "@[192.0.2.1]`, "@", `"\`, "a@[ipv6:::]", "x@[fe80::1%eth0]"} {
		f.Add(s)
	}
	c := estate(f)
	f.Fuzz(func(t *testing.T, address string) {
		m, guarded := c.Resolve(address)
		if m == nil {
			return
		}
		at := strings.LastIndexByte(address, '@')
		if at < 0 {
			t.Fatalf("%q is a mailbox", address)
		}
		// Folding again, or the domain's canonical name, changes nothing.
		again, g := c.Resolve(strings.ToUpper(address[:at]) + "@" + m.Address[strings.IndexByte(m.Address, '@')+1:])
		if isASCII(address[:at]) && (again != m || g != guarded) {
			t.Errorf("%q is %s, and then not", address, m.ID)
		}
	})
}

func isASCII(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r > 127 }) < 0
}

// Whatever the file holds, Load answers a config that keeps its promises or
// errors with lines inside the file.
func FuzzLoad(f *testing.F) {
	f.Add([]byte(Describe()))
	f.Add([]byte(least))
	f.Add([]byte("mailbox = [{id='a', address='a@b.example', senders=['c@d.example']}]\nevidence.none = true\n"))
	f.Add([]byte("[mailbox]\n[[mailbox.x]]\n\"\\u0000\" = [[[{a=1}]]]\n"))
	f.Fuzz(func(t *testing.T, doc []byte) {
		c, err := load("stile.toml", doc)
		if err != nil {
			for _, e := range list(t, err) {
				if e.Line < 0 || e.Line > strings.Count(string(doc), "\n")+1 {
					t.Errorf("line %d of %d: %s", e.Line, strings.Count(string(doc), "\n")+1, e.Text)
				}
			}
			return
		}
		for _, m := range c.Mailboxes {
			if got, _ := c.Resolve(m.Address); got != m {
				t.Errorf("%q is not its own mailbox", m.Address)
			}
			if !idPattern.MatchString(m.ID) || len(m.Senders) == 0 || m.Policy().MaxAge <= 0 {
				t.Errorf("a mailbox that may not be: %+v", m)
			}
			for _, s := range m.Senders {
				if !verdict.ValidAddress(s) {
					t.Errorf("%q is a sender", s)
				}
			}
		}
	})
}
