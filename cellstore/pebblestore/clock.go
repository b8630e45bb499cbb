package pebblestore

// now is the store's clock in ms: the clock of the options, made to never run
// backwards.
func (s *Store) now() int64 {
	now := s.opts.Clock()
	for {
		latest := s.latest.Load()
		if now <= latest {
			return latest
		}
		if s.latest.CompareAndSwap(latest, now) {
			return now
		}
	}
}
