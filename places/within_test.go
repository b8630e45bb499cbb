package places

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"

	"quadrille/internal/must"
	"quadrille/internal/testrace"
	"quadrille/places/internal/near"
	"quadrille/quadkey"
)

// bruteWithin computes Within by examining every place.
func bruteWithin(list []Place, q WithinQuery) []Hit {
	type candidate struct {
		Hit
		importance uint64
	}
	var in []candidate
	for _, p := range list {
		p = settled(p)
		inside := q.Box.Contains(p.Lon, p.Lat)
		if q.Tile != nil {
			t, err := quadkey.TileAt(p.Lon, p.Lat, q.Tile.Z)
			if err != nil {
				panic(err)
			}
			inside = t == *q.Tile
		}
		if inside && bruteFilter(&p, q.Classes, q.Codes, q.Countries, q.MinPopulation) {
			in = append(in, candidate{Hit{ID: p.ID, Lat: p.Lat, Lon: p.Lon}, bruteImportance(&p)})
		}
	}
	slices.SortFunc(in, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.importance, a.importance), cmp.Compare(a.ID, b.ID))
	})
	hits := make([]Hit, len(in))
	for i := range in {
		hits[i] = in[i].Hit
	}
	return hits
}

// boxNear makes boxes of all sizes: around a place, with edges exactly on
// places, across ±180°, at the poles, of no size, the world.
func boxNear(rng *rand.Rand, list []Place) quadkey.Box {
	a, b := settled(list[rng.IntN(len(list))]), settled(list[rng.IntN(len(list))])
	clampLat := func(v float64) float64 { return max(-90, min(90, v)) }
	wrap := func(v float64) float64 {
		switch {
		case v > 180:
			return v - 360
		case v < -180:
			return v + 360
		}
		return v
	}
	switch rng.IntN(6) {
	case 0:
		return quadkey.World
	case 1:
		return quadkey.Box{West: a.Lon, South: min(a.Lat, b.Lat), East: b.Lon, North: max(a.Lat, b.Lat)}
	case 2:
		return quadkey.Box{West: a.Lon, South: a.Lat, East: a.Lon, North: a.Lat}
	case 3:
		edge := []float64{-180, 180}[rng.IntN(2)]
		return quadkey.Box{West: edge, South: -90, East: wrap(a.Lon), North: 90}
	case 4:
		return quadkey.Box{
			West:  wrap(180 - rng.Float64()*3),
			South: clampLat(a.Lat - 5),
			East:  -180 + rng.Float64()*3,
			North: clampLat(a.Lat + 5),
		}
	}
	size := math.Exp(rng.Float64()*9 - 5)
	return quadkey.Box{
		West:  wrap(max(a.Lon-size, -180)),
		South: clampLat(a.Lat - size),
		East:  min(a.Lon+size, 180),
		North: clampLat(a.Lat + size),
	}
}

// Every answer, page by page, equals the answer from examining every place.
func TestWithinAgainstBruteForce(t *testing.T) {
	for name, shape := range shapes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			places, queries := 400, 25
			if os.Getenv("QUADRILLE_FULL") != "" {
				places, queries = 2000, 3000
			}
			list := scatter(21, places, shape)
			f := build(t, list)
			rng := rand.New(rand.NewPCG(4, 9))
			var dst []Hit
			for range queries {
				q := WithinQuery{Limit: []int{1, 10, 100, MaxLimit}[rng.IntN(4)]}
				if rng.IntN(3) == 0 {
					p := list[rng.IntN(len(list))]
					tile := must.Get(quadkey.TileAt(p.Lon, p.Lat, uint8(rng.IntN(quadkey.MaxZoom+1)))).In(t)
					q.Tile = &tile
				} else {
					q.Box = boxNear(rng, list)
				}
				if rng.IntN(2) == 0 {
					q.Classes = drawFilter(rng, []string{"P", "A", "x", "t"})
					q.Codes = drawFilter(rng, []string{"PPL", "pplc", "LK", "ADM1"})
					q.Countries = drawFilter(rng, []string{"CH", "na", "XX"})
					q.MinPopulation = []int64{0, 0, 1000, 50_000}[rng.IntN(4)]
				}
				want := bruteWithin(list, q)
				var all []Hit
				for {
					var err error
					if dst, q.Cursor, err = f.Within(t.Context(), q, dst); err != nil {
						t.Fatalf("%+v: %v", q, err)
					}
					if len(dst) > q.Limit {
						t.Fatalf("%+v: %d hits", q, len(dst))
					}
					for _, h := range dst {
						h.JSON = append([]byte(nil), h.JSON...)
						all = append(all, h)
					}
					if q.Cursor == "" || len(all) > 60 && q.Limit < 10 {
						break
					}
				}
				sameHits(t, all, want[:min(len(all), len(want))])
				if q.Cursor == "" && len(all) != len(want) {
					t.Fatalf("%+v: pages end after %d of %d", q, len(all), len(want))
				}
			}
		})
	}
}

func TestWithinEdges(t *testing.T) {
	f := build(t, []Place{
		{ID: 1, Name: "north pole", Lon: 12, Lat: 90},
		{ID: 2, Name: "at 180", Lon: 180, Lat: 10},
		{ID: 3, Name: "at -180", Lon: -180, Lat: 10},
		{ID: 4, Name: "corner", Lon: 7.5, Lat: 47.25},
		{ID: 5, Name: "beyond the map", Lon: 7.5, Lat: 89},
	})
	for _, tt := range []struct {
		box  quadkey.Box
		want string
	}{
		{quadkey.World, "[1 2 3 4 5]"},
		{quadkey.Box{West: 7.5, South: 47.25, East: 7.5, North: 47.25}, "[4]"},
		{quadkey.Box{West: 0, South: 40, East: 7.5, North: 47.25}, "[4]"},
		{quadkey.Box{West: 7.5000001, South: 40, East: 9, North: 50}, "[]"},
		{quadkey.Box{West: 170, South: 10, East: 180, North: 10}, "[2 3]"},
		{quadkey.Box{West: -180, South: 0, East: -170, North: 20}, "[2 3]"},
		{quadkey.Box{West: 179, South: 0, East: -179, North: 20}, "[2 3]"},
		{quadkey.Box{West: 0, South: 86, East: 20, North: 90}, "[1 5]"},
	} {
		hits, next, err := f.Within(t.Context(), WithinQuery{Box: tt.box}, nil)
		if got := fmt.Sprint(hitIDs(hits)); err != nil || next != "" || got != tt.want {
			t.Errorf("%v: %s, %q, %v, want %s", tt.box, got, next, err, tt.want)
		}
	}
}

// If the higher tiers fill a page, nothing of the lower ones is read.
func TestWithinReadsTiersInTurn(t *testing.T) {
	testrace.SkipUnderRace(t, "many questions")
	list := scatter(2, 6000, shapes["uniform"])
	f := build(t, list)
	s := newWithin()
	s.box = quadkey.World
	s.begin(f, filter{}, 11, ^uint64(0), near.Cursor{})
	must.Do(t, s.Run(t.Context(), s, f.cells...))
	if high := f.indexes[high].count; s.examined > int(high) || s.examined == 0 {
		t.Errorf("%d places read, %d are of the high tier", s.examined, high)
	}
}

func TestWithinRefuses(t *testing.T) {
	list := scatter(1, 60, shapes["uniform"])
	f := build(t, list)
	for _, q := range []WithinQuery{
		{Box: quadkey.Box{North: math.NaN()}}, {Box: quadkey.Box{South: 2, North: 1}}, {Box: quadkey.Box{West: 181}},
		{Box: quadkey.World, Limit: -1}, {Box: quadkey.World,
			Limit: MaxLimit + 1}, {Tile: &quadkey.Tile{Z: 3, X: 8}}, {Tile: &quadkey.Tile{Z: quadkey.MaxZoom + 1}},
	} {
		if hits, next, err := f.Within(t.Context(), q, nil); !errors.Is(err, ErrQuery) || len(hits) != 0 || next != "" {
			t.Errorf("%+v: %v, %q, %v", q, hits, next, err)
		}
	}
	if hits, _, err := f.Within(t.Context(), WithinQuery{Box: quadkey.World, Classes: []string{"PP"}}, nil); err != nil || len(hits) > 0 {
		t.Errorf("a class that there is not: %v, %v", hits, err)
	}
	q := WithinQuery{Box: quadkey.World, Limit: 5}
	_, next, err := f.Within(t.Context(), q, nil)
	if err != nil || next == "" {
		t.Fatal(next, err)
	}
	tile := quadkey.Tile{}
	for name, other := range map[string]WithinQuery{
		"another box":    {Box: quadkey.Box{West: -180, South: -90, East: 179, North: 90}},
		"a tile":         {Tile: &tile},
		"another filter": {Box: quadkey.World, Classes: []string{"P"}},
	} {
		other.Cursor = next
		if _, _, err := f.Within(t.Context(), other, nil); !errors.Is(err, ErrCursor) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, _, err := f.Nearby(t.Context(), NearbyQuery{Cursor: next}, nil); !errors.Is(err, ErrCursor) {
		t.Errorf("a cursor of Within given to Nearby: %v", err)
	}
	q.Cursor = next
	list[0].Name = "another name"
	if _, _, err := build(t, list).Within(t.Context(), q, nil); !errors.Is(err, ErrCursorExpired) {
		t.Errorf("other data: %v", err)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := f.Within(cancelled, WithinQuery{Box: quadkey.World}, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// Keep has the same effect as a filter on all places. With Examine set, a search returns a subset
// of these places in the same order.
func TestWithinKeep(t *testing.T) {
	list := scatter(31, 3000, clustered)
	for i := range list {
		p := &list[i]
		p.Country, p.Admin1 = "", strconv.Itoa(int(p.ID%7))
		if p.ID%2 == 0 {
			p.Country = "CH"
		}
	}
	f := build(t, list)
	keep := func(country, admin1 string) bool { return country == "" && admin1 == "3" }
	q := WithinQuery{Box: quadkey.World, Limit: 50, Keep: keep}
	want := slices.DeleteFunc(bruteWithin(list, q), func(h Hit) bool { return h.ID%14 != 3 })
	var all []Hit
	for {
		hits, next := must.Two(f.Within(t.Context(), q, nil)).In(t)
		all = append(all, hits...)
		if q.Cursor = next; next == "" {
			break
		}
	}
	sameHits(t, all, want)
	if len(all) != len(want) || len(want) < 100 {
		t.Fatalf("%d places, want %d", len(all), len(want))
	}
	for _, examine := range []int{1, 100, 1000, 1_000_000} {
		asked := 0
		q := WithinQuery{Box: quadkey.World, Limit: MaxLimit, Examine: examine, Keep: func(c, a string) bool { asked++; return keep(c, a) }}
		hits, next, err := f.Within(t.Context(), q, nil)
		if err != nil || next != "" {
			t.Fatalf("%d looked at: %q, %v", examine, next, err)
		}
		if asked > examine+blockPlaces*16 {
			t.Errorf("%d places were asked about, want about %d", asked, examine)
		}
		at := 0
		for _, h := range hits {
			i := slices.IndexFunc(want[at:], func(w Hit) bool { return w.ID == h.ID })
			if i < 0 {
				t.Fatalf("%d looked at: %d is out of order, or should not be there", examine, h.ID)
			}
			at += i + 1
		}
		if examine > len(list) && len(hits) != len(want) {
			t.Errorf("%d of %d places", len(hits), len(want))
		}
	}
}
