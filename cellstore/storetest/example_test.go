package storetest_test

import (
	"testing"

	"quadrille/cellstore"
	"quadrille/cellstore/pebblestore"
	"quadrille/cellstore/storetest"
)

// This example shows how the author of a driver has it tested; pebblestore is the driver here. The
// two functions at the end belong into its tests, declared as
func Example() {
	// These are the promises of the driver. Rules that need more are skipped.
	capabilities := cellstore.Capabilities{
		SnapshotScan: true, MixedMutation: true, CellTimestamps: true, CounterTimestamps: true,
		AtomicBatch: true, Bulk: true, Snapshot: true, Checkpoint: true,
	}
	// This returns a place for one store, which the suite opens, closes and opens again. The suite
	// calls it many times, so each place must be empty, and must be cleaned up automatically.
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
			// Without Crash, FailWrites and Corrupt, the tests that need these hooks are skipped,
			// and Run lists the skipped tests.
		}
	}
	_ = []testing.InternalTest{{Name: "TestConformance", F: func(t *testing.T) {
		storetest.Run(t, open, capabilities)
	}}}
	_ = []testing.InternalFuzzTarget{{Name: "FuzzOperations", Fn: func(f *testing.F) {
		storetest.Fuzz(f, open, capabilities)
	}}}
}
