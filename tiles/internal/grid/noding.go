package grid

import (
	"cmp"
	"errors"
	"fmt"
	"math/bits"
	"slices"
)

// Snap rounding follows Hobby, and Guibas and Marimont. Every vertex of an arrangement, and every
// crossing of two lines, makes its pixel of the grid hot. Every line that passes through a hot
// pixel is bent through the pixel's centre. Afterwards lines meet at vertices only. A point on one
// side of a line never moves to the other side: parts may collapse, but they do not turn over, so
// rounding adds no overlaps or gaps between regions.

// These errors reject arrangements that would take too much work or memory.
var (
	errTangled = errors.New("borders cross each other too often: check the source for lines drawn over each other")
)

// TooLongError rejects an arrangement with too many vertices.
type TooLongError struct{ Vertices int64 }

func (e *TooLongError) Error() string {
	return fmt.Sprintf("borders have %d vertices where they bend and cross tiles: build fewer or smaller layers at once", e.Vertices)
}

// usualMost is the default of Noder.MaxVertices. maxMost is its greatest value,
// because vertices are numbered in 32 bits.
const (
	usualMost = 1 << 26
	maxMost   = 1 << 29
)

// maxBeyond bounds the number of crossings in excess of four per line. maxCompared bounds the pairs
// of lines that are compared. Borders of millions of vertices need a few thousand million pairs.
// More pairs mean that very many lines pass through one place, where no index can keep them apart.
const (
	maxBeyond   = 1 << 20
	maxCompared = 1 << 35
)

// Noder snap-rounds lines.
type Noder struct {
	ShareSets *ShareSets
	// PixelShift is the base-2 logarithm of a pixel's side.
	PixelShift uint
	// TileShift is the base-2 logarithm of the distance between tile lines. Tile
	// lines are part of the arrangement: borders get vertices where they cross
	// them. 0 means no tile lines.
	TileShift uint
	// MayCross is set if lines may cross. Otherwise they must meet at vertices only.
	MayCross bool
	// MergeAntimeridian moves lines along the eastern antimeridian to the western one, where
	// they cancel each other.
	MergeAntimeridian bool
	// MaxVertices bounds the vertices of the arrangement, not counting crossings of lines; 0 means
	// 2²⁶. A line around the world takes a few bytes in a file but crosses 8,192 tiles.
	MaxVertices int64
	// OnProgress, if set, is called with the number of lines done since the last call. Several
	// goroutines may call it.
	OnProgress func(lines int)
	// beyond counts the crossings in excess of four per line, over all calls.
	beyond int
	// compared counts the compared pairs of lines, over all calls.
	compared int64
}

// Node returns the lines snap-rounded, sorted and joined. The input must lie within [0, WorldSize]
// in x; Node does not change it.
func (n *Noder) Node(lines []Line) ([]Line, error) {
	hot, err := n.hotPixels(lines)
	if err != nil {
		return nil, err
	}
	cells := newCellIndex(hot, n.coder())
	half := int32(1) << n.PixelShift >> 1
	out := eachPart(lines, func(out []Line, lines []Line) []Line {
		var via []Point
		for _, l := range lines {
			via = via[:0]
			cells.near(l, half+1, func(p Point) {
				if n.passes(l, p) {
					via = append(via, p)
				}
			})
			sortAlong(via, l)
			out = appendLed(out, via, l.ShareSet, n.ShareSets)
		}
		if n.OnProgress != nil {
			n.OnProgress(len(lines))
		}
		return out
	})
	if n.MergeAntimeridian {
		for i := range out {
			if l := &out[i]; l.A.X == WorldSize && l.B.X == WorldSize {
				l.A.X, l.B.X = 0, 0
			}
		}
	}
	if out = MergeLines(out, n.ShareSets); len(out) < cap(out)/4*3 {
		out = slices.Clone(out) // many lines have become one
	}
	return out, nil
}

// partSize is the number of lines that one processor takes at a time.
const partSize = 1 << 14

// eachPart calls fn for parts of lines, in parallel, and joins the results.
func eachPart(lines []Line, fn func(out, lines []Line) []Line) []Line {
	parts := slices.Collect(slices.Chunk(lines, partSize))
	if len(parts) < 2 {
		return fn(make([]Line, 0, len(lines)+len(lines)/4), lines)
	}
	outs := make([][]Line, len(parts))
	inParallel(len(parts), func(i int) {
		outs[i] = fn(make([]Line, 0, len(parts[i])+len(parts[i])/4), parts[i])
	})
	return slices.Concat(outs...)
}

// appendLed appends the lines that connect the points of via in order. who is the share set in that
// direction.
func appendLed(out []Line, via []Point, who int32, reg *ShareSets) []Line {
	for i := 1; i < len(via); i++ {
		p, q := via[i-1], via[i]
		switch {
		case p == q:
		case Edge{p, q}.Upward():
			out = append(out, Line{p, q, who})
		default:
			out = append(out, Line{q, p, reg.reversed(who)})
		}
	}
	return out
}

// sortAlong sorts the pixels that a line passes through along the line. The line runs east and
// either only north or only south, so the pixels form a staircase.
func sortAlong(pixels []Point, l Line) {
	down := l.B.Y >= l.A.Y
	slices.SortFunc(pixels, func(p, q Point) int {
		if c := cmp.Compare(p.X, q.X); c != 0 {
			return c
		}
		if down {
			return cmp.Compare(p.Y, q.Y)
		}
		return cmp.Compare(q.Y, p.Y)
	})
}

// round returns the centre of the pixel of a point.
func (n *Noder) round(p Point) Point {
	half := int32(1) << n.PixelShift >> 1
	return Point{(p.X + half) >> n.PixelShift << n.PixelShift, (p.Y + half) >> n.PixelShift << n.PixelShift}
}

func (n *Noder) coder() cellCoder { return cellCoder{n.PixelShift + cellBits} }

// hotPixels returns the codes of the centres of the hot pixels, some of them more than once.
func (n *Noder) hotPixels(lines []Line) ([]uint64, error) {
	vertices := int64(len(lines))
	if n.TileShift > 0 {
		for _, l := range lines {
			vertices += int64(crossings(l.A.X, l.B.X, n.TileShift) + crossings(l.A.Y, l.B.Y, n.TileShift))
		}
	}
	most := int64(usualMost)
	if n.MaxVertices > 0 {
		most = min(n.MaxVertices, maxMost)
	}
	if vertices > most {
		return nil, &TooLongError{vertices}
	}
	hot := make([]uint64, 0, vertices+int64(len(lines)))
	code := n.coder()
	var crossings []Point
	for _, l := range lines {
		hot = append(hot, code.code(n.round(l.A)), code.code(n.round(l.B)))
		if n.TileShift > 0 {
			crossings = appendCrossings(crossings[:0], l.edge(), n.TileShift, n.PixelShift)
			for _, p := range crossings {
				hot = append(hot, code.code(p))
			}
		}
	}
	if n.MayCross {
		var err error
		if hot, err = n.appendProperCrossings(hot, lines); err != nil {
			return nil, err
		}
	}
	// A pixel on the antimeridian lies half at either end of the grid.
	for _, c := range hot {
		switch p := code.point(c); p.X {
		case 0:
			hot = append(hot, code.code(Point{WorldSize, p.Y}))
		case WorldSize:
			hot = append(hot, code.code(Point{0, p.Y}))
		}
	}
	return hot, nil
}

// crossings returns the number of multiples of 2^ts strictly between two coordinates.
func crossings(a, b int32, ts uint) int32 {
	if a > b {
		a, b = b, a
	}
	return max(0, (b-1)>>ts-a>>ts)
}

// passes reports whether a line passes through the pixel with centre c. A pixel
// includes its western and northern sides.
func (n *Noder) passes(l Line, c Point) bool {
	// In half units the pixel's sides are whole numbers.
	side := int64(1) << n.PixelShift
	w, e := 2*int64(c.X)-side, 2*int64(c.X)+side
	north, south := 2*int64(c.Y)-side, 2*int64(c.Y)+side
	ax, ay, bx, by := 2*int64(l.A.X), 2*int64(l.A.Y), 2*int64(l.B.X), 2*int64(l.B.Y)
	if ax >= e || bx < w || min(ay, by) >= south || max(ay, by) < north {
		return false
	}
	dx, dy := bx-ax, by-ay
	nw := dx*(north-ay) - dy*(w-ax)
	if nw == 0 {
		return true
	}
	ne := dx*(north-ay) - dy*(e-ax)
	sw := dx*(south-ay) - dy*(w-ax)
	se := dx*(south-ay) - dy*(e-ax)
	if nw > 0 {
		return ne < 0 || sw < 0 || se < 0
	}
	return ne > 0 || sw > 0 || se > 0
}

// lineCellBits is the base-2 logarithm of the side of the cells in which lines are compared, unless
// lines are very long. A cell with more than crowded lines is divided.
const (
	lineCellBits = 12
	crowded      = 256
)

// appendProperCrossings appends the codes of the pixels in which two lines cross, except at
// an end of either.
func (n *Noder) appendProperCrossings(hot []uint64, lines []Line) ([]uint64, error) {
	usual := len(hot) + 4*len(lines)
	limit := usual + maxBeyond - n.beyond
	var compare func(entries []cellEntry, x, y int32, shift uint, divide bool) error
	compare = func(entries []cellEntry, x, y int32, shift uint, divide bool) error {
		if divide && len(entries) > crowded && shift > 4 {
			return n.divide(entries, lines, x, y, shift, compare)
		}
		for i, e := range entries {
			l := lines[e.line]
			low, high := min(l.A.Y, l.B.Y), max(l.A.Y, l.B.Y)
			if n.compared += int64(len(entries) - i - 1); len(hot) > limit || n.compared > maxCompared {
				return errTangled
			}
			for _, f := range entries[i+1:] {
				m := lines[f.line]
				if m.A.X >= l.B.X || m.B.X <= l.A.X || min(m.A.Y, m.B.Y) >= high && low != high || max(m.A.Y, m.B.Y) <= low && low != high {
					continue
				}
				if p, at, ok := n.cross(l, m); ok && at.X>>shift == x && at.Y>>shift == y {
					hot = append(hot, n.coder().code(p))
				}
			}
		}
		return nil
	}
	index := newLineIndex(lines, lineCellBits)
	err := index.eachGroup(func(cell uint64, entries []cellEntry) error {
		return compare(entries, int32(uint32(cell)), int32(uint32(cell>>32)), index.shift, true)
	})
	n.beyond += max(0, len(hot)-usual)
	return hot, err
}

// divide compares the lines of a crowded cell in its quarters, unless that saves no work because
// many lines pass through one place.
func (n *Noder) divide(entries []cellEntry, lines []Line, x, y int32, shift uint,
	compare func([]cellEntry, int32, int32, uint, bool) error) error {
	shift--
	var in [4][]cellEntry
	pairs := 0
	for q := range int32(4) {
		cx, cy := x<<1|q&1, y<<1|q>>1
		b := Box{cx << shift, cy << shift, (cx + 1) << shift, (cy + 1) << shift}
		for _, e := range entries {
			if Meets(lines[e.line].edge(), b) {
				in[q] = append(in[q], e)
			}
		}
		pairs += len(in[q]) * len(in[q])
	}
	if pairs > 2*len(entries)*len(entries) {
		return compare(entries, x, y, shift+1, false)
	}
	for q := range int32(4) {
		if err := compare(in[q], x<<1|q&1, y<<1|q>>1, shift, true); err != nil {
			return err
		}
	}
	return nil
}

// cross returns the pixel in which two lines properly cross.
func (n *Noder) cross(l, m Line) (pixel, at Point, ok bool) {
	e, f := l.edge(), m.edge()
	s1, s2 := side(e, f.A), side(e, f.B)
	if s1 == 0 || s2 == 0 || (s1 > 0) == (s2 > 0) {
		return Point{}, Point{}, false
	}
	t1, t2 := side(f, e.A), side(f, e.B)
	if t1 == 0 || t2 == 0 || (t1 > 0) == (t2 > 0) {
		return Point{}, Point{}, false
	}
	// The crossing lies at e.a + t·(e.b − e.a), with t = t1 / (t1 − t2).
	num, den := t1, t1-t2
	if den < 0 {
		num, den = -num, -den
	}
	at = Point{
		e.A.X + scaled(e.B.X-e.A.X, num, den, false),
		e.A.Y + scaled(e.B.Y-e.A.Y, num, den, false),
	}
	if n.PixelShift == 0 {
		return Point{
			e.A.X + scaled(e.B.X-e.A.X, num, den, true),
			e.A.Y + scaled(e.B.Y-e.A.Y, num, den, true),
		}, at, true
	}
	// The pixel is determined by the whole units below the crossing.
	return n.round(at), at, true
}

// scaled returns d·num/den, rounded down, or with nearest to the nearest whole number, halves up. 0
// ≤ num ≤ den < 2⁶².
func scaled(d int32, num, den int64, nearest bool) int32 {
	neg := d < 0
	v := int64(d)
	if neg {
		v = -v
	}
	hi, lo := bits.Mul64(uint64(v), uint64(num))
	q, rem := bits.Div64(hi, lo, uint64(den))
	up := !neg && nearest && 2*rem >= uint64(den) ||
		neg && nearest && 2*rem > uint64(den) ||
		neg && !nearest && rem > 0
	if up {
		q++
	}
	if neg {
		return -int32(q)
	}
	return int32(q)
}

// AttachVertices adds a vertex to a line wherever a vertex of another line lies within
// one unit of it. This joins a border with a neighbour's border that has more
// points. Without it, rounding leaves slivers along such borders.
func AttachVertices(lines []Line, reg *ShareSets) []Line {
	code := cellCoder{cellBits}
	vertices := make([]uint64, 0, 2*len(lines))
	for _, l := range lines {
		vertices = append(vertices, code.code(l.A), code.code(l.B))
	}
	cells := newCellIndex(vertices, code)
	out := eachPart(lines, func(out, lines []Line) []Line {
		var via []Point
		for _, l := range lines {
			via = append(via[:0], l.A)
			dx, dy := int64(l.B.X-l.A.X), int64(l.B.Y-l.A.Y)
			length2 := uint64(dx*dx + dy*dy)
			seam := l.A.X == l.B.X && l.A.X&(WorldSize-1) == 0
			cells.near(l, 2, func(p Point) {
				if seam && p.X != l.A.X {
					return // the seam has a copy at the grid's other end, which would stay straight
				}
				along := dx*int64(p.X-l.A.X) + dy*int64(p.Y-l.A.Y)
				if along <= 0 || uint64(along) >= length2 {
					return
				}
				if off := side(l.edge(), p); off > -1<<31 && off < 1<<31 && uint64(off*off) <= length2 {
					via = append(via, p)
				}
			})
			if len(via) == 1 {
				out = append(out, l)
				continue
			}
			via = append(via, l.B)
			slices.SortFunc(via[1:len(via)-1], func(p, q Point) int {
				return cmp.Or(
					cmp.Compare(dx*int64(p.X)+dy*int64(p.Y), dx*int64(q.X)+dy*int64(q.Y)),
					ComparePoints(p, q))
			})
			out = appendLed(out, via, l.ShareSet, reg)
		}
		return out
	})
	return MergeLines(out, reg)
}
