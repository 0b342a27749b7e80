package main

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// onePost saves each test the making of a key.
var onePost = sync.OnceValues(newPost)

func postOf(t *testing.T) *post {
	t.Helper()
	p, err := onePost()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func drillOf(t *testing.T) *drill {
	t.Helper()
	d, err := newDrill(postOf(t))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// Each check holds of stile as it is.
func TestDrill(t *testing.T) {
	d := drillOf(t)
	for i, c := range checks {
		t.Run(strconv.Itoa(i+1), func(t *testing.T) {
			if err := c.holds(d); err != nil {
				t.Error(err)
			}
		})
	}
}

// breakages are what could be wrong with what the drill tries, and the checks
// that must notice, counted from 1.
var breakages = []struct {
	name   string
	damage func(*bench)
	fails  []int
}{
	{"another message is judged, which is accepted", func(d *bench) {
		raw, err := d.post.sign("example.org", letter{from: "From: " + drillSender, body: "eggs\n"}.raw())
		judge := d.judge
		d.judge = func(string) (judged, error) {
			if err != nil {
				return judged{}, err
			}
			return judge(raw)
		}
	}, []int{2, 3, 4, 5, 7, 8, 9, 11, 12, 14, 15, 16}},
	{"another message is judged, which is refused", func(d *bench) {
		judge := d.judge
		d.judge = func(string) (judged, error) { return judge("Subject: groceries\r\n\r\neggs\r\n") }
	}, []int{1, 2, 3, 4, 5, 7, 9, 12, 13, 14, 15, 16, 17, 18}},
	{"the nonce is fixed", func(d *bench) {
		d.shown(func(text string) string {
			s, _ := takeApart(text)
			return strings.ReplaceAll(text, s.nonce, "0123456789abcdef")
		})
	}, []int{13, 15}},
	{"the nonce is short", func(d *bench) {
		d.shown(func(text string) string {
			s, _ := takeApart(text)
			return strings.ReplaceAll(text, s.nonce, s.nonce[1:])
		})
	}, []int{12, 13, 14, 15}},
	{"no prefix", func(d *bench) {
		d.shown(func(text string) string { return strings.ReplaceAll(text, "\n| ", "\n") })
	}, []int{12, 13, 14, 15}},
	{"no prefix where a line is indented", func(d *bench) {
		d.shown(func(text string) string { return strings.ReplaceAll(text, "\n|  +", "\n +") })
	}, []int{14}},
	{"a line separator as it is", func(d *bench) {
		d.shown(func(text string) string { return strings.ReplaceAll(text, `\u{2028}`, "\u2028") })
	}, []int{14}},
	{"a carriage return as it is", func(d *bench) {
		d.shown(func(text string) string { return strings.ReplaceAll(text, `\u{D}`, "\r") })
	}, []int{14}},
	{"what looks like a marker is left out", func(d *bench) {
		d.shown(func(text string) string { return strings.ReplaceAll(text, "\n| +-- END", "\n| ") })
	}, []int{14, 15}},
	{"a dash is replaced by another", func(d *bench) {
		d.shown(func(text string) string { return strings.ReplaceAll(text, "\u2014", "-") })
	}, []int{14}},
	{"something behind the closing line", func(d *bench) {
		d.shown(func(text string) string { return text + "\n" })
	}, []int{12, 13, 14, 15}},
	{"the HTML is shown", func(d *bench) {
		show := d.show
		d.show = func(j judged) (string, error) {
			text, err := show(j)
			return strings.Replace(text, "\n+-- body not", "\n| "+d.text()+"\n+-- body not", 1), err
		}
	}, []int{12}},
	{"nothing says that a body is not shown", func(d *bench) {
		d.shown(func(text string) string {
			s, _ := takeApart(text)
			return strings.Replace(text, "\n+-- body not shown: no plain-text part - nonce "+s.nonce, "", 1)
		})
	}, []int{12}},
	{"everything is a quote", func(d *bench) {
		d.quoted = func(judged, string) (bool, error) { return true, nil }
	}, []int{17, 18}},
	{"nothing is a quote", func(d *bench) {
		d.quoted = func(judged, string) (bool, error) { return false, nil }
	}, []int{16}},
	{"whatever stands there is a quote", func(d *bench) {
		d.quoted = func(j judged, text string) (bool, error) {
			shown, err := d.show(j)
			return strings.Contains(strings.ReplaceAll(shown, "\n| ", "\n"), strings.TrimSpace(text)), err
		}
	}, []int{18}},
	{"case does not count in a quote", func(d *bench) {
		quoted := d.quoted
		d.quoted = func(j judged, text string) (bool, error) { return quoted(j, strings.ToLower(text)) }
	}, []int{17}},
	{"refused mail is shown", func(d *bench) {
		d.tell = func(judged) (string, error) { return d.raw + d.text(), nil }
	}, []int{10, 11}},
	{"the From of refused mail is shown", func(d *bench) {
		d.tell = func(judged) (string, error) {
			_, from, _ := strings.Cut("\n"+d.raw, "\nFrom:")
			from, _, _ = strings.Cut(from, "\r\n")
			return from, nil
		}
	}, []int{10, 11}},
	{"the Subject of refused mail is shown", func(d *bench) {
		d.tell = func(judged) (string, error) {
			_, subject, _ := strings.Cut(d.raw, "Subject:")
			subject, _, _ = strings.Cut(subject, "\r\n")
			return subject, nil
		}
	}, []int{10}},
	{"the body of refused mail is shown", func(d *bench) {
		d.tell = func(judged) (string, error) { return d.text(), nil }
	}, []int{10}},
}

// bench is a drill that is to be damaged.
type bench struct {
	*drill
	raw string // the message that was judged last
}

// text is the body of the message that was judged last.
func (b *bench) text() string {
	text, err := base64.StdEncoding.DecodeString(strings.ReplaceAll(bodyOf(b.raw), "\r\n", ""))
	if err != nil {
		return bodyOf(b.raw)
	}
	return string(text)
}

// shown changes what is shown.
func (b *bench) shown(change func(string) string) {
	show := b.show
	b.show = func(j judged) (string, error) {
		text, err := show(j)
		return change(text), err
	}
}

// Each check fails where what it looks at is damaged, and no other does.
func TestDrillNotices(t *testing.T) {
	noticed := map[int]bool{6: true} // by TestLengthHolds
	for _, x := range breakages {
		t.Run(x.name, func(t *testing.T) {
			b := &bench{drill: drillOf(t)}
			judge := b.judge
			b.judge = func(raw string) (judged, error) {
				b.raw = raw
				return judge(raw)
			}
			x.damage(b)
			var out, why bytes.Buffer
			a := &app{stdout: &out, stderr: &why}
			if err := b.run(a); err != nil {
				t.Fatal(err)
			}
			var fails []int
			for i, line := range strings.Split(out.String(), "\n")[:len(checks)] {
				if strings.HasPrefix(line, "FAIL  ") {
					fails = append(fails, i+1)
					noticed[i+1] = true
				}
			}
			if !slices.Equal(fails, x.fails) {
				t.Errorf("checks %v fail, want %v:\n%s", fails, x.fails, why.String())
			}
			if want := fmt.Sprintf("\n%d of 18 checks failed\n", len(x.fails)); !strings.HasSuffix(out.String(), want) {
				t.Errorf("the last line is not %q:\n%s", want, out.String())
			}
			if a.code != exitNo {
				t.Errorf("exit %d", a.code)
			}
		})
	}
	for i := range checks {
		if !noticed[i+1] {
			t.Errorf("nothing makes check %d fail", i+1)
		}
	}
}

// The body hash under l= does not hold where what it covers is changed, and
// shows nothing where nothing is appended.
func TestLengthHolds(t *testing.T) {
	p := postOf(t)
	raw, err := p.signLength("example.org", letter{from: "From: " + drillSender, body: "eggs\n"}.raw())
	if err != nil {
		t.Fatal(err)
	}
	without, err := p.sign("example.org", letter{from: "From: " + drillSender, body: "eggs\n"}.raw())
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		raw  string
		want bool
	}{
		{raw + "more\r\n", true},
		{raw, false},
		{without + "more\r\n", false},
		{withBody(raw, "milk\n") + "more\r\n", false},
	} {
		if err := lengthHolds(x.raw); (err == nil) != x.want {
			t.Errorf("%v of %s", err, x.raw)
		}
	}
}

// The library is asked of a signature that holds and of one that does not.
func TestLibraryVerifies(t *testing.T) {
	p := postOf(t)
	raw, err := p.sign("example.org", letter{from: "From: " + drillSender, body: "eggs\n"}.raw())
	if err != nil {
		t.Fatal(err)
	}
	if err := p.verifies(raw); err != nil {
		t.Error(err)
	}
	for _, bad := range []string{withBody(raw, "milk\n"), letter{from: "From: " + drillSender}.raw()} {
		if p.verifies(bad) == nil {
			t.Errorf("it holds: %s", bad)
		}
	}
}
