package pebblestore

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"quadrille/cellstore"
	"quadrille/cellstore/storetest"
	"quadrille/internal/testrace"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

func TestSuite(t *testing.T) {
	testrace.SkipUnderRace(t, "most of it is scripts; TestSuiteForRaces runs the rest under it")
	storetest.Run(t, openBackend, capabilities)
}

func TestSuiteForRaces(t *testing.T) {
	if !testrace.Enabled {
		t.Skip("TestSuite runs all of it")
	}
	storetest.RunForRaces(t, openBackend, capabilities)
}

// FuzzOperations searches for operations with different results in this driver and in the suite's
// model.
func FuzzOperations(f *testing.F) { storetest.Fuzz(f, openBackend, capabilities) }

// openBackend returns a store in memory. Tests can cut its power, fill its disk and damage its
// files.
func openBackend(testing.TB) storetest.Backend {
	disk := vfs.NewCrashableMem()
	var full atomic.Pointer[error]
	inject := errorfs.InjectorFunc(func(op errorfs.Op) error {
		if err := full.Load(); err != nil && op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
			return *err
		}
		return nil
	})
	open := func(dir string, o storetest.OpenOptions) (cellstore.Store, error) {
		return Open(dir, &Options{
			FS:         errorfs.Wrap(disk, inject),
			ReadOnly:   o.ReadOnly,
			Clock:      cellstore.ClockOf(o.Clock),
			CacheBytes: 1 << 20,
			FileBytes:  200, // loads of a few rows are several files
		})
	}
	return storetest.Backend{
		Open:       func(o storetest.OpenOptions) (cellstore.Store, error) { return open("store", o) },
		ReadOnly:   true,
		Exclusive:  true,
		NamesCalls: true,
		Crash: func(s cellstore.Store) error {
			after := disk.CrashClone(vfs.CrashCloneCfg{})
			err := s.Close() // its writes will not be seen again
			disk = after
			return err
		},
		CheckpointDir: "copy",
		OpenCheckpoint: func(dir string, o storetest.OpenOptions) (cellstore.Store, error) {
			return open(dir, o)
		},
		FailWrites: func(err error) {
			if err == nil {
				full.Store(nil)
				return
			}
			full.Store(&err)
		},
		Corrupt: func() error { return damageLargest(disk, "store/tables/t/db", ".sst") },
		RemovePart: func() error {
			for _, name := range files(disk, "store/tables/t/db") {
				if strings.HasSuffix(name, ".log") {
					if err := disk.Remove(name); err != nil {
						return err
					}
				}
			}
			return nil
		},
		DamageLog: func() error { return damageLargest(disk, "store/tables/t/db", ".log") },
	}
}

// damageLargest flips a byte in the middle of the largest file of a kind.
func damageLargest(fsys vfs.FS, dir, kind string) error {
	names, err := fsys.List(dir)
	if err != nil {
		return err
	}
	var largest string
	var data []byte
	for _, name := range names {
		if !strings.HasSuffix(name, kind) {
			continue
		}
		name = fsys.PathJoin(dir, name)
		d, err := readFile(fsys, name)
		if err != nil {
			return err
		}
		if len(d) > len(data) {
			largest, data = name, d
		}
	}
	if largest == "" {
		return errors.New("there is no " + kind)
	}
	data[len(data)/3] ^= 0x40
	return writeFile(fsys, largest, data)
}
