package quadkey

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"slices"
)

// Range is a range of cells in key order, including both ends.
type Range struct {
	First, Last Cell
}

// Contains reports whether the cell is in the range.
func (r Range) Contains(c Cell) bool { return c >= r.First && c <= r.Last }

// Keys returns the range as row keys that start with a cell. start is included
// and stop is not. A nil stop means the end of the table.
func (r Range) Keys() (start, stop []byte) {
	start = r.First.AppendKey(make([]byte, 0, 4))
	if r.Last != math.MaxUint32 {
		stop = (r.Last + 1).AppendKey(make([]byte, 0, 4))
	}
	return start, stop
}

// Tiles yields the fewest tiles that together have exactly the cells of the range, in the order of
// the cells.
func (r Range) Tiles() iter.Seq[Tile] {
	return func(yield func(Tile) bool) {
		for at, end := uint64(r.First), uint64(r.Last)+1; at < end; {
			z, shift := uint8(CellZoom), uint(0)
			for z > 0 && at&(4<<shift-1) == 0 && at+4<<shift <= end {
				z, shift = z-1, shift+2
			}
			x, y := deinterleave(at >> shift)
			if !yield(Tile{Z: z, X: x, Y: y}) {
				return
			}
			at += 1 << shift
		}
	}
}

// CoverBox returns at most maxRanges ranges that together hold every cell with
// a point in the box. The ranges are sorted, disjoint and not adjacent.
//
// If the exact cover has more ranges, CoverBox closes the smallest gaps. The
// cover may then hold cells that do not touch the box, so check the results of
// a scan with [Box.Contains]. Work and memory grow with maxRanges or the length
// of the box's edge, whichever is less. Errors match [ErrBox] or
// [ErrTooFewRanges].
func CoverBox(b Box, maxRanges int) ([]Range, error) {
	if err := b.Check(); err != nil {
		return nil, err
	}
	if err := checkMaxRanges(maxRanges); err != nil {
		return nil, err
	}
	shape := boxShape(b)
	return cover(shape.classify, maxRanges), nil
}

// CoverCircle returns at most maxRanges ranges that together hold every cell
// with a point at a [Distance] of at most radius metres. The ranges are sorted,
// disjoint and not adjacent. A circle may cross ±180° and contain poles. Points
// beyond ±[MaxLatitude] are found in the cells at that edge.
//
// The cover may hold more cells, like that of [CoverBox]. Errors match
// [ErrCoordinate], [ErrRadius] or [ErrTooFewRanges].
func CoverCircle(lon, lat, radius float64, maxRanges int) ([]Range, error) {
	if err := CheckCoordinate(lon, lat); err != nil {
		return nil, err
	}
	if !(radius >= 0) || math.IsInf(radius, 1) {
		return nil, fmt.Errorf("%w: %v; give metres, 0 or more", ErrRadius, radius)
	}
	if err := checkMaxRanges(maxRanges); err != nil {
		return nil, err
	}
	// The radius and rest together are half the circumference of the Earth. So a tile is within the
	// radius if its distance from the antipode is at least rest.
	from := viewpointAt(lon, lat)
	opposite, rest := from.opposite(), math.Pi*EarthRadius-radius
	return cover(func(t Tile) verdict {
		g := t.ground()
		switch {
		case from.minDistance(&g) > radius:
			return outside
		case opposite.minDistance(&g) >= rest:
			return inside
		}
		return partly
	}, maxRanges), nil
}

func checkMaxRanges(n int) error {
	if n < 1 {
		return fmt.Errorf("%w: %d; allow at least 1", ErrTooFewRanges, n)
	}
	return nil
}

// verdict says whether a shape covers all, a part or none of a tile. partly is always a safe
// answer; inside and outside must be certain.
type verdict uint8

const (
	outside verdict = iota
	partly
	inside
)

// piece is a run of cells that belongs to a cover. If open, it is a tile that
// the shape covers in part and that may be divided further.
type piece struct {
	Range
	open bool
}

// cover divides the world into the tiles that touch a shape, one zoom at a time. It stops when
// tiles fit, when it reaches cells, or when there are eight times as many pieces as maxRanges.
// Dividing further would shrink the covers of circles by at most 2 % and take up to 200 times as
// long.
func cover(shape func(Tile) verdict, maxRanges int) []Range {
	enough := 8 * max(8, min(maxRanges, 1<<20))
	room := min(2*enough, 1024)
	pieces, next := make([]piece, 0, room), make([]piece, 0, room)
	pieces = addPiece(pieces, Tile{}, shape)
	for z := uint8(0); z < CellZoom && len(pieces) < enough; z++ {
		open := false
		next = next[:0]
		for _, p := range pieces {
			if !p.open {
				next = appendPiece(next, p)
				continue
			}
			x, y := deinterleave(uint64(p.First) >> (2 * (CellZoom - z)))
			for _, child := range (Tile{z, x, y}).Children() {
				next = addPiece(next, child, shape)
			}
			open = true
		}
		pieces, next = next, pieces
		if !open {
			break
		}
	}

	ranges := make([]Range, 0, len(pieces))
	for _, p := range pieces {
		if n := len(ranges); n > 0 && ranges[n-1].Last+1 == p.First {
			ranges[n-1].Last = p.Last
		} else {
			ranges = append(ranges, p.Range)
		}
	}
	return closeGaps(ranges, maxRanges)
}

func addPiece(to []piece, t Tile, shape func(Tile) verdict) []piece {
	v := shape(t)
	if v == outside {
		return to
	}
	first, last := t.CellRange()
	return appendPiece(to, piece{Range{first, last}, v == partly && t.Z < CellZoom})
}

// appendPiece joins closed neighbours, so the list is no longer than the edge
// of the shape.
func appendPiece(to []piece, p piece) []piece {
	if n := len(to); n > 0 && !p.open && !to[n-1].open && to[n-1].Last+1 == p.First {
		to[n-1].Last = p.Last
		return to
	}
	return append(to, p)
}

// closeGaps joins ranges across the smallest gaps until at most n are left.
// That adds the fewest cells possible. It works in place.
func closeGaps(ranges []Range, n int) []Range {
	if len(ranges) <= n {
		return ranges
	}
	gap := func(i int) Cell { return ranges[i+1].First - ranges[i].Last }
	gaps := make([]int, len(ranges)-1)
	for i := range gaps {
		gaps[i] = i
	}
	slices.SortFunc(gaps, func(i, j int) int {
		return cmp.Or(cmp.Compare(gap(j), gap(i)), cmp.Compare(i, j))
	})
	kept := gaps[:n-1]
	slices.Sort(kept)

	first := 0
	for i, g := range kept {
		next := g + 1
		ranges[i] = Range{ranges[first].First, ranges[g].Last}
		first = next
	}
	ranges[n-1] = Range{ranges[first].First, ranges[len(ranges)-1].Last}
	return ranges[:n:n]
}

// rect is a rectangle of cells by column and row, including its corners.
type rect struct {
	x0, y0, x1, y1 uint32
}

// rects is a shape: the union of two rectangles, which may be equal.
type rects [2]rect

// boxShape returns the cells of a valid box.
func boxShape(b Box) rects {
	const out, end = MaxZoom - CellZoom, 1<<CellZoom - 1
	x0, y0 := gridAt(b.West, b.North)
	x1, y1 := gridAt(b.East, b.South)
	x0, y0, x1, y1 = x0>>out, y0>>out, x1>>out, y1>>out
	if b.West == 180 || b.West <= b.East && b.East < 180 {
		r := rect{x0, y0, x1, y1}
		return rects{r, r}
	}
	// The box crosses ±180° or ends there. Points at 180 are in column 0, which x1 is in that case.
	return rects{{0, y0, x1, y1}, {x0, y0, end, y1}}
}

func (s rects) classify(t Tile) verdict {
	down := CellZoom - t.Z
	x0, y0 := t.X<<down, t.Y<<down
	x1, y1 := x0+1<<down-1, y0+1<<down-1
	v := outside
	for _, r := range s {
		if x0 >= r.x0 && x1 <= r.x1 && y0 >= r.y0 && y1 <= r.y1 {
			return inside
		}
		if x0 <= r.x1 && x1 >= r.x0 && y0 <= r.y1 && y1 >= r.y0 {
			v = partly
		}
	}
	return v
}
