package pebblestore

import (
	"bytes"
	"io"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/sstable/colblk"
	"github.com/cockroachdb/pebble/v2/vfs"
	"pgregory.net/rapid"
)

// TestEngineFindsKeys puts random keys, bare prefixes too, into a database with this package's
// comparer and key layout. It compares every walk and seek with a sorted list, while the keys are
// in memory, in one file and in several files.
func TestEngineFindsKeys(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var blocks atomic.Int64
		keys := newKeySchema(&blocks)
		o := &pebble.Options{
			FS:                 vfs.NewMem(),
			Comparer:           comparer,
			FormatMajorVersion: pebble.FormatNewest,
			KeySchema:          keys.Name,
			KeySchemas:         sstable.MakeKeySchemas(keys),
			Logger:             engineLog{},
		}
		for i := range o.Levels {
			o.Levels[i].BlockSize = rapid.SampledFrom([]int{1, 100, 4096}).Draw(t, "block size")
		}
		db := must(pebble.Open("", o))
		defer func() { must(0, db.Close()) }()

		var sorted [][]byte
		for _, k := range rapid.SliceOfN(someKey(), 1, 40).Draw(t, "keys") {
			e := k.encode()
			must(0, db.Set(e, e, pebble.NoSync))
			if i, found := slices.BinarySearchFunc(sorted, e, comparer.Compare); !found {
				sorted = slices.Insert(sorted, i, e)
			}
			switch rapid.IntRange(0, 15).Draw(t, "then") {
			case 0:
				must(0, db.Flush())
			case 1:
				must(0, db.Compact(t.Context(), []byte{0}, []byte{9, 0}, false))
			}
		}
		it := must(db.NewIter(&pebble.IterOptions{UseL6Filters: true}))
		defer it.Close()

		at := func(what string, ok bool, i int) {
			t.Helper()
			switch {
			case it.Error() != nil:
				t.Fatal(it.Error())
			case ok != (i >= 0 && i < len(sorted)):
				t.Fatalf("%s: found %v, want place %d of %d", what, ok, i, len(sorted))
			case ok && !bytes.Equal(it.Key(), sorted[i]):
				t.Fatalf("%s: %x, want %x", what, it.Key(), sorted[i])
			case ok && !bytes.Equal(must(it.ValueAndErr()), sorted[i]):
				t.Fatalf("%s: %x has another's value", what, it.Key())
			}
		}
		i := 0
		for ok := it.First(); ; ok = it.Next() {
			at("forward", ok, i)
			if i++; !ok {
				break
			}
		}
		i = len(sorted) - 1
		for ok := it.Last(); ; ok = it.Prev() {
			at("backward", ok, i)
			if i--; !ok {
				break
			}
		}
		seekKeys := rapid.OneOf(rapid.SampledFrom(sorted), rapid.Map(someKey(), cellKey.encode))
		for range 10 {
			k := seekKeys.Draw(t, "seek")
			place, _ := slices.BinarySearchFunc(sorted, k, comparer.Compare)
			at("SeekGE", it.SeekGE(k), place)
			if it.Valid() {
				at("Next", it.Next(), place+1)
			}
			at("SeekLT", it.SeekLT(k), place-1)
			if it.SeekGE(k) {
				next := place
				for next < len(sorted) && bytes.Equal(sorted[next][:splitKey(sorted[next])], sorted[place][:splitKey(sorted[place])]) {
					next++
				}
				at("NextPrefix", it.NextPrefix(), next)
			}
			same := place < len(sorted) && bytes.Equal(sorted[place][:splitKey(sorted[place])], k[:splitKey(k)])
			if found := it.SeekPrefixGE(k); found != same {
				t.Fatalf("SeekPrefixGE(%x) = %v, want %v", k, found, same)
			} else if found {
				at("SeekPrefixGE", true, place)
			}
		}
	})
}

// TestKeyColumns encodes one block: the seeker finds the keys that the writer split into columns,
// and joins their parts again.
func TestKeyColumns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var blocks atomic.Int64
		schema := newKeySchema(&blocks)
		var sorted [][]byte
		for _, k := range rapid.SliceOfN(someKey(), 1, 50).Draw(t, "keys") {
			sorted = append(sorted, k.encode())
		}
		slices.SortFunc(sorted, comparer.Compare)
		sorted = slices.CompactFunc(sorted, bytes.Equal)

		var enc colblk.DataBlockEncoder
		enc.Init(schema)
		for i, k := range sorted {
			cmp := enc.KeyWriter.ComparePrev(k)
			if i > 0 {
				colblk.AssertKeyCompare(comparer, k, sorted[i-1], cmp)
			}
			enc.Add(pebble.MakeInternalKey(k, 1, pebble.InternalKeyKindSet), k, 0, cmp, false)
			if got := enc.MaterializeLastUserKey(nil); !bytes.Equal(got, k) {
				t.Fatalf("the writer made %x of %x", got, k)
			}
		}
		enc.KeyWriter.WriteDebug(io.Discard, len(sorted))
		data, last := enc.Finish(len(sorted), enc.Size())
		if !bytes.Equal(last.UserKey, sorted[len(sorted)-1]) {
			t.Fatalf("last key %x, want %x", last.UserKey, sorted[len(sorted)-1])
		}
		data = aligned(data)
		// The seeker's space holds pointers that the garbage collector does not see. In the engine
		// the cached block keeps their targets alive, and here this call does.
		defer runtime.KeepAlive(data)
		var dec colblk.DataBlockDecoder
		dec.Init(schema, data)
		var meta struct {
			_ [0]uint64 // aligns
			m colblk.KeySeekerMetadata
		}
		schema.InitKeySeekerMetadata(&meta.m, &dec)
		seeker := schema.KeySeeker(&meta.m)
		if blocks.Load() != 1 {
			t.Fatalf("%d blocks counted", blocks.Load())
		}

		var it colblk.PrefixBytesIter
		it.Init(1<<15, nil)
		prev := -1
		for range 20 {
			row := rapid.IntRange(0, len(sorted)-1).Draw(t, "row")
			if rapid.Bool().Draw(t, "next") && prev >= 0 && prev+1 < len(sorted) {
				row = prev + 1
			}
			if got := seeker.MaterializeUserKey(&it, prev, row); !bytes.Equal(got, sorted[row]) {
				t.Fatalf("row %d is %x, want %x", row, got, sorted[row])
			}
			prev = row
		}
		other := appendSuffix(nil, []byte("other"), invert(7))
		if got := seeker.MaterializeUserKeyWithSyntheticSuffix(&it, other, -1, 0); !bytes.Equal(got,
			append(sorted[0][:splitKey(sorted[0]):splitKey(sorted[0])], other...)) {
			t.Fatalf("with another suffix: %x", got)
		}
		for range 10 {
			k := rapid.OneOf(rapid.SampledFrom(sorted), rapid.Map(someKey(), cellKey.encode)).Draw(t, "seek")
			place, _ := slices.BinarySearchFunc(sorted, k, comparer.Compare)
			row, equal := seeker.SeekGE(k, 0, 0)
			same := slices.ContainsFunc(sorted, func(s []byte) bool { return bytes.Equal(s[:splitKey(s)], k[:splitKey(k)]) })
			if row != place || equal != same {
				t.Fatalf("SeekGE(%x) = %d, %v, want %d, %v", k, row, equal, place, same)
			}
			if got, want := seeker.IsLowerBound(k, nil), comparer.Compare(sorted[0], k) >= 0; got != want {
				t.Fatalf("IsLowerBound(%x) = %v with first key %x", k, got, sorted[0])
			}
			first := append(sorted[0][:splitKey(sorted[0]):splitKey(sorted[0])], other...)
			if got, want := seeker.IsLowerBound(k, other), comparer.Compare(first, k) >= 0; got != want {
				t.Fatalf("IsLowerBound(%x) = %v with first key %x", k, got, first)
			}
		}
	})
}

// aligned copies data to an address that is a multiple of eight, as the decoder needs.
func aligned(data []byte) []byte {
	words := make([]uint64, (len(data)+7)/8)
	out := unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), len(data))
	copy(out, data)
	return out
}
