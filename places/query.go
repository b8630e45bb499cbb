package places

import "quadrille/places/internal/near"

// Bounds of queries.
const (
	DefaultLimit = near.DefaultLimit
	MaxLimit     = near.MaxLimit
	// MaxFilter bounds the classes, codes or countries that a filter may name.
	MaxFilter = near.MaxFilter
	// MaxExamined bounds the places that a search looks at before it gives up with
	// ErrTooMuchWork. Only filters that few places pass get that far.
	MaxExamined = 4_000_000
)
