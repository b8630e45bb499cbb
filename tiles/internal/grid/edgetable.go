package grid

import (
	"math/bits"
	"math/rand/v2"
)

// EdgeTable numbers edges, or points as edges from a point to itself. It replaces a map where
// very many small sets follow each other: emptying a map takes as long as its largest set so far
// needed. The zero value is ready for Reset. It belongs to one goroutine.
type EdgeTable struct {
	slots []edgeSlot
	shift int    // 64 less the base-2 logarithm of the slots in use
	round uint32 // of the set; slots of other rounds are free
	left  int    // how many edges may be added until the table grows
	// seeds are random, so no source can choose edges that collide.
	seeds [2]uint64
}

type edgeSlot struct {
	e      Edge
	round  uint32
	number int32
}

// mostExpected bounds the edges that Reset makes room for. Many edges may be few distinct ones, where regions
// overlap.
const mostExpected = 1 << 16

// Reset empties the table. n is the number of edges, or the greatest that it may be.
func (t *EdgeTable) Reset(n int) { t.reset(bits.Len(uint(max(2*min(n, mostExpected), 8) - 1))) }

// reset empties the table for 1<<size slots, half of which may be taken.
func (t *EdgeTable) reset(size int) {
	if len(t.slots) < 1<<size {
		t.slots, t.round = make([]edgeSlot, 1<<size), 0
		t.seeds = [2]uint64{rand.Uint64(), rand.Uint64()}
	}
	t.shift, t.left = 64-size, 1<<(size-1)
	if t.round++; t.round == 0 {
		clear(t.slots)
		t.round = 1
	}
}

// Number returns the number of an edge. If the edge is new, Number gives it the number next.
func (t *EdgeTable) Number(e Edge, next int32) int32 {
	s := t.slot(e)
	if s.round == t.round {
		return s.number
	}
	if t.left == 0 {
		t.grow()
		s = t.slot(e)
	}
	t.left--
	*s = edgeSlot{e, t.round, next}
	return next
}

func (t *EdgeTable) grow() {
	old, round := t.slots[:1<<(64-t.shift)], t.round
	t.slots = nil
	t.reset(bits.Len(uint(len(old))))
	for i := range old {
		if old[i].round == round {
			*t.slot(old[i].e) = old[i]
			t.slot(old[i].e).round = t.round
			t.left--
		}
	}
}

// Find returns the number of an edge, or −1 if it has none.
func (t *EdgeTable) Find(e Edge) int32 {
	if s := t.slot(e); s.round == t.round {
		return s.number
	}
	return -1
}

// slot returns the slot of an edge, or the free slot for it.
func (t *EdgeTable) slot(e Edge) *edgeSlot {
	hi, lo := bits.Mul64(e.A.key()^t.seeds[0], e.B.key()^t.seeds[1])
	last := uint64(1)<<(64-t.shift) - 1
	for i := (hi ^ lo) >> t.shift; ; i = (i + 1) & last {
		if s := &t.slots[i]; s.round != t.round || s.e == e {
			return s
		}
	}
}
