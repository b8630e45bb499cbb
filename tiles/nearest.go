package tiles

import (
	"container/heap"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"quadrille/feature"
	"quadrille/quadkey"
	"quadrille/tiles/internal/grid"
	"quadrille/tiles/internal/layout"
	"quadrille/tiles/mvt"
)

const (
	// MaxSnap is the largest distance of [Reader.Nearest], in metres.
	MaxSnap = 50_000

	// nearestRows bounds the seeks for one type. A coast within 50 km takes
	// some tens of seeks. A shore with many fjords just out of reach at high
	// latitudes, where tiles are small, takes a few hundred.
	nearestRows = 1024

	// nearestError bounds the error of a distance, in metres on a sphere of
	// radius quadkey.EarthRadius.
	nearestError = 1e-4
)

// MatchKind says how a region answers a point.
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

// Match is a region at or near a point, or the lack of one.
type Match struct {
	Region // without an ID when Kind is MatchNone
	Kind   MatchKind
	// Distance is from the point to the region, in metres; 0 inside.
	Distance float64
	// Truncated is set when the search stopped after a thousand rows. MatchNone
	// may then miss a region.
	Truncated bool
}

// Nearest is [Reader.At] with a search around the point. For each type without
// a region at the point it finds the nearest region whose border is at most
// radius metres away, from 0 to [MaxSnap]. Every type gets at least one match,
// in the data set's order. Of equally near regions, the one with the least id
// is returned.
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
	if !(radius >= 0 && radius <= MaxSnap) {
		return nil, fmt.Errorf("%w: %v; give metres from 0 to %d", quadkey.ErrRadius, radius, MaxSnap)
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
	n := nearest{
		descent: descend(ctx, s, rt, rows),
		lat:     lat, lon: lon, radius: radius,
		from: sphereAt(lon, lat),
		best: chordOf(radius + nearestError),
		m:    Match{Region: Region{Type: rt.Name}},
	}
	return n.search()
}

// asked reports whether the query includes a type. An empty list includes all.
func asked(types []string, typ string) bool {
	return len(types) == 0 || slices.Contains(types, typ)
}

// nearest is the best-first search of the quadtree for one type.
type nearest struct {
	*descent
	lat, lon, radius float64
	from             vec
	best             float64 // chord to the nearest region so far, at first a little over the radius
	m                Match
	queue            tileQueue
}

// pending is a tile or a polar cap that may hold a nearer region.
type pending struct {
	bound float64 // lower bound of the distance, in metres
	tile  quadkey.Tile
	polar *layout.Cap // nil for a tile
}

func (n *nearest) search() (Match, error) {
	n.caps()
	n.push(quadkey.Tile{})
	free := n.freeZoom()
	for len(n.queue) > 0 {
		p := heap.Pop(&n.queue).(pending)
		if chordOf(p.bound) > n.best {
			break
		}
		err := n.visit(p, free)
		if errors.Is(err, errTooManyRows) {
			return Match{Region: Region{Type: n.m.Type}, Truncated: true}, nil
		}
		if err != nil {
			return Match{}, err
		}
	}
	if n.m.Kind == MatchSnapped {
		n.m.Distance = min(metresOf(n.best), n.radius)
	}
	return n.m, nil
}

// freeZoom is the zoom down to which tiles are divided without reading their
// rows, because they are larger than the circle.
func (n *nearest) freeZoom() uint8 {
	cos := math.Cos(min(math.Abs(n.lat), quadkey.MaxLatitude) * math.Pi / 180)
	width := 2 * math.Pi * quadkey.EarthRadius * cos
	return uint8(max(0, min(grid.MaxZoom, math.Floor(math.Log2(width/(2*n.radius+1))))))
}

// caps queues the polar rows within the circle. They begin up to a unit before
// the latitude limit of the tiles.
func (n *nearest) caps() {
	const unit = 2 * math.Pi * quadkey.EarthRadius / grid.WorldSize
	for _, c := range [2]struct {
		polar *layout.Cap
		lat   float64
	}{{layout.NorthCap, n.lat}, {layout.SouthCap, -n.lat}} {
		if d := arcOf(quadkey.MaxLatitude-c.lat) - unit; d <= n.radius {
			heap.Push(&n.queue, pending{bound: max(0, d), polar: c.polar})
		}
	}
}

func (n *nearest) push(t quadkey.Tile) {
	// A tile of the outermost rows extends to the pole, but its rows do not.
	bound := max(t.MinDistance(n.lon, n.lat), arcOf(math.Abs(n.lat)-quadkey.MaxLatitude)-nearestError)
	if bound <= n.radius && chordOf(bound) <= n.best {
		heap.Push(&n.queue, pending{bound: bound, tile: t})
	}
}

func (n *nearest) visit(p pending, free uint8) error {
	switch {
	case p.polar != nil:
		value, err := n.descent.polar(p.polar)
		if err != nil || value == nil {
			return err
		}
		return n.layer(value, &polarEdges{y0: float64(p.polar.Y0)}, nil)
	case p.tile.Z >= free:
		kind, value, err := n.probe(p.tile, grid.MaxZoom)
		switch {
		case err != nil:
			return err
		case kind == foundRow:
			x0, y0 := float64(p.tile.X)*mvt.Extent, float64(p.tile.Y)*mvt.Extent
			return n.layer(value, &tileEdges{x0, y0}, &grid.Box{X0: 0, Y0: 0, X1: mvt.Extent, Y1: mvt.Extent})
		case kind != foundBelow:
			// The tile is empty or a leaf. The regions of a leaf continue
			// beyond it, where they are nearer.
			return nil
		}
	}
	for _, c := range p.tile.Children() {
		n.push(c)
	}
	return nil
}

// layer measures the regions of a stored layer. If a box is given it skips the
// edges outside, because the edges in a tile's buffer belong to another tile.
func (n *nearest) layer(value []byte, on surface, within *grid.Box) error {
	return n.s.eachFeature(value, nil, func(f mvt.Feature, id, name []byte) error {
		best := math.Inf(1)
		var p mvt.Path
		p.Reset(f)
		for {
			pts, err := n.s.nextRing(&p)
			if err != nil {
				return err
			}
			if pts == nil {
				break
			}
			prev := pts[len(pts)-1]
			for _, q := range pts {
				if e, ok := edgeWithin(prev, q, within); ok {
					best = min(best, n.part(e, on.at(e.ax, e.ay), on.at(e.bx, e.by), on, min(best, n.best)))
				}
				prev = q
			}
		}
		if best < n.best || best == n.best && n.m.Kind == MatchSnapped && feature.CompareIDs(id, n.m.ID) < 0 {
			n.best = best
			n.m.Region = Region{n.m.Type, string(id), string(name)}
			n.m.Kind = MatchSnapped
		}
		return nil
	})
}

// plain is an edge in the coordinates of a row.
type plain struct{ ax, ay, bx, by float64 }

// edgeWithin returns the part of an edge in a closed box. It orders the ends
// first, so two neighbours measure the same.
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

// part returns the chord to the nearest point of a part of an edge, or
// something larger than best if that point is farther. It measures to the
// straight line between the ends. Where the edge may bend away too far from
// that line, it measures the two halves.
func (n *nearest) part(e plain, a, b vec, on surface, best float64) float64 {
	d := n.from.toChord(a, b)
	bend := on.bend(e)
	if d-bend > best {
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

// tileQueue is a heap of pending tiles, nearest first. Ties have a fixed order.
type tileQueue []pending

func (q tileQueue) Len() int { return len(q) }
func (q tileQueue) Less(i, j int) bool {
	if q[i].bound != q[j].bound {
		return q[i].bound < q[j].bound
	}
	return q[i].tile.Z > q[j].tile.Z
}
func (q tileQueue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *tileQueue) Push(x any)   { *q = append(*q, x.(pending)) }
func (q *tileQueue) Pop() any {
	old := *q
	p := old[len(old)-1]
	*q = old[:len(old)-1]
	return p
}
