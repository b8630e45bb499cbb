package pebblestore

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"quadrille/cellstore"
	"quadrille/internal/testrace"
	"quadrille/internal/testseed"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// smallDisk is a file system with limited room, in bytes. Writes take room, and removals give it
// back.
type smallDisk struct {
	vfs.FS
	room atomic.Int64
	tell bool // GetDiskUsage knows
}

func (d *smallDisk) GetDiskUsage(string) (vfs.DiskUsage, error) {
	if !d.tell {
		return vfs.DiskUsage{}, errors.ErrUnsupported
	}
	return vfs.DiskUsage{AvailBytes: uint64(max(d.room.Load(), 0))}, nil
}

func (d *smallDisk) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if d.room.Load() <= 0 {
		return nil, &os.PathError{Op: "open", Path: name, Err: syscall.ENOSPC}
	}
	f, err := d.FS.Create(name, c)
	return smallFile{f, d}, err
}

func (d *smallDisk) Remove(name string) error {
	info, err := d.FS.Stat(name)
	if err == nil && !info.IsDir() {
		d.room.Add(info.Size())
	}
	return d.FS.Remove(name)
}

func (d *smallDisk) Unwrap() vfs.FS { return d.FS }

type smallFile struct {
	vfs.File
	d *smallDisk
}

func (f smallFile) Write(p []byte) (int, error) {
	fits := min(int64(len(p)), max(f.d.room.Load(), 0))
	f.d.room.Add(-fits)
	n, err := f.File.Write(bytes.Clone(p[:fits]))
	if err == nil && n < len(p) {
		err = syscall.ENOSPC
	}
	return n, err
}

// values returns the number of a writer's values in a table. These must be the first values of the
// writer.
func values(t *testing.T, tab cellstore.Table, writer int) int64 {
	t.Helper()
	var row cellstore.Row
	must(tab.Get(ctx, fmt.Append(nil, writer), &cellstore.Selection{Versions: cellstore.Unlimited}, &row))
	for i, c := range row.Cells {
		if c.Timestamp != int64(len(row.Cells)-i) {
			t.Fatalf("writer %d: value %d of %d is missing", writer, i, len(row.Cells))
		}
	}
	return int64(len(row.Cells))
}

// TestRecover lets the disk become full while writers run, at a random moment of the engine's work.
// The process continues, writers get errors, and reads still work. Recover opens the table for
// reading while the disk is full, and for writing when it has room.
func TestRecover(t *testing.T) {
	rounds := 40
	if testing.Short() {
		rounds = 8
	}
	r := testseed.Rand(t)
	var logged bytes.Buffer
	d := &smallDisk{FS: vfs.NewMem(), tell: r.IntN(2) == 0}
	d.room.Store(1 << 30)
	o := &Options{FS: d, CacheBytes: 1 << 20, Logger: slog.New(slog.NewTextHandler(&logged, nil))}
	s := must(Open("s", o))
	defer func() { s.Close() }()
	must(0, s.CreateTable(ctx, cellstore.Schema{Table: "t", Families: []cellstore.Family{{Name: "f", MaxVersions: cellstore.Unlimited}}}))
	const writers = 3
	var acked [writers]int64
	value := make([]byte, 40<<10)
	for round := range rounds {
		tab := must(s.Table(ctx, "t"))
		d.room.Store(r.Int64N(22 << 20))
		var wg sync.WaitGroup
		for w := range writers {
			wg.Go(func() {
				for n := acked[w] + 1; ; n++ {
					err := tab.Apply(ctx, cellstore.Mutation{Row: fmt.Append(nil, w), Ops: []cellstore.Op{cellstore.PutAt("f", nil, n, value)}})
					if err == nil {
						acked[w] = n
						continue
					}
					if !errors.Is(err, cellstore.ErrNoSpace) {
						t.Errorf("round %d, writer %d: %v does not match ErrNoSpace", round, w, err)
					}
					var batch *cellstore.BatchError
					if errors.As(err, &batch) != errors.Is(err, cellstore.ErrUnknownOutcome) {
						t.Errorf("round %d, writer %d: a refused write is a BatchError of an unknown outcome, or nothing was applied: %v", round, w, err)
					}
					return
				}
			})
		}
		wg.Wait()
		d.room.Store(0)
		if err := s.Trouble("t"); !errors.Is(err, cellstore.ErrNoSpace) {
			t.Fatalf("round %d: trouble is %v", round, err)
		}
		values(t, tab, 0) // reads go on
		if round%4 == 3 { // a restart while the disk is full
			_ = s.Close() // repeats the failure
			s = must(Open("s", o))
			tab = must(s.Table(ctx, "t"))
		}
		for range 2 {
			wantErr(t, "recover a full disk", s.Recover(ctx, "t"), cellstore.ErrNoSpace)
		}
		tab = must(s.Table(ctx, "t"))
		var shown [writers]int64
		for w := range writers {
			if shown[w] = values(t, tab, w); shown[w] < acked[w] {
				t.Fatalf("round %d, writer %d: %d of %d acknowledged values are left", round, w, shown[w], acked[w])
			}
		}
		wantErr(t, "write to a full disk", tab.Apply(ctx, cellstore.Mutation{
			Row: []byte("x"),
			Ops: []cellstore.Op{cellstore.Put("f", nil, nil)},
		}), cellstore.ErrNoSpace)
		d.room.Store(1 << 30)
		must(0, s.Recover(ctx, "t"))
		must(0, s.Recover(ctx, "t")) // does nothing
		if _, err := tab.Get(ctx, []byte("0"), nil, &cellstore.Row{}); !errors.Is(err, cellstore.ErrClosed) {
			t.Fatalf("a table got before: %v", err)
		}
		tab = must(s.Table(ctx, "t"))
		for w := range writers {
			if n := values(t, tab, w); n != shown[w] {
				t.Fatalf("round %d, writer %d: %d values after %d were shown", round, w, n, shown[w])
			}
			if acked[w] = shown[w]; round%3 == 2 { // otherwise every round reads all values
				must(0, tab.Apply(ctx, cellstore.Mutation{Row: fmt.Append(nil, w),
					Ops: []cellstore.Op{cellstore.DeleteRow(cellstore.AllVersions)}}))
				acked[w] = 0
			}
		}
		must(0, tab.Apply(ctx, cellstore.Mutation{Row: []byte("x"), Ops: []cellstore.Op{cellstore.Put("f", nil, nil)}}))
	}
	if lines := strings.Count(logged.String(), "level=ERROR"); lines > 20*rounds {
		t.Errorf("%d errors were logged in %d rounds", lines, rounds)
	}
}

// A creation and a removal that the disk refuses change nothing.
func TestRefusedCreateAndDrop(t *testing.T) {
	d := &smallDisk{FS: vfs.NewMem()}
	d.room.Store(1 << 30)
	s := must(Open("s", &Options{FS: d}))
	defer s.Close()
	schema := cellstore.Schema{Table: "t", Families: []cellstore.Family{{Name: "f"}}}
	for room := range int64(60) {
		d.room.Store(room * 100)
		err := s.CreateTable(ctx, schema)
		d.room.Store(1 << 30)
		if err == nil {
			break
		}
		wantErr(t, "create on a full disk", err, cellstore.ErrNoSpace)
		if names := must(s.Tables(ctx)); len(names) != 0 {
			t.Fatalf("after a refused creation there is %v", names)
		}
	}
	_ = s.DropTable(ctx, "t")
	must(0, s.CreateTable(ctx, schema))
	must(0, s.DropTable(ctx, "t"))
	must(0, s.CreateTable(ctx, schema))
}

// TestStoreByAnotherName opens a store by a link to its directory.
func TestStoreByAnotherName(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	s := must(Open(dir, nil))
	defer s.Close()
	other := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, other); err != nil {
		t.Skipf("skipped: no symbolic links here: %v", err)
	}
	for _, name := range []string{other, filepath.Join(other, "..", "link"), dir} {
		_, err := Open(name, nil)
		wantErr(t, "open "+name, err, cellstore.ErrLocked)
	}
	must(0, s.Close())
	s = must(Open(other, nil))
	_, err := Open(dir, nil)
	wantErr(t, "open the directory itself", err, cellstore.ErrLocked)
	must(0, s.Close())
	must(0, must(Open(dir, nil)).Close())
}

// TestLogTakesWhatItHolds tests that the log of a table takes no more disk space than its content.
func TestLogTakesWhatItHolds(t *testing.T) {
	dir := t.TempDir()
	s := must(Open(dir, nil))
	defer s.Close()
	for i := range 5 {
		must(0, s.CreateTable(ctx, cellstore.Schema{Table: fmt.Sprint("t", i), Families: []cellstore.Family{{Name: "f"}}}))
		tab := must(s.Table(ctx, fmt.Sprint("t", i)))
		must(0, tab.Apply(ctx, cellstore.Mutation{Row: []byte("r"), Ops: []cellstore.Op{cellstore.Put("f", nil, nil)}}))
	}
	var sum int64
	must(0, filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if st, ok := info.Sys().(*syscall.Stat_t); ok && err == nil {
			sum += st.Blocks * 512
		}
		return err
	}))
	if sum > 1<<20 {
		t.Errorf("five tables of a row each take %d bytes of the disk", sum)
	}
}

// oddFS behaves like file systems that lack a feature.
type oddFS struct {
	vfs.FS
	link, lock error
	dirSync    error
}

func (o oddFS) Link(oldName, name string) error {
	if o.link != nil {
		return &os.LinkError{Op: "link", Old: oldName, New: name, Err: o.link}
	}
	return o.FS.Link(oldName, name)
}

func (o oddFS) Lock(name string) (c io.Closer, err error) {
	if o.lock != nil {
		return nil, o.lock
	}
	return o.FS.Lock(name)
}

func (o oddFS) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := o.FS.Create(name, c)
	return oddFile{f, o}, err
}

func (o oddFS) OpenDir(name string) (vfs.File, error) {
	f, err := o.FS.OpenDir(name)
	if o.dirSync == nil || err != nil {
		return f, err
	}
	return oddDir{f, o}, nil
}

type oddFile struct {
	vfs.File
	o oddFS
}

func (f oddFile) Preallocate(int64, int64) error { return syscall.EOPNOTSUPP }

type oddDir struct {
	vfs.File
	o oddFS
}

func (f oddDir) Sync() error { return f.o.dirSync }

// TestOddFileSystems writes, loads and copies on file systems without links (exFAT), without
// space that can be reserved (NFS), and without a way to make directories durable.
func TestOddFileSystems(t *testing.T) {
	for name, odd := range map[string]oddFS{
		"no links":            {link: syscall.EPERM},
		"links unsupported":   {link: syscall.ENOTSUP},
		"too many links":      {link: syscall.EMLINK},
		"no directory sync":   {dirSync: syscall.EINVAL},
		"nothing is reserved": {},
	} {
		t.Run(name, func(t *testing.T) {
			odd.FS = vfs.NewMem()
			s, tab := fixture(t, "s", &Options{FS: odd})
			must(0, tab.Apply(ctx, cellstore.Mutation{Row: []byte("r"), Ops: []cellstore.Op{cellstore.Put("a", nil, nil)}}))
			must(0, s.Compact(ctx, "t"))
			want := must(all(tab, cellstore.Scan{}))
			must(0, s.Checkpoint(ctx, "copy"))
			must(0, s.Close())
			for _, dir := range []string{"s", "copy"} {
				s := must(Open(dir, &Options{FS: odd}))
				if got := must(all(must(s.Table(ctx, "t")), cellstore.Scan{})); got != want {
					t.Errorf("%s: %s", dir, got)
				}
				must(0, s.Close())
			}
		})
	}
	_, err := Open("s", &Options{FS: oddFS{FS: vfs.NewMem(), lock: syscall.ENOLCK}})
	if err == nil || errors.Is(err, cellstore.ErrLocked) || !strings.Contains(err.Error(), "lock") {
		t.Errorf("without locks: %v", err)
	}
}

// TestFilesOfEachFamily loads wide rows whose first family has little data.
func TestFilesOfEachFamily(t *testing.T) {
	mem := vfs.NewMem()
	s := must(Open("s", &Options{FS: mem, FileBytes: 10_000}))
	defer s.Close()
	must(0, s.CreateTable(ctx, cellstore.Schema{
		Table:    "t",
		Families: []cellstore.Family{{Name: "a"}, {Name: "b", Compression: cellstore.CompressionNone}},
	}))
	load := must(must(s.Table(ctx, "t")).Bulk(ctx))
	for i := range 100 {
		key := fmt.Appendf(nil, "%03d", i)
		must(0, load.Add(key, cell("a", "q", 1, "")))
		must(0, load.Add(key, cell("b", "q", 1, strings.Repeat("x", 1000))))
	}
	must(0, load.Commit(ctx))
	count := 0
	for _, name := range files(mem, "s") {
		if strings.HasSuffix(name, ".sst") {
			count++
		}
	}
	if count < 10 {
		t.Errorf("110,000 bytes are in %d files of 10,000", count)
	}
}

// TestLeftScan breaks off a scan while files are being replaced. The old files are then removed.
func TestLeftScan(t *testing.T) {
	mem := vfs.NewMem()
	s, tab := fixture(t, "s", &Options{FS: mem})
	size := func() (n int64) {
		for _, name := range files(mem, "s") {
			if strings.HasSuffix(name, ".sst") {
				n += must(mem.Stat(name)).Size()
			}
		}
		return n
	}
	for ts := range int64(5) {
		fill(t, tab, ts+2, strings.Repeat("x", 1000))
	}
	for range tab.Scan(ctx, cellstore.Scan{}) {
		must(0, s.Compact(ctx, "t"))
		break
	}
	must(0, s.Checkpoint(ctx, "copy")) // of the current files
	var live int64
	for _, name := range files(mem, "copy") {
		if strings.HasSuffix(name, ".sst") {
			live += must(mem.Stat(name)).Size()
		}
	}
	for wait := 0; size() > live; wait++ {
		if wait == 1000 {
			t.Fatalf("%d bytes of sorted files, of which %d are in force", size(), live)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// older converts a table to the format of releases without a ledger.
func older(t *testing.T, fsys vfs.FS) {
	t.Helper()
	path := "s/tables/t/schema.json"
	stored := must(readSchema(fsys, path, "t"))
	stored.ledger = false
	must(0, writeSchema(fsys, path, stored))
}

// TestGoneBackFrom tests that programs without ledgers read and write this program's files. Their
// writes do not count as damage, and later damage is found as before.
func TestGoneBackFrom(t *testing.T) {
	mem := vfs.NewMem()
	s, made := fixture(t, "s", &Options{FS: mem})
	was := must(all(made, cellstore.Scan{}))
	for turn := range 3 {
		must(0, s.Close())
		var file schemaFile
		must(0, json.Unmarshal(must(readFile(mem, "s/tables/t/schema.json")), &file))
		if file.Format != 1 {
			t.Fatalf("the table is of format %d, which the first release does not read", file.Format)
		}
		// The database is opened as an earlier program without ledgers opens it.
		earlier := must(newTable(s, "s/tables/t", must(readSchema(mem, "s/tables/t/schema.json", "t"))))
		o := earlier.engineOptions(earlier.opened, false)
		o.FS, o.Cache, o.FileCache = mem, nil, nil
		db := must(pebble.Open("s/tables/t/db", o))
		key := must(keyIn(db))
		if turn > 0 {
			must(0, db.Set(key, fmt.Appendf(nil, "earlier %d", turn), pebble.Sync))
		}
		must(0, db.Close())
		s = must(Open("s", &Options{FS: mem}))
		tab := must(s.Table(ctx, "t"))
		got := must(all(tab, cellstore.Scan{}))
		if turn == 0 && got != was || turn > 0 && !strings.Contains(got, fmt.Sprintf("%x", fmt.Sprintf("earlier %d", turn))) {
			t.Errorf("turn %d: %s", turn, got)
		}
		must(0, tab.Apply(ctx, cellstore.Mutation{
			Row: fmt.Appendf(nil, "later %d", turn),
			Ops: []cellstore.Op{cellstore.PutAt("a", nil, 1, []byte("x"))},
		}))
	}
	must(0, s.Close())
	var log string
	for _, name := range files(mem, "s") {
		if strings.HasSuffix(name, ".log") {
			log = name
		}
	}
	b := must(readFile(mem, log))
	must(0, writeFile(mem, log, b[:len(b)-1]))
	s = must(Open("s", &Options{FS: mem}))
	_, err := s.Table(ctx, "t")
	wantErr(t, "open a table whose log was cut off", err, cellstore.ErrCorrupt)
	must(0, s.Close())
}

// keyIn returns the first key of a database.
func keyIn(db *pebble.DB) ([]byte, error) {
	it, err := db.NewIter(nil)
	if err != nil {
		return nil, err
	}
	it.First()
	return bytes.Clone(it.Key()), it.Close()
}

// TestOlderTable opens a table without a ledger, and one whose old ledger an earlier release did
// not update. A third table's alteration failed because its ledger could not be written. None of
// them is reported as damaged.
func TestOlderTable(t *testing.T) {
	d := &smallDisk{FS: vfs.NewMem(), tell: true}
	d.room.Store(1 << 30)
	s, tab := fixture(t, "s", &Options{FS: d})
	want := must(all(tab, cellstore.Scan{}))
	must(0, s.Close())
	older(t, d)
	must(0, writeFile(d, "s/tables/t/ledger", []byte("of another time")))
	for _, readOnly := range []bool{true, false} {
		s = must(Open("s", &Options{FS: d, ReadOnly: readOnly}))
		if got := must(all(must(s.Table(ctx, "t")), cellstore.Scan{})); got != want {
			t.Errorf("read only %t: %s", readOnly, got)
		}
		must(0, s.Close())
	}
	if stored := must(readSchema(d, "s/tables/t/schema.json", "t")); !stored.ledger || stored.format != schemaFormat {
		t.Errorf("it has no ledger after it was opened for writing, or another format: %+v", stored)
	}
	older(t, d)
	must(0, d.Remove("s/tables/t/ledger"))
	d.room.Store(100)
	s = must(Open("s", &Options{FS: d}))
	must(s.Table(ctx, "t"))
	err := s.AlterTable(ctx, cellstore.Schema{Table: "t", Families: []cellstore.Family{{Name: "a"}, {Name: "b"}, {Name: "c"}}})
	wantErr(t, "alter on a full disk", err, cellstore.ErrNoSpace)
	d.room.Store(1 << 30)
	must(0, s.Recover(ctx, "t"))
	if got := must(all(must(s.Table(ctx, "t")), cellstore.Scan{})); got != want {
		t.Errorf("after it was recovered: %s", got)
	}
	must(0, s.Close())
}

// TestDropBesideLoads drops a table while loads of it begin. It is gone, and can be created again.
func TestDropBesideLoads(t *testing.T) {
	for range 30 {
		mem := vfs.NewMem()
		s, tab := fixture(t, "s", &Options{FS: mem})
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for {
					load, err := tab.Bulk(ctx)
					if err != nil {
						wantErr(t, "begin a load", err, cellstore.ErrTableNotFound)
						return
					}
					_ = load.Abort() // DropTable may have ended it
				}
			})
		}
		must(0, s.DropTable(ctx, "t"))
		wg.Wait()
		if names := must(s.Tables(ctx)); len(names) != 0 {
			t.Fatalf("%v is left", names)
		}
		must(0, s.CreateTable(ctx, cellstore.Schema{Table: "t", Families: []cellstore.Family{{Name: "a"}}}))
		must(0, s.Close())
	}
}

// TestSalvageOnFullDisk salvages a table on a disk with less room than Salvage needs.
func TestSalvageOnFullDisk(t *testing.T) {
	testrace.SkipUnderRace(t, "one goroutine damages, opens and reads again and again")
	d := &smallDisk{FS: vfs.NewMem()}
	d.room.Store(1 << 30)
	s := must(Open("s", &Options{FS: d}))
	must(0, s.CreateTable(ctx, cellstore.Schema{Table: "t", Families: []cellstore.Family{{Name: "a"}}}))
	load := must(must(s.Table(ctx, "t")).Bulk(ctx))
	noise := testseed.Rand(t)
	for i := range 600 {
		value := make([]byte, 32<<10)
		for j := range value {
			value[j] = byte(noise.Uint32())
		}
		must(0, load.Add(fmt.Appendf(nil, "%04d", i), cellstore.Cell{Family: "a", Timestamp: 1, Value: value}))
	}
	must(0, load.Commit(ctx))
	must(0, s.Close())
	d.room.Store(1 << 20)
	_, err := Salvage(ctx, "s", cellstore.Schema{Table: "t"}, &Options{FS: d}, func(*cellstore.Row) error { return nil })
	wantErr(t, "salvage on a full disk", err, cellstore.ErrNoSpace)
}
