//go:build !race

package tiles_test

import (
	"cmp"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/paulmach/orb"

	"quadrille/feature"
	"quadrille/feature/layertest"
	"quadrille/internal/tilestest"
	"quadrille/quadkey"
	"quadrille/tiles"
	"quadrille/tiles/build"
)

// away is a region with its distance.
type away struct {
	id string
	m  float64
}

// bruteNear returns all regions by distance. Regions that hold the point are at distance 0.
func bruteNear(t *testing.T, r *tiles.Reader, ref *storedWorld, lines [][]borderLine, lon, lat float64) (list []away) {
	t.Helper()
	at, err := r.At(t.Context(), lat, lon, ref.typ)
	if err != nil {
		t.Fatal(err)
	}
	for i, id := range ref.ids {
		d := 0.0
		if !slices.ContainsFunc(at, func(in tiles.Region) bool { return in.ID == id }) {
			d = bruteNearest(lines[i], lon, lat)
		}
		list = append(list, away{id, d})
	}
	slices.SortFunc(list, func(a, b away) int { return cmp.Or(cmp.Compare(a.m, b.m), feature.CompareRegionIDs(a.id, b.id)) })
	return list
}

// nearPages returns the regions of a ring, page by page.
func nearPages(t *testing.T, l feature.Layer, near feature.Near, size int) (list []away) {
	t.Helper()
	for f := range slices.Values(layertest.Pages(t, l, feature.Query{Near: &near, Detail: feature.WithoutGeometry}, size)) {
		list = append(list, away{f.ID, f.DistanceM})
	}
	return list
}

// TestLayerNear compares the nearest regions of a layer with those of a search that measures the
// distance to every border.
func TestLayerNear(t *testing.T) {
	r, store, _ := buildReader(t, toyLayer())
	joined := tiles.Join(r)
	ref := newStoredWorld(t, store, "land")
	lines := ref.lines()
	layers := []feature.Layer{layerOf(t, r, "land"), layerOf(t, joined, "land")}
	rnd := rand.New(rand.NewPCG(51, 52))
	const tolerance = 0.001
	compare := func(lon, lat float64) {
		t.Helper()
		want := bruteNear(t, r, ref, lines, lon, lat)
		near := feature.Near{Position: quadkey.Position{Lat: lat, Lon: lon}}
		all := nearPages(t, layers[0], near, 1+rnd.IntN(12))
		if len(all) != len(want) {
			t.Fatalf("lon %v lat %v: %v, want %v", lon, lat, all, want)
		}
		for i := range all {
			j := slices.IndexFunc(want, func(w away) bool { return w.id == all[i].id })
			// Near the antipode the resolution of a float64 is as coarse as a metre.
			if off := math.Abs(all[i].m - want[j].m); off > tolerance && all[i].m < 20_000_000 {
				t.Fatalf("lon %v lat %v: %s at %v m, want %v m", lon, lat, all[i].id, all[i].m, want[j].m)
			}
			if i > 0 && (all[i].m < all[i-1].m || all[i].m == all[i-1].m && feature.CompareRegionIDs(all[i-1].id, all[i].id) >= 0) {
				t.Fatalf("lon %v lat %v: %v comes before %v", lon, lat, all[i-1], all[i])
			}
		}
		// Rings have the same distances.
		near.MinM, near.MaxM = all[rnd.IntN(len(all))].m, all[rnd.IntN(len(all))].m
		if near.MinM > near.MaxM {
			near.MinM, near.MaxM = near.MaxM, near.MinM
		}
		var ring []away
		for _, a := range all {
			if a.m >= near.MinM && (near.MaxM == 0 || a.m <= near.MaxM) {
				ring = append(ring, a)
			}
		}
		if got := nearPages(t, layers[1], near, 1+rnd.IntN(4)); !slices.Equal(got, ring) {
			t.Fatalf("%v: %v, want %v", near, got, ring)
		}
	}
	for range 60 {
		lon, lat := ref.vertex(rnd)
		reach := []float64{1e-4, 0.02, 0.3, 20}[rnd.IntN(4)]
		lat = max(-90, min(90, lat+reach*rnd.NormFloat64()))
		compare(math.Remainder(lon+reach*rnd.NormFloat64()/max(0.01, math.Cos(lat*math.Pi/180)), 360), lat)
	}
	for _, p := range [][2]float64{
		{180, -16.9},
		{-180, -16.2},
		{0, 90},
		{180, -90},
		{-40, quadkey.MaxLatitude},
		{62, 84.6},
		{59, 85.3},
		{10.05, 10.1},
		{-170, -10},
	} {
		compare(p[0], p[1])
	}
}

// twoAndLines returns a layer of lines and a layer of two regions. Points on the regions' common
// border are equally far from both.
func twoAndLines() []build.Layer {
	return []build.Layer{
		{Type: "land", Features: []build.Feature{
			{ID: "B", Name: "B", Geometry: tilestest.Square(1, 0, 2, 1), Properties: []build.Property{{Name: "pop", Value: int64(5)}}},
			{ID: "a", Name: "A", Geometry: tilestest.Square(1, 1, 4, 2), Properties: []build.Property{{Name: "pop", Value: int64(7)}}},
			{ID: "c", Geometry: tilestest.Square(-3, 0, -2, 1)},
			{ID: "d", Geometry: tilestest.Square(179, 10, 181, 11), Properties: []build.Property{{Name: "pop", Value: int64(5)}}},
		}},
		{Type: "road", Features: []build.Feature{
			{ID: "r1", Geometry: orb.LineString{{0, 0}, {0, 5}, {1, 6}}},
			{ID: "r2", Geometry: orb.MultiLineString{{{3, 3}, {4, 4}}, {{-60, 3}, {-60, 4}}}},
		}},
	}
}

func TestLayerNearAnswers(t *testing.T) {
	r, store, _ := buildReader(t, twoAndLines()...)
	land, road := layerOf(t, r, "land"), layerOf(t, r, "road")
	for _, c := range []struct {
		l        feature.Layer
		lat, lon float64
		min, max float64
		want     string
	}{
		{land, 1, 0.9, 0, 0, "a B c d"},
		{land, 0.5, 0.9, 0, 0, "B a c d"},
		{land, 1, 0.9, 0, 11_100, ""},
		{land, 1.5, 1.5, 0, 60_000, "a B"},
		{land, 1.5, 1.5, 1, 60_000, "B"},
		{land, 10.5, -179.5, 0, 1, "d"},
		{land, 10.5, 178, 0, 200_000, "d"},
		{road, 2, 0.1, 0, 0, "r1 r2"},
		{road, 3.5, -61, 0, 0, "r2 r1"},
		{road, 3, -60, 0, 1, "r2"},
	} {
		q := feature.Query{Near: &feature.Near{Position: quadkey.Position{Lat: c.lat, Lon: c.lon}, MinM: c.min, MaxM: c.max}}
		if got := listed(t, c.l, q); got != c.want {
			t.Errorf("%+v: %s, want %s", *q.Near, got, c.want)
		}
	}
	for _, l := range []feature.Layer{land, road} {
		layertest.Test(t, l, layertest.Options{Rounds: 10})
	}
	// Finding only the nearest costs little. A search over too many rows gives an error.
	before := store.Stats().Seeks
	q := feature.Query{Near: feature.NearTo(0.5, 0.9, 0), Limit: 1, Detail: feature.WithoutGeometry}
	if got := listed(t, land, q); got != "B" {
		t.Errorf("%s", got)
	}
	if seeks := store.Stats().Seeks - before; seeks > 40 {
		t.Errorf("%d seeks", seeks)
	}
	q.Limit, q.MaxExamined = 0, 3
	var much *feature.TooMuchWork
	for _, err := range land.Features(t.Context(), &q) {
		if err != nil && (!errors.As(err, &much) || much.Examined != 3) {
			t.Errorf("%v", err)
		}
	}
	if much == nil {
		t.Error("a search of three rows has found everything")
	}
	for _, near := range []feature.Near{
		{Position: quadkey.Position{Lat: 91}}, {Position: quadkey.Position{Lon: math.NaN()}}, {MinM: -1}, {MinM: 2, MaxM: 1}, {MaxM: math.NaN()},
		{MaxM: math.Inf(1)}, {MinM: math.NaN()},
	} {
		for _, err := range land.Features(t.Context(), &feature.Query{Near: &near}) {
			if !errors.Is(err, feature.ErrQuery) {
				t.Errorf("%+v: %v", near, err)
			}
		}
	}
	for _, mark := range []string{"a", strings.Repeat("\xff", 8) + "a", strings.Repeat("\x00", 8) + "~", strings.Repeat("\x00", 8)} {
		for _, err := range land.Features(t.Context(), &feature.Query{Near: &feature.Near{}, After: feature.Mark(mark)}) {
			if !errors.Is(err, feature.ErrCursor) {
				t.Errorf("%q: %v", mark, err)
			}
		}
	}
}

// TestLayerNearBesideALongBorder tests that a long search stops following a border at places where
// no other region can be.
func TestLayerNearBesideALongBorder(t *testing.T) {
	r, store, _ := buildReader(t, toyLayer())
	before := store.Stats().Seeks
	q := feature.Query{Near: feature.NearTo(-20, -60, 0), Limit: 2, Detail: feature.WithoutGeometry}
	if got := listed(t, layerOf(t, r, "land"), q); got != "big ice" {
		t.Errorf("%s", got)
	}
	if seeks := store.Stats().Seeks - before; seeks > 400 {
		t.Errorf("%d seeks", seeks)
	}
}

// In the order of importance, the region with the largest bounds comes first. In the order of a
// property, its values decide. Equal regions come in the order of their ids.
func TestLayerOrders(t *testing.T) {
	r, _, _ := buildReader(t, twoAndLines()...)
	l := layerOf(t, r, "land")
	pop := feature.Field{Name: "pop", Kind: feature.Number}
	for _, c := range []struct {
		order feature.Order
		in    feature.Area
		want  string
	}{
		{feature.Order{Importance: true}, nil, "a d B c"},
		{feature.Order{Importance: true}, feature.Box{West: -4, South: 0, East: 3, North: 0.5}, "B c"},
		{feature.Order{Sort: feature.Sort{Field: pop}}, nil, "B d a c"},
		{feature.Order{Sort: feature.Sort{Field: pop, Descending: true}}, nil, "a B d c"},
	} {
		for size := 1; size < 6; size++ {
			var ids []string
			for f := range slices.Values(layertest.Pages(t, l, feature.Query{Order: c.order, In: c.in}, size)) {
				ids = append(ids, f.ID)
				if shape, err := f.Orb(); shape == nil || err != nil {
					t.Errorf("%v: %s has no border, %v", c.order, f.ID, err)
				}
			}
			if got := strings.Join(ids, " "); got != c.want {
				t.Errorf("%v, %d at once: %s, want %s", c.order, size, got, c.want)
			}
		}
	}
	name := feature.Order{Sort: feature.Sort{Field: feature.Field{Name: "name", Kind: feature.Text}}}
	for _, q := range []feature.Query{{Order: feature.Order{Importance: true}}, {Order: name, Limit: 3}} {
		for _, err := range l.Features(t.Context(), &q) {
			if !errors.Is(err, feature.ErrQuery) {
				t.Errorf("%+v: %v", q.Order, err)
			}
		}
	}
	if n, err := feature.Count(t.Context(), l, &feature.Query{}); n != 4 || err != nil {
		t.Errorf("%d regions, %v", n, err)
	}
}

// Tile yields the parts of the regions in a tile, the largest first.
func TestLayerTile(t *testing.T) {
	toy := toyLayer()
	toy.Type = "toy"
	r, _, _ := buildReader(t, append(twoAndLines(), toy)...)
	for _, c := range []struct {
		typ  string
		tile quadkey.Tile
		want string
	}{
		{"land", quadkey.Tile{}, "d a B c"},
		{"land", quadkey.Tile{Z: 1, X: 1}, "a B d"},
		{"land", quadkey.Tile{Z: 14, X: 8282, Y: 8169}, "B"},
		{"land", quadkey.Tile{Z: 3, X: 1, Y: 1}, ""},
		{"road", quadkey.Tile{Z: 1, X: 1}, "r2 r1"},
		{"toy", quadkey.Tile{Z: 5, X: 16, Y: 15}, "east west enclave"},
	} {
		l := layerOf(t, r, c.typ).(feature.Tiler)
		var ids []string
		for f, err := range l.Tile(t.Context(), c.tile, nil) {
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, f.ID)
			shape, err := f.Orb()
			if err != nil || shape == nil {
				t.Fatalf("%v: %s has no geometry, %v", c.tile, f.ID, err)
			}
			const round = 1e-3
			b, in := shape.Bound(), c.tile.Bound()
			if (quadkey.Box{West: b.Min[0], South: b.Min[1], East: b.Max[0], North: b.Max[1]}) != f.Bounds || f.Position.Check() != nil ||
				b.Min[0] < in.West-round || b.Max[0] > in.East+round || b.Min[1] < in.South-round || b.Max[1] > in.North+round {
				t.Errorf("%v: %s has bounds %v, %v", c.tile, f.ID, f.Bounds, b)
			}
			var whole feature.Feature
			if err := layerOf(t, r, c.typ).Get(t.Context(), f.ID, time.Time{}, &whole); err != nil || whole.Name() != f.Name() ||
				f.Properties.Text("type") != c.typ {
				t.Errorf("%v: %s is called %q, %v", c.tile, f.ID, f.Name(), err)
			}
		}
		if got := strings.Join(ids, " "); got != c.want {
			t.Errorf("%s in %v: %s, want %s", c.typ, c.tile, got, c.want)
		}
	}
	for _, err := range layerOf(t, r, "land").(feature.Tiler).Tile(t.Context(), quadkey.Tile{X: 1}, nil) {
		if !errors.Is(err, feature.ErrQuery) {
			t.Errorf("no tile: %v", err)
		}
	}
}
