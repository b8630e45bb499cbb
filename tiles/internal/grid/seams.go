package grid

import (
	"cmp"
	"maps"
	"slices"
)

// CutAtSeams cuts a closed chain wherever it crosses a copy of the antimeridian. It closes the
// parts along the antimeridian and shifts them to [0, WorldSize].
//
// To close them, it adds edges between consecutive crossings: w edges to the south at x =
// WorldSize, for the part west of the antimeridian, and w edges to the north at x = 0, for the part
// east of it. Here w is the winding number just east of the antimeridian. Edges of the source along
// the antimeridian belong to the west.
func CutAtSeams(edges []Edge) []Edge {
	passes := map[int32][]flux{} // by the seam's x
	out := cutAt(edges, func(p Point, d int32) { passes[p.X] = append(passes[p.X], flux{at: int64(p.Y), p: p, d: d}) })
	for _, seam := range slices.Sorted(maps.Keys(passes)) {
		on := passes[seam]
		slices.SortFunc(on, func(f, g flux) int { return cmp.Compare(f.at, g.at) })
		w := int32(0)
		for i, f := range on {
			if i > 0 && on[i-1].p != f.p {
				north, south := on[i-1].p.Y, f.p.Y
				out = appendTimes(out, w, Edge{Point{WorldSize, north}, Point{WorldSize, south}})
				out = appendTimes(out, w, Edge{Point{0, south}, Point{0, north}})
			}
			w += f.d
		}
	}
	return out
}

// CutLines cuts lines at every copy of the antimeridian and shifts the parts to [0, WorldSize].
func CutLines(edges []Edge) []Edge { return cutAt(edges, func(Point, int32) {}) }

// cutAt cuts edges at the seams. It calls pass for each place where an edge passes a seam, with d >
// 0 to the east and d < 0 to the west.
func cutAt(edges []Edge, pass func(p Point, d int32)) []Edge {
	out := make([]Edge, 0, len(edges))
	for _, e := range edges {
		u, d := e, int32(1)
		if !e.Upward() {
			u, d = e.Reversed(), -1
		}
		at := u.A
		// u passes the seams with a.x ≤ seam < b.x.
		for seam := -(-u.A.X &^ (WorldSize - 1)); seam < u.B.X; seam += WorldSize {
			dx, dy := int64(u.B.X)-int64(u.A.X), int64(u.B.Y)-int64(u.A.Y)
			p := Point{seam, u.A.Y + int32(divRound(int64(seam-u.A.X)*dy, dx, 0, 0))}
			pass(p, d)
			out = appendStrip(out, Edge{at, p}, d)
			at = p
		}
		out = appendStrip(out, Edge{at, u.B}, d)
	}
	return out
}

// appendStrip appends an upward edge between two seams, shifted to [0,
// WorldSize], d times.
func appendStrip(dst []Edge, u Edge, d int32) []Edge {
	strip := u.A.X &^ (WorldSize - 1)
	if u.A.X == strip && u.B.X == strip {
		strip -= WorldSize // along the seam: in the west of it
	}
	u.A.X -= strip
	u.B.X -= strip
	return appendTimes(dst, d, u)
}

// Copies returns the copies of periodic edges that meet a box, as AppendCopies does. If each copy
// is the edge itself, it returns edges.
func Copies(edges []Edge, b Box) []Edge {
	itself := func(e Edge) bool {
		return Meets(e, b) && max(e.A.X, e.B.X)-WorldSize < b.X0 && min(e.A.X, e.B.X)+WorldSize > b.X1
	}
	for _, e := range edges {
		if !itself(e) {
			return AppendCopies(make([]Edge, 0, len(edges)+len(edges)/16), edges, b)
		}
	}
	return edges
}

// AppendCopies appends the copies of periodic edges, shifted by whole worlds,
// that meet a box.
func AppendCopies(dst, edges []Edge, b Box) []Edge {
	for _, e := range edges {
		for _, shift := range [3]int32{-WorldSize, 0, WorldSize} {
			c := Edge{Point{e.A.X + shift, e.A.Y}, Point{e.B.X + shift, e.B.Y}}
			if Meets(c, b) {
				dst = append(dst, c)
			}
		}
	}
	return dst
}

// PeriodicWinding returns the winding number of a periodic chain at the
// reference of corner c.
func PeriodicWinding(edges []Edge, c Point) int32 {
	var w int32
	for _, shift := range [3]int32{-WorldSize, 0, WorldSize} {
		w += WindingFromNorth(edges, Point{c.X - shift, c.Y})
	}
	return w
}

// Normalize shifts every edge by whole worlds so that its western end lies in
// [0, WorldSize). It also melts the seam: edges along the antimeridian, where
// sources cut their polygons, cancel those of the other side.
func Normalize(edges []Edge) []Edge {
	var seam []Edge
	n := 0
	for _, e := range edges {
		west := min(e.A.X, e.B.X)
		if shift := west &^ (WorldSize - 1); shift != 0 {
			e.A.X -= shift
			e.B.X -= shift
		}
		if e.A.X == 0 && e.B.X == 0 {
			seam = append(seam, e)
			continue
		}
		edges[n] = e
		n++
	}
	return append(edges[:n], sumVertical(seam)...)
}
