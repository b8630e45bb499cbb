package rowcache

import (
	"context"
	"sync"
	"sync/atomic"

	"quadrille/cellstore"
)

// Options say how a store is cached.
type Options struct {
	// Cache is the memory for the rows. Several stores with the same Cache share its memory. If it
	// is nil, the store has its own cache of 64 MiB.
	Cache *Cache
}

// defaultBytes is the size of the cache of a store that was given none.
const defaultBytes = 64 << 20

// New returns a store that answers repeated reads of s from memory; see the package documentation.
// Close also closes s, and frees its rows in the cache. Capabilities and limits are those of s.
func New(s cellstore.Store, o Options) cellstore.Store {
	if o.Cache == nil {
		o.Cache = NewCache(defaultBytes)
	}
	return &store{Store: s, cache: o.Cache, tables: map[string]*shared{}, oneView: s.Capabilities().SnapshotScan}
}

type store struct {
	cellstore.Store
	cache   *Cache
	oneView bool // a scan shows one moment, over all its ranges
	closed  atomic.Bool

	mu     sync.Mutex
	tables map[string]*shared
}

// shared is the common state of all handles of a table.
type shared struct {
	known atomic.Pointer[known]
	fresh func() *known

	mu      sync.Mutex
	writers int
	dropped atomic.Bool
}

// change makes reads bypass the cache until the function it returns is called. Rows that are read
// meanwhile are not cached.
func (sh *shared) change() (done func()) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if sh.writers++; sh.writers == 1 {
		sh.known.Swap(bypassing).forget()
	}
	return func() {
		sh.mu.Lock()
		defer sh.mu.Unlock()
		if sh.writers--; sh.writers == 0 && !sh.dropped.Load() {
			sh.known.Store(sh.fresh())
		}
	}
}

// Table implements cellstore.Store.
func (s *store) Table(ctx context.Context, name string) (cellstore.Table, error) {
	inner, err := s.Store.Table(ctx, name)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	sh := s.tables[name]
	if sh == nil {
		limits, capabilities := s.Limits(), s.Capabilities()
		sh = &shared{fresh: func() *known {
			return newKnown(s.cache, cellstore.Validator{Schema: inner.Schema(), Limits: limits, Capabilities: capabilities})
		}}
		sh.known.Store(sh.fresh())
		s.tables[name] = sh
	}
	return &table{Table: inner, s: s, name: name, shared: sh}, nil
}

// change does the same as shared.change, for a table that has perhaps not been opened.
func (s *store) change(name string) (sh *shared, done func()) {
	s.mu.Lock()
	sh = s.tables[name]
	s.mu.Unlock()
	if sh == nil {
		return nil, func() {}
	}
	return sh, sh.change()
}

// AlterTable implements cellstore.Store.
func (s *store) AlterTable(ctx context.Context, schema cellstore.Schema) error {
	sh, done := s.change(schema.Table)
	err := s.Store.AlterTable(ctx, schema)
	if !mayStillApply(err) {
		done()
	}
	s.mu.Lock()
	now := s.tables[schema.Table]
	s.mu.Unlock()
	if now != nil && now != sh { // opened meanwhile
		now.change()()
	}
	return err
}

// DropTable implements cellstore.Store.
func (s *store) DropTable(ctx context.Context, name string) error {
	sh, done := s.change(name)
	err := s.Store.DropTable(ctx, name)
	if err == nil {
		// A table that is created later with the same name is another table.
		s.mu.Lock()
		now := s.tables[name]
		delete(s.tables, name)
		s.mu.Unlock()
		if now != nil && now != sh { // opened meanwhile
			now.change() // for good: done is not called
		}
		if sh != nil {
			sh.dropped.Store(true)
		}
	}
	if !mayStillApply(err) {
		done()
	}
	return err
}

// Close implements cellstore.Store.
func (s *store) Close() error {
	s.closed.Store(true)
	s.mu.Lock()
	tables := s.tables
	s.tables = map[string]*shared{}
	s.mu.Unlock()
	for _, sh := range tables {
		sh.change() // for good: done is not called
	}
	return s.Store.Close()
}
