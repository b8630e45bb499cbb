package tiles_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/paulmach/orb"
	"golang.org/x/sync/errgroup"

	"quadrille/feature"
	"quadrille/feature/layertest"
	"quadrille/internal/must"
	"quadrille/internal/tilestest"
	"quadrille/quadkey"
	"quadrille/tiles"
	"quadrille/tiles/build"
	"quadrille/tiles/mvt"
)

// columnsWorld has districts with properties of all kinds, and a river.
func columnsWorld(t testing.TB) *tiles.Reader {
	long := strings.Repeat("é", 150)
	r, _, _ := buildReader(t, build.Layer{Type: "district", Features: []build.Feature{
		{ID: "a", Name: `A "geometry":`, Geometry: tilestest.Square(7, 46, 8, 47), Properties: []build.Property{
			{Name: "turnover", Value: 1512345678.5}, {Name: "code", Value: "007"}, {Name: "open", Value: true}, {Name: "long", Value: long},
			{Name: "tags", Value: json.RawMessage(`["x"]`)},
		}},
		{ID: "b", Name: "B", Geometry: tilestest.Square(8, 46, 9, 47), Properties: []build.Property{
			{Name: "turnover", Value: int64(-9007199254740993)}, {Name: "code", Value: `"},"geometry":`},
		}},
		{ID: "c", Name: "C", Geometry: tilestest.Square(9, 46, 10, 47)},
	}}, build.Layer{Type: "river", Features: []build.Feature{{
		ID: "r", Name: "R", Geometry: orb.LineString{{7.1, 46.1}, {9.9, 46.9}},
		Properties: []build.Property{{Name: "width", Value: int64(12)}},
	}}})
	return r
}

// attributes returns the attributes of the features of a layer of a vector tile, by id.
func attributes(t testing.TB, tile []byte, layer string) map[string]map[string]string {
	t.Helper()
	out := map[string]map[string]string{}
	var v mvt.LayerView
	for {
		rest, ok, err := mvt.NextLayer(tile, &v)
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			return out
		}
		for i := 0; string(v.Name) == layer && i < v.Len(); i++ {
			f, err := v.Feature(i)
			if err != nil {
				t.Fatal(err)
			}
			all := map[string]string{}
			if err := v.EachTag(f, func(key, value []byte) bool {
				s, is := mvt.StringValue(value)
				text := string(s)
				if n, ok := mvt.IntegerValue(value); !is && ok {
					text = fmt.Sprint(n)
				} else if n, ok := mvt.NumberValue(value); !is && ok {
					text = fmt.Sprint(n)
				}
				all[string(key)] = text
				return true
			}); err != nil {
				t.Fatal(err)
			}
			out[all["id"]] = all
		}
		tile = rest
	}
}

// The polygons and lines of every zoom, stored or cut, have the columns that a selector has, as
// vectors and as GeoJSON, and nothing else of them changes.
func TestTilesHaveColumns(t *testing.T) {
	r := columnsWorld(t)
	columns, err := r.Columns(t.Context(), "district", []string{"long", "open", "turnover", "code"})
	if err != nil {
		t.Fatal(err)
	}
	width, err := r.Columns(t.Context(), "river", []string{"width"})
	if err != nil {
		t.Fatal(err)
	}
	plain := []tiles.Selector{{Type: "district"}, {Type: "river"}}
	with := []tiles.Selector{{Type: "district", Columns: columns}, {Type: "river", Columns: width}}
	one := []tiles.Selector{{Type: "district", ID: "a", Columns: columns}}
	want := map[string]map[string]string{
		"a": {"turnover": "1.5123456785e+09", "code": "007", "open": "1", "long": strings.Repeat("é", 98) + "…"},
		"b": {"turnover": "-9007199254740993", "code": `"},"geometry":`},
		"c": {},
	}
	own := []string{"id", "name", "map_color", "merged"}
	for _, z := range []uint8{0, 5, 9, 13, 15} {
		tile, err := quadkey.TileAt(8, 46.5, z)
		if err != nil {
			t.Fatal(err)
		}
		bare, err := r.AppendMVT(t.Context(), nil, tile, plain)
		if err != nil {
			t.Fatal(err)
		}
		got, err := r.AppendMVT(t.Context(), []byte("head"), tile, with)
		if err != nil {
			t.Fatal(err)
		}
		got = got[len("head"):]
		if err := mvt.Validate(got); err != nil {
			t.Fatal(err)
		}
		if a, b := vectorIDs(t, got), vectorIDs(t, bare); !slices.Equal(a, b) {
			t.Errorf("zoom %d: %v, without columns %v", z, a, b)
		}
		for id, all := range attributes(t, got, "district") {
			for _, name := range own {
				if a, b := all[name], attributes(t, bare, "district")[id][name]; a != b {
					t.Errorf("zoom %d: %s of %s is %q, without columns %q", z, name, id, a, b)
				}
				delete(all, name)
			}
			if !maps.Equal(all, want[strings.TrimPrefix(id, "~")]) {
				t.Errorf("zoom %d: %s has %v", z, id, all)
			}
		}
		for _, all := range attributes(t, got, "river_line") {
			if all["width"] != "12" {
				t.Errorf("zoom %d: the river has %v", z, all)
			}
		}
		only, err := r.AppendMVT(t.Context(), nil, tile, one)
		if err != nil {
			t.Fatal(err)
		}
		for id, all := range attributes(t, only, "district") {
			if id != "a" || all["code"] != "007" {
				t.Errorf("zoom %d: one region is %s with %v", z, id, all)
			}
		}
		text, err := r.AppendGeoJSON(t.Context(), []byte(`{"type":"FeatureCollection","features":[`), tile, with)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), `"turnover":1512345678.5`) {
			t.Errorf("zoom %d: numbers have an exponent in %s", z, text)
		}
		var all struct {
			Features []struct{ Properties map[string]any }
		}
		if err := json.Unmarshal(append(text, "]}"...), &all); err != nil {
			t.Fatalf("%v in %s", err, text)
		}
		for _, f := range all.Features {
			id := fmt.Sprint(f.Properties["id"])
			for name, value := range want[strings.TrimPrefix(id, "~")] {
				if got := fmt.Sprint(f.Properties[name]); name != "open" && name != "turnover" && got != value {
					t.Errorf("zoom %d: %s of %s is %s in GeoJSON", z, name, id, got)
				}
			}
			if id == "a" && (f.Properties["turnover"] != 1512345678.5 || f.Properties["open"] != true) {
				t.Errorf("zoom %d: a has %v", z, f.Properties)
			}
		}
	}
}

// What tiles cannot have is refused, and columns say what they are.
func TestColumnsDescribeThemselves(t *testing.T) {
	r := columnsWorld(t)
	for _, name := range []string{"tags", "id", "name", "nothing"} {
		if _, err := r.Columns(t.Context(), "district", []string{"code", name}); !errors.Is(err, tiles.ErrNoColumn) {
			t.Errorf("%s: %v", name, err)
		}
	}
	c, err := r.Columns(t.Context(), "district", []string{"turnover", "code"})
	if err != nil {
		t.Fatal(err)
	}
	again, err := r.Columns(t.Context(), "district", []string{"open", "code", "turnover"})
	if err != nil || len(again) != 3 || again[0] != c[0] || again[2] != c[1] {
		t.Errorf("the same columns are read again: %v", err)
	}
	var values []float64
	regions := 0
	for _, column := range c {
		column.Values(nil, func(value []byte) {
			regions++
			if n, ok := mvt.NumberValue(value); ok && column.Field().Name == "turnover" {
				values = append(values, n)
			}
		})
	}
	if !slices.Equal(values, []float64{1512345678.5, -9007199254740993}) || regions != 2*3 {
		t.Errorf("values %v of %d", values, regions)
	}
	tiles.SetColumnBytes(1)
	defer tiles.SetColumnBytes(tiles.DefaultColumnBytes)
	if again, err = r.Columns(t.Context(), "district", []string{"code", "turnover"}); err != nil || again[0] == c[0] {
		t.Errorf("columns beyond the bound: %v", err)
	}
}

// Requests for overlapping choices at once get the same columns.
func TestColumnsAtOnce(t *testing.T) {
	r := columnsWorld(t)
	names := []string{"turnover", "code", "open", "long"}
	var group errgroup.Group
	for i := range 32 {
		group.Go(func() error {
			var asked []string
			for j, name := range names {
				if (i+1)>>j&1 == 1 {
					asked = append(asked, name)
				}
			}
			c, err := r.Columns(t.Context(), "district", asked)
			if err == nil && len(c) != len(asked) {
				err = fmt.Errorf("%d columns of %q", len(c), asked)
			}
			for _, column := range c {
				if !slices.Contains(asked, column.Field().Name) {
					err = fmt.Errorf("%s of %q", column.Field().Name, asked)
				}
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		t.Error(err)
	}
}

// sheet is a layer of rows without geometries that has a state.
type sheet struct {
	state   uint64
	schema  feature.Schema
	rows    []feature.Feature
	queries int
}

func (s *sheet) Info() *feature.Info {
	return &feature.Info{Name: "sales", Count: -1, Live: true, Schema: s.schema}
}

func (s *sheet) Get(context.Context, string, time.Time, *feature.Feature) error {
	return feature.NotFound("get of a sheet")
}

func (s *sheet) State(context.Context) (uint64, error) { return s.state, nil }

func (s *sheet) Features(context.Context, *feature.Query) iter.Seq2[*feature.Feature, error] {
	s.queries++
	return feature.SeqOf(func(fn func(*feature.Feature) error) error {
		for i := range s.rows {
			if err := fn(&s.rows[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

// The columns of a layer that takes writes are kept until its state changes or a value expires.
func TestJoinedColumnsAreKeptForAState(t *testing.T) {
	r := columnsWorld(t)
	row := func(id string, sum int64) feature.Feature {
		return feature.Feature{ID: id, Properties: feature.PropertiesOf(feature.Property{Name: "sum", Value: feature.IntegerValue(sum)})}
	}
	of := &sheet{state: 1, schema: feature.Schema{{Name: "sum", Kind: feature.Integer}}, rows: []feature.Feature{row("a", 1), row("b", 2)}}
	ask := func(queries int, want ...int64) {
		t.Helper()
		columns, err := r.JoinColumns(t.Context(), "district", of, "sales.", []string{"sum"})
		if err != nil {
			t.Fatal(err)
		}
		var got []int64
		columns[0].Values(nil, func(value []byte) {
			if n, ok := mvt.IntegerValue(value); ok {
				got = append(got, n)
			}
		})
		if !slices.Equal(got, want) || of.queries != queries {
			t.Errorf("values %v after %d queries, want %v after %d", got, of.queries, want, queries)
		}
	}
	ask(1, 1, 2)
	ask(1, 1, 2)
	of.rows[0], of.state = row("a", 3), 2
	ask(2, 3, 2)
	ask(2, 3, 2)
	of.state = 0 // it cannot tell
	ask(3, 3, 2)
	ask(4, 3, 2)
	of.rows[1].Expires, of.state = time.Now().Add(-time.Minute), 3
	ask(5, 3, 2)
	of.rows = of.rows[:1] // as the clock decides
	ask(6, 3)
	of.rows[0].Expires, of.state = time.Now().Add(time.Hour), 4
	ask(7, 3)
	ask(7, 3)
}

// BenchmarkColumns makes tiles of borders of the world's countries and states at 1:50 m, from the cache:
// without columns, with five of the regions, and with five of a collection.
func BenchmarkColumns(b *testing.B) {
	const columns = 5
	layers := []build.Layer{
		naturalEarth(b, "country", "50m/ne_50m_admin_0_countries.geojson.gz", "ADM0_A3", "NAME"),
		naturalEarth(b, "state", "50m/ne_50m_admin_1_states_provinces.geojson.gz", "adm1_code", "name"),
	}
	of := &sheet{state: 1}
	var names []string
	for n := range columns {
		names = append(names, "sum"+strconv.Itoa(n))
	}
	for k := range layers {
		for i := range layers[k].Features {
			f := &layers[k].Features[i]
			row := feature.Feature{ID: f.ID}
			var all []feature.Property
			for n, name := range names {
				f.Properties = append(f.Properties, build.Property{Name: name, Value: int64(i * (n + 1))})
				all = append(all, feature.Property{Name: name, Value: feature.IntegerValue(int64(i * (n + 1)))})
			}
			row.Properties = feature.PropertiesOf(all...)
			of.rows = append(of.rows, row)
		}
	}
	for _, name := range names {
		of.schema = append(of.schema, feature.Field{Name: name, Kind: feature.Integer})
	}
	r, store, _ := buildReader(b, layers...)
	ref := newStoredWorld(b, store, "country")
	selectors := func(fn func(typ string) ([]*tiles.Column, error)) (all []tiles.Selector) {
		for _, l := range layers {
			all = append(all, tiles.Selector{Type: l.Type, Columns: must.Get(fn(l.Type)).In(b)})
		}
		return all
	}
	for _, c := range []struct {
		name      string
		selectors []tiles.Selector
	}{
		{"none", selectors(func(string) ([]*tiles.Column, error) { return nil, nil })},
		{"own", selectors(func(typ string) ([]*tiles.Column, error) { return r.Columns(b.Context(), typ, names) })},
		{"joined", selectors(func(typ string) ([]*tiles.Column, error) { return r.JoinColumns(b.Context(), typ, of, "sales.", names) })},
	} {
		b.Run(c.name, func(b *testing.B) {
			rnd := rand.New(rand.NewPCG(1, 2))
			var dst []byte
			for b.Loop() {
				lon, lat := ref.vertex(rnd)
				t := must.Get(quadkey.TileAt(lon, lat, uint8(rnd.IntN(15)))).In(b)
				dst = must.Get(r.AppendMVT(b.Context(), dst[:0], t, c.selectors)).In(b)
			}
		})
	}
}

// Whoever waits for numbers and columns that another request reads gives its processor to that one.
func TestWaitingForColumns(t *testing.T) {
	r := columnsWorld(t)
	for _, name := range []string{"turnover", "code"} { // the first one needs the numbers, too
		layertest.Waiting(t, func(ctx context.Context) error {
			_, err := r.Columns(ctx, "district", []string{name})
			return err
		})
	}
}
