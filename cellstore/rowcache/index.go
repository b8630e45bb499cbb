package rowcache

import (
	"bytes"
	"slices"
	"sort"
	"sync/atomic"
)

// chunkBlocks bounds the blocks of a chunk. An insertion copies the chunk.
const chunkBlocks = 128

// index is a set of disjoint blocks in order. Readers take no lock: they may see an earlier state
// of the set, but its blocks are still correct. Writers hold the view's lock and change a copy of
// the chunk.
type index struct{ top atomic.Pointer[[]*chunk] }

// chunk holds the blocks that begin at or after low and before the low of the next chunk.
type chunk struct {
	low    []byte
	blocks atomic.Pointer[[]*block]
}

func newChunk(low []byte, blocks []*block) *chunk {
	c := &chunk{low: low}
	c.blocks.Store(&blocks)
	return c
}

func (x *index) init() { x.top.Store(&[]*chunk{newChunk(nil, nil)}) }

// chunkOf returns the index of the chunk for blocks that begin at key.
func chunkOf(top []*chunk, key []byte) int {
	// The first chunk's low is empty, so there is always one.
	return sort.Search(len(top)-1, func(i int) bool { return bytes.Compare(top[i+1].low, key) > 0 })
}

// place returns the index of the first block that begins after key.
func place(blocks []*block, key []byte) int {
	low, high := 0, len(blocks)
	for low < high {
		m := int(uint(low+high) / 2)
		if bytes.Compare(blocks[m].from, key) <= 0 {
			low = m + 1
		} else {
			high = m
		}
	}
	return low
}

// floor returns the last block that begins at or before key.
func (x *index) floor(key []byte) *block {
	top := *x.top.Load()
	for i := chunkOf(top, key); i >= 0; i-- {
		blocks := *top[i].blocks.Load()
		if n := place(blocks, key); n > 0 {
			return blocks[n-1]
		}
	}
	return nil
}

// at returns the block whose interval contains key.
func (x *index) at(key []byte) *block {
	if b := x.floor(key); b != nil && b.holds(key) {
		return b
	}
	return nil
}

// ceiling returns the first block that begins at or after key.
func (x *index) ceiling(key []byte) *block {
	top := *x.top.Load()
	for i := chunkOf(top, key); i < len(top); i++ {
		blocks := *top[i].blocks.Load()
		n := place(blocks, key)
		if n > 0 && bytes.Equal(blocks[n-1].from, key) {
			n--
		}
		if n < len(blocks) {
			return blocks[n]
		}
	}
	return nil
}

// insert adds a block that overlaps with no other.
func (x *index) insert(b *block) {
	top := *x.top.Load()
	i := chunkOf(top, b.from)
	old := *top[i].blocks.Load()
	n := place(old, b.from)
	blocks := make([]*block, 0, len(old)+1)
	blocks = append(append(append(blocks, old[:n]...), b), old[n:]...)
	if len(blocks) <= chunkBlocks {
		top[i].blocks.Store(&blocks)
		return
	}
	// Keys often come in order, so the half that grows is not copied again.
	m := len(blocks) / 2
	halves := []*chunk{newChunk(top[i].low, slices.Clone(blocks[:m])), newChunk(blocks[m].from, slices.Clone(blocks[m:]))}
	top = slices.Replace(slices.Clone(top), i, i+1, halves...)
	x.top.Store(&top)
}

// remove removes a block, and reports whether it was there.
func (x *index) remove(b *block) bool {
	top := *x.top.Load()
	i := chunkOf(top, b.from)
	old := *top[i].blocks.Load()
	n := place(old, b.from) - 1
	if n < 0 || old[n] != b {
		return false
	}
	if len(old) == 1 && i > 0 {
		top = slices.Delete(slices.Clone(top), i, i+1)
		x.top.Store(&top)
		return true
	}
	blocks := slices.Delete(slices.Clone(old), n, n+1)
	top[i].blocks.Store(&blocks)
	return true
}

// all returns every block.
func (x *index) all() []*block {
	var out []*block
	for _, c := range *x.top.Load() {
		out = append(out, *c.blocks.Load()...)
	}
	return out
}
