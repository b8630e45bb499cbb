package grid

import (
	"math/bits"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
)

// sortLarge is the length from which sortBy first distributes elements into buckets.
const (
	sortLarge   = 1 << 12
	sortBuckets = 1 << 11
)

// sortBy sorts like slices.SortFunc. If compare finds p less than q, key(p) must not be greater
// than key(q). Large slices are distributed by their keys in place, which needs no extra memory.
// Their parts are then sorted in parallel.
func sortBy[T any](s []T, key func(*T) uint64, compare func(p, q T) int) {
	if len(s) < sortLarge || slices.IsSortedFunc(s, compare) {
		slices.SortFunc(s, compare)
		return
	}
	ends := distribute(s, key)
	inParallel(sortBuckets, func(b int) {
		slices.SortFunc(s[ends[b]:ends[b+1]], compare)
	})
}

// distribute puts elements into buckets by their keys, in place. It returns where each bucket
// begins, and the end of the last.
func distribute[T any](s []T, key func(*T) uint64) *[sortBuckets + 1]int {
	least, most := key(&s[0]), key(&s[0])
	for i := range s {
		k := key(&s[i])
		least, most = min(least, k), max(most, k)
	}
	shift := max(0, bits.Len64(most-least)-bits.TrailingZeros(sortBuckets))
	bucket := func(v *T) uint64 { return (key(v) - least) >> shift }
	var ends [sortBuckets + 1]int
	for i := range s {
		ends[bucket(&s[i])+1]++
	}
	for b := range sortBuckets {
		ends[b+1] += ends[b]
	}
	next := ends // the first place of each bucket that may hold an element of another bucket
	for b := range uint64(sortBuckets) {
		for i := next[b]; i < ends[b+1]; {
			to := bucket(&s[i])
			if to == b {
				i++
				continue
			}
			s[i], s[next[to]] = s[next[to]], s[i]
			next[to]++
		}
	}
	return &ends
}

// inParallel calls fn for 0 to n−1 on all processors.
func inParallel(n int, fn func(i int)) {
	var next atomic.Int64
	var g sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		g.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				fn(i)
			}
		})
	}
	g.Wait()
}

func sortPoints(p []Point) {
	sortBy(p, func(p *Point) uint64 { return p.key() }, ComparePoints)
}

// sortNumbers sorts like slices.Sort, large slices in parallel.
func sortNumbers(s []uint64) {
	if len(s) < sortLarge {
		slices.Sort(s)
		return
	}
	parts := distribute(s, func(v *uint64) uint64 { return *v })
	inParallel(sortBuckets, func(b int) { slices.Sort(s[parts[b]:parts[b+1]]) })
}
