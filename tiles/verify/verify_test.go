package verify

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/paulmach/orb"
	"github.com/peterstace/simplefeatures/geom"

	"quadrille/cellstore"
	"quadrille/cellstore/pebblestore"
	"quadrille/internal/testrace"
	"quadrille/internal/tilestest"
	"quadrille/quadkey"
	"quadrille/tiles"
	"quadrille/tiles/build"
	"quadrille/tiles/internal/grid"
	"quadrille/tiles/internal/layout"
	"quadrille/tiles/mvt"
)

// checkWorlds returns layers with shapes that are difficult for tiles.
func checkWorlds() map[string][]build.Layer {
	region := func(id string, g orb.Geometry) build.Feature {
		return build.Feature{ID: id, Name: strings.ToUpper(id), Geometry: g}
	}
	rnd := rand.New(rand.NewPCG(11, 12))
	var border orb.Ring
	for i := range 60 {
		border = append(border, orb.Point{20 + 0.02*rnd.Float64(), 30 + 0.005*float64(i)})
	}
	west := append(orb.Ring{{19.7, 30}}, border...)
	west = append(west, orb.Point{19.7, border[59][1]}, orb.Point{19.7, 30})
	east := append(orb.Ring{{20.25, 30}}, border...)
	east = append(east, orb.Point{20.25, border[59][1]}, orb.Point{20.25, 30})
	var board []build.Feature
	for x := 0.0; x < 2; x++ {
		for y := 0.0; y < 2; y++ {
			a, b, c, d := orb.Point{x, y}, orb.Point{x + 1, y}, orb.Point{x + 1, y + 1}, orb.Point{x, y + 1}
			board = append(board, region(fmt.Sprintf("a%v%v", x, y), orb.Polygon{{a, b, c, a}}),
				region(fmt.Sprintf("b%v%v", x, y), orb.Polygon{{a, c, d, a}}))
		}
	}
	// This region lies around the south pole, as in a source that is cut at ±180°.
	south := orb.Ring{{180, -90}, {-180, -90}}
	for lon := -180.0; lon <= 180; lon += 10 {
		south = append(south, orb.Point{lon, -70.2})
	}
	south = append(south, south[0])
	return map[string][]build.Layer{
		"neighbours": {
			{Type: "land", Features: []build.Feature{
				region("west", orb.Polygon{west, {{19.8, 30.1}, {19.85, 30.1}, {19.85, 30.15}, {19.8, 30.1}}}),
				region("east", orb.Polygon{east}),
				region("enclave", orb.Polygon{{{19.8, 30.1}, {19.85, 30.1}, {19.85, 30.15}, {19.8, 30.1}}}),
				region("islet", tilestest.Square(20.3, 30.111, 20.301, 30.112)),
			}},
			{Type: "park", Features: []build.Feature{region("p", tilestest.Square(19.9, 30.05, 20.1, 30.1))}},
			{
				Type: "river",
				Features: []build.Feature{
					region("stream", orb.LineString{{19.75, 30.02}, {20.2, 30.2}}),
					region("canal", orb.LineString{{19.9, 30.01}, {20.1, 30.03}}),
				},
			},
		},
		"board": {{Type: "cell", Features: board}},
		"antimeridian": {{
			Type:     "land",
			Features: []build.Feature{region("a", tilestest.Square(175, -10, 185, 10.1)), region("b", tilestest.Square(185, -10, 190, 10.1))},
		}},
		"poles": {{
			Type:     "land",
			Features: []build.Feature{region("s", orb.Polygon{south}), region("n", tilestest.Square(-20, 80.3, 40, 90))},
		}},
		"overlapping": {{
			Type: "claim",
			Features: []build.Feature{
				region("a", tilestest.Square(0, 0, 1, 1)),
				region("b", tilestest.Square(0.5, 0.3, 2, 0.8)),
				region("c", tilestest.Square(0, 0, 1, 1)),
			},
		}},
	}
}

func verify(t *testing.T, store cellstore.Store, meta tiles.Meta) Report {
	t.Helper()
	report, err := Run(context.Background(), store, meta, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func describeFindings(r Report) string {
	b, err := json.MarshalIndent(r.Findings, "", " ")
	if err != nil {
		panic(err)
	}
	return string(b)
}

// TestVerify tests that Run finds no errors in the output of a build.
func TestVerify(t *testing.T) {
	testrace.SkipUnderRace(t, "it builds much data; smaller builds run under the detector")
	if tiles.SchemaVersion < 2 {
		t.Skip("borders meet at vertices from row layout 2 on")
	}
	for name, layers := range checkWorlds() {
		t.Run(name, func(t *testing.T) {
			store, meta, stats := built(t, layers...)
			report := verify(t, store, meta)
			if len(report.Findings) > 0 {
				t.Errorf("%s", describeFindings(report))
			}
			var leaves, mixed int64
			for _, rt := range report.Types {
				if rt.Name == "river" { // a build counts rows of regions
					if slices.Contains(rt.Mixed[:], 0) {
						t.Errorf("rivers have %v rows, want some at every zoom", rt.Mixed)
					}
					continue
				}
				for z := range rt.Leaves {
					leaves, mixed = leaves+rt.Leaves[z], mixed+rt.Mixed[z]
				}
				if rt.Area <= 0 || tiles.SchemaVersion > 1 && (rt.Edges == 0 || rt.Labels != int64(rt.Regions)*(grid.MaxZoom+1)) {
					t.Errorf("%+v", rt)
				}
			}
			if leaves != stats.LeafRows || mixed != stats.MixedRows {
				t.Errorf("%d leaves and %d mixed rows, the build wrote %d and %d", leaves, mixed, stats.LeafRows, stats.MixedRows)
			}
			wantPairs := 0
			if name == "overlapping" {
				wantPairs = 3
			}
			if pairs := report.Types[0].Overlaps; len(pairs) != wantPairs {
				t.Errorf("overlaps %v", pairs)
			}
		})
	}
}

// TestVerifyNaturalEarth tests that Run finds no errors in builds of real borders: a few of the
// coarsest ones, and with the full tests all of the finest.
func TestVerifyNaturalEarth(t *testing.T) {
	testrace.SkipUnderRace(t, "it builds much data; smaller builds run under the detector")
	if tiles.SchemaVersion < 2 {
		t.Skip("borders meet at vertices from row layout 2 on")
	}
	layers := []build.Layer{
		naturalEarth(t, "country", "110m/ne_110m_admin_0_countries.geojson.gz", "ADM0_A3", "NAME",
			"FJI", "LSO", "ZAF", "CHE", "AUT", "ITA", "SVN", "BIH", "HRV", "CUB"),
		naturalEarth(t, "lake", "110m/ne_110m_lakes.geojson.gz", "name", "name"),
	}
	if tilestest.Full {
		layers[0] = naturalEarth(t, "country", "10m/ne_10m_admin_0_countries.geojson.gz", "ADM0_A3", "NAME")
	}
	store, meta, _ := built(t, layers...)
	report := verify(t, store, meta)
	t.Logf("%d rows: %+v", report.Rows, report.Types)
	if len(report.Findings) > 0 {
		t.Errorf("%s", describeFindings(report))
	}
}

// built builds layers.
func built(t *testing.T, layers ...build.Layer) (*pebblestore.Store, tiles.Meta, build.Stats) {
	t.Helper()
	store := tilestest.OpenStore(t)
	meta, stats, err := build.Run(context.Background(), store, layers, build.Options{Timestamp: 1})
	if err != nil {
		t.Fatal(err)
	}
	return store, meta, stats
}

func boundsTable(t *testing.T, store cellstore.Store) cellstore.Table {
	t.Helper()
	table, err := store.Table(context.Background(), layout.TableBounds)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// TestOlderLabels tests that labels of layout 2 are valid, although they have the id and the number
// of their region as their own.
func TestOlderLabels(t *testing.T) {
	store, meta, _ := built(t, build.Layer{Type: "land", Features: []build.Feature{
		{ID: "west", Name: "West", Geometry: tilestest.Square(0, 0, 1, 1)}, {ID: "east", Name: "East", Geometry: tilestest.Square(1, 0, 2, 1)},
	}})
	scan := cellstore.Scan{Selection: cellstore.Selection{Families: []string{"land.label"}}}
	var at []quadkey.Tile
	for row, err := range boundsTable(t, store).Scan(t.Context(), scan) {
		if err != nil {
			t.Fatal(err)
		}
		tile, _ := layout.RowTile(row.Key)
		at = append(at, tile)
	}
	for _, tile := range at {
		edited(t, store, tile, "land.label", "", func(value []byte) []byte {
			var v mvt.LayerView
			if _, _, err := mvt.NextLayer(value[1:], &v); err != nil {
				t.Fatal(err)
			}
			var l layout.LayerWriter
			l.Reset("land_label")
			for i := range v.Len() {
				f, err := v.Feature(i)
				if err != nil {
					t.Fatal(err)
				}
				id := string(v.StringTag(f, layout.TagRegion))
				l.BeginRegion(mvt.Point, layout.FeatureID("land", id), id, string(v.StringTag(f, layout.TagName)))
				l.TagInt(layout.TagRank, map[string]int64{"east": 0, "west": 1}[id])
				var p mvt.Path
				p.Reset(f)
				pts, _, _, _ := p.Next(nil)
				l.Point(pts[0])
				l.End()
			}
			return l.AppendTo([]byte{layout.MarkMixed})
		})
	}
	if report := verify(t, store, meta); len(report.Findings) == 0 {
		t.Error("labels without a region pass for newer ones")
	}
	meta.SchemaVersion, meta.Types[0].LabelOf = tiles.OldestSchemaVersion, ""
	if report := verify(t, store, meta); len(report.Findings) > 0 || report.Types[0].Labels == 0 || report.Types[0].Witnesses == 0 {
		t.Error(describeFindings(report))
	}
	r, err := tiles.Open(t.Context(), store, meta)
	if err != nil {
		t.Fatal(err)
	}
	if _, known := meta.Types[0].LabelFields()["id"]; !known {
		t.Error("their id is not described")
	}
	named := func(_, id string) (string, string, error) { return "name", "called " + id, nil }
	tile, err := r.AppendLabels(t.Context(), nil, quadkey.Tile{}, []tiles.Selector{{Type: "land", ID: "WEST"}}, named)
	if err != nil || !bytes.Contains(tile, []byte("called west")) || bytes.Contains(tile, []byte("called east")) {
		t.Errorf("%q, %v", tile, err)
	}
}

// edited replaces a value of a row by the result of fn. If the result is nil, the value is deleted.
func edited(t *testing.T, store *pebblestore.Store, tile quadkey.Tile, family, qualifier string, fn func([]byte) []byte) {
	t.Helper()
	ctx, table := context.Background(), boundsTable(t, store)
	key := tile.Key()
	var row cellstore.Row
	if _, err := table.Get(ctx, key[:], nil, &row); err != nil {
		t.Fatal(err)
	}
	value, _ := row.Value(family, []byte(qualifier))
	value = fn(bytes.Clone(value))
	op := cellstore.PutAt(family, []byte(qualifier), 2, value)
	if value == nil {
		op = cellstore.DeleteColumn(family, []byte(qualifier), math.MaxInt64-1)
	}
	if err := table.Apply(ctx, cellstore.Mutation{Row: key[:], Ops: []cellstore.Op{op}}); err != nil {
		t.Fatal(err)
	}
}

func drop([]byte) []byte { return nil }

// reshaped changes the rings of one region in a stored vector tile.
func reshaped(id string, fn func(rings [][]mvt.XY) [][]mvt.XY) func([]byte) []byte {
	return func(value []byte) []byte {
		var v mvt.LayerView
		rest, _, err := mvt.NextLayer(value[1:], &v)
		if err != nil {
			panic(err)
		}
		var l layout.LayerWriter
		l.Reset(string(v.Name))
		for i := range v.Len() {
			f, err := v.Feature(i)
			if err != nil {
				panic(err)
			}
			l.Begin(f.ID, f.Type)
			_ = v.EachTag(f, func(k, val []byte) bool { l.TagValue(string(k), val); return true })
			var rings [][]mvt.XY
			var p mvt.Path
			for p.Reset(f); ; {
				pts, _, ok, err := p.Next(nil)
				if err != nil || !ok {
					break
				}
				rings = append(rings, pts)
			}
			if string(v.StringTag(f, layout.TagID)) == id {
				rings = fn(rings)
			}
			for _, r := range rings {
				l.Ring(r)
			}
			l.End()
		}
		return append(l.AppendTo(value[:1:1]), rest...)
	}
}

// rowsOf lists the tiles whose row of a type has the given mark and shows a region.
func rowsOf(t *testing.T, store cellstore.Store, typ, id string, mark byte) []quadkey.Tile {
	t.Helper()
	var found []quadkey.Tile
	var v mvt.LayerView
	scan := cellstore.Scan{Selection: cellstore.Selection{Families: []string{typ + layout.FamilyMVT}}}
	for row, err := range boundsTable(t, store).Scan(context.Background(), scan) {
		if err != nil {
			t.Fatal(err)
		}
		tile, ok := layout.RowTile(row.Key)
		value := row.Cells[0].Value
		if !ok || value[0] != mark {
			continue
		}
		if _, _, err := mvt.NextLayer(value[1:], &v); err != nil {
			t.Fatal(err)
		}
		for i := range v.Len() {
			if f, err := v.Feature(i); err == nil && string(v.StringTag(f, layout.TagID)) == id {
				found = append(found, tile)
			}
		}
	}
	return found
}

// Each kind of damage is found and correctly named.
func TestVerifyFindsDamage(t *testing.T) {
	testrace.SkipUnderRace(t, "it builds much data; smaller builds run under the detector")
	// borderTile returns a deep tile in which west and east meet.
	borderTile := func(t *testing.T, s cellstore.Store, z uint8) quadkey.Tile {
		t.Helper()
		east := rowsOf(t, s, "land", "east", layout.MarkMixed)
		for _, tile := range rowsOf(t, s, "land", "west", layout.MarkMixed) {
			if tile.Z == z && slices.Contains(east, tile) {
				return tile
			}
		}
		t.Fatal("no tile of the border")
		return quadkey.Tile{}
	}
	// inner returns the index of a vertex well within the tile.
	inner := func(ring []mvt.XY) int {
		return slices.IndexFunc(ring, func(p mvt.XY) bool { return min(p.X, p.Y) > 8 && max(p.X, p.Y) < mvt.Extent-8 })
	}
	square := [][]mvt.XY{{{X: 10, Y: 10}, {X: 4000, Y: 10}, {X: 4000, Y: 4000}, {X: 10, Y: 4000}}}
	for _, c := range []struct {
		name   string
		want   Problem
		since  int // row layout
		damage func(t *testing.T, s *pebblestore.Store)
	}{
		{"a vertex moved", ProblemBorder, 2, func(t *testing.T, s *pebblestore.Store) {
			edited(t, s, borderTile(t, s, 9), "land.mvt", "", reshaped("west", func(rings [][]mvt.XY) [][]mvt.XY {
				rings[0][inner(rings[0])].X++
				return rings
			}))
		}},
		{"the lines lost", ProblemBorder, 2, func(t *testing.T, s *pebblestore.Store) {
			edited(t, s, borderTile(t, s, 10), "land.mvt", "", func(value []byte) []byte {
				var v mvt.LayerView
				rest, _, err := mvt.NextLayer(value[1:], &v)
				if err != nil {
					t.Fatal(err)
				}
				return value[:len(value)-len(rest)]
			})
		}},
		{"a label lost", ProblemLabel, 2, func(t *testing.T, s *pebblestore.Store) {
			edited(t, s, quadkey.Tile{}, "land.label", "", drop)
		}},
		{"a label moved out", ProblemLabel, 2, func(t *testing.T, s *pebblestore.Store) {
			islet, err := quadkey.TileAt(20.3005, 30.1115, grid.MaxZoom)
			if err != nil {
				t.Fatal(err)
			}
			edited(t, s, islet, "land.label", "", func([]byte) []byte {
				var l layout.LayerWriter
				l.Reset("land_label")
				l.BeginLabel(layout.FeatureID("land", "islet"), "islet", "", 3)
				l.Point(mvt.XY{X: 1, Y: 4095})
				l.End()
				return l.AppendTo([]byte{layout.MarkMixed})
			})
		}},
		{"a layer twice", ProblemTile, 0, func(t *testing.T, s *pebblestore.Store) {
			edited(t, s, borderTile(t, s, 8), "land.mvt", "", func(v []byte) []byte { return append(v, v[1:]...) })
		}},
		{"bytes cut off", ProblemTile, 0, func(t *testing.T, s *pebblestore.Store) {
			edited(t, s, borderTile(t, s, 8), "land.mvt", "", func(v []byte) []byte { return v[:len(v)-3] })
		}},
		{"a region without a record", ProblemTile, 0, func(t *testing.T, s *pebblestore.Store) {
			edited(t, s, borderTile(t, s, 8), "land.mvt", "", func(v []byte) []byte { return bytes.Replace(v, []byte("west"), []byte("wild"), 1) })
		}},
		{"an odd mark", ProblemRow, 0, func(t *testing.T, s *pebblestore.Store) {
			edited(t, s, borderTile(t, s, 8), "land.mvt", "", func(v []byte) []byte { v[0] = 'X'; return v })
		}},
		{"a leaf that is no square", ProblemLeaf, 0, func(t *testing.T, s *pebblestore.Store) {
			edited(t, s, rowsOf(t, s, "land", "west", layout.MarkLeaf)[0], "land.mvt", "",
				reshaped("west", func([][]mvt.XY) [][]mvt.XY { return square }))
		}},
		{"a row inside a leaf", ProblemRow, 0, func(t *testing.T, s *pebblestore.Store) {
			leaves := rowsOf(t, s, "land", "west", layout.MarkLeaf)
			leaf := slices.MinFunc(leaves, func(a, b quadkey.Tile) int { return int(a.Z) - int(b.Z) })
			edited(t, s, leaf.Children()[1], "land.mvt", "", func([]byte) []byte {
				var l layout.LayerWriter
				l.Reset("land")
				l.BeginRegion(mvt.Polygon, layout.FeatureID("land", "west"), "west", "")
				l.Ring(square[0])
				l.End()
				return l.AppendTo([]byte{layout.MarkMixed})
			})
		}},
		{"a ring that crosses itself", ProblemPolygon, 0, func(t *testing.T, s *pebblestore.Store) {
			edited(t, s, borderTile(t, s, 13), "land.mvt", "", reshaped("west", func([][]mvt.XY) [][]mvt.XY {
				return [][]mvt.XY{{{X: 0, Y: 0}, {X: 100, Y: 100}, {X: 100, Y: 0}, {X: 0, Y: 101}}}
			}))
		}},
		{"a hole outside", ProblemPolygon, 0, func(t *testing.T, s *pebblestore.Store) {
			edited(t, s, borderTile(t, s, 13), "land.mvt", "", reshaped("west", func(rings [][]mvt.XY) [][]mvt.XY {
				return [][]mvt.XY{{{X: 0, Y: 0}, {X: 100, Y: 0}, {X: 100, Y: 100}}, {{X: 200, Y: 200}, {X: 200, Y: 300}, {X: 300, Y: 200}}}
			}))
		}},
		{"borders that cross", ProblemCrossing, 0, func(t *testing.T, s *pebblestore.Store) {
			edited(t, s, borderTile(t, s, 13), "land.mvt", "", reshaped("west", func([][]mvt.XY) [][]mvt.XY { return square }))
		}},
		{"an overlap above the deepest zoom", ProblemOverlap, 0, func(t *testing.T, s *pebblestore.Store) {
			edited(t, s, borderTile(t, s, 9), "land.mvt", "",
				reshaped("west", func([][]mvt.XY) [][]mvt.XY { return [][]mvt.XY{layout.BufferedSquare} }))
		}},
		{"GeoJSON lost", ProblemFormats, 0, func(t *testing.T, s *pebblestore.Store) {
			edited(t, s, borderTile(t, s, 9), "land", "east", drop)
		}},
		{"GeoJSON cut off", ProblemFormats, 0, func(t *testing.T, s *pebblestore.Store) {
			edited(t, s, borderTile(t, s, 9), "land", "east", func(v []byte) []byte { return v[:len(v)-2] })
		}},
		{"a leaf lost", ProblemArea, 0, func(t *testing.T, s *pebblestore.Store) {
			leaves := rowsOf(t, s, "land", "east", layout.MarkLeaf)
			leaf := slices.MinFunc(leaves, func(a, b quadkey.Tile) int { return int(a.Z) - int(b.Z) })
			edited(t, s, leaf, "land.mvt", "", drop)
			edited(t, s, leaf, "land", "east", drop)
		}},
		{"an island lost at a zoom", ProblemZoom, 0, func(t *testing.T, s *pebblestore.Store) {
			for _, tile := range rowsOf(t, s, "land", "islet", layout.MarkMixed) {
				if tile.Z == 12 {
					edited(t, s, tile, "land.mvt", "", drop)
					edited(t, s, tile, "land", "islet", drop)
				}
			}
		}},
		{"answers damaged", ProblemAnswers, 4, func(t *testing.T, s *pebblestore.Store) {
			edited(t, s, borderTile(t, s, 13).Ancestor(8), "land.cells", "", func(v []byte) []byte { v[len(v)/2] ^= 4; return v })
		}},
		{"answers lost", ProblemAnswers, 4, func(t *testing.T, s *pebblestore.Store) {
			edited(t, s, borderTile(t, s, 13).Ancestor(8), "land.cells", "", drop)
		}},
		{"answers of no tile with answers", ProblemAnswers, 4, func(t *testing.T, s *pebblestore.Store) {
			edited(t, s, borderTile(t, s, 13), "land.cells", "", func([]byte) []byte { return []byte("L") })
		}},
		{"a border moved without its answers", ProblemAnswers, 4, func(t *testing.T, s *pebblestore.Store) {
			edited(t, s, borderTile(t, s, 13), "land.mvt", "", reshaped("west", func(rings [][]mvt.XY) [][]mvt.XY {
				rings[0][inner(rings[0])].X++
				return rings
			}))
		}},
		{"river: a line lost at a zoom", ProblemZoom, 0, func(t *testing.T, s *pebblestore.Store) {
			for _, tile := range rowsOf(t, s, "river", "canal", layout.MarkMixed) {
				if tile.Z == 12 {
					edited(t, s, tile, "river.mvt", "", drop)
				}
			}
		}},
		{"river: a line without a record", ProblemTile, 0, func(t *testing.T, s *pebblestore.Store) {
			edited(t, s, rowsOf(t, s, "river", "canal", layout.MarkMixed)[0], "river.mvt", "",
				func(v []byte) []byte { return bytes.Replace(v, []byte("canal"), []byte("drain"), 1) })
		}},
		{"river: bytes cut off", ProblemTile, 0, func(t *testing.T, s *pebblestore.Store) {
			edited(t, s, rowsOf(t, s, "river", "canal", layout.MarkMixed)[0], "river.mvt", "", func(v []byte) []byte { return v[:len(v)-3] })
		}},
		{"river: a label", ProblemRow, 0, func(t *testing.T, s *pebblestore.Store) {
			edited(t, s, rowsOf(t, s, "river", "canal", layout.MarkMixed)[0], "river.label", "", func([]byte) []byte { return []byte("M") })
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			typ := "land"
			if strings.HasPrefix(c.name, "river") {
				typ = "river"
			}
			if tiles.SchemaVersion < c.since {
				t.Skipf("rows of layout %d do not have this", tiles.SchemaVersion)
			}
			store, meta, _ := built(t, checkWorlds()["neighbours"]...)
			c.damage(t, store)
			report := verify(t, store, meta)
			if !slices.ContainsFunc(report.Findings, func(f Finding) bool {
				return f.Type == typ && f.Problem == c.want && f.Count > 0 && len(f.Examples) > 0
			}) {
				t.Errorf("no %s found, but %s", c.want, describeFindings(report))
			}
		})
	}
}

// The polygon checks agree with a geometry library on random rings.
func TestPolygonChecks(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 6))
	valid := 0
	for range 3000 {
		n := 3 + rnd.IntN(4)
		ring := make([]mvt.XY, n)
		for i := range ring {
			ring[i] = mvt.XY{X: 100 + rnd.Int32N(12), Y: 100 + rnd.Int32N(12)}
		}
		area := int64(0)
		for i := range ring {
			j := (i + 1) % n
			area += int64(ring[i].X)*int64(ring[j].Y) - int64(ring[j].X)*int64(ring[i].Y)
		}
		if area < 0 {
			slices.Reverse(ring)
		}
		repeated := false
		for i := range ring {
			repeated = repeated || ring[i] == ring[(i+1)%n]
		}
		if area == 0 || repeated {
			continue // the validator checks that
		}
		v := &verifier{opts: Options{Examples: 1}, types: []*checkType{{ids: []string{"a"}}}}
		p := v.newPart()
		var coords []float64
		for i, q := range ring {
			prev := ring[(i+n-1)%n]
			p.tile.edges = append(p.tile.edges, newCheckEdge(prev, q, 0, 0))
			coords = append(coords, float64(q.X), float64(q.Y))
		}
		p.polygons(0, quadkey.Tile{})
		p.crossings(0, quadkey.Tile{})
		p.coverage(0, quadkey.Tile{})
		coords = append(coords, coords[0], coords[1])
		poly := geom.NewPolygon([]geom.LineString{geom.NewLineString(geom.NewSequence(coords, geom.DimXY))})
		if want := poly.Validate() == nil; want != (len(p.found) == 0) {
			t.Fatalf("%v: valid %v, found %v", ring, want, p.found)
		} else if want {
			valid++
		}
	}
	if valid < 100 {
		t.Errorf("only %d valid rings", valid)
	}
}

// TestAreaWithin tests that the sum of areaWithin over the edges of a polygon is the area of the
// clipped polygon.
func TestAreaWithin(t *testing.T) {
	rnd := rand.New(rand.NewPCG(7, 8))
	for range 2000 {
		n := 3 + rnd.IntN(5)
		var c grid.Clipper
		var edges []grid.Edge
		var sum float64
		pts := make([]mvt.XY, n)
		for i := range pts {
			pts[i] = mvt.XY{X: checkMin + rnd.Int32N(checkMax-checkMin+1), Y: checkMin + rnd.Int32N(checkMax-checkMin+1)}
		}
		for i, p := range pts {
			q := pts[(i+1)%n]
			edges = append(edges, grid.Edge{A: grid.Pt(p.X, p.Y), B: grid.Pt(q.X, q.Y)})
			sum += areaWithin(p, q)
		}
		b := grid.Box{X0: 0, Y0: 0, X1: mvt.Extent, Y1: mvt.Extent}
		var want float64
		for _, e := range c.Clip(edges, grid.WindingFromNorth(edges, grid.Point{}), b, 0) {
			want += float64(int64(e.A.X)*int64(e.B.Y)-int64(e.B.X)*int64(e.A.Y)) / 2
		}
		if math.Abs(sum-want) > float64(n)*2*mvt.Extent {
			t.Fatalf("%v: %v, clipped %v", pts, sum, want)
		}
	}
	for _, c := range []struct {
		ring []mvt.XY
		want float64
	}{
		{layout.BufferedSquare, mvt.Extent * mvt.Extent},
		{[]mvt.XY{{X: 0, Y: 0}, {X: 10, Y: 0}, {X: 10, Y: 10}}, 50},
		{[]mvt.XY{{X: -60, Y: 0}, {X: 0, Y: 0}, {X: 0, Y: 50}}, 0},
		{[]mvt.XY{{X: 4096, Y: 0}, {X: 4100, Y: 0}, {X: 4096, Y: 50}}, 0},
		{[]mvt.XY{{X: 4086, Y: 10}, {X: 4106, Y: 10}, {X: 4106, Y: 30}, {X: 4086, Y: 30}}, 200},
		{[]mvt.XY{{X: -20, Y: 0}, {X: 20, Y: 0}, {X: 20, Y: 40}}, 20*40 - 20*20/2},
	} {
		var sum float64
		for i, p := range c.ring {
			sum += areaWithin(p, c.ring[(i+1)%len(c.ring)])
		}
		if math.Abs(sum-c.want) > 1e-6 {
			t.Errorf("%v: %v, want %v", c.ring, sum, c.want)
		}
	}
}

func TestGeometryArea(t *testing.T) {
	quarter := float64(grid.WorldSize) * grid.WorldSize / 4
	for _, c := range []struct {
		json string
		want float64 // −1: an error
	}{
		{`{"type":"Polygon","coordinates":[[[0,0],[180,0],[180,90],[0,90],[0,0]]]}`, quarter},
		{
			`{"type":"MultiPolygon","coordinates":[[[[0,0],[180,0],[180,90],[0,90],[0,0]]],[[[-180,-90],[0,-90],[0,0],[-180,0],[-180,-90]]]]}`,
			2 * quarter,
		},
		{`{"type":"Polygon","coordinates":[[[0,0],[180,0],[180,90],[0,90],[0,0]],[[0,0],[0,90],[90,90],[90,0],[0,0]]]}`, quarter / 2},
		{`{"type":"Polygon","coordinates":[[[0,0],[180,0]`, -1},
		{`{"type":"Polygon","coordinates":[0,0]}`, -1},
		{`{"type":"Polygon","coordinates":[[[0,"x"]]]}`, -1},
		{`{"type":"Polygon"}`, -1},
		{`{"type":"Polygon","coordinates":[[[0`, -1},
	} {
		got, err := geometryArea([]byte(c.json), 10<<20)
		if (err != nil) != (c.want < 0) || err == nil && math.Abs(got.area-c.want) > got.bound {
			t.Errorf("%s: %+v, %v; want %v", c.json, got, err, c.want)
		}
	}
}

func TestVerifyRefusesAndStops(t *testing.T) {
	store, meta, _ := built(t, checkWorlds()["board"]...)
	newer := meta
	newer.SchemaVersion = tiles.SchemaVersion + 1
	if _, err := Run(context.Background(), store, newer, Options{}); !errors.Is(err, cellstore.ErrNewer) {
		t.Error(err)
	}
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Run(cancelled, store, meta, Options{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// naturalEarth returns a layer of the real data, with all features or only those with the given
// ids. Without the data the test is skipped.
func naturalEarth(t testing.TB, typ, file, id, name string, only ...string) build.Layer {
	t.Helper()
	l := build.Layer{Type: typ}
	for _, s := range tilestest.NaturalEarth(t, file, id, name, only...) {
		l.Features = append(l.Features, build.Feature{ID: s.ID, Name: s.Name, Geometry: s.Geometry})
	}
	return l
}
