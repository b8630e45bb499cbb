package pebblestore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"quadrille/cellstore"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/go-cmp/cmp"
)

var ctx = context.Background()

// fixture returns a store with a table "t" of families a and b, declared in the other order. It has
// rows 000 to 049: a:q in all, b:q in the even ones.
func fixture(t testing.TB, dir string, o *Options) (*Store, *table) {
	t.Helper()
	s := must(Open(dir, o))
	t.Cleanup(func() { s.Close() })
	must(0, s.CreateTable(ctx, cellstore.Schema{Table: "t", Families: []cellstore.Family{{Name: "b"}, {Name: "a"}}}))
	tab := must(s.Table(ctx, "t")).(*table)
	fill(t, tab, 1, "")
	return s, tab
}

func fill(t testing.TB, tab cellstore.Table, ts int64, value string) {
	t.Helper()
	load := must(tab.Bulk(ctx))
	for i := range 50 {
		key := fmt.Appendf(nil, "%03d", i)
		must(0, load.Add(key, cell("a", "q", ts, value+string(key))))
		if i%2 == 0 {
			must(0, load.Add(key, cell("b", "q", ts, value+string(key))))
		}
	}
	must(0, load.Commit(ctx))
}

func cell(family, qualifier string, ts int64, value string) cellstore.Cell {
	return cellstore.Cell{Family: family, Qualifier: []byte(qualifier), Timestamp: ts, Value: []byte(value)}
}

// all returns the printed rows of a scan.
func all(tab cellstore.Table, s cellstore.Scan) (string, error) {
	var rows []cellstore.Row
	for row, err := range tab.Scan(ctx, s) {
		if err != nil {
			return "", err
		}
		rows = append(rows, *row.Clone())
	}
	return format(rows), nil
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func format(rows []cellstore.Row) string {
	var b strings.Builder
	for _, r := range rows {
		fmt.Fprintf(&b, "[%x:", r.Key)
		for _, c := range r.Cells {
			fmt.Fprintf(&b, " %s:%x@%d=%x", c.Family, c.Qualifier, c.Timestamp, c.Value)
		}
		b.WriteString("] ")
	}
	return b.String()
}

func wantErr(t testing.TB, what string, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
	var e *cellstore.Error
	if !errors.As(got, &e) || e.Op == "" {
		t.Errorf("%s: %v has no context", what, got)
	}
}

// Table.Schema has the options of each family, and the combined hints of all families.
func TestSchemaInForce(t *testing.T) {
	s := must(Open("s", &Options{FS: vfs.NewMem()}))
	defer s.Close()
	must(0, s.CreateTable(ctx, cellstore.Schema{Table: "t", Families: []cellstore.Family{
		{Name: "z", Bloom: cellstore.BloomNone, Compression: cellstore.CompressionNone, MaxVersions: cellstore.Unlimited, InMemory: true},
		{Name: "y", Bloom: cellstore.BloomRowCol, Compression: cellstore.CompressionZstd, BlockSize: 32 << 10},
		{Name: "x", TTL: time.Hour, MaxVersions: 3, MinVersions: 2},
	}}))
	must(0, s.CreateTable(ctx, cellstore.Schema{Table: "plain", Families: []cellstore.Family{
		{Name: "f", Bloom: cellstore.BloomNone, Compression: cellstore.CompressionNone},
	}}))
	const row, zstd, size = cellstore.BloomRow, cellstore.CompressionZstd, 32 << 10
	want := cellstore.Schema{Table: "t", Families: []cellstore.Family{
		{Name: "z", MaxVersions: cellstore.Unlimited, Bloom: row, Compression: zstd, BlockSize: size},
		{Name: "y", MaxVersions: 1, Bloom: row, Compression: zstd, BlockSize: size},
		{Name: "x", TTL: time.Hour, MaxVersions: 3, MinVersions: 2, Bloom: row, Compression: zstd, BlockSize: size},
	}}
	if diff := cmp.Diff(want, must(s.Table(ctx, "t")).Schema()); diff != "" {
		t.Error(diff)
	}
	want = cellstore.Schema{Table: "plain", Families: []cellstore.Family{
		{Name: "f", MaxVersions: 1, Bloom: cellstore.BloomNone, Compression: cellstore.CompressionNone, BlockSize: 16 << 10},
	}}
	got := must(s.Table(ctx, "plain")).Schema()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	got.Families[0].Name = "changed"
	if again := must(s.Table(ctx, "plain")).Schema(); again.Families[0].Name != "f" {
		t.Error("Schema shares memory with its result")
	}
}

func TestLocked(t *testing.T) {
	dir := t.TempDir()
	s, _ := fixture(t, dir, nil)
	_, err := Open(dir, nil)
	wantErr(t, "second opener", err, cellstore.ErrLocked)
	wd := must(os.Getwd())
	_, err = Open(must(filepath.Rel(wd, dir)), nil)
	wantErr(t, "second opener by another path", err, cellstore.ErrLocked)
	must(0, s.Close())
	must(0, must(Open(dir, nil)).Close())
}

// TestOpenFailure tests that Open does not return ErrLocked if the lock file cannot be made,
// because this does not mean that another program has the store open.
func TestOpenFailure(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	must(0, os.WriteFile(file, nil, 0o644))
	for _, o := range []*Options{nil, {ReadOnly: true}} {
		_, err := Open(filepath.Join(file, "store"), o)
		if err == nil || errors.Is(err, cellstore.ErrLocked) {
			t.Errorf("opening below a file: %v", err)
		}
	}
	_, err := Open(filepath.Join(filepath.Dir(file), "absent"), &Options{ReadOnly: true})
	wantErr(t, "absent read-only store", err, fs.ErrNotExist)
}

// listing returns every file below dir with its size and time.
func listing(dir string) string {
	var b strings.Builder
	must(0, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		info := must(d.Info())
		fmt.Fprintln(&b, path, info.Size(), info.ModTime().UnixNano(), must(0, err))
		return nil
	}))
	return b.String()
}

func TestReadOnlyStores(t *testing.T) {
	dir := t.TempDir()
	s, tab := fixture(t, dir, nil)
	want := must(all(tab, cellstore.Scan{}))
	must(0, s.Close())
	before := listing(dir)

	cache := NewCache(1 << 20)
	var stores []*Store
	for range 3 {
		stores = append(stores, must(Open(dir, &Options{ReadOnly: true, Cache: cache})))
	}
	cache.Close() // the stores keep it
	for _, s := range stores {
		tab := must(s.Table(ctx, "t"))
		if got := must(all(tab, cellstore.Scan{})); got != want {
			t.Errorf("got %s\nwant %s", got, want)
		}
		_, err := tab.Bulk(ctx)
		wantErr(t, "Bulk", err, cellstore.ErrReadOnly)
		wantErr(t, "CreateTable", s.CreateTable(ctx, cellstore.Schema{Table: "u", Families: []cellstore.Family{{Name: "f"}}}),
			cellstore.ErrReadOnly)
	}
	for _, s := range stores {
		must(0, s.Close())
	}
	if after := listing(dir); after != before {
		t.Errorf("directory changed:\n%s\nbefore:\n%s", after, before)
	}
}

func TestReadOnlyFS(t *testing.T) {
	mem := vfs.NewMem()
	must(must(mem.Create("f", vfs.WriteCategoryUnspecified)).Write([]byte("x")))
	ro := readOnlyFS{mem}
	_, create := ro.Create("g", vfs.WriteCategoryUnspecified)
	_, open := ro.OpenReadWrite("f", vfs.WriteCategoryUnspecified)
	_, reuse := ro.ReuseForWrite("f", "g", vfs.WriteCategoryUnspecified)
	for i, err := range []error{
		create, open, reuse, ro.Link("f", "g"), ro.Remove("f"), ro.RemoveAll("f"), ro.Rename("f", "g"), ro.MkdirAll("d", 0o755),
	} {
		if !errors.Is(err, fs.ErrPermission) {
			t.Errorf("call %d: %v", i, err)
		}
	}
	if got := must(readFile(ro, "f")); string(got) != "x" {
		t.Errorf("read %q", got)
	}
	if ro.Unwrap() != vfs.FS(mem) {
		t.Error("Unwrap")
	}
}

// countdown is a context that is cancelled after a number of calls of Err, left.
type countdown struct {
	context.Context
	left int
}

func (c *countdown) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

// TestCancelledBetweenInvisibleRows tests that Next and Prev check the context while they pass rows
// without a selected cell.
func TestCancelledBetweenInvisibleRows(t *testing.T) {
	_, tab := fixture(t, "s", &Options{FS: vfs.NewMem()})
	none := &cellstore.Selection{Columns: []cellstore.Column{{Family: "a", Qualifier: []byte("absent")}}}
	var row cellstore.Row
	found, err := tab.Next(&countdown{ctx, 1000}, nil, nil, none, &row)
	if found || err != nil {
		t.Error(found, err)
	}
	_, err = tab.Next(&countdown{ctx, 10}, nil, nil, none, &row)
	wantErr(t, "Next", err, context.Canceled)
	_, err = tab.Prev(&countdown{ctx, 10}, nil, nil, none, &row)
	wantErr(t, "Prev", err, context.Canceled)
}

func TestLogger(t *testing.T) {
	var buf bytes.Buffer
	log := slog.New(slog.NewTextHandler(&buf, &slog.HandlerOptions{Level: slog.LevelDebug}))
	s, _ := fixture(t, "s", &Options{FS: vfs.NewMem(), Logger: log})
	must(0, s.Close())
	if buf.Len() == 0 {
		t.Error("nothing was logged")
	}
	defer func() {
		if recover() == nil {
			t.Error("Fatalf returned")
		}
		if !strings.Contains(buf.String(), "disk is gone") {
			t.Error("Fatalf did not log")
		}
	}()
	engineLog{log}.Fatalf("disk is %s", "gone")
}

func TestCapabilities(t *testing.T) {
	s, _ := fixture(t, "s", &Options{FS: vfs.NewMem()})
	if c := s.Capabilities(); !c.Bulk || !c.SnapshotScan || c.LegacyDeletes {
		t.Errorf("%+v", c)
	}
	if s.Limits() != cellstore.DefaultLimits {
		t.Errorf("%+v", s.Limits())
	}
}

// gateFS is a file system that blocks all reads while its gate is shut.
type gateFS struct {
	vfs.FS
	waiting chan struct{} // receives when a read waits
	gate    atomic.Pointer[chan struct{}]
}

func (g *gateFS) Open(name string, opts ...vfs.OpenOption) (vfs.File, error) {
	f, err := g.FS.Open(name, opts...)
	return gateFile{f, g}, err
}

type gateFile struct {
	vfs.File
	g *gateFS
}

func (f gateFile) ReadAt(p []byte, off int64) (int, error) {
	if gate := f.g.gate.Load(); gate != nil {
		select {
		case f.g.waiting <- struct{}{}:
		default:
		}
		<-*gate
	}
	return f.File.ReadAt(p, off)
}

// Close waits for a call that waits for the disk. The call then succeeds.
func TestCloseWaits(t *testing.T) {
	mem := vfs.NewMem()
	s, _ := fixture(t, "s", &Options{FS: mem})
	must(0, s.Close())
	g := &gateFS{FS: mem, waiting: make(chan struct{}, 1)}
	s = must(Open("s", &Options{FS: g, ReadOnly: true}))
	tab := must(s.Table(ctx, "t")).(*table)

	gate := make(chan struct{})
	g.gate.Store(&gate)
	got, closed := make(chan error), make(chan error)
	go func() {
		var row cellstore.Row
		_, err := tab.Get(ctx, []byte("000"), nil, &row)
		got <- err
	}()
	<-g.waiting
	go func() { closed <- s.Close() }()
	for shut := false; !shut; runtime.Gosched() {
		tab.mu.Lock()
		shut = tab.over != nil
		tab.mu.Unlock()
	}
	g.gate.Store(nil)
	close(gate)
	if err := <-got; err != nil {
		t.Errorf("Get during Close: %v", err)
	}
	if err := <-closed; err != nil {
		t.Errorf("Close: %v", err)
	}
}

// TestErrorNamesCall tests that an error names the method, the table and the row.
func TestErrorNamesCall(t *testing.T) {
	_, tab := fixture(t, "s", &Options{FS: vfs.NewMem()})
	var row cellstore.Row
	_, err := tab.Get(ctx, []byte("000"), &cellstore.Selection{Families: []string{"c"}}, &row)
	var e *cellstore.Error
	if !errors.As(err, &e) || e.Op != "Get" || e.Table != "t" || string(e.Row) != "000" {
		t.Errorf("error %v names %+v, want Get, t and 000", err, e)
	}
}
