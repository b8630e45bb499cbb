package pebblestore

import (
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"time"

	"quadrille/cellstore"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

const (
	defaultCacheBytes = 64 << 20
	defaultFileBytes  = 128 << 20
	openFiles         = 192 // per Cache; tileserver keeps 256 back for these and others
	// memTableBytes bounds the memory that a table gathers before it writes sorted files. It begins
	// with much less memory.
	memTableBytes = 16 << 20
)

// Options of a store. A nil *Options and every zero field mean the default.
type Options struct {
	// ReadOnly opens a store that no process writes any more. It takes no lock, changes nothing in
	// the directory, and refuses writes with ErrReadOnly.
	ReadOnly bool
	// Cache is shared with other stores and outlives this one. If it is nil, the store has its own
	// cache of CacheBytes.
	Cache *Cache
	// CacheBytes is the size of the store's own block cache; 0 means 64 MiB.
	CacheBytes int64
	// FileBytes is the size, in bytes of cells before compression, from which a bulk load begins
	// another sorted file of a family; 0 means 128 MiB. Rows are not split between files.
	FileBytes int64
	// FS is the file system; nil means the operating system's.
	FS vfs.FS
	// Clock dates and expires cells; nil means the machine's clock with the default skew.
	Clock *cellstore.Clock
	// Logger receives the storage engine's reports about its background work; nil discards them.
	Logger *slog.Logger
}

func (o *Options) withDefaults() Options {
	var v Options
	if o != nil {
		v = *o
	}
	if v.CacheBytes <= 0 {
		v.CacheBytes = defaultCacheBytes
	}
	if v.FileBytes <= 0 {
		v.FileBytes = defaultFileBytes
	}
	if v.FS == nil {
		v.FS = vfs.Default
	}
	if v.Clock == nil {
		v.Clock = cellstore.NewClock(cellstore.ClockOptions{})
	}
	return v
}

// Cache holds blocks and open files for any number of stores, open one after the other or at once.
type Cache struct {
	blocks *pebble.Cache
	files  *pebble.FileCache
}

// NewCache returns a cache of blocks. bytes bounds their total size.
func NewCache(bytes int64) *Cache {
	return &Cache{
		blocks: pebble.NewCache(bytes),
		files:  pebble.NewFileCache(runtime.GOMAXPROCS(0), openFiles),
	}
}

// Close releases the caller's hold on the cache. Stores that use the cache keep
// it until they are closed. Call Close once, and open no store with the cache
// afterwards.
func (c *Cache) Close() {
	c.files.Unref()
	c.blocks.Unref()
}

func (c *Cache) ref() *Cache {
	c.blocks.Ref()
	c.files.Ref()
	return c
}

// engineLog forwards the engine's log. Fatalf must not return. The engine calls it if memory and
// disk disagree, and to continue then would lose data.
type engineLog struct{ log *slog.Logger }

func (l engineLog) Infof(format string, args ...any) {
	if l.log != nil {
		l.log.Debug(fmt.Sprintf(format, args...))
	}
}

func (l engineLog) Errorf(format string, args ...any) {
	if l.log != nil {
		l.log.Error(fmt.Sprintf(format, args...))
	}
}

func (l engineLog) Fatalf(format string, args ...any) {
	l.Errorf(format, args...)
	panic("pebblestore: " + fmt.Sprintf(format, args...))
}

// said remembers recent messages, to log each at most once a minute. The engine repeats work on a
// damaged file at once, and reports it each time.
type said struct {
	mu   sync.Mutex
	when map[string]time.Time
}

const (
	sayAgain = time.Minute
	maxSaid  = 1000
)

// lately reports whether a message has been logged within the last minute. If not, it records that
// the message is logged now.
func (s *said) lately(what string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if last, ok := s.when[what]; ok && now.Sub(last) < sayAgain {
		return true
	}
	if s.when == nil || len(s.when) >= maxSaid {
		s.when = map[string]time.Time{}
	}
	s.when[what] = now
	return false
}

// warn logs a warning for the operator.
func (s *Store) warn(msg string, args ...any) {
	if s.opts.Logger != nil {
		s.opts.Logger.Warn(msg, args...)
	}
}
