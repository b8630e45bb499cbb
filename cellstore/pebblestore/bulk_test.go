package pebblestore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path"
	"strings"
	"sync"
	"testing"

	"quadrille/cellstore"
	"quadrille/internal/testrace"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestValuesStayWithKeys tests that the engine stores values next to their keys. By default it
// would store the values of all but the first cell of a row in separate blocks, and a read of a row
// would need a second block.
func TestValuesStayWithKeys(t *testing.T) {
	_, tab := fixture(t, "s", &Options{FS: vfs.NewMem()})
	load := func(ts int64) {
		b := must(tab.Bulk(ctx))
		for i := range 20 {
			for q := range 20 {
				must(0, b.Add(fmt.Appendf(nil, "%03d", i), cell("a", fmt.Sprintf("%03d", q), ts, strings.Repeat("v", 100))))
			}
		}
		must(0, b.Commit(ctx))
	}
	check := func(when string) {
		t.Helper()
		n := 0
		for _, level := range must(tab.db.SSTables(pebble.WithProperties())) {
			for _, f := range level {
				n++
				if f.Properties.NumValuesInValueBlocks > 0 {
					t.Errorf("%s %d values are set apart", when, f.Properties.NumValuesInValueBlocks)
				}
			}
		}
		if n == 0 {
			t.Errorf("%s there are no files", when)
		}
	}
	load(1)
	load(2)
	check("after loads")
	must(0, tab.db.Compact(ctx, tab.lay.Load().fams[0].lower, tab.lay.Load().fams[0].upper, false))
	check("after compaction")
}

// files lists all files below a directory of a MemFS.
func files(fsys vfs.FS, dir string) (names []string) {
	list, err := fsys.List(dir)
	if err != nil {
		return nil
	}
	for _, name := range list {
		name = path.Join(dir, name)
		names = append(names, name)
		names = append(names, files(fsys, name)...)
	}
	return names
}

func leftovers(fsys vfs.FS) (names []string) {
	for _, name := range files(fsys, "s") {
		if strings.Contains(name, "/bulk/") {
			names = append(names, name)
		}
	}
	return names
}

func TestAbortLeavesNothing(t *testing.T) {
	mem := vfs.NewMem()
	_, tab := fixture(t, "s", &Options{FS: mem, FileBytes: 100})
	before := must(all(tab, cellstore.Scan{}))
	load := must(tab.Bulk(ctx))
	for i := range 50 {
		must(0, load.Add(fmt.Appendf(nil, "%03d", i), cell("a", "q", 2, "new")))
	}
	if len(leftovers(mem)) < 5 {
		t.Errorf("the load should have several files, not %v", leftovers(mem))
	}
	must(0, load.Abort())
	must(0, load.Abort())
	wantErr(t, "Commit", load.Commit(ctx), errDone)
	must(0, must(tab.Bulk(ctx)).Commit(ctx)) // an empty load
	if left := leftovers(mem); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	if got := must(all(tab, cellstore.Scan{})); got != before {
		t.Errorf("table holds %s", got)
	}
}

// crashFS copies a file system just before its n-th change, in the state that a power cut would
// leave.
type crashFS struct {
	vfs.FS
	mem  *vfs.MemFS
	mu   sync.Mutex
	n    int
	copy *vfs.MemFS
}

func (c *crashFS) change() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n--; c.n == 0 {
		r := rand.New(rand.NewPCG(1, 1))
		c.copy = c.mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 50, RNG: r})
	}
}

func (c *crashFS) Create(name string, cat vfs.DiskWriteCategory) (vfs.File, error) {
	c.change()
	f, err := c.FS.Create(name, cat)
	return crashFile{f, c}, err
}

func (c *crashFS) Link(a, b string) error   { c.change(); return c.FS.Link(a, b) }
func (c *crashFS) Remove(a string) error    { c.change(); return c.FS.Remove(a) }
func (c *crashFS) Rename(a, b string) error { c.change(); return c.FS.Rename(a, b) }
func (c *crashFS) OpenDir(name string) (vfs.File, error) {
	f, err := c.FS.OpenDir(name)
	return crashFile{f, c}, err
}

type crashFile struct {
	vfs.File
	c *crashFS
}

func (f crashFile) Write(p []byte) (int, error) { f.c.change(); return f.File.Write(p) }
func (f crashFile) Sync() error                 { f.c.change(); return f.File.Sync() }
func (f crashFile) SyncData() error             { f.c.change(); return f.File.SyncData() }

// TestCrash cuts the power before each change that creating and loading a table makes to the disk.
// The store then opens. The table, and each load, then exists as a whole or not at all. If its call
// had returned, it exists.
func TestCrash(t *testing.T) {
	step := 1
	if testrace.Enabled {
		step = 4
	}
	for n := 1; ; n += step {
		mem := vfs.NewCrashableMem()
		crash := &crashFS{FS: mem, mem: mem, n: n}
		s := must(Open("s", &Options{FS: crash, FileBytes: 200}))
		var done []string // the calls that had returned when the power went
		step := func(what string, err error) {
			must(0, err)
			crash.mu.Lock()
			defer crash.mu.Unlock()
			if crash.copy == nil {
				done = append(done, what)
			}
		}
		step("create", s.CreateTable(ctx, cellstore.Schema{Table: "t", Families: []cellstore.Family{{Name: "a"}, {Name: "b"}}}))
		tab := must(s.Table(ctx, "t"))
		for ts := range int64(2) {
			load := must(tab.Bulk(ctx))
			for i := range 10 {
				must(0, load.Add(fmt.Appendf(nil, "%03d", i), cell("a", "q", ts, strings.Repeat("x", 50))))
				must(0, load.Add(fmt.Appendf(nil, "%03d", i), cell("b", "q", ts, "")))
			}
			step(fmt.Sprint("load ", ts), load.Commit(ctx))
		}
		must(0, s.Close())
		if crash.copy == nil {
			if n < 50 {
				t.Errorf("only %d changes were seen", n)
			}
			return
		}
		checkCrashed(t, crash.copy, n, done)
	}
}

func checkCrashed(t *testing.T, mem *vfs.MemFS, n int, done []string) {
	t.Helper()
	s, err := Open("s", &Options{FS: mem})
	if err != nil {
		t.Fatalf("change %d: %v", n, err)
	}
	defer func() { must(0, s.Close()) }()
	tab, err := s.Table(ctx, "t")
	if errors.Is(err, cellstore.ErrTableNotFound) && len(done) == 0 {
		must(0, s.CreateTable(ctx, cellstore.Schema{Table: "t", Families: []cellstore.Family{{Name: "a"}}}))
		return
	}
	if err != nil {
		t.Fatalf("change %d, after %v: %v", n, done, err)
	}
	count := map[int64]int{}
	for row, err := range tab.Scan(ctx, cellstore.Scan{}) {
		must(0, err)
		for _, c := range row.Cells {
			count[c.Timestamp]++
		}
	}
	switch {
	case len(count) > 1, len(count) == 1 && count[0]+count[1] != 20:
		t.Fatalf("change %d, after %v: %v cells by load", n, done, count)
	case len(done) == 3 && count[1] != 20, len(done) == 2 && len(count) == 0:
		t.Fatalf("change %d, after %v: a load is lost, %v cells", n, done, count)
	}
	if left := leftovers(mem); len(left) > 0 {
		t.Fatalf("change %d: left %v", n, left)
	}
}

// Readers and loaders run at once: every scan sees only whole loads.
func TestConcurrentLoads(t *testing.T) {
	s, tab := fixture(t, "s", &Options{FS: vfs.NewMem()})
	fill(t, tab, 1, "1|")
	stop, cancel := context.WithCancel(ctx)
	var readers, loaders sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			var row cellstore.Row
			each := make([]cellstore.Row, 2)
			for stop.Err() == nil {
				var first string
				for row, err := range tab.Scan(ctx, cellstore.Scan{}) {
					must(0, err)
					for _, c := range row.Cells {
						load, _, _ := strings.Cut(string(c.Value), "|")
						if first == "" {
							first = load
						}
						if load != first {
							t.Errorf("a scan saw loads %s and %s", first, load)
							return
						}
					}
				}
				if found, err := tab.Get(ctx, []byte("010"), nil, &row); !found || err != nil || len(row.Cells) != 2 ||
					!bytes.Equal(row.Cells[0].Value, row.Cells[1].Value) {
					t.Errorf("Get %v %v %s", found, err, format([]cellstore.Row{row}))
					return
				}
				must(0, tab.NextEach(ctx, []byte("010"), nil, []string{"a", "b"}, each))
				tab.Stats()
			}
		})
	}
	loaders.Go(func() {
		for ts := range int64(15) {
			fill(t, tab, ts+2, fmt.Sprint(ts+2, "|"))
			var row cellstore.Row
			if _, err := tab.Get(ctx, []byte("001"), nil, &row); err != nil || row.Cells[0].Timestamp != ts+2 {
				t.Errorf("a commit is not seen: %v %s", err, format([]cellstore.Row{row}))
			}
		}
	})
	loaders.Wait()
	cancel()
	readers.Wait()
	must(0, s.Close())
}
