package build

import "testing"

// buildShare divides the number of shapes that are built to tiles. The rings of all
// of them are checked.
func buildShare() int {
	if testing.Short() {
		return 20
	}
	return 1
}
