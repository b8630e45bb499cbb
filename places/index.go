package places

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"quadrille/quadkey"
)

const (
	// blockPlaces is the number of places in a block. The index covers the places of a tier block
	// by block.
	blockPlaces = 128

	// maxCodes bounds the number of different class.code values of a data set; GeoNames has 681.
	maxCodes = 4096
	// maxPairs bounds the different groups of a tier; GeoNames has about 60,000. The places of any
	// further groups are in one group that passes every filter.
	maxPairs = 1 << 17
)

// sampleEvery is the number of places of a tier for each sample. In tiers with few places every
// place is a sample, so that a search in an empty area reads nothing.
var sampleEvery = [tiers]int32{high: 1, medium: 1, low: 16}

// gridZoom is the zoom of the tiles in a grid.
const gridZoom = 6

// grid is a set of tiles of zoom gridZoom, by packed quadkey, so that the
// descendants of any tile are a run of bits.
type grid [1 << (2 * gridZoom) / 64]uint64

const gridShift = 2 * (quadkey.CellZoom - gridZoom)

func (g *grid) add(c quadkey.Cell) {
	bit := uint32(c) >> gridShift
	g[bit/64] |= 1 << (bit % 64)
}

// meets reports whether a tile of the set has one of the cells first to last.
// These are the cells of one tile.
func (g *grid) meets(first, last quadkey.Cell) bool {
	from, to := uint32(first)>>gridShift, uint32(last)>>gridShift
	if to-from < 63 { // within one word: runs of a tile are aligned
		return g[from/64]>>(from%64)&(1<<(to-from+1)-1) != 0
	}
	for i := from / 64; i <= to/64; i++ {
		if g[i] != 0 {
			return true
		}
	}
	return false
}

// index is the part of one tier that a Finder holds in memory. The tier's places, in the order of
// their cells, are cut into blocks of blockPlaces.
type index struct {
	count   uint64
	every   int32          // sampleEvery of the tier
	samples []quadkey.Cell // cells of places 0, every, 2·every and so on
	blocks  []block
	supers  []block // of superBlocks blocks each
	grid    grid
	codes   []string // class.code, sorted
	groups  []group  // by code, country, and without population first
	lists   []byte   // the groups' blocks; see group
	// unweighted: no place has a weight of its own, so a group's codes and
	// populations bound the importance of its places.
	unweighted bool
}

// block has the bounds of some places.
type block struct {
	maxPopulation uint64
	// rank is the greatest importance of all places, and areaRank is the greatest importance of the
	// places of class A.
	rank, areaRank uint64
}

// group is the places with one class.code and country that have a population,
// or have none.
type group struct {
	code          uint16 // index.codes, or anyCode
	country       country
	count         uint32
	maxPopulation uint64
	// The blocks with places of the group are index.lists[:end] from the end of the previous
	// group: the number of the first block, then the distances from block to block, as uvarints.
	end uint32
}

// anyCode is the code of the group of places that have no group of their own.
const anyCode = math.MaxUint16

// blockCount returns the number of blocks of the given number of places.
func blockCount(places uint64) uint64 { return (places + blockPlaces - 1) / blockPlaces }

// blocksOf returns the blocks, first to last, that may hold the places of a tile with the samples
// lo to hi. There are none if first > last.
func (x *index) blocksOf(lo, hi int32) (first, last int32) {
	// Places between the last sample before the tile and the first one in it may be
	// in the tile too.
	from, to := int64(lo)*int64(x.every), int64(hi)*int64(x.every)
	if x.every > 1 && lo > 0 {
		from -= int64(x.every) - 1
	}
	if from >= to {
		return 0, -1
	}
	return int32(from / blockPlaces), int32(min((to-1)/blockPlaces, int64(len(x.blocks))-1))
}

// leaf reports whether a tile with the samples lo to hi is read rather than split in a search for
// the nearest places. One large read is better than several small ones if hardly any place passes.
func (x *index) leaf(m *mask, lo, hi int32) bool {
	n := (hi - lo) * x.every
	switch {
	case m.sparse:
		return n <= blockPlaces
	case x.exact():
		return n <= exactLeaf
	}
	return n <= leafPlaces
}

const (
	leafPlaces = 32
	exactLeaf  = 8
)

// exact reports whether every place of the tier is a sample.
func (x *index) exact() bool { return x.every == 1 }

// mayHold reports whether a tile, with its cells and samples, can have places that pass a filter.
func (x *index) mayHold(m *mask, z uint8, first, last quadkey.Cell, lo, hi int32) bool {
	return (z > gridZoom || x.grid.meets(first, last)) && m.meets(x.blocksOf(lo, hi))
}

// superBlocks is the number of blocks with a common summary: the number of bits in a word of a
// mask.
const superBlocks = 64

func (b *block) add(o *block) {
	b.maxPopulation = max(b.maxPopulation, o.maxPopulation)
	b.rank, b.areaRank = max(b.rank, o.rank), max(b.areaRank, o.areaRank)
}

// greatest returns an upper bound of the importance of the places that pass a filter in a tile with
// the samples lo to hi.
func (x *index) greatest(m *mask, lo, hi int32) uint64 {
	var sum block
	first, last := x.blocksOf(lo, hi)
	for b := first; b <= last; {
		switch {
		case b%superBlocks != 0 || b+superBlocks-1 > last:
			if m.has(b) {
				sum.add(&x.blocks[b])
			}
			b++
		case m.sparse:
			for w := m.words[b/superBlocks]; w != 0; w &= w - 1 {
				sum.add(&x.blocks[b+int32(bits.TrailingZeros64(w))])
			}
			b += superBlocks
		default:
			sum.add(&x.supers[b/superBlocks])
			b += superBlocks
		}
	}
	if m.areas {
		return m.bound(sum.areaRank, first, last)
	}
	return m.bound(sum.rank, first, last)
}

// indexer makes an index.
type indexer struct {
	index
	byKey map[groupKey]*growing
	known map[string]uint16 // codes in the order of their first places

	// The last group is cached, because many places are like the previous one.
	key  groupKey
	last *growing
	text []byte
}

type groupKey struct {
	code      uint16
	country   country
	populated bool
}

// growing is a group whose list is not finished.
type growing struct {
	count, maxPopulation uint64
	lastBlock            uint32
	list                 []byte
}

func newIndexer(tier int) *indexer {
	return &indexer{index: index{every: sampleEvery[tier]}, byKey: map[groupKey]*growing{}, known: map[string]uint16{}}
}

// add takes the tier's places in the order of their cells.
func (x *indexer) add(c quadkey.Cell, p *place) error {
	if x.count == math.MaxUint32 {
		return fmt.Errorf("%w: place %d brings their number to more than %d", ErrInvalidPlace, p.id, uint32(math.MaxUint32))
	}
	if x.count%uint64(x.every) == 0 {
		x.samples = append(x.samples, c)
	}
	number := uint32(x.count / blockPlaces)
	if x.count%blockPlaces == 0 {
		x.blocks = append(x.blocks, block{})
	}
	x.count++
	x.grid.add(c)
	b, rank := &x.blocks[number], p.importance()
	b.maxPopulation, b.rank = max(b.maxPopulation, p.population), max(b.rank, rank)
	if rank&notArea == 0 {
		b.areaRank = max(b.areaRank, rank)
	}

	g, err := x.group(p)
	if err != nil {
		return err
	}
	g.count++
	g.maxPopulation = max(g.maxPopulation, p.population)
	switch {
	case len(g.list) == 0:
		g.list = binary.AppendUvarint(g.list, uint64(number))
	case number != g.lastBlock:
		g.list = binary.AppendUvarint(g.list, uint64(number-g.lastBlock))
	}
	g.lastBlock = number
	return nil
}

func (x *indexer) group(p *place) (*growing, error) {
	key := groupKey{country: p.country, populated: p.population > 0}
	if x.last != nil && string(x.text) == string(p.qualifier) {
		key.code = x.key.code
		if key == x.key {
			return x.last, nil
		}
	} else {
		code, ok := x.known[string(p.qualifier)]
		if !ok {
			if len(x.known) == maxCodes {
				return nil, fmt.Errorf("%w: place %d brings the different feature codes to more than %d; check that they are codes",
					ErrInvalidPlace, p.id, maxCodes)
			}
			code = uint16(len(x.known))
			x.known[string(p.qualifier)] = code
			x.codes = append(x.codes, string(p.qualifier))
		}
		key.code = code
	}
	g := x.byKey[key]
	if g == nil {
		if len(x.byKey) >= maxPairs {
			key = groupKey{code: anyCode}
			g = x.byKey[key]
		}
		if g == nil {
			g = &growing{}
			x.byKey[key] = g
		}
	}
	if key.code != anyCode {
		x.key, x.last, x.text = key, g, append(x.text[:0], p.qualifier...)
	}
	return g, nil
}

// eachGroup calls fn for the groups in the order of their keys.
func (x *indexer) eachGroup(fn func(k groupKey, qualifier string, g *growing) error) error {
	type named struct {
		groupKey
		qualifier string
	}
	keys := make([]named, 0, len(x.byKey))
	for k := range x.byKey {
		n := named{groupKey: k}
		if k.code != anyCode {
			n.qualifier = x.codes[k.code]
		}
		keys = append(keys, n)
	}
	slices.SortFunc(keys, func(a, b named) int {
		return cmp.Or(cmp.Compare(a.qualifier, b.qualifier), a.country.Compare(b.country), compareBool(a.populated, b.populated))
	})
	for _, k := range keys {
		if err := fn(k.groupKey, k.qualifier, x.byKey[k.groupKey]); err != nil {
			return err
		}
	}
	return nil
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}
