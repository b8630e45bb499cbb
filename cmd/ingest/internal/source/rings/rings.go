// Package rings makes polygons of rings of which only the direction is known, as Esri's formats have them.
package rings

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/paulmach/orb"

	"quadrille/cmd/ingest/internal/source"
)

// maxTests bounds the number of edges that are examined to find out which ring lies in which. A
// real feature, an ocean of 450,000 vertices with all its islands, needs a few thousand times less.
const maxTests = 1 << 28

// Assemble combines rings to a polygon or polygons. Only their direction distinguishes them, as in shapefiles: a
// clockwise ring is an outer ring, and an anticlockwise one is a hole in the outer ring around it.
// A hole that extends beyond an outer ring belongs to the outer ring that holds most of it. Real
// files have rings of the wrong direction, so a hole that lies in no outer ring is not accepted as
// a hole. Such a ring, and the rings within it, are holes if an odd number of other rings is around
// them. unroll makes the longitudes of a ring run on across the antimeridian; nil leaves rings as drawn. repair
// describes the assumptions made, and reason says why there is no polygon.
func Assemble(all []orb.Ring, unroll func(orb.Ring) orb.Ring) (out orb.Geometry, repair, reason, detail string) {
	var g assembly
	rings := make([]ring, 0, len(all))
	for _, r := range all {
		for _, p := range r {
			if _, reason, detail := source.NormalizePosition(p[0], p[1]); reason != "" {
				return nil, "", reason, detail
			}
		}
		if source.IsOpen(r) {
			source.AddRepair(&g.repair, source.RepairClosed)
		}
		if r = source.CloseRing(r); r != nil {
			rings = append(rings, newRing(r, unroll))
		}
	}
	if len(rings) == 0 {
		return nil, g.repair, source.ReasonNoArea, ""
	}
	if !g.nest(rings, maxTests) {
		return nil, g.repair, source.ReasonTooManyPoints,
			fmt.Sprintf("more than %d comparisons to find which of %d rings lies in which", maxTests, len(rings))
	}
	return source.JoinPolygons(g.polygons), g.repair, "", ""
}

// assembly has the polygons while rings are sorted.
type assembly struct {
	polygons []orb.Polygon
	repair   string
}

// sliver is a small share of a ring. If a ring has the direction of holes, but at most this share
// of it lies in another ring, it is not a hole. It is an island next to the other ring, which
// overlaps it a little.
const sliver = 1. / 8

// nest groups the rings into polygons, in the order of their outer rings. It returns false if that
// takes more than the allowed number of tests.
func (g *assembly) nest(rings []ring, tests int) bool {
	holes := make([][]ring, len(rings)) // by outer ring
	var outer []int
	var odd []ring
	for i := range rings {
		r := &rings[i]
		in, most := -1, sliver
		for j := 0; j < len(rings) && r.area <= 0; j++ {
			s := &rings[j]
			// A ring without area, such as an even bow-tie, has no direction: the rings around it
			// decide.
			if tests--; s.area <= -r.area && (r.area < 0 || s.area == 0) {
				continue
			}
			// Choose the smallest of the rings that hold at least half of it, or else the ring that
			// holds most of it.
			share := min(s.share(r, &tests), 0.5)
			if share > most || share == most && in >= 0 && math.Abs(s.area) < math.Abs(rings[in].area) {
				in, most = j, share
			}
			if tests < 0 {
				return false
			}
		}
		switch {
		case in >= 0 && rings[in].area > 0:
			holes[in] = append(holes[in], *r)
			if most < 0.5 {
				source.AddRepair(&g.repair, source.RepairAstray)
			}
		case r.area < 0:
			odd = append(odd, *r)
		default:
			outer = append(outer, i)
		}
	}
	if len(odd) > 0 && len(outer) > 0 { // otherwise all run the wrong way, which is a custom
		source.AddRepair(&g.repair, source.RepairRewound)
	}
	astray := len(odd)
	for _, i := range outer {
		r := &rings[i]
		if slices.ContainsFunc(odd[:astray], func(o ring) bool { return o.share(r, &tests) > 0.5 }) {
			odd = append(append(odd, *r), holes[i]...)
			continue
		}
		p := orb.Polygon{r.points}
		for _, h := range holes[i] {
			p = append(p, h.points)
		}
		g.polygons = append(g.polygons, p)
	}
	return g.nestByDepth(odd, &tests)
}

// nestByDepth separates outer rings from holes by the number of rings around them.
func (g *assembly) nestByDepth(rings []ring, tests *int) bool {
	for i := range rings {
		rings[i].area = math.Abs(rings[i].area)
	}
	slices.SortStableFunc(rings, func(a, b ring) int { return cmp.Compare(b.area, a.area) })
	depth := make([]int, len(rings))
	polygon := make([]int, len(rings)) // the index of an outer ring's polygon
	for i := range rings {
		r, parent := &rings[i], -1
		for j := i - 1; j >= 0 && parent < 0; j-- { // the smallest that holds it
			if rings[j].share(r, tests) > 0.5 {
				parent = j
			}
		}
		if *tests < 0 {
			return false
		}
		if parent >= 0 {
			depth[i] = depth[parent] + 1
		}
		if depth[i]%2 == 1 {
			g.polygons[polygon[parent]] = append(g.polygons[polygon[parent]], r.points)
		} else {
			polygon[i] = len(g.polygons)
			g.polygons = append(g.polygons, orb.Polygon{r.points})
		}
	}
	return *tests >= 0
}

// ring is a ring with the data for nesting. Its longitudes are continuous across the
// antimeridian.
type ring struct {
	points orb.Ring  // as in the file, closed
	flat   orb.Ring  // running on; points itself where nothing jumps
	box    orb.Bound // of flat
	area   float64   // positive when clockwise, north up
	edges  []edge    // sorted by their lower end, built on first use
	reach  []float64 // the highest upper end of a subtree of edges

	crossed []float64 // reused
}

type edge struct{ a, b orb.Point } // a is the lower

func newRing(points orb.Ring, unroll func(orb.Ring) orb.Ring) ring {
	r := ring{points: points, flat: points}
	if unroll != nil {
		r.flat = unroll(points)
	}
	r.box = r.flat.Bound()
	o := r.flat[0]
	for i := 1; i < len(r.flat); i++ {
		// The coordinates are relative to the first point, to avoid cancellation far from 0, 0.
		p, q := r.flat[i-1], r.flat[i]
		r.area += (q[0]-o[0])*(p[1]-o[1]) - (p[0]-o[0])*(q[1]-o[1])
	}
	r.area /= 2
	return r
}

// share returns how much of the area of another ring lies in this one, from 0 to 1. It is measured
// along a few lines of latitude. Two are enough if along both the whole ring, or nothing of it,
// lies in this one. tests is the number of edges that may still be examined. When it is used up,
// the share is 0.
func (r *ring) share(o *ring, tests *int) float64 {
	const lines, golden = 8, 0.618
	var both, all float64
	for _, shift := range [3]float64{0, -360, 360} {
		west, east := o.box.Min[0]+shift, o.box.Max[0]+shift
		if *tests--; west >= r.box.Max[0] || east <= r.box.Min[0] || o.box.Min[1] >= r.box.Max[1] || o.box.Max[1] <= r.box.Min[1] {
			continue
		}
		all = 0
		for i := 0; i < lines && (i < 2 || both > 0 && both < all*(1-1e-9)); i++ {
			_, part := math.Modf(0.5 + golden*float64(i))
			y := o.box.Min[1] + part*(o.box.Max[1]-o.box.Min[1])
			inner, outer := o.crossings(y, math.Inf(-1), math.Inf(1), tests), r.crossings(y, west, east, tests)
			for a := 0; a+1 < len(inner); a += 2 { // both in order, and of stretches apart
				from, to := inner[a]+shift, inner[a+1]+shift
				all += to - from
				for len(outer) > 1 && outer[1] <= from {
					outer = outer[2:]
				}
				for b := 0; b+1 < len(outer) && outer[b] < to; b += 2 {
					both += min(to, outer[b+1]) - max(from, outer[b])
				}
			}
			if *tests -= len(inner) + len(outer); *tests < 0 {
				return 0
			}
		}
	}
	return both / max(all, math.SmallestNonzeroFloat64)
}

// index sorts the edges by their lower ends. For every range that a binary search passes it stores
// the highest upper end. So the edges at a latitude are found without an examination of the others.
func (r *ring) index() {
	if r.edges != nil {
		return
	}
	r.edges = make([]edge, 0, len(r.flat)-1)
	for i := 1; i < len(r.flat); i++ {
		e := edge{r.flat[i-1], r.flat[i]}
		if e.a[1] > e.b[1] {
			e.a, e.b = e.b, e.a
		}
		r.edges = append(r.edges, e)
	}
	slices.SortFunc(r.edges, func(a, b edge) int { return cmp.Compare(a.a[1], b.a[1]) })
	r.reach = make([]float64, len(r.edges))
	var build func(lo, hi int) float64
	build = func(lo, hi int) float64 {
		if lo >= hi {
			return math.Inf(-1)
		}
		mid := (lo + hi) / 2
		r.reach[mid] = max(r.edges[mid].b[1], build(lo, mid), build(mid+1, hi))
		return r.reach[mid]
	}
	build(0, len(r.edges))
}

// crossings returns where the ring enters and leaves a line of latitude between two
// longitudes, in order, by the even-odd rule. The slice is valid until the next call.
func (r *ring) crossings(y, west, east float64, tests *int) []float64 {
	r.index()
	r.crossed = r.crossed[:0]
	inside := false // at the western end
	var walk func(lo, hi int)
	walk = func(lo, hi int) {
		for lo < hi {
			mid := (lo + hi) / 2
			if *tests--; r.reach[mid] <= y || *tests < 0 {
				return
			}
			walk(lo, mid)
			e := r.edges[mid]
			if e.a[1] > y {
				return // all later edges are above too
			}
			if e.b[1] > y {
				switch x := e.a[0] + (y-e.a[1])/(e.b[1]-e.a[1])*(e.b[0]-e.a[0]); {
				case x <= west:
					inside = !inside
				case x < east:
					r.crossed = append(r.crossed, x)
				}
			}
			lo = mid + 1
		}
	}
	walk(0, len(r.edges))
	if inside {
		r.crossed = append(r.crossed, west)
	}
	slices.Sort(r.crossed)
	if len(r.crossed)%2 == 1 {
		r.crossed = append(r.crossed, east)
	}
	return r.crossed
}
