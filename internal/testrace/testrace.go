// Package testrace tells tests whether they run under the race detector. Only tests and
// what serves them import it.
package testrace

import "testing"

// Plain skips a test under the race detector. why is the reason: either the detector
// makes pools forget and allocates by itself, or it makes the test ten times as slow
// and has nothing to find, where much data goes through code that smaller tests try
// under it. `make test` runs such tests once more without the detector, with the tests
// of files that are built only then.
func Plain(t testing.TB, why string) {
	t.Helper()
	if Enabled {
		t.Skip(why + ": make test runs this without the race detector")
	}
}
