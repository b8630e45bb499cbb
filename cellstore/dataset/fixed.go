package dataset

// NewFixedLive returns a Live that always serves one value, for programs that have a reader but no
// generations. m describes the value. Poll and Run do nothing. Close closes the value if it is an
// io.Closer.
func NewFixedLive[T any](value T, m Manifest) *Live[T] {
	m.Generation = max(m.Generation, 1)
	l := NewLive[T](new(Generations), m.Dataset, nil)
	l.from = nil
	h := &Handle[T]{value: value, gen: &Generation{Manifest: m, close: func() error { return nil }}, live: l}
	h.refs.Acquire()
	l.replace(h, m.Generation, nil)
	return l
}
