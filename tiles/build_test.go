package tiles

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/paulmach/orb"
	"github.com/paulmach/orb/geojson"

	"quadrille/cellstore"
	"quadrille/cellstore/pebblestore"
	"quadrille/quadkey"
)

// openStore opens an empty store that is closed with the test.
func openStore(t testing.TB) *pebblestore.Store {
	t.Helper()
	s, err := pebblestore.Open(filepath.Join(t.TempDir(), "store"), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// buildReader builds layers and opens a reader on them.
func buildReader(t testing.TB, layers ...Layer) (*Reader, *pebblestore.Store, Stats) {
	t.Helper()
	store := openStore(t)
	meta, stats, err := Build(context.Background(), store, layers, BuildOptions{Timestamp: 1})
	if err != nil {
		t.Fatal(err)
	}
	r, err := Open(context.Background(), store, meta)
	if err != nil {
		t.Fatal(err)
	}
	return r, store, stats
}

// naturalEarth reads a layer of the real data, whole or only the features with
// the given ids, or skips the test.
func naturalEarth(t testing.TB, typ, file, id, name string, only ...string) Layer {
	t.Helper()
	path := filepath.Join("../../shared/data/natural-earth", file)
	f, err := os.Open(path)
	if err != nil {
		t.Skipf("no real data: %v", err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	fc, err := geojson.UnmarshalFeatureCollection(data)
	if err != nil {
		t.Fatal(err)
	}
	l := Layer{Type: typ}
	for i, f := range fc.Features {
		if len(only) > 0 && !slices.Contains(only, fmt.Sprint(f.Properties[id])) {
			continue
		}
		fid := strings.ToLower(fmt.Sprint(f.Properties[id]))
		if !idRE.MatchString(fid) {
			fid = fmt.Sprintf("x%d", i)
		}
		l.Features = append(l.Features, Feature{ID: fid, Name: fmt.Sprint(f.Properties[name]), Geometry: f.Geometry})
	}
	return l
}

// reference is the slow, obvious judge: the chains of every region at every
// zoom, asked edge by edge.
type reference struct {
	typ     string
	regions []*region
	levels  [][MaxZoom + 1][]edge
}

func newReferences(t testing.TB, layers ...Layer) []*reference {
	t.Helper()
	b := &build{opts: BuildOptions{Workers: 2}}
	if _, err := b.addLayers(layers); err != nil {
		t.Fatal(err)
	}
	lv, err := b.arrange(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var refs []*reference
	for _, l := range b.layers {
		ref := &reference{typ: l.typ, regions: l.regions, levels: make([][MaxZoom + 1][]edge, len(l.regions))}
		for z := range lv.lines {
			edges := byRegion(lv.lines[z], lv.reg, len(b.regions))
			for i, r := range l.regions {
				ref.levels[i][z] = edges[r.number]
			}
		}
		refs = append(refs, ref)
	}
	return refs
}

// at lists the regions that hold a point, by winding number, with the point
// in sub-units of the grid. It counts along a ray to the north, as a ray to
// the east would run around the world.
func (ref *reference) at(x, y int64) []string {
	var ids []string
	for i, r := range ref.regions {
		w := 0
		for _, e := range ref.levels[i][MaxZoom] {
			for _, shift := range [3]int64{-worldSize, 0, worldSize} {
				ax, bx := (int64(e.a.x)+shift)<<tileSubBits, (int64(e.b.x)+shift)<<tileSubBits
				if (ax <= x) == (bx <= x) {
					continue
				}
				lo, hi, lox := e.a, e.b, ax
				if ax > bx {
					lo, hi, lox = e.b, e.a, bx
				}
				if (x-lox)*int64(hi.y-lo.y) < (y-int64(lo.y)<<tileSubBits)*int64(hi.x-lo.x) {
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

// state reports what a region is in a closed box of a zoom's geometry: cut by
// its border, covering it, or neither.
func (ref *reference) state(i, z int, b box) (cut bool, covers bool) {
	edges := ref.levels[i][z]
	if len(appendCopies(nil, edges, b)) > 0 {
		return true, false
	}
	return false, northWinding(edges, point{b.x0, b.y0}) > 0
}

func randomTile(rnd *rand.Rand) quadkey.Tile {
	z := rnd.IntN(MaxZoom + 1)
	t, err := quadkey.TileAt(rnd.Float64()*360-180, rnd.Float64()*172-86, uint8(z))
	if err != nil {
		panic(err)
	}
	return t
}

// testTiles compares tiles with the reference: what they show, and how many
// seeks they cost.
func testTiles(t *testing.T, r *Reader, store *pebblestore.Store, refs []*reference, n int) {
	ctx := context.Background()
	rnd := rand.New(rand.NewPCG(1, 2))
	var sel []Selector
	for _, ref := range refs {
		sel = append(sel, Selector{Type: ref.typ})
	}
	for range n {
		tile := randomTile(rnd)
		if rnd.IntN(2) == 0 {
			// Near a vertex of a border.
			ref := refs[rnd.IntN(len(refs))]
			if edges := ref.levels[rnd.IntN(len(ref.regions))][MaxZoom]; len(edges) > 0 {
				p := edges[rnd.IntN(len(edges))].a
				z := rnd.IntN(MaxZoom + 1)
				tile = quadkey.Tile{Z: uint8(z), X: uint32(p.x&(worldSize-1)) >> tileShift(z), Y: uint32(min(max(p.y, 0), worldSize-1)) >> tileShift(z)}
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
		inner := tileBox(int(tile.Z), tile.X, tile.Y, false)
		for _, ref := range refs {
			for i, reg := range ref.regions {
				id := ref.typ + ":" + reg.id
				var c clipper
				chain := appendCopies(nil, ref.levels[i][tile.Z], inner)
				w := northWinding(ref.levels[i][tile.Z], point{inner.x0, inner.y0})
				var want float64
				for _, p := range c.rings.polygons(c.clip(chain, w, inner, gridShift(int(tile.Z)))) {
					for _, ring := range p {
						want += float64(ringArea2(ring)) / 2
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
	var polys orb.MultiPolygon
	switch g := g.(type) {
	case orb.Polygon:
		polys = orb.MultiPolygon{g}
	case orb.MultiPolygon:
		polys = g
	}
	for _, p := range polys {
		for _, r := range p {
			for i := 1; i < len(r); i++ {
				s += r[i-1][0]*r[i][1] - r[i][0]*r[i-1][1]
			}
		}
	}
	return s / 2
}

// full asks for the tests that take minutes.
var full = os.Getenv("QUADRILLE_FULL") != ""

// TestNaturalEarth builds real borders and compares tiles, lookups and rows
// with the reference: countries that touch, enclose each other and lie on both
// sides of the antimeridian, with lakes as a second type; all of the world when
// asked for the full tests.
func TestNaturalEarth(t *testing.T) {
	countries := func() Layer {
		var only []string
		if !full {
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
	t.Run("leaf rule", func(t *testing.T) { testLeafRule(t, r, refs) })
	t.Run("points", func(t *testing.T) { testPoints(t, r, refs, 3000) })
}

// testPoints compares At with the reference, at random points and near
// borders.
func testPoints(t *testing.T, r *Reader, refs []*reference, n int) {
	ctx := context.Background()
	rnd := rand.New(rand.NewPCG(3, 4))
	for range n {
		lon, lat := rnd.Float64()*360-180, rnd.Float64()*170-85
		if rnd.IntN(2) == 0 {
			ref := refs[rnd.IntN(len(refs))]
			if edges := ref.levels[rnd.IntN(len(ref.regions))][MaxZoom]; len(edges) > 0 {
				p := edges[rnd.IntN(len(edges))].a
				lon = float64(p.x&(worldSize-1))/worldSize*360 - 180 + rnd.NormFloat64()*1e-4
				lat = mercatorLat(float64(p.y)) + rnd.NormFloat64()*1e-4
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
		x := int64(math.Floor(gridX(lon) * (1 << tileSubBits)))
		y := int64(math.Floor(mercatorY(lat) * (1 << tileSubBits)))
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

// testLeafRule reads every row and checks its mark against the rule, stated
// the slow way, on a sample.
func testLeafRule(t *testing.T, r *Reader, refs []*reference) {
	ctx := context.Background()
	rnd := rand.New(rand.NewPCG(5, 6))
	for _, ref := range refs {
		var before []quadkey.Tile // the row before, if any
		rows := 0
		scan := cellstore.Scan{Selection: cellstore.Selection{Families: []string{ref.typ + familyMVT}}}
		for row, err := range r.bounds.Scan(ctx, scan) {
			if err != nil {
				t.Fatal(err)
			}
			tile, ok := rowTile(row.Key)
			if !ok {
				continue // polar
			}
			rows++
			mark := row.Cells[0].Value[0]
			if mark == markLeaf {
				// Descendants come first: none may have.
				if n := len(before); n > 0 && tile.Contains(before[n-1]) {
					t.Fatalf("row %v lies inside leaf %v", before[n-1], tile)
				}
			}
			before = append(before[:0], tile)
			if rnd.IntN(40) == 0 {
				outer := tileBox(int(tile.Z), tile.X, tile.Y, true)
				want := byte(markLeaf)
				var set []bool
				for z := int(tile.Z); z <= MaxZoom && want == markLeaf; z++ {
					var now []bool
					for i := range ref.regions {
						cut, covers := ref.state(i, z, outer)
						if cut {
							want = markMixed
						}
						now = append(now, covers)
					}
					if set != nil && !slices.Equal(set, now) {
						want = markMixed
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
