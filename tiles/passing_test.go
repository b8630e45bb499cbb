package tiles_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/paulmach/orb"

	"quadrille/feature"
	"quadrille/internal/must"
	"quadrille/internal/tilestest"
	"quadrille/quadkey"
	"quadrille/tiles"
	"quadrille/tiles/build"
	"quadrille/tiles/mvt"
)

// parcelsWorld has a row of regions with values of all kinds and gaps, and lines.
func parcelsWorld(t testing.TB) *tiles.Reader {
	parcels, rivers := build.Layer{Type: "parcel"}, build.Layer{Type: "river"}
	for i := range 24 {
		x := float64(i)/4 + 5
		f := build.Feature{ID: fmt.Sprintf("P%d", i), Name: fmt.Sprint("Parcel ", i), Geometry: tilestest.Square(x, 46, x+0.25, 46.25)}
		add := func(name string, value any) {
			f.Properties = append(f.Properties, build.Property{Name: name, Value: value})
		}
		if i%5 > 0 {
			add("turnover", float64(i)*1.5-6)
		}
		if i%4 > 0 {
			add("staff", int64(i))
		}
		if i%3 > 0 {
			add("open", i%2 == 0)
		}
		add("note", strings.Repeat("é", i*10))
		add("tags", json.RawMessage(fmt.Sprintf(`["a%d","b"]`, i%3)))
		add("address", json.RawMessage(fmt.Sprintf(`{"city":"C%d"}`, i%4)))
		parcels.Features = append(parcels.Features, f)
		rivers.Features = append(rivers.Features, build.Feature{
			ID: fmt.Sprint("r", i), Name: "R", Geometry: orb.LineString{{x, 45}, {x + 0.2, 45.2}},
			Properties: []build.Property{{Name: "width", Value: int64(i)}},
		})
	}
	r, _, _ := buildReader(t, parcels, rivers)
	return r
}

// Tiles of every zoom, stored or cut, as vectors and as GeoJSON, have the regions that a list with the same filter has:
// polygons, lines, borders and labels.
func TestTilesHaveWhatPasses(t *testing.T) {
	r := parcelsWorld(t)
	for _, tc := range []struct{ typ, filter string }{
		{"parcel", "turnover.gt=0"}, {"parcel", "turnover=-4.5,0,15"}, {"parcel", "turnover.ne=3&open=true"}, {"parcel", "-open="},
		{"parcel", "lacks=turnover"}, {"parcel", "has=turnover,staff"}, {"parcel", "staff.lte=7"}, {"parcel", "id=p3,P11"},
		{"parcel", "name.prefix=Parcel 1"}, {"parcel", "tags=a1"}, {"parcel", "note=" + strings.Repeat("é", 120)}, {"parcel", "-note="},
		{"parcel", "address.city=C2&turnover.lt=20"}, {"parcel", "turnover.gt=1000"}, {"river", "width.gt=5&width.lt=9"}, {"river", "id=R4"},
	} {
		l, err := r.Layer(tc.typ)
		if err != nil {
			t.Fatal(err)
		}
		var terms []feature.Term
		for pair := range strings.SplitSeq(tc.filter, "&") {
			key, value, _ := strings.Cut(pair, "=")
			term, err := l.Info().Schema.ParseTerm(key, value)
			if err != nil {
				t.Fatal(err)
			}
			terms = append(terms, term)
		}
		by, err := feature.ParseFilter(l.Info().Schema, terms)
		if err != nil {
			t.Fatal(err)
		}
		var want []string
		for f, err := range l.Features(t.Context(), &feature.Query{Filter: by}) {
			if err != nil {
				t.Fatal(err)
			}
			want = append(want, f.ID)
		}
		slices.Sort(want)
		only, err := r.Passing(t.Context(), tc.typ, by, nil, 1)
		if err != nil {
			t.Fatal(err)
		}
		if again, _ := r.Passing(t.Context(), tc.typ, by, nil, 1); again != only {
			t.Errorf("%s: found again", tc.filter)
		}
		of := []tiles.Selector{{Type: tc.typ, Only: only}}
		for _, z := range []uint8{0, 6, 13, 15} {
			got, outlined, text := map[string]bool{}, map[string]bool{}, map[string]bool{}
			labels := map[string]bool{}
			for _, tile := range tilesAround(t, z) {
				body := must.Get(r.AppendMVT(t.Context(), nil, tile, of)).In(t)
				if err := mvt.Validate(body); err != nil {
					t.Fatal(err)
				}
				for id := range attributes(t, body, tc.typ) {
					got[strings.TrimPrefix(id, "~")] = true
				}
				for id := range sidesOf(t, body, tc.typ+"_line") {
					outlined[id] = true
				}
				for id := range sidesOf(t, body, tc.typ+"_label") {
					labels[id] = true
				}
				var all struct {
					Features []struct {
						Properties struct{ ID string }
					}
				}
				body = must.Get(r.AppendGeoJSON(t.Context(), []byte(`{"features":[`), tile, of)).In(t)
				if err := json.Unmarshal(append(body, "]}"...), &all); err != nil {
					t.Fatal(err)
				}
				for _, f := range all.Features {
					text[strings.TrimPrefix(f.Properties.ID, "~")] = true
				}
			}
			for what, ids := range map[string]map[string]bool{"polygons": got, "outlines": outlined, "labels": labels, "GeoJSON": text} {
				for id := range ids {
					if !slices.Contains(want, id) {
						t.Errorf("%s, zoom %d: %s of %s, which does not pass", tc.filter, z, what, id)
					}
				}
				if whole := z == 6 || z == 13; whole && (what == "outlines" || what == "GeoJSON") && len(ids) != len(want) {
					t.Errorf("%s, zoom %d: %d %s of %d that pass", tc.filter, z, len(ids), what, len(want))
				}
			}
		}
		for f, err := range l.(feature.Tiler).Tile(t.Context(), quadkey.Tile{Z: 6, X: 33, Y: 22}, by) {
			if err != nil || !slices.Contains(want, f.ID) {
				t.Errorf("%s: %s, %v", tc.filter, f.ID, err)
			}
		}
	}
}

// tilesAround returns the tiles of a zoom that have parcels and rivers; of deep zooms some.
func tilesAround(t *testing.T, z uint8) (list []quadkey.Tile) {
	seen := map[quadkey.Tile]bool{}
	for i := range 24 {
		for _, at := range [][2]float64{{46.001, 0.1}, {46.125, 0.125}, {45.1, 0.1}} {
			tile, err := quadkey.TileAt(float64(i)/4+5+at[1], at[0], z)
			if err != nil {
				t.Fatal(err)
			}
			if !seen[tile] {
				seen[tile] = true
				list = append(list, tile)
			}
		}
	}
	return list
}

// sidesOf returns the regions that the features of a layer name.
func sidesOf(t *testing.T, tile []byte, layer string) map[string]bool {
	ids := map[string]bool{}
	var v mvt.LayerView
	for {
		rest, ok, err := mvt.NextLayer(tile, &v)
		if err != nil || !ok {
			return ids
		}
		for i := 0; string(v.Name) == layer && i < v.Len(); i++ {
			f, err := v.Feature(i)
			if err != nil {
				t.Fatal(err)
			}
			for _, tag := range []string{"id", "left", "right", "region"} {
				if id := v.StringTag(f, tag); id != nil {
					ids[string(id)] = true
				}
			}
		}
		tile = rest
	}
}

// Ten thousand filters take no more memory than the bound.
func TestPassingIsBounded(t *testing.T) {
	r := parcelsWorld(t)
	tiles.SetColumnBytes(64 << 10)
	defer tiles.SetColumnBytes(tiles.DefaultColumnBytes)
	l, err := r.Layer("parcel")
	if err != nil {
		t.Fatal(err)
	}
	for i := range 10_000 {
		term := feature.Term{Name: "turnover", Op: feature.OpGreater, Values: []string{fmt.Sprint(i)}}
		by, err := feature.ParseFilter(l.Info().Schema, []feature.Term{term})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.Passing(t.Context(), "parcel", by, nil, 1); err != nil {
			t.Fatal(err)
		}
	}
	if bytes := tiles.PassingBytes(); bytes > 8<<10 || bytes == 0 {
		t.Errorf("%d bytes", bytes)
	}
	if _, err := r.Passing(t.Context(), "nothing", nil, nil, 1); !errors.Is(err, tiles.ErrUnknownType) {
		t.Error(err)
	}
}
