package tally_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/paulmach/orb"
	"pgregory.net/rapid"

	"quadrille/ask"
	"quadrille/ask/tally"
	"quadrille/cellstore/dataset"
	"quadrille/feature"
	"quadrille/feature/layertest"
	"quadrille/internal/buildtest"
	"quadrille/internal/must"
	"quadrille/internal/tilestest"
	"quadrille/places/points"
	"quadrille/quadkey"
	"quadrille/tiles"
	"quadrille/tiles/build"
)

// box is an area of the world below: its corners are whole degrees. None crosses 180 degrees.
type box struct {
	id                       string
	west, south, east, north float64
}

func (b *box) holds(at quadkey.Position) bool {
	return at.Lon > b.west && at.Lon < b.east && at.Lat > b.south && at.Lat < b.north
}

func (b *box) size() float64 { return (b.east - b.west) * (b.north - b.south) }

// The world has one type of regions and one layer of other areas. Some of them lie in others, some
// overlap, one reaches a pole, and two meet at 180 degrees.
var (
	zones = []box{
		{"land", -20, -20, 40, 40}, {"city", 3, 3, 6, 6}, {"quarter", 4, 4, 5, 5}, {"coast", 30, -5, 50, 10},
		{"east", 170, -10, 180, 10}, {"west", -180, -10, -173, 10}, {"ice", -90, 80, 90, 90},
	}
	parks = []box{{"big", 0, 0, 20, 20}, {"small", 2, 2, 5, 5}}
)

// newView returns a view of the world.
func newView(t *testing.T) ask.View {
	t.Helper()
	var features []build.Feature
	for _, b := range zones {
		features = append(features, build.Feature{ID: b.id, Name: "The " + b.id, Geometry: tilestest.Square(b.west, b.south, b.east, b.north)})
	}
	store := buildtest.NewStore(t)
	meta, _ := must.Two(build.Run(t.Context(), store, []build.Layer{{Type: "zone", Features: features},
		{Type: "river", Features: []build.Feature{{ID: "r", Name: "R", Geometry: orb.LineString{{0, 0}, {9, 9}}}}}}, build.Options{})).In(t)
	r := must.Get(tiles.Open(t.Context(), store, meta)).In(t)
	park := dataset.NewFixedLive[feature.Encloser](new(enclosing), dataset.Manifest{Dataset: "park", Generation: 1})
	v := ask.NewViews(ask.Sets{
		Boundaries:  dataset.NewFixedLive(r, dataset.Manifest{Dataset: ask.BoundariesName, Generation: 1}),
		ExtraLayers: []ask.LayerKind{ask.SingleLayer("park", func(*ask.Sets) *dataset.Live[feature.Encloser] { return park })},
	}).Take(time.Time{})
	t.Cleanup(v.Release)
	return v
}

// enclosing is the layer of parks.
type enclosing struct{ layertest.Memory }

func (*enclosing) Info() *feature.Info { return &feature.Info{Name: "park", Bounds: quadkey.World} }

func (*enclosing) Ground(string) feature.Area { panic("nobody asks for it") }

func (*enclosing) Enclosing(_ context.Context, at quadkey.Position) iter.Seq2[*feature.Feature, error] {
	return feature.SeqOf(func(fn func(*feature.Feature) error) error {
		for _, b := range smallest(parks, at) {
			f := feature.Feature{ID: b.id, Properties: feature.PropertiesOf(feature.Property{
				Name: "name", Value: feature.TextValue([]byte("The " + b.id))})}
			if err := fn(&f); err != nil {
				return err
			}
		}
		return nil
	})
}

// smallest returns the boxes that hold a position, the smallest first.
func smallest(list []box, at quadkey.Position) (found []box) {
	for _, b := range list {
		if b.holds(at) {
			found = append(found, b)
		}
	}
	slices.SortFunc(found, func(a, b box) int { return cmp.Compare(a.size(), b.size()) })
	return found
}

// plain is a layer without columns.
type plain struct{ feature.Layer }

// property is a property of the points: what its values are drawn from, and its kind.
type property struct {
	name   string
	kind   feature.Kind
	values []string
}

var properties = []property{
	{"kind", feature.Text, []string{"", "null", `"cafe"`, `"bar"`, `"Zoo"`, `"NaN"`, `"10"`, `""`}},
	{"seats", feature.Number, []string{
		"", "null", "0", "3", "3.0", "30e-1", "-7", "12345678901", "9223372036854775807", "-9223372036854775808",
	}},
	{"price", feature.Number, []string{"", "null", "1.5", "-0.25", "2", "1e300", "-1e300", "0.1", "1e-300"}},
	{"mixed", feature.Any, []string{"", "null", `"NaN"`, `"7"`, "7", "7.0", "true", "[1,2]", "[1, 2.0]", `{"a":1}`, "2.5"}},
	{"since", feature.Time, []string{
		"", "null", `"2020-01-01"`, `"2020-01-01T00:00:00Z"`, `"2020-01-01T01:00:00+01:00"`, `"1999-12-31T23:59:59.5Z"`,
	}},
}

// member is a point with the values of its properties, decoded without help of the program.
type member struct {
	at     quadkey.Position
	values map[string]any
}

// same returns a text that is the same for equal values.
func same(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case json.Number:
		r, _ := new(big.Rat).SetString(v.String())
		return "number " + r.String()
	case []any:
		var all []string
		for _, of := range v {
			all = append(all, same(of))
		}
		return "list " + fmt.Sprint(all)
	}
	text, _ := json.Marshal(v)
	return string(text)
}

func decode(text []byte) (v any) {
	if text == nil {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		panic(string(text))
	}
	return v
}

// typed returns a value of a property with a kind. Texts that are times become such: a collection
// whose schema says so keeps instants.
func typed(kind feature.Kind, v any) any {
	if text, ok := v.(string); ok && kind == feature.Time {
		for _, layout := range []string{time.RFC3339Nano, time.DateOnly} {
			if at, err := time.Parse(layout, text); err == nil {
				return at.UTC()
			}
		}
	}
	return v
}

// groupOf returns the group of a point by the slow way.
func (m *member) groupOf(by string) string {
	var z uint8
	if n, _ := fmt.Sscanf(by, "tile:%d", &z); n == 1 {
		return same(slippy(m.at, z))
	}
	list := map[string][]box{"zone": zones, "park": parks}[by]
	if list == nil {
		return same(m.values[by])
	}
	if found := smallest(list, m.at); len(found) > 0 {
		return same(found[0].id)
	}
	return same(nil)
}

// slippy is the formula of the OpenStreetMap wiki.
func slippy(at quadkey.Position, z uint8) string {
	n := math.Exp2(float64(z))
	lat := max(-85.0511287798, min(85.0511287798, at.Lat)) * math.Pi / 180
	x, y := (at.Lon+180)/360*n, (1-math.Asinh(math.Tan(lat))/math.Pi)/2*n
	return fmt.Sprintf("%d/%d/%d", z, int(min(x, n-1)), int(max(0, min(y, n-1))))
}

// measureOf is what is told of a property by the slow way: a number, an instant or nil.
func measureOf(list []*member, m feature.Measure) any {
	var numbers []*big.Rat
	var times []time.Time
	different := map[string]bool{}
	for _, of := range list {
		v := of.values[m.Property]
		if v != nil {
			different[same(v)] = true
		}
		if n, ok := v.(json.Number); ok {
			r, _ := new(big.Rat).SetString(n.String())
			numbers = append(numbers, r)
		}
		if at, ok := v.(time.Time); ok {
			times = append(times, at)
		}
	}
	sum := new(big.Rat)
	for _, n := range numbers {
		sum.Add(sum, n)
	}
	switch {
	case m.Op == feature.OpDistinct:
		return new(big.Rat).SetInt64(int64(len(different)))
	case m.Op == feature.OpMin && len(times) > 0:
		return slices.MinFunc(times, time.Time.Compare)
	case m.Op == feature.OpMax && len(times) > 0:
		return slices.MaxFunc(times, time.Time.Compare)
	case len(numbers) == 0:
		return nil
	case m.Op == feature.OpMin:
		return slices.MinFunc(numbers, (*big.Rat).Cmp)
	case m.Op == feature.OpMax:
		return slices.MaxFunc(numbers, (*big.Rat).Cmp)
	case m.Op == feature.OpMean:
		return sum.Quo(sum, new(big.Rat).SetInt64(int64(len(numbers))))
	}
	return sum
}

// agree reports whether an answer is the value of a measure. Sums of integers are exact; others are
// compared with the greatest of what was added.
func agree(got []byte, want any, m feature.Measure, list []*member) bool {
	v := decode(got)
	switch want := want.(type) {
	case nil:
		return v == nil
	case time.Time:
		return same(typed(feature.Time, v)) == same(want)
	case *big.Rat:
		n, ok := v.(json.Number)
		if !ok {
			return false
		}
		is, _ := new(big.Rat).SetString(n.String())
		most, whole := 0.0, true
		for _, of := range list {
			if n, ok := of.values[m.Property].(json.Number); ok {
				f, _ := n.Float64()
				most, whole = max(most, math.Abs(f)), whole && !strings.ContainsAny(n.String(), ".e")
			}
		}
		exact := m.Op == feature.OpDistinct || m.Op == feature.OpMin || m.Op == feature.OpMax || m.Op == feature.OpSum && whole
		far, _ := new(big.Rat).Sub(is, want).Float64()
		return far == 0 || !exact && math.Abs(far) <= 1e-14*most
	}
	return false
}

func drawMembers(rt *rapid.T) (list []member, written []points.Point) {
	places := []quadkey.Position{{Lat: 4.25, Lon: 4.75}, {Lat: 4.25, Lon: 3.25}, {Lat: 85.5, Lon: 10.25}, {Lat: -89.75, Lon: 0.25},
		{Lat: 0.25, Lon: 179.75}, {Lat: 0.25, Lon: -179.75}, {Lat: 1.25, Lon: 35.5}}
	for i := range rapid.IntRange(0, 60).Draw(rt, "points") {
		m := member{values: map[string]any{}}
		if m.at = rapid.SampledFrom(places).Draw(rt, "place"); rapid.Bool().Draw(rt, "elsewhere") {
			m.at.Lat = float64(rapid.IntRange(-359, 359).Draw(rt, "lat")|1) / 4
			m.at.Lon = float64(rapid.IntRange(-719, 719).Draw(rt, "lon")|1) / 4
		}
		var members []string
		for _, p := range properties {
			v := rapid.SampledFrom(p.values).Draw(rt, p.name)
			if p.kind == feature.Number && p.name == "seats" && rapid.Bool().Draw(rt, "many") {
				v = fmt.Sprint(rapid.Int64Range(-1000, 1000).Draw(rt, "seats"))
			}
			if v != "" {
				members = append(members, fmt.Sprintf("%q:%s", p.name, v))
				m.values[p.name] = typed(p.kind, decode([]byte(v)))
			}
		}
		list = append(list, m)
		written = append(written, points.Point{ID: fmt.Sprint("p", i), Lat: m.at.Lat, Lon: m.at.Lon, Line: int64(i + 1),
			Properties: []byte("{" + strings.Join(members, ",") + "}")})
	}
	return list, written
}

// Groups, sums and other measures are those of a slow reference, by columns and by a list of the
// features, whatever is grouped by.
func TestAgainstReference(t *testing.T) {
	v := newView(t)
	kinds := map[string]feature.Kind{}
	var schema feature.Schema
	for _, p := range properties {
		kinds[p.name] = p.kind
		if p.kind != feature.Any {
			schema = append(schema, feature.Field{Name: p.name, Kind: p.kind})
		}
	}
	slices.SortFunc(schema, func(a, b feature.Field) int { return cmp.Compare(a.Name, b.Name) })
	groupings := []string{"zone", "park", "tile:0", "tile:3", "tile:9", "tile:22"}
	for _, p := range properties {
		groupings = append(groupings, p.name)
	}
	rapid.Check(t, func(rt *rapid.T) {
		list, written := drawMembers(rt)
		store := must.Get(buildtest.MemoryStore()).In(rt)
		defer store.Close()
		meta := must.Get(points.Build(t.Context(), store, buildtest.SeqOf(written), points.BuildOptions{Name: "test", Schema: schema})).In(rt)
		collection := must.Get(points.Open(t.Context(), store, meta)).In(rt)

		by := rapid.SliceOfNDistinct(rapid.SampledFrom(groupings), 0, feature.MaxGroupings, rapid.ID).Draw(rt, "by")
		var measures []feature.Measure
		for range rapid.IntRange(0, 4).Draw(rt, "measures") {
			p := rapid.SampledFrom(properties).Draw(rt, "of")
			op := rapid.SampledFrom([]string{feature.OpSum, feature.OpMean, feature.OpMin, feature.OpMax, feature.OpDistinct}).Draw(rt, "op")
			measures = append(measures, feature.Measure{Op: op, Property: p.name})
		}
		limit := rapid.IntRange(1, 80).Draw(rt, "limit")
		q := feature.Query{}
		if rapid.Bool().Draw(rt, "boxed") { // in a box that may cross 180 degrees, and pass a filter
			in := quadkey.Box{South: -10.5, North: 50, West: float64(rapid.IntRange(-180, 179).Draw(rt, "west")), East: 5}
			q.In = feature.Box(in)
			terms := []feature.Term{{Name: "seats", Op: "gte", Values: []string{"0"}}}
			q.Filter = must.Get(feature.ParseFilter(collection.Info().Schema, terms)).In(rt)
			list = slices.DeleteFunc(list, func(m member) bool {
				lon := m.at.Lon > in.West && m.at.Lon < in.East || in.West > in.East && (m.at.Lon > in.West || m.at.Lon < in.East)
				seats, ok := m.values["seats"].(json.Number)
				return !lon || m.at.Lat < in.South || m.at.Lat > in.North || !ok || seats.String()[0] == '-'
			})
		}
		for name, layer := range map[string]feature.Layer{"columns": collection, "features": plain{collection}} {
			of := feature.Tally{Measures: measures}
			for _, name := range by {
				g := feature.Grouping{Property: name}
				var z uint8
				if n, _ := fmt.Sscanf(name, "tile:%d", &z); n == 1 {
					g.Place = feature.TilePlacer(z)
				} else if kinds[name] == 0 && name != "mixed" {
					g.Place = must.Get(tally.ByArea(v, name)).In(rt)
				}
				of.By = append(of.By, g)
			}
			to := of.Begin(collection.Info().Schema)
			must.Do(rt, to.Run(t.Context(), layer, &q))
			compare(rt, name, to.Totals(limit), list, by, measures, kinds, limit)
		}
	})
}

// compare compares an answer with a count of every point.
func compare(t *rapid.T, what string, got *feature.Totals, list []member, by []string, measures []feature.Measure,
	kinds map[string]feature.Kind, limit int) {
	want := map[string][]*member{}
	for i := range list {
		var key []string
		for _, name := range by {
			key = append(key, list[i].groupOf(name))
		}
		want[fmt.Sprint(key)] = append(want[fmt.Sprint(key)], &list[i])
	}
	if len(by) == 0 { // sums of nothing are a group, too
		want["[]"] = append(want["[]"], nil...)
	}
	if got.Count != int64(len(list)) || len(got.Groups) != min(limit, len(want)) || got.OtherGroups != int64(max(0, len(want)-limit)) &&
		len(list) > 0 {
		t.Fatalf("%s by %q: %d points in %d and %d groups, want %d in %d", what, by, got.Count, len(got.Groups), got.OtherGroups,
			len(list), len(want))
	}
	shown, least := int64(0), int64(math.MaxInt64)
	for i := range got.Groups {
		g := &got.Groups[i]
		var key []string
		for k, v := range g.Values {
			key = append(key, same(typed(kinds[by[k]], decode(v))))
			area := (by[k] == "zone" || by[k] == "park") && v != nil
			if name := g.Names[k]; area && name != "The "+decode(v).(string) || !area && name != "" {
				t.Fatalf("%s by %q: %s has the name %q", what, by, v, name)
			}
		}
		of := want[fmt.Sprint(key)]
		if g.Count != int64(len(of)) || g.Count > least {
			t.Fatalf("%s by %q: %v has %d points, want %d; the one before has %d", what, by, key, g.Count, len(of), least)
		}
		delete(want, fmt.Sprint(key))
		shown, least = shown+g.Count, g.Count
		for i, m := range measures {
			if w := measureOf(of, m); !agree(g.Measures[i], w, m, of) {
				t.Fatalf("%s by %q: the %s of %s of %v is %s, want %v", what, by, m.Op, m.Property, key, g.Measures[i], w)
			}
		}
	}
	for key, rest := range want {
		if int64(len(rest)) > least {
			t.Fatalf("%s by %q: %s with %d is left out, and a group of %d is not", what, by, key, len(rest), least)
		}
	}
	if got.OtherCount != got.Count-shown {
		t.Fatalf("%s by %q: %d in other groups, want %d", what, by, got.OtherCount, got.Count-shown)
	}
	for i, name := range got.Properties {
		skipped := int64(0)
		if slices.ContainsFunc(measures, func(m feature.Measure) bool { return m.Property == name && m.Op != feature.OpDistinct }) {
			for j := range list {
				_, number := list[j].values[name].(json.Number)
				_, instant := list[j].values[name].(time.Time)
				if list[j].values[name] != nil && !number && !instant {
					skipped++
				}
			}
		}
		if got.Skipped[i] != skipped {
			t.Fatalf("%s: %d values of %s are skipped, want %d", what, got.Skipped[i], name, skipped)
		}
	}
}

// Lines hold no position. Where several areas hold one, the smallest counts, and where none does there is no group.
func TestPlaces(t *testing.T) {
	v := newView(t)
	if _, err := tally.ByArea(v, "river"); !errors.Is(err, tiles.ErrUnknownType) {
		t.Errorf("by lines: %v", err)
	}
	for typ, want := range map[string][]string{"zone": {`"quarter"`, "", `"land"`}, "park": {`"small"`, "", ""}} {
		p := must.Get(tally.ByArea(v, typ)).In(t)
		groups := []uint32{9, 9, 9}
		must.Do(t, p.Place(t.Context(), []quadkey.Position{{Lat: 4.5, Lon: 4.5}, {Lat: -60, Lon: 100}, {Lat: 30, Lon: 1}}, groups))
		for i, g := range groups {
			var got []byte
			if g != 0 {
				got = p.Value(g)
			}
			if string(got) != want[i] {
				t.Errorf("%s of point %d: %s, want %s", typ, i, got, want[i])
			}
		}
	}
}

// What would take too much memory ends with an error that says what to ask instead.
func TestBounds(t *testing.T) {
	one := func(n int) (codes []uint32) {
		for i := range n {
			codes = append(codes, uint32(i))
		}
		return codes
	}
	const many = 1 << 21
	for name, run := range map[string]func(t *testing.T) error{
		"tiles": func(*testing.T) error {
			var at []quadkey.Position
			for i := range many + 1 {
				at = append(at, quadkey.Position{Lat: float64(i/2048) * 0.01, Lon: float64(i%2048) * 0.01})
			}
			return feature.TilePlacer(quadkey.MaxZoom).Place(t.Context(), at, make([]uint32, len(at)))
		},
		"groups": func(*testing.T) error {
			of := feature.Tally{By: []feature.Grouping{{Property: "a"}}}
			return of.Begin(nil).Add(&feature.TallyBatch{Len: many + 1, Groups: [2][]uint32{one(many + 1)}})
		},
		"groups with measures": func(*testing.T) error {
			of := feature.Tally{By: []feature.Grouping{{Property: "a"}}}
			b := feature.TallyBatch{Len: many/32 + 1, Groups: [2][]uint32{one(many/32 + 1)}}
			for p := range 8 {
				of.Measures = append(of.Measures, feature.Measure{Op: feature.OpSum, Property: fmt.Sprint(p)})
				b.Properties = append(b.Properties, feature.TalliedProperty{Codes: make([]uint32, b.Len), Operands: make([]feature.Operand, 1)})
			}
			return of.Begin(nil).Add(&b)
		},
		"values of groups": func(t *testing.T) (err error) {
			to := (&feature.Tally{By: []feature.Grouping{{Property: "a"}}}).Begin(nil)
			for i := 0; i < 100 && err == nil; i++ {
				_, err = to.Group(0, fmt.Appendf(nil, `"%d%s"`, i, strings.Repeat("x", 1<<20)))
			}
			return err
		},
		"different values": func(t *testing.T) (err error) {
			to := (&feature.Tally{Measures: []feature.Measure{{Op: feature.OpDistinct, Property: "a"}}}).Begin(nil)
			for i := 0; i < 100 && err == nil; i++ {
				_, err = to.OperandOf(0, fmt.Appendf(nil, `"%d%s"`, i, strings.Repeat("x", 1<<20)))
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			if err := run(t); !errors.Is(err, feature.ErrTooMuchWork) || feature.DetailOf(err, feature.ErrTooMuchWork) == "" {
				t.Errorf("%v", err)
			}
		})
	}
}

// Several layers are added to one tally, and a tally of columns that another layer lacks.
func TestSeveralLayers(t *testing.T) {
	one, two := &layertest.Memory{}, &layertest.Memory{}
	for i, text := range []string{`{"kind":"a","n":1}`, `{"kind":"b","n":2.5}`, `{"n":"4"}`} {
		p := feature.CompactProperties([]byte(text[1 : len(text)-1]))
		f := feature.Feature{ID: fmt.Sprint(i), Properties: p}
		one.List, two.List = append(one.List, f), append(two.List, f)
	}
	of := feature.Tally{By: []feature.Grouping{{Property: "kind"}}, Measures: []feature.Measure{{Op: feature.OpSum, Property: "n"}}}
	to := of.Begin(feature.Schema{{Name: "kind", Kind: feature.Text}, {Name: "n", Kind: feature.Any}})
	must.Do(t, to.Run(t.Context(), one, &feature.Query{Limit: 1}))
	must.Do(t, to.Run(t.Context(), two, &feature.Query{}))
	got := map[string]string{}
	for _, g := range to.Totals(10).Groups {
		got[string(g.Values[0])] = fmt.Sprintf("%d %s", g.Count, g.Measures[0])
	}
	if want := map[string]string{`"a"`: "2 2", `"b"`: "2 5", "": "2 "}; !maps.Equal(got, want) || to.Len() != 6 {
		t.Errorf("%v, want %v", got, want)
	}
}
