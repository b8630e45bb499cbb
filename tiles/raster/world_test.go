package raster

import (
	"cmp"
	"compress/gzip"
	"encoding/json"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/paulmach/orb"
	"github.com/paulmach/orb/geojson"

	"quadrille/internal/tilestest"
	"quadrille/quadkey"
	"quadrille/tiles/mvt"
)

// world is a real layer. Tests make vector tiles from it as a builder would: polygons, lines
// between neighbours, labels.
type world struct {
	typ     string
	regions []worldRegion
}

type worldRegion struct {
	id, name string
	rings    [][][2]float64 // in the unit square
	label    [2]float64
	area     float64
}

// readWorld reads a file of Natural Earth, or skips the test.
func readWorld(t testing.TB, typ, file, id, label string) *world {
	t.Helper()
	path := filepath.Join("../../../shared/data/natural-earth", file)
	f, err := os.Open(path)
	if os.IsNotExist(err) {
		t.Skipf("%s is not there", path)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	var fc geojson.FeatureCollection
	if err := json.Unmarshal(text, &fc); err != nil {
		t.Fatal(err)
	}
	w := &world{typ: typ}
	for _, f := range fc.Features {
		r := worldRegion{id: f.Properties.MustString(id, ""), name: f.Properties.MustString(label, "")}
		polys := tilestest.Polygons(f.Geometry)
		for _, p := range polys {
			for i, ring := range p {
				if cw := ring.Orientation() == orb.CW; cw != (i == 0) {
					slices.Reverse(ring) // shells clockwise on the map, whose y points down
				}
				var pts [][2]float64
				for _, q := range ring[:len(ring)-1] {
					x, y := quadkey.Project(q[0], q[1])
					pts = append(pts, [2]float64{x, y})
				}
				r.rings = append(r.rings, pts)
			}
			r.area += math.Abs(signedArea(r.rings[len(r.rings)-len(p)]))
		}
		r.label[0], r.label[1] = quadkey.Project(f.Properties.MustFloat64("LABEL_X", f.Properties.MustFloat64("longitude", 0)),
			f.Properties.MustFloat64("LABEL_Y", f.Properties.MustFloat64("latitude", 0)))
		w.regions = append(w.regions, r)
	}
	slices.SortStableFunc(w.regions, func(a, b worldRegion) int { return cmp.Compare(b.area, a.area) })
	return w
}

func signedArea(ring [][2]float64) (sum float64) {
	prev := ring[len(ring)-1]
	for _, p := range ring {
		sum += prev[0]*p[1] - prev[1]*p[0]
		prev = p
	}
	return sum / 2
}

// buffer is the width of the buffer of our tiles.
const buffer = mvt.Extent / 64

// makeTile makes the tile at z, x, y from several worlds.
func makeTile(z, x, y, scale int, worlds ...*world) *Tile {
	t := &Tile{Zoom: z, Scale: scale}
	n := 1 << z
	for _, w := range worlds {
		t.Vector = w.appendVector(t.Vector, z, x, y)
		for i := range t.Points {
			ty := y + i/3 - 1
			if ty < 0 || ty >= n {
				continue
			}
			t.Points[i] = w.appendLabels(t.Points[i], z, (x+i%3-1+n)%n, ty)
		}
	}
	return t
}

func (w *world) appendVector(dst []byte, z, x, y int) []byte {
	type segment [2]mvt.XY
	owners := map[segment]string{}
	var fills, lines mvt.Layer
	fills.Reset(w.typ)
	lines.Reset(w.typ + "_line")
	n := float64(int(1) << z)
	grid := make([][][]mvt.XY, len(w.regions))
	for i, r := range w.regions {
		for _, ring := range r.rings {
			var out []mvt.XY
			for _, p := range ring {
				q := mvt.XY{X: int32(math.Round((p[0]*n - float64(x)) * mvt.Extent)), Y: int32(math.Round((p[1]*n - float64(y)) * mvt.Extent))}
				if len(out) == 0 || out[len(out)-1] != q {
					out = append(out, q)
				}
			}
			if len(out) > 1 && out[0] == out[len(out)-1] {
				out = out[:len(out)-1]
			}
			if len(out) < 3 || !meets(out) {
				continue
			}
			grid[i] = append(grid[i], out)
			for j, p := range out {
				owners[segment{p, out[(j+1)%len(out)]}] = r.id
			}
		}
	}
	for i, r := range w.regions {
		fills.Begin(uint64(i+1), mvt.Polygon)
		fills.TagString("id", r.id)
		for _, ring := range grid[i] {
			if c := clipRing(ring); len(c) >= 3 {
				fills.Ring(c)
			}
		}
		fills.End()
		for _, ring := range grid[i] {
			for j, p := range ring {
				q := ring[(j+1)%len(ring)]
				other, twin := owners[segment{q, p}]
				if twin && other <= r.id || !meets([]mvt.XY{p, q}) {
					continue
				}
				lines.Begin(0, mvt.LineString)
				lines.TagString("right", r.id)
				if twin {
					lines.TagString("left", other)
				}
				lines.Line([]mvt.XY{p, q})
				lines.End()
			}
		}
	}
	return lines.AppendTo(fills.AppendTo(dst))
}

// meets reports whether points may touch the buffered tile.
func meets(pts []mvt.XY) bool {
	lo, hi := pts[0], pts[0]
	for _, p := range pts {
		lo.X, lo.Y, hi.X, hi.Y = min(lo.X, p.X), min(lo.Y, p.Y), max(hi.X, p.X), max(hi.Y, p.Y)
	}
	return lo.X <= mvt.Extent+buffer && lo.Y <= mvt.Extent+buffer && hi.X >= -buffer && hi.Y >= -buffer
}

// clipRing clips a ring to the buffered tile, side by side.
func clipRing(ring []mvt.XY) []mvt.XY {
	const lo, hi = float64(-buffer), float64(mvt.Extent + buffer)
	for side := range 4 {
		var out []mvt.XY
		inside := func(p mvt.XY) bool {
			return [4]bool{float64(p.X) >= lo, float64(p.X) <= hi, float64(p.Y) >= lo, float64(p.Y) <= hi}[side]
		}
		for i, b := range ring {
			a := ring[(i+len(ring)-1)%len(ring)]
			if inside(a) != inside(b) {
				limit := [4]float64{lo, hi, lo, hi}[side]
				ax, ay, bx, by := float64(a.X), float64(a.Y), float64(b.X), float64(b.Y)
				if side < 2 {
					out = append(out, mvt.XY{X: int32(limit), Y: int32(math.Round(ay + (by-ay)*(limit-ax)/(bx-ax)))})
				} else {
					out = append(out, mvt.XY{X: int32(math.Round(ax + (bx-ax)*(limit-ay)/(by-ay))), Y: int32(limit)})
				}
			}
			if inside(b) {
				out = append(out, b)
			}
		}
		ring = out
		if len(ring) == 0 {
			return nil
		}
	}
	return ring
}

func (w *world) appendLabels(dst []byte, z, x, y int) []byte {
	var l mvt.Layer
	l.Reset(w.typ + "_label")
	n := float64(int(1) << z)
	for rank, r := range w.regions {
		px, py := math.Floor((r.label[0]*n-float64(x))*mvt.Extent), math.Floor((r.label[1]*n-float64(y))*mvt.Extent)
		if px < 0 || py < 0 || px >= mvt.Extent || py >= mvt.Extent {
			continue
		}
		l.Begin(uint64(rank+1), mvt.Point)
		l.TagString("id", r.id)
		l.TagString("name", r.name)
		l.TagInt("rank", int64(rank))
		l.Point(mvt.XY{X: int32(px), Y: int32(py)})
		l.End()
	}
	return l.AppendTo(dst)
}
