package stations

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"quadrille/cellstore"
	"quadrille/internal/buildtest"
	"quadrille/internal/must"
	"quadrille/internal/testrace"
	"quadrille/places/internal/near"
	"quadrille/places/internal/voronoi"
	"quadrille/quadkey"
)

func checkNearest(t *testing.T, f *Finder, list []Station, lat, lon float64) {
	t.Helper()
	got, err := f.Nearest(t.Context(), lat, lon)
	if err != nil {
		t.Fatalf("%v, %v: %v", lat, lon, err)
	}
	id, d := bruteNearest(list, lat, lon)
	if got.ID != id || got.DistanceM != d {
		t.Fatalf("%v, %v: got %s at %v m, want %s at %v m (leaf %v)", lat, lon, got.ID, got.DistanceM, id, d, got.Tile)
	}
}

func TestNearestAgainstBruteForce(t *testing.T) {
	testrace.SkipUnderRace(t, "many questions")
	for name, shape := range shapes {
		for _, n := range []int{1, 2, 9, 300} {
			t.Run(fmt.Sprintf("%s/%d", name, n), func(t *testing.T) {
				list := scatter(uint64(n), n, shape)
				f := build(t, list)
				rng := rand.New(rand.NewPCG(7, uint64(n)))
				for range rounds(500) {
					lat, lon := points(rng, list)
					checkNearest(t, f, list, lat, lon)
				}
			})
		}
	}
}

// Nearest agrees with measuring all real stations.
func TestNearestReal(t *testing.T) {
	testrace.SkipUnderRace(t, "many questions")
	list := realStations(t)
	store := buildtest.NewStore(t)
	f, meta := buildIn(t, store, list)
	t.Logf("%d stations at %d positions: %d leaves listing %.2f positions each", meta.Stations, meta.Positions, meta.Leaves,
		float64(meta.Listed)/float64(meta.Leaves))
	// The reference measures all stations. A first pass that compares chords makes the long test
	// short enough.
	brute := newChordScan(list)
	n := 10_000
	if full {
		n = 1_000_000
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for range n {
		lat, lon := points2(rng, list, brute)
		got := must.Get(f.Nearest(t.Context(), lat, lon)).In(t)
		id, d := brute.nearest(lat, lon)
		if got.ID != id || got.DistanceM != d {
			t.Fatalf("%v, %v: got %s at %v m, want %s at %v m", lat, lon, got.ID, got.DistanceM, id, d)
		}
	}
	// The reference itself agrees with the simplest reference.
	for range rounds(100) {
		lat, lon := points(rng, list)
		id, d := bruteNearest(list, lat, lon)
		if gotID, got := brute.nearest(lat, lon); gotID != id || got != d {
			t.Fatalf("%v, %v: the reference says %s at %v, not %s at %v", lat, lon, gotID, got, id, d)
		}
	}
	checkLeaves(t, store, meta)
}

// points2 does the same as points, but faster: it finds neighbours by the chords of the reference.
func points2(rng *rand.Rand, list []Station, brute *chordScan) (lat, lon float64) {
	if rng.IntN(10) > 0 {
		for {
			// These are the cases of points without the vertices of three stations, which measure
			// every station.
			s := &list[rng.IntN(len(list))]
			switch rng.IntN(8) {
			case 0, 1:
				return math.Asin(2*rng.Float64()-1) / radians, rng.Float64()*360 - 180
			case 2:
				return float64(1-2*rng.IntN(2)) * (90 - rng.Float64()*float64(rng.IntN(6))), rng.Float64()*360 - 180
			case 3:
				return rng.Float64()*180 - 90, float64(1-2*rng.IntN(2)) * 180
			case 4:
				return s.Lat, s.Lon
			case 5:
				lon := math.Mod(s.Lon+rng.NormFloat64()*0.05+540, 360) - 180
				return min(max(s.Lat+rng.NormFloat64()*0.05, -90), 90), lon
			case 6:
				z := uint8(rng.IntN(17))
				b := quadkey.Tile{Z: z, X: uint32(rng.IntN(1 << z)), Y: uint32(rng.IntN(1 << z))}.Bound()
				return b.North, b.West
			}
		}
	}
	// The middle between a station and the nearest one to a point beside it is near the edge
	// between the two.
	s := &list[rng.IntN(len(list))]
	_, _, other := brute.find(min(max(s.Lat+rng.NormFloat64(), -90), 90), s.Lon)
	m := vecOf(s.Lon, s.Lat).plus(brute.vecs[other])
	return clampedLat(m), math.Atan2(m.y, m.x) / radians
}

// chordScan finds the nearest station by the chords to all of them, and
// measures those within rounding of the shortest.
type chordScan struct {
	list []Station
	vecs []vec
}

func newChordScan(list []Station) *chordScan {
	c := &chordScan{list: list}
	for i := range list {
		c.vecs = append(c.vecs, vecOf(positionOf(list[i].Lat, list[i].Lon).Degrees()))
	}
	return c
}

func (c *chordScan) nearest(lat, lon float64) (ID, float64) {
	id, d, _ := c.find(lat, lon)
	return id, d
}

func (c *chordScan) find(lat, lon float64) (id ID, d float64, at int) {
	p := vecOf(lon, lat)
	most := -2.0
	for i := range c.vecs {
		most = max(most, p.dot(c.vecs[i]))
	}
	d = math.Inf(1)
	for i := range c.vecs {
		if p.dot(c.vecs[i]) < most-1e-14 {
			continue
		}
		s := &c.list[i]
		if m := positionOf(s.Lat, s.Lon).Distance(lon, lat); m < d || m == d && string(s.ID[:]) < string(id[:]) {
			id, d, at = s.ID, m, i
		}
	}
	return id, d, at
}

// checkLeaves: the leaves tile the world, each lists between one and eight positions unless
// dividing it does not help, and each station's tiles are the leaves that list it.
func checkLeaves(t *testing.T, store cellstore.Store, meta Meta) {
	t.Helper()
	table := must.Get(store.Table(t.Context(), tableTiles)).In(t)
	next := uint64(0) // cell
	leaves := int64(0)
	lists := map[ID][]quadkey.Tile{}
	for row := range must.All(t, table.Scan(t.Context(), cellstore.Scan{})) {
		tile := must.Get(quadkey.ParseKey(row.Key)).In(t)
		first, last := tile.CellRange()
		if uint64(first) != next {
			t.Fatalf("leaf %v begins at cell %d, not %d", tile, first, next)
		}
		next = uint64(last) + 1
		leaves++
		value := row.Cells[0].Value
		edge := tile.Y == 0 || tile.Y == 1<<tile.Z-1
		if n := len(value) / candidateSize; n == 0 || n > voronoi.LeafSitesAlike && tile.Z < quadkey.CellZoom && !edge {
			t.Fatalf("leaf %v lists %d positions", tile, n)
		}
		for ; len(value) > 0; value = value[candidateSize:] {
			lists[ID(value)] = append(lists[ID(value)], tile)
		}
	}
	if next != 1<<32 || leaves != meta.Leaves {
		t.Fatalf("%d leaves up to cell %d; the manifest counts %d", leaves, next, meta.Leaves)
	}
	f := must.Get(Open(t.Context(), store, meta)).In(t)
	first := map[position]ID{}
	for i := range f.entries {
		e := &f.entries[i]
		if id, ok := first[e.at]; !ok || string(e.id[:]) < string(id[:]) {
			first[e.at] = e.id
		}
	}
	for i := range f.entries {
		if i%17 != 0 && len(f.entries) > 1000 {
			continue
		}
		e := &f.entries[i]
		tiles := must.Get(f.Tiles(t.Context(), e.id)).In(t)
		if want := lists[first[e.at]]; len(want) == 0 || !slices.Equal(tiles, want) {
			t.Fatalf("%s: %d tiles, %d leaves list it", e.id, len(tiles), len(want))
		}
		lon, lat := e.at.Degrees()
		cell := must.Get(quadkey.CellOf(lon, lat)).In(t)
		if !slices.ContainsFunc(tiles, func(q quadkey.Tile) bool { return q.Contains(cell.Tile()) }) {
			t.Fatalf("%s: not in the leaf it stands in", e.id)
		}
	}
}

// candidateSize is the length of a position in a leaf, as the package documentation says.
const candidateSize = 11 + 4 + 4 + 2

func TestLeavesTileTheWorld(t *testing.T) {
	for name, shape := range shapes {
		t.Run(name, func(t *testing.T) {
			store := buildtest.NewStore(t)
			_, meta := buildIn(t, store, scatter(3, rounds(200), shape))
			checkLeaves(t, store, meta)
		})
	}
}

func TestNearestWithoutStations(t *testing.T) {
	f := build(t, nil)
	if _, err := f.Nearest(t.Context(), 0, 0); !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
	for _, p := range [][2]float64{{90.1, 0}, {0, 181}, {math.NaN(), 0}} {
		if _, err := f.Nearest(t.Context(), p[0], p[1]); !errors.Is(err, near.ErrQuery) {
			t.Errorf("%v: %v", p, err)
		}
	}
}

// TestSharedPositions tests that several stations at one position are a single candidate, with the
// least of their ids.
func TestSharedPositions(t *testing.T) {
	list := []Station{
		{ID: numbered(5), Lat: 10, Lon: 180}, {ID: numbered(3), Lat: 10, Lon: -180}, {ID: numbered(4), Lat: 10, Lon: 180},
		{ID: numbered(8), Lat: 90, Lon: 12}, {ID: numbered(7), Lat: 90, Lon: -90}, {ID: numbered(9), Lat: -5, Lon: 3},
	}
	f := build(t, list)
	got, err := f.Nearest(t.Context(), 11, 179)
	if err != nil || got.ID != numbered(3) || got.Shared != 3 || got.Lon != -180 {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err = f.Nearest(t.Context(), 90, 0); err != nil || got.ID != numbered(7) || got.Shared != 2 || got.DistanceM != 0 {
		t.Errorf("%+v, %v", got, err)
	}
	three := must.Get(f.Tiles(t.Context(), numbered(3))).In(t)
	for _, id := range []ID{numbered(4), numbered(5)} {
		if tiles, err := f.Tiles(t.Context(), id); err != nil || !slices.Equal(tiles, three) {
			t.Errorf("%s: %v, %v", id, tiles, err)
		}
	}
}

// Many stations in one spot neither fill the tables nor give wrong answers.
func TestCrowds(t *testing.T) {
	testrace.SkipUnderRace(t, "many questions")
	var list []Station
	for i := range 3000 { // at one position
		list = append(list, Station{ID: numbered(i), Lat: 47.5, Lon: 8.5})
	}
	for i := range 40 { // centimetres apart
		list = append(list, Station{ID: numbered(5000 + i), Lat: 20 + float64(i%7)*1e-7, Lon: 20 + float64(i/7)*1e-7})
	}
	for i := range 60 { // in a circle around a point
		sin, cos := math.Sincos(float64(i) * 6 * radians)
		list = append(list, Station{ID: numbered(6000 + i), Lat: -40 + cos*0.5, Lon: 100 + sin*0.5})
	}
	store := buildtest.NewStore(t)
	f, meta := buildIn(t, store, list)
	if meta.Leaves > 30_000 {
		t.Errorf("%d leaves", meta.Leaves)
	}
	rng := rand.New(rand.NewPCG(3, 4))
	for range rounds(300) {
		lat, lon := points(rng, list)
		checkNearest(t, f, list, lat, lon)
		checkNearest(t, f, list, 20+rng.NormFloat64()*1e-5, 20+rng.NormFloat64()*1e-5)
		checkNearest(t, f, list, -40+rng.NormFloat64()*1e-3, 100+rng.NormFloat64()*1e-3)
	}
}

// Positions that no tile can separate are refused, without an endless loop.
func TestTooDense(t *testing.T) {
	testrace.SkipUnderRace(t, "bounds are reached too slowly")
	var list []Station
	for i := range 1100 {
		list = append(list, Station{ID: numbered(i), Lat: 10 + float64(i%34)*1e-7, Lon: 10 + float64(i/34)*1e-7})
	}
	_, _, err := Build(t.Context(), buildtest.NewStore(t), buildtest.SeqOf(list), BuildOptions{})
	if !errors.Is(err, ErrTooMany) || !strings.Contains(err.Error(), "compete") {
		t.Error(err)
	}
	// On parallels so near the pole, longitudes make no difference: a few stations share a leaf,
	// but many are refused.
	near := func(n int) []Station {
		list := make([]Station, n)
		for i := range list {
			list[i] = Station{ID: numbered(i), Lat: 89.9999999, Lon: float64(i) * 1e-7}
		}
		return list
	}
	f := build(t, near(12))
	checkNearest(t, f, near(12), -3, 4)
	checkNearest(t, f, near(12), 89.9999999, 4e-7)
	if _, _, err = Build(t.Context(), buildtest.NewStore(t), buildtest.SeqOf(near(40)), BuildOptions{}); !errors.Is(err, ErrTooMany) {
		t.Error(err)
	}
}
