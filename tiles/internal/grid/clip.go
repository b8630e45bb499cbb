package grid

import (
	"cmp"
	"slices"
)

// Clipper cuts chains to boxes and assembles rings. It reuses its memory
// between calls and belongs to one goroutine.
type Clipper struct {
	inside  []Edge
	flux    []flux
	cuts    []cut
	corners []Point // near cuts
	rings   assembler
}

// flux is the change of the chain's net flow at a place of the perimeter.
type flux struct {
	at int64 // position along the perimeter, clockwise from the north-west corner
	p  Point
	d  int32
}

// Clip returns the part of a chain inside a box as a closed chain, valid until
// the next call. w is the winding number at the reference of the box's
// north-west corner. New vertices are rounded to the grid 2^gs, and the box
// must lie on it. edges must include every edge that meets the box's interior;
// others do no harm.
//
// Clip keeps the edges inside. It adds the perimeter with the multiplicity that closes the chain
// where it enters or leaves. Along the perimeter, clockwise, that multiplicity starts as the
// winding number just inside the first corner and changes by one wherever the chain passes.
// Crossings are exact until they are rounded, and rounding keeps their order along a side, so the
// result is closed for any input. If the edges meet at vertices only, the edges of the result do
// too: Clip bends edges around vertices that rounding would move them onto.
func (c *Clipper) Clip(edges []Edge, w int32, b Box, gs uint) []Edge {
	c.inside = c.inside[:0]
	c.flux = c.flux[:0]
	c.cuts = c.cuts[:0]
	flat := false
	for _, e := range edges {
		part, ok := clipSpan(e, b, gs)
		if !ok {
			continue
		}
		if at, on := part.from.place(b); on {
			c.flux = append(c.flux, flux{at, part.from.p, -1})
		}
		if at, on := part.to.place(b); on {
			c.flux = append(c.flux, flux{at, part.to.p, +1})
		}
		if part.from.p != part.to.p {
			in := Edge{part.from.p, part.to.p}
			c.inside = append(c.inside, in)
			along := AlongSide(in, b)
			flat = flat || along
			if moved := side(e, in.A) != 0 || side(e, in.B) != 0; moved && !along {
				c.cuts = append(c.cuts, cut{e, len(c.inside) - 1, max(part.from.side, part.to.side)})
			}
		}
	}
	if len(c.cuts) > 0 {
		c.bend()
	}
	if len(c.flux) > 0 {
		c.walkPerimeter(w, b)
	} else if w != 0 {
		for _, side := range Perimeter(b) {
			c.inside = appendTimes(c.inside, w, side)
		}
	}
	if flat {
		c.sumSides(b)
	}
	return c.inside
}

// Polygons clips like Clip and assembles the edges into polygons, which are
// valid until the next call.
func (c *Clipper) Polygons(edges []Edge, w int32, b Box, gs uint) []Polygon {
	return c.rings.polygons(c.Clip(edges, w, b, gs))
}

// walkPerimeter adds the perimeter's part of the clipped chain.
func (c *Clipper) walkPerimeter(m int32, b Box) {
	slices.SortFunc(c.flux, func(f, g flux) int { return cmp.Compare(f.at, g.at) })
	corners := [5]Point{{b.X0, b.Y0}, {b.X1, b.Y0}, {b.X1, b.Y1}, {b.X0, b.Y1}, {b.X0, b.Y0}}
	width, height := int64(b.X1)-int64(b.X0), int64(b.Y1)-int64(b.Y0)
	cornerAt := [5]int64{0, width, width + height, 2*width + height, 2*width + 2*height}

	prev, next := corners[0], 1 // the walk has reached prev; corners[next] is ahead
	for i := 0; i < len(c.flux); {
		f := c.flux[i]
		change := int32(0)
		for ; i < len(c.flux) && c.flux[i].at == f.at; i++ {
			change += c.flux[i].d
		}
		// A border that only touches the side splits the side too. Rings are cut where they return
		// to a vertex, but not where they touch an edge.
		for next < 4 && cornerAt[next] <= f.at {
			c.inside = appendTimes(c.inside, m, Edge{prev, corners[next]})
			prev = corners[next]
			next++
		}
		c.inside = appendTimes(c.inside, m, Edge{prev, f.p})
		prev = f.p
		m += change
	}
	for ; next <= 4; next++ {
		c.inside = appendTimes(c.inside, m, Edge{prev, corners[next]})
		prev = corners[next]
	}
}

// sumSides adds up the edges along the sides of the box. Rounding can move a cut edge onto a side,
// where it overlaps the edges of the perimeter.
func (c *Clipper) sumSides(b Box) {
	var along []Edge
	n := 0
	for _, e := range c.inside {
		if AlongSide(e, b) {
			along = append(along, e)
		} else {
			c.inside[n] = e
			n++
		}
	}
	c.inside = append(c.inside[:n], SumAxisEdges(along)...)
}

// AlongSide reports whether an edge lies on a side of the box.
func AlongSide(e Edge, b Box) bool {
	return e.A.X == e.B.X && (e.A.X == b.X0 || e.A.X == b.X1) ||
		e.A.Y == e.B.Y && (e.A.Y == b.Y0 || e.A.Y == b.Y1)
}

// Perimeter returns the box's outline, clockwise.
func Perimeter(b Box) []Edge {
	nw, ne, se, sw := Point{b.X0, b.Y0}, Point{b.X1, b.Y0}, Point{b.X1, b.Y1}, Point{b.X0, b.Y1}
	return []Edge{{nw, ne}, {ne, se}, {se, sw}, {sw, nw}}
}

// appendTimes appends an edge n times over, reversed when n is negative.
func appendTimes(dst []Edge, n int32, e Edge) []Edge {
	if e.A == e.B {
		return dst
	}
	for range n {
		dst = append(dst, e)
	}
	for range -n {
		dst = append(dst, e.Reversed())
	}
	return dst
}

// end is one end of a clipped edge: its rounded place and the side of the box
// where it was cut, or −1 if the edge itself ends there.
type end struct {
	p    Point
	side int
}

// span is the part of an edge inside a box.
type span struct{ from, to end }

// clipSpan returns the part of an edge inside the open box, with its ends
// rounded to the grid. An edge that only touches the box, or runs along a side,
// has none. Rounding may shrink the part to a point.
//
// Sides are numbered 0 west, 1 east, 2 north, 3 south.
func clipSpan(e Edge, b Box, gs uint) (span, bool) {
	minX, maxX := min(e.A.X, e.B.X), max(e.A.X, e.B.X)
	minY, maxY := min(e.A.Y, e.B.Y), max(e.A.Y, e.B.Y)
	if maxX <= b.X0 || minX >= b.X1 || maxY <= b.Y0 || minY >= b.Y1 {
		// The edge lies entirely on one side. This includes an edge that lies on the line of a
		// side, with for example minX = maxX = b.x0.
		return span{}, false
	}
	if minX >= b.X0 && maxX <= b.X1 && minY >= b.Y0 && maxY <= b.Y1 {
		return span{end{e.A, -1}, end{e.B, -1}}, true
	}
	u := e
	if !e.Upward() {
		u = e.Reversed()
	}
	// Keep the interval of t in [0, 1] inside, as exact fractions num/den, den
	// > 0.
	lo, hi := fraction{0, 1}, fraction{1, 1}
	loSide, hiSide := -1, -1
	dx, dy := int64(u.B.X)-int64(u.A.X), int64(u.B.Y)-int64(u.A.Y)
	for s, k := range [4]struct{ d, far int64 }{
		{-dx, int64(u.A.X) - int64(b.X0)}, // x ≥ x0
		{dx, int64(b.X1) - int64(u.A.X)},  // x ≤ x1
		{-dy, int64(u.A.Y) - int64(b.Y0)}, // y ≥ y0
		{dy, int64(b.Y1) - int64(u.A.Y)},  // y ≤ y1
	} {
		// The edge is inside where t·d ≤ far.
		switch {
		case k.d > 0:
			if f := (fraction{k.far, k.d}); f.less(hi) {
				hi, hiSide = f, s
			}
		case k.d < 0:
			if f := (fraction{-k.far, -k.d}); lo.less(f) {
				lo, loSide = f, s
			}
		case k.far <= 0:
			// The edge is parallel to this side, and lies outside of it or along it.
			return span{}, false
		}
	}
	if !lo.less(hi) {
		return span{}, false // misses the open box, or meets it in a point
	}
	part := span{end{u.A, -1}, end{u.B, -1}}
	if loSide >= 0 {
		part.from = end{crossing(u, loSide, b, gs), loSide}
	}
	if hiSide >= 0 {
		part.to = end{crossing(u, hiSide, b, gs), hiSide}
	}
	if u != e {
		part.from, part.to = part.to, part.from
	}
	return part, true
}

// ClipEdge returns the part of an edge inside the open box, rounded to the grid but not bent around
// other edges' vertices. It returns false if that part is empty or has shrunk to a point.
func ClipEdge(e Edge, b Box, gs uint) (Edge, bool) {
	part, ok := clipSpan(e, b, gs)
	return Edge{part.from.p, part.to.p}, ok && part.from.p != part.to.p
}

// ClipLine calls fn for the parts of a line inside a box, as ClipEdge cuts its edges. A part is valid
// until fn returns, which may change it, and has at least two points. The memory of parts is that of
// buf, which ClipLine returns as it has grown.
func ClipLine(line []Point, b Box, buf []Point, fn func(part []Point)) []Point {
	part := buf[:0]
	for i := 1; i < len(line); i++ {
		e, ok := ClipEdge(Edge{line[i-1], line[i]}, b, 0)
		if !ok {
			continue
		}
		if n := len(part); n == 0 || part[n-1] != e.A {
			if n > 0 {
				fn(part)
			}
			part = append(part[:0], e.A)
		}
		part = append(part, e.B)
	}
	if len(part) > 0 {
		fn(part)
	}
	return part
}

// fraction is num/den with den > 0.
type fraction struct{ num, den int64 }

func (f fraction) less(g fraction) bool { return f.num*g.den < g.num*f.den }

// crossing returns where an upward edge meets a side of the box, with the
// coordinate along the side rounded to the grid. Sides are numbered as in
// clipSpan.
func crossing(u Edge, s int, b Box, gs uint) Point {
	dx, dy := int64(u.B.X)-int64(u.A.X), int64(u.B.Y)-int64(u.A.Y)
	if s < 2 {
		x := b.X0
		if s == 1 {
			x = b.X1
		}
		y := int64(u.A.Y) + divRound(int64(x-u.A.X)*dy, dx, gs, int64(u.A.Y))
		return Point{x, int32(y)}
	}
	y := b.Y0
	if s == 3 {
		y = b.Y1
	}
	x := int64(u.A.X) + divRound(int64(y-u.A.Y)*dx, dy, gs, int64(u.A.X))
	return Point{int32(x), y}
}

// place returns the distance of an end along the perimeter, clockwise from the north-west corner,
// and whether it is on the perimeter at all.
//
// The walk begins just after that corner, on the north side. An end in the
// corner itself, or cut at the west side, therefore comes last. Only a crossing
// of the north side that was rounded to the corner comes first.
func (e end) place(b Box) (int64, bool) {
	width, height := int64(b.X1)-int64(b.X0), int64(b.Y1)-int64(b.Y0)
	p := e.p
	switch {
	case p.Y == b.Y0 && (p.X > b.X0 || e.side == 2):
		return int64(p.X - b.X0), true
	case p.X == b.X1:
		return width + int64(p.Y-b.Y0), true
	case p.Y == b.Y1:
		return width + height + int64(b.X1-p.X), true
	case p.X == b.X0:
		return 2*width + height + int64(b.Y1-p.Y), true
	}
	return 0, false
}
