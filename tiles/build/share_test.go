package build

import "testing"

// buildShare returns the divisor for the number of shapes that are built into tiles. The rings of
// all shapes are checked.
func buildShare() int {
	if testing.Short() {
		return 20
	}
	return 1
}
