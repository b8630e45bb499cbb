package voronoi

import (
	"encoding/binary"
	"math/bits"
	"sync/atomic"
	"unsafe"

	"quadrille/internal/bytecache"
	"quadrille/quadkey"
)

// DefaultCacheBytes is the memory for leaves and records unless SetCacheBytes changes it.
const DefaultCacheBytes = 16 << 20

// SetCacheBytes bounds the memory for the leaves and records of all tables of the process, in bytes,
// and empties it.
func SetCacheBytes(most int64) { cache.Store(bytecache.New[cacheKey, Record](max(0, most))) }

// cache has the leaves and records of all tables, so that one bound holds for all. What is left of a
// table that nobody uses any more is evicted first.
var cache atomic.Pointer[bytecache.Cache[cacheKey, Record]]

func init() { SetCacheBytes(DefaultCacheBytes) }

// opened counts the tables that were opened.
var opened atomic.Uint32

// Record is a pointer to what is cached of a position. It is shared and immutable.
type Record interface {
	Bytes() int64 // the memory it takes
}

// leaf is a row of a table.
type leaf struct {
	tile  quadkey.Tile
	value []byte
}

// Bytes implements Record.
func (l *leaf) Bytes() int64 { return int64(unsafe.Sizeof(*l)) + int64(cap(l.value)) }

// cacheKey is the key of a leaf or of a record.
type cacheKey struct {
	table uint32
	zoom  uint8  // of the leaf, or ofRecord
	at    uint64 // the packed quadkey of the leaf, or the beginning of an id
	rest  uint32 // the end of an id
}

const ofRecord = 0xff

// longestID is the greatest length of an id in a key.
const longestID = 12

// Hash implements bytecache.Key.
func (k cacheKey) Hash() uint64 {
	return k.at ^ uint64(k.rest)<<32 ^ uint64(k.table)<<8 ^ uint64(k.zoom)
}

// ExtraBytes implements bytecache.Key.
func (k cacheKey) ExtraBytes() int { return 0 }

func (t *Table) leafKey(tile quadkey.Tile) cacheKey {
	return cacheKey{table: t.number, zoom: tile.Z, at: tile.Packed()}
}

// zoomsAround are the zooms of the cached leaves around a tile, a bit each. There is a number for each tile of
// zoomOfZooms, so that a search tries few zooms.
type zoomsAround [1 << (2 * zoomOfZooms)]atomic.Uint32

const zoomOfZooms = 7

func (z *zoomsAround) at(t quadkey.Tile) *atomic.Uint32 { return &z[t.Ancestor(zoomOfZooms).Packed()] }

// cachedLeaf returns the leaf that holds a tile of the greatest zoom, or nil if it is not cached.
func (t *Table) cachedLeaf(tile quadkey.Tile) *leaf {
	from := cache.Load()
	for zooms := t.zooms.at(tile).Load(); zooms != 0; {
		z := uint8(bits.Len32(zooms) - 1)
		zooms &^= 1 << z
		if l, ok := from.Get(t.leafKey(tile.Ancestor(z))).(*leaf); ok {
			return l
		}
	}
	return nil
}

// cacheLeaf caches the leaf that holds a tile of the greatest zoom.
func (t *Table) cacheLeaf(tile quadkey.Tile, l *leaf) {
	t.zooms.at(tile).Or(1 << l.tile.Z)
	cache.Load().Add(t.leafKey(l.tile), l)
}

// recordKey returns the key of the record of an id.
func (t *Table) recordKey(id []byte) cacheKey {
	var padded [longestID]byte
	copy(padded[:], id)
	return cacheKey{t.number, ofRecord, binary.BigEndian.Uint64(padded[:]), binary.BigEndian.Uint32(padded[8:])}
}

// Record returns the cached record of a position, or nil.
func (t *Table) Record(id []byte) Record { return cache.Load().Get(t.recordKey(id)) }

// CacheRecord caches the record of a position.
func (t *Table) CacheRecord(id []byte, r Record) { cache.Load().Add(t.recordKey(id), r) }
