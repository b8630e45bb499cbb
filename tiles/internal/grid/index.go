package grid

import (
	"cmp"
	"slices"
)

// cellBits is the width of an index cell in pixels, as a power of two.
const cellBits = 9

// cellIndex finds points by the square cells in which they lie. Cells are in columns from west to
// east, so lookups for lines from west to east find their results in the processor's cache.
type cellIndex struct {
	cellCoder
	points  []uint64 // by their codes, sorted
	cells   []cell   // with points, column by column from north to south
	west    int32    // the first column
	columns []int32  // where the cells of each column start, and where the last ends
}

type cell struct{ y, from int32 }

// cellCoder codes points as numbers, ordered by the columns and rows of their cells, then by x and
// y. Cells have sides of 2^shift. Numbers are sorted much faster than points.
type cellCoder struct{ shift uint }

func (c cellCoder) code(p Point) uint64 {
	x, y := uint64(uint32(p.X)^1<<31), uint64(uint32(p.Y)^1<<31)
	in := uint64(1)<<c.shift - 1
	return x>>c.shift<<(32+c.shift) | y>>c.shift<<(2*c.shift) | x&in<<c.shift | y&in
}

func (c cellCoder) point(code uint64) Point {
	in := uint64(1)<<c.shift - 1
	x := code>>(32+c.shift)<<c.shift | code>>c.shift&in
	y := code>>(2*c.shift)<<c.shift&(1<<32-1) | code&in
	return Point{int32(uint32(x) ^ 1<<31), int32(uint32(y) ^ 1<<31)}
}

// newCellIndex sorts codes of points and drops repetitions, in place.
func newCellIndex(points []uint64, code cellCoder) *cellIndex {
	c := &cellIndex{cellCoder: code}
	sortNumbers(points)
	c.points = slices.Compact(points)
	if len(points) == 0 {
		return c
	}
	c.west = c.point(points[0]).X >> c.shift
	for i, code := range c.points {
		p := c.point(code)
		x, y := p.X>>c.shift-c.west, p.Y>>c.shift
		fresh := int(x) >= len(c.columns)
		for int(x) >= len(c.columns) {
			c.columns = append(c.columns, int32(len(c.cells)))
		}
		if fresh || c.cells[len(c.cells)-1].y != y {
			c.cells = append(c.cells, cell{y, int32(i)})
		}
	}
	c.columns = append(c.columns, int32(len(c.cells)))
	c.cells = append(c.cells, cell{0, int32(len(c.points))})
	return c
}

// in returns the points of a cell.
func (c *cellIndex) in(x, y int32) []uint64 {
	x -= c.west
	if x < 0 || int(x)+1 >= len(c.columns) {
		return nil
	}
	// slices.BinarySearchFunc would call a function at each step.
	at := int(c.columns[x])
	for n := int(c.columns[x+1]) - at; n > 1; {
		half := n / 2
		if c.cells[at+half].y <= y {
			at += half
		}
		n -= half
	}
	if c.cells[at].y != y || at == int(c.columns[x+1]) {
		return nil
	}
	return c.points[c.cells[at].from:c.cells[at+1].from]
}

// near calls fn for the points in the cells that come within pad of a line.
func (c *cellIndex) near(l Line, pad int32, fn func(Point)) {
	eachCell(l, c.shift, pad, func(x, y int32) {
		in := c.in(x, y)
		i := 0
		if len(in) > fewInCell {
			i, _ = slices.BinarySearchFunc(in, l.A.X-pad, func(code uint64, x int32) int { return cmp.Compare(c.point(code).X, x) })
		}
		for ; i < len(in); i++ {
			p := c.point(in[i])
			if p.X > l.B.X+pad {
				break
			}
			if p.X >= l.A.X-pad {
				fn(p)
			}
		}
	})
}

// fewInCell is the number of points that are not worth a search.
const fewInCell = 8

func cellOf(x, y int32) uint64 { return uint64(uint32(y))<<32 | uint64(uint32(x)) }

// eachCell calls fn for all cells that come within pad of a line, row by row.
// It may also call fn for some cells next to them.
func eachCell(l Line, shift uint, pad int32, fn func(x, y int32)) {
	top, bottom := min(l.A.Y, l.B.Y), max(l.A.Y, l.B.Y)
	x0, x1 := (l.A.X-pad)>>shift, (l.B.X+pad)>>shift
	y0, y1 := (top-pad)>>shift, (bottom+pad)>>shift
	if x1-x0 <= 1 || y1-y0 <= 1 {
		for y := y0; y <= y1; y++ {
			for x := x0; x <= x1; x++ {
				fn(x, y)
			}
		}
		return
	}
	slope := float64(l.B.X-l.A.X) / float64(l.B.Y-l.A.Y)
	at := func(y int32) int32 { // x of the line at y, clamped to its ends
		x := float64(l.A.X) + (float64(y)-float64(l.A.Y))*slope
		return int32(max(float64(l.A.X), min(float64(l.B.X), x)))
	}
	for y := y0; y <= y1; y++ {
		p, q := at(y<<shift-pad), at((y+1)<<shift+pad)
		for x, end := (min(p, q)-pad-1)>>shift, (max(p, q)+pad+1)>>shift; x <= end; x++ {
			fn(x, y)
		}
	}
}

// lineIndex is an index of lines by cells.
type lineIndex struct {
	shift   uint
	entries []cellEntry // sorted by cell, then by line
}

type cellEntry struct {
	cell uint64
	line int32
}

// entriesPerLine bounds the average number of cells per line, beyond fewEntries in all.
const entriesPerLine, fewEntries = 8, 1 << 20

// newLineIndex returns an index of lines by cells with sides of 2^shift. If long lines would take
// too many cells, the cells are larger.
func newLineIndex(lines []Line, shift uint) *lineIndex {
	for ; ; shift++ {
		entries := 0
		for _, l := range lines {
			entries += 1 + int((l.B.X-l.A.X)>>shift) + int(max(l.A.Y-l.B.Y, l.B.Y-l.A.Y)>>shift)
		}
		if entries <= max(entriesPerLine*len(lines), fewEntries) {
			break
		}
	}
	x := &lineIndex{shift: shift, entries: make([]cellEntry, 0, len(lines)*3/2)}
	for i, l := range lines {
		eachCell(l, shift, 0, func(cx, cy int32) {
			x.entries = append(x.entries, cellEntry{cellOf(cx, cy), int32(i)})
		})
	}
	sortBy(x.entries, func(e *cellEntry) uint64 { return e.cell }, func(p, q cellEntry) int {
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
