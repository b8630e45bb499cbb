package pebblestore

import (
	"math"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable"
)

// timeProperty is the name of the stored range of timestamps of every block and file.
const timeProperty = "quadrille.time"

func newTimeCollector() pebble.BlockPropertyCollector {
	return sstable.NewBlockIntervalCollector(timeProperty, timeMapper{}, nil)
}

type timeMapper struct{}

func (timeMapper) MapPointKey(k pebble.InternalKey, _ []byte) (sstable.BlockInterval, error) {
	_, inverted := splitSuffix(k.UserKey[splitKey(k.UserKey):])
	ts := ^inverted
	return sstable.BlockInterval{Lower: ts, Upper: ts + 1}, nil
}

func (timeMapper) MapRangeKeys(sstable.Span) (sstable.BlockInterval, error) {
	return sstable.BlockInterval{Lower: 0, Upper: math.MaxUint64}, nil
}

// blockFilters lets an iterator of a family skip blocks outside the view's time
// range. Blocks of too old cells never matter. Blocks of too new cells matter in families that
// count versions, because they decide which older versions are visible.
func (v *view) blockFilters(f *family) []pebble.BlockPropertyFilter {
	lower, upper := uint64(max(v.min, 0)), uint64(math.MaxUint64)
	if f.uncounted() {
		upper = uint64(v.max)
	}
	// The capacity is one more than needed, because the engine appends its own filter.
	filters := make([]pebble.BlockPropertyFilter, 1, 2)
	filters[0] = sstable.NewBlockIntervalFilter(timeProperty, lower, upper, nil)
	return filters
}
