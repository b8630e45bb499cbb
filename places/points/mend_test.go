package points

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"quadrille/cellstore"
	"quadrille/cellstore/pebblestore"
	"quadrille/quadkey"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// disk is a store whose disk fills and empties. While it is full, what is to be durable is
// refused, and what was not durable by then is gone once the table is opened again.
type disk struct {
	t      testing.TB
	failed error // of the disk: matches cellstore.ErrNoSpace or not

	mu       sync.Mutex
	mem      *vfs.MemFS
	store    *pebblestore.Store
	full     bool
	keeps    bool          // refuses to drop tables
	dropping chan struct{} // if set, what closes the table waits for it before it refuses
	breaks   bool          // after the next write that is not to be durable
	broken   error         // of tables that are opened, if set
	damaged  bool          // the next table that is opened again is
	trouble  error
	reopened int
}

func newDisk(t testing.TB) *disk {
	d := &disk{t: t, failed: fmt.Errorf("%w: %w", cellstore.ErrNoSpace, syscall.ENOSPC), mem: vfs.NewCrashableMem()}
	d.open()
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

func (d *disk) open() {
	var err error
	if d.store, err = pebblestore.Open("live", &pebblestore.Options{FS: d.mem, CacheBytes: 1 << 20}); err != nil {
		d.t.Fatal(err)
	}
}

func (d *disk) inner() *pebblestore.Store {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.store
}

func (d *disk) fill(full bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.full = full
}

func (d *disk) Trouble(string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.trouble
}

// Recover opens all tables again, since tests have one.
func (d *disk) Recover(context.Context, string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.trouble == nil {
		return nil
	}
	left := d.mem.CrashClone(vfs.CrashCloneCfg{})
	_ = d.store.Close()
	d.mem = left
	d.open()
	d.reopened++
	if !d.full {
		d.trouble = nil
	}
	return d.trouble
}

func (d *disk) Table(ctx context.Context, name string) (cellstore.Table, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.broken != nil {
		return nil, d.broken
	}
	if d.damaged {
		return nil, fmt.Errorf("%w: a bit", cellstore.ErrCorrupt)
	}
	t, err := d.store.Table(ctx, name)
	if d.full {
		d.trouble = d.failed
	}
	return &diskTable{t, d}, err
}

func (d *disk) CreateTable(ctx context.Context, s cellstore.Schema) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.full {
		return d.failed
	}
	return d.store.CreateTable(ctx, s)
}

func (d *disk) AlterTable(ctx context.Context, s cellstore.Schema) error {
	return d.inner().AlterTable(ctx, s)
}

func (d *disk) DropTable(ctx context.Context, name string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.dropping != nil { // as a table is closed, and its directory cannot be renamed
		left := d.mem.CrashClone(vfs.CrashCloneCfg{})
		_ = d.store.DropTable(ctx, name)
		<-d.dropping
		_ = d.store.Close()
		d.mem = left
		d.open()
		return d.failed
	}
	if d.keeps {
		return d.failed
	}
	return d.store.DropTable(ctx, name)
}

func (d *disk) Tables(ctx context.Context) ([]string, error) { return d.inner().Tables(ctx) }
func (d *disk) Compact(ctx context.Context, t string) error  { return d.inner().Compact(ctx, t) }
func (d *disk) Checkpoint(ctx context.Context, to string) error {
	return d.inner().Checkpoint(ctx, to)
}
func (d *disk) Capabilities() cellstore.Capabilities { return d.inner().Capabilities() }
func (d *disk) Limits() cellstore.Limits             { return d.inner().Limits() }
func (d *disk) Close() error                         { return d.inner().Close() }

type diskTable struct {
	cellstore.Table
	d *disk
}

func (t *diskTable) Apply(ctx context.Context, mutations ...cellstore.Mutation) error {
	t.d.mu.Lock()
	defer t.d.mu.Unlock()
	if t.d.trouble != nil {
		return t.d.trouble
	}
	durable := false
	for _, m := range mutations {
		durable = durable || m.Durability != cellstore.Async
	}
	if t.d.breaks && !durable {
		t.d.breaks, t.d.trouble = false, t.d.failed
	}
	if !t.d.full || !durable {
		return t.Table.Apply(ctx, mutations...)
	}
	unknown := &cellstore.BatchError{Errs: map[int]error{}}
	for i := range mutations {
		unknown.Errs[i] = fmt.Errorf("%w: %w", cellstore.ErrUnknownOutcome, t.d.failed)
		mutations[i].Durability = cellstore.Async
	}
	t.d.trouble = t.d.failed
	if len(mutations[0].Ops) > 0 {
		_ = t.Table.Apply(ctx, mutations...)
	}
	return unknown
}

// noticed collects notices.
type noticed struct {
	mu   sync.Mutex
	list []Trouble
}

func (n *noticed) add(t Trouble) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.list = append(n.list, t)
}

func (n *noticed) all() []Trouble {
	n.mu.Lock()
	defer n.mu.Unlock()
	return append([]Trouble(nil), n.list...)
}

func openOn(t testing.TB, store cellstore.Store) (*Live, *noticed) {
	t.Helper()
	n := &noticed{}
	l, err := LiveOptions{Notify: n.add, pause: time.Millisecond}.Open(t.Context(), store)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l, n
}

func must[T any](t testing.TB) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func putNumber(n int) Write {
	return Write{Kind: Put, ID: fmt.Sprint(n), Lat: float64(n%80) + 0.5, Lon: float64(n % 170), Properties: fmt.Appendf(nil, `{"n":%d}`, n)}
}

func writeOne(t testing.TB, c *LiveCollection, w Write) error {
	t.Helper()
	var o [1]Outcome
	if err := c.Write(t.Context(), []Write{w}, o[:]); err != nil {
		return err
	}
	return o[0].Err
}

func countOf(t testing.TB, c *LiveCollection) int64 {
	t.Helper()
	return must[int64](t)(c.Count(t.Context(), Tile{}, nil, time.Time{}))
}

// eventually waits for what comes by itself.
func eventually(t testing.TB, what string, is func() bool) {
	t.Helper()
	for range 20_000 {
		if is() {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatal("never: " + what)
}

// A collection whose disk is full for a while shows what was acknowledged, all of that and
// nothing else, takes writes again by itself, and those who follow it notice no gap.
func TestFullDisk(t *testing.T) {
	for name, failed := range map[string]error{
		"no room": fmt.Errorf("%w: %w", cellstore.ErrNoSpace, syscall.ENOSPC), "broken": syscall.EIO,
	} {
		t.Run(name, func(t *testing.T) {
			d := newDisk(t)
			d.failed = failed
			l, notices := openOn(t, d)
			c := must[*LiveCollection](t)(l.Create(t.Context(), Meta{Name: "test"}))
			told := make(chan string, 100)
			ctx, cancel := context.WithCancel(t.Context())
			followed := make(chan error, 1)
			go func() {
				followed <- c.Follow(ctx, 0, func(e *Event) error { told <- e.ID; return nil })
			}()
			for n := range 20 {
				if err := writeOne(t, c, putNumber(n)); err != nil {
					t.Fatal(err)
				}
			}
			d.fill(true)
			err := writeOne(t, c, putNumber(20))
			if !errors.Is(err, ErrRefused) || !errors.Is(err, cellstore.ErrUnknownOutcome) || errors.Is(err, cellstore.ErrNoSpace) != (name == "no room") {
				t.Fatalf("the disk is full: %v", err)
			}
			var h Hit
			if n, err := countOf(t, c), c.Get(t.Context(), "20", &h); n != 20 || !errors.Is(err, ErrNotFound) {
				t.Fatalf("%d points; the one that was refused: %v", n, err)
			}
			if err := writeOne(t, c, putNumber(21)); !errors.Is(err, ErrRefused) || errors.Is(err, cellstore.ErrUnknownOutcome) {
				t.Fatalf("later: %v", err)
			}
			if err := c.SetNote(t.Context(), "n", []byte("x"), cellstore.Sync); !errors.Is(err, ErrRefused) {
				t.Fatalf("a note: %v", err)
			}
			if all := l.Troubles(); len(all) != 1 || all[0].Name != "test" || !errors.Is(all[0].Err, ErrRefused) {
				t.Fatalf("troubles: %v", all)
			}
			tries := func() int { d.mu.Lock(); defer d.mu.Unlock(); return d.reopened }
			was := tries()
			eventually(t, "tried again", func() bool { return tries() > was+2 })
			if n := countOf(t, c); n != 20 {
				t.Fatalf("%d points", n)
			}
			d.fill(false)
			eventually(t, "writes are taken", func() bool { return writeOne(t, c, putNumber(22)) == nil })
			if n := countOf(t, c); n != 21 || l.Troubles() != nil {
				t.Fatalf("%d points, troubles %v", n, l.Troubles())
			}
			for n := range 21 {
				if id := <-told; n < 20 && id != fmt.Sprint(n) || n == 20 && id != "22" {
					t.Fatalf("event %d is of %s", n, id)
				}
			}
			cancel()
			if err := <-followed; !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			list := notices.all()
			if len(list) != 2 || !errors.Is(list[0].Err, ErrRefused) || list[1].Err != nil {
				t.Fatalf("notices: %v", list)
			}
		})
	}
}

// A write that was made before the table broke is never said not to be there, whatever the
// table says of the write that was to make it durable.
func TestBrokenBeforeItIsDurable(t *testing.T) {
	d := newDisk(t)
	l, _ := openOn(t, d)
	c := must[*LiveCollection](t)(l.Create(t.Context(), Meta{Name: "test"}))
	d.mu.Lock()
	d.breaks = true
	d.mu.Unlock()
	if err := writeOne(t, c, putNumber(1)); !errors.Is(err, ErrRefused) || !errors.Is(err, cellstore.ErrUnknownOutcome) {
		t.Fatal(err)
	}
}

// What is judged by a write that the disk refuses is not known either.
func TestJudgedByARefusedWrite(t *testing.T) {
	d := newDisk(t)
	l, _ := openOn(t, d)
	c := must[*LiveCollection](t)(l.Create(t.Context(), Meta{Name: "test"}))
	if err := writeOne(t, c, putNumber(1)); err != nil {
		t.Fatal(err)
	}
	d.fill(true)
	absent := putNumber(2)
	absent.IfAbsent = true
	writes := []Write{{Kind: Delete, ID: "1"}, {Kind: Delete, ID: "1"}, absent, absent, {Kind: Delete, ID: "2", IfVersions: []int64{1}}, {Kind: Delete}}
	outcomes := make([]Outcome, len(writes))
	if err := c.Write(t.Context(), writes, outcomes); err != nil {
		t.Fatal(err)
	}
	for i, o := range outcomes {
		if own := i == len(outcomes)-1; errors.Is(o.Err, cellstore.ErrUnknownOutcome) == own || errors.Is(o.Err, ErrPoint) != own {
			t.Errorf("write %d: %v", i, o.Err)
		}
	}
	var h Hit
	if err := c.Get(t.Context(), "1", &h); err != nil {
		t.Fatal(err)
	}
}

// While the disk fills and empties, every question is answered, and in the end all is
// there that was acknowledged, and nothing that was refused for certain.
func TestDiskFillsAndEmpties(t *testing.T) {
	d := newDisk(t)
	l, _ := openOn(t, d)
	c := must[*LiveCollection](t)(l.Create(t.Context(), Meta{Name: "test", History: Duration(time.Hour)}))
	stop := make(chan struct{})
	var wg sync.WaitGroup
	const writers = 4
	var acked, unknown [writers]map[int]bool
	for w := range writers {
		acked[w], unknown[w] = map[int]bool{}, map[int]bool{}
		wg.Go(func() {
			for n := w; ; n += writers {
				select {
				case <-stop:
					return
				default:
				}
				switch err := writeOne(t, c, putNumber(n)); {
				case err == nil:
					acked[w][n] = true
				case errors.Is(err, cellstore.ErrUnknownOutcome):
					unknown[w][n] = true
				case !errors.Is(err, ErrRefused):
					t.Error(err)
				}
			}
		})
	}
	var asked atomic.Int64
	for q := range 3 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(1, uint64(q)))
			for {
				select {
				case <-stop:
					return
				default:
				}
				var err error
				var h Hit
				switch r.IntN(5) {
				case 0:
					_, _, err = c.Nearby(t.Context(), NearbyQuery{Lat: r.Float64() * 80, Lon: r.Float64() * 170}, nil)
				case 1:
					_, err = c.Count(t.Context(), Tile{Z: 1, X: 1}, nil, time.Time{})
				case 2:
					_, _, err = c.Within(t.Context(), WithinQuery{Area: Tile{}}, nil)
				case 3:
					err = c.ShowTile(t.Context(), quadkey.Tile{}, func(*Shown) error { return nil })
				case 4:
					if err = c.Get(t.Context(), fmt.Sprint(r.IntN(50)), &h); errors.Is(err, ErrNotFound) {
						err = nil
					}
				}
				// A tile that is being told is cut off.
				if err != nil && !errors.Is(err, cellstore.ErrClosed) {
					t.Error(err)
					return
				}
				asked.Add(1)
			}
		})
	}
	rounds := 30
	if testing.Short() {
		rounds = 8
	}
	for round := range rounds {
		before := asked.Load()
		d.fill(round%2 == 0)
		eventually(t, "the collection notices", func() bool { return (c.Trouble() != nil) == (round%2 == 0) })
		eventually(t, "questions are answered", func() bool { return asked.Load() > before+20 })
	}
	d.fill(false)
	eventually(t, "writes are taken", func() bool { return c.Trouble() == nil })
	close(stop)
	wg.Wait()
	n := 0
	found := map[string]bool{}
	if err := c.Each(t.Context(), WithinQuery{Area: Tile{}}, func(h *Hit) error { found[h.ID] = true; return nil }); err != nil {
		t.Fatal(err)
	}
	for w := range writers {
		for i := range acked[w] {
			if n++; !found[fmt.Sprint(i)] {
				t.Errorf("%d was acknowledged and is not there", i)
			}
		}
		for i := range unknown[w] {
			if found[fmt.Sprint(i)] {
				n++
			}
		}
	}
	if int(countOf(t, c)) != len(found) || n != len(found) {
		t.Fatalf("%d points are counted and %d found, %d were written", countOf(t, c), len(found), n)
	}
}

// A store whose disk is full when it is opened can be read, and takes writes once there is
// room.
func TestFullAtTheStart(t *testing.T) {
	d := newDisk(t)
	l, _ := openOn(t, d)
	c := must[*LiveCollection](t)(l.Create(t.Context(), Meta{Name: "test"}))
	if err := writeOne(t, c, putNumber(1)); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	d.fill(true)
	l, _ = openOn(t, d)
	c = l.Collection("test")
	if n := countOf(t, c); n != 1 {
		t.Fatalf("%d points", n)
	}
	eventually(t, "the trouble is told", func() bool { return len(l.Troubles()) == 1 })
	if err := writeOne(t, c, putNumber(2)); !errors.Is(err, cellstore.ErrNoSpace) {
		t.Fatal(err)
	}
	if _, err := l.Create(t.Context(), Meta{Name: "other"}); !errors.Is(err, cellstore.ErrNoSpace) {
		t.Fatal(err)
	}
	d.fill(false)
	eventually(t, "writes are taken", func() bool { return writeOne(t, c, putNumber(2)) == nil })
}

// What cannot be read once it is opened again is told as damaged, and comes back when it
// can.
func TestDamagedWhenOpenedAgain(t *testing.T) {
	d := newDisk(t)
	l, notices := openOn(t, d)
	c := must[*LiveCollection](t)(l.Create(t.Context(), Meta{Name: "test"}))
	d.fill(true)
	d.mu.Lock()
	d.damaged = true
	d.mu.Unlock()
	_ = writeOne(t, c, putNumber(1))
	var h Hit
	eventually(t, "it is damaged", func() bool { return errors.Is(c.Get(t.Context(), "1", &h), ErrDamaged) })
	if err := writeOne(t, c, putNumber(2)); !errors.Is(err, ErrDamaged) {
		t.Fatal(err)
	}
	d.mu.Lock()
	d.damaged, d.full = false, false
	d.mu.Unlock()
	eventually(t, "it is back", func() bool { return writeOne(t, c, putNumber(3)) == nil })
	if err := c.Get(t.Context(), "3", &h); err != nil {
		t.Fatal(err)
	}
	if list := notices.all(); len(list) != 3 || !errors.Is(list[1].Err, ErrDamaged) || list[2].Err != nil {
		t.Fatalf("notices: %v", list)
	}
}

// A collection that cannot be opened for another reason than damage is not called damaged,
// and is served once it can be read. Nobody may take it for a public one meanwhile.
func TestUnreadableAtTheStart(t *testing.T) {
	d := newDisk(t)
	l, _ := openOn(t, d)
	c := must[*LiveCollection](t)(l.Create(t.Context(), Meta{Name: "test"}))
	if err := writeOne(t, c, putNumber(1)); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	breaks := func(err error) { d.mu.Lock(); defer d.mu.Unlock(); d.broken = err }
	for _, cause := range []error{syscall.EMFILE, syscall.EACCES, fmt.Errorf("%w: %w", cellstore.ErrNoSpace, syscall.ENOSPC)} {
		breaks(cause)
		l, notices := openOn(t, d)
		all := l.Troubles()
		if len(all) != 1 || !errors.Is(all[0].Err, ErrUnreadable) || errors.Is(all[0].Err, ErrDamaged) || errors.Is(all[0].Err, cause) || !all[0].Private {
			t.Fatalf("troubles: %v", all)
		}
		if err := l.Drop(t.Context(), "test"); !errors.Is(err, ErrUnreadable) {
			t.Fatal(err)
		}
		breaks(nil)
		eventually(t, "it is served", func() bool { return l.Collection("test") != nil })
		if n := countOf(t, l.Collection("test")); n != 1 || l.Troubles() != nil {
			t.Fatalf("%d points, troubles %v", n, l.Troubles())
		}
		eventually(t, "that is told", func() bool { return len(notices.all()) == 2 })
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// Reads of a table that cannot be opened again are not told what writes are told.
func TestUnreadableWhenOpenedAgain(t *testing.T) {
	d := newDisk(t)
	l, _ := openOn(t, d)
	c := must[*LiveCollection](t)(l.Create(t.Context(), Meta{Name: "test"}))
	d.fill(true)
	d.mu.Lock()
	d.broken = d.failed
	d.mu.Unlock()
	_ = writeOne(t, c, putNumber(1))
	var h Hit
	eventually(t, "it cannot be read", func() bool { return errors.Is(c.Get(t.Context(), "1", &h), ErrUnreadable) })
	if err := c.Get(t.Context(), "1", &h); errors.Is(err, cellstore.ErrNoSpace) || errors.Is(err, ErrRefused) {
		t.Fatal(err)
	}
	if err := writeOne(t, c, putNumber(2)); !errors.Is(err, ErrRefused) || !errors.Is(err, cellstore.ErrNoSpace) {
		t.Fatal(err)
	}
	d.mu.Lock()
	d.broken, d.full = nil, false
	d.mu.Unlock()
	eventually(t, "it is back", func() bool { return writeOne(t, c, putNumber(3)) == nil })
}

// A collection of another layout is told as such, and left as it is.
func TestOtherLayout(t *testing.T) {
	d := newDisk(t)
	for version, want := range map[int]error{SchemaVersion + 1: ErrNewer, SchemaVersion - 1: ErrOlder} {
		m := &liveMeta{Meta: Meta{Name: "test", SchemaVersion: version}}
		if err := d.CreateTable(t.Context(), m.tableSchema()); err != nil && !errors.Is(err, cellstore.ErrTableExists) {
			t.Fatal(err)
		}
		table := must[cellstore.Table](t)(d.Table(t.Context(), m.tableSchema().Table))
		if err := table.Apply(t.Context(), m.mutation()); err != nil {
			t.Fatal(err)
		}
		l, _ := openOn(t, d)
		if all := l.Troubles(); len(all) != 1 || !errors.Is(all[0].Err, want) || errors.Is(all[0].Err, ErrDamaged) || !all[0].Private {
			t.Fatalf("troubles: %v", all)
		}
		if _, err := l.Create(t.Context(), Meta{Name: "test"}); !errors.Is(err, want) {
			t.Fatal(err)
		}
	}
}

// A removal that the disk refuses leaves the collection as it was.
func TestRefusedDrop(t *testing.T) {
	d := newDisk(t)
	l, _ := openOn(t, d)
	c := must[*LiveCollection](t)(l.Create(t.Context(), Meta{Name: "test"}))
	if err := writeOne(t, c, putNumber(1)); err != nil {
		t.Fatal(err)
	}
	d.keeps = true
	for range 3 {
		if err := l.Drop(t.Context(), "test"); !errors.Is(err, cellstore.ErrNoSpace) {
			t.Fatal(err)
		}
		if n := countOf(t, c); n != 1 || l.Collection("test") != c {
			t.Fatalf("%d points", n)
		}
		eventually(t, "writes are taken", func() bool { return writeOne(t, c, putNumber(1)) == nil })
	}
	d.keeps = false
	if err := l.Drop(t.Context(), "test"); err != nil || l.Collection("test") != nil {
		t.Fatal(err)
	}
	if err := writeOne(t, c, putNumber(1)); !errors.Is(err, ErrClosed) {
		t.Fatal(err)
	}
	must[*LiveCollection](t)(l.Create(t.Context(), Meta{Name: "test"}))
}

// What asks or follows a collection while its removal is refused is answered once the table
// is open again.
func TestAskedWhileDropIsRefused(t *testing.T) {
	d := newDisk(t)
	l, _ := openOn(t, d)
	c := must[*LiveCollection](t)(l.Create(t.Context(), Meta{Name: "test"}))
	if err := writeOne(t, c, putNumber(1)); err != nil {
		t.Fatal(err)
	}
	d.dropping = make(chan struct{})
	table, dropped := c.now.Load().table, make(chan error)
	go func() { dropped <- l.Drop(t.Context(), "test") }()
	var row cellstore.Row
	eventually(t, "the table is closed", func() bool {
		_, err := table.Get(t.Context(), sequenceRow, &cellstore.Selection{}, &row)
		return errors.Is(err, cellstore.ErrTableNotFound)
	})
	asked := make(chan error, 3)
	go func() { var h Hit; asked <- c.Get(t.Context(), "1", &h) }()
	go func() { asked <- c.Follow(t.Context(), 0, func(*Event) error { return context.Canceled }) }()
	go func() { asked <- c.SetNote(t.Context(), "n", []byte("x"), cellstore.Sync) }()
	time.Sleep(10 * time.Millisecond) // only so that they are likely to meet the closed table
	close(d.dropping)
	if err := <-dropped; !errors.Is(err, cellstore.ErrNoSpace) {
		t.Fatal(err)
	}
	for range cap(asked) {
		if err := <-asked; err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
	d.dropping = nil
}

// A write that waits while the table is opened again ends with its context, and is not made.
func TestWriteEndsWithItsContext(t *testing.T) {
	d := newDisk(t)
	l, _ := openOn(t, d)
	c := must[*LiveCollection](t)(l.Create(t.Context(), Meta{Name: "test"}))
	d.fill(true)
	_ = writeOne(t, c, putNumber(1))
	release := holdMending(l)
	stuck := func() bool { return len(c.requests) > 0 }
	var waiting sync.WaitGroup
	defer waiting.Wait()
	eventually(t, "a write waits", func() bool {
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		waiting.Go(func() { ended <- c.Write(ctx, []Write{putNumber(2)}, make([]Outcome, 1)) })
		time.Sleep(time.Millisecond)
		was := stuck()
		cancel()
		err := <-ended
		return was && errors.Is(err, context.Canceled)
	})
	d.fill(false)
	release()
	eventually(t, "writes are taken", func() bool { return writeOne(t, c, putNumber(3)) == nil })
	var h Hit
	if err := c.Get(t.Context(), "2", &h); !errors.Is(err, ErrNotFound) {
		t.Fatal(err)
	}
}

func holdMending(l *Live) (release func()) {
	l.mending <- struct{}{}
	return func() { <-l.mending }
}

// A table that lacks the description of its collection is damaged if it holds anything,
// and nothing of it is removed; the others are served. An empty one was never a collection,
// and is taken by the next one of the name.
func TestMissingDescription(t *testing.T) {
	ctx := t.Context()
	store := must[*pebblestore.Store](t)(pebblestore.Open(t.TempDir(), nil))
	defer store.Close()
	l := must[*Live](t)(OpenLive(ctx, store))
	for _, name := range []string{"damaged", "whole"} {
		c := must[*LiveCollection](t)(l.Create(ctx, Meta{Name: name}))
		if err := writeOne(t, c, putNumber(1)); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	table := must[cellstore.Table](t)(store.Table(ctx, tablePrefix+"damaged"))
	if err := table.Apply(ctx, cellstore.Mutation{Row: []byte{rowMeta}, Ops: []cellstore.Op{cellstore.DeleteColumn(famMeta, nil, cellstore.All)}}); err != nil {
		t.Fatal(err)
	}
	if err := store.CreateTable(ctx, (&liveMeta{Meta: Meta{Name: "unfinished"}}).tableSchema()); err != nil {
		t.Fatal(err)
	}
	l, notices := openOn(t, store)
	if list := notices.all(); len(list) != 2 || !errors.Is(list[0].Err, ErrDamaged) || !errors.Is(list[1].Err, ErrUnfinished) {
		t.Fatalf("notices: %v", list)
	}
	if _, is := l.Damaged("damaged"); !is || l.Collection("damaged") != nil || len(l.Troubles()) != 1 || countOf(t, l.Collection("whole")) != 1 {
		t.Fatalf("damaged: %v, troubles: %v", is, l.Troubles())
	}
	if _, err := l.Create(ctx, Meta{Name: "damaged"}); !errors.Is(err, ErrDamaged) {
		t.Fatal(err)
	}
	if err := l.Drop(ctx, "damaged"); !errors.Is(err, ErrDamaged) {
		t.Fatal(err)
	}
	var row cellstore.Row
	if found, err := table.Get(ctx, appendIDKey(nil, "1"), selectID, &row); err != nil || !found {
		t.Fatal("rows were removed", err)
	}
	c := must[*LiveCollection](t)(l.Create(ctx, Meta{Name: "unfinished", History: Duration(time.Hour)}))
	for range 3 {
		if err := writeOne(t, c, putNumber(1)); err != nil {
			t.Fatal(err)
		}
	}
	if stops, _, err := c.Track(ctx, "1", time.Time{}, time.Time{}, 10); err != nil || len(stops) != 3 {
		t.Fatalf("%d stops: %v", len(stops), err)
	}
}
