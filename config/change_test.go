package config

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

const before = `
listen = "systemd"
recipient_delimiter = "+-"
same_domain = { "estate.example" = ["localhost", "[192.0.2.1]"] }
guarded_domains = ["agents.example", "estate.example"]
[evidence]
none = true
[[mailbox]]
id = "shopping"
address = "shopping@estate.example"
aliases = ["shop@estate.example", "a+b@estate.example"]
senders = ["friend@example.org", "news@example.org"]
[[mailbox]]
id = "post"
address = "post@agents.example"
senders = ["friend@example.org"]
`

func read(t *testing.T, text string) *Config {
	t.Helper()
	c, err := load("stile.toml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestCompare(t *testing.T) {
	for _, x := range []struct {
		name     string
		old, new string // one replaced by the other
		want     Change
	}{
		{"nothing", "", "", Change{}},
		{"a comment", "[evidence]", "# why\n[evidence]", Change{}},
		{"the order of senders", `"friend@example.org", "news@example.org"`, `"news@example.org", "friend@example.org"`, Change{}},
		{"a sender more", `"news@example.org"`, `"news@example.org", "aunt@example.org"`,
			Change{Mailboxes: []MailboxChange{{ID: "shopping", SendersAdded: 1}}}},
		{"a sender less", `, "news@example.org"`, "",
			Change{Mailboxes: []MailboxChange{{ID: "shopping", SendersRemoved: 1}}}},
		{"a sender for another", "news@", "aunt@",
			Change{Mailboxes: []MailboxChange{{ID: "shopping", SendersAdded: 1, SendersRemoved: 1}}}},
		{"a switch", `id = "post"`, "id = \"post\"\naddressed = \"off\"",
			Change{Mailboxes: []MailboxChange{{ID: "post", Settings: true}}}},
		{"how refused mail is answered", `id = "post"`, "id = \"post\"\nrefused = \"reject\"",
			Change{Mailboxes: []MailboxChange{{ID: "post", Settings: true}}}},
		{"an alias more", `aliases = [`, `aliases = ["shops@estate.example", `,
			Change{Mailboxes: []MailboxChange{{ID: "shopping", Settings: true}}}},
		{"an alias less", `"shop@estate.example", `, "",
			Change{Mailboxes: []MailboxChange{{ID: "shopping", Settings: true}}, Dropped: []string{"shopping"}}},
		{"an alias moves", `"shop@estate.example", "a+b@estate.example"]`, `"a+b@estate.example"]
senders = ["friend@example.org", "news@example.org"]
[[mailbox]]
id = "shop"
address = "shop@estate.example"`,
			Change{Mailboxes: []MailboxChange{{ID: "shopping", Settings: true}, {ID: "shop", New: true, SendersAdded: 2}}}},
		{"another address", `"post@agents.example"`, `"mail@agents.example"`,
			Change{Mailboxes: []MailboxChange{{ID: "post", Settings: true}}, Dropped: []string{"post"}}},
		{"another id", `id = "post"`, `id = "mail"`,
			Change{Mailboxes: []MailboxChange{{ID: "mail", New: true, SendersAdded: 1}}, Dropped: []string{"post"}}},
		{"a mailbox less", "[[mailbox]]\nid = \"post\"\naddress = \"post@agents.example\"\nsenders = [\"friend@example.org\"]\n", "",
			Change{Dropped: []string{"post"}}},
		{"a guarded domain less", `"agents.example", `, "",
			Change{Keys: []string{"guarded_domains"}, Dropped: []string{"guarded_domains"}}},
		{"a guarded domain more", `["agents.example", `, `["agents.example", "free.example", `,
			Change{Keys: []string{"guarded_domains"}}},
		{"a delimiter less", `"+-"`, `"+"`,
			Change{Keys: []string{"recipient_delimiter"}, Dropped: []string{"shopping", "post"}}},
		{"a delimiter more", `"+-"`, `"+-="`, Change{Keys: []string{"recipient_delimiter"}}},
		{"a name of the domain less", `"localhost", `, "",
			Change{Keys: []string{"same_domain"}, Dropped: []string{"shopping", "guarded_domains"}}},
		{"a name of the domain more", `["localhost", `, `["localhost", "mx.estate.example", `,
			Change{Keys: []string{"same_domain"}}},
		{"hostname", "[evidence]", "hostname = \"mx2.estate.example\"\n[evidence]", Change{Keys: []string{"hostname"}}},
		{"max_message", "[evidence]", "max_message = \"1MiB\"\n[evidence]", Change{Keys: []string{"max_message"}}},
		{"authserv_id", "[evidence]", "authserv_id = \"stile\"\n[evidence]", Change{Keys: []string{"authserv_id"}}},
		{"listen", `"systemd"`, `"inet:127.0.0.1:8891"`, Change{Restart: []string{"listen"}}},
		{"metrics", "[evidence]", "metrics = \"\"\n[evidence]", Change{Restart: []string{"metrics"}}},
		{"dns", "[evidence]", "dns = [\"192.0.2.53:53\"]\n[evidence]", Change{Restart: []string{"dns"}}},
		{"store", "[evidence]", "store = \"sqlite:/srv/q.db\"\n[evidence]", Change{Restart: []string{"store"}}},
		{"seal_key", "[evidence]", "seal_key = \"/srv/seal.key\"\n[evidence]", Change{Restart: []string{"seal_key"}}},
		{"evidence", "[evidence]", "[evidence]\nkeep = \"1d\"", Change{Restart: []string{"evidence"}}},
		{"records", "[evidence]", "[records]\nmax = 5\n[evidence]", Change{Restart: []string{"records"}}},
	} {
		t.Run(x.name, func(t *testing.T) {
			if !strings.Contains(before, x.old) {
				t.Fatal("there is nothing to replace")
			}
			got := read(t, before).Compare(read(t, strings.Replace(before, x.old, x.new, 1)))
			if !reflect.DeepEqual(got, x.want) {
				t.Errorf("%+v, want %+v", got, x.want)
			}
		})
	}
}

// No field of the configuration changes unseen.
func TestCompareKnowsEveryField(t *testing.T) {
	// Mailboxes are compared one by one, guarded_domains as a set.
	apart := map[string]bool{"Mailboxes": true, "Lists": true, "GuardedDomains": true}
	for f := range reflect.TypeFor[Config]().Fields() {
		if f.IsExported() && !apart[f.Name] && !comparedField(f.Name) {
			t.Errorf("%s is not compared", f.Name)
		}
	}
}

// comparedField reports whether Compare notices that the field is another.
func comparedField(name string) bool {
	old, next := &Config{}, &Config{}
	v := reflect.ValueOf(next).Elem().FieldByName(name)
	switch v.Kind() {
	case reflect.String:
		v.SetString("x")
	case reflect.Int64:
		v.SetInt(1)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
	case reflect.Struct:
		for f := range v.Type().Fields() {
			if f.Type.Kind() == reflect.String {
				v.FieldByName(f.Name).SetString("x")
			}
			if f.Type.Kind() == reflect.Int64 {
				v.FieldByName(f.Name).SetInt(1)
			}
		}
	}
	c := old.Compare(next)
	return len(c.Restart)+len(c.Keys) == 1
}

// A list that was written again is read again; the file of the config is not.
func TestReread(t *testing.T) {
	dir := t.TempDir()
	path, senders := filepath.Join(dir, "stile.toml"), filepath.Join(dir, "shopping.senders")
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(path, before+"senders_file = \"shopping.senders\"\n")
	write(senders, "aunt@example.org\n")
	c, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if want := []List{{senders, Look(senders)}}; !reflect.DeepEqual(c.Lists, want) {
		t.Fatalf("the lists are %+v, want %+v", c.Lists, want)
	}
	write(path, "no config any more")
	write(senders, "aunt@example.org\nuncle@example.org\n")
	if Look(senders) == c.Lists[0].State {
		t.Error("the change does not show")
	}
	next, err := c.Reread()
	if err != nil {
		t.Fatal(err)
	}
	want := Change{Mailboxes: []MailboxChange{{ID: "post", SendersAdded: 1}}}
	if got := c.Compare(next); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	write(senders, "aunt@example.org\nunc")
	if c, err := next.Reread(); err == nil || c != nil {
		t.Error("half an address was read")
	}
	os.Remove(senders)
	if c, err := next.Reread(); err == nil || c != nil {
		t.Error("a file that is gone was read")
	}
	if Look(senders) != (FileState{}) {
		t.Error("a file that is gone has a state")
	}
}
