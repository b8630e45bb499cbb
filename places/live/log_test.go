package live_test

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"quadrille/cellstore"
	"quadrille/cellstore/pebblestore"
	"quadrille/internal/buildtest"
	"quadrille/internal/must"
	"quadrille/places/live"
	"quadrille/places/live/livetest"
)

// disk returns a disk in memory.
func disk(testing.TB) livetest.Disk {
	mem := vfs.NewCrashableMem()
	return livetest.Disk{
		Open: func() (cellstore.Store, error) {
			return pebblestore.Open("live", &pebblestore.Options{FS: mem, CacheBytes: 1 << 20})
		},
		Crash: func() { mem = mem.CrashClone(vfs.CrashCloneCfg{}) },
	}
}

func TestTableLog(t *testing.T) {
	store := buildtest.NewStore(t)
	must.Do(t, store.CreateTable(t.Context(), toys.Schema(&live.Meta{Name: "log"})))
	livetest.TestLog(t, func() live.Log {
		return live.NewTableLog(must.Get(store.Table(t.Context(), toys.Table("log"))).In(t), false)
	})
}
