// Package bytecache caches values within a number of bytes. Concurrent requests for the same value
// make it only once.
package bytecache

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"quadrille/cellstore/sieve"
)

// Key is the constraint of a Cache's keys.
type Key interface {
	comparable
	// Hash returns a number that differs for most keys.
	Hash() uint64
	// ExtraBytes returns the number of bytes that the key refers to.
	ExtraBytes() int
}

// Value is the constraint of a Cache's values. Values are shared and immutable.
type Value interface {
	comparable
	// Bytes returns the memory of the value in bytes.
	Bytes() int64
}

const (
	shardBits  = 4
	shardCount = 1 << shardBits
	// entryOverhead is the memory of an entry in addition to the bytes of its value: keys, list and
	// map links.
	entryOverhead = 256
)

// Cache may be used by any number of goroutines. A hit only sets a flag, under a lock shared with
// other hits. Package sieve chooses what to evict.
type Cache[K Key, V Value] struct {
	shards [shardCount]shard[K, V]
	shift  uint // the bits of the hash below the number of the shard
}

type shard[K Key, V Value] struct {
	mu      sync.RWMutex
	entries map[K]*sieve.Entry[kept[K, V]]
	list    sieve.List[kept[K, V]]
	max     int64
	flights map[K]*flight[V]

	hits, misses atomic.Int64
	_            [64]byte // keeps neighbouring locks off one cache line
}

type kept[K Key, V Value] struct {
	key K
	res V
}

// flight is a value that is being made. done is closed once res and err are set.
type flight[V Value] struct {
	done chan struct{}
	res  V
	err  error
}

// New returns a cache of about the given number of bytes. With 0 nothing is cached, but concurrent
// calls for the same key still share one build.
func New[K Key, V Value](bytes int64) *Cache[K, V] {
	c := &Cache[K, V]{shift: 64 - shardBits}
	for i := range c.shards {
		s := &c.shards[i]
		s.entries = make(map[K]*sieve.Entry[kept[K, V]])
		s.flights = make(map[K]*flight[V])
		s.max = bytes / shardCount
	}
	return c
}

// NewOfLarge does the same as New, for values that may take a large part of the bytes. All values
// share one lock, which is held as shortly as for small values.
func NewOfLarge[K Key, V Value](bytes int64) *Cache[K, V] {
	c := New[K, V](bytes)
	c.shift = 64 // all keys to the first
	c.shards[0].max = bytes
	return c
}

func (c *Cache[K, V]) shard(key K) *shard[K, V] {
	return &c.shards[key.Hash()*0x9E3779B97F4A7C15>>c.shift]
}

// Get returns the value of a key, or the zero value.
func (c *Cache[K, V]) Get(key K) V {
	s := c.shard(key)
	s.mu.RLock()
	e := s.entries[key]
	s.mu.RUnlock()
	if e == nil {
		s.misses.Add(1)
		var none V
		return none
	}
	s.hits.Add(1)
	e.Use()
	return e.Value.res
}

// Stats has the state of a cache, and its counters since it was made.
type Stats struct {
	Hits, Misses, Evicted, Bytes, Entries int64
}

// Stats returns the sums over all shards.
func (c *Cache[K, V]) Stats() (sum Stats) {
	for i := range c.shards {
		s := &c.shards[i]
		s.mu.RLock()
		sum.Evicted += s.list.Evicted()
		sum.Bytes += s.list.Size()
		sum.Entries += int64(len(s.entries))
		s.mu.RUnlock()
		sum.Hits += s.hits.Load()
		sum.Misses += s.misses.Load()
	}
	return sum
}

// ErrAbandoned is returned to the callers that waited for a value whose build panicked.
var ErrAbandoned = errors.New("the request that was making this failed")

// Do returns the value of a key. If it is not cached, Do makes it with build. Calls for the same
// key share one call of build; each stops waiting when its own context ends. Failures are not
// cached.
func (c *Cache[K, V]) Do(ctx context.Context, key K, build func() (V, error)) (V, error) {
	s := c.shard(key)
	s.mu.Lock()
	if e := s.entries[key]; e != nil {
		s.mu.Unlock()
		return e.Value.res, nil
	}
	if f := s.flights[key]; f != nil {
		s.mu.Unlock()
		select {
		case <-f.done:
			return f.res, f.err
		case <-ctx.Done():
			var none V
			return none, ctx.Err()
		}
	}
	f := &flight[V]{done: make(chan struct{}), err: ErrAbandoned}
	s.flights[key] = f
	s.mu.Unlock()

	// Waiting callers get a result in all cases, even after a panic.
	defer func() {
		s.mu.Lock()
		delete(s.flights, key)
		if f.err == nil {
			s.add(key, f.res)
		}
		s.mu.Unlock()
		close(f.done)
	}()
	f.res, f.err = build()
	return f.res, f.err
}

// Add inserts a value, unless the key has one already or the value is too large.
func (c *Cache[K, V]) Add(key K, res V) {
	s := c.shard(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.add(key, res)
}

// Replace does the same as Add, but takes the place of a value that the key has.
func (c *Cache[K, V]) Replace(key K, res V) {
	s := c.shard(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.entries[key]; e != nil {
		s.list.Remove(e)
		delete(s.entries, key)
	}
	s.add(key, res)
}

// add inserts a value and evicts until it fits. The lock is held.
func (s *shard[K, V]) add(key K, res V) {
	size := res.Bytes() + int64(key.ExtraBytes()) + entryOverhead
	if size > s.max || s.entries[key] != nil {
		return
	}
	for s.list.Size()+size > s.max {
		delete(s.entries, s.list.Evict().Value.key)
	}
	e := &sieve.Entry[kept[K, V]]{Value: kept[K, V]{key, res}, Size: size}
	s.entries[key] = e
	s.list.Add(e)
}
