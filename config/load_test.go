package config

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"filippo.io/age"

	"stile/verdict"
)

var update = flag.Bool("update", false, "write the answers of testdata anew")

// Each file of testdata/bad has one thing wrong (but for several.toml), and the
// answer stands beside it.
func TestBadConfigs(t *testing.T) {
	files, err := filepath.Glob("testdata/bad/*.toml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no bad configs: %v", err)
	}
	here, err := filepath.Abs("testdata/bad")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".toml"), func(t *testing.T) {
			c, err := Load(file)
			if err == nil {
				t.Fatal("it was loaded")
			}
			if c != nil {
				t.Error("a config came with the error")
			}
			var got strings.Builder
			for _, e := range list(t, err) {
				if e.Line == 0 {
					t.Errorf("no line: %v", e)
				}
				name := *e
				name.File = filepath.Base(e.File)
				name.Text = strings.ReplaceAll(e.Text, here+"/", "")
				fmt.Fprintf(&got, "%s: %s\n", name.Where(), name.Text)
			}
			answer := strings.TrimSuffix(file, ".toml") + ".want"
			if *update {
				if err := os.WriteFile(answer, []byte(got.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(answer)
			if err != nil {
				t.Fatal(err)
			}
			if got.String() != string(want) {
				t.Errorf("got\n%swant\n%s", got.String(), want)
			}
		})
	}
}

// list takes a joined error apart; every one of it must be an Error.
func list(t *testing.T, err error) []*Error {
	t.Helper()
	parts := []error{err}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		parts = joined.Unwrap()
	}
	var all []*Error
	for _, p := range parts {
		var e *Error
		if !errors.As(p, &e) {
			t.Fatalf("%T is no *Error: %v", p, p)
		}
		all = append(all, e)
	}
	return all
}

func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestWholeConfig(t *testing.T) {
	c, err := Load("testdata/whole.toml")
	if err != nil {
		t.Fatal(err)
	}
	if want := (Endpoint{"tcp", "127.0.0.1:8891"}); c.Listen != want {
		t.Errorf("Listen = %v, want %v", c.Listen, want)
	}
	here, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		name      string
		got, want any
	}{
		{"Metrics", c.Metrics, ""},
		{"Hostname", c.Hostname, "mx.estate.example"},
		{"DNS", c.DNS, []string{"192.0.2.53:53", "[2001:db8::53]:53"}},
		{"Store", c.Store, "sqlite:" + filepath.Join(here, "quarantine.db")},
		{"SealKey", c.SealKey, "/etc/stile/other.key"},
		{"RecipientDelimiter", c.RecipientDelimiter, "+-"},
		{"GuardedDomains", c.GuardedDomains, []string{"agents.example", "estate.example"}},
		{"MaxMessage", c.MaxMessage, int64(10 << 20)},
		{"AuthservID", c.AuthservID, "Auth.estate.example"},
		{"Evidence", c.Evidence, Evidence{Dir: "/var/lib/stile/evidence", Keep: 90 * 24 * time.Hour, MaxBytes: 2 << 30, None: true}},
		{"Records", c.Records, Records{Keep: 30 * 24 * time.Hour, Max: 5000}},
		{"Mailboxes", len(c.Mailboxes), 2},
		{"Address", c.Mailboxes[0].Address, "Shopping@estate.example"},
		{"Aliases", c.Mailboxes[0].Aliases, []string{"shop@estate.example"}},
		{"AlsoAddressed", c.Mailboxes[0].AlsoAddressed, []string{"me@elsewhere.example"}},
		{"Senders", c.Mailboxes[0].Senders, []string{"Friend@example.org", "sister@example.net", "brother#1@example.net"}},
		{"Addressed", c.Mailboxes[0].Policy().Addressed, verdict.AddressedStrict},
		{"MaxAge", c.Mailboxes[0].Policy().MaxAge, 3 * 24 * time.Hour},
		{"AllowAutomatic", c.Mailboxes[0].Policy().AllowAutomatic, true},
		{"RetryWindow", c.Mailboxes[0].Policy().RetryWindow, 8 * time.Hour},
		{"Reject", c.Mailboxes[0].Reject, true},
		{"Body", c.Mailboxes[0].Body, false},
		{"BodyLimit", c.Mailboxes[0].BodyLimit, int64(64 << 10)},
		{"ID", c.Mailboxes[1].ID, "second"},
		{"default Addressed", c.Mailboxes[1].Policy().Addressed, verdict.AddressedSigned},
		{"default MaxAge", c.Mailboxes[1].Policy().MaxAge, 7 * 24 * time.Hour},
		{"default RetryWindow", c.Mailboxes[1].Policy().RetryWindow, 4 * time.Hour},
		{"default Body", c.Mailboxes[1].Body, false},
		{"default BodyLimit", c.Mailboxes[1].BodyLimit, int64(1 << 20)},
		{"default Reject", c.Mailboxes[1].Reject, false},
		{"default AllowAutomatic", c.Mailboxes[1].Policy().AllowAutomatic, false},
	} {
		if !reflect.DeepEqual(x.got, x.want) {
			t.Errorf("%s = %#v, want %#v", x.name, x.got, x.want)
		}
	}
}

const least = `[evidence]
none = true
[[mailbox]]
id = "shopping"
address = "shopping@estate.example"
senders = ["friend@example.org"]
`

func TestDefaults(t *testing.T) {
	c, err := Load(write(t, "stile.toml", least))
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		name      string
		got, want any
	}{
		{"Listen", c.Listen, Endpoint{"unix", "/var/spool/postfix/stile/stile.sock"}},
		{"Metrics", c.Metrics, "127.0.0.1:9891"},
		{"Hostname", c.Hostname, systemName()},
		{"DNS", len(c.DNS), 0},
		{"Store", c.Store, "sqlite:/var/lib/stile/quarantine.db"},
		{"SealKey", c.SealKey, "/etc/stile/seal.key"},
		{"RecipientDelimiter", c.RecipientDelimiter, "+"},
		{"MaxMessage", c.MaxMessage, int64(DefaultMaxMessage)},
		{"Records", c.Records, Records{Keep: 90 * 24 * time.Hour, Max: 1_000_000}},
		{"GuardedDomains", len(c.GuardedDomains), 0},
		{"AuthservID", c.AuthservID, ""},
	} {
		if !reflect.DeepEqual(x.got, x.want) {
			t.Errorf("%s = %#v, want %#v", x.name, x.got, x.want)
		}
	}
}

// Where all refused mail is rejected, nothing is taken and not kept.
func TestRejectKeepsNothing(t *testing.T) {
	text := strings.TrimPrefix(least, "[evidence]\nnone = true\n") + "refused = \"reject\"\n"
	if _, err := Load(write(t, "stile.toml", text)); err != nil {
		t.Error(err)
	}
	second := strings.ReplaceAll(strings.TrimPrefix(least, "[evidence]\nnone = true\n"), "shopping", "second")
	if _, err := Load(write(t, "stile.toml", text+second)); err == nil {
		t.Error("one mailbox diverts, and nothing says that it keeps nothing")
	}
}

// Mail may be replaced where its original is kept, and the limits of that are
// inclusive.
func TestBody(t *testing.T) {
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]int64{"24KiB": 24 << 10, "1MiB": 1 << 20, "16MiB": 16 << 20} {
		path := write(t, "stile.toml", strings.Replace(least, "none = true", fmt.Sprintf("recipients = [%q]", identity.Recipient()), 1)+
			"render = \"body\"\nbody_limit = \""+text+"\"\n")
		c, err := Load(path)
		if err != nil {
			t.Fatal(err)
		}
		if m := c.Mailboxes[0]; !m.Body || m.BodyLimit != want {
			t.Errorf("%s: Body %v, BodyLimit %d", text, m.Body, m.BodyLimit)
		}
	}
}

// With recipients there are originals, and the directory may be given from the
// config's own folder.
func TestEvidence(t *testing.T) {
	path := write(t, "stile.toml", strings.Replace(least, "none = true", `recipients = [
  "%s",
]
dir = "evidence"
keep = "30d"
max_bytes = "1GiB"`, 1))
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, fmt.Appendf(nil, string(text), identity.Recipient()), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	want := Evidence{
		Recipients: []age.Recipient{identity.Recipient()}, Dir: filepath.Join(filepath.Dir(path), "evidence"),
		Keep: 30 * 24 * time.Hour, MaxBytes: 1 << 30,
	}
	if !reflect.DeepEqual(c.Evidence, want) {
		t.Errorf("Evidence = %+v, want %+v", c.Evidence, want)
	}
	if all := c.Warnings(); len(all) != 1 || all[0].Line != 2 || !strings.Contains(all[0].Text, "evidence.max_bytes") {
		t.Errorf("the warnings are %v", all)
	}
}

// What the sample shows as a default is what Load takes for one, and it loads
// as it is on a host where none of its paths exist.
func TestDescribeLoads(t *testing.T) {
	c, err := Load(write(t, "stile.toml", Describe()))
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Mailboxes) != 1 || c.Mailboxes[0].ID != "shopping" || !c.Evidence.None {
		t.Errorf("the sample is not what it shows: %+v", c)
	}
	if m, _ := c.Resolve("shopping+x@[192.0.2.1]"); m != c.Mailboxes[0] {
		t.Error("the sample's same_domain does not hold")
	}
}

// Every key of the sample that is commented out is one that Load knows.
func TestDescribeNamesEveryKey(t *testing.T) {
	lines := strings.Split(Describe(), "\n")
	for _, keys := range [][]key{topKeys, evidenceKeys, digestKeys, recordKeys, mailboxKeys} {
		for _, k := range keys {
			if k.set == nil || k.kind == "" {
				t.Errorf("%s: the key has no kind or no setter", k.name)
			}
			found := false
			for _, l := range lines {
				l = strings.TrimPrefix(l, "# ")
				found = found || strings.HasPrefix(l, k.name+" = ") || l == "["+k.name+"]" || l == "[["+k.name+"]]"
			}
			if !found {
				t.Errorf("%s is not in the sample", k.name)
			}
		}
	}
}

// The commented keys at their defaults load too: none of them is refused for
// standing there.
func TestDefaultsWrittenOut(t *testing.T) {
	var b strings.Builder
	for _, section := range []struct {
		head string
		keys []key
	}{{"", topKeys}, {"[evidence]", evidenceKeys}, {"[digest]", digestKeys}, {"[records]", recordKeys}, {"[[mailbox]]", mailboxKeys}} {
		b.WriteString(section.head + "\n")
		for _, k := range section.keys {
			value := k.def
			switch k.name {
			case "id", "address", "senders", "none":
				value = k.show
			}
			if value != "" && value != "{}" {
				b.WriteString(k.name + " = " + value + "\n")
			}
		}
	}
	if _, err := Load(write(t, "stile.toml", b.String())); err != nil {
		t.Errorf("%v in\n%s", err, b.String())
	}
}

func TestUnreadable(t *testing.T) {
	dir := t.TempDir()
	long := write(t, "stile.toml", "#"+strings.Repeat("x", maxConfig))
	for _, path := range []string{dir, filepath.Join(dir, "absent"), long} {
		_, err := Load(path)
		var e *Error
		if !errors.As(err, &e) || e.File != path {
			t.Errorf("Load(%s) = %v, want an Error of that file", path, err)
		}
	}
	list := write(t, "senders", "friend@example.org\n"+strings.Repeat("#\n", maxList/2))
	if _, err := Load(write(t, "stile.toml", least+"senders_file = \""+list+"\"\n")); err == nil {
		t.Error("a list of over 16 MiB was taken")
	}
}

func TestObserveUntil(t *testing.T) {
	day := time.Now().AddDate(0, 0, 7).Format(time.DateOnly)
	_, err := Load(write(t, "stile.toml", least+"observe_until = "+day+"\n"))
	if all := list(t, err); len(all) != 1 || all[0].Line != 7 {
		t.Errorf("got %v, want one error on line 7", err)
	}
}

func TestUnits(t *testing.T) {
	for in, want := range map[string]time.Duration{
		"30s": 30 * time.Second, "5m": 5 * time.Minute, "4h": 4 * time.Hour, "7d": 7 * 24 * time.Hour, "2w": 14 * 24 * time.Hour,
		"": 0, "d": 0, "7": 0, "7D": 0, "-7d": 0, "+7d": 0, "7.5d": 0, "1_0d": 0, " 7d": 0, "7d ": 0, "7 d": 0, "0d": 0, "1h30m": 0, "99999999999999999999d": 0, "36501d": 0,
	} {
		if got, ok := duration(in); ok != (want != 0) || ok && got != want {
			t.Errorf("duration(%q) = %v, %v, want %v", in, got, ok, want)
		}
	}
	for in, want := range map[string]int64{
		"1B": 1, "1KiB": 1 << 10, "50MiB": 50 << 20, "2GiB": 2 << 30, "1TiB": 1 << 40, "1024TiB": 1 << 50,
		"": 0, "MiB": 0, "50": 0, "50MB": 0, "50mib": 0, "-1MiB": 0, "0MiB": 0, "1.5GiB": 0, "1025TiB": 0, "0x1MiB": 0,
	} {
		if got, ok := size(in); ok != (want != 0) || ok && got != want {
			t.Errorf("size(%q) = %v, %v, want %v", in, got, ok, want)
		}
	}
}
