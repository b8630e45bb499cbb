// Package near finds, among points in the order of their cells, the first ones of a ranking: the
// nearest to a point, or the most important in a box. Package places and its subpackages search
// with it. It has the common parts of their searches: the descent of an index, the best points
// found, checks and errors.
//
// A rank is a number, and lesser ranks come first: [DistanceRank] converts a distance to a rank.
// Points of one rank come in the order of their keys.
//
// [Search] descends any tree of tiles. [Lists] is such a tree over lists of cells.
package near

import (
	"cmp"
	"math"
	"slices"

	"quadrille/internal/heap"
)

// DistanceRank returns the rank of a point at a distance in metres.
func DistanceRank(metres float64) uint64 { return math.Float64bits(max(metres, 0)) }

// Key orders points of one rank. The zero value comes before the keys of all points.
type Key[K any] interface {
	// Compare returns a negative number if the key comes before another, or 0 if it is the same.
	Compare(other K) int
}

// ID is a key that is a number; the ids of points start at 1.
type ID uint64

// Compare implements Key.
func (a ID) Compare(b ID) int { return cmp.Compare(a, b) }

// Ranked is the place of a point in a ranking. The zero value comes before all points.
type Ranked[K Key[K]] struct {
	Rank uint64
	Key  K
}

// compare is written without cmp.Or, because most points differ in rank.
func (a *Ranked[K]) compare(b *Ranked[K]) int {
	switch {
	case a.Rank < b.Rank:
		return -1
	case a.Rank > b.Rank:
		return 1
	}
	return a.Key.Compare(b.Key)
}

// Found is a point that a search keeps.
type Found[K Key[K]] struct {
	Ranked[K]
	// Slot is the index at which the caller stores its data of the point, from 0 to Best.Want minus
	// one. It is reused when a better point displaces this one.
	Slot int
}

// Above keeps the last point on top of a heap.
func (a *Found[K]) Above(b *Found[K]) bool { return a.compare(&b.Ranked) > 0 }

// Distance returns the distance of a point that was ranked by DistanceRank.
func (a *Found[K]) Distance() float64 { return math.Float64frombits(a.Rank) }

// Best keeps the first points of a ranking.
type Best[K Key[K]] struct {
	Want int
	// Limit is the greatest wanted rank. Once Want points are kept, it is the rank of the last of
	// them.
	Limit uint64
	// After is the last point of the previous page.
	After Ranked[K]

	found []Found[K] // heap, last on top, once it is full
}

// Reset discards the results and begins a search for want points with ranks up to a limit.
func (b *Best[K]) Reset(want int, limit uint64, after Ranked[K]) {
	b.Want, b.Limit, b.After, b.found = want, limit, after, b.found[:0]
}

// Wants reports whether a point would be kept.
func (b *Best[K]) Wants(rank uint64, key K) bool {
	switch {
	case rank > b.Limit, rank < b.After.Rank, rank == b.After.Rank && key.Compare(b.After.Key) <= 0:
		return false
	case len(b.found) < b.Want:
		return true
	}
	last := &b.found[0]
	return rank < last.Rank || rank == last.Rank && key.Compare(last.Key) < 0
}

// Slot returns the slot of the next point. Its content is not needed any more.
func (b *Best[K]) Slot() int {
	if n := len(b.found); n < b.Want {
		return n
	}
	return b.found[0].Slot
}

// Keep keeps a wanted point in the slot that Slot returns. The key may use memory that belongs to
// the slot.
func (b *Best[K]) Keep(rank uint64, key K) {
	x := Found[K]{Ranked[K]{rank, key}, b.Slot()}
	switch n := len(b.found); {
	case n == b.Want:
		b.found[0] = x
		heap.Sink(b.found, 0)
	case n+1 == b.Want:
		b.found = append(b.found, x)
		heap.Heapify(b.found)
	default:
		b.found = append(b.found, x)
		return
	}
	b.Limit = b.found[0].Rank
}

// Unsorted returns the points kept so far, unordered, until the next Keep.
func (b *Best[K]) Unsorted() []Found[K] { return b.found }

// Sorted returns the kept points in order, until the next Reset.
func (b *Best[K]) Sorted() []Found[K] {
	slices.SortFunc(b.found, func(x, y Found[K]) int { return x.compare(&y.Ranked) })
	return b.found
}
