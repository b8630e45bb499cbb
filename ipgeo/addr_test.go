package ipgeo

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestParseAddr(t *testing.T) {
	for _, tc := range []struct{ in, want string }{
		{"1.2.3.4", "1.2.3.4"},
		{"2001:db8:0:0:0:0:0:1", "2001:db8::1"}, // in Java's form
		{"2001:DB8::1", "2001:db8::1"},
		{"::ffff:1.2.3.4", "::ffff:1.2.3.4"},
		{"fe80::1%eth0", "fe80::1"},
		{"2a00::1%25en0", "2a00::1"},
	} {
		if got, err := ParseAddr(tc.in); err != nil || got.String() != tc.want {
			t.Errorf("ParseAddr(%q) = %v, %v, want %s", tc.in, got, err, tc.want)
		}
	}
	for _, in := range []string{
		"",
		" 1.2.3.4",
		"1.2.3",
		"1.2.3.4/24",
		"01.2.3.4",
		"1.2.3.256",
		"16909060",
		"[::1]",
		"::1%",
		"1.2.3.4%eth0",
		"me",
		"::g",
		strings.Repeat("1", 1000),
	} {
		if got, err := ParseAddr(in); !errors.Is(err, ErrBadAddress) || got.IsValid() {
			t.Errorf("ParseAddr(%q) = %v, %v, want ErrBadAddress", in, got, err)
		} else if len(err.Error()) > 200 {
			t.Errorf("ParseAddr(%.10q…) answers with %d bytes", in, len(err.Error()))
		}
	}
}

func TestResolve(t *testing.T) {
	for _, tc := range []struct{ in, want string }{
		{"1.2.3.4", "1.2.3.4"},
		{"::ffff:1.2.3.4", "1.2.3.4"},
		{"::ffff:1.2.3.4%eth0", "1.2.3.4"},
		{"::fffe:ffff:ffff", "::fffe:ffff:ffff"},
		{"::1:0:0:0", "::1:0:0:0"},
		{"::1.2.3.4", "::1.2.3.4"}, // IPv4-compatible, deprecated in RFC 4291
		{"2002:c000:204::1", "192.0.2.4"},
		{"2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "255.255.255.255"},
		{"2003::", "2003::"},
		{"2001:ffff::", "2001:ffff::"},
		// This is the worked example of RFC 4380: server 65.54.227.120, client 192.0.2.45.
		{"2001:0:4136:e378:8000:63bf:3fff:fdd2", "192.0.2.45"},
		{"2001::", "255.255.255.255"},
		{"2001:1::", "2001:1::"},
		{"64:ff9b::1.2.3.4", "1.2.3.4"}, {"64:ff9b::1:1.2.3.4", "64:ff9b::1:102:304"},
		{"fe80::1%eth0", "fe80::1"},
	} {
		if got := resolve(netip.MustParseAddr(tc.in)); got != netip.MustParseAddr(tc.want) {
			t.Errorf("resolve(%s) = %s, want %s", tc.in, got, tc.want)
		}
	}
}

// drawAddr draws an address. Addresses near the first and the last one of the address space are
// more likely.
func drawAddr(t *rapid.T, v4 bool, name string) netip.Addr {
	n := u128{rapid.Uint64().Draw(t, name+" hi"), rapid.Uint64().Draw(t, name+" lo")}
	shift := rapid.IntRange(0, 127).Draw(t, name+" shift") // from dense to sparse
	n = shiftRight(n, shift)
	if rapid.Bool().Draw(t, name+" high") {
		n = n.not()
	}
	if v4 {
		n = u128{lo: n.lo & (1<<32 - 1)}
	}
	return addrOf(v4, n)
}

func shiftRight(a u128, n int) u128 {
	for range n {
		a = u128{a.hi >> 1, a.lo>>1 | a.hi<<63}
	}
	return a
}

// TestNetworkAgainstTrying tests that network returns the largest network inside a range, by trying
// every length.
func TestNetworkAgainstTrying(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v4 := rapid.Bool().Draw(t, "v4")
		three := []netip.Addr{drawAddr(t, v4, "a"), drawAddr(t, v4, "b"), drawAddr(t, v4, "c")}
		if rapid.Bool().Draw(t, "close") { // all inside one smallish network
			p, _ := three[0].Prefix(three[0].BitLen() - rapid.IntRange(0, 12).Draw(t, "host"))
			lo, hi := prefixBounds(p)
			for i := range three[1:] {
				three[1+i] = []netip.Addr{addrOf(v4, lo), addrOf(v4, hi), three[0]}[rapid.IntRange(0, 2).Draw(t, "end")]
			}
		}
		first, a, last := sort3(three)
		got := network(v4, numberOf(a), numberOf(first), numberOf(last))
		if want := slowNetwork(a, first, last); got != want {
			t.Fatalf("network of %s in %s–%s is %s, want %s", a, first, last, got, want)
		}
	})
}

func sort3(a []netip.Addr) (x, y, z netip.Addr) {
	if a[1].Less(a[0]) {
		a[0], a[1] = a[1], a[0]
	}
	if a[2].Less(a[1]) {
		a[1], a[2] = a[2], a[1]
	}
	if a[1].Less(a[0]) {
		a[0], a[1] = a[1], a[0]
	}
	return a[0], a[1], a[2]
}

// slowNetwork tries every prefix length, the shortest first.
func slowNetwork(a, first, last netip.Addr) netip.Prefix {
	for bits := 0; ; bits++ {
		p, err := a.Prefix(bits)
		if err != nil {
			return netip.Prefix{}
		}
		if !p.Addr().Less(first) && !last.Less(lastAddr(p)) {
			return p
		}
	}
}

func lastAddr(p netip.Prefix) netip.Addr {
	b := p.Masked().Addr().AsSlice()
	for i := p.Bits(); i < len(b)*8; i++ {
		b[i/8] |= 1 << (7 - i%8)
	}
	a, _ := netip.AddrFromSlice(b)
	return a
}

func FuzzAddress(f *testing.F) {
	for _, s := range []string{"1.2.3.4", "::ffff:10.0.0.1", "2002:a00:1::", "2001:0:4136:e378:8000:63bf:3fff:fdd2", "fe80::1%x",
		"::", "ff02::1", "255.255.255.255"} {
		f.Add(s)
	}
	_, r, _, _ := built(f, []Range{
		{First: netip.MustParseAddr("0.0.0.0"), Last: netip.MustParseAddr("255.255.255.255"), Record: country("AA")},
		{First: netip.MustParseAddr("::"), Last: netip.MustParseAddr("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"), Record: country("BB")},
	}, BuildOptions{})
	var res Result
	f.Fuzz(func(t *testing.T, s string) {
		a, err := ParseAddr(s)
		if err != nil {
			if !errors.Is(err, ErrBadAddress) {
				t.Fatal(err)
			}
			return
		}
		err = r.Lookup(t.Context(), a, &res)
		if sp, ok := SpecialBlockOf(res.Addr); ok && !sp.Global {
			if !errors.Is(err, ErrReserved) || res.JSON != nil || res.Network.IsValid() {
				t.Fatalf("%s: %v", s, err)
			}
			return
		}
		if err != nil || !res.Network.Contains(res.Addr) {
			t.Fatalf("%s: %v, %v in %v", s, err, res.Addr, res.Network)
		}
		want := "BB"
		if res.Addr.Is4() {
			want = "AA"
		}
		if res.Country != want {
			t.Fatalf("%s: %s", s, res.Country)
		}
	})
}

func TestAppendNetworkProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := drawAddr(t, rapid.Bool().Draw(t, "v4"), "a")
		p := netip.PrefixFrom(a, rapid.IntRange(0, a.BitLen()).Draw(t, "bits"))
		if got := string(appendNetwork(nil, p)); got != p.String() {
			t.Fatalf("%s, want %s", got, p)
		}
	})
}
