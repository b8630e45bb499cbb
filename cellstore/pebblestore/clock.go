package pebblestore

import "quadrille/cellstore"

var _ cellstore.Timekeeper = (*Store)(nil)

// Clock implements cellstore.Timekeeper.
func (s *Store) Clock() *cellstore.Clock { return s.opts.Clock }

// removable returns the timestamp below which cells of a family may be removed for their age at the
// time now. No cells may be removed while the clock may be wrong for a moment. Expired cells are
// hidden even then.
func (t *table) removable(f *family, now int64) int64 {
	if f.ttl == 0 || !t.store.opts.Clock.Settled() {
		return noTTL
	}
	return f.expiry(now)
}
