package tiles

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"quadrille/cellstore"
	"quadrille/quadkey"
	"quadrille/tiles/internal/grid"
	"quadrille/tiles/internal/layout"
	"quadrille/tiles/mvt"
)

// Region is a region that was found at a point.
type Region struct {
	Type, ID, Name string
}

// At returns the regions at a point in degrees, in the data set's order of types. Of one type the
// smallest comes first: an enclave before what is drawn around it. At reads the given types, or all
// of them if none is given, with one seek each. It needs no seek for a type if the Reader has
// cached that the answer is the same all over a tile around the point.
//
// A tile owns its western and northern edges, so a point lies in one tile. A point on a
// border belongs to exactly one of its two regions, and longitude 180 is −180. The answer
// is exact to the border on the world grid: the point is rounded to 2⁻²⁰ of a unit, about a
// micrometre. Beyond the latitudes of the tiles the polar rows answer just as exactly.
//
// Errors match ErrUnknownType or quadkey.ErrCoordinate, or come from the store.
func (r *Reader) At(ctx context.Context, lat, lon float64, types ...string) ([]Region, error) {
	if err := quadkey.CheckCoordinate(lon, lat); err != nil {
		return nil, err
	}
	s := r.scratch.Get().(*scratch)
	defer r.scratch.Put(s)
	for _, t := range types {
		if err := r.Check(t); err != nil {
			return nil, err
		}
	}
	lon = meridian(lon, lat)
	if math.Abs(lat) > quadkey.MaxLatitude {
		return r.atPole(ctx, s, lon, lat, types)
	}
	t, err := quadkey.TileAt(lon, lat, grid.MaxZoom)
	if err != nil {
		return nil, err
	}
	var before *uniform
	if r.uniform != nil {
		before = r.uniform.of(t)
	}
	s.asked(r, types, before)
	if len(s.types) > 0 {
		if err := r.seek(ctx, s, t, s.types, true); err != nil {
			return nil, err
		}
	}
	px, py := tilePoint(t, lon, lat)
	found, err := s.regionsAt(px, py, tileSubBits)
	if err == nil {
		err = r.smallestFirst(ctx, found)
	}
	if err != nil {
		return nil, err
	}
	if learnt, in := s.uniform(t); learnt != 0 && r.uniform != nil {
		r.uniform.keep(r.learn(in, learnt, found, before))
	}
	return r.merge(found, before, types), nil
}

// asked sets s.types to the types that must be read: the requested ones, or all if none is given,
// except those with a cached answer.
func (s *scratch) asked(r *Reader, types []string, known *uniform) {
	s.types = s.types[:0]
	for _, rt := range r.order {
		if (len(types) == 0 || slices.Contains(types, rt.Name)) && !known.has(rt) {
			s.types = append(s.types, rt)
		}
	}
}

// atPole returns the regions at a point beyond the latitudes of the tiles.
func (r *Reader) atPole(ctx context.Context, s *scratch, lon, lat float64, types []string) ([]Region, error) {
	s.asked(r, types, nil)
	px, py, err := r.seekCap(ctx, s, lon, lat)
	if err != nil {
		return nil, err
	}
	found, err := s.regionsAt(px, py, capSubBits)
	if err != nil {
		return nil, err
	}
	return found, r.smallestFirst(ctx, found)
}

// smallestFirst orders overlapping regions of one type by the area of their bounds.
func (r *Reader) smallestFirst(ctx context.Context, found []Region) error {
	for from := 0; from < len(found); {
		to := from + 1
		for to < len(found) && found[to].Type == found[from].Type {
			to++
		}
		if same := found[from:to]; len(same) > 1 {
			areas := make(map[string]float64, len(same))
			for i := range same {
				area, err := r.area(ctx, &same[i])
				if err != nil {
					return err
				}
				areas[same[i].ID] = area
			}
			slices.SortStableFunc(same, func(a, b Region) int { return cmp.Compare(areas[a.ID], areas[b.ID]) })
		}
		from = to
	}
	return nil
}

// area returns the size of the bounds of a region, in square degrees.
func (r *Reader) area(ctx context.Context, of *Region) (float64, error) {
	rec, err := r.record(ctx, of.Type, of.ID)
	if errors.Is(err, ErrNotFound) {
		return 0, fmt.Errorf("%w: %s %s is drawn and has no record", ErrCorrupt, of.Type, of.ID)
	}
	return squareDegrees(boxOf(rec.bounds)), err
}

func squareDegrees(b quadkey.Box) float64 { return spanOf(b.West, b.East).width * (b.North - b.South) }

// regionsAt returns the regions at a point from the rows in s.
func (s *scratch) regionsAt(px, py int64, sub uint) (found []Region, err error) {
	for i, rt := range s.types {
		if s.rows[i].Empty() {
			continue
		}
		mark, tile, err := splitMark(s.rows[i].Cells[0].Value)
		if err != nil {
			return nil, err
		}
		err = s.eachFeature(tile, nil, func(f mvt.Feature, id, name []byte) error {
			if mark != layout.MarkLeaf {
				in, err := s.holds(f, px, py, sub)
				if err != nil || !in {
					return err
				}
			}
			found = append(found, Region{rt.Name, string(id), string(name)})
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

// uniform returns a bit set of the types whose rows give one answer for every point of tile t. in
// is the largest tile around t to which all those answers apply: a leaf may be larger than t, but
// an empty row is known to be empty only in t.
func (s *scratch) uniform(t quadkey.Tile) (bits uint64, in quadkey.Tile) {
	for i, rt := range s.types {
		row := &s.rows[i]
		of := t
		if !row.Empty() {
			if row.Cells[0].Value[0] != layout.MarkLeaf {
				continue
			}
			if leaf, ok := layout.RowTile(row.Key); ok {
				of = leaf
			}
		}
		bits |= rt.bit()
		in = finer(in, of)
	}
	return bits, in
}

// finer returns the smaller of two tiles around one point.
func finer(a, b quadkey.Tile) quadkey.Tile {
	if a.Z > b.Z {
		return a
	}
	return b
}

// learn adds the types in the bit set learnt, which have just been read, to the cached answers for
// a tile. found are their regions at one point of the tile. The result holds for the smaller of the
// two tiles.
func (r *Reader) learn(t quadkey.Tile, learnt uint64, found []Region, before *uniform) *uniform {
	u := &uniform{tile: t, known: learnt}
	if before != nil {
		u.tile = finer(t, before.tile)
		u.known |= before.known
		u.found = slices.Clone(before.found)
	}
	for _, f := range found {
		if r.types[f.Type].bit()&learnt != 0 {
			u.found = append(u.found, f)
		}
	}
	return u
}

// merge adds the known regions of the requested types, in the data set's order. The caller owns the
// result.
func (r *Reader) merge(found []Region, known *uniform, types []string) []Region {
	if known == nil || len(known.found) == 0 {
		return found
	}
	all := make([]Region, 0, len(found)+len(known.found))
	for _, rt := range r.order {
		if len(types) > 0 && !slices.Contains(types, rt.Name) {
			continue
		}
		from := found
		if known.has(rt) {
			from = known.found
		}
		for i := range from {
			if from[i].Type == rt.Name {
				all = append(all, from[i])
			}
		}
	}
	return all
}

// meridian normalizes the longitude of a point: 180° is −180°, and so is every longitude at a pole.
func meridian(lon, lat float64) float64 {
	if lon == 180 || math.Abs(lat) == 90 {
		return -180
	}
	return lon
}

// Points are rounded down to this many fractional bits of a grid unit. Caps
// have fewer, because they are as wide as the world and products of their
// coordinates must fit 64 bits.
const (
	tileSubBits = 20
	capSubBits  = 16
)

// tilePoint returns a point in the sub-units of its tile of zoom 13.
func tilePoint(t quadkey.Tile, lon, lat float64) (px, py int64) {
	inTile := func(world float64, tile uint32) int64 {
		v := int64(math.Floor((world - float64(tile)*mvt.Extent) * (1 << tileSubBits)))
		// Rounding can put the point just outside its tile.
		return min(max(v, 0), mvt.Extent<<tileSubBits-1)
	}
	return inTile(layout.GridX(lon), t.X), inTile(layout.MercatorY(lat), t.Y)
}

// seekCap reads the polar rows beyond the tiles and returns the point in
// their coordinates.
func (r *Reader) seekCap(ctx context.Context, s *scratch, lon, lat float64) (px, py int64, err error) {
	polar := layout.NorthCap
	if lat < 0 {
		polar = layout.SouthCap
	}
	for len(s.rows) < len(s.types) {
		s.rows = append(s.rows, cellstore.Row{})
	}
	for i, rt := range s.types {
		// There is one key and few types, so each type costs one get.
		sel := cellstore.Selection{Families: []string{rt.mvt}}
		if _, err := rt.bounds.Get(ctx, polar.Key, &sel, &s.rows[i]); err != nil {
			return 0, 0, err
		}
	}
	px, py = capPoint(polar, lon, lat)
	return px, py, nil
}

// capPoint returns a point in the sub-units of the polar cap that it lies in.
func capPoint(polar *layout.PolarCap, lon, lat float64) (px, py int64) {
	in := func(v float64, size int32) int64 {
		return min(max(int64(math.Floor(v*(1<<capSubBits))), 0), int64(size)<<capSubBits-1)
	}
	// The clamp keeps the south pole off the far edge. It does the same for the last longitude
	// before 180°, which rounding puts on that edge.
	return in(layout.GridX(lon), polar.X1-polar.X0), in(layout.PlateCarreeY(lat)-float64(polar.Y0), polar.Y1-polar.Y0)
}

// holds reports whether a stored polygon feature contains a point given in
// sub-units of its coordinates. It counts the winding number along the ray to
// the east. Edges are half-open in y, so exactly one of two regions that share
// a border contains a point on it.
func (s *scratch) holds(f mvt.Feature, px, py int64, sub uint) (bool, error) {
	if f.Type != mvt.Polygon {
		return false, errNoPolygon()
	}
	var p mvt.Path
	p.Reset(f)
	winding := 0
	for {
		pts, err := s.nextRing(&p)
		if err != nil {
			return false, err
		}
		if pts == nil {
			return winding > 0, nil
		}
		winding += windingOf(pts, px, py, sub)
	}
}

func errNoPolygon() error {
	return fmt.Errorf("%w: a region that is not a polygon", ErrCorrupt)
}

// windingOf counts how often a ring winds around a point.
func windingOf(ring []grid.Point, px, py int64, sub uint) (winding int) {
	a := ring[len(ring)-1]
	for _, b := range ring {
		ay, by := int64(a.Y)<<sub, int64(b.Y)<<sub
		if (ay <= py) != (by <= py) {
			// The computation starts at the northern end in both directions of the edge, so that
			// the two neighbours get the same result.
			lo, hi := a, b
			if ay > by {
				lo, hi = b, a
			}
			left := (px - int64(lo.X)<<sub) * int64(hi.Y-lo.Y)
			right := (py - int64(lo.Y)<<sub) * int64(hi.X-lo.X)
			if left < right {
				if ay > by {
					winding--
				} else {
					winding++
				}
			}
		}
		a = b
	}
	return winding
}
