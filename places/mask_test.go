package places

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"quadrille/cellstore"
	"quadrille/internal/must"
	"quadrille/internal/testrace"
	"quadrille/quadkey"

	"pgregory.net/rapid"
)

// The result of meets equals that of examining every block.
func TestMaskMeets(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(1, 20_000).Draw(rt, "blocks")
		x := &index{count: uint64(n) * blockPlaces, blocks: make([]block, n)}
		m := mask{words: make([]uint64, (n+63)/64)}
		for range rapid.IntRange(0, 5).Draw(rt, "set") {
			b := rapid.IntRange(0, n-1).Draw(rt, "block")
			m.words[b/64] |= 1 << (b % 64)
		}
		m.count = 1
		m.finish(x, &filter{})
		for range 20 {
			first := rapid.IntRange(0, n-1).Draw(rt, "first")
			last := rapid.IntRange(first-1, n-1).Draw(rt, "last")
			want := false
			for b := first; b <= last; b++ {
				want = want || m.words[b/64]>>(b%64)&1 != 0
			}
			if got := m.meets(int32(first), int32(last)); got != want {
				rt.Fatalf("%d to %d: %v", first, last, got)
			}
		}
	})
}

// blocksOf returns the blocks that may hold the places of a tile, for any division of a list into
// tiles.
func TestBlocksOf(t *testing.T) {
	const places = 1000
	for _, every := range sampleEvery {
		x := &index{count: places, every: every, blocks: make([]block, blockCount(places))}
		samples := (places + every - 1) / every
		for lo := range samples + 1 {
			for hi := lo; hi <= samples; hi++ {
				// A tile with the samples lo to hi has places after sample lo-1
				// and before sample hi.
				from, to := max((lo-1)*every+1, 0), min(hi*every-1, places-1)
				first, last := x.blocksOf(lo, hi)
				if from > to {
					if first <= last {
						t.Fatalf("every %d, samples %d to %d: blocks %d to %d of nothing", every, lo, hi, first, last)
					}
				} else if first != from/blockPlaces || last != to/blockPlaces {
					t.Fatalf("every %d, samples %d to %d: blocks %d to %d, places %d to %d", every, lo, hi, first, last, from, to)
				}
			}
		}
	}
}

// TestMaskAgainstPlaces tests that a mask has every block with a place that passes the filter. If
// the filter is only on classes, codes and countries, the mask has no other block.
func TestMaskAgainstPlaces(t *testing.T) {
	testrace.SkipUnderRace(t, "many questions")
	list := scatter(31, 8_000, clustered)
	f := build(t, list)
	type row struct {
		place
		qualifier string
	}
	var tierRows [tiers][]row
	for tier, family := range tierNames {
		for r := range must.All(t, f.tiles.Scan(t.Context(), scanFamily(family))) {
			p := must.Get(parsePlace(r)).In(t)
			tierRows[tier] = append(tierRows[tier], row{p, string(p.qualifier)})
		}
	}
	rng := rand.New(rand.NewPCG(7, 7))
	for range 100 {
		flt := known(t, Filter{drawFilter(rng, []string{"P", "A", "X", "T"}), drawFilter(rng, []string{"PPL", "PPLC", "LK", "ADM1"}),
			drawFilter(rng, []string{"CH", "NA", "XX"}), []int64{0, 0, 1, 5000, 50_000}[rng.IntN(5)]})
		m := f.masks(&flt)
		for tier, rows := range tierRows {
			for b := range f.indexes[tier].blocks {
				want, areas := false, true
				for _, r := range rows[b*blockPlaces : min((b+1)*blockPlaces, len(rows))] {
					r.place.qualifier = []byte(r.qualifier)
					if flt.passes(&r.place) {
						want = true
						areas = areas && r.qualifier[0] == 'A'
					}
				}
				got := m[tier].meets(int32(b), int32(b))
				if want && !got || got && !want && flt.minPopulation <= 1 {
					t.Fatalf("%+v: tier %d, block %d: %v, want %v", flt, tier, b, got, want)
				}
				if want && m[tier].areas && !areas {
					t.Fatalf("%+v: the mask of tier %d claims to have areas only", flt, tier)
				}
			}
		}
	}
	if n := f.kept.Len(); n != cachedMasks {
		t.Errorf("%d masks are kept, not %d", n, cachedMasks)
	}
}

// BenchmarkMasks measures the cost of a filter in each query.
func BenchmarkMasks(b *testing.B) {
	f := build(b, cities(10_000))
	flt := known(b, Filter{[]string{"P"}, []string{"PPL", "PPLC", "PPLA"}, []string{"CH", "DE", "FR", "AT", "IT", "LI"}, 1000})
	b.ReportAllocs()
	for b.Loop() {
		f.masks(&flt)
	}
}

// Groups beyond the bound share one group that passes every filter.
func TestTooManyGroups(t *testing.T) {
	x := newIndexer(low)
	for i := range maxPairs {
		x.byKey[groupKey{code: uint16(i % maxCodes), country: country{byte(i / maxCodes), 1}}] = nil
	}
	p := place{id: 1, qualifier: []byte("P.PPL"), country: country{'C', 'H'}}
	for range 2 {
		must.Do(t, x.add(7, &p))
	}
	g := x.byKey[groupKey{code: anyCode}]
	if g == nil || g.count != 2 || len(g.list) != 1 {
		t.Fatalf("%+v", g)
	}
	x.byKey = map[groupKey]*growing{{code: anyCode}: g}
	var rows []indexRow
	indexes := [tiers]*indexer{newIndexer(high), newIndexer(medium), x}
	must.Do(t, writeIndex(&indexes, 0, func(key []byte, c cellstore.Cell) error {
		rows = append(rows, indexRow{string(key), append([]byte(nil), c.Value...)})
		return nil
	}))
	must.Do(t, openWithIndex(t, rows, 2))
	back := &index{every: sampleEvery[low]}
	for _, r := range rows {
		if r.key[0] == kindGroup && !back.readGroup(r.key[2:], r.value) {
			t.Fatal("the group is not read back")
		}
	}
	back.blocks = x.index.blocks
	flt := known(t, Filter{Classes: []string{"Q"}, Countries: []string{"QQ"}})
	if m := back.mask(&flt); !m.meets(0, 0) || m.areas {
		t.Error("a filter leaves out places that have no group")
	}
	flt = known(t, Filter{Classes: []string{"Q"}})
	if m := back.mask(&flt); m.exact {
		t.Errorf("%d places are counted that have no group", m.count)
	}
}

// An index of a million places takes little memory.
func TestIndexIsSmall(t *testing.T) {
	x := newIndexer(low)
	rng := rand.New(rand.NewPCG(1, 1))
	const n = 200_000
	for i := range n {
		p := place{id: uint32(i + 1), qualifier: []byte("P.PPL"), country: country{'A' + byte(i/20_000), 'A'}}
		if rng.IntN(3) > 0 {
			p.qualifier = fmt.Appendf(nil, "S.C%d", int(rng.ExpFloat64()*20))
		}
		must.Do(t, x.add(quadkey.Cell(i), &p))
	}
	size := 4*len(x.samples) + blockSize*len(x.index.blocks)
	for _, g := range x.byKey {
		size += len(g.list) + 24
	}
	if size > n*3/2 {
		t.Errorf("%d bytes for %d places", size, n)
	}
}

func scanFamily(family string) cellstore.Scan {
	return cellstore.Scan{Selection: cellstore.Selection{Families: []string{family}}}
}
