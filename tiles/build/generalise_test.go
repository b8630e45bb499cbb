package build

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/paulmach/orb"
	"github.com/paulmach/orb/geojson"

	"quadrille/cellstore"
	"quadrille/feature"
	"quadrille/internal/testrace"
	"quadrille/internal/tilestest"
	"quadrille/quadkey"
	"quadrille/tiles"
	"quadrille/tiles/internal/grid"
	"quadrille/tiles/internal/layout"
	"quadrille/tiles/mvt"
	"quadrille/tiles/verify"
)

// patch is the tile that the layers below cover.
var patch = quadkey.Tile{Z: 7, X: 66, Y: 44}

// patchwork returns a layer of side times side crooked cells that cover the patch. Their outline
// lies on tile lines.
func patchwork(typ string, side int, rnd *rand.Rand) Layer {
	at := make([][]orb.Point, side+1)
	box := grid.TileBox(int(patch.Z), patch.X, patch.Y, false)
	width := float64(box.X1 - box.X0)
	place := func(u, v float64) orb.Point {
		return orb.Point{(float64(box.X0)+u*width)/grid.WorldSize*360 - 180, layout.MercatorLat(float64(box.Y0) + v*width)}
	}
	for i := range at {
		for j := range side + 1 {
			u, v := float64(i), float64(j)
			if i > 0 && i < side {
				u += 0.8 * (rnd.Float64() - 0.5)
			}
			if j > 0 && j < side {
				v += 0.8 * (rnd.Float64() - 0.5)
			}
			at[i] = append(at[i], place(u/float64(side), v/float64(side)))
		}
	}
	l := Layer{Type: typ}
	for i := range side {
		for j := range side {
			l.Features = append(l.Features, Feature{
				ID: fmt.Sprintf("%s-%02d-%02d", typ, i, j), Name: fmt.Sprintf("Cell %d of %d", j, i),
				Geometry: orb.Polygon{{at[i][j], at[i+1][j], at[i+1][j+1], at[i][j+1], at[i][j]}},
			})
		}
	}
	return l
}

// runBudget builds layers with a budget and verifies the result.
func runBudget(t *testing.T, budget int64, layers ...Layer) (cellstore.Store, *tiles.Reader, tiles.Meta) {
	t.Helper()
	layers = slices.Clone(layers)
	for i := range layers {
		layers[i].Features = slices.Clone(layers[i].Features)
	}
	store := tilestest.OpenStore(t)
	meta, _, err := Run(t.Context(), store, layers, Options{Timestamp: 1, TileBudget: budget})
	if err != nil {
		t.Fatal(err)
	}
	report, err := verify.Run(t.Context(), store, meta, verify.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Findings) > 0 {
		text, _ := json.MarshalIndent(report.Findings, "", " ")
		t.Errorf("budget %d: %s", budget, text)
	}
	r, err := tiles.Open(t.Context(), store, meta)
	if err != nil {
		t.Fatal(err)
	}
	return store, r, meta
}

func gzipped(t *testing.T, b []byte) int {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	if _, err := z.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Len()
}

// tilesOf returns every tile of a zoom on the patch in both forms.
func tilesOf(t *testing.T, r *tiles.Reader, layers []tiles.Selector, z uint8) (vector, text map[quadkey.Tile][]byte) {
	t.Helper()
	vector, text = map[quadkey.Tile][]byte{}, map[quadkey.Tile][]byte{}
	first, last := patch.AtZoom(z)
	for x := first.X; x <= last.X; x++ {
		for y := first.Y; y <= last.Y; y++ {
			tile := quadkey.Tile{Z: z, X: x, Y: y}
			var err error
			if vector[tile], err = r.AppendMVT(t.Context(), nil, tile, layers); err != nil {
				t.Fatal(err)
			}
			if text[tile], err = r.AppendGeoJSON(t.Context(), nil, tile, layers); err != nil {
				t.Fatal(err)
			}
		}
	}
	return vector, text
}

// eachPolygon calls fn for the polygon features of a type in a vector tile.
func eachPolygon(t *testing.T, typ string, tile []byte, fn func(id string, merged int, rings [][]mvt.XY)) {
	t.Helper()
	for len(tile) > 0 {
		var v mvt.LayerView
		rest, _, err := mvt.NextLayer(tile, &v)
		if err != nil {
			t.Fatal(err)
		}
		tile = rest
		if string(v.Name) != typ {
			continue
		}
		for i := range v.Len() {
			f, err := v.Feature(i)
			if err != nil {
				t.Fatal(err)
			}
			merged := 0.0
			_ = v.EachTag(f, func(k, val []byte) bool {
				if string(k) == layout.TagMerged {
					merged, _ = mvt.NumberValue(val)
				}
				return true
			})
			fn(string(v.StringTag(f, layout.TagID)), int(merged), ringsOf(t, f))
		}
	}
}

const budgetZooms = 10 // of the tests below: deeper ones show everything

// A data set with a tiny budget stays within it in every tile and form, and covers the same ground
// at every zoom. Deeper zooms only add detail, and tiles agree with each other. Lookups give the
// same answers as without a budget.
func TestTileBudget(t *testing.T) {
	testrace.SkipUnderRace(t, "it builds much data; smaller builds run under the detector")
	t.Parallel() // it takes long, and one build does not keep two processors busy
	first, seeds := uint64(0), uint64(2)
	switch {
	case tilestest.Full:
		seeds = 12
	case testing.Short():
		first = 1 // whose patchwork is the smallest
	}
	for seed := first; seed < seeds; seed++ {
		rnd := rand.New(rand.NewPCG(seed, 2))
		layers := []Layer{patchwork("ward", 14+rnd.IntN(8), rnd), patchwork("area", 2+rnd.IntN(3), rnd)}
		both := []tiles.Selector{{Type: "ward"}, {Type: "area"}}
		budget := 2500 + rnd.Int64N(3000)
		_, exact, plain := runBudget(t, 0, layers...)
		_, r, meta := runBudget(t, budget, layers...)
		if plain.Types[0].MergedBelow() != 0 || meta.Types[0].MergedBelow() == 0 || meta.Types[0].MergedBelow() > budgetZooms {
			t.Fatalf("seed %d: generalised %+v", seed, meta.Types[0].Generalised)
		}
		var known map[string]bool // ids at the previous zoom
		for z := range uint8(budgetZooms + 1) {
			vector, text := tilesOf(t, r, both, z)
			all, _ := tilesOf(t, exact, both, z)
			shown := map[string]bool{}
			regions := map[string]int{}
			for tile, b := range vector {
				if n := max(gzipped(t, b), gzipped(t, text[tile])); int64(n) > budget {
					t.Errorf("seed %d: tile %v has %d bytes, the budget is %d", seed, tile, n, budget)
				}
				var areas [2]int64 // with the budget and without
				for i, b := range [2][]byte{b, all[tile]} {
					eachPolygon(t, "ward", b, func(id string, merged int, rings [][]mvt.XY) {
						for _, ring := range rings {
							areas[i] += grid.RingArea2(ring)
						}
						if i == 0 {
							shown[id], regions[id] = true, max(merged, 1)
						}
					})
				}
				// Where cells are smaller than the tolerance, the corners of the outline may
				// vanish: four triangles.
				if d := areas[0] - areas[1]; d != 0 && (z > 2 || max(d, -d) > 4*grid.MaxThinArea2) {
					t.Errorf("seed %d: tile %v covers %d, %d without a budget", seed, tile, areas[0], areas[1])
				}
			}
			sum := 0
			for id, n := range regions {
				if sum += n; strings.HasPrefix(id, "~") {
					delete(shown, id)
				}
			}
			if sum != meta.Types[0].Regions {
				t.Errorf("seed %d: the polygons of zoom %d stand for %d regions of %d", seed, z, sum, meta.Types[0].Regions)
			}
			if int(z) < meta.Types[0].MergedBelow() {
				if g := meta.Types[0].Generalised[z]; g.Zoom != int(z) || g.ShownRegions != len(shown) ||
					g.MergedPolygons != len(regions)-len(shown) {
					t.Errorf("seed %d: %+v, %d of %d polygons are regions", seed, g, len(shown), len(regions))
				}
			}
			for id := range known {
				if !shown[id] {
					t.Errorf("seed %d: %s is gone at zoom %d", seed, id, z)
				}
			}
			known = shown
			selectorAgrees(t, r, z, shown, layers[0].Features[rnd.IntN(len(layers[0].Features))].ID)
			neighboursAgree(t, z, text)
		}
		sameLookups(t, rnd, exact, r, layers)
	}
}

// selectorAgrees checks the vector tiles of a selector of one ward. They have the ward if zoom z
// shows it under its own id, and nothing if the ward is merged into another polygon.
func selectorAgrees(t *testing.T, r *tiles.Reader, z uint8, shown map[string]bool, id string) {
	t.Helper()
	found := false
	vector, _ := tilesOf(t, r, []tiles.Selector{{Type: "ward", ID: id}}, z)
	for tile, b := range vector {
		eachPolygon(t, "ward", b, func(other string, _ int, _ [][]mvt.XY) {
			found = true
			if other != id {
				t.Errorf("tile %v has %s, asked for %s", tile, other, id)
			}
		})
	}
	if found != shown[id] {
		t.Errorf("zoom %d: a selector finds %s: %v, the zoom shows it: %v", z, id, found, shown[id])
	}
}

// neighboursAgree checks that polygons meet their continuation on the other side
// of each upright tile line.
func neighboursAgree(t *testing.T, z uint8, text map[quadkey.Tile][]byte) {
	t.Helper()
	// along returns a weighted sum of each region's edges on a tile line: those that run north less
	// those that run south.
	along := func(tile quadkey.Tile, lon float64) map[string]float64 {
		fc, err := geojson.UnmarshalFeatureCollection([]byte(`{"type":"FeatureCollection","features":[` + string(text[tile]) + `]}`))
		if err != nil {
			t.Fatal(err)
		}
		sums := map[string]float64{}
		for _, f := range fc.Features {
			polys := tilestest.Polygons(f.Geometry)
			for _, p := range polys {
				for _, ring := range p {
					for i := range ring[1:] {
						a, b := ring[i], ring[i+1]
						if math.Abs(a[0]-lon) < 1e-6 && math.Abs(b[0]-lon) < 1e-6 {
							// The weight varies along the line, so different positions have
							// different sums.
							id := fmt.Sprint(f.ID)
							sums[id] += (b[1] - a[1]) * (200 + b[1] + a[1])
						}
					}
				}
			}
		}
		return sums
	}
	for tile := range text {
		east := quadkey.Tile{Z: z, X: tile.X + 1, Y: tile.Y}
		if _, ok := text[east]; !ok {
			continue
		}
		lon := tile.Bound().East
		a, b := along(tile, lon), along(east, lon)
		for id := range a {
			if math.Abs(a[id]+b[id]) > 1e-3 {
				t.Errorf("%v and %v differ about %s: %v, %v", tile, east, id, a[id], b[id])
			}
		}
		if len(a) != len(b) {
			t.Errorf("%v and %v have %d and %d polygons at their line", tile, east, len(a), len(b))
		}
	}
}

// near returns a position on the patch or next to it.
func near(rnd *rand.Rand) (lat, lon float64) {
	b := patch.Bound()
	return b.South - 0.2 + (b.North-b.South+0.4)*rnd.Float64(), b.West - 0.2 + (b.East-b.West+0.4)*rnd.Float64()
}

// within lists the regions of a type that meet a box, with their parts in it.
func within(t *testing.T, r *tiles.Reader, typ string, box quadkey.Box) (found []string) {
	t.Helper()
	l, err := r.Layer(typ)
	if err != nil {
		t.Fatal(err)
	}
	for f, err := range l.Features(t.Context(), &feature.Query{In: feature.Box(box), Detail: feature.WithoutGeometry}) {
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, fmt.Sprint(f.ID, f.Name(), tiles.ClipBounds(box, f.Bounds)))
	}
	return found
}

// sameLookups compares the answers of two readers about places, boxes, and
// regions.
func sameLookups(t *testing.T, rnd *rand.Rand, a, b *tiles.Reader, layers []Layer) {
	t.Helper()
	ctx := context.Background()
	for range 300 {
		lat, lon := near(rnd)
		x, err := a.At(ctx, lat, lon)
		y, err2 := b.At(ctx, lat, lon)
		if err := errors.Join(err, err2); err != nil || !reflect.DeepEqual(x, y) {
			t.Fatalf("at %v %v: %v, without a budget %v: %v", lat, lon, y, x, err)
		}
	}
	for range 30 {
		lat, lon := near(rnd)
		x, err := a.Nearest(ctx, lat, lon, 50_000)
		y, err2 := b.Nearest(ctx, lat, lon, 50_000)
		if err := errors.Join(err, err2); err != nil || !reflect.DeepEqual(x, y) {
			t.Fatalf("nearest to %v %v: %v, without a budget %v: %v", lat, lon, y, x, err)
		}
	}
	for range 12 {
		s, w := near(rnd)
		box := quadkey.Box{West: w, South: s, East: w + rnd.Float64(), North: s + rnd.Float64()}
		for _, l := range layers {
			if x, y := within(t, a, l.Type, box), within(t, b, l.Type, box); !slices.Equal(x, y) {
				t.Fatalf("%s within %v: %v, without a budget %v", l.Type, box, y, x)
			}
		}
	}
	for _, l := range layers {
		for _, f := range l.Features {
			x, err := a.Region(ctx, l.Type, f.ID, true)
			y, err2 := b.Region(ctx, l.Type, f.ID, true)
			if err := errors.Join(err, err2); err != nil || !bytes.Equal(x, y) {
				t.Fatalf("%s %s: %s, without a budget %s: %v", l.Type, f.ID, y, x, err)
			}
			box := quadkey.Box{West: -180, South: -85, East: 180, North: 85}
			x, _, err = a.AppendCutout(ctx, nil, l.Type, f.ID, box)
			y, _, err2 = b.AppendCutout(ctx, nil, l.Type, f.ID, box)
			if err := errors.Join(err, err2); err != nil || len(y) == 0 || !bytes.Equal(x, y) {
				t.Fatalf("cutout of %s %s: %d bytes, without a budget %d: %v", l.Type, f.ID, len(y), len(x), err)
			}
		}
	}
}

// If a data set is within the budget, it is the same as without a budget, byte for byte.
func TestTileBudgetThatIsKept(t *testing.T) {
	testrace.SkipUnderRace(t, "it builds much data; smaller builds run under the detector")
	rnd := rand.New(rand.NewPCG(3, 4))
	layer := patchwork("ward", 8, rnd)
	cells := func(budget int64) []string {
		store, _, _ := runBudget(t, budget, layer)
		return cellsOf(t, store, layout.TableBounds)
	}
	if !slices.Equal(cells(0), cells(DefaultTileBudget)) {
		t.Error("a budget that everything keeps changes rows")
	}
}

// Islands merge with near regions. Overlapping regions become one that covers its ground once.
func TestTileBudgetIslands(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 6))
	isles := Layer{Type: "isle"}
	for i := range 260 {
		lon, lat := 179+2*rnd.Float64(), 2*rnd.Float64()-1
		isles.Features = append(isles.Features, Feature{
			ID: fmt.Sprintf("i%03d", i), Name: fmt.Sprintf("Isle %d", i),
			Geometry: tilestest.Square(lon, lat, lon+0.002+0.04*rnd.Float64(), lat+0.002+0.03*rnd.Float64()),
		})
	}
	// One region lies across the antimeridian, over others.
	isles.Features = append(isles.Features,
		Feature{ID: "east", Geometry: tilestest.Square(179.9, -0.2, 180.1, 0.1)},
		Feature{ID: "over", Geometry: tilestest.Square(179.95, -0.1, 180.2, 0.3)})
	_, _, meta := runBudget(t, 2500, isles)
	if g := meta.Types[0].Generalised; len(g) == 0 || g[0].MergedPolygons == 0 {
		t.Errorf("%+v", g)
	}
}

// TestShareBorders tests very many regions on both sides of one border. Each is linked to at least
// one neighbour, but not all pairs are linked, because there would be too many.
func TestShareBorders(t *testing.T) {
	const side = 20_000
	reg := grid.NewShareSets()
	var shares []grid.Share
	for r := range int32(2 * side) {
		shares = append(shares, grid.Share{Region: r, Times: 1 - r%2*2})
	}
	set := reg.Number(shares)
	var lines []grid.Line
	for y := range int32(100) {
		lines = append(lines, grid.Line{A: grid.Pt(5, y), B: grid.Pt(5, y+1), ShareSet: set})
	}
	m := &merger{ties: make([][]tie, 2*side)}
	if err := m.shareBorders(t.Context(), lines, reg, make([]int, 2*side)); err != nil {
		t.Fatal(err)
	}
	n := 0
	for r, ties := range m.ties {
		n += len(ties)
		if len(ties) == 0 || ties[0].length != 100 {
			t.Fatalf("region %d has the ties %v", r, ties)
		}
	}
	if n > 4*2*side {
		t.Errorf("%d ties of %d regions", n, 2*side)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := m.shareBorders(ctx, lines, reg, make([]int, 2*side)); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
}

// A merged polygon has the id of its largest region only if the largest region is drawn.
func TestMergedIsDrawn(t *testing.T) {
	reg := grid.NewShareSets()
	line := func(region int32) grid.Line {
		return grid.Line{B: grid.Pt(0, 1), ShareSet: reg.Number([]grid.Share{{Region: region, Times: 1}})}
	}
	in := []*region{{id: "a", area: 1 << 40}, {id: "b", number: 1, head: 1, area: 1}}
	pair := &region{id: "a", number: 2, merged: 2}
	g := &generaliser{b: &build{regions: append(in[:2:2], pair)}, lv: &levels{reg: reg}, visible: []bool{true, true, true}}
	for _, c := range []struct {
		drawn int32
		id    string
	}{{0, "a"}, {1, "~a"}, {2, "a"}} {
		g.findDrawn([]grid.Line{line(c.drawn)})
		if m := g.merged(3, "land", in); m.id != c.id || m.merged != 2 {
			t.Errorf("with %d drawn: %q of %d", c.drawn, m.id, m.merged)
		}
	}
}

func TestSimplifies(t *testing.T) {
	for _, tc := range []struct {
		coarse, edges, bytes int
		want                 bool
	}{
		{0, manyEdges + 1, 100, true},
		{0, manyEdges, 100, false},
		{fewCoarse, mostEdges + 1, 100, true},
		{fewCoarse, mostEdges, 50, false},
		{fewCoarse + 1, mostEdges + 1, 80, true},
		{fewCoarse + 1, mostEdges + 1, 95, false}, // the last step hardly helped
		{mostCoarse, mostEdges + 1, 50, false},
	} {
		g := &target{coarse: tc.coarse, last: map[int]layerSize{0: {bytes: 100}}}
		if got := g.simplifies(0, &layerSize{bytes: tc.bytes, edges: tc.edges, heads: []int32{7}}); got != tc.want {
			t.Errorf("%+v: %v", tc, got)
		}
	}
}

// TestRefineSimplifiesFirst tests that refine merges no regions at a zoom as long as one of its
// tiles is too large because of a coast alone. It simplifies borders instead.
func TestRefineSimplifiesFirst(t *testing.T) {
	tile := func(edges int, heads ...int32) tileSize {
		return tileSize{layers: []layerSize{{bytes: 1000, edges: edges, heads: heads}}}
	}
	g := &generaliser{b: &build{opts: Options{TileBudget: 500}}, limit: 1 << 20, trees: []mergeTree{{{small: 0, into: 1}}}}
	for _, coast := range []bool{true, false} {
		r := &target{g: g, groups: newGroups(2), cuts: []int{0}, coarse: fewCoarse}
		over := []tileSize{tile(800, 0, 1)}
		if coast {
			over = append(over, tile(4000, 0))
		}
		if err := r.refine(4, over); err != nil {
			t.Fatal(err)
		}
		if simpler, merged := r.coarse > fewCoarse, r.cuts[0] > 0; simpler != coast || merged == coast {
			t.Errorf("with a coast %v: simpler %v, merged %v", coast, simpler, merged)
		}
	}
}

// Coasts make the tiles of these countries large. Regions merge only after coasts are simplified as
// far as possible.
func TestTileBudgetOfCoasts(t *testing.T) {
	testrace.SkipUnderRace(t, "it builds much data; smaller builds run under the detector")
	rnd := rand.New(rand.NewPCG(9, 10))
	layer := Layer{Type: "land"}
	for country := range 3 {
		var islands orb.MultiPolygon
		for range 300 {
			x, y := float64(country)+0.2*rnd.Float64(), rnd.Float64()
			var ring orb.Ring
			const n = 40
			for i := range n {
				a := 2 * math.Pi * float64(i) / n
				d := 0.004 + 0.004*rnd.Float64()
				ring = append(ring, orb.Point{x + d*math.Cos(a), y + d*math.Sin(a)})
			}
			islands = append(islands, orb.Polygon{append(ring, ring[0])})
		}
		layer.Features = append(layer.Features, Feature{ID: fmt.Sprint("c", country), Geometry: islands})
	}
	_, _, meta := runBudget(t, 16000, layer)
	list := meta.Types[0].Generalised
	if len(list) == 0 {
		t.Fatal("everything fits into the budget")
	}
	for _, g := range list {
		if g.MergedPolygons > 0 || g.SimplifiedZooms == 0 || g.ShownRegions != 3 {
			t.Errorf("%+v", g)
		}
	}
}

// A border too detailed for the budget is simplified. If that is impossible, it is refused before
// any row is written.
func TestTileBudgetOfOneRegion(t *testing.T) {
	testrace.SkipUnderRace(t, "it builds much data; smaller builds run under the detector")
	rnd := rand.New(rand.NewPCG(7, 8))
	var ring orb.Ring
	const n = 2500
	for i := range n {
		a := 2 * math.Pi * float64(i) / n
		d := 20 + 8*rnd.Float64()
		ring = append(ring, orb.Point{d / 20 * math.Cos(a), d / 20 * math.Sin(a)})
	}
	layer := Layer{Type: "star", Features: []Feature{{ID: "s", Geometry: orb.Polygon{append(ring, ring[0])}}}}
	_, _, meta := runBudget(t, 2500, layer)
	if g := meta.Types[0].Generalised; len(g) == 0 || g[0].SimplifiedZooms == 0 || g[0].ShownRegions != 1 {
		t.Errorf("%+v", g)
	}
	store := tilestest.OpenStore(t)
	_, _, err := Run(t.Context(), store, []Layer{layer}, Options{TileBudget: 100})
	if !errors.Is(err, ErrTooDetailed) {
		t.Errorf("a budget of 100 bytes: %v", err)
	}
	for _, name := range []string{layout.TableBounds, layout.TableRegions} {
		if left := cellsOf(t, store, name); len(left) > 0 {
			t.Fatalf("a refused build left %s in %s", left[0], name)
		}
	}
}
