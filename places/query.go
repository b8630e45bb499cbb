package places

import "quadrille/places/internal/near"

// These are bounds of queries.
const (
	DefaultLimit = near.DefaultLimit
	MaxLimit     = near.MaxLimit
	// MaxFilterValues bounds the classes, codes or countries that a filter may name.
	MaxFilterValues = near.MaxFilterValues
	// MaxExamined bounds the places that a search examines before it returns ErrTooMuchWork. Only
	// filters that few places pass reach it.
	MaxExamined = 4_000_000
)
