package e2e

import (
	"strings"
	"testing"

	"stile/tests/rig"
)

// testChunks sends mail by BDAT, in pieces that end anywhere: the same octets,
// the same verdict as by DATA.
func testChunks(t *testing.T) {
	w := begin(t, "")
	good := w.sign(letter(friend, shopping, "groceries", "eggs\r\n.\r\n..\r\nmilk\r\n"), canon("simple/simple"))
	bad := strings.Replace(good, "milk", "ammo", 1)
	for _, size := range []int{1, 40, 333, 1 << 20} {
		r, err := w.dial().SendChunks(friend, shopping, bad, size)
		w.do(err)
		w.discarded(r)
		if r := newest(w.records()); r.Text("reason") != "bad-signature" {
			t.Errorf("pieces of %d: refused for %q, want bad-signature", size, r.Text("reason"))
		}
		w.empty("shopping")
		r, err = w.dial().SendChunks(friend, shopping, good, size)
		w.do(err)
		w.settled(r)
		if got := w.read("shopping", "shopping"); got.body() != "Subject: groceries\neggs\n.\n..\nmilk" {
			t.Errorf("pieces of %d: the fence shows %q", size, got.body())
		}
	}
}

// testEightBit sends bodies of octets over 127, declared (RFC 6152) and not, in a
// charset that is named and in none: they arrive as they were signed, and what
// is no text is shown by its octets.
func testEightBit(t *testing.T) {
	w := begin(t, "")
	for _, parameters := range []string{" BODY=8BITMIME", ""} {
		for _, m := range []struct{ charset, body, shown string }{
			{"; charset=utf-8", "café 🥚\r\n", "café 🥚"},
			{"; charset=iso-8859-1", "caf\xe9 cr\xe8me\r\n", "café crème"},
			{"; charset=utf-8", "caf\xe9\r\n", `caf\x{E9}`},
			{"", "caf\xe9 \x80\xff\r\n", `caf\x{E9} \x{80}\x{FF}`},
		} {
			raw := strings.Replace(letter(friend, shopping, "eight", m.body), "; charset=utf-8", m.charset, 1)
			raw = w.sign(raw, canon("simple/simple"))
			r, err := w.dial().SendWith(parameters, friend, []string{shopping}, raw)
			w.do(err)
			w.settled(r.Data)
			got := w.read("shopping", "shopping")
			if want := "Subject: eight\n" + m.shown; got.body() != want {
				t.Errorf("%q, %q: the fence shows %q, want %q", parameters, m.body, got.body(), want)
			}
			if !strings.HasSuffix(got.raw, "\r\n\r\n"+m.body) {
				t.Errorf("%q, %q: the body is not as it came:\n%q", parameters, m.body, got.raw)
			}
		}
	}
}

// testUTF8 sends mail whose header and body are raw UTF-8, declared (RFC 6531)
// and not: the octets are those that were signed. An address in it that is not
// ASCII is none of the list's.
func testUTF8(t *testing.T) {
	w := begin(t, "")
	send := func(parameters, from, raw string) rig.Reply {
		r, err := w.dial().SendWith(parameters, from, []string{shopping}, raw)
		w.do(err)
		return r.Data
	}
	const text = "grüße 🥚 яйца"
	for _, parameters := range []string{" BODY=8BITMIME SMTPUTF8", " BODY=8BITMIME", ""} {
		raw := w.sign(letter(friend, shopping, text, text+"\r\n"), canon("simple/simple"))
		w.settled(send(parameters, "jürgen@client.example", raw))
		if got := w.read("shopping", "shopping"); got.body() != "Subject: "+text+"\n"+text {
			t.Errorf("%q: the fence shows %q", parameters, got.body())
		}
		for _, from := range []string{"friénd@example.org", "friend@exämple.org", "frіend@example.org"} { // the last: a Cyrillic і
			w.discarded(send(parameters, friend, w.sign(letter(from, shopping, text, text+"\r\n"))))
			if r := newest(w.records()); r.Text("reason") != "from-syntax" {
				t.Errorf("%s: refused for %q, want from-syntax", from, r.Text("reason"))
			}
		}
		w.empty("shopping")
	}
}
