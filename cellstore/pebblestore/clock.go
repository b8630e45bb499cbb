package pebblestore

import "quadrille/cellstore"

var _ cellstore.Timekeeper = (*Store)(nil)

// Clock implements cellstore.Timekeeper.
func (s *Store) Clock() *cellstore.Clock { return s.opts.Clock }

// removable is the timestamp below which cells of a family may be removed for their age,
// given the time: none while the clock may be wrong and right again in a moment. They
// are hidden all the same.
func (t *table) removable(f *family, now int64) int64 {
	if f.ttl == 0 || !t.store.opts.Clock.Settled() {
		return noTTL
	}
	return f.expiry(now)
}
