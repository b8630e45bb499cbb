package tiles

import (
	"cmp"
	"errors"
	"math/bits"
	"slices"
)

// Snap rounding, after Hobby and after Guibas and Marimont: every vertex of an
// arrangement, and every place where two lines cross, makes the pixel of the
// grid it lies in hot, and every line that passes through a hot pixel is led
// through its centre. Afterwards lines meet at vertices only. What lay on one
// side of a line never comes to lie on its other side: parts may collapse, but
// not turn over, so regions neither overlap nor gap where they did not before.

// What noding refuses.
var (
	errTangled = errors.New("borders cross each other too often: check the source for lines drawn over each other")
	errTooLong = errors.New("borders cross too many tiles: build fewer or smaller layers at once")
)

// maxHot bounds the vertices of an arrangement, and with them the memory of a
// build: a line around the world, of a few bytes in a file, crosses 8,192 tiles.
const maxHot = 1 << 26

// maxBeyond bounds the crossings beyond four for each line.
const maxBeyond = 1 << 20

// noder snap-rounds lines.
type noder struct {
	reg *registry
	// grid is the base-2 logarithm of the pixels' side.
	grid uint
	// tiles is the base-2 logarithm of the distance of tile lines, which are
	// part of the arrangement: where borders cross them there are vertices.
	// 0 means none.
	tiles uint
	// crossings says that lines may cross; otherwise they are known to meet
	// at vertices only.
	crossings bool
	// melt brings lines along the antimeridian in the east to its place in the
	// west, where they cancel each other.
	melt bool
	// beyond counts the crossings there were beyond four for each line, in all
	// calls.
	beyond int
}

// node returns the lines snap-rounded, sorted and joined. The input, which
// lies within [0, worldSize] in x, is left as it is.
func (n *noder) node(lines []line) ([]line, error) {
	hot, err := n.hotPixels(lines)
	if err != nil {
		return nil, err
	}
	cells := newCellIndex(hot, n.grid+cellBits)
	half := int32(1) << n.grid >> 1
	out := make([]line, 0, len(lines)+len(lines)/4)
	var via []point
	for _, l := range lines {
		via = via[:0]
		cells.near(l, half+1, func(p point) {
			if n.passes(l, p) {
				via = append(via, p)
			}
		})
		sortAlong(via, l)
		out = appendLed(out, via, l.who, n.reg)
	}
	if n.melt {
		for i := range out {
			if l := &out[i]; l.a.x == worldSize && l.b.x == worldSize {
				l.a.x, l.b.x = 0, 0
			}
		}
	}
	return merge(out, n.reg), nil
}

// cellBits is how many pixels, as a power of two, a cell of the index is wide.
const cellBits = 9

// appendLed appends the lines that lead through points in their order, for
// the regions who as seen in that order.
func appendLed(out []line, via []point, who int32, reg *registry) []line {
	for i := 1; i < len(via); i++ {
		p, q := via[i-1], via[i]
		switch {
		case p == q:
		case edge{p, q}.upward():
			out = append(out, line{p, q, who})
		default:
			out = append(out, line{q, p, reg.reversed(who)})
		}
	}
	return out
}

// sortAlong sorts pixels that a line passes through in the order it does. It
// runs to the east, and only north or only south, so they form a staircase.
func sortAlong(pixels []point, l line) {
	down := l.b.y >= l.a.y
	slices.SortFunc(pixels, func(p, q point) int {
		if c := cmp.Compare(p.x, q.x); c != 0 {
			return c
		}
		if down {
			return cmp.Compare(p.y, q.y)
		}
		return cmp.Compare(q.y, p.y)
	})
}

// round returns the centre of the pixel that holds a point.
func (n *noder) round(p point) point {
	half := int32(1) << n.grid >> 1
	return point{(p.x + half) >> n.grid << n.grid, (p.y + half) >> n.grid << n.grid}
}

// hotPixels returns the centres of the hot pixels, sorted, each once.
func (n *noder) hotPixels(lines []line) ([]point, error) {
	hot := make([]point, 0, 2*len(lines))
	for _, l := range lines {
		hot = append(hot, n.round(l.a), n.round(l.b))
		if n.tiles > 0 {
			hot = appendCrossings(hot, l.edge(), n.tiles, n.grid)
		}
		if len(hot) > maxHot {
			return nil, errTooLong
		}
	}
	if n.crossings {
		var err error
		if hot, err = n.appendProperCrossings(hot, lines); err != nil {
			return nil, err
		}
	}
	// A pixel on the antimeridian lies half at either end of the grid.
	for _, p := range hot {
		switch p.x {
		case 0:
			hot = append(hot, point{worldSize, p.y})
		case worldSize:
			hot = append(hot, point{0, p.y})
		}
	}
	slices.SortFunc(hot, comparePoints)
	return slices.Compact(hot), nil
}

// passes reports whether a line passes through the pixel with centre c, to
// which its western and northern sides belong.
func (n *noder) passes(l line, c point) bool {
	// In half units, in which the pixel's sides are whole numbers.
	side := int64(1) << n.grid
	w, e := 2*int64(c.x)-side, 2*int64(c.x)+side
	north, south := 2*int64(c.y)-side, 2*int64(c.y)+side
	ax, ay, bx, by := 2*int64(l.a.x), 2*int64(l.a.y), 2*int64(l.b.x), 2*int64(l.b.y)
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

// cellIndex finds points by the square cells they lie in.
type cellIndex struct {
	shift  uint
	points []point // sorted by cell
	cells  map[uint64]span32
}

type span32 struct{ from, to int32 }

func cellOf(x, y int32) uint64 { return uint64(uint32(y))<<32 | uint64(uint32(x)) }

func newCellIndex(points []point, shift uint) *cellIndex {
	c := &cellIndex{shift: shift, points: points, cells: make(map[uint64]span32, len(points)/8)}
	key := func(p point) uint64 { return cellOf(p.x>>shift, p.y>>shift) }
	slices.SortFunc(points, func(p, q point) int { return cmp.Or(cmp.Compare(key(p), key(q)), comparePoints(p, q)) })
	for i := 0; i < len(points); {
		k, from := key(points[i]), i
		for i++; i < len(points) && key(points[i]) == k; i++ {
		}
		c.cells[k] = span32{int32(from), int32(i)}
	}
	return c
}

// near calls fn for the points in the cells that come within pad of a line.
func (c *cellIndex) near(l line, pad int32, fn func(point)) {
	eachCell(l, c.shift, pad, func(x, y int32) {
		s := c.cells[cellOf(x, y)]
		in := c.points[s.from:s.to]
		i, _ := slices.BinarySearchFunc(in, l.a.x-pad, func(p point, x int32) int { return cmp.Compare(p.x, x) })
		for ; i < len(in) && in[i].x <= l.b.x+pad; i++ {
			fn(in[i])
		}
	})
}

// eachCell calls fn for all cells that come within pad of a line, and perhaps
// for some next to them, row by row.
func eachCell(l line, shift uint, pad int32, fn func(x, y int32)) {
	top, bottom := min(l.a.y, l.b.y), max(l.a.y, l.b.y)
	x0, x1 := (l.a.x-pad)>>shift, (l.b.x+pad)>>shift
	y0, y1 := (top-pad)>>shift, (bottom+pad)>>shift
	if x1-x0 <= 1 || y1-y0 <= 1 {
		for y := y0; y <= y1; y++ {
			for x := x0; x <= x1; x++ {
				fn(x, y)
			}
		}
		return
	}
	slope := float64(l.b.x-l.a.x) / float64(l.b.y-l.a.y)
	at := func(y int32) int32 { // x of the line there, held to its ends
		x := float64(l.a.x) + (float64(y)-float64(l.a.y))*slope
		return int32(max(float64(l.a.x), min(float64(l.b.x), x)))
	}
	for y := y0; y <= y1; y++ {
		p, q := at(y<<shift-pad), at((y+1)<<shift+pad)
		for x, end := (min(p, q)-pad-1)>>shift, (max(p, q)+pad+1)>>shift; x <= end; x++ {
			fn(x, y)
		}
	}
}

// lineIndex finds lines by cells.
type lineIndex struct {
	shift   uint
	entries []cellEntry // sorted by cell, then by line
}

type cellEntry struct {
	cell uint64
	line int32
}

func newLineIndex(lines []line, shift uint) *lineIndex {
	x := &lineIndex{shift: shift, entries: make([]cellEntry, 0, len(lines)*3/2)}
	for i, l := range lines {
		eachCell(l, shift, 0, func(cx, cy int32) {
			x.entries = append(x.entries, cellEntry{cellOf(cx, cy), int32(i)})
		})
	}
	slices.SortFunc(x.entries, func(p, q cellEntry) int {
		return cmp.Or(cmp.Compare(p.cell, q.cell), cmp.Compare(p.line, q.line))
	})
	return x
}

// eachGroup calls fn for the lines of each cell.
func (x *lineIndex) eachGroup(fn func(cell uint64, entries []cellEntry) error) error {
	for i := 0; i < len(x.entries); {
		from := i
		for i++; i < len(x.entries) && x.entries[i].cell == x.entries[from].cell; i++ {
		}
		if err := fn(x.entries[from].cell, x.entries[from:i]); err != nil {
			return err
		}
	}
	return nil
}

// lineCellBits is the side of the cells in which lines are compared with each
// other, and crowded how many lines a cell may have before it is divided.
const (
	lineCellBits = 12
	crowded      = 256
)

// appendProperCrossings appends the pixels in which two lines cross, not at an
// end of either.
func (n *noder) appendProperCrossings(hot []point, lines []line) ([]point, error) {
	usual := len(hot) + 4*len(lines)
	limit := usual + maxBeyond - n.beyond
	var compare func(entries []cellEntry, x, y int32, shift uint, divide bool) error
	compare = func(entries []cellEntry, x, y int32, shift uint, divide bool) error {
		if divide && len(entries) > crowded && shift > 4 {
			return n.divide(entries, lines, x, y, shift, compare)
		}
		for i, e := range entries {
			l := lines[e.line]
			low, high := min(l.a.y, l.b.y), max(l.a.y, l.b.y)
			for _, f := range entries[i+1:] {
				m := lines[f.line]
				if m.a.x >= l.b.x || m.b.x <= l.a.x || min(m.a.y, m.b.y) >= high && low != high || max(m.a.y, m.b.y) <= low && low != high {
					continue
				}
				if p, at, ok := n.cross(l, m); ok && at.x>>shift == x && at.y>>shift == y {
					hot = append(hot, p)
				}
			}
		}
		if len(hot) > limit {
			return errTangled
		}
		return nil
	}
	index := newLineIndex(lines, lineCellBits)
	err := index.eachGroup(func(cell uint64, entries []cellEntry) error {
		return compare(entries, int32(uint32(cell)), int32(uint32(cell>>32)), lineCellBits, true)
	})
	n.beyond += max(0, len(hot)-usual)
	return hot, err
}

// divide compares the lines of a crowded cell in its quarters, unless that is
// no less work: through one place may pass many lines.
func (n *noder) divide(entries []cellEntry, lines []line, x, y int32, shift uint, compare func([]cellEntry, int32, int32, uint, bool) error) error {
	shift--
	var in [4][]cellEntry
	pairs := 0
	for q := range int32(4) {
		cx, cy := x<<1|q&1, y<<1|q>>1
		b := box{cx << shift, cy << shift, (cx + 1) << shift, (cy + 1) << shift}
		for _, e := range entries {
			if meets(lines[e.line].edge(), b) {
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
func (n *noder) cross(l, m line) (pixel, at point, ok bool) {
	e, f := l.edge(), m.edge()
	s1, s2 := side(e, f.a), side(e, f.b)
	if s1 == 0 || s2 == 0 || (s1 > 0) == (s2 > 0) {
		return point{}, point{}, false
	}
	t1, t2 := side(f, e.a), side(f, e.b)
	if t1 == 0 || t2 == 0 || (t1 > 0) == (t2 > 0) {
		return point{}, point{}, false
	}
	// The crossing lies at e.a + t·(e.b − e.a), t = t1 / (t1 − t2).
	num, den := t1, t1-t2
	if den < 0 {
		num, den = -num, -den
	}
	at = point{
		e.a.x + scaled(e.b.x-e.a.x, num, den, false),
		e.a.y + scaled(e.b.y-e.a.y, num, den, false),
	}
	if n.grid == 0 {
		return point{
			e.a.x + scaled(e.b.x-e.a.x, num, den, true),
			e.a.y + scaled(e.b.y-e.a.y, num, den, true),
		}, at, true
	}
	// The pixel follows from the whole units below the crossing.
	return n.round(at), at, true
}

// scaled returns d·num/den rounded down, or to the nearest whole number, halves
// up; 0 ≤ num ≤ den < 2⁶².
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

// attach gives lines a vertex wherever a vertex of another lies within one unit
// of them: a border whose neighbour has more points is brought together with
// it. Without that, rounding leaves slivers along such borders.
func attach(lines []line, reg *registry) []line {
	vertices := make([]point, 0, 2*len(lines))
	for _, l := range lines {
		vertices = append(vertices, l.a, l.b)
	}
	slices.SortFunc(vertices, comparePoints)
	cells := newCellIndex(slices.Compact(vertices), cellBits)
	out := make([]line, 0, len(lines)+len(lines)/16)
	var via []point
	for _, l := range lines {
		via = append(via[:0], l.a)
		dx, dy := int64(l.b.x-l.a.x), int64(l.b.y-l.a.y)
		length2 := uint64(dx*dx + dy*dy)
		seam := l.a.x == l.b.x && l.a.x&(worldSize-1) == 0
		cells.near(l, 2, func(p point) {
			if seam && p.x != l.a.x {
				return // what lies on one side must not bend it: it has another
			}
			along := dx*int64(p.x-l.a.x) + dy*int64(p.y-l.a.y)
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
		via = append(via, l.b)
		slices.SortFunc(via[1:len(via)-1], func(p, q point) int {
			return cmp.Or(
				cmp.Compare(dx*int64(p.x)+dy*int64(p.y), dx*int64(q.x)+dy*int64(q.y)),
				comparePoints(p, q))
		})
		out = appendLed(out, via, l.who, reg)
	}
	return merge(out, reg)
}
