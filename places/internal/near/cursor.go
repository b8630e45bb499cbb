package near

import (
	"math"

	"quadrille/feature"
)

// Cursor is the point after which a page begins. The zero Cursor begins the first page.
type Cursor = Ranked[ID]

// isDistance reports whether a rank is the bits of a distance.
func isDistance(rank uint64) bool {
	d := math.Float64frombits(rank)
	return d >= 0 && !math.IsInf(d, 0) && !math.Signbit(d)
}

// BadCursor returns the error for a cursor that no query can have returned.
func BadCursor() error { return feature.BadCursor("it is not one that was handed out") }
