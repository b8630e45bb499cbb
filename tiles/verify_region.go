package tiles

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/bits"
	"slices"
	"strconv"

	"quadrille/cellstore"
	"quadrille/quadkey"
	"quadrille/tiles/mvt"
)

// regionArea is the area of a region's record on the world grid, in units
// squared, and how far the area of its pieces may be from it.
type regionArea struct{ area, bound float64 }

// loadRegions reads the region records: their ids, the areas of their
// geometries, and what their sources said of points.
func (v *verifier) loadRegions(ctx context.Context, store cellstore.Store) error {
	v.early = findings{}
	table, err := store.Table(ctx, TableRegions)
	if err != nil {
		return err
	}
	byByte := map[uint8]int{}
	for i, t := range v.types {
		byByte[t.Byte] = i
		t.byTag = make(map[string]int32, t.Regions)
	}
	limit := store.Limits().Value
	for row, err := range table.Scan(ctx, cellstore.Scan{}) {
		if err != nil {
			return err
		}
		i, ok := byByte[row.Key[0]]
		if !ok {
			v.early.add(v.opts.Examples, -1, "", ProblemRow, Example{Detail: fmt.Sprintf("record %q is of no type", row.Key)})
			continue
		}
		t := v.types[i]
		id := string(row.Key[1:])
		t.byTag[id] = int32(len(t.ids))
		t.ids = append(t.ids, id)
		var a regionArea
		if g, ok := row.Value(familyGeometry, nil); ok {
			if a, err = geometryArea(g, limit); err != nil {
				v.early.add(v.opts.Examples, i, t.Name, ProblemRow, Example{Region: id, Detail: fmt.Sprintf("its geometry: %v", err)})
			}
		}
		t.area = append(t.area, a)
		b, _ := row.Value(familyWitness, nil)
		w, err := parseWitnesses(b)
		if err != nil {
			v.early.add(v.opts.Examples, i, t.Name, ProblemRow, Example{Region: id, Detail: err.Error()})
		}
		t.witnesses = append(t.witnesses, w)
	}
	for i, t := range v.types {
		if len(t.ids) != t.Regions {
			v.early.add(v.opts.Examples, i, t.Name, ProblemRow, Example{Detail: fmt.Sprintf("has %d records, its description says %d", len(t.ids), t.Regions)})
		}
	}
	return nil
}

var errGeometry = errors.New("not the coordinates of a Polygon or MultiPolygon")

// geometryArea measures a GeoJSON geometry of ours on the world grid. limit is
// the most bytes a geometry may have; one that comes near it may have been made
// coarser to fit.
//
// The bound follows from how far a border may be from its gridded self. The
// record's vertices are rounded to the plate carrée grid, half a unit in x and
// half a unit times sec φ in y, and to six decimals of a degree, a tenth of
// that; the tiles' to half a unit, half a unit more for straight edges, and one
// for the corners where borders were made to meet. A border moved by δ changes
// the area by its length times δ at most.
func geometryArea(g []byte, limit int) (regionArea, error) {
	const before, multi = `"coordinates":`, `"MultiPolygon"`
	at := bytes.Index(g, []byte(before))
	if at < 0 {
		return regionArea{}, errGeometry
	}
	depth := 3
	if bytes.Contains(g[:at], []byte(multi)) {
		depth = 4
	}
	coarse := 1.0
	if len(g) > limit/8 {
		units := uint64(0) // of all coordinates together
		err := eachCoordinate(g[at+len(before):], depth, func(lon, lat float64, _ bool) {
			units |= uint64(int64(math.Round((lon+180)/360*worldSize)) | int64(math.Round(plateY(lat))))
		})
		if err != nil {
			return regionArea{}, err
		}
		coarse = math.Exp2(float64(bits.TrailingZeros64(units | worldSize)))
	}
	var sum, bound float64
	var x0, lat0 float64
	err := eachCoordinate(g[at+len(before):], depth, func(lon, lat float64, first bool) {
		x := gridX(lon)
		if !first {
			y0, y := clampedY(lat0), clampedY(lat)
			sum += x*y - x0*y0 - (x-x0)*meanY(lat0, lat)
			if length := math.Hypot(x-x0, y-y0); y0 != y || y0 > 0 && y0 < worldSize {
				far := math.Cos(min(max(math.Abs(lat0), math.Abs(lat)), quadkey.MaxLatitude) * math.Pi / 180)
				bound += (length + 4) * (2 + coarse*(0.6+0.6/far))
			}
		}
		x0, lat0 = x, lat
	})
	return regionArea{math.Abs(sum), bound + 64}, err
}

// clampedY is the row of a latitude on the grid, at its edge beyond.
func clampedY(lat float64) float64 {
	if math.Abs(lat) >= quadkey.MaxLatitude {
		return math.Copysign(worldSize/2, -lat) + worldSize/2
	}
	return mercatorY(lat)
}

// meanY is the mean row along an edge that is straight in degrees, by Simpson's
// rule on steps of a quarter of a degree.
func meanY(lat0, lat1 float64) float64 {
	n := max(1, math.Ceil(math.Abs(lat1-lat0)*4))
	sum := 0.0
	for i := range int(n) {
		a := lat0 + (lat1-lat0)*float64(i)/n
		b := lat0 + (lat1-lat0)*float64(i+1)/n
		sum += clampedY(a) + 4*clampedY((a+b)/2) + clampedY(b)
	}
	return sum / 6 / n
}

// eachCoordinate calls fn for the positions of GeoJSON coordinates nested so many
// arrays deep; first begins a ring.
func eachCoordinate(b []byte, depth int, fn func(lon, lat float64, first bool)) error {
	level, first := 0, true
	for i := 0; i < len(b); {
		switch b[i] {
		case '[':
			level++
			first = first || level == depth-1
			i++
		case ']':
			if level--; level == 0 {
				return nil
			}
			i++
		case ',', ' ', '\n', '\t', '\r':
			i++
		default:
			if level != depth {
				return errGeometry
			}
			var v [2]float64
			for k := range v {
				n := i
				for n < len(b) && b[n] != ',' && b[n] != ']' {
					n++
				}
				f, err := strconv.ParseFloat(string(bytes.TrimSpace(b[i:n])), 64)
				if err != nil || n == len(b) || k == 0 && b[n] != ',' {
					return errGeometry
				}
				v[k] = f
				if i = n; k == 0 {
					i++
				}
			}
			fn(v[0], v[1], first)
			first = false
		}
	}
	return errGeometry
}

// finish judges the regions when all rows have been read.
func (p *checkPart) finish(ctx context.Context) error {
	for i := range p.types {
		pt := &p.types[i]
		ct := p.v.types[i]
		for r := range ct.ids {
			p.region(i, int32(r))
		}
		for _, pair := range slices.SortedFunc(maps.Keys(pt.overlaps), func(a, b [2]int32) int { return slices.Compare(a[:], b[:]) }) {
			if n := pt.overlaps[pair]; n.deepest == 0 {
				p.find(i, ProblemOverlap, n.example, pair[0], "overlaps %s in %d tiles, and in none of zoom %d", ct.ids[pair[1]], n.above, MaxZoom)
			}
		}
		for _, l := range pt.deepest {
			if err := ctx.Err(); err != nil {
				return err
			}
			in, err := p.labelInside(ctx, i, l)
			if err != nil {
				return err
			}
			if !in {
				p.find(i, ProblemLabel, l.tile, l.region, "label at %d %d lies outside", l.x, l.y)
			}
		}
	}
	return nil
}

func (p *checkPart) region(typ int, r int32) {
	pt := &p.types[typ]
	find := func(problem Problem, format string, args ...any) {
		p.found.add(p.v.opts.Examples, typ, pt.Name, problem, Example{Region: p.v.types[typ].ids[r], Detail: fmt.Sprintf(format, args...)})
	}
	zooms := pt.zooms[r]
	if zooms != 0 {
		first := bits.TrailingZeros16(zooms)
		for z := first; z <= MaxZoom; z++ {
			if zooms>>z&1 == 0 {
				find(ProblemZoom, "is shown from zoom %d on, and not at zoom %d", first, z)
			}
		}
	}
	want := p.v.types[typ].area[r]
	if math.Abs(pt.area[r]-want.area) > want.bound {
		find(ProblemArea, "its pieces at zoom %d have the area %.0f, its geometry %.0f, which rounding lets differ by %.0f", MaxZoom, pt.area[r], want.area, want.bound)
	}
	if !p.v.bordered || zooms == 0 {
		return
	}
	for z := range MaxZoom + 1 {
		if pt.labelled[r]>>z&1 == 0 {
			find(ProblemLabel, "has no label at zoom %d", z)
		}
	}
}

// labelInside reports whether a label at the deepest zoom lies in its region,
// or on its border.
func (p *checkPart) labelInside(ctx context.Context, typ int, l labelAt) (bool, error) {
	key := l.tile.Key()
	rows := make([]cellstore.Row, 1)
	if err := p.v.bounds.NextEach(ctx, key[:], nil, []string{p.v.types[typ].Name + familyMVT}, rows); err != nil {
		return false, err
	}
	if rows[0].Empty() || len(rows[0].Cells[0].Value) == 0 {
		return false, nil
	}
	value := rows[0].Cells[0].Value
	t, ok := rowTile(rows[0].Key)
	if !ok || t != l.tile && !(value[0] == markLeaf && t.Contains(l.tile)) {
		return false, nil
	}
	// What cannot be decoded has been found when its row was checked.
	quiet := &checkPart{v: p.v, types: p.types, found: findings{}}
	if _, ok := quiet.decode(typ, t, value[1:]); !ok {
		return false, nil
	}
	at := mvt.XY{X: l.x, Y: l.y}
	winding := 0
	for i := range quiet.tile.edges {
		e := &quiet.tile.edges[i]
		if e.region != l.region {
			continue
		}
		side := cross(e.a, e.b, at)
		if side == 0 && min(e.a.X, e.b.X) <= at.X && at.X <= max(e.a.X, e.b.X) && min(e.a.Y, e.b.Y) <= at.Y && at.Y <= max(e.a.Y, e.b.Y) {
			return true, nil
		}
		switch {
		case e.a.Y <= at.Y && e.b.Y > at.Y && side > 0:
			winding++
		case e.b.Y <= at.Y && e.a.Y > at.Y && side < 0:
			winding--
		}
	}
	return winding != 0, nil
}
