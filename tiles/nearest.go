package tiles

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"quadrille/feature"
	"quadrille/internal/heap"
	"quadrille/quadkey"
	"quadrille/tiles/internal/grid"
	"quadrille/tiles/internal/layout"
	"quadrille/tiles/internal/sphere"
	"quadrille/tiles/mvt"
)

const (
	// MaxSnapM is the largest distance of [Reader.Nearest], in metres.
	MaxSnapM = 50_000

	// nearestRows bounds the seeks for one type. A coast within 50 km takes
	// some tens of seeks. A shore with many fjords just out of reach at high
	// latitudes, where tiles are small, takes a few hundred.
	nearestRows = 1024

	// nearestError bounds the error of a distance, in metres on a sphere of
	// radius quadkey.EarthRadius.
	nearestError = 1e-4
)

// MatchKind is how a region matches a point.
type MatchKind uint8

const (
	MatchNone    MatchKind = iota // no region within the distance
	MatchInside                   // the region holds the point
	MatchSnapped                  // the region is the nearest to the point
)

// String returns "none", "inside" or "snapped".
func (k MatchKind) String() string {
	switch k {
	case MatchNone:
		return "none"
	case MatchInside:
		return "inside"
	case MatchSnapped:
		return "snapped"
	}
	return fmt.Sprintf("MatchKind(%d)", uint8(k))
}

// Match is a region at or near a point, or says that there is none.
type Match struct {
	Region // without an ID when Kind is MatchNone
	Kind   MatchKind
	// DistanceM is the distance in metres from the point to the region; it is 0 inside.
	DistanceM float64
	// Truncated is set when the search stopped after a thousand rows. MatchNone
	// may then miss a region.
	Truncated bool
}

// CheckSnap returns nil for a valid radius of [Reader.Nearest], in metres. Otherwise its error
// matches quadkey.ErrRadius.
func CheckSnap(radius float64) error {
	if !(radius >= 0 && radius <= MaxSnapM) { // written so that NaN fails
		return fmt.Errorf("%w: %v; give metres from 0 to %d", quadkey.ErrRadius, radius, MaxSnapM)
	}
	return nil
}

// Nearest does the same as [Reader.At], with a search around the point. For each type without a
// region at the point it finds the nearest region whose border is at most radius metres away, from
// 0 to [MaxSnapM]; it never snaps to lines. Every type gets at least one match, in the data set's
// order. Of equally near regions, Nearest returns the one with the least id.
//
// Distances are great-circle metres on a sphere of radius quadkey.EarthRadius
// to the border on the world grid. The edges of that border are straight in
// Web-Mercator, and beyond its latitudes in longitude and latitude. Distances
// are exact to a tenth of a millimetre, across ±180° and around the poles too.
// The search reads the rows of zoom 13 nearest first, at most about a thousand
// per type.
//
// Errors match ErrUnknownType, quadkey.ErrCoordinate or quadkey.ErrRadius, or
// come from the store.
func (r *Reader) Nearest(ctx context.Context, lat, lon, radius float64, types ...string) ([]Match, error) {
	if err := CheckSnap(radius); err != nil {
		return nil, err
	}
	inside, err := r.At(ctx, lat, lon, types...)
	if err != nil {
		return nil, err
	}
	s := r.scratch.Get().(*scratch)
	defer r.scratch.Put(s)
	var matches []Match
	for _, rt := range r.order {
		if !asked(types, rt.Name) {
			continue
		}
		covered := false
		for _, reg := range inside {
			if reg.Type == rt.Name {
				matches = append(matches, Match{Region: reg, Kind: MatchInside})
				covered = true
			}
		}
		if covered {
			continue
		}
		m, err := r.nearest(ctx, s, rt, lat, lon, radius, nearestRows)
		if err != nil {
			return nil, err
		}
		matches = append(matches, m)
	}
	return matches, nil
}

// nearest searches the nearest region of a type and reads at most the given
// number of rows.
func (r *Reader) nearest(ctx context.Context, s *scratch, rt *readerType, lat, lon, radius float64, rows int) (Match, error) {
	m := Match{Region: Region{Type: rt.Name}}
	if rt.IsLines { // lines hold no points, and points do not snap to them
		return m, nil
	}
	n := newNearest(descend(ctx, s, rt, rows), quadkey.Position{Lat: lat, Lon: lon}, radius)
	n.one = true
	switch found, err := n.next(); {
	case errors.Is(err, errTooManyRows):
		m.Truncated = true
	case err != nil:
		return Match{}, err
	case found != nil:
		m.ID, m.Name = found.id, found.name
		m.Kind, m.DistanceM = MatchSnapped, min(found.metres, radius)
	}
	return m, nil
}

// asked reports whether the query includes a type. An empty list includes all.
func asked(types []string, typ string) bool {
	return len(types) == 0 || slices.Contains(types, typ)
}

// nearest is the best-first search of the quadtree for one type. It finds the regions in the order of
// their distances, and of their ids where these are equal.
type nearest struct {
	*descent
	quadkey.Position
	from   sphere.Vec
	radius float64                     // may be infinite
	reach  float64                     // chord: no region farther away is wanted
	one    bool                        // only the nearest is wanted
	step   func(context.Context) error // if set, called after every row
	free   uint8
	found  map[string]*found // all regions seen so far, by their ids
	queue  []pending
	// reader, if set, lets a long search read the bounds of the regions that it has not returned
	// yet into left. The search then reads only tiles in which one of these regions may lie.
	reader *Reader
	left   []bounded
	tile   tileEdges
	cap    polarEdges
}

// found is a region that the search has found so far.
type found struct {
	id, name string
	chord    float64 // to the nearest part seen so far
	metres   float64 // the same on the ground
	done     bool    // next has returned it
}

// bounded is a region with its bounds.
type bounded struct {
	id     string
	bounds [4]float64
}

const (
	// A search is long after longSearch rows: by then it follows a border in search of other
	// regions.
	longSearch = 256
	// mostBounds is the largest number of regions in a type for which a long search reads their
	// bounds. In a larger type other regions are always near.
	mostBounds = 8192
)

// pending is a region, or a tile or polar cap that may hold a nearer one.
type pending struct {
	metres float64 // lower bound of the distance minus its possible error; for a region, its distance
	tile   quadkey.Tile
	polar  *layout.PolarCap // nil for a tile
	region *found           // nil for a tile or a cap
}

// Above orders the heap, the nearest first. A region is returned once no tile can have a nearer
// one.
func (p *pending) Above(o *pending) bool {
	switch {
	case p.metres != o.metres:
		return p.metres < o.metres
	case p.region == nil || o.region == nil:
		return o.region != nil || p.region == nil && p.tile.Z > o.tile.Z
	}
	return feature.CompareRegionIDs(p.region.id, o.region.id) < 0
}

// slack exceeds the sum of the errors of two distances, as a chord.
const slack = 2 * nearestError / quadkey.EarthRadius

// newNearest begins a search. radius may be infinite.
func newNearest(d *descent, at quadkey.Position, radius float64) *nearest {
	n := &nearest{
		descent: d, Position: at, from: sphere.At(at.Lon, at.Lat), radius: radius, reach: math.Inf(1), found: make(map[string]*found),
	}
	if radius < math.Pi*quadkey.EarthRadius {
		n.reach = sphere.ChordOf(radius + nearestError)
	}
	n.free = n.freeZoom()
	n.caps()
	n.push(quadkey.Tile{})
	return n
}

// next returns the next region, or nil after the last. No region follows errTooManyRows.
func (n *nearest) next() (*found, error) {
	for len(n.queue) > 0 {
		var p pending
		p, n.queue = heap.Pop(n.queue)
		switch {
		case p.region == nil:
			if err := n.visit(p); err != nil {
				return nil, err
			}
		case !p.region.done: // see queues it again for each nearer part
			p.region.done = true
			n.left = slices.DeleteFunc(n.left, func(b bounded) bool { return b.id == p.region.id })
			return p.region, nil
		}
	}
	return nil, nil
}

// see records a part of a region at a distance.
func (n *nearest) see(id, name []byte, chord float64) {
	f := n.found[string(id)]
	if f == nil {
		f = &found{id: string(id), name: string(name), chord: math.Inf(1)}
		n.found[f.id] = f
	}
	if f.done || chord >= f.chord {
		return
	}
	f.chord, f.metres = chord, sphere.MetresOf(chord)
	n.queue = heap.Push(n.queue, pending{metres: f.metres, region: f})
	if n.one {
		n.reach = min(n.reach, chord)
	}
}

// wait queues a tile or a cap. bound is the least distance of anything in it, in metres.
func (n *nearest) wait(p pending, bound float64) {
	if chord := sphere.ChordOf(bound); bound <= n.radius && chord <= n.reach {
		p.metres = sphere.MetresOf(max(0, chord-slack))
		n.queue = heap.Push(n.queue, p)
	}
}

// freeZoom returns the zoom down to which tiles are divided without reading their rows, because
// they are larger than the circle.
func (n *nearest) freeZoom() uint8 {
	cos := math.Cos(min(math.Abs(n.Lat), quadkey.MaxLatitude) * math.Pi / 180)
	width := 2 * math.Pi * quadkey.EarthRadius * cos
	return uint8(max(0, min(grid.MaxZoom, math.Floor(math.Log2(width/(2*n.radius+1))))))
}

// caps queues the polar rows within the circle. They begin up to a unit before
// the latitude limit of the tiles.
func (n *nearest) caps() {
	const unit = 2 * math.Pi * quadkey.EarthRadius / grid.WorldSize
	for _, c := range [2]struct {
		polar *layout.PolarCap
		lat   float64
	}{{layout.NorthCap, n.Lat}, {layout.SouthCap, -n.Lat}} {
		n.wait(pending{polar: c.polar}, max(0, sphere.ArcOf(quadkey.MaxLatitude-c.lat)-unit))
	}
}

func (n *nearest) push(t quadkey.Tile) {
	// A tile of the outermost rows extends to the pole, but its rows do not.
	n.wait(pending{tile: t}, max(t.MinDistance(n.Lon, n.Lat), sphere.ArcOf(math.Abs(n.Lat)-quadkey.MaxLatitude)-nearestError))
}

func (n *nearest) visit(p pending) error {
	switch {
	case p.polar != nil:
		value, err := n.descent.polar(p.polar)
		if err != nil || value == nil {
			return err
		}
		n.cap.y0 = float64(p.polar.Y0)
		return n.layer(value, &n.cap, nil)
	case p.tile.Z >= n.free:
		if past, err := n.past(p.tile); past || err != nil {
			return err
		}
		kind, value, err := n.probe(p.tile, grid.MaxZoom)
		switch {
		case err != nil:
			return err
		case kind == foundRow:
			n.tile = tileEdges{float64(p.tile.X) * mvt.Extent, float64(p.tile.Y) * mvt.Extent}
			return n.layer(value, &n.tile, &ownBox)
		case kind != foundBelow:
			// The tile is empty or a leaf. The regions of a leaf continue beyond it, in nearer
			// tiles.
			return nil
		}
	}
	for _, c := range p.tile.Children() {
		n.push(c)
	}
	return nil
}

// past reports whether the search has certainly returned every region that may be in a tile.
func (n *nearest) past(t quadkey.Tile) (bool, error) {
	if n.left == nil {
		if n.reader == nil || n.seeks < longSearch || n.rt.Regions > mostBounds {
			return false, nil
		}
		n.left = []bounded{}
		for row, err := range n.reader.scanRegions(n.ctx, n.rt, "", false) {
			if err != nil {
				return false, err
			}
			value, _ := row.Value(layout.FamilyRecord, nil)
			rec, err := n.rt.parseRecord(string(row.Key[1:]), value)
			if err != nil {
				return false, err
			}
			if f := n.found[rec.id]; f == nil || !f.done {
				n.left = append(n.left, bounded{rec.id, rec.bounds})
			}
		}
	}
	box := t.Bound()
	for i := range n.left {
		if _, apart := compareBounds(box, n.left[i].bounds, boundsSlack); !apart {
			return false, nil
		}
	}
	return true, nil
}

// ownBox is a tile without its buffer.
var ownBox = grid.Box{X1: mvt.Extent, Y1: mvt.Extent}

// layer measures the regions of a stored layer. If a box is given, layer skips the edges outside
// it, because the edges in a tile's buffer belong to another tile.
func (n *nearest) layer(value []byte, on surface, within *grid.Box) error {
	if n.step != nil {
		if err := n.step(n.ctx); err != nil {
			return err
		}
	}
	_, err := n.s.eachIn(value, !n.rt.IsLines, func(f mvt.Feature) error {
		id := n.s.view.StringTag(f, layout.TagID)
		best := n.reach
		if known := n.found[string(id)]; known != nil {
			best = min(best, known.chord)
			if known.done {
				return nil
			}
		}
		least := math.Inf(1)
		var p mvt.Path
		p.Reset(f)
		for {
			prev, pts, err := n.s.nextEdges(&p, n.rt.IsLines)
			if err != nil {
				return err
			}
			if pts == nil {
				break
			}
			for _, q := range pts {
				if e, ok := edgeWithin(prev, q, within); ok {
					least = min(least, n.part(e, on.at(e.ax, e.ay), on.at(e.bx, e.by), on, min(best, least)))
				}
				prev = q
			}
		}
		if least <= best {
			n.see(id, n.s.view.StringTag(f, layout.TagName), least)
		}
		return nil
	})
	return err
}

// plain is an edge in the coordinates of a row.
type plain struct{ ax, ay, bx, by float64 }

// edgeWithin returns the part of an edge in a closed box. It orders the ends first, so both
// neighbours of a border get the same distance.
func edgeWithin(a, b grid.Point, within *grid.Box) (plain, bool) {
	if b.X < a.X || b.X == a.X && b.Y < a.Y {
		a, b = b, a
	}
	e := plain{float64(a.X), float64(a.Y), float64(b.X), float64(b.Y)}
	if within == nil {
		return e, true
	}
	lo, hi := 0.0, 1.0
	dx, dy := e.bx-e.ax, e.by-e.ay
	for _, k := range [4]struct{ d, far float64 }{
		{-dx, e.ax - float64(within.X0)}, {dx, float64(within.X1) - e.ax},
		{-dy, e.ay - float64(within.Y0)}, {dy, float64(within.Y1) - e.ay},
	} {
		switch {
		case k.d > 0:
			hi = min(hi, k.far/k.d)
		case k.d < 0:
			lo = max(lo, k.far/k.d)
		case k.far < 0:
			return plain{}, false
		}
	}
	if lo > hi {
		return plain{}, false
	}
	cut := e
	if hi < 1 {
		cut.bx, cut.by = e.ax+hi*dx, e.ay+hi*dy
	}
	if lo > 0 {
		cut.ax, cut.ay = e.ax+lo*dx, e.ay+lo*dy
	}
	return cut, true
}

// part returns the chord to the nearest point of a part of an edge, or any value larger than best
// if that point is farther. It measures to the straight line between the ends. Where the edge may
// bend too far away from that line, it measures the two halves. The result does not depend on best,
// so two neighbours are equally far from the nearest point of their border.
func (n *nearest) part(e plain, a, b sphere.Vec, on surface, best float64) float64 {
	d := n.from.ToChord(a, b)
	bend := on.bend(e)
	if d-bend > best+slack {
		return math.Inf(1)
	}
	if bend <= nearestError/quadkey.EarthRadius/2 {
		return d
	}
	mx, my := (e.ax+e.bx)/2, (e.ay+e.by)/2
	m := on.at(mx, my)
	left := n.part(plain{e.ax, e.ay, mx, my}, a, m, on, best)
	return min(left, n.part(plain{mx, my, e.bx, e.by}, m, b, on, min(best, left)))
}
