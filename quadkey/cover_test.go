package quadkey

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"quadrille/internal/must"
)

const whole = math.MaxUint32

// checkRanges checks the guarantees of every cover, for any shape.
func checkRanges(ranges []Range, limit int) error {
	if len(ranges) == 0 || len(ranges) > limit {
		return fmt.Errorf("%d ranges, limit %d", len(ranges), limit)
	}
	for i, r := range ranges {
		if r.First > r.Last {
			return fmt.Errorf("range %d runs backwards: %v", i, r)
		}
		if i > 0 && uint64(r.First) < uint64(ranges[i-1].Last)+2 {
			return fmt.Errorf("range %d touches the one before: %v, %v", i, ranges[i-1], r)
		}
	}
	return nil
}

func covers(ranges []Range, c Cell) bool {
	return slices.ContainsFunc(ranges, func(r Range) bool { return r.Contains(c) })
}

func size(ranges []Range) (n uint64) {
	for _, r := range ranges {
		n += uint64(r.Last-r.First) + 1
	}
	return n
}

// runs returns the exact cover of a set of cells.
func runs(cells []Cell) (ranges []Range) {
	slices.Sort(cells)
	for _, c := range slices.Compact(cells) {
		if n := len(ranges); n > 0 && ranges[n-1].Last+1 == c {
			ranges[n-1].Last = c
		} else {
			ranges = append(ranges, Range{c, c})
		}
	}
	return ranges
}

// boxTouches reports, by comparing degrees, whether the box, edges included, has a point that
// belongs to the tile.
func boxTouches(b Box, t Tile) bool {
	g := refTarget(t)
	top, bottom := t.Y == 0, t.Y == 1<<t.Z-1
	if !(b.South <= g.North || top) || !(b.North > g.South || bottom) {
		return false
	}
	if g.West == -180 && b.Contains(180, b.South) {
		return true
	}
	spans := []Box{b}
	if b.West > b.East {
		spans = []Box{{West: b.West, East: 180}, {West: -180, East: b.East}}
	}
	return slices.ContainsFunc(spans, func(s Box) bool { return s.West < g.East && s.East >= g.West })
}

// TestCoverBoxExactly covers boxes of a few cells anywhere. It compares the covers with a test of
// every cell around the box, and with the best way of closing gaps.
func TestCoverBoxExactly(t *testing.T) {
	r := newRand(10)
	for range trials(3000) {
		lon, lat := randPoint(r)
		if r.IntN(3) == 0 { // corners that are tile corners
			b := randTile(r, CellZoom).Bound()
			lon, lat = b.West, b.North
		}
		box := Box{West: lon, North: lat, South: lat}
		if r.IntN(5) > 0 {
			box.South = max(-90, lat-r.Float64()*0.02)
		}
		box.East = lon
		if r.IntN(5) > 0 {
			box.East = lon + r.Float64()*0.03
		}
		if box.East > 180 {
			box.East -= 360
		}

		var cells []Cell
		const out, mask = MaxZoom - CellZoom, 1<<CellZoom - 1
		x0, y0 := gridAt(box.West, box.North)
		x1, y1 := gridAt(box.East, box.South)
		width := (x1>>out - x0>>out) & mask
		if width > 50 || y1>>out-y0>>out > 50 {
			t.Fatalf("%v is not a small box", box)
		}
		for dx := range width + 5 {
			for dy := range y1>>out - y0>>out + 5 {
				tile := Tile{CellZoom, (x0>>out + dx - 2) & mask, (y0>>out + dy - 2) & mask}
				if boxTouches(box, tile) {
					cells = append(cells, Cell(tile.Packed()))
				}
			}
		}
		want := runs(cells)

		got, err := CoverBox(box, math.MaxInt)
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("%v: %v, %v; want %v", box, got, err, want)
		}
		for limit := 1; limit <= min(len(want), 6); limit++ {
			got, err := CoverBox(box, limit)
			must.Do(t, err)
			if err := checkRanges(got, limit); err != nil {
				t.Fatalf("%v in %d: %v", box, limit, err)
			}
			if len(want) <= 64 && size(got) != leastSize(want, limit) {
				t.Fatalf("%v in %d: %d cells, possible are %d", box, limit, size(got), leastSize(want, limit))
			}
			for _, c := range cells {
				if !covers(got, c) {
					t.Fatalf("%v in %d misses %v", box, limit, c.Tile())
				}
			}
		}
	}
}

// leastSize returns the least number of cells in n ranges that cover the given ones. It tries every
// start of the last range.
func leastSize(ranges []Range, n int) uint64 {
	best := make([]uint64, len(ranges)+1) // of the ranges before i
	for i := range ranges {
		best[i+1] = uint64(ranges[i].Last-ranges[0].First) + 1
	}
	for range n - 1 {
		next := slices.Clone(best)
		for end := 1; end <= len(ranges); end++ {
			for begin := 1; begin < end; begin++ {
				next[end] = min(next[end], best[begin]+uint64(ranges[end-1].Last-ranges[begin].First)+1)
			}
		}
		best = next
	}
	return best[len(ranges)]
}

// TestCoverBoxCoarsely tests boxes of any size with every tile of a zoom.
func TestCoverBoxCoarsely(t *testing.T) {
	const z = 5
	r := newRand(11)
	for range trials(300) {
		var box Box
		box.West, box.North = randPoint(r)
		box.East, box.South = randPoint(r)
		if box.South > box.North {
			box.South, box.North = box.North, box.South
		}
		limit := 1 + r.IntN(64)
		got, err := CoverBox(box, limit)
		must.Do(t, err)
		if err := checkRanges(got, limit); err != nil {
			t.Fatalf("%v: %v", box, err)
		}
		for p := range uint64(1) << (2 * z) {
			tile, _ := TileFromPacked(z, p)
			first, last := tile.CellRange()
			hit := slices.ContainsFunc(got, func(r Range) bool { return r.First <= last && r.Last >= first })
			if boxTouches(box, tile) && !hit {
				t.Fatalf("%v in %d misses all of %v", box, limit, tile)
			}
		}
	}
}

// TestCoverBoxHoldsItsPoints tests random points of boxes.
func TestCoverBoxHoldsItsPoints(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		box, limit := drawBox(rt), rapid.IntRange(1, 40).Draw(rt, "limit")
		got, err := CoverBox(box, limit)
		if err != nil {
			rt.Fatal(err)
		}
		if err := checkRanges(got, limit); err != nil {
			rt.Fatalf("%v: %v", box, err)
		}
		width := box.East - box.West
		if width < 0 {
			width += 360
		}
		for range 8 {
			lon := box.West + width*rapid.SampledFrom([]float64{0, 1, 0.5, 0.123, 0.987}).Draw(rt, "across")
			if lon > 180 {
				lon -= 360
			}
			lat := box.South + (box.North-box.South)*rapid.SampledFrom([]float64{0, 1, 0.5, 0.123, 0.987}).Draw(rt, "up")
			if !box.Contains(lon, lat) {
				continue // rounding moved it out of the box
			}
			c, err := CellOf(lon, lat)
			if err != nil || !covers(got, c) {
				rt.Fatalf("%v in %d misses (%v, %v): cell %v, %v", box, limit, lon, lat, c.Tile(), err)
			}
		}
	})
}

func TestCoverBoxEdges(t *testing.T) {
	full := []Range{{0, whole}}
	for _, tt := range []struct {
		name  string
		box   Box
		limit int
		want  []Range
	}{
		{"world", World, 1, full},
		{"world, many allowed", World, 1000, full},
		{"as drawn", Tile{}.Bound(), 1000, full},
		{"world from another meridian", Box{10, -90, 10 - 1e-9, 90}, 1000, full},
		{"world by two equal meridians of the grid", Box{90, -90, belowDeg(90), 90}, 1000, full},
		{"north-west quarter", Box{-180, aboveDeg(0), belowDeg(0), 90}, 8, []Range{{0, whole / 4}}},
		{"southern half", Box{-180, -90, 180, belowDeg(0)}, 8, []Range{{1 << 31, whole}}},
		{"across 180, to both sides of it", Box{belowDeg(180), -89, aboveDeg(-180), -88}, 8,
			[]Range{{cellAt(t, 0, 65535), cellAt(t, 0, 65535)}, {whole, whole}}},
		{"ends at 180: column 0 too", Box{belowDeg(180), -89, 180, -88}, 8,
			[]Range{{cellAt(t, 0, 65535), cellAt(t, 0, 65535)}, {whole, whole}}},
		{"ends at the last meridian before 180", Box{belowDeg(180), -89, belowDeg(180), -88}, 8, []Range{{whole, whole}}},
		{"the meridian 180", Box{180, 86, 180, 87}, 8, []Range{{0, 0}}},
		{"the meridian 180 as a crossing", Box{180, 86, -180, 87}, 8, []Range{{0, 0}}},
		{"the meridian -180", Box{-180, 86, -180, 87}, 8, []Range{{0, 0}}},
		{"beyond MaxLatitude", Box{-180, 86, -179.999, 90}, 8, []Range{{0, 0}}},
		{"north pole, one meridian", Box{-180, 90, -180, 90}, 8, []Range{{0, 0}}},
		{"a point", Box{0, 0, 0, 0}, 8, []Range{{cellAt(t, 32768, 32768), cellAt(t, 32768, 32768)}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := CoverBox(tt.box, tt.limit)
			if err != nil || !slices.Equal(got, tt.want) {
				t.Errorf("%v, %v; want %v", got, err, tt.want)
			}
		})
	}
}

// TestCoverPolarCap covers the least compact box: one row of cells, in which no more than two at a
// time are neighbours in key order.
func TestCoverPolarCap(t *testing.T) {
	polar := Box{-180, 89, 180, 90}
	got, err := CoverBox(polar, math.MaxInt)
	if err != nil || len(got) != 1<<15 || size(got) != 1<<16 {
		t.Errorf("%d ranges of %d cells, %v", len(got), size(got), err)
	}
	got, err = CoverBox(polar, 4)
	must.Do(t, err)
	if err := checkRanges(got, 4); err != nil {
		t.Error(err)
	}
	for x := range 1 << CellZoom {
		if !covers(got, cellAt(t, x, 0)) {
			t.Fatalf("column %d is missing", x)
		}
	}
}

func cellAt(t *testing.T, x, y int) Cell {
	t.Helper()
	tile, err := NewTile(CellZoom, x, y)
	must.Do(t, err)
	return Cell(tile.Packed())
}

func TestCoverRefuses(t *testing.T) {
	for _, limit := range []int{0, -1, math.MinInt} {
		if got, err := CoverBox(World, limit); !errors.Is(err, ErrTooFewRanges) || got != nil {
			t.Errorf("box in %d: %v, %v", limit, got, err)
		}
		if got, err := CoverCircle(0, 0, 1, limit); !errors.Is(err, ErrTooFewRanges) || got != nil {
			t.Errorf("circle in %d: %v, %v", limit, got, err)
		}
	}
	for _, radius := range []float64{nan, inf, -inf, -1, -5e-324} {
		if got, err := CoverCircle(0, 0, radius, 1); !errors.Is(err, ErrRadius) || got != nil {
			t.Errorf("radius %v: %v, %v", radius, got, err)
		}
	}
}

func TestCoverCircleEdges(t *testing.T) {
	const km, halfTurn = 1000.0, math.Pi * EarthRadius
	full := []Range{{0, whole}}
	for _, tt := range []struct {
		name     string
		lon, lat float64
		radius   float64
		limit    int
		want     []Range // nil: only the checks below
		holds    [][2]float64
		lacks    [][2]float64
	}{
		{name: "half a turn", lon: 12, lat: 34, radius: halfTurn, limit: 1000, want: full},
		{name: "more than the world", lon: 180, lat: -90, radius: math.MaxFloat64, limit: 1, want: full},
		{
			name:   "nothing but a point",
			lon:    0.001,
			lat:    0.001,
			radius: 0,
			limit:  8,
			want:   []Range{{cellAt(t, 32768, 32767), cellAt(t, 32768, 32767)}},
		},
		{name: "the point 180", lon: 180, lat: 20, radius: 0, limit: 8,
			holds: [][2]float64{{180, 20}, {-180, 20}, {belowDeg(180), 20}}, lacks: [][2]float64{{0, 20}, {179.99, 20}}},
		{name: "the north pole", lon: 77, lat: 90, radius: 100 * km, limit: 100_000,
			holds: [][2]float64{{0, 90}, {-180, 90}, {180, 89.2}, {-3, 89.2}, {99, 89.2}}, lacks: [][2]float64{{0, 85}, {0, 0}, {77, -90}}},
		{name: "the south pole", lon: 77, lat: -90, radius: 100 * km, limit: 100_000,
			holds: [][2]float64{{0, -90}, {-180, -90}, {180, -89.2}, {-3, -89.2}, {99, -89.2}}, lacks: [][2]float64{{0, -85}, {0, 0}, {77, 90}}},
		{name: "over the north pole", lon: 0, lat: 80, radius: 1200 * km, limit: 16,
			holds: [][2]float64{{0, 90}, {180, 89.5}, {120, 89.7}, {0, 70}, {0, 86}}, lacks: [][2]float64{{0, 0}, {0, -85}}},
		{name: "near the north pole, beyond the map", lon: 10, lat: 88, radius: 10 * km, limit: 1000,
			holds: [][2]float64{{10, 88}, {10, 88.08}, {12, 88}}, lacks: [][2]float64{{0, 88}, {20, 88}, {-170, 88}, {10, 84}}},
		{name: "across 180", lon: 179.9, lat: -17, radius: 50 * km, limit: 1000,
			holds: [][2]float64{{-179.8, -17}, {180, -17}, {-180, -17.2}, {179.5, -17}}, lacks: [][2]float64{{0, -17}, {-179, -17}, {179, -17}}},
		{name: "across 180 from the other side", lon: -180, lat: 0, radius: 50 * km, limit: 1000,
			holds: [][2]float64{{-179.8, 0.1}, {180, 0}, {179.7, -0.1}}, lacks: [][2]float64{{0, 0}, {-179, 0}, {179, 0}}},
		{name: "a hemisphere", lon: 0, lat: 0, radius: halfTurn / 2, limit: 64,
			holds: [][2]float64{{89.999, 0}, {-89.999, 0}, {0, 90}, {0, -90}, {12, 89}}, lacks: [][2]float64{{180, 0}, {-135, 10}}},
		{name: "all but the antipode", lon: 0, lat: 0, radius: halfTurn - 20*km, limit: 1000,
			holds: [][2]float64{{179.5, 0}, {-179.5, 0}, {180, 1}, {5, 90}}, lacks: [][2]float64{{180, 0}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := CoverCircle(tt.lon, tt.lat, tt.radius, tt.limit)
			must.Do(t, err)
			must.Do(t, checkRanges(got, tt.limit))
			if tt.want != nil && !slices.Equal(got, tt.want) {
				t.Errorf("%v, want %v", got, tt.want)
			}
			for i, points := range [][][2]float64{tt.lacks, tt.holds} {
				for _, p := range points {
					c, err := CellOf(p[0], p[1])
					must.Do(t, err)
					if covers(got, c) != (i == 1) {
						t.Errorf("%v covered: %v", p, i != 1)
					}
				}
			}
		})
	}
}

// randCircle returns a random circle, usually a small one.
func randCircle(r *rand.Rand) (lon, lat, radius float64) {
	lon, lat = randPoint(r)
	return lon, lat, math.Pi * EarthRadius * math.Pow(10, -6*r.Float64())
}

// TestCoverCircleHoldsItsPoints tests random points of circles, half of them just inside the rim.
func TestCoverCircleHoldsItsPoints(t *testing.T) {
	n := trials(6000)
	r := newRand(12)
	tested := 0
	for range n {
		lon, lat, radius := randCircle(r)
		limit := 1 + r.IntN(40)
		got, err := CoverCircle(lon, lat, radius, limit)
		must.Do(t, err)
		if err := checkRanges(got, limit); err != nil {
			t.Fatalf("(%v, %v), %v m: %v", lon, lat, radius, err)
		}
		for range 20 {
			far := radius * (1 - 1e-9)
			if r.IntN(2) == 0 {
				far *= math.Sqrt(r.Float64())
			}
			x, y := refDestination(lon, lat, r.Float64()*2*math.Pi, far)
			if CheckCoordinate(x, y) != nil || Distance(lon, lat, x, y) > radius {
				continue // rounding moved it out of the circle
			}
			tested++
			if c, err := CellOf(x, y); err != nil || !covers(got, c) {
				t.Fatalf("(%v, %v), %v m in %d misses (%v, %v): %v, %v", lon, lat, radius, limit, x, y, c.Tile(), err)
			}
		}
	}
	if tested < n*10 {
		t.Errorf("only %d points of %d circles were inside", tested, n)
	}
}

// TestCoverCircleExactly compares small circles with the distance to every
// cell around them.
func TestCoverCircleExactly(t *testing.T) {
	r := newRand(13)
	for range trials(40) {
		lon := r.Float64()*360 - 180
		lat := r.Float64()*160 - 80
		if r.IntN(3) == 0 {
			lon = math.Copysign(180-r.Float64()*0.01, lon)
		}
		const mask = 1<<CellZoom - 1
		width := 2 * math.Pi * EarthRadius * math.Cos(lat*radians) / (mask + 1)
		radius := width * 4 * r.Float64()
		got, err := CoverCircle(lon, lat, radius, math.MaxInt)
		must.Do(t, err)
		centre, err := TileAt(lon, lat, CellZoom)
		must.Do(t, err)
		var must, may []Cell
		for dx := range uint32(13) {
			for dy := range uint32(13) {
				tile := Tile{CellZoom, (centre.X + dx - 6) & mask, centre.Y + dy - 6}
				d := refMinDistance(tile, lon, lat)
				if d <= radius {
					must = append(must, Cell(tile.Packed()))
				}
				if d <= radius+22e-6 {
					may = append(may, Cell(tile.Packed()))
				}
			}
		}
		if !slices.Equal(got, runs(must)) && !slices.Equal(got, runs(may)) {
			t.Fatalf("(%v, %v), %v m: %v; want %v", lon, lat, radius, got, runs(must))
		}
	}
}

// TestCoverCircleCoarsely tests circles of any size with every tile of a zoom. It logs the size of
// the covers in relation to those tiles.
func TestCoverCircleCoarsely(t *testing.T) {
	const z = 5
	r := newRand(14)
	var covered, touched float64
	for range trials(300) {
		lon, lat := randPoint(r)
		radius := math.Pi * EarthRadius * r.Float64()
		limit := 1 + r.IntN(64)
		got, err := CoverCircle(lon, lat, radius, limit)
		must.Do(t, err)
		if err := checkRanges(got, limit); err != nil {
			t.Fatalf("(%v, %v), %v m: %v", lon, lat, radius, err)
		}
		covered += float64(size(got))
		for p := range uint64(1) << (2 * z) {
			tile, _ := TileFromPacked(z, p)
			if tile.MinDistance(lon, lat) > radius {
				continue
			}
			first, last := tile.CellRange()
			touched += float64(last-first) + 1
			if !slices.ContainsFunc(got, func(r Range) bool { return r.First <= last && r.Last >= first }) &&
				tile.MinDistance(lon, lat) < radius-1 {
				t.Fatalf("(%v, %v), %v m in %d misses all of %v", lon, lat, radius, limit, tile)
			}
		}
	}
	t.Logf("covers of up to 64 ranges hold %.2f times the zoom-%d tiles their circles touch", covered/touched, z)
}

// TestCoverBounded checks that the work of a cover is finite for any limit, and little for a low
// one.
func TestCoverBounded(t *testing.T) {
	const halfTurn = math.Pi * EarthRadius
	for limit, most := range map[int]int{1: 2000, 8: 2000, 100: 8000} {
		calls := 0
		v := viewpointAt(31, 41)
		cover(func(tile Tile) verdict {
			calls++
			if g := tile.ground(); v.minDistance(&g) > halfTurn/3 {
				return outside
			}
			return partly
		}, limit)
		if calls > most {
			t.Errorf("%d tiles looked at for %d ranges", calls, limit)
		}
	}
	got, err := CoverBox(Box{-170, -80, 170, 80}, math.MaxInt)
	must.Do(t, err)
	if err := checkRanges(got, 1<<18); err != nil {
		t.Error(err)
	}
}

func TestRangeKeys(t *testing.T) {
	for _, tt := range []struct {
		r           Range
		start, stop []byte
	}{
		{Range{0, 0}, []byte{0, 0, 0, 0}, []byte{0, 0, 0, 1}},
		{Range{0x01020304, 0x0102FFFF}, []byte{1, 2, 3, 4}, []byte{1, 3, 0, 0}},
		{Range{5, whole}, []byte{0, 0, 0, 5}, nil},
	} {
		start, stop := tt.r.Keys()
		if !bytes.Equal(start, tt.start) || !bytes.Equal(stop, tt.stop) || (stop == nil) != (tt.stop == nil) {
			t.Errorf("%v: %x to %x", tt.r, start, stop)
		}
	}
	rapid.Check(t, func(rt *rapid.T) {
		r := Range{Cell(rapid.Uint32().Draw(rt, "a")), Cell(rapid.Uint32().Draw(rt, "b"))}
		r.First, r.Last = min(r.First, r.Last), max(r.First, r.Last)
		start, stop := r.Keys()
		c := Cell(rapid.Uint32().Draw(rt, "cell"))
		row := append(c.AppendKey(nil), rapid.SliceOfN(rapid.Byte(), 0, 5).Draw(rt, "rest")...)
		in := bytes.Compare(row, start) >= 0 && (stop == nil || bytes.Compare(row, stop) < 0)
		if in != r.Contains(c) {
			rt.Fatalf("row %x in %x to %x: %v", row, start, stop, in)
		}
	})
}

// The tiles of a range have its cells and no others, in order, and no four of them form a larger
// tile.
func TestRangeTiles(t *testing.T) {
	r := rand.New(rand.NewPCG(61, 62))
	for i := range 2000 {
		a := r.Uint32() >> r.IntN(32)
		b := a + r.Uint32()>>r.IntN(32)
		switch i {
		case 0:
			a, b = 0, math.MaxUint32
		case 1:
			a, b = math.MaxUint32, math.MaxUint32
		}
		of := Range{Cell(min(a, b)), Cell(max(a, b))}
		next, n := uint64(of.First), 0
		var last [3]Tile
		for tile := range of.Tiles() {
			first, end := tile.CellRange()
			if uint64(first) != next || end > of.Last || !tile.Valid() {
				t.Fatalf("%v: %v begins with %d and not %d", of, tile, first, next)
			}
			if p := tile.Parent(); n >= 3 && tile.Z > 0 && last[0].Z == tile.Z && last[1].Z == tile.Z && last[2].Z == tile.Z &&
				last[0].Parent() == p && last[1].Parent() == p && last[2].Parent() == p {
				t.Fatalf("%v: %v would do", of, p)
			}
			next = uint64(end) + 1
			last = [3]Tile{last[1], last[2], tile}
			n++
		}
		if next != uint64(of.Last)+1 || n > 6*CellZoom {
			t.Fatalf("%v: %d tiles end before %d", of, n, next)
		}
		for range of.Tiles() {
			break
		}
	}
}
