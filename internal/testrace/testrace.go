// Package testrace lets tests detect the race detector. Only tests and their helper packages import
// it.
package testrace

import "testing"

// SkipUnderRace skips a test under the race detector. why is one of two reasons. Either the test measures
// allocations or pools, which the detector changes. Or the test becomes ten times as slow and the
// detector has nothing to find, because smaller tests run the same code under it. `make test` runs
// such tests without the detector, like all tests that .ci/raced does not choose.
func SkipUnderRace(t testing.TB, why string) {
	t.Helper()
	if Enabled {
		t.Skip(why + ": make test runs this without the race detector")
	}
}
