package ipgeo

import (
	"errors"
	"net/netip"
	"testing"

	"pgregory.net/rapid"
)

func TestSpecial(t *testing.T) {
	for _, tc := range []struct {
		addr, prefix string // prefix "" for none
		global       bool
	}{
		{"0.0.0.0", "0.0.0.0/32", false},
		{"0.0.0.1", "0.0.0.0/8", false},
		{"1.0.0.0", "", false},
		{"9.255.255.255", "", false},
		{"10.0.0.0", "10.0.0.0/8", false},
		{"11.0.0.0", "", false},
		{"100.63.255.255", "", false},
		{"100.64.0.0", "100.64.0.0/10", false},
		{"100.127.255.255", "100.64.0.0/10", false},
		{"100.128.0.0", "", false},
		{"127.0.0.1", "127.0.0.0/8", false},
		{"169.254.1.1", "169.254.0.0/16", false},
		{"172.15.255.255", "", false},
		{"172.31.255.255", "172.16.0.0/12", false},
		{"172.32.0.0", "", false},
		{"192.0.0.1", "192.0.0.0/29", false},
		{"192.0.0.9", "192.0.0.9/32", true},
		{"192.0.0.11", "192.0.0.0/24", false},
		{"192.0.2.1", "192.0.2.0/24", false},
		{"192.31.196.1", "192.31.196.0/24", true},
		{"192.88.99.2", "192.88.99.2/32", false},
		{"192.88.99.3", "192.88.99.0/24", false},
		{"192.168.0.1", "192.168.0.0/16", false},
		{"192.175.48.1", "192.175.48.0/24", true},
		{"198.17.255.255", "", false},
		{"198.19.255.255", "198.18.0.0/15", false},
		{"203.0.113.7", "203.0.113.0/24", false},
		{"223.255.255.255", "", false},
		{"224.0.0.1", "224.0.0.0/4", false},
		{"239.255.255.255", "224.0.0.0/4", false},
		{"240.0.0.0", "240.0.0.0/4", false},
		{"255.255.255.255", "255.255.255.255/32", false},
		{"::", "::/128", false},
		{"::1", "::1/128", false},
		{"::2", "", false},
		{"64:ff9b::1", "64:ff9b::/96", true},
		{"64:ff9b:1::1", "64:ff9b:1::/48", false},
		{"100::1", "100::/64", false},
		{"100:0:0:1::1", "100:0:0:1::/64", false},
		{"2001:1::2", "2001:1::2/128", true},
		{"2001:1::4", "2001::/23", false},
		{"2001:1ff:ffff::", "2001::/23", false},
		{"2001:200::", "", false},
		{"2001:20::1", "2001:20::/28", true},
		{"2001:db8:1::1", "2001:db8::/32", false},
		{"2001:db9::", "", false},
		{"2620:4f:8000::1", "2620:4f:8000::/48", true},
		{"3fff:fff::1", "3fff::/20", false},
		{"3fff:1000::", "", false},
		{"5f00::1", "5f00::/16", false},
		{"fc00::1", "fc00::/7", false},
		{"fdff::1", "fc00::/7", false},
		{"fe80::1%eth0", "fe80::/10", false},
		{"fec0::1", "fec0::/10", false},
		{"ff02::1", "ff00::/8", false},
		{"2606:4700::1111", "", false},
	} {
		b, ok := SpecialBlockOf(netip.MustParseAddr(tc.addr))
		if !ok {
			if tc.prefix != "" {
				t.Errorf("%s is not special, want %s", tc.addr, tc.prefix)
			}
			continue
		}
		if b.Prefix.String() != tc.prefix || b.Global != tc.global || b.Name == "" || b.RFC == "" {
			t.Errorf("%s is in %+v, want %s, %v", tc.addr, b, tc.prefix, tc.global)
		}
	}
	if b, ok := SpecialBlockOf(netip.Addr{}); ok {
		t.Errorf("the zero Addr is in %v", b)
	}
}

// TestSpecialAgainstRegistry tests that special finds the same block as a scan of the whole
// registry.
func TestSpecialAgainstRegistry(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := drawAddr(t, rapid.Bool().Draw(t, "v4"), "a")
		if rapid.Bool().Draw(t, "near") {
			p := netip.MustParsePrefix(registry[rapid.IntRange(0, len(registry)-1).Draw(t, "block")].prefix)
			a = []netip.Addr{p.Addr(), p.Addr().Prev(), lastAddr(p), lastAddr(p).Next()}[rapid.IntRange(0, 3).Draw(t, "end")]
			if !a.IsValid() {
				t.Skip()
			}
		}
		var want string
		bits := -1
		for _, r := range registry {
			if p := netip.MustParsePrefix(r.prefix); p.Contains(a) && p.Bits() > bits {
				want, bits = r.prefix, p.Bits()
			}
		}
		got := ""
		if b, ok := SpecialBlockOf(a); ok {
			got = b.Prefix.String()
		}
		if got != want {
			t.Fatalf("%s is in %q, want %q", a, got, want)
		}
		// Addresses that the standard library treats as special are refused here.
		std := a.IsPrivate() || a.IsLoopback() || a.IsMulticast() || a.IsLinkLocalUnicast() || a.IsUnspecified()
		if b, ok := SpecialBlockOf(a); std && (!ok || b.Global) {
			t.Fatalf("%s is looked up", a)
		}
	})
}

// unreachable holds an address if and only if a lookup refuses or resolves it.
func TestUnreachable(t *testing.T) {
	for _, v4 := range []bool{true, false} {
		cuts := unreachable(v4)
		in := func(a netip.Addr) bool {
			n := numberOf(a)
			for _, c := range cuts {
				if !n.less(c.first) && !c.last.less(n) {
					return true
				}
			}
			return false
		}
		check := func(a netip.Addr) {
			b, ok := SpecialBlockOf(a)
			if want := resolve(a) != a || ok && !b.Global; a.Is4() == v4 && in(a) != want {
				t.Errorf("%s: unreachable is %v, want %v", a, in(a), want)
			}
		}
		for i, c := range cuts {
			if c.last.less(c.first) || i > 0 && !cuts[i-1].last.inc().less(c.first) {
				t.Errorf("cuts %d and %d are not sorted, disjoint and apart", i-1, i)
			}
			for _, n := range []u128{c.first, c.first.dec(), c.last, c.last.inc()} {
				if !v4 || n.hi == 0 && n.lo < 1<<32 {
					check(addrOf(v4, n))
				}
			}
		}
		rapid.Check(t, func(rt *rapid.T) { check(drawAddr(rt, v4, "a")) })
	}
}

func TestReservedError(t *testing.T) {
	_, r, _, _ := built(t, nil, BuildOptions{})
	for _, tc := range []struct{ addr, block string }{
		{"192.168.1.1", "192.168.0.0/16"},
		{"::ffff:127.0.0.1", "127.0.0.0/8"},
		{"2002:a00:1::1", "10.0.0.0/8"},
		{"2001:0:4136:e378:8000:63bf:3fff:fdd2", "192.0.2.0/24"},
		{"fe80::1%eth0", "fe80::/10"},
	} {
		var res Result
		err := r.Lookup(t.Context(), netip.MustParseAddr(tc.addr), &res)
		var reserved *ReservedError
		if !errors.As(err, &reserved) || !errors.Is(err, ErrReserved) || reserved.Block.Prefix.String() != tc.block {
			t.Errorf("%s: %v, want block %s", tc.addr, err, tc.block)
		}
	}
	err := r.Lookup(t.Context(), netip.MustParseAddr("10.1.2.3"), new(Result))
	if want := "address is in 10.0.0.0/8, Private-Use (RFC 1918), which has no place on the map; ask about a public address"; err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
}
