//go:build !race

package tiles_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/paulmach/orb"

	"quadrille/cellstore"
	"quadrille/internal/tilestest"
	"quadrille/quadkey"
	"quadrille/tiles"
	"quadrille/tiles/build"
	"quadrille/tiles/internal/layout"
)

// compareAnswers compares finished answers with those that a Reader makes from the rows of the
// tiles, and with those of a join, for points (longitude, latitude).
func compareAnswers(t *testing.T, store cellstore.Store, meta tiles.Meta, at [][2]float64) {
	t.Helper()
	open := func(meta tiles.Meta) *tiles.Reader {
		r, err := tiles.Open(t.Context(), store, meta)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	older := meta
	older.Stamp = 0
	finished, rows := open(meta), open(older)
	var points []quadkey.Position
	for _, p := range at {
		points = append(points, quadkey.Position{Lat: p[1], Lon: p[0]})
	}
	points = append(points, quadkey.Position{Lat: math.NaN()}, quadkey.Position{Lon: math.Inf(1)}, quadkey.Position{Lat: -90.1})
	joined := map[*tiles.Reader][]tiles.Region{}
	joins := map[*tiles.Reader]*tiles.PointJoin{}
	columns := map[*tiles.Reader][][]int32{}
	for _, r := range []*tiles.Reader{finished, rows} {
		j, err := r.PointJoin()
		if err != nil {
			t.Fatal(err)
		}
		out := make([][]int32, len(j.Types()))
		for k := range out {
			out[k] = make([]int32, len(points))
		}
		if err := j.Find(t.Context(), points, out); err != nil {
			t.Fatal(err)
		}
		joins[r], columns[r] = j, out
	}
	wrong := 0
	for i, p := range points {
		for r, j := range joins {
			joined[r] = nil
			for k := range j.Types() {
				answer := columns[r][k][i]
				if (answer == tiles.NoPoint) == p.Valid() || int(answer) >= j.Answers(k) {
					t.Fatalf("%v has answer %d", p, answer)
				}
				joined[r] = append(joined[r], j.Regions(k, answer)...)
			}
		}
		if !p.Valid() {
			continue
		}
		want, err := rows.At(t.Context(), p.Lat, p.Lon)
		if err != nil {
			t.Fatal(err)
		}
		got, err := finished.At(t.Context(), p.Lat, p.Lon)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, want) || !slices.Equal(joined[finished], want) || !slices.Equal(joined[rows], want) {
			t.Errorf("%.17g,%.17g: rows %v, finished %v, joined %v and %v", p.Lat, p.Lon, want, got, joined[finished], joined[rows])
			if wrong++; wrong > 5 {
				t.FailNow()
			}
		}
	}
}

// TestFinishedAnswers compares finished answers with the rows: on borders, at the corners of tiles,
// at ±180° and the poles, where regions overlap, and where a type has only lines or nothing.
func TestFinishedAnswers(t *testing.T) {
	store, meta := buildStore(t, toyLayer(), blobs("ward", 1, 8.5, 47.4, 0.1, 8), blobs("zone", 2, 179.9, 84, 30, 6),
		blobs("area", 3, 8.5, 47.4, 12, 9), blobs("sea", 4, 8.5, 20, 60, 3))
	rnd := rand.New(rand.NewPCG(31, 32))
	for _, typ := range []string{"land", "ward", "zone", "area", "sea"} {
		compareAnswers(t, store, meta, awkwardPoints(rnd, newStoredWorld(t, store, typ), 20))
	}
}

// TestFinishedAnswersOfTheWorld does the same with real borders.
func TestFinishedAnswersOfTheWorld(t *testing.T) {
	layers, n := []build.Layer{
		naturalEarth(t, "country", "50m/ne_50m_admin_0_countries.geojson.gz", "ADM0_A3", "NAME", "FJI", "CHE", "AUT", "ITA", "SVN", "LSO", "ZAF"),
	}, 100
	if tilestest.Full {
		layers, n = []build.Layer{
			naturalEarth(t, "country", "50m/ne_50m_admin_0_countries.geojson.gz", "ADM0_A3", "NAME"),
			naturalEarth(t, "state", "50m/ne_50m_admin_1_states_provinces.geojson.gz", "adm1_code", "name"),
		}, 20_000
	}
	store, meta := buildStore(t, layers...)
	rnd := rand.New(rand.NewPCG(33, 34))
	compareAnswers(t, store, meta, awkwardPoints(rnd, newStoredWorld(t, store, "country"), n))
}

// TestDividedAnswers tests answers that are too long for one row, and a type beside them whose
// answers are not.
func TestDividedAnswers(t *testing.T) {
	rnd := rand.New(rand.NewPCG(35, 36))
	var ring orb.Ring // a border that is rough and long, and crosses few tiles
	for i := range 60_000 {
		a, d := 2*math.Pi*float64(i)/60_000, 0.5+0.005*rnd.Float64()
		ring = append(ring, orb.Point{10.5 + d*math.Cos(a), 10.5 + d*math.Sin(a)})
	}
	star := orb.Polygon{append(ring, ring[0])}
	store, meta := buildStore(t, toyLayer(), build.Layer{Type: "star", Features: []build.Feature{{ID: "s", Geometry: star}}})
	table, err := store.Table(t.Context(), layout.TableBounds)
	if err != nil {
		t.Fatal(err)
	}
	parts, part := 0, []byte(nil)
	var at [][2]float64
	for row, err := range table.Scan(t.Context(), cellstore.Scan{Selection: cellstore.Selection{Families: []string{"star" + layout.FamilyCells}}}) {
		if err != nil {
			t.Fatal(err)
		}
		if len(row.Key) > len(quadkey.Key{}) {
			parts++
			part = bytes.Clone(row.Key)
		}
	}
	if parts < 4 {
		t.Errorf("%d parts of divided answers", parts)
	}
	defer func() { // lost rows are told
		r, err := tiles.Open(t.Context(), store, meta)
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range [][]byte{part, part[:len(quadkey.Key{})]} {
			ops := []cellstore.Op{cellstore.DeleteColumn("star"+layout.FamilyCells, nil, math.MaxInt64-1)}
			if err := table.Apply(t.Context(), cellstore.Mutation{Row: key, Ops: ops}); err != nil {
				t.Fatal(err)
			}
			lost := 0
			for _, p := range at {
				if _, err := r.At(t.Context(), p[1], p[0], "star"); errors.Is(err, tiles.ErrCorrupt) {
					lost++
				} else if err != nil {
					t.Fatal(err)
				}
			}
			if lost == 0 {
				t.Errorf("nothing is told about the lost row %x", key)
			}
			if r, err = tiles.Open(t.Context(), store, meta); err != nil {
				t.Fatal(err)
			}
		}
	}()
	for range 1500 {
		at = append(at, [2]float64{10.5 + 1.4*(rnd.Float64()-.5), 10.5 + 1.4*(rnd.Float64()-.5)})
	}
	compareAnswers(t, store, meta, append(at, awkwardPoints(rnd, newStoredWorld(t, store, "land"), 5)...))
}

// TestSetCacheBytes tests that answers stay right while hardly any fit into memory.
func TestSetCacheBytes(t *testing.T) {
	tiles.SetCacheBytes(2000)
	defer tiles.SetCacheBytes(tiles.DefaultCacheBytes)
	store, meta := buildStore(t, toyLayer(), blobs("ward", 1, 8.5, 47.4, 0.1, 8))
	rnd := rand.New(rand.NewPCG(37, 38))
	compareAnswers(t, store, meta, awkwardPoints(rnd, newStoredWorld(t, store, "land"), 40))
	if n := tiles.Cache().Bytes; n > 2000 {
		t.Errorf("%d bytes of answers", n)
	}
}

// TestNamesOfManyRegions tests that regions which all hold everything are not written again and again.
func TestNamesOfManyRegions(t *testing.T) {
	zones := build.Layer{Type: "zone"}
	for i := range 5000 {
		zones.Features = append(zones.Features, build.Feature{
			ID: fmt.Sprint("zone", i), Name: strings.Repeat("long name ", 4), Geometry: tilestest.Square(1, 1, 1.02, 1.02),
		})
	}
	store, meta := buildStore(t, zones)
	table, err := store.Table(t.Context(), layout.TableBounds)
	if err != nil {
		t.Fatal(err)
	}
	stored := 0
	for row, err := range table.Scan(t.Context(), cellstore.Scan{Selection: cellstore.Selection{Families: []string{"zone" + layout.FamilyCells}}}) {
		if err != nil {
			t.Fatal(err)
		}
		stored += len(row.Cells[0].Value)
	}
	if stored > 2<<20 {
		t.Errorf("%d bytes", stored)
	}
	compareAnswers(t, store, meta, [][2]float64{{1.01, 1.01}, {1, 1}, {1.02, 1.02}, {0.999, 1.01}})
}

// TestDamagedAnswers tests that a row which is damaged, or of another build, is told and never an
// answer.
func TestDamagedAnswers(t *testing.T) {
	store, meta := buildStore(t, toyLayer())
	ask := func(meta tiles.Meta) error {
		r, err := tiles.Open(t.Context(), store, meta)
		if err != nil {
			t.Fatal(err)
		}
		_, err = r.At(t.Context(), 10.05, 10.2)
		return err
	}
	if err := ask(meta); err != nil {
		t.Fatal(err)
	}
	other := meta
	other.Stamp++
	if err := ask(other); !errors.Is(err, tiles.ErrCorrupt) {
		t.Errorf("another build: %v", err)
	}
	table, err := store.Table(t.Context(), layout.TableBounds)
	if err != nil {
		t.Fatal(err)
	}
	tile, err := quadkey.TileAt(10.2, 10.05, 8)
	if err != nil {
		t.Fatal(err)
	}
	key := tile.Key()
	var row cellstore.Row
	family := "land" + layout.FamilyCells
	sel := cellstore.Selection{Families: []string{family}}
	if ok, err := table.Get(t.Context(), key[:], &sel, &row); err != nil || !ok {
		t.Fatal(ok, err)
	}
	value := bytes.Clone(row.Cells[0].Value)
	rnd := rand.New(rand.NewPCG(39, 40))
	for range 50 {
		bad := bytes.Clone(value)
		bad[rnd.IntN(len(bad))] ^= 1 << rnd.IntN(8)
		if err := table.Apply(t.Context(), cellstore.Mutation{
			Row: key[:], Ops: []cellstore.Op{{Kind: cellstore.OpPut, Family: family, Timestamp: 2, Value: bad}},
		}); err != nil {
			t.Fatal(err)
		}
		if err := ask(meta); !errors.Is(err, tiles.ErrCorrupt) {
			t.Errorf("damaged: %v", err)
		}
	}
}

func TestPointJoinOfUnknownType(t *testing.T) {
	r, _, _ := buildReader(t, toyLayer())
	if _, err := r.PointJoin("land", "moon"); !errors.Is(err, tiles.ErrUnknownType) {
		t.Error(err)
	}
	if _, err := r.PointJoin("land", "land"); err == nil {
		t.Error("a type twice")
	}
	j, err := r.PointJoin("land")
	if err != nil {
		t.Fatal(err)
	}
	points := make([]quadkey.Position, 3)
	for _, out := range [][][]int32{nil, {make([]int32, 2)}, {make([]int32, 3), make([]int32, 3)}} {
		if err := j.Find(t.Context(), points, out); err == nil {
			t.Errorf("columns %v for three points", out)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := j.Find(ctx, points, [][]int32{make([]int32, 3)}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
