package points_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"strconv"
	"testing"

	"quadrille/feature"
	"quadrille/internal/must"
	"quadrille/places/points"
	"quadrille/quadkey"
)

// randomNearby returns a query near a place of a distribution, or anywhere.
func randomNearby(r *rand.Rand, at func(*rand.Rand) (float64, float64)) points.NearbyQuery {
	q := points.NearbyQuery{Limit: 1 + r.IntN(30)}
	if q.Lat, q.Lon = at(r); r.IntN(4) == 0 {
		q.Lat, q.Lon = distributions["even"](r)
	}
	q.Lat = math.Max(-90, math.Min(90, q.Lat))
	if r.IntN(3) == 0 {
		q.RadiusM = math.Exp(r.Float64() * 16)
		q.MinRadiusM = q.RadiusM * r.Float64() * float64(r.IntN(2))
	}
	return q
}

// randomSort returns either no order or the order by price.
func randomSort(r *rand.Rand) feature.Sort {
	if r.IntN(2) == 0 {
		return feature.Sort{}
	}
	return feature.Sort{Field: feature.Field{Name: "price", Kind: feature.Number}, Descending: r.IntN(2) == 0}
}

// ground is an area with a test for its positions.
type ground struct {
	area feature.Area
	in   func(lat, lon float64) bool
}

// randomAreas returns areas of each kind around a place of a distribution, and the one of them that
// is a tile.
func randomAreas(r *rand.Rand, at func(*rand.Rand) (float64, float64)) (map[string]ground, quadkey.Tile) {
	lat, lon := at(r)
	size := math.Exp(r.Float64()*10 - 5)
	box := quadkey.Box{
		West:  wrapped(lon - size),
		South: math.Max(lat-size/2, -90),
		East:  wrapped(lon + size/3),
		North: math.Min(lat+size/2, 90),
	}
	if !box.Valid() || size > 90 {
		box = quadkey.World
	}
	tile := tileOf(lat, lon, uint8(r.IntN(23)))
	p := newPatchwork(r, tileOf(lat, lon, uint8(r.IntN(quadkey.CellZoom-patchZooms+1))))
	return map[string]ground{
		"box":       {feature.Box(box), func(lat, lon float64) bool { return box.Contains(lon, lat) }},
		"tile":      {feature.Tile(tile), func(lat, lon float64) bool { return tileOf(lat, lon, tile.Z) == tile }},
		"patchwork": {p, p.contains},
	}, tile
}

func tileOf(lat, lon float64, z uint8) quadkey.Tile {
	tile, err := quadkey.TileAt(lon, math.Max(-90, math.Min(90, lat)), z)
	if err != nil {
		panic(err) // not in range
	}
	return tile
}

func wrapped(lon float64) float64 {
	switch {
	case lon > 180:
		return lon - 360
	case lon < -180:
		return lon + 360
	}
	return lon
}

// patchZooms is the difference of zoom between a patchwork and its patches.
const patchZooms = 3

// patchwork is an Area of many parts. Of the 64 patches of a tile some are outside, some inside and
// some inside in stripes, like the tiles of a region.
type patchwork struct {
	patches [1 << (2 * patchZooms)]quadkey.Tile // in the order of their cells
	kinds   [1 << (2 * patchZooms)]uint8
	stripes float64 // for each degree
}

// These are the kinds of patches.
const (
	patchOut = iota
	patchIn
	patchStriped
)

func newPatchwork(r *rand.Rand, tile quadkey.Tile) *patchwork {
	p := &patchwork{stripes: math.Exp2(float64(tile.Z)) / 30}
	for i := range p.patches {
		patch := tile
		for shift := 2 * (patchZooms - 1); shift >= 0; shift -= 2 {
			patch = patch.Children()[i>>shift&3]
		}
		p.patches[i], p.kinds[i] = patch, uint8(r.IntN(3))
	}
	return p
}

func (p *patchwork) striped(lat, lon float64) bool {
	return int(math.Floor((lat+lon)*p.stripes))&1 == 0
}

func (p *patchwork) contains(lat, lon float64) bool {
	at := tileOf(lat, lon, p.patches[0].Z)
	for i, patch := range p.patches {
		if patch == at {
			return p.kinds[i] == patchIn || p.kinds[i] == patchStriped && p.striped(lat, lon)
		}
	}
	return false
}

// String implements feature.Area.
func (p *patchwork) String() string { return fmt.Sprint(p.patches, p.kinds) }

// Cover implements feature.Area.
func (p *patchwork) Cover(_ context.Context, from quadkey.Cell, fn func(*feature.AreaPart) error) error {
	for i, patch := range p.patches {
		var part feature.AreaPart
		part.Cells.First, part.Cells.Last = patch.CellRange()
		if p.kinds[i] == patchOut || part.Cells.Last < from {
			continue
		}
		if p.kinds[i] == patchStriped {
			part.Contains = func(at quadkey.Position) (bool, error) { return p.striped(at.Lat, at.Lon), nil }
		}
		if err := fn(&part); err != nil {
			return err
		}
	}
	return nil
}

// Queries yield the processor even while they examine points that do not pass a filter.
func TestStep(t *testing.T) {
	_, c := openLive(t)
	const n = 2000
	writes := make([]points.Write, n)
	for i := range writes {
		writes[i] = points.Write{
			Kind:       points.Put,
			ID:         strconv.Itoa(i),
			Lat:        float64(i%50) / 10,
			Lon:        float64(i / 50),
			Properties: []byte(`{"price":1}`),
		}
	}
	write(t, c, writes...)
	filter := must.Get(feature.ParseFilter(c.Meta().Schema, []feature.Term{{
		Name:   "price",
		Op:     feature.OpGreater,
		Values: []string{"7"},
	}})).In(t)
	for what, ask := range map[string]func(q feature.Query) error{
		"list":  func(q feature.Query) error { return first(c.Features(t.Context(), &q)) },
		"count": func(q feature.Query) error { _, err := c.Count(t.Context(), &q); return err },
		"nearest": func(q feature.Query) error {
			q.Near, q.Limit = &feature.Near{}, 10
			return first(c.Features(t.Context(), &q))
		},
		"sorted": func(q feature.Query) error {
			q.Order.Field, q.Limit = feature.Field{Name: "price", Kind: feature.Number}, 10
			return first(c.Features(t.Context(), &q))
		},
	} {
		steps := 0
		var end error
		step := func(context.Context) error { steps++; return end }
		if err := ask(feature.Query{Filter: filter, Step: step}); err != nil || steps < n/300 {
			t.Errorf("%s: %d steps, %v", what, steps, err)
		}
		end = errors.New("end")
		if err := ask(feature.Query{Filter: filter, Step: step}); !errors.Is(err, end) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// first returns the first error of an answer, or nil if the answer is empty.
func first(seq iter.Seq2[*feature.Feature, error]) error {
	for _, err := range seq {
		return err
	}
	return nil
}
