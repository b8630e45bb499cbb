package rowcache

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"sync"
	"sync/atomic"
	"testing"

	"quadrille/cellstore"
	"quadrille/cellstore/pebblestore"
	"quadrille/cellstore/storetest"
	"quadrille/internal/testrace"

	"github.com/cockroachdb/pebble/v2/vfs"
)

var ctx = context.Background()

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// remote is a store that counts, delays and breaks calls.
type remote struct {
	cellstore.Store
	calls   atomic.Int64
	rows    atomic.Int64 // the number of rows that scans have yielded
	down    atomic.Pointer[error]
	broken  atomic.Int64 // the number of a call that fails
	mu      sync.Mutex
	waiting chan struct{} // receives when a call waits
	release chan struct{} // calls wait for it, if it is not nil
}

var errDown = errors.New("the cluster is down")

func (r *remote) fail(err error) {
	if err == nil {
		r.down.Store(nil)
		return
	}
	r.down.Store(&err)
}

// hold makes calls wait until the function it returns is called.
func (r *remote) hold() (waiting <-chan struct{}, release func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waiting, r.release = make(chan struct{}, 1000), make(chan struct{})
	return r.waiting, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		close(r.release)
		r.release = nil
	}
}

func (r *remote) call(ctx context.Context) error {
	if r.calls.Add(1) == r.broken.Load() {
		return errDown
	}
	r.mu.Lock()
	waiting, release := r.waiting, r.release
	r.mu.Unlock()
	if release != nil {
		waiting <- struct{}{}
		select {
		case <-release:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if err := r.down.Load(); err != nil {
		return *err
	}
	return nil
}

func (r *remote) Table(ctx context.Context, name string) (cellstore.Table, error) {
	t, err := r.Store.Table(ctx, name)
	return &remoteTable{t, r}, err
}

type remoteTable struct {
	cellstore.Table
	r *remote
}

func (t *remoteTable) Get(ctx context.Context, key []byte, sel *cellstore.Selection, row *cellstore.Row) (bool, error) {
	if err := t.r.call(ctx); err != nil {
		return false, err
	}
	return t.Table.Get(ctx, key, sel, row)
}

func (t *remoteTable) Next(ctx context.Context, from, to []byte, sel *cellstore.Selection, row *cellstore.Row) (bool, error) {
	if err := t.r.call(ctx); err != nil {
		return false, err
	}
	return t.Table.Next(ctx, from, to, sel, row)
}

func (t *remoteTable) Prev(ctx context.Context, from, downTo []byte, sel *cellstore.Selection, row *cellstore.Row) (bool, error) {
	if err := t.r.call(ctx); err != nil {
		return false, err
	}
	return t.Table.Prev(ctx, from, downTo, sel, row)
}

func (t *remoteTable) NextEach(ctx context.Context, from, to []byte, families []string, rows []cellstore.Row) error {
	if err := t.r.call(ctx); err != nil {
		return err
	}
	return t.Table.NextEach(ctx, from, to, families, rows)
}

func (t *remoteTable) counted(ctx context.Context, rows iter.Seq2[*cellstore.Row, error]) iter.Seq2[*cellstore.Row, error] {
	return func(yield func(*cellstore.Row, error) bool) {
		if err := t.r.call(ctx); err != nil {
			yield(nil, err)
			return
		}
		for row, err := range rows {
			t.r.rows.Add(1)
			if !yield(row, err) {
				return
			}
		}
	}
}

func (t *remoteTable) MultiGet(ctx context.Context, keys [][]byte, sel *cellstore.Selection) iter.Seq2[*cellstore.Row, error] {
	return t.counted(ctx, t.Table.MultiGet(ctx, keys, sel))
}

func (t *remoteTable) Scan(ctx context.Context, scan cellstore.Scan) iter.Seq2[*cellstore.Row, error] {
	return t.counted(ctx, t.Table.Scan(ctx, scan))
}

// newRemote returns a store with a table t of families f and g: rows k000, k002 and so on, with g
// in every other.
func newRemote(tb testing.TB, rows, valueBytes int) *remote {
	tb.Helper()
	s := must(pebblestore.Open("store", &pebblestore.Options{FS: vfs.NewMem()}))
	tb.Cleanup(func() { s.Close() })
	fill(s, rows, valueBytes)
	return &remote{Store: s}
}

func fill(s cellstore.Store, rows, valueBytes int) {
	must(0, s.CreateTable(ctx, cellstore.Schema{Table: "t", Families: []cellstore.Family{{Name: "f"}, {Name: "g"}}}))
	t := must(s.Table(ctx, "t"))
	for i := range rows {
		ops := []cellstore.Op{cellstore.Put("f", []byte("q"), bytes.Repeat([]byte{byte(i)}, valueBytes))}
		if i%2 == 0 {
			ops = append(ops, cellstore.Put("g", nil, []byte("g")))
		}
		must(0, t.Apply(ctx, cellstore.Mutation{Row: key(2 * i), Ops: ops}))
	}
}

func key(i int) []byte { return fmt.Appendf(nil, "k%06d", i) }

var onlyF = &cellstore.Selection{Families: []string{"f"}}

func TestSuite(t *testing.T) {
	testrace.SkipUnderRace(t, "most of it is scripts; TestSuiteForRaces runs the rest under it")
	runSuite(t, storetest.Run)
}

func TestSuiteForRaces(t *testing.T) {
	if !testrace.Enabled {
		t.Skip("TestSuite runs all of it")
	}
	runSuite(t, storetest.RunForRaces)
}

func runSuite(t *testing.T, run func(*testing.T, storetest.Opener, cellstore.Capabilities)) {
	sizes := []int64{20 << 10}
	if os.Getenv("QUADRILLE_FULL") != "" {
		sizes = append(sizes, 0, 1<<20)
	}
	for _, size := range sizes {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			var capabilities cellstore.Capabilities
			open := func(tb testing.TB) storetest.Backend {
				fs := vfs.NewMem()
				cache := NewCache(size)
				in := func(dir string, o storetest.OpenOptions) (cellstore.Store, error) {
					s, err := pebblestore.Open(dir, &pebblestore.Options{
						FS:         fs,
						ReadOnly:   o.ReadOnly,
						Clock:      cellstore.ClockOf(o.Clock),
						CacheBytes: 1 << 20,
					})
					if err != nil {
						return nil, err
					}
					return New(s, Options{Cache: cache}), nil
				}
				return storetest.Backend{
					Open:           func(o storetest.OpenOptions) (cellstore.Store, error) { return in("store", o) },
					CheckpointDir:  "copy",
					OpenCheckpoint: in,
					ReadOnly:       true,
					Exclusive:      true,
				}
			}
			s := must(open(t).Open(storetest.OpenOptions{}))
			capabilities = s.Capabilities()
			s.Close()
			run(t, open, capabilities)
		})
	}
}
