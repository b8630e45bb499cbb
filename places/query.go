package places

import "quadrille/places/internal/near"

// Bounds of queries.
const (
	DefaultLimit = near.DefaultLimit
	MaxLimit     = near.MaxLimit
	// MaxFilter is how many classes, codes or countries a filter may name.
	MaxFilter = near.MaxFilter
	// MaxExamined is how many places a search looks at before it gives up with
	// ErrTooMuchWork. Only filters that few places pass get that far.
	MaxExamined = 4_000_000
)
