package build

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/paulmach/orb"

	"quadrille/feature"
	"quadrille/quadkey"
	"quadrille/tiles/internal/grid"
	"quadrille/tiles/internal/layout"
)

// ErrBadLayer is matched by errors about a layer as a whole.
var ErrBadLayer = errors.New("layer cannot be used")

// Property is a named value of a region's record: a string, bool, int64 or
// float64, or any JSON as json.RawMessage.
type Property struct {
	Name  string
	Value any
}

// Feature is one feature of a layer.
type Feature struct {
	// ID names the region within its type: an ASCII letter or digit, then letters, digits, '-', '_'
	// and '.'. Features with equal ids form one region, and the first supplies its name and
	// properties. Ids that differ only in case or in those marks cannot be in one layer.
	ID, Name   string
	Properties []Property
	// Geometry is a Polygon, a MultiPolygon or a Collection of them. In a layer of lines it is a
	// LineString or MultiLineString. Coordinates are longitude before latitude, degrees WGS84.
	// Orientation and repeated last points do not matter. Rings may cross the antimeridian, by
	// leaving ±180° or by long edges. They may go around a pole: the inside is then the side with
	// the polygon's holes, or without holes the smaller side.
	Geometry  orb.Geometry
	LongEdges LongEdges
	Label     Label
	// FromZoom is the first zoom whose tiles have the lines of a layer of lines.
	FromZoom int
}

// Label is a source's place and rank for a region's label.
type Label struct {
	// At is the position of the label, if it is inside the region.
	At *orb.Point `json:"at,omitempty"`
	// Rank orders the labels of a type, the least first. Regions of one rank are ordered by area.
	// Regions without a rank come last.
	Rank *float64 `json:"rank,omitempty"`
}

// Layer is a set of regions of one type.
type Layer struct {
	// Type names the regions and their layer in tiles: a lower-case letter,
	// then letters, digits and '_'.
	Type     string
	Features []Feature
}

// isLines reports whether the layer's first feature is made of lines.
func (l Layer) isLines() bool { return len(l.Features) > 0 && isLines(l.Features[0].Geometry) }

// region is a region that is being built.
type region struct {
	number   int32  // through all layers
	layer    int    // number of its layer
	vertices int    // of its source
	head     int32  // number of the region whose name it has: its own, unless it is merged
	merged   int    // how many regions it stands for at one zoom; 0 for a region of the source
	shown    uint8  // the first zoom that shows it with its id
	color    uint8  // its number among layout.MapColors
	key      string // the id's fold, the order of rows
	id, name string
	props    []Property
	label    Label
	polygons [][]ring // as the source has them
	lines    []ring   // the same of a layer of lines: open, and cut nowhere
	fromZoom int      // of lines
	// witnesses are points, each with whether it lies inside the region by the source.
	witnesses []byte

	// plate is the border in plate carrée, for the caps and the record. The
	// border on the tiles' grid is in levels.
	plate    []grid.Edge
	grown    bool  // it vanished on the grid, and is a square now
	area     int64 // twice the area on the tiles' grid
	repaired bool  // its rings crossed or overlapped
	astray   bool  // the source's place for its label is outside
	assumed  assumed

	rank    int32      // its place in the order of answers
	bounds  [4]float64 // west, south, east, north; west > east across ±180°
	tag     uint64     // vector-tile feature id
	feature []byte     // the GeoJSON Feature up to its geometry
}

// badRegion adds the region to an error, which matches ErrBadGeometry.
func badRegion(typ, id, name string, err error) error {
	return fmt.Errorf("%s %s (%s): %w", typ, id, name, err)
}

// newRegions groups a layer's features by id and sorts them by id. It leaves out regions that
// enclose nothing and reports them to repaired.
func newRegions(l Layer, repaired func(typ, id, name, what string)) ([]*region, error) {
	if !layout.TypePattern.MatchString(l.Type) {
		return nil, fmt.Errorf("%w: type %q must match %s", ErrBadLayer, l.Type, layout.TypePattern)
	}
	byID := make(map[string]*region, len(l.Features))
	var regions []*region
	lines := l.isLines()
	for i, f := range l.Features {
		if !layout.IDPattern.MatchString(f.ID) {
			return nil, fmt.Errorf("%w: %s id %q must match %s", ErrBadLayer, l.Type, f.ID, layout.IDPattern)
		}
		key := feature.FoldedRegionID(f.ID)
		r := byID[key]
		if r != nil && r.id != f.ID {
			return nil, fmt.Errorf("%w: the %s ids %q and %q differ only in case or in '.', '_' and '-': rename one", ErrBadLayer,
				l.Type, r.id, f.ID)
		}
		if r == nil {
			r = &region{
				id:       f.ID,
				key:      key,
				name:     f.Name,
				props:    f.Properties,
				label:    f.Label,
				fromZoom: f.FromZoom,
				tag:      layout.FeatureID(l.Type, f.ID),
			}
			byID[key] = r
			regions = append(regions, r)
		}
		if isLines(f.Geometry) != lines {
			return nil, fmt.Errorf("%w: %s has lines and polygons: give each a type of its own", ErrBadLayer, l.Type)
		}
		if lines {
			if err := r.addLines(f.Geometry, f.LongEdges); err != nil {
				return nil, badRegion(l.Type, f.ID, f.Name, err)
			}
			continue
		}
		polygons, err := cleanRings(f.Geometry, f.LongEdges, &r.assumed)
		l.Features[i].Geometry = nil // one copy of a border is enough
		if err != nil {
			return nil, badRegion(l.Type, f.ID, f.Name, err)
		}
		r.polygons = append(r.polygons, polygons...)
		for _, rings := range polygons {
			for _, ring := range rings {
				r.vertices += len(ring)
			}
		}
	}
	regions = slices.DeleteFunc(regions, func(r *region) bool {
		if len(r.polygons)+len(r.lines) > 0 {
			return false
		}
		repaired(l.Type, r.id, r.name, "it encloses nothing, and was left out")
		return true
	})
	if len(regions) == 0 {
		return nil, fmt.Errorf("%w: %s has no features that enclose anything: name a file that has some", ErrBadLayer, l.Type)
	}
	slices.SortFunc(regions, func(a, b *region) int { return cmp.Compare(a.key, b.key) })
	tags := make(map[uint64]string, len(regions))
	for _, r := range regions {
		if other, ok := tags[r.tag]; ok {
			return nil, fmt.Errorf("%w: the %s ids %q and %q hash to one feature id: rename one", ErrBadLayer, l.Type, r.id, other)
		}
		tags[r.tag] = r.id
	}
	return regions, nil
}

// prepare computes everything about a region except its border in tiles. regions is the number of
// regions in all layers.
func (r *region) prepare(typ string, regions int) (err error) {
	if r.plate, err = r.plateBorder(); err == nil && len(r.plate) == 0 && len(r.polygons) > 0 {
		r.grown, r.polygons = true, [][]ring{{squareAt(r.polygons[0][0][0])}}
		r.plate, err = r.plateBorder()
	}
	if err != nil {
		return badRegion(typ, r.id, r.name, err)
	}
	r.witnesses = appendWitnesses(nil, r.polygons, r.assumed.flat, regions, r.tag)
	shells := r.polygons
	for _, l := range r.lines {
		shells = append(shells, []ring{l})
	}
	r.bounds = boundsOf(shells)
	r.feature = layout.AppendFeatureHead(nil, typ, r.id, r.name, 0)
	if p := r.label.At; p != nil && !r.holdsLabel(*p) {
		r.label.At, r.astray = nil, true
	}
	return nil
}

// squareAt returns a square that begins at a place. It is about four metres wide, so that rounding
// to the grid does not collapse it.
func squareAt(p orb.Point) ring {
	const side = 3 * 360.0 / grid.WorldSize
	w, s := p[0], min(p[1], 90-side)
	return ring{{w, s}, {w + side, s}, {w + side, s + side}, {w, s + side}}
}

// holdsLabel reports whether a place in degrees is inside the region and on the tiles.
func (r *region) holdsLabel(p orb.Point) bool {
	at := layout.PlateCarree.Point(p[0], p[1])
	return math.Abs(p[0]) <= 180 && math.Abs(p[1]) <= quadkey.MaxLatitude && grid.PeriodicWinding(r.plate, at) > 0
}

// plateBorder returns the true border of a region in plate carrée, periodic and
// without seams.
func (r *region) plateBorder() ([]grid.Edge, error) {
	o := grid.NewOutliner()
	chain, err := outline(o, r.polygons, layout.PlateCarree)
	if err != nil {
		return nil, err
	}
	border, err := o.Dissolve(chain)
	if err != nil {
		return nil, badBorders(err)
	}
	return grid.CancelEdges(grid.Normalize(border)), nil
}

// boundsOf returns the smallest box around the shells on the cylinder. It excludes the widest gap
// in longitude between them.
func boundsOf(polygons [][]ring) [4]float64 {
	type span struct{ lo, hi float64 }
	var spans []span
	south, north := 90.0, -90.0
	wide := false
	for _, rings := range polygons {
		s := span{math.Inf(1), math.Inf(-1)}
		for _, p := range rings[0] {
			s.lo, s.hi = min(s.lo, p[0]), max(s.hi, p[0])
			south, north = min(south, p[1]), max(north, p[1])
		}
		if s.hi-s.lo >= 360 {
			wide = true
		}
		shift := math.Floor((s.lo+180)/360) * 360
		spans = append(spans, span{s.lo - shift, s.hi - shift})
	}
	if len(spans) == 0 {
		return [4]float64{}
	}
	if wide {
		return [4]float64{-180, south, 180, north}
	}
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.lo, b.lo) })
	// The gap before the first span continues to the end of the last.
	reach := spans[0].hi
	west, gap := spans[0].lo, -1.0
	for _, s := range spans[1:] {
		if s.lo-reach > gap {
			gap, west = s.lo-reach, s.lo
		}
		reach = max(reach, s.hi)
	}
	if around := spans[0].lo + 360 - reach; around >= gap {
		gap, west = around, spans[0].lo
	}
	if gap <= 0 {
		return [4]float64{-180, south, 180, north}
	}
	east := west - gap
	if east <= -180 {
		east += 360
	}
	if east > 180 {
		east -= 360
	}
	return [4]float64{west, south, east, north}
}
