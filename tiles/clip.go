package tiles

import (
	"cmp"
	"slices"
)

// clipper cuts chains to boxes and puts rings together. It keeps its memory
// between calls; one belongs to one goroutine.
type clipper struct {
	inside []edge
	flux   []flux
	rings  assembler
}

// flux is how much the chain's net flow changes at a place of the perimeter.
type flux struct {
	at int64 // position along the perimeter, clockwise from the north-west corner
	p  point
	d  int32
}

// clip returns the part of a chain inside a box as a closed chain, valid until
// the next call. w is the winding number at the reference of the box's
// north-west corner, gs the grid (2^gs) that new vertices are rounded to; the
// box must lie on it. edges must hold every edge that meets the box's
// interior; more do no harm.
//
// The edges inside are kept; where the chain enters or leaves, the perimeter
// is added with the multiplicity that closes it. Walking the perimeter
// clockwise, that multiplicity starts as the winding number just inside the
// first corner and changes by one wherever the chain passes. Crossings are
// exact until they are rounded, and rounding keeps their order along a side,
// so the result is closed whatever the input.
func (c *clipper) clip(edges []edge, w int32, b box, gs uint) []edge {
	c.inside = c.inside[:0]
	c.flux = c.flux[:0]
	flat := false
	for _, e := range edges {
		part, ok := clipEdge(e, b, gs)
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
			in := edge{part.from.p, part.to.p}
			c.inside = append(c.inside, in)
			flat = flat || alongSide(in, b) >= 0
		}
	}
	if len(c.flux) > 0 {
		c.walkPerimeter(w, b)
	} else if w != 0 {
		for _, side := range perimeter(b) {
			c.inside = appendTimes(c.inside, w, side)
		}
	}
	if flat {
		c.sumSides(b)
	}
	return c.inside
}

// walkPerimeter adds the perimeter's part of the clipped chain.
func (c *clipper) walkPerimeter(m int32, b box) {
	slices.SortFunc(c.flux, func(f, g flux) int { return cmp.Compare(f.at, g.at) })
	corners := [5]point{{b.x0, b.y0}, {b.x1, b.y0}, {b.x1, b.y1}, {b.x0, b.y1}, {b.x0, b.y0}}
	width, height := int64(b.x1)-int64(b.x0), int64(b.y1)-int64(b.y0)
	cornerAt := [5]int64{0, width, width + height, 2*width + height, 2*width + 2*height}

	prev, next := corners[0], 1 // the walk has reached prev; corners[next] is ahead
	for i := 0; i < len(c.flux); {
		f := c.flux[i]
		change := int32(0)
		for ; i < len(c.flux) && c.flux[i].at == f.at; i++ {
			change += c.flux[i].d
		}
		// A border that only touches the side splits it too: rings that come
		// back to a vertex are cut there, those that touch an edge are not.
		for next < 4 && cornerAt[next] <= f.at {
			c.inside = appendTimes(c.inside, m, edge{prev, corners[next]})
			prev = corners[next]
			next++
		}
		c.inside = appendTimes(c.inside, m, edge{prev, f.p})
		prev = f.p
		m += change
	}
	for ; next <= 4; next++ {
		c.inside = appendTimes(c.inside, m, edge{prev, corners[next]})
		prev = corners[next]
	}
}

// sumSides adds up the edges along each side of the box. Rounding can lay a
// cut edge onto a side, over the perimeter's own edges.
func (c *clipper) sumSides(b box) {
	var along [4][]edge
	n := 0
	for _, e := range c.inside {
		if s := alongSide(e, b); s >= 0 {
			along[s] = append(along[s], e)
		} else {
			c.inside[n] = e
			n++
		}
	}
	c.inside = c.inside[:n]
	for s, edges := range along {
		if s < 2 {
			c.inside = append(c.inside, sumVertical(edges)...)
			continue
		}
		for i, e := range edges {
			edges[i] = edge{point{e.a.y, e.a.x}, point{e.b.y, e.b.x}}
		}
		for _, e := range sumVertical(edges) {
			c.inside = append(c.inside, edge{point{e.a.y, e.a.x}, point{e.b.y, e.b.x}})
		}
	}
}

// alongSide returns which side of the box an edge lies on, numbered as in
// clipEdge, or −1.
func alongSide(e edge, b box) int {
	switch {
	case e.a.x == b.x0 && e.b.x == b.x0:
		return 0
	case e.a.x == b.x1 && e.b.x == b.x1:
		return 1
	case e.a.y == b.y0 && e.b.y == b.y0:
		return 2
	case e.a.y == b.y1 && e.b.y == b.y1:
		return 3
	}
	return -1
}

// perimeter is the box's outline, clockwise.
func perimeter(b box) []edge {
	nw, ne, se, sw := point{b.x0, b.y0}, point{b.x1, b.y0}, point{b.x1, b.y1}, point{b.x0, b.y1}
	return []edge{{nw, ne}, {ne, se}, {se, sw}, {sw, nw}}
}

// appendTimes appends an edge n times over, reversed when n is negative.
func appendTimes(dst []edge, n int32, e edge) []edge {
	if e.a == e.b {
		return dst
	}
	for range n {
		dst = append(dst, e)
	}
	for range -n {
		dst = append(dst, e.reversed())
	}
	return dst
}

// end is one end of a clipped edge: its rounded place, and the side of the box
// it was cut at, or −1 where the edge itself ends.
type end struct {
	p    point
	side int
}

// span is the part of an edge inside a box.
type span struct{ from, to end }

// clipEdge returns the part of an edge inside the open box, with its ends
// rounded to the grid; an edge that only touches the box, or runs along one of
// its sides, has none. The part may have shrunk to a point.
//
// Sides are numbered 0 west, 1 east, 2 north, 3 south.
func clipEdge(e edge, b box, gs uint) (span, bool) {
	minX, maxX := min(e.a.x, e.b.x), max(e.a.x, e.b.x)
	minY, maxY := min(e.a.y, e.b.y), max(e.a.y, e.b.y)
	if maxX <= b.x0 || minX >= b.x1 || maxY <= b.y0 || minY >= b.y1 {
		// Entirely on one side. An edge inside a side's line has minX = maxX
		// = b.x0, say, and is caught here too.
		return span{}, false
	}
	if minX >= b.x0 && maxX <= b.x1 && minY >= b.y0 && maxY <= b.y1 {
		return span{end{e.a, -1}, end{e.b, -1}}, true
	}
	u := e
	if !e.upward() {
		u = e.reversed()
	}
	// The interval of t in [0, 1] inside, as exact fractions num/den, den > 0.
	lo, hi := fraction{0, 1}, fraction{1, 1}
	loSide, hiSide := -1, -1
	dx, dy := int64(u.b.x)-int64(u.a.x), int64(u.b.y)-int64(u.a.y)
	for s, k := range [4]struct{ d, far int64 }{
		{-dx, int64(u.a.x) - int64(b.x0)}, // x ≥ x0
		{dx, int64(b.x1) - int64(u.a.x)},  // x ≤ x1
		{-dy, int64(u.a.y) - int64(b.y0)}, // y ≥ y0
		{dy, int64(b.y1) - int64(u.a.y)},  // y ≤ y1
	} {
		// Inside where t·d ≤ far.
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
			// Parallel to this side and outside it or along it.
			return span{}, false
		}
	}
	if !lo.less(hi) {
		return span{}, false // misses the open box, or meets it in a point
	}
	part := span{end{u.a, -1}, end{u.b, -1}}
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

// fraction is num/den with den > 0.
type fraction struct{ num, den int64 }

func (f fraction) less(g fraction) bool { return f.num*g.den < g.num*f.den }

// crossing is where an upward edge meets a side of the box, numbered as in
// clipEdge, with the coordinate along the side rounded to the grid.
func crossing(u edge, s int, b box, gs uint) point {
	dx, dy := int64(u.b.x)-int64(u.a.x), int64(u.b.y)-int64(u.a.y)
	if s < 2 {
		x := b.x0
		if s == 1 {
			x = b.x1
		}
		y := int64(u.a.y) + divRound(int64(x-u.a.x)*dy, dx, gs, int64(u.a.y))
		return point{x, int32(y)}
	}
	y := b.y0
	if s == 3 {
		y = b.y1
	}
	x := int64(u.a.x) + divRound(int64(y-u.a.y)*dx, dy, gs, int64(u.a.x))
	return point{int32(x), y}
}

// place returns how far along the perimeter an end lies, clockwise from the
// north-west corner, and whether it is on the perimeter at all.
//
// The walk begins just behind that corner, on the north side. What passes
// through the corner itself, or was cut at the west side, therefore comes last;
// only a crossing of the north side that was rounded to the corner comes first.
func (e end) place(b box) (int64, bool) {
	width, height := int64(b.x1)-int64(b.x0), int64(b.y1)-int64(b.y0)
	p := e.p
	switch {
	case p.y == b.y0 && (p.x > b.x0 || e.side == 2):
		return int64(p.x - b.x0), true
	case p.x == b.x1:
		return width + int64(p.y-b.y0), true
	case p.y == b.y1:
		return width + height + int64(b.x1-p.x), true
	case p.x == b.x0:
		return 2*width + height + int64(b.y1-p.y), true
	}
	return 0, false
}
