package pebblestore

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"quadrille/cellstore"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// TestFullDisk lets the disk fill up while writers run, at different moments. In the end every
// writer gets an error, and the process continues. All writes that were acknowledged as durable
// exist when there is space again.
func TestFullDisk(t *testing.T) {
	for _, d := range []cellstore.Durability{cellstore.Sync, cellstore.Async} {
		for _, space := range []int64{0, 1, 5, 20, 100, 300} { // writes that still succeed
			t.Run(fmt.Sprintf("%v/%d", d, space), func(t *testing.T) { fillDisk(t, d, space) })
		}
	}
}

func fillDisk(t *testing.T, d cellstore.Durability, space int64) {
	mem := vfs.NewMem()
	var full atomic.Bool
	var left atomic.Int64
	fsys := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if !full.Load() || op.Kind.ReadOrWrite() != errorfs.OpIsWrite || left.Add(-1) >= 0 {
			return nil
		}
		return syscall.ENOSPC
	}))
	s := must(Open("s", &Options{FS: fsys}))
	must(0, s.CreateTable(ctx, cellstore.Schema{Table: "t", Families: []cellstore.Family{{Name: "f", MaxVersions: cellstore.Unlimited}}}))
	tab := must(s.Table(ctx, "t"))
	left.Store(space)
	full.Store(true)
	const writers = 4
	var acked [writers]int64
	value := make([]byte, 32<<10)
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for n := int64(1); ; n++ {
				err := tab.Apply(ctx, cellstore.Mutation{
					Row:        fmt.Append(nil, w),
					Ops:        []cellstore.Op{cellstore.PutAt("f", nil, n, value)},
					Durability: d,
				})
				if err != nil {
					if !errors.Is(err, syscall.ENOSPC) {
						t.Errorf("writer %d: %v", w, err)
					}
					return
				}
				if acked[w] = n; n > 10_000 {
					t.Errorf("writer %d wrote %d values to a full disk", w, n)
					return
				}
			}
		})
	}
	wg.Wait()
	full.Store(false)
	_ = s.Close() // repeats the failure
	s = must(Open("s", &Options{FS: fsys}))
	defer s.Close()
	tab = must(s.Table(ctx, "t"))
	for w, n := range acked {
		if left := values(t, tab, w); d == cellstore.Sync && left < n {
			t.Errorf("writer %d: %d of %d acknowledged values are left", w, left, n)
		}
	}
	must(0, tab.Apply(ctx, cellstore.Mutation{Row: []byte("new"), Ops: []cellstore.Op{cellstore.Put("f", nil, nil)}}))
}
