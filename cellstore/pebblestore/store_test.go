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
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"quadrille/cellstore"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/go-cmp/cmp"
)

var ctx = context.Background()

// fixture is a store with a table "t" of families a and b, declared in the
// other order, holding rows 000 to 049: a:q in all, b:q in the even ones.
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

// all returns what a scan shows, printed.
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

func TestTables(t *testing.T) {
	dir := t.TempDir()
	s := must(Open(dir, nil))
	if names := must(s.Tables(ctx)); len(names) != 0 {
		t.Errorf("new store has tables %v", names)
	}
	fam := []cellstore.Family{{Name: "f"}}
	for _, name := range []string{"z", "a", "LOCK"} {
		must(0, s.CreateTable(ctx, cellstore.Schema{Table: name, Families: fam}))
	}
	wantErr(t, "again", s.CreateTable(ctx, cellstore.Schema{Table: "a", Families: fam}), cellstore.ErrTableExists)
	for _, bad := range []cellstore.Schema{
		{Table: "../a", Families: fam},
		{Table: "a/b", Families: fam},
		{Table: "c"},
		{Table: "c", Families: []cellstore.Family{{Name: "f"}, {Name: "f"}}},
	} {
		wantErr(t, bad.Table, s.CreateTable(ctx, bad), cellstore.ErrBadSchema)
	}
	for _, name := range []string{"b", "", "..", "../tables/a", "a/", "."} {
		_, err := s.Table(ctx, name)
		wantErr(t, name, err, cellstore.ErrTableNotFound)
	}
	must(0, s.Close())

	s = must(Open(dir, nil))
	defer s.Close()
	if got, want := must(s.Tables(ctx)), []string{"LOCK", "a", "z"}; !slices.Equal(got, want) {
		t.Errorf("tables %v, want %v", got, want)
	}
	_, err := s.Table(ctx, "z")
	if err != nil {
		t.Error(err)
	}
}

// Table.Schema has the options of each family, and hints united over them.
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

// A lock file that cannot be made is not a store in use.
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

// listing is every file below dir with its size and time.
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
		wantErr(t, "CreateTable", s.CreateTable(ctx, cellstore.Schema{Table: "u", Families: []cellstore.Family{{Name: "f"}}}), cellstore.ErrReadOnly)
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

func TestClosed(t *testing.T) {
	s, tab := fixture(t, "s", &Options{FS: vfs.NewMem()})
	load := must(tab.Bulk(ctx))
	must(0, load.Add([]byte("x"), cell("a", "q", 1, "v")))
	rows := 0
	for row, err := range tab.Scan(ctx, cellstore.Scan{}) {
		if rows++; rows == 1 {
			must(0, err)
			must(0, s.Close()) // does not wait for this loop
			if string(row.Key) != "000" {
				t.Errorf("row %q", row.Key)
			}
			continue
		}
		wantErr(t, "scan in progress", err, cellstore.ErrClosed)
	}
	if rows != 2 {
		t.Errorf("scan yielded %d times", rows)
	}
	must(0, s.Close())

	var row cellstore.Row
	_, err := tab.Get(ctx, []byte("000"), nil, &row)
	wantErr(t, "Get", err, cellstore.ErrClosed)
	_, err = tab.Next(ctx, nil, nil, nil, &row)
	wantErr(t, "Next", err, cellstore.ErrClosed)
	_, err = tab.Prev(ctx, nil, nil, nil, &row)
	wantErr(t, "Prev", err, cellstore.ErrClosed)
	wantErr(t, "NextEach", tab.NextEach(ctx, nil, nil, []string{"a"}, make([]cellstore.Row, 1)), cellstore.ErrClosed)
	_, err = all(tab, cellstore.Scan{})
	wantErr(t, "Scan", err, cellstore.ErrClosed)
	_, err = all(tab, cellstore.Scan{Selection: cellstore.Selection{Time: cellstore.AsOf(1)}})
	wantErr(t, "Scan of a time range", err, cellstore.ErrClosed)
	_, err = tab.Bulk(ctx)
	wantErr(t, "Bulk", err, cellstore.ErrClosed)
	wantErr(t, "Add", load.Add([]byte("y"), cell("a", "q", 1, "v")), cellstore.ErrClosed)
	wantErr(t, "Commit", load.Commit(ctx), cellstore.ErrClosed)
	must(0, load.Abort())
	_, err = s.Table(ctx, "t")
	wantErr(t, "Table", err, cellstore.ErrClosed)
	_, err = s.Tables(ctx)
	wantErr(t, "Tables", err, cellstore.ErrClosed)
	wantErr(t, "CreateTable", s.CreateTable(ctx, cellstore.Schema{Table: "u", Families: []cellstore.Family{{Name: "f"}}}), cellstore.ErrClosed)
}

// A panic in the loop body gives the scan's reader back.
func TestScanPanic(t *testing.T) {
	s, tab := fixture(t, "s", &Options{FS: vfs.NewMem()})
	func() {
		defer func() { recover() }()
		for range tab.Scan(ctx, cellstore.Scan{}) {
			panic("in the loop")
		}
	}()
	for range tab.Scan(ctx, cellstore.Scan{}) {
		break
	}
	if n := tab.count.Load(); n != 1 {
		t.Errorf("%d readers", n)
	}
	must(0, s.Close())
}

func TestCancelled(t *testing.T) {
	s, tab := fixture(t, "s", &Options{FS: vfs.NewMem()})
	gone, cancel := context.WithCancel(ctx)
	defer cancel()
	load := must(tab.Bulk(ctx))
	rows := 0
	for _, err := range tab.Scan(gone, cellstore.Scan{}) {
		if rows++; rows == 1 {
			cancel()
			continue
		}
		wantErr(t, "scan", err, context.Canceled)
	}
	if rows != 2 {
		t.Errorf("scan yielded %d times", rows)
	}
	var row cellstore.Row
	_, err := tab.Get(gone, []byte("000"), nil, &row)
	wantErr(t, "Get", err, context.Canceled)
	_, err = tab.Next(gone, nil, nil, nil, &row)
	wantErr(t, "Next", err, context.Canceled)
	_, err = tab.Prev(gone, nil, nil, nil, &row)
	wantErr(t, "Prev", err, context.Canceled)
	wantErr(t, "NextEach", tab.NextEach(gone, nil, nil, []string{"a"}, make([]cellstore.Row, 1)), context.Canceled)
	for _, err := range tab.Scan(gone, cellstore.Scan{Selection: cellstore.Selection{Time: cellstore.AsOf(1)}}) {
		wantErr(t, "timed scan", err, context.Canceled)
	}
	_, err = tab.Bulk(gone)
	wantErr(t, "Bulk", err, context.Canceled)
	wantErr(t, "Commit", load.Commit(gone), context.Canceled)
	_, err = s.Table(gone, "t")
	wantErr(t, "Table", err, context.Canceled)
	_, err = s.Tables(gone)
	wantErr(t, "Tables", err, context.Canceled)
	wantErr(t, "CreateTable", s.CreateTable(gone, cellstore.Schema{Table: "u", Families: []cellstore.Family{{Name: "f"}}}), context.Canceled)
	must(0, load.Commit(ctx)) // a refused commit may be tried again
}

// countdown is a context that is cancelled after so many looks at it.
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

// Rows without a selected cell are passed one by one, looking at the context.
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

func TestBadArguments(t *testing.T) {
	_, tab := fixture(t, "s", &Options{FS: vfs.NewMem()})
	var row cellstore.Row
	long := make([]byte, 32768)
	get := func(key []byte, sel *cellstore.Selection) error {
		_, err := tab.Get(ctx, key, sel, &row)
		return err
	}
	key := []byte("000")
	wantErr(t, "empty row", get(nil, nil), cellstore.ErrEmptyRow)
	wantErr(t, "long row", get(long, nil), cellstore.ErrTooLarge)
	wantErr(t, "unknown family", get(key, &cellstore.Selection{Families: []string{"c"}}), cellstore.ErrFamilyNotFound)
	wantErr(t, "unknown family of a column", get(key, &cellstore.Selection{Columns: []cellstore.Column{{Family: "c"}}}), cellstore.ErrFamilyNotFound)
	wantErr(t, "long qualifier", get(key, &cellstore.Selection{Columns: []cellstore.Column{{Family: "a", Qualifier: long[:16385]}}}), cellstore.ErrTooLarge)
	wantErr(t, "reversed time", get(key, &cellstore.Selection{Time: cellstore.Between(2, 1)}), cellstore.ErrBadRange)
	wantErr(t, "versions", get(key, &cellstore.Selection{Versions: -2}), cellstore.ErrBadRange)
	wantErr(t, "column limit", get(key, &cellstore.Selection{Filter: cellstore.ColumnFilter{Limit: -1}}), cellstore.ErrBadRange)
	wantErr(t, "NextEach", tab.NextEach(ctx, nil, nil, []string{"a", "c"}, make([]cellstore.Row, 2)), cellstore.ErrFamilyNotFound)
	if err := tab.NextEach(ctx, nil, nil, []string{"a", "b"}, make([]cellstore.Row, 1)); err == nil {
		t.Error("NextEach with too few rows")
	}
	_, err := all(tab, cellstore.Scan{Limit: -1})
	wantErr(t, "limit", err, cellstore.ErrBadRange)

	err = get(key, &cellstore.Selection{Families: []string{"c"}})
	var e *cellstore.Error
	if !errors.As(err, &e) || e.Op != "Get" || e.Table != "t" || string(e.Row) != "000" {
		t.Errorf("context %+v", e)
	}
	// Ends of ranges may be longer than any row.
	found, err := tab.Next(ctx, bytes.Repeat([]byte{'0'}, 1<<20), nil, nil, &row)
	if err != nil || !found || string(row.Key) != "001" {
		t.Errorf("Next from a long key: %v %v %q", found, err, row.Key)
	}
	found, err = tab.Prev(ctx, bytes.Repeat([]byte{'1'}, 1<<20), nil, nil, &row)
	if err != nil || !found || string(row.Key) != "049" {
		t.Errorf("Prev from a long key: %v %v %q", found, err, row.Key)
	}
}

// The row of a failed or empty read is empty, whatever it held.
func TestRowIsReset(t *testing.T) {
	s, tab := fixture(t, "s", &Options{FS: vfs.NewMem()})
	var row cellstore.Row
	full := func() *cellstore.Row {
		if found, err := tab.Get(ctx, []byte("000"), nil, &row); !found || err != nil {
			t.Fatal(found, err)
		}
		return &row
	}
	check := func(what string, found bool, _ error) {
		t.Helper()
		if found || !row.Empty() || row.Key != nil {
			t.Errorf("%s left %q with %d cells", what, row.Key, len(row.Cells))
		}
	}
	found, err := tab.Get(ctx, []byte("absent"), nil, full())
	check("Get", found, err)
	found, err = tab.Get(ctx, nil, nil, full())
	check("bad Get", found, err)
	found, err = tab.Get(ctx, []byte("000"), &cellstore.Selection{Time: cellstore.Between(7, 9)}, full())
	check("Get outside the time", found, err)
	found, err = tab.Get(ctx, []byte("000"), &cellstore.Selection{Time: cellstore.Between(1, 1)}, full())
	check("Get of no time", found, err)
	found, err = tab.Next(ctx, []byte("x"), nil, nil, full())
	check("Next", found, err)
	found, err = tab.Prev(ctx, []byte("0"), nil, nil, full())
	check("Prev", found, err)
	each := []cellstore.Row{*full().Clone()}
	must(0, tab.NextEach(ctx, []byte("x"), nil, []string{"a"}, each))
	if !each[0].Empty() {
		t.Error("NextEach left cells")
	}
	full()
	must(0, s.Close())
	found, err = tab.Get(ctx, []byte("000"), nil, &row)
	check("closed Get", found, err)
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

// gateFS lets nothing be read while its gate is shut.
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

// Close waits for a call that waits for the disk, which then succeeds.
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
