package ipgeo

import (
	"net/netip"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestNetworks(t *testing.T) {
	for _, c := range []struct {
		first, last string
		want        []string
	}{
		{"0.0.0.0", "255.255.255.255", []string{"0.0.0.0/0"}},
		{"::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", []string{"::/0"}},
		{"1.2.3.4", "1.2.3.4", []string{"1.2.3.4/32"}},
		{"1.0.0.1", "1.0.0.6", []string{"1.0.0.1/32", "1.0.0.2/31", "1.0.0.4/31", "1.0.0.6/32"}},
		{"255.255.255.254", "255.255.255.255", []string{"255.255.255.254/31"}},
		{"2001:db8::1", "2001:db8::2", []string{"2001:db8::1/128", "2001:db8::2/128"}},
		{"1.0.0.2", "1.0.0.1", nil},
		{"1.0.0.2", "::1", nil},
	} {
		var got []string
		for p := range Networks(netip.MustParseAddr(c.first), netip.MustParseAddr(c.last)) {
			got = append(got, p.String())
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s to %s: %v, want %v", c.first, c.last, got, c.want)
		}
	}
	for range Networks(netip.Addr{}, netip.Addr{}) {
		t.Error("the zero Addr has a network")
	}
}

// The networks of any range follow each other without a gap, and no two of them form a network: the
// list is the shortest.
func TestNetworksProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v4 := rapid.Bool().Draw(t, "v4")
		draw := func(name string) u128 {
			n := u128{rapid.Uint64().Draw(t, name+" high"), rapid.Uint64().Draw(t, name+" low")}
			if v4 {
				n = u128{lo: n.lo & 0xffffffff}
			}
			return n
		}
		from := draw("from")
		to := draw("to")
		if to.less(from) {
			from, to = to, from
		}
		next := from
		var before netip.Prefix
		for p := range Networks(addrOf(v4, from), addrOf(v4, to)) {
			first, last := prefixBounds(p)
			if first != next || p != p.Masked() {
				t.Fatalf("%s does not begin at %s", p, addrOf(v4, next))
			}
			if before.IsValid() && before.Bits() == p.Bits() && before.Bits() > 0 {
				if parent, _ := before.Addr().Prefix(p.Bits() - 1); parent.Contains(p.Addr()) {
					t.Fatalf("%s and %s are %s", before, p, parent)
				}
			}
			next, before = last.inc(), p
		}
		if next != to.inc() {
			t.Fatalf("ends before %s, not after %s", addrOf(v4, next), addrOf(v4, to))
		}
	})
}
