package voronoi

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"quadrille/cellstore"
	"quadrille/internal/buildtest"
	"quadrille/internal/must"
	"quadrille/internal/testrace"
	"quadrille/places/internal/bulkload"
	"quadrille/quadkey"

	"pgregory.net/rapid"
)

var layout = Layout{Table: "leaves", Family: "near", ID: 4, Note: 2}

// written writes the leaves of sites, whose ids are their numbers, and returns the table.
func written(t testing.TB, list []Position, partial bool) (table cellstore.Table, counts Counts, err error) {
	t.Helper()
	store := buildtest.NewStore(t)
	must.Do(t, store.CreateTable(t.Context(), layout.Schema("x")))
	ctx := context.WithoutCancel(t.Context())
	err = bulkload.Fill(ctx, store, "x", func(l *bulkload.Load) (err error) {
		appendID := func(dst []byte, s *Site) []byte { return binary.BigEndian.AppendUint32(dst, s.Ref) }
		counts, err = layout.Write(ctx, l, &Division{Sites: sitesOf(t, list), Partial: partial}, 7, appendID, nil)
		return err
	})
	return must.Get(store.Table(ctx, "x")).In(t), counts, err
}

// measureAll computes Nearest by measuring every position.
func measureAll(list []Position, lat, lon float64) (n int, d float64) {
	d = math.Inf(1)
	for i, p := range list {
		if m := quadkey.Distance(lon, lat, float64(p.Lon)/1e7, float64(p.Lat)/1e7); m < d {
			n, d = i, m
		}
	}
	return n, d
}

// checkNearest compares Nearest with measureAll. It reports whether the leaf tells.
func checkNearest(t interface{ Fatalf(string, ...any) }, table *Table, list []Position, lat, lon float64) bool {
	var got Lookup
	found, err := table.Nearest(context.Background(), lat, lon, &got)
	if err != nil || !found {
		t.Fatalf("%v, %v: found is %v, %v", lat, lon, found, err)
	}
	if got.Candidates == 0 {
		return false
	}
	n, d := measureAll(list, lat, lon)
	if id := binary.BigEndian.Uint32(got.ID); id != uint32(n) || got.DistanceM != d || got.Position != list[n] {
		t.Fatalf("%v, %v: found %d at %v m, want %d at %v m (leaf %v of %d)", lat, lon, id, got.DistanceM, n, d, got.Tile, got.Candidates)
	}
	return true
}

// shapes draw positions.
var shapes = map[string]func(*rand.Rand) (lat, lon float64){
	"even": func(r *rand.Rand) (float64, float64) {
		return math.Asin(2*r.Float64()-1) / radians, r.Float64()*360 - 180
	},
	"towns": func(r *rand.Rand) (float64, float64) {
		k := r.IntN(12)
		return math.Mod(float64(k)*31.7, 170) - 85 + r.NormFloat64()*0.2, math.Remainder(float64(k)*67.3+r.NormFloat64()*0.3, 360)
	},
	"poles": func(r *rand.Rand) (float64, float64) {
		return math.Copysign(90-math.Abs(r.NormFloat64())*2, r.NormFloat64()), r.Float64()*360 - 180
	},
	"at a pole": func(r *rand.Rand) (float64, float64) { return 90 - float64(r.IntN(2))*1e-7, float64(r.IntN(361) - 180) },
	"antimeridian": func(r *rand.Rand) (float64, float64) {
		return float64(r.IntN(40)) - 20, []float64{-180, 180, 179.9999999, -179.9999999, 179, -179}[r.IntN(6)]
	},
	// Ties are everywhere: many points are equally near to two or four positions.
	"grid": func(r *rand.Rand) (float64, float64) {
		return float64(r.IntN(19)*10 - 90), float64(r.IntN(37)*10 - 180)
	},
	"equator": func(r *rand.Rand) (float64, float64) { return 0, float64(r.IntN(73)*5 - 180) },
	"crowd": func(r *rand.Rand) (float64, float64) {
		return 47 + float64(r.IntN(30))*1e-7, 8 + float64(r.IntN(30))*1e-7
	},
	"circle": func(r *rand.Rand) (float64, float64) {
		sin, cos := math.Sincos(float64(r.IntN(60)) * 6 * radians)
		return -40 + cos*0.5, 100 + sin*0.5
	},
	"one place": func(*rand.Rand) (float64, float64) { return -33.5, 70.25 },
}

func draw(rng *rand.Rand, n int, shape func(*rand.Rand) (lat, lon float64)) []Position {
	list := make([]Position, n)
	for i := range list {
		lat, lon := shape(rng)
		list[i] = PositionOf(min(max(lat, -90), 90), lon)
	}
	return list
}

// question draws a point: anywhere, at a position, near one, in the middle between two, on a corner
// of tiles, at a pole or at ±180°.
func question(rng *rand.Rand, list []Position) (lat, lon float64) {
	a, b := list[rng.IntN(len(list))], list[rng.IntN(len(list))]
	lon, lat = a.Degrees()
	switch rng.IntN(9) {
	case 0, 1:
		return shapes["even"](rng)
	case 2:
		return float64(1-2*rng.IntN(2)) * (90 - rng.Float64()*float64(rng.IntN(6))), rng.Float64()*360 - 180
	case 3:
		return rng.Float64()*180 - 90, float64(1-2*rng.IntN(2)) * 180
	case 4:
		return lat, lon
	case 5:
		size := math.Exp(-rng.Float64() * 16)
		return min(max(lat+rng.NormFloat64()*size, -90), 90), math.Remainder(lon+rng.NormFloat64()*size, 360)
	case 6:
		z := uint8(rng.IntN(17))
		bound := quadkey.Tile{Z: z, X: uint32(rng.IntN(1 << z)), Y: uint32(rng.IntN(1 << z))}.Bound()
		return bound.North, bound.West
	case 7:
		return -lat, math.Remainder(lon+180, 360) // the antipode
	}
	p, q := a.vec(), b.vec()
	m := vec{p.x + q.x, p.y + q.y, p.z + q.z}
	return math.Atan2(m.z, math.Hypot(m.x, m.y)) / radians, math.Atan2(m.y, m.x) / radians
}

func TestNearestAgainstMeasuringAll(t *testing.T) {
	testrace.SkipUnderRace(t, "many questions")
	for name, shape := range shapes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, n := range []int{1, 2, 9, 40, 300, 1000} {
				rng := rand.New(rand.NewPCG(7, uint64(n)))
				list := draw(rng, n, shape)
				table, counts, err := written(t, list, true)
				must.Do(t, err)
				checkLeaves(t, table, counts)
				of, told := layout.Open(table), 0
				const questions = 400
				for range questions {
					if lat, lon := question(rng, list); checkNearest(t, of, list, lat, lon) {
						told++
					}
				}
				if told < questions/2 || counts.Unlisted == 0 && told < questions {
					t.Errorf("%d positions: %d of %d questions are answered", n, told, questions)
				}
			}
		})
	}
}

// checkLeaves: the leaves tile the world, and each lists between one and eight positions unless
// dividing it does not help.
func checkLeaves(t *testing.T, table cellstore.Table, counts Counts) {
	t.Helper()
	next, found := uint64(0), Counts{Positions: counts.Positions}
	for row := range must.All(t, table.Scan(t.Context(), cellstore.Scan{})) {
		tile := must.Get(quadkey.ParseKey(row.Key)).In(t)
		first, last := tile.CellRange()
		if uint64(first) != next {
			t.Fatalf("leaf %v begins at cell %d, not %d", tile, first, next)
		}
		next = uint64(last) + 1
		found.Leaves++
		n := len(row.Cells[0].Value) / layout.candidateSize()
		found.Listed += int64(n)
		if n == 0 {
			found.Unlisted++
		}
		if edge := tile.Y == 0 || tile.Y == 1<<tile.Z-1; n > LeafSitesAlike && tile.Z < quadkey.CellZoom && !edge || n > maxLeafSites {
			t.Fatalf("leaf %v lists %d positions", tile, n)
		}
	}
	if next != 1<<32 || found != counts {
		t.Fatalf("%+v up to cell %d, counted are %+v", found, next, counts)
	}
}

// The same for positions and points that rapid draws, as close to each other as it likes.
func TestNearestOfAnyPositions(t *testing.T) {
	testrace.SkipUnderRace(t, "many questions")
	rapid.Check(t, func(r *rapid.T) {
		lats := rapid.OneOf(rapid.SampledFrom([]int32{-9e8, 9e8, 9e8 - 1, 0, 1, 850511287, 850511288, -850511288}),
			rapid.Int32Range(-9e8, 9e8), rapid.Int32Range(-20, 20))
		lons := rapid.OneOf(rapid.SampledFrom([]int32{-18e8, 18e8, 18e8 - 1, 1 - 18e8, 0}),
			rapid.Int32Range(-18e8, 18e8), rapid.Int32Range(-20, 20))
		position := rapid.Custom(func(t *rapid.T) Position { return Position{lats.Draw(t, "lat"), lons.Draw(t, "lon")} })
		list := rapid.SliceOfN(position, 1, 60).Draw(r, "positions")
		table, _, err := written(t, list, true)
		must.Do(t, err)
		of := layout.Open(table)
		for _, p := range rapid.SliceOfN(position, 1, 60).Draw(r, "points") {
			lon, lat := p.Degrees()
			if !checkNearest(r, of, list, lat, lon) {
				r.Fatalf("%v, %v: no answer", lat, lon)
			}
		}
		rng := rand.New(rand.NewPCG(1, rapid.Uint64().Draw(r, "seed")))
		for range 30 {
			lat, lon := question(rng, list)
			checkNearest(r, of, list, lat, lon)
		}
	})
}

// Positions that no tile can separate are refused or, in a partial division, not listed. Everything
// else is.
func TestTooDense(t *testing.T) {
	testrace.SkipUnderRace(t, "bounds are reached too slowly")
	var list []Position
	for i := range int32(1100) {
		list = append(list, Position{1e8 + i%34, 1e8 + i/34})
	}
	list = append(list, Position{-3e8, 5e8})
	if _, _, err := written(t, list, false); !errors.Is(err, ErrTooMany) {
		t.Error(err)
	}
	table, counts, err := written(t, list, true)
	if err != nil || counts.Unlisted == 0 || counts.Unlisted > 4 || counts.Positions != 1101 {
		t.Fatalf("%+v, %v", counts, err)
	}
	checkLeaves(t, table, counts)
	of := layout.Open(table)
	if checkNearest(t, of, list, 10, 10) {
		t.Error("a leaf lists more than it may")
	}
	if !checkNearest(t, of, list, -31, 51) {
		t.Error("a leaf elsewhere lists nothing")
	}
}

// A division whose work is used up ends with leaves that list nothing.
func TestSpent(t *testing.T) {
	list := draw(rand.New(rand.NewPCG(1, 2)), 2000, shapes["even"])
	for _, partial := range []bool{false, true} {
		d := Division{Sites: sitesOf(t, list), Partial: partial, work: maxWork + workPerSite*len(list) - 100_000}
		next, unlisted := uint64(0), 0
		d.Emit = func(tile quadkey.Tile, listed []Site) error {
			first, last := tile.CellRange()
			if uint64(first) != next {
				t.Fatalf("leaf %v does not follow", tile)
			}
			if next = uint64(last) + 1; len(listed) == 0 {
				unlisted++
			}
			return nil
		}
		err := d.Run(t.Context())
		if !partial && !errors.Is(err, ErrTooMany) || partial && (err != nil || next != 1<<32 || unlisted == 0) {
			t.Errorf("partial is %v: %v, %d leaves list nothing, the last cell is %d", partial, err, unlisted, next)
		}
	}
}

func TestRunEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	d := Division{Sites: sitesOf(t, []Position{{1, 2}}), Emit: func(quadkey.Tile, []Site) error { return nil }}
	if err := d.Run(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestDamagedRows tests that a row of another layout is damage, and never a wrong answer.
func TestDamagedRows(t *testing.T) {
	world, part := quadkey.Tile{}.Key(), quadkey.Tile{Z: 1, X: 1, Y: 1}.Key()
	whole := make([]byte, layout.candidateSize())
	for name, row := range map[string]struct{ key, value []byte }{
		"cut short":    {world[:], whole[1:]},
		"another tile": {part[:], whole},
		"no tile":      {append(world[:], 0), whole},
	} {
		store := buildtest.NewStore(t)
		must.Do(t, store.CreateTable(t.Context(), layout.Schema("x")))
		table := must.Get(store.Table(t.Context(), "x")).In(t)
		var got Lookup
		if found, err := layout.Open(table).Nearest(t.Context(), 80, -170, &got); found || err != nil {
			t.Errorf("an empty table: %v, %v", found, err)
		}
		must.Do(t, table.Apply(t.Context(), cellstore.Mutation{Row: row.key, Ops: []cellstore.Op{cellstore.Put("near", nil, row.value)}}))
		if _, err := layout.Open(table).Nearest(t.Context(), 80, -170, &got); !errors.Is(err, cellstore.ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func (a vec) norm() float64 { return math.Sqrt(a.dot(a)) }

// maxDot is exact: it is at least the product for every point of the ground, and equal to the
// product for one of them.
func TestMaxDot(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		z := rapid.Uint8Range(0, 16).Draw(t, "z")
		side := uint32(1) << z
		tile := quadkey.Tile{Z: z, X: rapid.Uint32Range(0, side-1).Draw(t, "x"), Y: rapid.Uint32Range(0, side-1).Draw(t, "y")}
		part := rapid.Float64Range(-1, 1)
		v := vec{part.Draw(t, "vx"), part.Draw(t, "vy"), part.Draw(t, "vz")}
		// The difference of two positions is zero or longer than this. The squares of shorter
		// vectors would be too small for a float.
		if v.norm() < 1e-20 {
			v = vec{}
		}
		g := groundOf(tile)
		b := tile.Bound()
		if tile.Y == 0 {
			b.North = 90
		}
		if tile.Y == side-1 {
			b.South = -90
		}
		got, most := g.maxDot(v), math.Inf(-1)
		const steps = 64
		for i := range steps + 1 {
			for j := range steps + 1 {
				lon := b.West + (b.East-b.West)*float64(i)/steps
				lat := b.South + (b.North-b.South)*float64(j)/steps
				most = max(most, v.dot(vecOf(lon, lat)))
			}
		}
		// Between points of the mesh the product is greater by at most 1 − cos d, for vectors of
		// length 1, where d is about half the width of the mesh.
		width := max(b.East-b.West, b.North-b.South) * radians / steps
		if got < most-1e-14 || got > most+width*width*v.norm() {
			t.Fatalf("tile %v, %v: %v, mesh has %v", tile, v, got, most)
		}
	})
}

func TestCellKeyIsBeforeItsLeaf(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cell := quadkey.Cell(rapid.Uint32().Draw(t, "cell"))
		z := rapid.Uint8Range(0, 16).Draw(t, "z")
		from, leaf := CellKey(cell), cell.Tile().Ancestor(z).Key()
		if string(from[:]) > string(leaf[:]) {
			t.Fatalf("%x is after %x", from, leaf)
		}
	})
}
