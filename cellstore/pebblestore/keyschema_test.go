package pebblestore

import (
	"bytes"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"
	"pgregory.net/rapid"
)

// TestEngineFindsKeys puts random keys, bare prefixes too, into a database
// with this package's comparer and key layout, and compares every walk and
// seek with a sorted list: in memory, in one file, in several.
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
