package shapefile

import (
	"cmp"
	"math"
	"slices"

	"github.com/paulmach/orb"

	"quadrille/cmd/ingest/internal/source"
)

// maxTests bounds the edges looked at to find which ring lies in which. A real
// feature, an ocean of 450,000 vertices with all its islands, needs a few
// thousand times less.
const maxTests = 1 << 28

// assemble makes polygons of rings. A shapefile says by its direction alone
// what a ring is: clockwise an outer ring, the other way a hole in the outer
// ring it lies in. Real files hold rings of the wrong direction; where a hole
// lies in no outer ring, the directions of the feature are not believed, and a
// ring is a hole when an odd number of others is around it.
func (g *shape) assemble(starts []uint32, points []orb.Point) {
	for _, p := range points {
		if _, reason, detail := source.Place(p[0], p[1]); reason != "" {
			g.refuse(reason, "%s", detail)
			return
		}
	}
	rings := make([]ring, 0, len(starts)-1)
	for i := range len(starts) - 1 {
		r := orb.Ring(points[starts[i]:starts[i+1]:starts[i+1]])
		if source.IsOpen(r) {
			source.AddRepair(&g.repair, source.Closed)
		}
		if r = source.CloseRing(r); r != nil {
			rings = append(rings, newRing(r, g.unroll))
		}
	}
	if len(rings) == 0 {
		g.refuse(source.NoArea, "")
		return
	}
	if !g.nest(rings, maxTests) {
		g.polygons = nil
		g.refuse(source.TooManyPoints, "more than %d comparisons to find which of %d rings lies in which", maxTests, len(rings))
		return
	}
	for _, p := range g.polygons {
		for _, r := range p {
			for i, p := range r {
				r[i], _, _ = source.Place(p[0], p[1]) // has been asked above
			}
		}
	}
}

// nest groups the rings into polygons, in the order of their outer rings. It
// returns false when that takes more tests than given.
func (g *shape) nest(rings []ring, tests int) bool {
	holes := make([][]*ring, len(rings)) // by outer ring
	hole := make([]bool, len(rings))
	outer := false
	for i := range rings {
		r := &rings[i]
		if r.area > 0 {
			outer = true
			continue
		}
		if r.area == 0 {
			// It runs in no direction, as an even bow-tie does.
			if depth, ok := depthOf(r, rings, &tests); !ok {
				return false
			} else if depth%2 == 0 {
				continue
			}
		}
		in := -1 // the smallest outer ring around it
		for j := range rings {
			s := &rings[j]
			if s.area <= math.Abs(r.area) || in >= 0 && s.area >= rings[in].area {
				tests--
			} else if inside, ok := s.contains(r, &tests); !ok {
				return false
			} else if inside {
				in = j
			}
			if tests < 0 {
				return false
			}
		}
		switch {
		case in >= 0:
			holes[in], hole[i] = append(holes[in], r), true
		case r.area < 0 && len(rings) > 1:
			if !outer {
				outer = slices.ContainsFunc(rings, func(r ring) bool { return r.area > 0 })
			}
			if outer { // otherwise all are the wrong way, which is a custom
				source.AddRepair(&g.repair, source.Rewound)
			}
			return g.nestByDepth(rings, &tests)
		}
	}
	for i := range rings {
		if hole[i] {
			continue
		}
		p := orb.Polygon{rings[i].points}
		for _, h := range holes[i] {
			p = append(p, h.points)
		}
		g.polygons = append(g.polygons, p)
	}
	return true
}

// depthOf counts the rings of any area that a ring lies in.
func depthOf(r *ring, rings []ring, tests *int) (depth int, ok bool) {
	for i := range rings {
		if rings[i].area == 0 {
			continue
		}
		inside, ok := rings[i].contains(r, tests)
		if !ok {
			return 0, false
		}
		if inside {
			depth++
		}
	}
	return depth, true
}

// nestByDepth tells outer rings from holes by how many rings they lie in.
func (g *shape) nestByDepth(rings []ring, tests *int) bool {
	for i := range rings {
		rings[i].area = math.Abs(rings[i].area)
	}
	slices.SortStableFunc(rings, func(a, b ring) int { return cmp.Compare(b.area, a.area) })
	depth := make([]int, len(rings))
	polygon := make([]int, len(rings)) // of an outer ring, its index
	for i := range rings {
		r, parent := &rings[i], -1
		for j := i - 1; j >= 0 && parent < 0; j-- { // the smallest that holds it
			inside, ok := rings[j].contains(r, tests)
			if !ok {
				return false
			}
			if inside {
				parent = j
			}
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
	return true
}

// ring is a ring with what nesting needs of it, in longitudes that run on
// without a jump across the antimeridian.
type ring struct {
	points orb.Ring  // as in the file, closed
	flat   orb.Ring  // running on; points itself where nothing jumps
	box    orb.Bound // of flat
	area   float64   // positive when clockwise, north up
	edges  []edge    // by their lower end, made when first needed
	reach  []float64 // the highest upper end of a subtree of edges
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
		// Relative to the first point, against cancellation far from 0, 0.
		p, q := r.flat[i-1], r.flat[i]
		r.area += (q[0]-o[0])*(p[1]-o[1]) - (p[0]-o[0])*(q[1]-o[1])
	}
	r.area /= 2
	return r
}

// contains is whether another ring lies in this one, by the first of its
// vertices that is not on the border. tests is what may still be looked at; it
// returns ok false when that is used up.
func (r *ring) contains(o *ring, tests *int) (inside, ok bool) {
	for _, shift := range [3]float64{0, -360, 360} {
		*tests--
		if o.box.Min[0]+shift < r.box.Min[0] || o.box.Max[0]+shift > r.box.Max[0] ||
			o.box.Min[1] < r.box.Min[1] || o.box.Max[1] > r.box.Max[1] {
			continue
		}
		r.index()
		for i, p := range o.flat {
			at, n := r.side(orb.Point{p[0] + shift, p[1]})
			if *tests -= n; *tests < 0 {
				return false, false
			}
			if at != 0 {
				if at > 0 {
					return true, true
				}
				break
			}
			// A ring that touches this one with all its vertices lies inside
			// if the middle of an edge does.
			if i+1 < len(o.flat) {
				q := o.flat[i+1]
				at, n = r.side(orb.Point{(p[0]+q[0])/2 + shift, (p[1] + q[1]) / 2})
				if *tests -= n; *tests < 0 {
					return false, false
				}
				if at > 0 {
					return true, true
				} else if at < 0 {
					break
				}
			}
		}
	}
	return false, *tests >= 0
}

// index sorts the edges by their lower ends, and notes of every range a binary
// search passes the highest upper end in it: edges at a latitude are then found
// without looking at the others.
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

// side is 1 when a point lies inside, -1 when outside and 0 when on the border,
// by the even-odd rule; n is how many edges were looked at.
func (r *ring) side(p orb.Point) (at, n int) {
	odd, on := false, false
	var walk func(lo, hi int)
	walk = func(lo, hi int) {
		for lo < hi && !on {
			mid := (lo + hi) / 2
			n++
			if r.reach[mid] < p[1] {
				return
			}
			if lo < mid {
				walk(lo, mid)
			}
			e := r.edges[mid]
			if e.a[1] > p[1] {
				return // as are all behind it
			}
			if e.b[1] >= p[1] {
				switch cross := (e.b[0]-e.a[0])*(p[1]-e.a[1]) - (p[0]-e.a[0])*(e.b[1]-e.a[1]); {
				case cross == 0 && min(e.a[0], e.b[0]) <= p[0] && p[0] <= max(e.a[0], e.b[0]):
					on = true
				case e.a[1] <= p[1] && p[1] < e.b[1] && cross > 0:
					odd = !odd
				}
			}
			lo = mid + 1
		}
	}
	walk(0, len(r.edges))
	switch {
	case on:
		return 0, n
	case odd:
		return 1, n
	}
	return -1, n
}
