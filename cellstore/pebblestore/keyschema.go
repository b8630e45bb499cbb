package pebblestore

import (
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable/colblk"
)

// newKeySchema returns the layout of keys in data blocks, which also counts
// the blocks opened: a seeker is made whenever an iterator enters one.
func newKeySchema(blocks *atomic.Int64) *pebble.KeySchema {
	s := colblk.DefaultKeySchema(comparer, 16)
	seeker := s.KeySeeker
	s.KeySeeker = func(m *colblk.KeySeekerMetadata) colblk.KeySeeker {
		blocks.Add(1)
		return seeker(m)
	}
	return &s
}
