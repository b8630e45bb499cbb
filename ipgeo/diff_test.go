package ipgeo

import (
	"context"
	"errors"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"quadrille/internal/must"
)

func TestDiff(t *testing.T) {
	_, a, _, _ := built(t, rngs("8.0.0.0-8.0.0.99 AA", "8.0.1.0-8.0.1.9 BB", "9.0.0.0-9.0.0.3 CC",
		"2400::-2400:0:0:3:ffff:ffff:ffff:ffff AA"), BuildOptions{})
	_, b, _, _ := built(t, rngs("8.0.0.50-8.0.0.109 AA", "8.0.1.0-8.0.1.4 BB", "8.0.1.5-8.0.1.9 CC",
		"2400::-2400::7fff:ffff:ffff:ffff BB"), BuildOptions{})
	got, err := Diff(t.Context(), a, b, DiffOptions{Examples: 2})
	must.Do(t, err)
	addr := netip.MustParseAddr
	country := func(c string) []byte {
		return []byte(`"country":{"iso_code":"` + c + `","names":{"en":"Land of ` + c + `"}}`)
	}
	want := DiffStats{
		OldRows: 4, NewRows: 4,
		Added: Extent{10, 0}, Removed: Extent{54, 3.5}, Changed: Extent{5, 0.5}, ChangedCountry: Extent{5, 0.5}, Same: Extent{55, 0},
		Examples: []DiffExample{
			{DiffRemoved, addr("8.0.0.0"), addr("8.0.0.49"), country("AA"), nil},
			{DiffAdded, addr("8.0.0.100"), addr("8.0.0.109"), nil, country("AA")},
			{DiffRemoved, addr("2400::8000:0:0:0"), addr("2400::3:ffff:ffff:ffff:ffff"), country("AA"), nil},
			{DiffChanged, addr("2400::"), addr("2400::7fff:ffff:ffff:ffff"), country("AA"), country("BB")},
		},
	}
	if d := cmp.Diff(want, got, cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); d != "" {
		t.Error(d)
	}
	if v4, v6 := got.Share(got.Removed); v4 != 54.0/124 || v6 != 0.875 {
		t.Error(v4, v6)
	}
	if v4, v6 := new(DiffStats).Share(Extent{}); v4 != 0 || v6 != 0 {
		t.Error(v4, v6)
	}
	if got, err = Diff(t.Context(), a, b, DiffOptions{Examples: -1}); err != nil || len(got.Examples) != 0 {
		t.Error(err, got.Examples)
	}
}

func TestDiffFails(t *testing.T) {
	_, good, _, _ := built(t, rngs("8.0.0.0-8.0.0.99 AA"), BuildOptions{})
	f, bad, _, _ := built(t, rngs("8.0.0.0-8.0.0.99 AA"), BuildOptions{})
	f.fail = errors.New("disk on fire")
	for _, p := range [][2]*Reader{{good, bad}, {bad, good}} {
		if _, err := Diff(t.Context(), p[0], p[1], DiffOptions{}); !errors.Is(err, f.fail) {
			t.Error(err)
		}
	}
}

// Diff counts the same as a comparison of every address. Here all addresses lie in two blocks of a
// few hundred.
func TestDiffProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		records := []Record{country("AA"), country("BB"), {Country: Country{ISOCode: "AA"}}}
		build := func() *Reader {
			var ranges []Range
			for range rapid.IntRange(0, 8).Draw(t, "ranges") {
				v4 := rapid.Bool().Draw(t, "v4")
				base := netip.MustParseAddr("2400::ffff:ffff:ffff:ff80")
				if v4 {
					base = netip.MustParseAddr("8.0.0.0")
				}
				first := addSaturated(v4, numberOf(base), rapid.Int64Range(0, 250).Draw(t, "first"))
				last := addSaturated(v4, first, rapid.Int64Range(0, 60).Draw(t, "width"))
				ranges = append(ranges, Range{
					First:  addrOf(v4, first),
					Last:   addrOf(v4, last),
					Record: records[rapid.IntRange(0, 2).Draw(t, "record")],
				})
			}
			f := &fakeStore{}
			meta, _, err := Build(context.Background(), f, seqOf(ranges), BuildOptions{})
			must.Do(t, err)
			r, err := Open(context.Background(), f, meta)
			must.Do(t, err)
			return r
		}
		a, b := build(), build()
		got, err := Diff(context.Background(), a, b, DiffOptions{})
		must.Do(t, err)
		var want DiffStats
		var x, y Result
		for _, base := range []string{"8.0.0.0", "2400::ffff:ffff:ffff:ff80"} {
			at := netip.MustParseAddr(base)
			for range 350 {
				e, f := a.Lookup(context.Background(), at, &x), b.Lookup(context.Background(), at, &y)
				n := numberOf(at)
				switch {
				case e != nil && f != nil:
				case e != nil:
					want.Added.add(at.Is4(), n, n)
				case f != nil:
					want.Removed.add(at.Is4(), n, n)
				case string(x.CountryJSON()) == string(y.CountryJSON()):
					want.Same.add(at.Is4(), n, n)
				default:
					want.Changed.add(at.Is4(), n, n)
					if x.Country != y.Country {
						want.ChangedCountry.add(at.Is4(), n, n)
					}
				}
				at = at.Next()
			}
		}
		near := cmp.Comparer(func(a, b float64) bool { return a-b < 1e-20 && b-a < 1e-20 })
		for _, p := range [][2]Extent{
			{want.Added, got.Added},
			{want.Removed, got.Removed},
			{want.Changed, got.Changed},
			{want.Same, got.Same},
			{want.ChangedCountry, got.ChangedCountry},
		} {
			if d := cmp.Diff(p[0], p[1], near); d != "" {
				t.Fatal(d, want, got)
			}
		}
	})
}
