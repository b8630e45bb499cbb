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
	"quadrille/tiles/internal/cells"
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
// of them if none is given. The first lookup in a tile of zoom 8, 156 km wide at the equator, needs
// one seek for each type. Its answers for the whole tile stay in memory; see SetCacheBytes.
//
// A tile owns its western and northern edges, so a point lies in one tile. A point on a border
// belongs to exactly one of its two regions, and longitude 180 is −180. The answer is exact to the
// border on the world grid: the point is rounded to 2⁻²⁰ of a unit, about a micrometre. Beyond the
// latitudes of the tiles the polar rows answer just as exactly.
//
// Errors match ErrUnknownType or quadkey.ErrCoordinate, or come from the store.
func (r *Reader) At(ctx context.Context, lat, lon float64, types ...string) ([]Region, error) {
	if err := quadkey.CheckCoordinate(lon, lat); err != nil {
		return nil, err
	}
	s := r.scratch.Get().(*scratch)
	defer r.scratch.Put(s)
	if err := s.asked(r, types); err != nil {
		return nil, err
	}
	lon = meridian(lon, lat)
	if math.Abs(lat) > quadkey.MaxLatitude {
		return r.atPole(ctx, s, lon, lat)
	}
	t, err := quadkey.TileAt(lon, lat, grid.MaxZoom)
	if err != nil {
		return nil, err
	}
	if err := r.answers(ctx, s, t, s.types); err != nil {
		return nil, err
	}
	return r.hits(ctx, s, t, lon, lat)
}

// hit is a region that was found, and its type.
type hit struct {
	rt     *readerType
	region *cells.Region
}

// hits returns the regions at a point of a tile from s.blocks.
func (r *Reader) hits(ctx context.Context, s *scratch, t quadkey.Tile, lon, lat float64) ([]Region, error) {
	var px, py int64
	placed, overlap := false, false // overlap is set if several regions of an older build are not in order
	s.hits = s.hits[:0]
	for i, rt := range s.types {
		b := s.blocks[i]
		v := b.Find(cells.TileIn(t))
		if v.Mixed() && !placed {
			px, py = tilePoint(t, lon, lat)
			placed = true
		}
		s.in = b.AppendRegions(s.in[:0], v, px, py)
		for _, n := range s.in {
			s.hits = append(s.hits, hit{rt, &b.Regions[n]})
		}
		overlap = overlap || len(s.in) > 1 && rt.stamp == 0
	}
	if len(s.hits) == 0 {
		return nil, nil
	}
	found := make([]Region, len(s.hits))
	for i, h := range s.hits {
		found[i] = Region{h.rt.Name, h.region.ID, h.region.Name}
	}
	if overlap {
		return found, r.smallestFirst(ctx, found)
	}
	return found, nil
}

// asked sets s.types to the requested types, or to all that have areas if none is given. Its error
// matches ErrUnknownType.
func (s *scratch) asked(r *Reader, types []string) error {
	for _, t := range types {
		if err := r.Check(t); err != nil {
			return err
		}
	}
	s.types = s.types[:0]
	for _, rt := range r.order {
		if !rt.IsLines && (len(types) == 0 || slices.Contains(types, rt.Name)) {
			s.types = append(s.types, rt)
		}
	}
	return nil
}

// atPole returns the regions at a point beyond the latitudes of the tiles.
func (r *Reader) atPole(ctx context.Context, s *scratch, lon, lat float64) ([]Region, error) {
	polar := polarOf(lat)
	if err := s.seekCap(ctx, polar); err != nil {
		return nil, err
	}
	return r.inCap(ctx, s, polar, lon, lat)
}

// inCap returns the regions of s.types at a point of a polar cap whose rows are in s.
func (r *Reader) inCap(ctx context.Context, s *scratch, polar *layout.PolarCap, lon, lat float64) ([]Region, error) {
	found, err := s.regionsAtPole(capPoint(polar, lon, lat))
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
	return boxOf(rec.bounds).SquareDegrees(), err
}

// regionsAtPole returns the regions at a point of a polar cap from the rows in s.
func (s *scratch) regionsAtPole(px, py int64) (found []Region, err error) {
	for i, rt := range s.types {
		if s.rows[i].Empty() {
			continue
		}
		_, tile, err := splitMark(s.rows[i].Cells[0].Value)
		if err != nil {
			return nil, err
		}
		err = s.eachFeature(tile, nil, func(f mvt.Feature, id, name []byte) error {
			in, err := s.holds(f, px, py, capSubBits)
			if err == nil && in {
				found = append(found, Region{rt.Name, string(id), string(name)})
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

// meridian normalizes the longitude of a point: 180° is −180°, and so is every longitude at a pole.
func meridian(lon, lat float64) float64 {
	if lon == 180 || math.Abs(lat) == 90 {
		return -180
	}
	return lon
}

// Points are rounded down to this many fractional bits of a grid unit. Caps have fewer, because
// they are as wide as the world and products of their coordinates must fit 64 bits.
const (
	tileSubBits = cells.SubBits
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

// polarOf returns the polar cap of a latitude beyond the tiles.
func polarOf(lat float64) *layout.PolarCap {
	if lat < 0 {
		return layout.SouthCap
	}
	return layout.NorthCap
}

// seekCap reads the rows of a polar cap for s.types.
func (s *scratch) seekCap(ctx context.Context, polar *layout.PolarCap) error {
	for len(s.rows) < len(s.types) {
		s.rows = append(s.rows, cellstore.Row{})
	}
	for i, rt := range s.types {
		// There is one key and few types, so each type costs one get.
		sel := cellstore.Selection{Families: []string{rt.mvt}}
		if _, err := rt.bounds.Get(ctx, polar.Key, &sel, &s.rows[i]); err != nil {
			return err
		}
	}
	return nil
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

// holds reports whether a stored polygon feature contains a point given in sub-units of its
// coordinates. It counts the winding number along the ray to the east. Edges are half-open in y, so
// exactly one of two regions that share a border contains a point on it.
func (s *scratch) holds(f mvt.Feature, px, py int64, sub uint) (bool, error) {
	winding := 0
	err := s.eachRing(f, func(ring []grid.Point) error {
		winding += windingOf(ring, px, py, sub)
		return nil
	})
	return winding > 0, err
}

// eachRing calls fn for the rings of a polygon feature. A ring is valid until fn returns.
func (s *scratch) eachRing(f mvt.Feature, fn func([]grid.Point) error) error {
	if f.Type != mvt.Polygon {
		return errNoPolygon()
	}
	var p mvt.Path
	p.Reset(f)
	for {
		pts, err := s.nextRing(&p)
		if pts == nil || err != nil {
			return err
		}
		if err := fn(pts); err != nil {
			return err
		}
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
