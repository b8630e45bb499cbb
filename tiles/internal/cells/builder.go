package cells

import (
	"cmp"
	"encoding/binary"
	"slices"

	"quadrille/tiles/internal/grid"
	"quadrille/tiles/internal/layout"
	"quadrille/tiles/mvt"
)

// Builder collects the answers of a block, tile by tile in ascending order. The caller numbers the
// regions of the type. An answer of several regions has them in the order of these numbers. A
// Builder belongs to one goroutine; its zero value is empty.
type Builder struct {
	runs  []run
	list  []int32 // regions of runs that are not mixed
	parts []builderPart
	edges []edge

	turns []turn // of the region being added
	code  coder
}

// run is a run of tiles with the same regions, or one mixed tile.
type run struct {
	first, end uint16
	mixed      bool
	from, to   uint32 // in list, or in parts if mixed
}

type builderPart struct {
	region int32
	base   int32
	end    uint32 // in edges
}

// turn is a change of the winding number from y to the south, for all points of a tile.
type turn struct {
	y int32
	d int32
}

// Reset empties the Builder.
func (b *Builder) Reset() {
	b.runs, b.list, b.parts, b.edges = b.runs[:0], b.list[:0], b.parts[:0], b.edges[:0]
}

// Whole adds n tiles from a tile on that the regions hold as a whole.
func (b *Builder) Whole(tile uint32, n int, regions ...int32) {
	from := len(b.list)
	b.list = append(b.list, regions...)
	b.whole(tile, n, from)
}

// whole adds a run with the regions in list behind from.
func (b *Builder) whole(tile uint32, n, from int) {
	regions := b.list[from:]
	if len(regions) == 0 {
		return
	}
	slices.Sort(regions)
	if i := len(b.runs) - 1; i >= 0 {
		last := &b.runs[i]
		if !last.mixed && uint32(last.end) == tile && slices.Equal(b.list[last.from:last.to], regions) {
			last.end += uint16(n)
			b.list = b.list[:from]
			return
		}
	}
	b.runs = append(b.runs, run{uint16(tile), uint16(int(tile) + n), false, uint32(from), uint32(len(b.list))})
}

// Begin starts a tile through which borders may pass. Calls of Region, each followed by calls of
// Ring, and one of End complete it.
func (b *Builder) Begin(tile uint32) {
	n := uint32(len(b.parts))
	b.runs = append(b.runs, run{uint16(tile), uint16(tile + 1), true, n, n})
}

// Region starts a region of the tile.
func (b *Builder) Region(region int32) {
	b.endRegion()
	b.parts = append(b.parts, builderPart{region: region, end: uint32(len(b.edges))})
	b.runs[len(b.runs)-1].to++
}

// Ring adds a ring of the region, in units from the tile's corner, with its inside on the right. No
// point may lie beyond the buffer of the tile.
func (b *Builder) Ring(ring []grid.Point) {
	p := &b.parts[len(b.parts)-1]
	from := ring[len(ring)-1]
	for _, to := range ring {
		north, south, d := from.Y, to.Y, int32(1)
		if north > south {
			north, south, d = south, north, -1
		}
		switch {
		case north == south, south <= 0, north >= mvt.Extent, max(from.X, to.X) <= 0:
			// No point of the tile has it to the east.
		case min(from.X, to.X) >= mvt.Extent:
			if north <= 0 {
				p.base += d
			} else {
				b.turns = append(b.turns, turn{north, d})
			}
			if south < mvt.Extent {
				b.turns = append(b.turns, turn{south, -d})
			}
		default:
			b.edges = append(b.edges, edge{int16(from.X), int16(from.Y), int16(to.X), int16(to.Y)})
		}
		from = to
	}
}

// InTile reports whether Ring takes a ring.
func InTile(ring []grid.Point) bool {
	for _, p := range ring {
		if min(p.X, p.Y) < least || max(p.X, p.Y) > most {
			return false
		}
	}
	return len(ring) > 0
}

// endRegion ends the region being added. Where the winding number by what is east of the tile
// changes, an edge along the eastern side says it.
func (b *Builder) endRegion() {
	t := &b.runs[len(b.runs)-1]
	if t.from == t.to {
		return
	}
	slices.SortFunc(b.turns, func(s, t turn) int { return cmp.Compare(s.y, t.y) })
	for i := 0; i < len(b.turns); {
		at := b.turns[i]
		for i++; i < len(b.turns) && b.turns[i].y == at.y; i++ {
			at.d += b.turns[i].d
		}
		e := edge{mvt.Extent, int16(at.y), mvt.Extent, mvt.Extent}
		if at.d < 0 {
			e, at.d = edge{e.x1, e.y1, e.x0, e.y0}, -at.d
		}
		for range at.d {
			b.edges = append(b.edges, e)
		}
	}
	b.turns = b.turns[:0]
	p := &b.parts[len(b.parts)-1]
	if uint32(len(b.edges)) == p.end && p.base <= 0 { // it holds nothing of the tile
		b.parts = b.parts[:len(b.parts)-1]
		t.to--
		return
	}
	p.end = uint32(len(b.edges))
}

// End completes the tile. If every region holds all of it or nothing, it is not mixed.
func (b *Builder) End() {
	b.endRegion()
	t := b.runs[len(b.runs)-1]
	parts := b.parts[t.from:t.to]
	if uint32(len(b.edges)) > b.start(t.from) {
		return
	}
	b.runs = b.runs[:len(b.runs)-1]
	from := len(b.list)
	for _, p := range parts {
		b.list = append(b.list, p.region)
	}
	b.parts = b.parts[:t.from]
	b.whole(uint32(t.first), 1, from)
}

// Append adds those answers of another Builder that are of n tiles from a tile on. These must
// follow the tiles of b.
func (b *Builder) Append(o *Builder, tile, n int) {
	for _, r := range o.runs {
		first, end := max(int(r.first), tile), min(int(r.end), tile+n)
		switch {
		case first >= end:
		case !r.mixed:
			b.Whole(uint32(first), end-first, o.list[r.from:r.to]...)
		default:
			b.runs = append(b.runs, run{uint16(first), uint16(end), true, uint32(len(b.parts)), uint32(len(b.parts)) + r.to - r.from})
			for i := r.from; i < r.to; i++ {
				p := o.parts[i]
				b.edges = append(b.edges, o.edges[o.start(i):p.end]...)
				p.end = uint32(len(b.edges))
				b.parts = append(b.parts, p)
			}
		}
	}
}

// start returns where the edges of a part begin.
func (b *Builder) start(part uint32) uint32 {
	if part == 0 {
		return 0
	}
	return b.parts[part-1].end
}

// AppendTo appends the stored form of the block: its mark and what Decode reads. name returns the
// id and name of a region. It appends nothing if no region is in the block.
func (b *Builder) AppendTo(dst []byte, name func(region int32) (id, name string)) []byte {
	switch {
	case len(b.runs) == 0:
		return dst
	case len(b.runs) == 1 && !b.runs[0].mixed && b.runs[0].end-b.runs[0].first == Tiles:
		dst = append(dst, layout.MarkLeaf)
		return appendRegions(dst, b.list, name)
	}
	return b.code.appendTo(append(dst, layout.MarkMixed), b, name)
}

// appendRegions appends the numbers of regions, and then their ids and names.
func appendRegions(dst []byte, regions []int32, name func(region int32) (id, name string)) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(regions)))
	for _, r := range regions {
		dst = binary.AppendUvarint(dst, uint64(r))
	}
	for _, r := range regions {
		id, name := name(r)
		dst = append(binary.AppendUvarint(dst, uint64(len(id))), id...)
		dst = append(binary.AppendUvarint(dst, uint64(len(name))), name...)
	}
	return dst
}

// coder has the numbers of regions and sets in the block being encoded.
type coder struct {
	order []int32 // the caller's numbers of the block's regions
	sets  map[string]uint32
	lists [][]byte
	set   []byte
}

// numberOf returns the number of a region in the block.
func (c *coder) numberOf(region int32) uint32 {
	n, _ := slices.BinarySearch(c.order, region)
	return uint32(n)
}

// number numbers the regions of a Builder, and then its sets of several.
func (c *coder) number(b *Builder) {
	c.order = append(c.order[:0], b.list...)
	for _, p := range b.parts {
		c.order = append(c.order, p.region)
	}
	slices.Sort(c.order)
	c.order = slices.Compact(c.order)
	c.lists = c.lists[:0]
	if c.sets == nil {
		c.sets = map[string]uint32{}
	}
	clear(c.sets)
	for _, r := range b.runs {
		if !r.mixed && r.to-r.from > 1 {
			c.setOf(b.list[r.from:r.to])
		}
	}
}

// setOf returns the number of a set of several regions.
func (c *coder) setOf(regions []int32) uint32 {
	c.set = binary.AppendUvarint(c.set[:0], uint64(len(regions)))
	for _, r := range regions {
		c.set = binary.AppendUvarint(c.set, uint64(c.numberOf(r)))
	}
	n, ok := c.sets[string(c.set)]
	if !ok {
		n = uint32(len(c.lists))
		c.sets[string(c.set)] = n
		c.lists = append(c.lists, slices.Clone(c.set))
	}
	return n
}

// appendTo appends regions, sets, runs and mixed tiles, each with their number before them where it
// is not known. A run is its length less one, shifted left by a bit that says whether it is mixed.
// If it is not, its answer follows.
func (c *coder) appendTo(dst []byte, b *Builder, name func(region int32) (id, name string)) []byte {
	c.number(b)
	dst = appendRegions(dst, c.order, name)
	dst = binary.AppendUvarint(dst, uint64(len(c.lists)))
	for _, l := range c.lists {
		dst = append(dst, l...)
	}
	next := 0
	for i := 0; i < len(b.runs); {
		r := b.runs[i]
		dst = appendRun(dst, next, int(r.first), 0)
		if !r.mixed {
			list := b.list[r.from:r.to]
			answer := c.numberOf(list[0])
			if len(list) > 1 {
				answer = uint32(len(c.order)) + c.setOf(list)
			}
			dst, next = appendRun(dst, int(r.first), int(r.end), uint64(answer)+1), int(r.end)
			i++
			continue
		}
		end := r.end
		for i++; i < len(b.runs) && b.runs[i].mixed && b.runs[i].first == end; i++ {
			end++
		}
		dst, next = binary.AppendUvarint(dst, uint64(end-r.first-1)<<1|1), int(end)
	}
	dst = appendRun(dst, next, Tiles, 0)
	for _, r := range b.runs {
		if r.mixed {
			dst = c.appendTile(dst, b, r)
		}
	}
	return dst
}

// appendRun appends a run of tiles that is not mixed, unless it is empty.
func appendRun(dst []byte, first, end int, answer uint64) []byte {
	if first == end {
		return dst
	}
	return binary.AppendUvarint(binary.AppendUvarint(dst, uint64(end-first-1)<<1), answer)
}

// appendTile appends a mixed tile. Edges of which each begins where the last one ended are a chain:
// the differences of its points. The first is the difference to the last point before.
func (c *coder) appendTile(dst []byte, b *Builder, t run) []byte {
	dst = binary.AppendUvarint(dst, uint64(t.to-t.from))
	start := b.start(t.from)
	var x, y int16
	to := func(px, py int16) {
		dst = binary.AppendVarint(binary.AppendVarint(dst, int64(px-x)), int64(py-y))
		x, y = px, py
	}
	for _, p := range b.parts[t.from:t.to] {
		dst = binary.AppendUvarint(dst, uint64(c.numberOf(p.region)))
		dst = binary.AppendVarint(dst, int64(p.base))
		edges := b.edges[start:p.end]
		dst = binary.AppendUvarint(dst, uint64(len(edges)))
		for i := 0; i < len(edges); {
			n := i + 1
			for n < len(edges) && edges[n].x0 == edges[n-1].x1 && edges[n].y0 == edges[n-1].y1 {
				n++
			}
			dst = binary.AppendUvarint(dst, uint64(n-i))
			to(edges[i].x0, edges[i].y0)
			for _, e := range edges[i:n] {
				to(e.x1, e.y1)
			}
			i = n
		}
		start = p.end
	}
	return dst
}
