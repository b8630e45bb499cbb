package pebblestore

import (
	"sync"

	"quadrille/cellstore"

	"github.com/cockroachdb/pebble/v2"
)

// retiredStats sums the work of closed iterators. It has its own lock because
// iterators are closed while other locks are held.
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
	a.BlockBytesCached += b.BlockBytesCached
	return a
}

// iteratorStats returns the work of an iterator. It does not include the number of blocks, which is
// in table.blocks.
func iteratorStats(it *pebble.Iterator) cellstore.IOStats {
	s := it.Stats()
	return cellstore.IOStats{
		Seeks:            int64(s.ForwardSeekCount[pebble.InterfaceCall] + s.ReverseSeekCount[pebble.InterfaceCall]),
		BlockBytes:       int64(s.InternalStats.BlockBytes),
		BlockBytesCached: int64(s.InternalStats.BlockBytesInCache),
	}
}

// Stats implements cellstore.StatsReader. BlocksRead counts data blocks. The bytes include index
// and filter blocks, in their size in the file. Stats waits for running calls. The counting does
// not slow reads.
func (t *table) Stats() cellstore.IOStats {
	sum := t.stats()
	for _, snap := range t.openSnapshots() {
		sum = addStats(sum, snap.stats())
	}
	sum.BlocksRead = t.blocks.Load()
	return sum
}

// StatsByTable returns the statistics of each table that has been opened so far.
func (s *Store) StatsByTable() map[string]cellstore.IOStats {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make(map[string]cellstore.IOStats, len(s.tables))
	for name, t := range s.tables {
		all[name] = t.Stats()
	}
	return all
}

// CacheStats is the state of a Cache, and its work since it was made.
type CacheStats struct {
	Bytes, MaxBytes int64
	Hits, Misses    int64 // of blocks asked for
}

// Stats may be called at any time until Close.
func (c *Cache) Stats() CacheStats {
	m := c.blocks.Metrics()
	return CacheStats{Bytes: m.Size, MaxBytes: c.blocks.MaxSize(), Hits: m.Hits, Misses: m.Misses}
}
