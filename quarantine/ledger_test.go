package quarantine

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

const quota = 40_000 // a quarter is 10,000, a tenth of it 1,000

func drawOriginal(t *rapid.T, kinds ...Kind) Original {
	o := Original{Kind: rapid.SampledFrom(kinds).Draw(t, "kind")}
	if o.Kind == KindClaimed {
		o.AddressHash = fmt.Sprintf("%08x", rapid.IntRange(0, 15).Draw(t, "address"))
	}
	return o
}

// Whatever is asked for, in whatever order, and whatever goes again, what was
// let in is within the quota, and the sums are those of what is there.
func TestLedgerIsWithinItsQuota(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := newLedger(quota)
		type in struct {
			Original
			size int64
		}
		var there []in
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			if len(there) > 0 && rapid.IntRange(0, 3).Draw(t, "remove") == 0 {
				i := rapid.IntRange(0, len(there)-1).Draw(t, "which")
				l.remove(there[i].Original, there[i].size)
				there = append(there[:i], there[i+1:]...)
				continue
			}
			o, size := drawOriginal(t, Kinds...), rapid.Int64Range(1, 5000).Draw(t, "size")
			if l.fits(o, size) {
				l.add(o, size)
				there = append(there, in{o, size})
			}
		}
		again, sum := newLedger(quota), int64(0)
		for _, x := range there {
			again.add(x.Original, x.size)
			sum += x.size
		}
		if sum > quota || l.total() != sum {
			t.Fatalf("%d octets are there, %d are counted, the quota is %d", sum, l.total(), quota)
		}
		if l.common() > quota/2 {
			t.Fatalf("%d octets of the common half of %d", l.common(), quota/2)
		}
		if again.total() != l.total() || again.common() != l.common() || files(again) != files(l) {
			t.Fatalf("counted anew it is %+v, before %+v", again, l)
		}
	})
}

func files(l *ledger) (n int64) {
	for _, f := range l.files {
		n += f
	}
	return n
}

// Strangers send what they want and forge whom they want: accepted mail has its
// quarter, and an address that they do not forge its tenth of the other, unless
// they forge ten.
func TestStrangersLeaveTheReserves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := newLedger(quota)
		for range rapid.IntRange(0, 300).Draw(t, "steps") {
			o, size := drawOriginal(t, KindClaimed, KindOther), rapid.Int64Range(1, 30_000).Draw(t, "size")
			if o.AddressHash >= "00000009" {
				o.AddressHash = "00000000"
			}
			if l.fits(o, size) {
				l.add(o, size)
			}
		}
		if o := (Original{Kind: KindClaimed, AddressHash: "ffffffff"}); !l.fits(o, quota/40) {
			t.Fatalf("no room for a claim of another address: %+v", l)
		}
		for left := int64(quota / 4); left > 0; {
			size := rapid.Int64Range(1, left).Draw(t, "accepted")
			o := Original{Kind: KindAccepted}
			if !l.fits(o, size) {
				t.Fatalf("no room for accepted mail of %d octets: %+v", size, l)
			}
			l.add(o, size)
			left -= size
		}
	})
}

// Each kind stops where its part ends.
func TestParts(t *testing.T) {
	claim := func(n int) Original { return Original{Kind: KindClaimed, AddressHash: fmt.Sprintf("%08x", n)} }
	accepted, other := Original{Kind: KindAccepted}, Original{Kind: KindOther}
	for _, c := range []struct {
		name string
		fill []Original // each as often as it fits, 100 octets at a time, in this order
		want []int64    // octets of each
	}{
		{"other mail has the common half", []Original{other}, []int64{20_000}},
		{"accepted mail has its quarter and the common half", []Original{accepted}, []int64{30_000}},
		{"one address has its tenth and the common half", []Original{claim(1)}, []int64{21_000}},
		{"behind other mail each has its part",
			[]Original{other, accepted, claim(1), claim(2)}, []int64{20_000, 10_000, 1000, 1000}},
		{"the eleventh address finds the quarter full",
			[]Original{other, claim(1), claim(2), claim(3), claim(4), claim(5), claim(6), claim(7), claim(8), claim(9), claim(10), claim(11)},
			[]int64{20_000, 1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000, 0}},
		{"what accepted mail takes of the common half, other mail has not",
			[]Original{accepted, other, claim(1)}, []int64{30_000, 0, 1000}},
	} {
		l := newLedger(quota)
		for i, o := range c.fill {
			n := int64(0)
			for l.fits(o, 100) {
				l.add(o, 100)
				n += 100
			}
			if n != c.want[i] {
				t.Errorf("%s: number %d has %d octets, want %d", c.name, i, n, c.want[i])
			}
		}
	}
}

// A lowered quota removes nothing, lets nothing in that would be over it, and
// holds no reserve up that is not used.
func TestLoweredQuota(t *testing.T) {
	l := newLedger(quota)
	l.add(Original{Kind: KindOther}, 25_000)
	if l.fits(Original{Kind: KindOther}, 1) {
		t.Error("the common half is over full and takes more")
	}
	if !l.fits(Original{Kind: KindAccepted}, 10_000) {
		t.Error("accepted mail does not get its quarter")
	}
	l.add(Original{Kind: KindOther}, 14_000)
	if l.fits(Original{Kind: KindAccepted}, 1001) {
		t.Error("more was let in than the quota")
	}
}
