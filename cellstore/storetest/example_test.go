package storetest_test

import (
	"testing"

	"quadrille/cellstore"
	"quadrille/cellstore/pebblestore"
	"quadrille/cellstore/storetest"
)

// How the author of a driver has it judged; pebblestore stands for the driver.
// The two functions at the end belong into its tests, declared as
//
//	func TestConformance(t *testing.T) { storetest.Run(t, open, capabilities) }
//	func FuzzOperations(f *testing.F)  { storetest.Fuzz(f, open, capabilities) }
//
// This example is compiled and not run: only go test makes a *testing.T.
func Example() {
	// What the driver promises. Rules that need more are skipped.
	capabilities := cellstore.Capabilities{
		SnapshotScan: true, MixedMutation: true, CellTimestamps: true, CounterTimestamps: true,
		AtomicBatch: true, Bulk: true, Snapshot: true, Checkpoint: true,
	}
	// A place for one store, which the suite opens, closes and opens again. It
	// asks for many places, so each must be empty and clean up by itself.
	open := func(t testing.TB) storetest.Backend {
		dir, copies := t.TempDir(), t.TempDir()
		return storetest.Backend{
			Open: func(o storetest.OpenOptions) (cellstore.Store, error) {
				return pebblestore.Open(dir, &pebblestore.Options{ReadOnly: o.ReadOnly, Clock: cellstore.ClockOf(o.Clock)})
			},
			ReadOnly:      true,
			Exclusive:     true,
			CheckpointDir: copies + "/copy",
			OpenCheckpoint: func(dir string, o storetest.OpenOptions) (cellstore.Store, error) {
				return pebblestore.Open(dir, &pebblestore.Options{Clock: cellstore.ClockOf(o.Clock)})
			},
			// Without Crash, FailWrites and Corrupt the tests that need them
			// are skipped, and Run lists them.
		}
	}
	_ = []testing.InternalTest{{Name: "TestConformance", F: func(t *testing.T) {
		storetest.Run(t, open, capabilities)
	}}}
	_ = []testing.InternalFuzzTarget{{Name: "FuzzOperations", Fn: func(f *testing.F) {
		storetest.Fuzz(f, open, capabilities)
	}}}
}
