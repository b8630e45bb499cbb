//go:build !race

package tiles_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/paulmach/orb"

	"quadrille/quadkey"
	"quadrille/tiles"
	"quadrille/tiles/build"
)

// blobs returns a layer of regions around a point. Some of the regions lie within others.
func blobs(typ string, seed uint64, lon, lat, spread float64, n int) build.Layer {
	rnd := rand.New(rand.NewPCG(seed, 1))
	l := build.Layer{Type: typ}
	for i := range n {
		ring := blob(rnd, lon+spread*(rnd.Float64()-.5), lat+spread*(rnd.Float64()-.5), spread/4, 12)
		l.Features = append(l.Features, build.Feature{
			ID:       fmt.Sprint(typ, i),
			Name:     strings.ToUpper(fmt.Sprint(typ, i)),
			Geometry: orb.MultiPolygon{ring},
		})
	}
	return l
}

// Joined data sets give the same answers as one data set of all layers, wherever they lie.
func TestJoin(t *testing.T) {
	layers := func() []build.Layer { // a build uses its layers up
		return []build.Layer{
			toyLayer(), blobs("ward", 1, 8.5, 47.4, 0.1, 8), blobs("zone", 2, 179.9, 84, 30, 6), blobs("area", 3, 8.5, 47.4, 12, 5),
		}
	}
	want, _, _ := buildReader(t, layers()...)
	var parts []*tiles.Reader
	for _, of := range [][]build.Layer{layers()[:1], layers()[1:3], layers()[3:]} {
		r, _, _ := buildReader(t, of...)
		parts = append(parts, r)
	}
	hidden, _, _ := buildReader(t, blobs("ward", 9, 0, 0, 1, 1)) // the first type of a name hides the others
	got := tiles.Join(append(parts, hidden)...)

	same := func(what string, a, b any, aerr, berr error) {
		t.Helper()
		if fmt.Sprint(aerr) != fmt.Sprint(berr) || !reflect.DeepEqual(a, b) {
			t.Errorf("%s: joined %.300v, %v; as one %.300v, %v", what, a, aerr, b, berr)
		}
	}
	all := []tiles.Selector{}
	for i, typ := range want.Types() {
		all = append(all, tiles.Selector{Type: typ.Name})
		if got.Types()[i].Name != typ.Name || !got.Has(typ.Name) {
			t.Fatalf("types %v", got.Types())
		}
	}
	rnd := rand.New(rand.NewPCG(5, 5))
	for i := range 600 {
		lon, lat := 360*rnd.Float64()-180, 180*rnd.Float64()-90
		if i%2 == 0 {
			lon, lat = 8.5+0.2*(rnd.Float64()-.5), 47.4+0.2*(rnd.Float64()-.5)
		}
		types := []string{"ward", "area", "zone"}[:i%4]
		a, aerr := got.At(t.Context(), lat, lon, types...)
		b, berr := want.At(t.Context(), lat, lon, types...)
		same(fmt.Sprint("at ", lat, lon), a, b, aerr, berr)
		near, aerr := got.Nearest(t.Context(), lat, lon, 20_000, types...)
		nearest, berr := want.Nearest(t.Context(), lat, lon, 20_000, types...)
		same("nearest", near, nearest, aerr, berr)

		tile, err := quadkey.TileAt(lon, max(min(lat, 85), -85), uint8(rnd.IntN(17)))
		if err != nil {
			t.Fatal(err)
		}
		layers := all[rnd.IntN(2):]
		// At zooms below 13, borders of layers that were built together are simplified together. So
		// a tile is compared with the tiles of each data set.
		for form, drawn := range map[string]func(*tiles.Reader, []tiles.Selector) ([]byte, error){
			"tile": func(r *tiles.Reader, layers []tiles.Selector) ([]byte, error) {
				return r.AppendMVT(t.Context(), nil, tile, layers)
			},
			"labels": func(r *tiles.Reader, layers []tiles.Selector) ([]byte, error) {
				return r.AppendLabels(t.Context(), nil, tile, layers)
			},
			"GeoJSON": func(r *tiles.Reader, layers []tiles.Selector) ([]byte, error) {
				return r.AppendGeoJSON(t.Context(), nil, tile, layers)
			},
		} {
			a, err := drawn(got, layers)
			if err != nil {
				t.Fatal(err)
			}
			var b []byte
			for _, part := range parts {
				own := slices.DeleteFunc(slices.Clone(layers), func(s tiles.Selector) bool { return !part.Has(s.Type) })
				one, err := drawn(part, own)
				if err != nil {
					t.Fatal(err)
				}
				if form == "GeoJSON" && len(one) > 0 && len(b) > 0 {
					b = append(b, ',')
				}
				b = append(b, one...)
			}
			if !bytes.Equal(a, b) {
				t.Errorf("%s %v: joined %d bytes, the data sets have %d", form, tile, len(a), len(b))
			}
		}
	}
	for _, id := range []string{"ward3", "WARD3", "none"} {
		a, aerr := got.Region(t.Context(), "ward", id, true)
		b, berr := want.Region(t.Context(), "ward", id, true)
		same("region "+id, string(a), string(b), aerr, berr)
	}
	walked := func(r *tiles.Reader) (list []string) {
		err := r.Walk(t.Context(), all, 13, func(t quadkey.Tile, mvt []byte) error {
			list = append(list, fmt.Sprint(t, len(mvt)))
			return nil
		})
		return append(list, fmt.Sprint(err))
	}
	same("walk", walked(got), walked(want), nil, nil)
	cover := func(r *tiles.Reader) (list []string) {
		err := r.Cover(t.Context(), "area", "area1", 0, func(c *tiles.CoveredTile) error {
			list = append(list, fmt.Sprint(c.Tile, c.Whole))
			return nil
		})
		return append(list, fmt.Sprint(err))
	}
	same("cover", cover(got), cover(want), nil, nil)
}
