package build

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/paulmach/orb"
	"github.com/paulmach/orb/geojson"

	"quadrille/cellstore"
	"quadrille/cellstore/pebblestore"
	"quadrille/internal/testrace"
	"quadrille/internal/tilestest"
	"quadrille/quadkey"
	"quadrille/tiles"
	"quadrille/tiles/internal/grid"
	"quadrille/tiles/internal/layout"
	"quadrille/tiles/mvt"
	"quadrille/tiles/verify"
)

// buildReader builds layers and opens a reader on them.
func buildReader(t testing.TB, layers ...Layer) (*tiles.Reader, *pebblestore.Store, Stats) {
	t.Helper()
	store := tilestest.OpenStore(t)
	meta, stats, err := Run(context.Background(), store, layers, Options{Timestamp: 1})
	if err != nil {
		t.Fatal(err)
	}
	r, err := tiles.Open(context.Background(), store, meta)
	if err != nil {
		t.Fatal(err)
	}
	return r, store, stats
}

// naturalEarth returns a layer of the real data, with all features or only those with the given
// ids. Without the data the test is skipped.
func naturalEarth(t testing.TB, typ, file, id, name string, only ...string) Layer {
	t.Helper()
	l := Layer{Type: typ}
	for _, s := range tilestest.NaturalEarth(t, file, id, name, only...) {
		l.Features = append(l.Features, Feature{ID: s.ID, Name: s.Name, Geometry: s.Geometry})
	}
	return l
}

// faults describes the findings about a build, or returns "".
func faults(t testing.TB, store cellstore.Store, r *tiles.Reader) string {
	t.Helper()
	list := findings(t, store, r)
	if len(list) == 0 {
		return ""
	}
	return fmt.Sprintf("%+v", list)
}

func findings(t testing.TB, store cellstore.Store, r *tiles.Reader) []verify.Finding {
	t.Helper()
	report, err := verify.Run(context.Background(), store, tiles.Meta{SchemaVersion: tiles.SchemaVersion, Types: r.Types()}, verify.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return report.Findings
}

// reference is slow but obvious: it has the chains of every region at every zoom and checks edge by
// edge.
type reference struct {
	typ     string
	regions []*region
	levels  [][grid.MaxZoom + 1][]grid.Edge
}

func newReferences(t testing.TB, layers ...Layer) []*reference {
	t.Helper()
	b := &build{opts: Options{Workers: 2}}
	if _, err := b.addLayers(layers); err != nil {
		t.Fatal(err)
	}
	lv, err := b.arrange(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var refs []*reference
	for _, l := range b.layers {
		ref := &reference{typ: l.typ, regions: l.regions, levels: make([][grid.MaxZoom + 1][]grid.Edge, len(l.regions))}
		for z := range lv.lines {
			edges := grid.EdgesByRegion(lv.lines[z], lv.reg, len(b.regions))
			for i, r := range l.regions {
				ref.levels[i][z] = edges[r.number]
			}
		}
		refs = append(refs, ref)
	}
	return refs
}

// at lists the regions that hold a point, by winding number. The point is in sub-units of the grid.
// It counts along a ray to the north, because a ray to the east would run around the world.
func (ref *reference) at(x, y int64) []string {
	var ids []string
	for i, r := range ref.regions {
		w := 0
		for _, e := range ref.levels[i][grid.MaxZoom] {
			for _, shift := range [3]int64{-grid.WorldSize, 0, grid.WorldSize} {
				ax, bx := (int64(e.A.X)+shift)<<subBits, (int64(e.B.X)+shift)<<subBits
				if (ax <= x) == (bx <= x) {
					continue
				}
				lo, hi, lox := e.A, e.B, ax
				if ax > bx {
					lo, hi, lox = e.B, e.A, bx
				}
				if (x-lox)*int64(hi.Y-lo.Y) < (y-int64(lo.Y)<<subBits)*int64(hi.X-lo.X) {
					if bx > ax {
						w++
					} else {
						w--
					}
				}
			}
		}
		if w > 0 {
			ids = append(ids, r.id)
		}
	}
	return ids
}

// state reports how a region and a closed box relate in the geometry of a zoom: the region's border
// cuts the box, the region covers the box, or neither.
func (ref *reference) state(i, z int, b grid.Box) (cut bool, covers bool) {
	edges := ref.levels[i][z]
	if len(grid.AppendCopies(nil, edges, b)) > 0 {
		return true, false
	}
	return false, grid.PeriodicWinding(edges, b.Corner()) > 0
}

func randomTile(rnd *rand.Rand) quadkey.Tile {
	z := rnd.IntN(grid.MaxZoom + 1)
	t, err := quadkey.TileAt(rnd.Float64()*360-180, rnd.Float64()*172-86, uint8(z))
	if err != nil {
		panic(err)
	}
	return t
}

// testTiles compares the content of tiles with the reference, and checks their number of seeks.
func testTiles(t *testing.T, r *tiles.Reader, store *pebblestore.Store, refs []*reference, n int) {
	ctx := context.Background()
	rnd := rand.New(rand.NewPCG(1, 2))
	var sel []tiles.Selector
	for _, ref := range refs {
		sel = append(sel, tiles.Selector{Type: ref.typ})
	}
	for range n {
		tile := randomTile(rnd)
		if rnd.IntN(2) == 0 {
			// The point is near a vertex of a border.
			ref := refs[rnd.IntN(len(refs))]
			if edges := ref.levels[rnd.IntN(len(ref.regions))][grid.MaxZoom]; len(edges) > 0 {
				p := edges[rnd.IntN(len(edges))].A
				z := rnd.IntN(grid.MaxZoom + 1)
				tile = quadkey.Tile{
					Z: uint8(z),
					X: uint32(p.X&(grid.WorldSize-1)) >> grid.TileShift(z),
					Y: uint32(min(max(p.Y, 0), grid.WorldSize-1)) >> grid.TileShift(z),
				}
			}
		}
		before := store.Stats().Seeks
		got, err := r.AppendGeoJSON(ctx, nil, tile, sel)
		if err != nil {
			t.Fatal(err)
		}
		if seeks := store.Stats().Seeks - before; seeks != int64(len(sel)) {
			t.Fatalf("tile %v: %d seeks for %d families", tile, seeks, len(sel))
		}
		before = store.Stats().Seeks
		vector, err := r.AppendMVT(ctx, nil, tile, sel)
		if err != nil {
			t.Fatal(err)
		}
		if seeks := store.Stats().Seeks - before; seeks != 2*int64(len(sel)) { // polygons and lines; labels
			t.Fatalf("tile %v: %d seeks for %d vector families", tile, seeks, len(sel))
		}
		var features []*geojson.Feature
		if err := json.Unmarshal([]byte("["+string(got)+"]"), &features); err != nil {
			t.Fatalf("tile %v: %v\n%s", tile, err, got)
		}
		shown := map[string]float64{}
		for _, f := range features {
			shown[f.ID.(string)] = degreesArea(f.Geometry)
		}
		inner := grid.TileBox(int(tile.Z), tile.X, tile.Y, false)
		for _, ref := range refs {
			for i, reg := range ref.regions {
				id := ref.typ + ":" + reg.id
				var c grid.Clipper
				chain := grid.AppendCopies(nil, ref.levels[i][tile.Z], inner)
				w := grid.PeriodicWinding(ref.levels[i][tile.Z], inner.Corner())
				var want float64
				for _, p := range c.Polygons(chain, w, inner, grid.StepShift(int(tile.Z))) {
					for _, ring := range p {
						want += float64(grid.RingArea2(ring)) / 2
					}
				}
				_, isShown := shown[id]
				if (want > 0) != isShown {
					t.Fatalf("tile %v: %s shown %v, want area %v", tile, id, isShown, want)
				}
			}
		}
		if len(got) > 0 && len(vector) == 0 {
			t.Fatalf("tile %v has GeoJSON but no vector layer", tile)
		}
	}
}

func degreesArea(g orb.Geometry) float64 {
	var s float64
	polys := tilestest.Polygons(g)
	for _, p := range polys {
		for _, r := range p {
			for i := 1; i < len(r); i++ {
				s += r[i-1][0]*r[i][1] - r[i][0]*r[i-1][1]
			}
		}
	}
	return s / 2
}

// TestNaturalEarth builds real borders and compares tiles, lookups and rows with the reference. The
// countries touch, enclose each other and lie on both sides of the antimeridian; lakes are a second
// type. The full tests build all of the world.
func TestNaturalEarth(t *testing.T) {
	testrace.SkipUnderRace(t, "it builds much data; smaller builds run under the detector")
	t.Parallel() // it takes long, and one build does not keep two processors busy
	countries := func() Layer {
		var only []string
		if !tilestest.Full {
			only = []string{"FJI", "LSO", "ZAF", "CHE", "AUT", "ITA", "SVN", "BIH", "HRV"}
		}
		return naturalEarth(t, "country", "110m/ne_110m_admin_0_countries.geojson.gz", "ADM0_A3", "NAME", only...)
	}
	lakes := func() Layer {
		return naturalEarth(t, "lake", "110m/ne_110m_lakes.geojson.gz", "name", "name")
	}
	r, store, stats := buildReader(t, countries(), lakes())
	t.Logf("%+v", stats)
	refs := newReferences(t, countries(), lakes())
	t.Run("tiles", func(t *testing.T) { testTiles(t, r, store, refs, 600) })
	t.Run("leaf rule", func(t *testing.T) { testLeafRule(t, store, refs) })
	t.Run("points", func(t *testing.T) { testPoints(t, r, refs, 3000) })
}

// testPoints compares At with the reference, at random points and near
// borders.
func testPoints(t *testing.T, r *tiles.Reader, refs []*reference, n int) {
	ctx := context.Background()
	rnd := rand.New(rand.NewPCG(3, 4))
	for range n {
		lon, lat := rnd.Float64()*360-180, rnd.Float64()*170-85
		if rnd.IntN(2) == 0 {
			ref := refs[rnd.IntN(len(refs))]
			if edges := ref.levels[rnd.IntN(len(ref.regions))][grid.MaxZoom]; len(edges) > 0 {
				p := edges[rnd.IntN(len(edges))].A
				lon = float64(p.X&(grid.WorldSize-1))/grid.WorldSize*360 - 180 + rnd.NormFloat64()*1e-4
				lat = layout.MercatorLat(float64(p.Y)) + rnd.NormFloat64()*1e-4
			}
			if math.Abs(lon) > 180 || math.Abs(lat) > 85 {
				continue
			}
		}
		got, err := r.At(ctx, lat, lon)
		if err != nil {
			t.Fatal(err)
		}
		var ids, want []string
		for _, g := range got {
			ids = append(ids, g.Type+":"+g.ID)
		}
		x := int64(math.Floor(layout.GridX(lon) * (1 << subBits)))
		y := int64(math.Floor(layout.MercatorY(lat) * (1 << subBits)))
		for _, ref := range refs {
			for _, id := range ref.at(x, y) {
				want = append(want, ref.typ+":"+id)
			}
		}
		if !slices.Equal(ids, want) {
			t.Fatalf("at lat %v lon %v: %v, want %v", lat, lon, ids, want)
		}
	}
}

// testLeafRule reads every row. On a sample it checks the row's mark against a slow form of the
// leaf rule.
func testLeafRule(t *testing.T, store cellstore.Store, refs []*reference) {
	ctx := context.Background()
	table, err := store.Table(ctx, layout.TableBounds)
	if err != nil {
		t.Fatal(err)
	}
	rnd := rand.New(rand.NewPCG(5, 6))
	for _, ref := range refs {
		var before []quadkey.Tile // the row before, if any
		rows := 0
		scan := cellstore.Scan{Selection: cellstore.Selection{Families: []string{ref.typ + layout.FamilyMVT}}}
		for row, err := range table.Scan(ctx, scan) {
			if err != nil {
				t.Fatal(err)
			}
			tile, ok := layout.RowTile(row.Key)
			if !ok {
				continue // polar
			}
			rows++
			mark := row.Cells[0].Value[0]
			if mark == layout.MarkLeaf {
				// Descendants come first, and a leaf may not have any.
				if n := len(before); n > 0 && tile.Contains(before[n-1]) {
					t.Fatalf("row %v lies inside leaf %v", before[n-1], tile)
				}
			}
			before = append(before[:0], tile)
			if rnd.IntN(40) == 0 {
				outer := grid.TileBox(int(tile.Z), tile.X, tile.Y, true)
				want := byte(layout.MarkLeaf)
				var set []bool
				for z := int(tile.Z); z <= grid.MaxZoom && want == layout.MarkLeaf; z++ {
					var now []bool
					for i := range ref.regions {
						cut, covers := ref.state(i, z, outer)
						if cut {
							want = layout.MarkMixed
						}
						now = append(now, covers)
					}
					if set != nil && !slices.Equal(set, now) {
						want = layout.MarkMixed
					}
					set = now
				}
				if mark != want {
					t.Fatalf("row %v of %s is marked %c, the rule says %c", tile, ref.typ, mark, want)
				}
			}
		}
		if rows == 0 {
			t.Fatalf("no rows for %s", ref.typ)
		}
	}
}

// subBits is the number of fractional bits of a grid unit in the points of lookups.
const subBits = 20

// cellsOf returns all cells of a table as text.
func cellsOf(t *testing.T, store cellstore.Store, table string) (cells []string) {
	t.Helper()
	tab, err := store.Table(t.Context(), table)
	if err != nil {
		t.Fatal(err)
	}
	for row, err := range tab.Scan(t.Context(), cellstore.Scan{}) {
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range row.Cells {
			cells = append(cells, fmt.Sprintf("%x %s %s %x", row.Key, c.Family, c.Qualifier, c.Value))
		}
	}
	return cells
}

// ringsOf returns the rings, or the lines, of a feature of a vector tile.
func ringsOf(t *testing.T, f mvt.Feature) (rings [][]mvt.XY) {
	t.Helper()
	var p mvt.Path
	for p.Reset(f); ; {
		pts, _, ok, err := p.Next(nil)
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			return rings
		}
		rings = append(rings, pts)
	}
}
