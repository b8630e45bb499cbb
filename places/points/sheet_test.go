package points_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	"quadrille/feature"
	"quadrille/feature/layertest"
	"quadrille/internal/must"
	"quadrille/places/points"
	"quadrille/quadkey"
)

// shownBy returns how often the filtered tiles of a zoom show each point, alone or in a cluster.
func shownBy(t testing.TB, c *points.Collection, ref reference, by feature.Filter, z uint8) map[string]int {
	t.Helper()
	tiles := map[quadkey.Tile]bool{}
	for i := range ref {
		tile := must.Get(quadkey.TileAt(ref[i].Lon, ref[i].Lat, z)).In(t)
		for dx := -1; dx <= 1; dx++ { // a cluster may be shown beyond a border
			for dy := -1; dy <= 1; dy++ {
				if x, y := int(tile.X)+dx, int(tile.Y)+dy; x >= 0 && y >= 0 && x < 1<<z && y < 1<<z {
					tiles[quadkey.Tile{Z: z, X: uint32(x), Y: uint32(y)}] = true
				}
			}
		}
	}
	seen := map[string]int{}
	for tile := range tiles {
		for f, err := range c.Tile(t.Context(), tile, by) {
			must.Do(t, err)
			if f.ClusterSize == 0 {
				seen[f.ID]++
				continue
			}
			n, in := int64(0), must.Get(c.Cluster(t.Context(), f.ID, by)).In(t)
			for m, err := range c.Features(t.Context(), &feature.Query{In: in, Filter: by}) {
				must.Do(t, err)
				seen[m.ID]++
				n++
			}
			if n != f.ClusterSize {
				t.Errorf("zoom %d: cluster %s says %d and has %d", z, f.ID, f.ClusterSize, n)
			}
		}
	}
	return seen
}

// Filtered tiles show each point that passes once at every zoom, alone or in a cluster, and no other.
func TestFilteredTiles(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 9))
	for name, at := range distributions {
		n := []int{1, 30, 700}[r.IntN(3)]
		if name == "city" {
			n = 3000
		}
		var ref reference
		for i := range n {
			ref = append(ref, randomPoint(r, i, at))
		}
		c := build(t, ref, points.BuildOptions{})
		for i := range filters {
			by := filters[i].parse(t, c.Info().Schema)
			z := uint8(r.IntN(quadkey.MaxZoom + 1))
			if by == nil {
				continue
			}
			want := map[string]int{}
			for _, p := range ref.passing(&filters[i], everywhere) {
				want[p.ID] = 1
			}
			if got := shownBy(t, c, ref, by, z); !maps.Equal(got, want) {
				t.Errorf("%s, %d points, filter %d, zoom %d: %d are shown, %d pass", name, n, i, z, len(got), len(want))
			}
		}
	}
}

// Without memory for columns filtered tiles have the same items, whose clusters have the same members.
func TestFilteredTilesWithoutColumns(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 1))
	defer points.SetColumnBytes(points.DefaultColumnBytes)
	for name, at := range distributions {
		var ref reference
		for i := range 3000 {
			ref = append(ref, randomPoint(r, i, at))
		}
		c := build(t, ref, points.BuildOptions{})
		items := func(bytes int64, tile quadkey.Tile, by feature.Filter) (all []string) {
			points.SetColumnBytes(bytes)
			for f, err := range c.Tile(t.Context(), tile, by) {
				must.Do(t, err)
				all = append(all, fmt.Sprint(f.ID, f.Position, f.ClusterSize))
				if f.ClusterSize == 0 {
					continue
				}
				in := must.Get(c.Cluster(t.Context(), f.ID, by)).In(t)
				if n := must.Get(c.CountIn(t.Context(), in, by, time.Time{})).In(t); n != f.ClusterSize {
					t.Errorf("%s, tile %v, %d bytes: cluster %s says %d and has %d", name, tile, bytes, f.ID, f.ClusterSize, n)
				}
			}
			slices.Sort(all)
			return all
		}
		for range 30 {
			by := filters[r.IntN(len(filters))].parse(t, c.Info().Schema)
			p := &ref[r.IntN(len(ref))]
			tile := must.Get(quadkey.TileAt(p.Lon, p.Lat, uint8(r.IntN(quadkey.MaxZoom+1)))).In(t)
			if by == nil {
				continue
			}
			if with, without := items(points.DefaultColumnBytes, tile, by), items(0, tile, by); !slices.Equal(with, without) {
				t.Errorf("%s, tile %v, filter %v: %d items with columns, %d without: %v, %v", name, tile, by, len(with), len(without), with, without)
			}
		}
	}
}

// What filters and tallies of a live collection answer is of the rows at that moment.
func TestSheetsOfLive(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 1))
	_, c := openLive(t)
	first := randomPoint(r, 0, distributions["grid"]) // with all properties
	model := map[string]points.Point{first.ID: first}
	write(t, c, putOf(first))
	for round := range 40 {
		var writes []points.Write
		for range 1 + r.IntN(1+50*(round%7)) {
			writes = append(writes, randomWrite(r, randomPoint(r, 1+r.IntN(400), distributions["grid"]), model))
		}
		write(t, c, writes...)
		ref := inOrder(model)
		for i := range filters {
			by := filters[i].parse(t, c.Info().Schema)
			want := int64(len(ref.passing(&filters[i], everywhere)))
			shown := int64(0)
			for f, err := range c.Tile(t.Context(), quadkey.Tile{}, by) {
				must.Do(t, err)
				shown += max(1, f.ClusterSize)
			}
			if n := must.Get(c.CountIn(t.Context(), nil, by, time.Time{})).In(t); n != want || shown != want {
				t.Fatalf("round %d, filter %d: %d counted, %d shown, %d pass", round, i, n, shown, want)
			}
			sameTally(t, c, &feature.Query{Filter: by}, &feature.Tally{
				By:       []feature.Grouping{{Property: "category"}, {Property: "seats"}},
				Measures: []feature.Measure{{Op: feature.OpSum, Property: "price"}, {Op: feature.OpDistinct, Property: "name"}},
			})
		}
	}
}

// Points that have expired are not shown and not counted.
func TestSheetsOfExpiring(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 2))
	var list []points.Point
	for i := range 300 {
		p := randomPoint(r, i, distributions["city"])
		if p.Expires = time.Now().Add(time.Hour); i%3 == 0 {
			p.Expires = time.Now().Add(-time.Hour)
		}
		list = append(list, p)
	}
	c := build(t, list, points.BuildOptions{})
	by := must.Get(feature.ParseFilter(c.Info().Schema, []feature.Term{{Name: "price", Op: feature.OpGreaterOrEqual, Values: []string{"0"}}})).In(t)
	shown := int64(0)
	for f, err := range c.Tile(t.Context(), quadkey.Tile{}, by) {
		must.Do(t, err)
		shown += max(1, f.ClusterSize)
	}
	if n := must.Get(c.CountIn(t.Context(), nil, by, time.Time{})).In(t); n != 200 || shown != 200 {
		t.Errorf("%d counted, %d shown, 200 have not expired", n, shown)
	}
}

// sameTally compares a layer's own tally with that by its features.
func sameTally(t interface{ Fatalf(string, ...any) }, l feature.Layer, q *feature.Query, tally *feature.Tally) *feature.Totals {
	var all [2]*feature.Totals
	for i, of := range []feature.Layer{l, feature.DecodedLayer(l)} {
		a := tally.Begin(l.Info().Schema)
		if err := a.Run(context.Background(), of, q); err != nil {
			t.Fatalf("tally %d: %v", i, err)
		}
		all[i] = a.Totals(1000)
	}
	if a, b := written(all[0]), written(all[1]); a != b || all[0].Count != all[1].Count ||
		!slices.Equal(all[0].Skipped, all[1].Skipped) {
		t.Fatalf("by columns\n%s\nby rows\n%s\n%+v, %+v", a, b, all[0], all[1])
	}
	return all[0]
}

func written(t *feature.Totals) (text string) {
	for _, g := range t.Groups {
		text += fmt.Sprintf("%q %d %q\n", g.Values, g.Count, g.Measures)
	}
	return text
}

var oddValues = []string{`1`, `1.0`, `10e-1`, `-0.1`, `0.2`, `9007199254740993`, `9223372036854775807`, `-9223372036854775808`, `1e300`, `18446744073709551616`,
	`"1"`, `""`, `"x"`, `true`, `null`, `["a","b"]`, `{"b":1}`, `"2024-05-01"`, `0.1`, `1e-9`, ``}

// Sums, means and ends are those of exact arithmetic, and every feature is in one group.
func TestTallies(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(0, 60).Draw(rt, "points")
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 1))
		var list []points.Point
		for i := range n {
			properties := `{"z":0`
			for _, name := range []string{"a", "b"} {
				if v := oddValues[r.IntN(len(oddValues))]; v != "" {
					properties += `,"` + name + `":` + v
				}
			}
			list = append(list, points.Point{
				ID: strconv.Itoa(i), Lat: float64(r.IntN(170) - 85), Lon: float64(r.IntN(360) - 180), Properties: []byte(properties + "}"),
			})
		}
		c := build(t, list, points.BuildOptions{})
		q := &feature.Query{}
		if rapid.Bool().Draw(rt, "box") {
			q.In = feature.Box(quadkey.Box{West: -90, South: -45, East: 120, North: 60})
		}
		measures := []feature.Measure{
			{Op: feature.OpSum, Property: "b"},
			{Op: feature.OpMin, Property: "b"},
			{Op: feature.OpMax, Property: "b"},
			{Op: feature.OpMean, Property: "b"},
			{Op: feature.OpDistinct, Property: "a"},
		}
		by := []feature.Grouping{{Property: "a"}, {Property: "b.b"}, {Place: feature.TilePlacer(2)}}
		tally := &feature.Tally{By: by[:rapid.IntRange(0, 2).Draw(rt, "by")], Measures: measures}
		if rapid.Bool().Draw(rt, "tiles") {
			tally.By = by[1:]
		}
		got := sameTally(rt, c, q, tally)
		sum := int64(0)
		for _, g := range got.Groups {
			sum += g.Count
		}
		if sum != got.Count {
			rt.Fatalf("the groups have %d of %d", sum, got.Count)
		}
		all := sameTally(rt, c, &feature.Query{}, &feature.Tally{Measures: measures})
		exact, numbers, whole := new(big.Rat), 0, true
		for i := range list {
			var p map[string]json.RawMessage
			must.Do(t, json.Unmarshal(list[i].Properties, &p))
			if v := p["b"]; feature.IsNumber(v) {
				x, ok := new(big.Rat).SetString(string(v))
				if !ok {
					rt.Fatalf("%s is no number", v)
				}
				_, err := strconv.ParseInt(string(v), 10, 64)
				whole = whole && err == nil
				exact.Add(exact, x)
				numbers++
			}
		}
		result := all.Groups[0].Measures[0]
		if numbers == 0 {
			if result != nil {
				rt.Fatalf("the sum of nothing is %s", result)
			}
			return
		}
		if whole && string(result) != exact.Num().String() {
			rt.Fatalf("the sum is %s, want %s", result, exact)
		}
		want, _ := exact.Float64()
		is := must.Get(strconv.ParseFloat(string(result), 64)).In(t)
		if math.Abs(is-want) > math.Abs(want)*1e-15+1e-15 && !(math.Abs(want) > 1e290) {
			rt.Fatalf("the sum is %v, want %v", is, want)
		}
	})
}

// However many filters are asked for, and however many values a property has, the memory for columns
// is bounded, and answers are right.
func TestColumnsAreBounded(t *testing.T) {
	const bytes = 300 << 10
	points.SetColumnBytes(bytes)
	defer points.SetColumnBytes(points.DefaultColumnBytes)
	var list []points.Point
	const n = 5000
	for i := range n {
		list = append(list, points.Point{ID: strconv.Itoa(i), Lat: float64(i%100) / 10, Lon: float64(i) / 100,
			Properties: fmt.Appendf(nil, `{"kind":%d,"text":"a long text that only one point has %d"}`, i%3, i)})
	}
	c := build(t, list, points.BuildOptions{})
	count := func(name, op string, values ...string) int64 {
		by := must.Get(feature.ParseFilter(c.Info().Schema, []feature.Term{{Name: name, Op: op, Values: values}})).In(t)
		shown := int64(0)
		for f, err := range c.Tile(t.Context(), quadkey.Tile{}, by) {
			must.Do(t, err)
			shown += max(1, f.ClusterSize)
		}
		if n := must.Get(c.CountIn(t.Context(), nil, by, time.Time{})).In(t); n != shown {
			t.Errorf("%s %v: %d counted, %d shown", name, values, n, shown)
		}
		return shown
	}
	if got := count("text", "", "a long text that only one point has 7"); got != 1 {
		t.Errorf("%d have a text", got)
	}
	for i := range 300 {
		if got := count("kind", "", "1", strconv.Itoa(i+3)); got != (n+1)/3 {
			t.Fatalf("%d are of the kind", got)
		}
	}
	if used := points.ColumnBytes(); used > bytes {
		t.Errorf("%d bytes are used", used)
	}
	sameTally(t, c, &feature.Query{}, &feature.Tally{By: []feature.Grouping{{Property: "text"}}})
}

// A property of a live collection may get too many values for a column while points are written.
func TestColumnsThatOutgrow(t *testing.T) {
	points.SetColumnBytes(300 << 10)
	defer points.SetColumnBytes(points.DefaultColumnBytes)
	_, c := openLive(t)
	for round := range 6 {
		var writes []points.Write
		for i := range 200 {
			writes = append(writes, points.Write{Kind: points.Put, ID: fmt.Sprint(round, "-", i), Lat: float64(i) / 10, Lon: float64(round),
				Properties: fmt.Appendf(nil, `{"kind":%d,"text":"a text of a hundred bytes or so, which is only that of one point, with a number: %050d"}`, i%3, round*200+i)})
		}
		write(t, c, writes...)
		by := must.Get(feature.ParseFilter(c.Info().Schema, []feature.Term{
			{Name: "text", Op: feature.OpPrefix, Values: []string{"a text"}}, {Name: "kind", Values: []string{"1"}},
		})).In(t)
		want := int64(round+1) * 67
		if n := must.Get(c.CountIn(t.Context(), nil, by, time.Time{})).In(t); n != want {
			t.Errorf("round %d: %d, want %d", round, n, want)
		}
		sameTally(t, c, &feature.Query{Filter: by}, &feature.Tally{By: []feature.Grouping{{Property: "kind"}}, Measures: []feature.Measure{{Op: feature.OpDistinct, Property: "text"}}})
	}
}

// The state of a collection is its own, and changes with each write and at no other time.
func TestState(t *testing.T) {
	l, c := openLive(t)
	other := must.Get(l.Create(t.Context(), points.Meta{Name: "other"})).In(t)
	published := build(t, reference{randomPoint(rand.New(rand.NewPCG(1, 2)), 0, distributions["grid"])}, points.BuildOptions{})
	seen := map[uint64]bool{0: true}
	next := func(of feature.Versioned) {
		t.Helper()
		state := must.Get(of.State(t.Context())).In(t)
		if again := must.Get(of.State(t.Context())).In(t); seen[state] || again != state {
			t.Errorf("state %d, then %d without a write", state, again)
		}
		seen[state] = true
	}
	next(c)
	next(other)
	next(published)
	for _, w := range []points.Write{{Kind: points.Put, ID: "a"}, {Kind: points.Put, ID: "a", Lat: 1}, {Kind: points.Delete, ID: "a"}} {
		write(t, c, w)
		next(c)
	}
}

// Whoever waits for a sheet or a selection that another request makes gives its processor to that one.
func TestWaitingForSheets(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 2))
	var ref reference
	for i := range 3000 {
		ref = append(ref, randomPoint(r, i, distributions["city"]))
	}
	c := build(t, ref, points.BuildOptions{})
	for _, value := range []string{"zoo", "bakery"} { // the first one needs the sheet, too
		by := must.Get(feature.ParseFilter(c.Info().Schema, []feature.Term{{Name: "category", Values: []string{value}}})).In(t)
		layertest.Waiting(t, func(ctx context.Context) error {
			return feature.Each(c.Tile(ctx, quadkey.Tile{}, by), func(*feature.Feature) error { return nil })
		})
	}
}
