package cells

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"

	"quadrille/tiles/internal/layout"
)

var errDamaged = errors.New("the answers of a tile cannot be decoded")

// Decode reads the stored form of a block. It refuses everything that could not be read safely. It
// keeps nothing of the value.
func Decode(value []byte) (*Block, error) {
	if len(value) == 0 {
		return nil, errDamaged
	}
	d := decoder{rest: value[1:]}
	b := new(Block)
	d.regions(b)
	switch value[0] {
	case layout.MarkLeaf:
		d.leaf(b)
	case layout.MarkMixed:
		d.sets(b)
		mixed := d.runs(b)
		d.tiles(b, mixed)
	default:
		d.failed = true
	}
	if d.failed || len(d.rest) > 0 {
		return nil, errDamaged
	}
	return b.count(), nil
}

// decoder reads numbers. After the first that it cannot read it has failed, and all others are 0.
type decoder struct {
	rest   []byte
	failed bool
}

func (d *decoder) fail() {
	d.rest, d.failed = nil, true
}

// number reads a number that is at most most.
func (d *decoder) number(most uint64) uint32 {
	v, n := binary.Uvarint(d.rest)
	if n <= 0 || v > most {
		d.fail()
		return 0
	}
	d.rest = d.rest[n:]
	return uint32(v)
}

// count reads the number of things that follow, each of which takes at least size bytes.
func (d *decoder) count(size int) int { return int(d.number(uint64(len(d.rest) / size))) }

// signed reads a number whose absolute value is below 2¹⁵.
func (d *decoder) signed() int32 {
	v, n := binary.Varint(d.rest)
	if n <= 0 || v != int64(int16(v)) {
		d.fail()
		return 0
	}
	d.rest = d.rest[n:]
	return int32(v)
}

// regions reads the ids and names. All are parts of one string.
func (d *decoder) regions(b *Block) {
	b.Regions = make([]Region, d.count(3))
	for i := range b.Regions {
		b.Regions[i].Number = int32(d.number(math.MaxInt32))
	}
	names := d.rest
	for range 2 * len(b.Regions) {
		if n := d.count(1); !d.failed {
			d.rest = d.rest[n:]
		}
	}
	if d.failed || len(b.Regions) == 0 {
		d.fail()
		return
	}
	text, at := string(names[:len(names)-len(d.rest)]), 0
	next := func() string {
		n, size := binary.Uvarint(names[at:])
		at += size + int(n)
		return text[at-int(n) : at]
	}
	for i := range b.Regions {
		b.Regions[i].ID, b.Regions[i].Name = next(), next()
	}
}

// leaf completes the block of a leaf: all of its regions are everywhere.
func (d *decoder) leaf(b *Block) {
	if len(b.Regions) == 1 {
		b.values = []Value{1}
		return
	}
	all := make([]uint32, len(b.Regions))
	for i := range all {
		all[i] = uint32(i)
	}
	b.sets = [][]uint32{all}
	b.values = []Value{Value(len(all) + 1)}
}

func (d *decoder) sets(b *Block) {
	n := d.count(3)
	if n == 0 {
		return
	}
	b.sets = make([][]uint32, n)
	for i := range b.sets {
		set := make([]uint32, d.count(1))
		for j := range set {
			if set[j] = d.region(b); j > 0 && set[j] <= set[j-1] {
				d.fail()
			}
		}
		if len(set) < 2 {
			d.fail()
		}
		b.sets[i] = set
	}
}

func (d *decoder) region(b *Block) uint32 { return d.number(uint64(len(b.Regions)) - 1) }

// runs reads the runs and returns the number of mixed tiles.
func (d *decoder) runs(b *Block) (tiles int) {
	b.runs = new([Tiles / 64]runStarts)
	b.values = make([]Value, 0, min(Tiles, len(d.rest)))
	for next := 0; next < Tiles && !d.failed; {
		head := d.number(2*Tiles - 1)
		n := int(head>>1) + 1
		if next+n > Tiles {
			d.fail()
			break
		}
		if head&1 == 0 {
			b.start(next, Value(d.number(uint64(b.Values()-1))))
			next += n
			continue
		}
		for range n {
			b.start(next, mixed|Value(tiles))
			next++
			tiles++
		}
	}
	b.values = tight(b.values)
	return tiles
}

// tiles reads the mixed tiles.
func (d *decoder) tiles(b *Block, n int) {
	if n == 0 {
		return
	}
	b.tiles = make([]uint32, 1, n+1)
	b.parts = make([]part, 0, min(3*n, len(d.rest)/3))
	b.edges = make([]edge, 0, min(8*n, len(d.rest)/2))
	for range n {
		var x, y int32
		point := func() {
			x, y = x+d.signed(), y+d.signed()
			if min(x, y) < least || max(x, y) > most {
				d.fail()
			}
		}
		for range d.count(3) {
			p := part{region: d.region(b), base: d.signed()}
			for edges := d.count(2); edges > 0 && !d.failed; {
				chain := d.count(2)
				if chain == 0 || chain > edges {
					d.fail()
				}
				point()
				for i := 0; i < chain && !d.failed; i++ {
					fromX, fromY := x, y
					if point(); y == fromY {
						d.fail()
					}
					b.edges = append(b.edges, edge{int16(fromX), int16(fromY), int16(x), int16(y)})
				}
				edges -= chain
			}
			p.end = uint32(len(b.edges))
			b.parts = append(b.parts, p)
		}
		b.tiles = append(b.tiles, uint32(len(b.parts)))
	}
	b.parts, b.edges = tight(b.parts), tight(b.edges)
}

// tight returns a list without most of its spare capacity.
func tight[T any](list []T) []T {
	if cap(list)-len(list) > len(list)/8 {
		return slices.Clone(list)
	}
	return list
}
