package ipgeo

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"testing"

	"pgregory.net/rapid"

	"quadrille/internal/must"
)

// reference answers by scanning all ranges: slow, but obviously right.
type reference []Range

// at returns the range that answers for addr, which is not reserved, or nil.
func (ref reference) at(addr netip.Addr) *Range {
	var best *Range
	for i := range ref {
		r := &ref[i]
		if r.First.Is4() != addr.Is4() || addr.Less(r.First) || r.Last.Less(addr) {
			continue
		}
		if best == nil || r.Source < best.Source || r.Source == best.Source && width(r).less(width(best)) {
			best = r // of equal ones, the first given stays
		}
	}
	return best
}

func width(r *Range) u128 { return numberOf(r.Last).sub(numberOf(r.First)) }

// compare looks addr up in both and reports a difference.
func compare(ctx context.Context, r *Reader, at func(netip.Addr) *Range, addr netip.Addr, res *Result) error {
	err := r.Lookup(ctx, addr, res)
	asked := resolve(addr)
	if res.Addr != asked {
		return fmt.Errorf("%s: looked up %s, want %s", addr, res.Addr, asked)
	}
	if b, ok := SpecialBlockOf(asked); ok && !b.Global {
		if !errors.Is(err, ErrReserved) {
			return fmt.Errorf("%s: %w, want ErrReserved", addr, err)
		}
		return nil
	}
	want := at(asked)
	if want == nil {
		if !errors.Is(err, ErrNotFound) {
			return fmt.Errorf("%s: %w in %s–%s, want ErrNotFound", addr, err, res.First, res.Last)
		}
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s: %w, want %s", addr, err, want.Record.Country.ISOCode)
	}
	if res.Country != want.Record.Country.ISOCode {
		return fmt.Errorf("%s is in %s, want %s", addr, res.Country, want.Record.Country.ISOCode)
	}
	return nil
}

// maximal checks the bounds and the network of a result: all their addresses have the same answer,
// the network lies within the bounds, and neither could be larger.
func maximal(at func(netip.Addr) *Range, res *Result) error {
	same := func(a netip.Addr) bool {
		if b, ok := SpecialBlockOf(a); !a.IsValid() || resolve(a) != a || ok && !b.Global {
			return false
		}
		w := at(a)
		return w != nil && w.Record.Country.ISOCode == res.Country
	}
	inside := func(a netip.Addr) bool { return !a.Less(res.First) && !res.Last.Less(a) }
	if !inside(res.Addr) || !same(res.First) || !same(res.Last) {
		return fmt.Errorf("%s: bounds %s–%s answer otherwise", res.Addr, res.First, res.Last)
	}
	if same(res.First.Prev()) || same(res.Last.Next()) {
		return fmt.Errorf("%s: bounds %s–%s stop where the answer goes on", res.Addr, res.First, res.Last)
	}
	n := res.Network
	if n != n.Masked() || !n.Contains(res.Addr) || !inside(n.Addr()) || !inside(lastAddr(n)) {
		return fmt.Errorf("%s: network %s is not inside %s–%s", res.Addr, n, res.First, res.Last)
	}
	if n.Bits() > 0 {
		wider, _ := n.Addr().Prefix(n.Bits() - 1)
		if inside(wider.Addr()) && inside(lastAddr(wider)) {
			return fmt.Errorf("%s: network %s, but %s is inside %s–%s too", res.Addr, n, wider, res.First, res.Last)
		}
	}
	return nil
}

// drawRanges draws ranges that overlap in every way: nested, crossing, equal,
// adjacent, one address, everything.
func drawRanges(t *rapid.T) []Range {
	codes := rapid.SampledFrom([]string{"AA", "BB", "CC"})
	var out []Range
	for i := range rapid.IntRange(0, 12).Draw(t, "ranges") {
		v4 := rapid.Bool().Draw(t, "v4")
		// A base in few places makes overlaps likely.
		bases := []string{"9.255.255.0", "100.64.0.0", "255.255.255.255", "0.0.0.0", "192.0.0.0"}
		if !v4 {
			bases = []string{"2001:1ff:ffff:ffff:ffff:ffff:ffff:fff0", "::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
				"2620:4f:7fff:ffff:ffff:ffff:ffff:fff0", "2003::", "fbff:ffff:ffff:ffff:ffff:ffff:ffff:fff0"}
		}
		base := numberOf(netip.MustParseAddr(bases[rapid.IntRange(0, len(bases)-1).Draw(t, "base")]))
		first := addSaturated(v4, base, rapid.Int64Range(-40, 40).Draw(t, "offset"))
		last := addSaturated(v4, first, rapid.SampledFrom([]int64{0, 1, 2, 7, 15, 16, 31, 300, 1 << 30}).Draw(t, "width"))
		if i > 0 && rapid.IntRange(0, 5).Draw(t, "again") == 0 {
			r := out[rapid.IntRange(0, i-1).Draw(t, "of")]
			v4, first, last = r.First.Is4(), numberOf(r.First), numberOf(r.Last)
		}
		if rapid.IntRange(0, 20).Draw(t, "wide") == 0 {
			first, last = u128{}, addSaturated(v4, maxU128, 0)
		}
		out = append(out, Range{
			First: addrOf(v4, first), Last: addrOf(v4, last),
			Source: rapid.Uint16Range(0, 1).Draw(t, "source"), Record: country(codes.Draw(t, "country")),
		})
	}
	return out
}

// addSaturated adds d to a and stays within the address space.
func addSaturated(v4 bool, a u128, d int64) u128 {
	top := maxU128
	if v4 {
		top = u128{lo: 1<<32 - 1}
	}
	if top.less(a) {
		a = top
	}
	for ; d < 0 && a != (u128{}); d++ {
		a = a.dec()
	}
	if d > 0 {
		room := top.sub(a)
		if step := (u128{lo: uint64(d)}); !room.less(step) {
			lo := a.lo + step.lo
			if lo < a.lo {
				a.hi++
			}
			a.lo = lo
		} else {
			a = top
		}
	}
	return a
}

// drawBudget draws ample memory or next to none. With little memory, records travel with their
// ranges, answers are not cached, and nested ranges are on disk.
func drawBudget(t *rapid.T) budget {
	if rapid.Bool().Draw(t, "ample") {
		return shares(0)
	}
	return budget{
		records: rapid.SampledFrom([]int64{0, 1 << 21}).Draw(t, "for records"),
		answers: rapid.SampledFrom([]int64{0, 1 << 10}).Draw(t, "for answers"),
		nested:  rapid.Int64Range(0, 2000).Draw(t, "for nested"),
	}
}

// Ranges of every kind give the same answers as a scan of all: at each end of each range and of
// each nearby special block, one before and one after.
func TestLookupAgainstReference(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		ranges := drawRanges(t)
		f := &fakeStore{}
		meta, stats, err := build(context.Background(), f, seqOf(ranges), BuildOptions{TempDir: dir}, drawBudget(t))
		must.Do(t, err)
		if stats.Ranges != int64(len(ranges)) || stats.Bad != 0 {
			t.Fatalf("%+v of %d ranges", stats, len(ranges))
		}
		r, err := Open(context.Background(), f, meta)
		must.Do(t, err)
		probes := []netip.Addr{
			drawAddr(t, true, "any"), drawAddr(t, false, "any"),
			netip.MustParseAddr("0.0.0.0"), netip.MustParseAddr("255.255.255.255"), netip.MustParseAddr("1.0.0.0"),
			netip.MustParseAddr("::"), netip.MustParseAddr("::2"), netip.MustParseAddr("2001:200::"), netip.MustParseAddr("192.0.0.9"),
		}
		for _, r := range ranges {
			probes = append(probes, r.First, r.Last, r.First.Prev(), r.Last.Next())
		}
		var res Result
		for _, a := range probes {
			if !a.IsValid() {
				continue
			}
			must.Do(t, compare(context.Background(), r, reference(ranges).at, a, &res))
			if res.Network.IsValid() {
				must.Do(t, maximal(reference(ranges).at, &res))
			}
			// The test also checks every address that embeds it.
			if a.Is4() {
				b := a.As4()
				for _, carrier := range []netip.Addr{
					netip.AddrFrom16(a.As16()),
					netip.AddrFrom16([16]byte{0x20, 0x02, b[0], b[1], b[2], b[3], 9, 9}),
					netip.AddrFrom16([16]byte{0x20, 0x01, 0, 0, 9, 9, 9, 9, 9, 9, 9, 9, ^b[0], ^b[1], ^b[2], ^b[3]}),
				} {
					must.Do(t, compare(context.Background(), r, reference(ranges).at, carrier, &res))
				}
			}
		}
	})
}

// The order of disjoint ranges in the input does not change the stored bytes.
func TestBuildOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var ranges []Range
		at := u128{hi: 0x2400 << 48}
		for i := range rapid.IntRange(1, 30).Draw(t, "ranges") {
			first := addSaturated(false, at, rapid.Int64Range(0, 3).Draw(t, "gap"))
			last := addSaturated(false, first, rapid.Int64Range(0, 5).Draw(t, "width"))
			at = last.inc()
			ranges = append(ranges, Range{First: addrOf(false, first), Last: addrOf(false, last), Record: country([]string{"AA", "BB"}[i%2])})
		}
		var a, b fakeStore
		if _, _, err := Build(context.Background(), &a, seqOf(ranges), BuildOptions{}); err != nil {
			t.Fatal(err)
		}
		if _, _, err := Build(context.Background(), &b, seqOf(rapid.Permutation(ranges).Draw(t, "order")), BuildOptions{}); err != nil {
			t.Fatal(err)
		}
		if fmt.Sprint(a.keys, a.values) != fmt.Sprint(b.keys, b.values) {
			t.Fatal("rows differ")
		}
	})
}
