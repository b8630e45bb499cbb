package tiles

import (
	"context"
	"fmt"
	"math"
	"slices"

	"quadrille/cellstore"
	"quadrille/quadkey"
	"quadrille/tiles/internal/grid"
	"quadrille/tiles/internal/layout"
	"quadrille/tiles/mvt"
)

// Region is a region found at a point.
type Region struct {
	Type, ID, Name string
}

// At returns the regions at a point in degrees, of the given types or, with
// none, of all, in the data set's order. It costs one seek per type.
//
// A point belongs to one tile, as tiles own their western and northern edges,
// and a point on a border to exactly one of the two regions; longitude 180 is
// −180. The answer is exact to the border on the world grid: the point is taken
// to a 2⁻²⁰ of a unit, about a micrometre. Beyond the latitudes of the tiles
// the polar rows answer, as exactly.
//
// Errors match ErrUnknownType or quadkey.ErrCoordinate, or come from the
// store.
func (r *Reader) At(ctx context.Context, lat, lon float64, types ...string) ([]Region, error) {
	if err := quadkey.CheckCoordinate(lon, lat); err != nil {
		return nil, err
	}
	s := r.scratch.Get().(*scratch)
	defer r.scratch.Put(s)
	for _, t := range types {
		if r.types[t] == nil {
			return nil, r.unknownType(t)
		}
	}
	s.types = s.types[:0]
	for _, rt := range r.order {
		if len(types) == 0 || slices.Contains(types, rt.Name) {
			s.types = append(s.types, rt)
		}
	}
	if lon == 180 || math.Abs(lat) == 90 {
		lon = -180 // one point, whatever it is called
	}
	var px, py int64
	var err error
	sub := uint(tileSubBits)
	if math.Abs(lat) > quadkey.MaxLatitude {
		sub = capSubBits
		px, py, err = r.seekCap(ctx, s, lon, lat)
	} else {
		px, py, err = r.seekPoint(ctx, s, lon, lat)
	}
	if err != nil {
		return nil, err
	}
	var found []Region
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

// The fraction of a grid unit that a point is rounded down to, in bits. Caps
// are as wide as the world, and products of their coordinates must fit 64 bits.
const (
	tileSubBits = 20
	capSubBits  = 16
)

// seekPoint reads the zoom-13 rows at a point and returns it in their
// coordinates.
func (r *Reader) seekPoint(ctx context.Context, s *scratch, lon, lat float64) (px, py int64, err error) {
	t, err := quadkey.TileAt(lon, lat, grid.MaxZoom)
	if err != nil {
		return 0, 0, err
	}
	if err := r.seek(ctx, s, t, s.types, true); err != nil {
		return 0, 0, err
	}
	inTile := func(world float64, tile uint32) int64 {
		v := int64(math.Floor((world - float64(tile)*mvt.Extent) * (1 << tileSubBits)))
		// The tile was found by other arithmetic; the point is in it.
		return min(max(v, 0), mvt.Extent<<tileSubBits-1)
	}
	return inTile(layout.GridX(lon), t.X), inTile(layout.MercatorY(lat), t.Y), nil
}

// seekCap reads the polar rows beyond the tiles and returns the point in
// their coordinates.
func (r *Reader) seekCap(ctx context.Context, s *scratch, lon, lat float64) (px, py int64, err error) {
	key, origin := layout.KeyNorth, layout.NorthCap.Y0
	if lat < 0 {
		key, origin = layout.KeySouth, layout.SouthCap.Y0
	}
	for len(s.rows) < len(s.types) {
		s.rows = append(s.rows, cellstore.Row{})
	}
	for i, rt := range s.types {
		// One key, few types: a get each.
		sel := cellstore.Selection{Families: []string{rt.mvt}}
		if _, err := r.bounds.Get(ctx, key, &sel, &s.rows[i]); err != nil {
			return 0, 0, err
		}
	}
	px = int64(math.Floor(layout.GridX(lon) * (1 << capSubBits)))
	py = int64(math.Floor((layout.PlateY(lat) - float64(origin)) * (1 << capSubBits)))
	// At the pole itself every longitude is the same point, and the southern
	// one must not lie on the far edge.
	py = min(max(py, 0), int64(grid.WorldSize/2-origin)<<capSubBits-1)
	return px, py, nil
}

// holds reports whether a stored polygon feature holds the point, given in
// sub-units of its coordinates. The winding number is counted along the ray to
// the east, with edges taken half-open in y, so that of two regions with a
// common border exactly one holds a point on it.
func (s *scratch) holds(f mvt.Feature, px, py int64, sub uint) (bool, error) {
	if f.Type != mvt.Polygon {
		return false, fmt.Errorf("%w: a region that is not a polygon", ErrCorrupt)
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
		a := pts[len(pts)-1]
		for _, b := range pts {
			ay, by := int64(a.Y)<<sub, int64(b.Y)<<sub
			if (ay <= py) != (by <= py) {
				// East of the point? From the northern end, whatever the
				// direction, so that both neighbours compute the same.
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
	}
}
