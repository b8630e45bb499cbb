package tiles

import (
	"fmt"

	"quadrille/tiles/internal/layout"
)

// eachPosition calls fn for the positions of a stored geometry until it returns
// true, and reports whether it did. A position is a pair of numbers in
// brackets; nothing else there holds numbers.
func eachPosition(geometry []byte, fn func(lon, lat float64) bool) (bool, error) {
	var pair [2]float64
	n := 0
	for i := 0; i < len(geometry); {
		c := geometry[i]
		if c != '-' && (c < '0' || c > '9') {
			i++
			continue
		}
		v, size, ok := layout.ParseFixed(geometry[i:])
		if !ok {
			return false, fmt.Errorf("%w: geometry of a region", ErrCorrupt)
		}
		i += size
		pair[n] = v
		if n = 1 - n; n == 0 && fn(pair[0], pair[1]) {
			return true, nil
		}
	}
	return false, nil
}
