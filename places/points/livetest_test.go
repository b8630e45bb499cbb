package points_test

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"quadrille/cellstore"
	"quadrille/cellstore/pebblestore"
	"quadrille/places/live/livetest"
	"quadrille/places/points"
)

func TestIndex(t *testing.T) {
	livetest.TestIndex(t, points.LiveKind, func(testing.TB) livetest.Disk {
		mem := vfs.NewCrashableMem()
		return livetest.Disk{
			Open: func() (cellstore.Store, error) {
				return pebblestore.Open("live", &pebblestore.Options{FS: mem, CacheBytes: 1 << 20})
			},
			Crash: func() { mem = mem.CrashClone(vfs.CrashCloneCfg{}) },
		}
	})
}
