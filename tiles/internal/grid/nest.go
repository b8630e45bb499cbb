package grid

import (
	"cmp"
	"math"
	"slices"
)

// nester finds the smallest shell around each hole. Rings do not cross, so when a sweep first
// reaches a ring, the line north of it determines the shell around it. That takes n log n steps for
// n edges. Testing each hole against each shell would take n².
type nester struct {
	sweepLine[int32] // knows the smallest shell around a place, 0 for none
	rings            []nestRing
	edges            []nestEdge
	ends             []Point
}

// nestRing is a ring during a sweep. Shells are numbered from 1.
type nestRing struct {
	size   int64 // of its area, doubled
	shell  int32 // its number as a shell, 0 for a hole
	parent int32 // the smallest shell around it, 0 for none
	met    bool
	b      Box
}

type nestEdge struct {
	e    Edge // upward
	ring int32
	in   bool // the ring lies south of the edge
}

// nest assigns each hole to the smallest shell around it. A hole without a shell encloses nothing
// and is dropped.
func (s *assembler) nest() []Polygon {
	s.polys = s.polys[:0]
	holes := s.holes[:0]
	n := &s.nester
	n.rings, n.edges, n.ends = n.rings[:0], n.edges[:0], n.ends[:0]
	for _, r := range s.rings {
		a, b := RingArea2(r), RingBox(r)
		if a > 0 {
			s.addPolygon(r)
			n.rings = append(n.rings, nestRing{size: a, shell: int32(len(s.polys)), b: b})
		} else {
			holes = append(holes, r)
			n.rings = append(n.rings, nestRing{size: -a, b: b})
		}
	}
	s.holes = holes
	if len(holes) > 0 && len(s.polys) > 0 {
		n.sweep(s.rings)
		for i, r := range n.rings {
			if r.shell == 0 && r.parent != 0 {
				p := &s.polys[r.parent-1]
				*p = append(*p, s.rings[i])
			}
		}
	}
	// The start of a walk depends on the order of edges. Sorting makes the order of polygons depend
	// on the shape alone.
	if len(s.polys) < 2 {
		return s.polys
	}
	slices.SortFunc(s.polys, func(p, q Polygon) int {
		if c := ComparePoints(p[0][0], q[0][0]); c != 0 {
			return c
		}
		return cmp.Compare(len(p[0]), len(q[0]))
	})
	return s.polys
}

// addPolygon adds a polygon, in the memory of an earlier one.
func (s *assembler) addPolygon(shell []Point) {
	n := len(s.polys)
	if n == cap(s.polys) {
		s.polys = append(s.polys, nil)
	}
	s.polys = s.polys[:n+1]
	s.polys[n] = append(s.polys[n][:0], shell)
}

// sweep finds the parents of the rings.
func (n *nester) sweep(rings [][]Point) {
	// around is the box around all holes. Most tiles have many islands and few
	// holes. A shell outside the box holds none.
	around := Box{math.MaxInt32, math.MaxInt32, math.MinInt32, math.MinInt32}
	for _, r := range n.rings {
		if r.shell == 0 {
			around = Box{min(around.X0, r.b.X0), min(around.Y0, r.b.Y0), max(around.X1, r.b.X1), max(around.Y1, r.b.Y1)}
		}
	}
	for i, r := range rings {
		if b := n.rings[i].b; b.X0 > around.X1 || b.X1 < around.X0 || b.Y0 > around.Y1 || b.Y1 < around.Y0 {
			continue
		}
		a := r[len(r)-1]
		for _, b := range r {
			// The region is on the right of an edge: south of one that runs
			// east.
			f := nestEdge{Edge{a, b}, int32(i), n.rings[i].shell != 0}
			if !f.e.Upward() {
				f.e, f.in = f.e.Reversed(), !f.in
			}
			n.edges = append(n.edges, f)
			n.ends = append(n.ends, f.e.B)
			a = b
		}
	}
	sortBy(n.edges, func(f *nestEdge) uint64 { return f.e.A.key() }, func(f, g nestEdge) int { return ComparePoints(f.e.A, g.e.A) })
	sortPoints(n.ends)
	n.reset()
	for i, j := 0, 0; j < len(n.ends); {
		v := n.ends[j]
		if i < len(n.edges) && ComparePoints(n.edges[i].e.A, v) < 0 {
			v = n.edges[i].e.A
		}
		ended, from := j, i
		for j < len(n.ends) && n.ends[j] == v {
			j++
		}
		for i < len(n.edges) && n.edges[i].e.A == v {
			i++
		}
		n.vertex(v, j-ended, n.edges[from:i])
	}
}

// vertex moves the sweep to v, where the given number of edges end.
func (n *nester) vertex(v Point, ends int, starting []nestEdge) {
	shell := n.begin(v, ends)
	slices.SortFunc(starting, n.southward)
	for _, f := range starting {
		r := &n.rings[f.ring]
		if !r.met {
			r.met, r.parent = true, shell
		}
		shell = r.parent
		if f.in && r.shell != 0 {
			shell = r.shell
		}
		n.add(f.e, shell)
	}
	n.finish()
}

// southward orders edges with a common start from north to south. If two rings run along each other
// in the same direction, one lies inside the other. The sweep then leaves the inner ring before the
// outer, and enters it after the outer.
func (n *nester) southward(f, g nestEdge) int {
	if c := southward(f.e, g.e); c != 0 {
		return c
	}
	if f.in != g.in {
		if g.in {
			return -1
		}
		return 1
	}
	c := cmp.Or(cmp.Compare(n.rings[f.ring].size, n.rings[g.ring].size), cmp.Compare(f.ring, g.ring))
	if f.in {
		return -c
	}
	return c
}
