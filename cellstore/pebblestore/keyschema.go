package pebblestore

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"sync/atomic"
	"unsafe"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable/colblk"
)

// Data blocks keep the parts of keys in columns: prefixes without their common parts, qualifiers,
// and inverted timestamps as numbers. Equal timestamps and empty qualifiers, as in a generation,
// then take no space. The encoded suffix takes nine bytes or more in every cell of the cache.
const (
	columnPrefix = iota
	columnQualifier
	columnVersion // newestFirst, which no cell has, for a bare prefix
)

var keyColumns = []colblk.DataType{
	columnPrefix:    colblk.DataTypePrefixBytes,
	columnQualifier: colblk.DataTypeBytes,
	columnVersion:   colblk.DataTypeUint,
}

// prefixBundle is the number of neighbouring prefixes with a common stored beginning.
const prefixBundle = 16

// newKeySchema returns the layout of keys in data blocks. It also counts opened blocks: a seeker is
// made whenever an iterator enters a block. Its name is stored in every file: a change of layout
// needs a new name.
func newKeySchema(blocks *atomic.Int64) *pebble.KeySchema {
	return &pebble.KeySchema{
		Name:        "quadrille.cell.v1",
		ColumnTypes: keyColumns,
		NewKeyWriter: func() colblk.KeyWriter {
			w := &keyWriter{}
			w.prefixes.Init(prefixBundle)
			w.qualifiers.Init()
			w.versions.Init()
			return w
		},
		InitKeySeekerMetadata: func(m *colblk.KeySeekerMetadata, d *colblk.DataBlockDecoder) {
			b := d.BlockDecoder()
			*seekerIn(m) = keySeeker{
				prefixes:   b.PrefixBytes(columnPrefix),
				qualifiers: b.RawBytes(columnQualifier),
				versions:   b.Uints(columnVersion),
				changed:    d.PrefixChanged(),
			}
		},
		KeySeeker: func(m *colblk.KeySeekerMetadata) colblk.KeySeeker {
			blocks.Add(1)
			return seekerIn(m)
		},
	}
}

// seekerIn returns the seeker in the space that the engine reserves for it beside every block in
// the cache. The seeker has pointers only into that block, and lives as long as the block.
func seekerIn(m *colblk.KeySeekerMetadata) *keySeeker { return (*keySeeker)(unsafe.Pointer(m)) }

// The seeker must fit into that space.
const _ = uint(colblk.KeySeekerMetadataSize - unsafe.Sizeof(keySeeker{}))

// keyWriter is a colblk.KeyWriter.
type keyWriter struct {
	prefixes   colblk.PrefixBytesBuilder
	qualifiers colblk.RawBytesBuilder
	versions   colblk.UintBuilder
	last       []byte // the last written suffix
}

func (w *keyWriter) ComparePrev(key []byte) colblk.KeyComparison {
	n := splitKey(key)
	c := colblk.KeyComparison{PrefixLen: int32(n), UserKeyComparison: 1}
	rows := w.prefixes.Rows()
	if rows == 0 {
		return c
	}
	prev := w.prefixes.UnsafeGet(rows - 1)
	common := commonPrefix(prev, key[:n])
	c.CommonPrefixLen = int32(common)
	switch {
	case common == n: // prefixes come sorted, so this is the prefix of the row before
		c.UserKeyComparison = int32(compareSuffixes(key[n:], w.last))
	case common < len(prev):
		c.UserKeyComparison = int32(cmp.Compare(key[common], prev[common]))
	}
	return c
}

func (w *keyWriter) WriteKey(row int, key []byte, prefixLen, shared int32) {
	w.prefixes.Put(key[:prefixLen], int(shared))
	w.last = append(w.last[:0], key[prefixLen:]...)
	q, inverted := splitSuffix(w.last)
	w.qualifiers.Put(q)
	w.versions.Set(row, inverted)
}

func (w *keyWriter) MaterializeKey(dst []byte, row int) []byte {
	dst = append(dst, w.prefixes.UnsafeGet(row)...)
	return appendStored(dst, w.qualifiers.UnsafeGet(row), w.versions.Get(row))
}

// appendStored appends the suffix that is stored as a qualifier and a version.
func appendStored(dst, qualifier []byte, version uint64) []byte {
	if version == newestFirst {
		return dst
	}
	return appendSuffix(dst, qualifier, version)
}

func (w *keyWriter) NumColumns() int                  { return len(keyColumns) }
func (w *keyWriter) DataType(col int) colblk.DataType { return keyColumns[col] }
func (w *keyWriter) FinishHeader([]byte)              {}

func (w *keyWriter) Reset() {
	w.prefixes.Reset()
	w.qualifiers.Reset()
	w.versions.Reset()
	w.last = w.last[:0]
}

func (w *keyWriter) Size(rows int, offset uint32) uint32 {
	offset = w.prefixes.Size(rows, offset)
	offset = w.qualifiers.Size(rows, offset)
	return w.versions.Size(rows, offset)
}

func (w *keyWriter) Finish(col, rows int, offset uint32, buf []byte) uint32 {
	switch col {
	case columnPrefix:
		return w.prefixes.Finish(0, rows, offset, buf)
	case columnQualifier:
		return w.qualifiers.Finish(0, rows, offset, buf)
	default:
		return w.versions.Finish(0, rows, offset, buf)
	}
}

func (w *keyWriter) WriteDebug(dst io.Writer, rows int) {
	fmt.Fprint(dst, "prefixes: ")
	w.prefixes.WriteDebug(dst, rows)
	fmt.Fprint(dst, "\nqualifiers: ")
	w.qualifiers.WriteDebug(dst, rows)
	fmt.Fprint(dst, "\nversions: ")
	w.versions.WriteDebug(dst, rows)
	fmt.Fprintln(dst)
}

// keySeeker is a colblk.KeySeeker: it finds keys in the columns of a block.
type keySeeker struct {
	prefixes   colblk.PrefixBytes
	qualifiers colblk.RawBytes
	versions   colblk.UnsafeUints
	changed    colblk.Bitmap // set where a prefix differs from the one before
}

// compare compares the suffix of a row with a split suffix.
func (s *keySeeker) compare(row int, qualifier []byte, inverted uint64) int {
	if c := bytes.Compare(s.qualifiers.At(row), qualifier); c != 0 {
		return c
	}
	return cmp.Compare(s.versions.At(row), inverted)
}

func (s *keySeeker) IsLowerBound(k, syntheticSuffix []byte) bool {
	n := splitKey(k)
	if c := bytes.Compare(s.prefixes.UnsafeFirstSlice(), k[:n]); c != 0 {
		return c > 0
	}
	switch {
	case n == len(k):
		return true
	case len(syntheticSuffix) > 0:
		return compareSuffixes(syntheticSuffix, k[n:]) >= 0
	}
	q, inverted := splitSuffix(k[n:])
	return s.compare(0, q, inverted) >= 0
}

func (s *keySeeker) SeekGE(key []byte, _ int, _ int8) (row int, equalPrefix bool) {
	n := splitKey(key)
	row, equalPrefix = s.prefixes.Search(key[:n])
	if !equalPrefix || n == len(key) {
		return row, equalPrefix
	}
	q, inverted := splitSuffix(key[n:])
	if s.compare(row, q, inverted) >= 0 {
		return row, true
	}
	// Search the other rows of the prefix for the first one that is not before the suffix.
	low, high := row+1, s.changed.SeekSetBitGE(row+1)
	for low < high {
		if mid := int(uint(low+high) >> 1); s.compare(mid, q, inverted) >= 0 {
			high = mid
		} else {
			low = mid + 1
		}
	}
	return low, true
}

func (s *keySeeker) MaterializeUserKey(it *colblk.PrefixBytesIter, prevRow, row int) []byte {
	s.setPrefix(it, prevRow, row)
	return appendStored(it.Buf, s.qualifiers.At(row), s.versions.At(row)) // has room
}

func (s *keySeeker) MaterializeUserKeyWithSyntheticSuffix(it *colblk.PrefixBytesIter, suffix []byte, prevRow, row int) []byte {
	s.setPrefix(it, prevRow, row)
	return append(it.Buf, suffix...)
}

func (s *keySeeker) setPrefix(it *colblk.PrefixBytesIter, prevRow, row int) {
	if prevRow >= 0 && row == prevRow+1 {
		s.prefixes.SetNext(it)
	} else {
		s.prefixes.SetAt(it, row)
	}
}
