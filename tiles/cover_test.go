//go:build !race

package tiles_test

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/paulmach/orb"

	"quadrille/cellstore"
	"quadrille/internal/tilestest"
	"quadrille/quadkey"
	"quadrille/tiles"
	"quadrille/tiles/build"
	"quadrille/tiles/internal/grid"
)

// coverPoint is a point, its tile of zoom 13 and the regions at it.
type coverPoint struct {
	lat, lon float64
	cell     quadkey.Cell // first of the tile
	regions  []tiles.Region
}

// coverPoints calls At for points, and returns them in the order of their tiles.
func coverPoints(t testing.TB, r *tiles.Reader, typ string, at [][2]float64) []coverPoint {
	t.Helper()
	points := make([]coverPoint, len(at))
	for i, p := range at {
		tile, err := quadkey.TileAt(p[0], p[1], grid.MaxZoom)
		if err != nil {
			t.Fatal(err)
		}
		first, _ := tile.CellRange()
		regions, err := r.At(context.Background(), p[1], p[0], typ)
		if err != nil {
			t.Fatal(err)
		}
		points[i] = coverPoint{p[1], p[0], first, regions}
	}
	slices.SortFunc(points, func(a, b coverPoint) int { return cmp.Compare(a.cell, b.cell) })
	return points
}

// awkwardPoints returns positions (longitude, latitude) on and next to borders, at corners of
// tiles, at the poles, at ±180°, at the limits of the tiles, and anywhere.
func awkwardPoints(rnd *rand.Rand, ref *storedWorld, n int) (at [][2]float64) {
	clamp := func(lat float64) float64 { return max(-90, min(90, lat)) }
	limits := []float64{quadkey.MaxLatitude, 90, 85.0511287, 85.06, 89.999999}
	for range n {
		lon, lat := ref.vertex(rnd)
		lon2, lat2 := ref.vertex(rnd)
		at = append(at, [2]float64{lon, lat}, [2]float64{lon, lat2},
			[2]float64{math.Nextafter(lon, 0), math.Nextafter(lat, 0)},
			[2]float64{(lon + lon2) / 2, (lat + lat2) / 2},
			[2]float64{rnd.Float64()*360 - 180, rnd.Float64()*180 - 90})
		for _, reach := range []float64{1e-7, 1e-5, 1e-2, 1} {
			at = append(at, [2]float64{math.Remainder(lon+reach*rnd.NormFloat64(), 360), clamp(lat + reach*rnd.NormFloat64())})
		}
		if tile, err := quadkey.TileAt(lon, lat, uint8(rnd.IntN(grid.MaxZoom+1))); err == nil {
			b := tile.Bound()
			at = append(at, [2]float64{b.West, b.North}, [2]float64{b.East, b.South},
				[2]float64{math.Nextafter(b.East, -180), math.Nextafter(b.South, 90)}, [2]float64{b.West, lat}, [2]float64{lon, b.North})
		}
		for _, edge := range []float64{-180, 180, math.Nextafter(180, 0), math.Nextafter(-180, 0)} {
			at = append(at, [2]float64{edge, lat})
		}
		for _, limit := range limits {
			at = append(at, [2]float64{lon, limit}, [2]float64{lon, -limit},
				[2]float64{lon, math.Nextafter(limit, 0)}, [2]float64{lon, clamp(math.Nextafter(-limit, -91))},
				[2]float64{lon, clamp(math.Nextafter(limit, 91))}, [2]float64{math.Nextafter(180, 0), limit})
		}
	}
	return at
}

// checkCover compares the cover of a region with At. It returns the number of
// tiles and of points in them.
func checkCover(t testing.TB, r *tiles.Reader, typ, id string, from quadkey.Cell, points []coverPoint) (covered, inside int) {
	t.Helper()
	in := make([]bool, len(points))
	next := uint64(0)
	err := r.Cover(context.Background(), typ, id, from, func(c *tiles.CoveredTile) error {
		covered++
		first, last := c.Tile.CellRange()
		if uint64(first) < next || last < from {
			t.Fatalf("%s: tile %v, cells %d to %d, after cell %d", id, c.Tile, first, last, next)
		}
		if !c.Whole && c.Tile.Z != tiles.MaxZoom {
			t.Fatalf("%s: tile %v is not whole", id, c.Tile)
		}
		next = uint64(last) + 1
		i, _ := slices.BinarySearchFunc(points, first, func(p coverPoint, c quadkey.Cell) int { return cmp.Compare(p.cell, c) })
		for ; i < len(points) && points[i].cell <= last; i++ {
			ok, err := c.Contains(points[i].lat, points[i].lon)
			if err != nil {
				t.Fatal(err)
			}
			if in[i] = ok; ok {
				inside++
			}
		}
		return nil
	})
	if err != nil {
		t.Fatalf("%s: %v", id, err)
	}
	for i, p := range points {
		want := slices.ContainsFunc(p.regions, func(g tiles.Region) bool { return g.ID == id })
		// A point before from is in the cover only if a larger tile reaches
		// beyond from.
		if in[i] != want && (in[i] || p.cell|63 >= from) {
			t.Errorf("%s: %.17g,%.17g is in the cover: %v, At: %v", id, p.lat, p.lon, in[i], p.regions)
		}
	}
	return covered, inside
}

func testCover(t *testing.T, r *tiles.Reader, ref *storedWorld, n int) {
	t.Helper()
	rnd := rand.New(rand.NewPCG(51, 52))
	points := coverPoints(t, r, ref.typ, awkwardPoints(rnd, ref, n))
	for _, id := range ref.ids {
		covered, inside := checkCover(t, r, ref.typ, id, 0, points)
		if covered == 0 || inside == 0 {
			t.Errorf("%s: %d tiles, %d points", id, covered, inside)
		}
		for range 3 {
			checkCover(t, r, ref.typ, id, points[rnd.IntN(len(points))].cell+quadkey.Cell(rnd.IntN(64)), points)
		}
	}
}

func TestCover(t *testing.T) {
	r, store, _ := buildReader(t, toyLayer())
	testCover(t, r, newStoredWorld(t, store, "land"), 500)
}

// TestCoverEdges tests regions at the edges of the world, alone in a cap, and with nested holes.
func TestCoverEdges(t *testing.T) {
	const u = 1.40625 // exact everywhere
	// This is a strip that is in the tiles, but is too narrow for the stored geometry.
	const step, k = 360.0 / grid.WorldSize, 2 << 20
	strip := tilestest.Square(-39.5, 90-(k+0.3)*step, -39, 90-(k-0.3)*step)
	r, store, _ := buildReader(t, build.Layer{Type: "land", Features: []build.Feature{
		{ID: "a", Geometry: tilestest.Square(u, u, 3*u, 3*u)},
		{ID: "b", Geometry: tilestest.Square(3*u, u, 5*u, 3*u)},
		{ID: "dot", Geometry: tilestest.Square(40, 40, 40.00005, 40.00005)},
		{ID: "line", Geometry: tilestest.Square(178, -10, 182, -9)},
		{ID: "north", Geometry: tilestest.Square(0, 90-3*u, 14*u, 90)},
		{ID: "captive", Geometry: tilestest.Square(100, 86, 101, 87)},
		{ID: "date", Geometry: tilestest.Square(-180, 86, -150, 90)},
		{ID: "west", Geometry: tilestest.Square(-140, 30, -100, 85.5)},
		{ID: "limit", Geometry: tilestest.Square(120, 80, 140, quadkey.MaxLatitude)},
		{ID: "south", Geometry: orb.Polygon{{{-180, -90}, {180, -90}, {180, -80}, {60, -80}, {-60, -80}, {-180, -80}}}},
		{ID: "strip", Geometry: orb.MultiPolygon{tilestest.Square(-60, 60, -40, 70), strip}},
		{ID: "shell", Geometry: orb.Polygon{tilestest.Square(20, -60, 80, -20)[0], tilestest.Square(30, -50, 70, -30)[0]}},
		{ID: "yolk", Geometry: orb.Polygon{tilestest.Square(30, -50, 70, -30)[0], tilestest.Square(40, -45, 60, -35)[0]}},
		{
			ID: "far",
			Geometry: orb.MultiPolygon{tilestest.Square(-170, -40, -169.9, -39.9), tilestest.Square(45, -41, 46, -40),
				tilestest.Square(170, 60, 171, 61)},
		},
	}}, build.Layer{Type: "world", Features: []build.Feature{{ID: "all", Geometry: tilestest.Square(-180, -90, 180, 90)}}},
		build.Layer{Type: "zone", Features: []build.Feature{
			{ID: "x", Geometry: tilestest.Square(0, 0, 30, 60)}, {ID: "y", Geometry: tilestest.Square(20, 10, 42*u, 70)}}})
	if g, err := r.Region(context.Background(), "land", "strip", true); err != nil || strings.Contains(string(g), "-39.5") {
		t.Errorf("the strip is not as narrow as the test wants it: %s, %v", g, err)
	}
	var along [][2]float64
	for i := range 1000 {
		along = append(along, [2]float64{-39.6 + 0.0007*float64(i), 90 - k*step})
	}
	points := coverPoints(t, r, "land", along)
	if _, inside := checkCover(t, r, "land", "strip", 0, points); inside < 600 {
		t.Errorf("%d points in the strip", inside)
	}
	for _, typ := range []string{"land", "world", "zone"} {
		testCover(t, r, newStoredWorld(t, store, typ), 150)
	}
	if n, _ := checkCover(t, r, "world", "all", 0, nil); n != 1 {
		t.Errorf("the world has %d tiles", n)
	}
	if got := ids(t, r, 87, math.Nextafter(180, 0), "world"); got != "all" {
		t.Errorf("at the last longitude before 180°: %q", got)
	}
}

func TestCoverRefuses(t *testing.T) {
	r, _, _ := buildReader(t, build.Layer{Type: "land", Features: []build.Feature{{ID: "a", Geometry: tilestest.Square(0, 0, 1, 1)}}})
	ctx := context.Background()
	none := func(*tiles.CoveredTile) error { return nil }
	if err := r.Cover(ctx, "sea", "a", 0, none); !errors.Is(err, tiles.ErrUnknownType) {
		t.Errorf("unknown type: %v", err)
	}
	if err := r.Cover(ctx, "land", "b", 0, none); !errors.Is(err, tiles.ErrNotFound) {
		t.Errorf("no region: %v", err)
	}
	mine, n := errors.New("mine"), 0
	if err := r.Cover(ctx, "land", "a", 0, func(*tiles.CoveredTile) error { n++; return mine }); !errors.Is(err, mine) || n != 1 {
		t.Errorf("%d calls, %v", n, err)
	}
	stopped, stop := context.WithCancel(ctx)
	n = 0
	if err := r.Cover(stopped, "land", "a", 0,
		func(*tiles.CoveredTile) error { n++; stop(); return nil }); !errors.Is(err, context.Canceled) || n != 1 {
		t.Errorf("%d calls, %v", n, err)
	}
	err := r.Cover(ctx, "land", "a", 0, func(c *tiles.CoveredTile) error {
		_, err := c.Contains(math.NaN(), 0)
		return err
	})
	if !errors.Is(err, quadkey.ErrCoordinate) {
		t.Errorf("not a point: %v", err)
	}
}

// TestCoverAllocates checks that Contains allocates nothing after its first call.
func TestCoverAllocates(t *testing.T) {
	r, _, _ := buildReader(t, toyLayer())
	tested := 0
	err := r.Cover(context.Background(), "land", "fjords", 0, func(c *tiles.CoveredTile) error {
		b := c.Tile.Bound()
		ask := func() {
			if _, err := c.Contains((b.South+b.North)/2, (b.West+b.East)/2); err != nil {
				t.Error(err)
			}
		}
		if tested++; tested > 50 {
			return nil
		}
		ask()
		// The test makes many runs, because the store sometimes allocates.
		if n := testing.AllocsPerRun(100, ask); n > 0 {
			t.Errorf("tile %v: %v allocations", c.Tile, n)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// countedStore counts the rows that scans yield.
type countedStore struct {
	cellstore.Store
	rows int
}

func (s *countedStore) Table(ctx context.Context, name string) (cellstore.Table, error) {
	table, err := s.Store.Table(ctx, name)
	return &countedTable{table, s}, err
}

type countedTable struct {
	cellstore.Table
	store *countedStore
}

func (t *countedTable) Scan(ctx context.Context, scan cellstore.Scan) iter.Seq2[*cellstore.Row, error] {
	return func(yield func(*cellstore.Row, error) bool) {
		for row, err := range t.Table.Scan(ctx, scan) {
			t.store.rows++
			if !yield(row, err) {
				return
			}
		}
	}
}

// The cover of a country reads little besides the country's own rows, however
// far its parts are from each other.
func TestCoverNaturalEarth(t *testing.T) {
	file := "110m/ne_110m_admin_0_countries.geojson.gz"
	if tilestest.Full {
		file = "50m/ne_50m_admin_0_countries.geojson.gz"
	}
	var only []string // all
	regions := []string{"fra", "usa", "rus", "ata", "fji", "can", "zaf", "lso", "ita"}
	if testing.Short() {
		only, regions = []string{"FRA", "ITA", "LSO", "ZAF", "FJI"}, []string{"fra", "fji", "lso"}
	}
	layer := naturalEarth(t, "country", file, "ADM0_A3", "NAME", only...)
	store := &countedStore{Store: tilestest.OpenStore(t)}
	ctx := context.Background()
	meta, _, err := build.Run(ctx, store, []build.Layer{layer}, build.Options{Timestamp: 1})
	if err != nil {
		t.Fatal(err)
	}
	r, err := tiles.Open(ctx, store, meta)
	if err != nil {
		t.Fatal(err)
	}
	rnd := rand.New(rand.NewPCG(53, 54))
	whole := newStoredWorld(t, store, "country")
	all := store.rows
	everywhere := awkwardPoints(rnd, whole, 150)
	for _, id := range regions {
		ref := whole.only(id)
		points := coverPoints(t, r, "country", append(awkwardPoints(rnd, ref, 150), everywhere...))
		store.rows = 0
		covered, inside := checkCover(t, r, "country", id, 0, points)
		t.Logf("%s: %d tiles, %d of %d points, %d of %d rows read", id, covered, inside, len(points), store.rows, all)
		if store.rows > 4*covered+1000 {
			t.Errorf("%s: %d tiles, %d rows read", id, covered, store.rows)
		}
		// A cover continues without reading the rows before its start.
		var cells []quadkey.Cell
		if err := r.Cover(ctx, "country", id, 0, func(d *tiles.CoveredTile) error {
			first, _ := d.Tile.CellRange()
			cells = append(cells, first)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		store.rows = 0
		if n, _ := checkCover(t, r, "country", id, cells[len(cells)-10], points); n != 10 || store.rows > 5000 {
			t.Errorf("%s: the last ten tiles are %d, %d rows read", id, n, store.rows)
		}
	}
}

// only returns the world with only one region.
func (w *storedWorld) only(id string) *storedWorld {
	i := slices.Index(w.ids, id)
	return &storedWorld{typ: w.typ, ids: w.ids[i : i+1], edges: w.edges[i : i+1], caps: w.caps[i : i+1]}
}

// BenchmarkCover lists the tiles of large countries at 1:50 m and tests points in their mixed
// tiles. It reports the time of At for the same points, too.
func BenchmarkCover(b *testing.B) {
	r, _ := benchReader(b)
	ctx := context.Background()
	const each = 20 // points in a tile
	for _, id := range []string{"fra", "rus"} {
		var tests, at, first time.Duration
		var points [each][2]float64
		rnd := rand.New(rand.NewPCG(55, 56))
		b.Run(id, func(b *testing.B) {
			covered := 0
			for b.Loop() {
				covered = 0
				start := time.Now()
				err := r.Cover(ctx, "country", id, 0, func(*tiles.CoveredTile) error {
					if covered++; covered == 1 {
						first += time.Since(start)
					}
					return nil
				})
				if err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(covered), "tiles/op")
			b.ReportMetric(float64(first.Microseconds())/float64(b.N), "first-µs")
		})
		b.Run(id+"/points", func(b *testing.B) {
			n := 0
			for b.Loop() {
				err := r.Cover(ctx, "country", id, 0, func(d *tiles.CoveredTile) error {
					if d.Whole {
						return nil
					}
					box := d.Tile.Bound()
					for i := range points {
						points[i] = [2]float64{box.South + rnd.Float64()*(box.North-box.South), box.West + rnd.Float64()*(box.East-box.West)}
					}
					n += each
					start := time.Now()
					for _, p := range points {
						if _, err := d.Contains(p[0], p[1]); err != nil {
							return err
						}
					}
					between := time.Now()
					for _, p := range points {
						if _, err := r.At(ctx, p[0], p[1], "country"); err != nil {
							return err
						}
					}
					tests, at = tests+between.Sub(start), at+time.Since(between)
					return nil
				})
				if err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(tests.Nanoseconds())/float64(n), "contains-ns")
			b.ReportMetric(float64(at.Nanoseconds())/float64(n), "at-ns")
		})
	}
}
