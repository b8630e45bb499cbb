// Package sieve decides which entry of a cache makes room for another: the oldest entry that was
// not used since the hand last passed it. A use only sets a flag, so concurrent hits need no
// exclusive lock. Entries that were read once are evicted before those in use.
//
// The policy is SIEVE, of Zhang and others, "SIEVE is Simpler than LRU" (NSDI 2024).
package sieve

import "sync/atomic"

// Entry is a value's place in a [List]. The zero Entry is in no list.
type Entry[T any] struct {
	Value T
	Size  int64 // in the unit of the cache; it may not change while the entry is in a list

	used         atomic.Bool // since the hand passed
	listed       bool
	newer, older *Entry[T]
}

// Use records that the entry was used. Any number of goroutines may call it at any time.
func (e *Entry[T]) Use() {
	if !e.used.Load() { // usually it is set, and a read does not disturb other processors
		e.used.Store(true)
	}
}

// List has the entries of a cache in the order of their insertion. Its zero value is empty.
// Only one goroutine may use it at a time.
type List[T any] struct {
	newest, oldest *Entry[T]
	hand           *Entry[T] // the next candidate; nil is the oldest

	size, evicted int64
	count         int
}

// Size returns the sum of the entries' sizes.
func (l *List[T]) Size() int64 { return l.size }

// Len returns the number of entries.
func (l *List[T]) Len() int { return l.count }

// Evicted returns the number of evictions so far.
func (l *List[T]) Evicted() int64 { return l.evicted }

// Add puts an entry that is in no list before all others.
func (l *List[T]) Add(e *Entry[T]) {
	e.older = l.newest
	if l.newest != nil {
		l.newest.newer = e
	} else {
		l.oldest = e
	}
	l.newest, e.listed = e, true
	l.size += e.Size
	l.count++
}

// Remove takes an entry out, if it is in the list.
func (l *List[T]) Remove(e *Entry[T]) {
	if !e.listed {
		return
	}
	if l.hand == e {
		l.hand = e.newer
	}
	if e.newer != nil {
		e.newer.older = e.older
	} else {
		l.newest = e.older
	}
	if e.older != nil {
		e.older.newer = e.newer
	} else {
		l.oldest = e.newer
	}
	e.newer, e.older, e.listed = nil, nil, false
	l.size -= e.Size
	l.count--
}

// Evict removes and returns the entry that makes room, or nil if the list is empty. The hand goes
// from the oldest entry towards the newest. It skips entries that were used since it last passed
// them, and clears their flag of use.
func (l *List[T]) Evict() *Entry[T] {
	if l.oldest == nil {
		return nil
	}
	e := l.hand
	if e == nil {
		e = l.oldest
	}
	for e.used.Load() {
		e.used.Store(false)
		if e = e.newer; e == nil {
			e = l.oldest
		}
	}
	l.hand = e // Remove moves the hand on
	l.Remove(e)
	l.evicted++
	return e
}
