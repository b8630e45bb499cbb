package rowcache

import (
	"sync"
	"sync/atomic"

	"quadrille/cellstore/sieve"
)

const (
	// shardBytes is the least size of a shard, if there is more than one. It has room for many of
	// the largest values.
	shardBytes = 8 << 20
	maxShards  = 16
	// A block may take at most 1/largestPart of a shard.
	largestPart = 8
)

// Cache is the memory that stores share. Any number of goroutines may use it.
//
// Package sieve chooses which blocks make room: blocks that were read once, as by a scan, are
// evicted before those in use, and a hit writes almost nothing.
type Cache struct {
	shards []shard
	turn   atomic.Uint32
}

// shard is a part of the cache with a lock of its own.
type shard struct {
	hits atomic.Int64 // in a line of its own: every hit counts here
	_    [120]byte

	mu     sync.Mutex
	limit  int64
	list   sieve.List[*block]
	misses atomic.Int64
}

// NewCache returns a cache. bytes bounds its size.
func NewCache(bytes int64) *Cache {
	bytes = max(bytes, 0)
	n := int(min(max(bytes/shardBytes, 1), maxShards))
	c := &Cache{shards: make([]shard, n)}
	for i := range c.shards {
		c.shards[i].limit = bytes / int64(n)
	}
	return c
}

// Stats are counts since the cache was made, and its present size.
type Stats struct {
	Hits    int64 // reads of a row, or of its absence, answered from memory
	Misses  int64 // calls of the store
	Evicted int64 // blocks that made room for others

	Blocks, Bytes, Limit int64
}

// Stats returns the counts and the size.
func (c *Cache) Stats() Stats {
	var s Stats
	for i := range c.shards {
		p := &c.shards[i]
		p.mu.Lock()
		s.Evicted += p.list.Evicted()
		s.Blocks += int64(p.list.Len())
		s.Bytes += p.list.Size()
		s.Limit += p.limit
		p.mu.Unlock()
		s.Hits += p.hits.Load()
		s.Misses += p.misses.Load()
	}
	return s
}

// place chooses the shard of a new block, and reports whether it fits.
func (c *Cache) place(b *block) bool {
	n := c.turn.Add(1)
	b.shard = &c.shards[int(n)%len(c.shards)]
	return b.place.Size <= b.shard.limit/largestPart
}

func (c *Cache) missed() { c.shards[int(c.turn.Load())%len(c.shards)].misses.Add(1) }

// add inserts a block, and returns those that it evicts.
func (p *shard) add(b *block) (evicted []*block) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if b.dropped {
		return nil // its view has dropped it already
	}
	for p.list.Size()+b.place.Size > p.limit {
		victim := p.list.Evict().Value
		victim.dropped = true
		evicted = append(evicted, victim)
	}
	p.list.Add(&b.place)
	return evicted
}

// drop removes a block that its view does not need any more.
func (p *shard) drop(b *block) {
	p.mu.Lock()
	defer p.mu.Unlock()
	b.dropped = true
	p.list.Remove(&b.place)
}
