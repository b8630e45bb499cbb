package pebblestore

import (
	"sync"

	"quadrille/cellstore"

	"github.com/cockroachdb/pebble/v2"
)

// retiredStats sums the work of iterators closed. It has its own lock because
// iterators are closed under others.
type retiredStats struct {
	mu  sync.Mutex
	sum cellstore.IOStats
}

func (s *retiredStats) add(w cellstore.IOStats) {
	s.mu.Lock()
	s.sum = addStats(s.sum, w)
	s.mu.Unlock()
}

func addStats(a, b cellstore.IOStats) cellstore.IOStats {
	a.Seeks += b.Seeks
	a.BlocksRead += b.BlocksRead
	a.BlockBytes += b.BlockBytes
	a.BlockBytesCache += b.BlockBytesCache
	return a
}

// iteratorStats is what an iterator did. It does not know the number of
// blocks; table.blocks does.
func iteratorStats(it *pebble.Iterator) cellstore.IOStats {
	s := it.Stats()
	return cellstore.IOStats{
		Seeks:           int64(s.ForwardSeekCount[pebble.InterfaceCall] + s.ReverseSeekCount[pebble.InterfaceCall]),
		BlockBytes:      int64(s.InternalStats.BlockBytes),
		BlockBytesCache: int64(s.InternalStats.BlockBytesInCache),
	}
}

// Stats implements cellstore.StatsReader. BlocksRead counts data blocks; the
// bytes are those of index and filter blocks too, as they are in the file. It
// waits for running calls, and reads cost nothing to be counted.
func (t *table) Stats() cellstore.IOStats {
	t.mu.Lock()
	readers := append([]*reader(nil), t.readers...)
	t.mu.Unlock()
	var sum cellstore.IOStats
	for _, r := range readers {
		r.mu.Lock()
		for _, it := range r.its {
			if it != nil {
				sum = addStats(sum, iteratorStats(it))
			}
		}
		r.mu.Unlock()
	}
	t.retired.mu.Lock()
	sum = addStats(sum, t.retired.sum)
	t.retired.mu.Unlock()
	sum.BlocksRead = t.blocks.Load()
	return sum
}
