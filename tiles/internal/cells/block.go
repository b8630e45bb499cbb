// Package cells has finished answers to the question which regions of a type hold a point.
//
// A [Block] answers for a tile of zoom 8. It divides the 1,024 tiles of zoom 13 in it, in the order
// of their packed quadkeys, into runs with the same answer. Where a border passes, a tile is mixed:
// it has for each of its regions the edges that can decide, and nothing of the rest of the border.
//
// A region holds a point if its edges wind around the point, counted along the ray to the east.
// Edges are half-open in y. Therefore edges that do not meet the rows of the tile, horizontal ones
// and those west of the tile decide nothing. Edges east of the tile count for all points between
// their ends, wherever exactly they are.
//
// A [Builder] makes the stored form of a block, and [Decode] reads it. Neither knows tables or
// keys.
package cells

import (
	"math/bits"
	"slices"
	"strings"
	"unsafe"

	"quadrille/quadkey"
	"quadrille/tiles/internal/grid"
	"quadrille/tiles/mvt"
)

// Zoom is the zoom of the tile of a Block.
const Zoom = 8

// Tiles is the number of tiles of zoom 13 in a block.
const Tiles = 1 << (2 * (grid.MaxZoom - Zoom))

// TileIn returns the number of a tile of zoom 13 in its block.
func TileIn(t quadkey.Tile) uint32 { return uint32(t.Packed()) & (Tiles - 1) }

// SubBits is the number of fractional bits of the points that AppendRegions takes.
const SubBits = 20

// Region is a region of a block.
type Region struct {
	ID, Name string
	Number   int32 // of the caller of Builder
}

// Block answers for a tile of zoom 8. It never changes, so any number of goroutines may use it.
type Block struct {
	Regions []Region

	runs   *[Tiles / 64]runStarts // nil for a single run
	values []Value                // of the runs

	sets  [][]uint32 // answers of several regions
	tiles []uint32   // the first part of each mixed tile, and after them the number of parts
	parts []part
	edges []edge
}

// Value is the answer of a tile in its block: 0 if no region is there, r+1 for region r alone, more
// for a set of regions. The value of a mixed tile says where its parts are.
type Value uint32

const mixed Value = 1 << 31

// Mixed reports whether the answer depends on the point in the tile.
func (v Value) Mixed() bool { return v&mixed != 0 }

// Values returns the number of values that are not mixed. All of these are less.
func (b *Block) Values() int { return 1 + len(b.Regions) + len(b.sets) }

// part is the part of a region in a mixed tile. Its edges end at an index. They begin where those
// of the part before end.
type part struct {
	region uint32
	base   int32 // how often the edges that are east of the whole tile wind around every point
	end    uint32
}

// edge is an edge of a border in units of the tile, from its first point to its second. The ends
// have different y.
type edge struct{ x0, y0, x1, y1 int16 }

// runStarts says where runs start among 64 tiles: a bit is set for each tile at which one does.
type runStarts struct {
	bits   uint64
	before uint64 // the number of runs that start before these tiles
}

// start notes that the next run starts at a tile.
func (b *Block) start(tile int, v Value) {
	b.runs[tile/64].bits |= 1 << (tile % 64)
	b.values = append(b.values, v)
}

// count counts the runs, once all have started.
func (b *Block) count() *Block {
	if b.runs == nil {
		return b
	}
	n := uint64(0)
	for w := range b.runs {
		b.runs[w].before = n
		n += uint64(bits.OnesCount64(b.runs[w].bits))
	}
	return b
}

// Empty is a block without regions.
var Empty = &Block{values: []Value{0}}

// Find returns the answer of a tile.
func (b *Block) Find(tile uint32) Value {
	if b.runs == nil {
		return b.values[0]
	}
	w := &b.runs[tile/64%(Tiles/64)]
	return b.values[int(w.before)+bits.OnesCount64(w.bits&(2<<(tile%64)-1))-1]
}

// AppendRegions appends the regions of a value at a point, as indexes into Regions, in the order of
// the answer. The point is in units of 2⁻²⁰ of the tile's 4,096 units; only a mixed value needs it.
// Values that Find did not return panic.
func (b *Block) AppendRegions(dst []uint32, v Value, px, py int64) []uint32 {
	switch n := Value(len(b.Regions)); {
	case v.Mixed():
		before := len(dst)
		tile := v &^ mixed
		for i := b.tiles[tile]; i < b.tiles[tile+1]; i++ {
			p, start := b.parts[i], b.edgesFrom(i)
			if p.base+windingOf(b.edges[start:p.end], px, py) > 0 {
				dst = append(dst, p.region)
			}
		}
		if len(dst) > before+1 {
			slices.Sort(dst[before:])
		}
		return dst
	case v == 0:
		return dst
	case v <= n:
		return append(dst, uint32(v-1))
	default:
		return append(dst, b.sets[v-n-1]...)
	}
}

// windingOf counts how often edges wind around a point.
func windingOf(edges []edge, px, py int64) (winding int32) {
	y := int16(py >> SubBits)
	for _, e := range edges {
		// The computation starts at the northern end in both directions of the edge, so that the
		// two neighbours get the same result.
		turn := int32(1)
		if e.y0 > e.y1 {
			e, turn = edge{e.x1, e.y1, e.x0, e.y0}, -1
		}
		if y < e.y0 || y >= e.y1 {
			continue
		}
		left := (px - int64(e.x0)<<SubBits) * int64(e.y1-e.y0)
		right := (py - int64(e.y0)<<SubBits) * int64(e.x1-e.x0)
		if left < right {
			winding += turn
		}
	}
	return winding
}

// Compare compares the answers of two blocks for n tiles from a tile on, whatever the numbers of
// their regions. It returns the first tile in which they differ, and false.
func Compare(a, b *Block, first uint32, n int) (tile uint32, same bool) {
	var at, bt []tilePart
	for tile := first; tile < first+uint32(n); tile++ {
		if tile > first && !a.starts(tile) && !b.starts(tile) {
			continue // both go on as before
		}
		at, bt = a.appendParts(at[:0], tile), b.appendParts(bt[:0], tile)
		if !slices.EqualFunc(at, bt, func(p, q tilePart) bool {
			return p.region.ID == q.region.ID && p.region.Name == q.region.Name && p.base == q.base && slices.Equal(p.edges, q.edges)
		}) {
			return tile, false
		}
	}
	return 0, true
}

// starts reports whether a run starts at a tile other than the first.
func (b *Block) starts(tile uint32) bool {
	return b.runs != nil && b.runs[tile/64].bits>>(tile%64)&1 != 0
}

// tilePart is what a region has of a tile.
type tilePart struct {
	region *Region
	base   int32
	edges  []edge
}

// appendParts appends the parts of a tile in the order of their ids. A region that holds all of it
// has base 1.
func (b *Block) appendParts(dst []tilePart, tile uint32) []tilePart {
	v := b.Find(tile)
	if v.Mixed() {
		for i := b.tiles[v&^mixed]; i < b.tiles[v&^mixed+1]; i++ {
			p := b.parts[i]
			dst = append(dst, tilePart{&b.Regions[p.region], p.base, b.edges[b.edgesFrom(i):p.end]})
		}
	} else {
		for _, r := range b.AppendRegions(nil, v, 0, 0) {
			dst = append(dst, tilePart{&b.Regions[r], 1, nil})
		}
	}
	slices.SortFunc(dst, func(p, q tilePart) int { return strings.Compare(p.region.ID, q.region.ID) })
	return dst
}

// edgesFrom returns where the edges of a part begin.
func (b *Block) edgesFrom(part uint32) uint32 {
	if part == 0 {
		return 0
	}
	return b.parts[part-1].end
}

// Size returns the memory of the block in bytes.
func (b *Block) Size() int64 {
	n := int64(unsafe.Sizeof(*b)) + 4*int64(cap(b.values)+cap(b.tiles)) + 12*int64(cap(b.parts)) + 8*int64(cap(b.edges))
	if b.runs != nil {
		n += int64(unsafe.Sizeof(*b.runs))
	}
	for i := range b.Regions {
		n += 40 + int64(len(b.Regions[i].ID)+len(b.Regions[i].Name))
	}
	for _, s := range b.sets {
		n += 24 + 4*int64(cap(s))
	}
	return n
}

// least and most bound the coordinates of edges: a tile and its buffer.
const (
	least = -mvt.Extent >> grid.BufferShift
	most  = mvt.Extent - least
)
