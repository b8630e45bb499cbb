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
	"quadrille/feature"
	"quadrille/internal/buildtest"
	"quadrille/internal/must"
	"quadrille/places/live"
	"quadrille/quadkey"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// disk is a store whose disk fills and empties. While it is full, durable writes are refused.
// Writes that are not durable by then are lost when the table is opened again.
type disk struct {
	t      testing.TB
	failed error // error of the disk: matches cellstore.ErrNoSpace or not

	mu       sync.Mutex
	mem      *vfs.MemFS
	store    *pebblestore.Store
	full     bool
	breaks   bool // fail after the next write that is not durable
	closes   bool // tables that it refuses to drop
	trouble  error
	reopened int
	refuses  func(op, table string) error // if set, called before a table is opened, made or dropped; may wait
}

func newDisk(t testing.TB) *disk {
	d := &disk{t: t, failed: fmt.Errorf("%w: %w", cellstore.ErrNoSpace, syscall.ENOSPC), mem: vfs.NewCrashableMem()}
	d.open()
	must.Close(t, d)
	return d
}

func (d *disk) open() {
	d.store = must.Get(pebblestore.Open("live", &pebblestore.Options{FS: d.mem, CacheBytes: 1 << 20})).In(d.t)
}

// crash opens the store in the state after a crash at a moment.
func (d *disk) crash(left *vfs.MemFS) {
	_ = d.store.Close()
	d.mem = left
	d.open()
}

// set changes the behaviour of the disk.
func (d *disk) set(change func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	change()
}

func (d *disk) fill(full bool) { d.set(func() { d.full = full }) }

// refuse sets the function that is called before an operation on a table, or nil for none.
func (d *disk) refuse(refuses func(op, table string) error) { d.set(func() { d.refuses = refuses }) }

// refuseAll makes every operation on tables fail with an error, or none if err is nil.
func (d *disk) refuseAll(err error) { d.refuse(func(string, string) error { return err }) }

func (d *disk) refused(op, table string) (err error) {
	var refuses func(op, table string) error
	d.set(func() { refuses = d.refuses })
	if refuses != nil {
		err = refuses(op, table)
	}
	return err
}

func (d *disk) inner() (store *pebblestore.Store) {
	d.set(func() { store = d.store })
	return store
}

func (d *disk) Trouble(string) (err error) {
	d.set(func() { err = d.trouble })
	return err
}

// Recover opens all tables again, because each test has only one table.
func (d *disk) Recover(context.Context, string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.trouble == nil {
		return nil
	}
	d.crash(d.mem.CrashClone(vfs.CrashCloneCfg{}))
	d.reopened++
	if !d.full {
		d.trouble = nil
	}
	return d.trouble
}

func (d *disk) Table(ctx context.Context, name string) (cellstore.Table, error) {
	if err := d.refused("open", name); err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	t, err := d.store.Table(ctx, name)
	if d.full {
		d.trouble = d.failed
	}
	return &diskTable{t, d}, err
}

func (d *disk) CreateTable(ctx context.Context, s cellstore.Schema) error {
	if err := d.refused("create", s.Table); err != nil {
		return err
	}
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
	var left *vfs.MemFS
	d.set(func() {
		if d.closes { // as if the directory of a table could not be renamed
			left = d.mem.CrashClone(vfs.CrashCloneCfg{})
			_ = d.store.DropTable(ctx, name)
		}
	})
	err := d.refused("drop", name)
	d.mu.Lock()
	defer d.mu.Unlock()
	if left != nil {
		d.crash(left)
	}
	if err == nil {
		err = d.store.DropTable(ctx, name)
	}
	return err
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

// noticed collects the reported troubles.
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

func openOn(t testing.TB, store cellstore.Store) (*LiveStore, *noticed) {
	t.Helper()
	n := &noticed{}
	l := must.Get(OpenLiveWith(t.Context(), store, live.Options{Notify: n.add, RetryInterval: time.Millisecond})).In(t)
	must.Close(t, l)
	return l, n
}

// mendRig is a collection with the point 1, on a disk that fills and empties.
type mendRig struct {
	*disk
	l       *LiveStore
	notices *noticed
	c       *LiveCollection
}

func newMendRig(t testing.TB) *mendRig {
	t.Helper()
	r := &mendRig{disk: newDisk(t)}
	r.l, r.notices = openOn(t, r)
	r.c = must.Get(r.l.Create(t.Context(), Meta{Name: "test"})).In(t)
	mustWrite(t, r.c, putNumber(1))
	return r
}

// shut closes the collections.
func (r *mendRig) shut() {
	r.t.Helper()
	must.Do(r.t, r.l.Close())
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

// mustWrite makes all writes in one call. None may fail.
func mustWrite(t testing.TB, c *LiveCollection, writes ...Write) []Outcome {
	t.Helper()
	outcomes := make([]Outcome, len(writes))
	must.Do(t, c.Write(t.Context(), writes, outcomes))
	for i := range outcomes {
		must.Do(t, outcomes[i].Err)
	}
	return outcomes
}

// get returns the error of reading a point.
func get(t testing.TB, c *LiveCollection, id string) error {
	var h Hit
	return c.GetAt(t.Context(), id, time.Time{}, &h)
}

func countOf(t testing.TB, c *LiveCollection) int64 {
	t.Helper()
	return must.Get(c.CountIn(t.Context(), feature.Tile{}, nil, time.Time{})).In(t)
}

// eventually waits until is returns true.
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

// A collection whose disk is full for a while shows exactly the acknowledged writes and accepts
// writes again automatically. Its followers see no gap.
func TestFullDisk(t *testing.T) {
	for name, failed := range map[string]error{
		"no room": fmt.Errorf("%w: %w", cellstore.ErrNoSpace, syscall.ENOSPC), "broken": syscall.EIO,
	} {
		t.Run(name, func(t *testing.T) {
			r := newMendRig(t)
			l, c := r.l, r.c
			r.set(func() { r.failed = failed })
			told := make(chan string, 100)
			ctx, cancel := context.WithCancel(t.Context())
			followed := make(chan error, 1)
			go func() {
				followed <- c.Follow(ctx, 0, func(e *Event) error { told <- e.ID; return nil })
			}()
			for n := 2; n < 20; n++ {
				mustWrite(t, c, putNumber(n))
			}
			r.fill(true)
			err := writeOne(t, c, putNumber(20))
			if !errors.Is(err, ErrRefused) || !errors.Is(err, cellstore.ErrUnknownOutcome) ||
				errors.Is(err, cellstore.ErrNoSpace) != (name == "no room") {
				t.Fatalf("the disk is full: %v", err)
			}
			if n, err := countOf(t, c), get(t, c, "20"); n != 19 || !errors.Is(err, ErrNotFound) {
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
			tries := func() (n int) { r.set(func() { n = r.reopened }); return n }
			was := tries()
			eventually(t, "tried again", func() bool { return tries() > was+2 })
			if n := countOf(t, c); n != 19 {
				t.Fatalf("%d points", n)
			}
			r.fill(false)
			eventually(t, "writes are taken", func() bool { return writeOne(t, c, putNumber(22)) == nil })
			if n := countOf(t, c); n != 20 || l.Troubles() != nil {
				t.Fatalf("%d points, troubles %v", n, l.Troubles())
			}
			for n := 1; n <= 20; n++ {
				if id := <-told; n < 20 && id != fmt.Sprint(n) || n == 20 && id != "22" {
					t.Fatalf("event %d is of %s", n, id)
				}
			}
			cancel()
			if err := <-followed; !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			list := r.notices.all()
			if len(list) != 2 || !errors.Is(list[0].Err, ErrRefused) || list[1].Err != nil {
				t.Fatalf("notices: %v", list)
			}
		})
	}
}

// TestBrokenBeforeItIsDurable tests a write that may have become visible before the table breaks.
// Its outcome is unknown, and never "not done", whatever error the table returns when the write
// should become durable.
func TestBrokenBeforeItIsDurable(t *testing.T) {
	r := newMendRig(t)
	r.set(func() { r.breaks = true })
	if err := writeOne(t, r.c, putNumber(2)); !errors.Is(err, ErrRefused) || !errors.Is(err, cellstore.ErrUnknownOutcome) {
		t.Fatal(err)
	}
}

// TestNewPropertyRefused tests that a write with a new property works as usual after the disk has
// refused it, even if it was the first write to be refused.
func TestNewPropertyRefused(t *testing.T) {
	r := newMendRig(t)
	r.set(func() { r.trouble = r.failed })
	w := putNumber(2)
	w.Properties = []byte(`{"colour":"red"}`)
	if err := writeOne(t, r.c, w); !errors.Is(err, ErrRefused) {
		t.Fatal(err)
	}
	eventually(t, "writes are taken", func() bool { return writeOne(t, r.c, w) == nil })
	if _, known := r.c.Meta().Schema.Lookup("colour"); !known || countOf(t, r.c) != 2 {
		t.Errorf("%+v", r.c.Meta().Schema)
	}
}

// TestJudgedByARefusedWrite tests that a write has an unknown outcome if it depends on an earlier
// write that the disk refuses.
func TestJudgedByARefusedWrite(t *testing.T) {
	r := newMendRig(t)
	r.fill(true)
	absent := putNumber(2)
	absent.IfAbsent = true
	writes := []Write{
		{Kind: Delete, ID: "1"},
		{Kind: Delete, ID: "1"},
		absent,
		absent,
		{Kind: Delete, ID: "2", IfVersions: []int64{1}},
		{Kind: Delete},
	}
	outcomes := make([]Outcome, len(writes))
	must.Do(t, r.c.Write(t.Context(), writes, outcomes))
	for i, o := range outcomes {
		if own := i == len(outcomes)-1; errors.Is(o.Err, cellstore.ErrUnknownOutcome) == own || errors.Is(o.Err, ErrInvalidPoint) != own {
			t.Errorf("write %d: %v", i, o.Err)
		}
	}
	must.Do(t, get(t, r.c, "1"))
}

// TestDiskFillsAndEmpties tests that every query is answered while the disk fills and empties. In
// the end all acknowledged writes are there, and no write is there whose error said that it was not
// done.
func TestDiskFillsAndEmpties(t *testing.T) {
	d := newDisk(t)
	l, _ := openOn(t, d)
	c := must.Get(l.Create(t.Context(), Meta{Name: "test", HistoryRetention: Duration(time.Hour)})).In(t)
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
					_, err = c.CountIn(t.Context(), feature.Tile{Z: 1, X: 1}, nil, time.Time{})
				case 2:
					_, _, err = c.Within(t.Context(), WithinQuery{Area: feature.Tile{}}, nil)
				case 3:
					err = c.ShowTile(t.Context(), quadkey.Tile{}, func(*Shown) error { return nil })
				case 4:
					if err = c.GetAt(t.Context(), fmt.Sprint(r.IntN(50)), time.Time{}, &h); errors.Is(err, ErrNotFound) {
						err = nil
					}
				}
				// Reading a tile may be interrupted.
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
	must.Do(t, c.Each(t.Context(), WithinQuery{Area: feature.Tile{}}, func(h *Hit) error { found[h.ID] = true; return nil }))
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

// The disk is full when the store is opened. The store can be read, and takes writes once there is
// room.
func TestFullAtTheStart(t *testing.T) {
	r := newMendRig(t)
	r.shut()
	r.fill(true)
	l, _ := openOn(t, r)
	c := l.Collection("test")
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
	r.fill(false)
	eventually(t, "writes are taken", func() bool { return writeOne(t, c, putNumber(2)) == nil })
}

// While a collection cannot be read after it was opened again, readers get ErrDamaged or
// ErrUnreadable, without the disk's error. Writers get the disk's error unless the collection is
// damaged. The collection is back once it can be read.
func TestBrokenWhenOpenedAgain(t *testing.T) {
	noRoom := fmt.Errorf("%w: %w", cellstore.ErrNoSpace, syscall.ENOSPC)
	for name, tt := range map[string]struct {
		cause         error
		read, written []error
		never         []error // errors that readers never get
	}{
		"damaged":    {fmt.Errorf("%w: a bit", cellstore.ErrCorrupt), []error{ErrDamaged}, []error{ErrDamaged}, []error{cellstore.ErrCorrupt}},
		"unreadable": {noRoom, []error{ErrUnreadable}, []error{ErrRefused, cellstore.ErrNoSpace}, []error{cellstore.ErrNoSpace, ErrRefused}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newMendRig(t)
			r.fill(true)
			r.refuse(func(op, _ string) error {
				if op == "open" {
					return tt.cause
				}
				return nil
			})
			_ = writeOne(t, r.c, putNumber(2))
			eventually(t, "it cannot be read", func() bool { return errors.Is(get(t, r.c, "1"), tt.read[0]) })
			for _, never := range tt.never {
				if err := get(t, r.c, "1"); errors.Is(err, never) {
					t.Errorf("%v to who reads: %v", never, err)
				}
			}
			for _, want := range tt.written {
				if err := writeOne(t, r.c, putNumber(2)); !errors.Is(err, want) {
					t.Errorf("%v, want %v", err, want)
				}
			}
			if name == "damaged" {
				if err := r.l.Drop(t.Context(), "test"); !errors.Is(err, ErrDamaged) {
					t.Fatal(err)
				}
			}
			r.fill(false)
			r.refuse(nil)
			eventually(t, "it is back", func() bool { return writeOne(t, r.c, putNumber(3)) == nil })
			must.Do(t, errors.Join(get(t, r.c, "1"), get(t, r.c, "3")))
			list := r.notices.all()
			if len(list) < 2 || list[len(list)-1].Err != nil || name == "damaged" && (len(list) != 3 || !errors.Is(list[1].Err, ErrDamaged)) {
				t.Fatalf("notices: %v", list)
			}
		})
	}
}

// A collection that cannot be opened, but is not damaged, is not reported as damaged, and is served
// once it can be read. It must not seem public meanwhile.
func TestUnreadableAtTheStart(t *testing.T) {
	r := newMendRig(t)
	r.shut()
	for _, cause := range []error{syscall.EMFILE, syscall.EACCES, fmt.Errorf("%w: %w", cellstore.ErrNoSpace, syscall.ENOSPC)} {
		r.refuseAll(cause)
		l, notices := openOn(t, r)
		all := l.Troubles()
		if len(all) != 1 || !errors.Is(all[0].Err, ErrUnreadable) || errors.Is(all[0].Err, ErrDamaged) ||
			errors.Is(all[0].Err, cause) || !all[0].Private {
			t.Fatalf("troubles: %v", all)
		}
		_, found := l.Find("test")
		for _, err := range []error{found, l.Drop(t.Context(), "test")} {
			if !errors.Is(err, ErrUnreadable) {
				t.Fatal(err)
			}
		}
		r.refuse(nil)
		eventually(t, "it is served", func() bool { return l.Collection("test") != nil })
		if n := countOf(t, l.Collection("test")); n != 1 || l.Troubles() != nil {
			t.Fatalf("%d points, troubles %v", n, l.Troubles())
		}
		eventually(t, "that is told", func() bool { return len(notices.all()) == 2 })
		must.Do(t, l.Close())
	}
}

// TestTriedAgainWhileOthersAreOpened tests that an unreadable collection is tried again even while
// other collections are still being opened.
func TestTriedAgainWhileOthersAreOpened(t *testing.T) {
	r := newMendRig(t)
	for _, name := range []string{"a", "b"} {
		must.Get(r.l.Create(t.Context(), Meta{Name: name})).In(t)
	}
	r.shut()
	var tries atomic.Int64
	again := make(chan struct{})
	r.refuse(func(_, table string) error {
		switch {
		case table == tablePrefix+"b":
			<-again
		case table != tablePrefix+"a":
		case tries.Add(1) == 1:
			return syscall.EMFILE
		default:
			close(again)
		}
		return nil
	})
	l, _ := openOn(t, r)
	eventually(t, "all are served", func() bool { return len(l.Collections()) == 3 && l.Troubles() == nil })
}

// While a collection is being created, only other calls of Create wait.
func TestNothingWaitsForCreate(t *testing.T) {
	r := newMendRig(t)
	begun, makes := make(chan struct{}), make(chan struct{})
	r.refuse(func(op, _ string) error {
		if op == "create" {
			close(begun)
			<-makes
		}
		return nil
	})
	made := make(chan error)
	create := func() { _, err := r.l.Create(t.Context(), Meta{Name: "other"}); made <- err }
	go create()
	<-begun
	go create()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.l.Create(ctx, Meta{Name: "third"}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if c := r.l.Collection("test"); c != r.c || len(r.l.Collections()) != 1 || r.l.Troubles() != nil || writeOne(t, c, putNumber(2)) != nil {
		t.Error("others are not served")
	}
	if err := r.l.Drop(t.Context(), "test"); err != nil {
		t.Error(err)
	}
	close(makes)
	first, second := <-made, <-made
	if err := errors.Join(first, second); first != nil && second != nil || !errors.Is(err, ErrExists) || r.l.Collection("other") == nil {
		t.Error(first, second)
	}
}

// TestOtherLayout tests that a collection of another layout is reported as such, and is not
// changed.
func TestOtherLayout(t *testing.T) {
	d := newDisk(t)
	for version, want := range map[int]error{SchemaVersion + 1: cellstore.ErrNewer, SchemaVersion - 1: cellstore.ErrOlder} {
		m := &liveMeta{Meta: Meta{Name: "test", SchemaVersion: version}}
		if err := d.CreateTable(t.Context(), m.tableSchema()); err != nil && !errors.Is(err, cellstore.ErrTableExists) {
			t.Fatal(err)
		}
		table := must.Get(d.Table(t.Context(), m.tableSchema().Table)).In(t)
		must.Do(t, table.Apply(t.Context(), m.mutation()))
		l, _ := openOn(t, d)
		if all := l.Troubles(); len(all) != 1 || !errors.Is(all[0].Err, want) || errors.Is(all[0].Err, ErrDamaged) || !all[0].Private {
			t.Fatalf("troubles: %v", all)
		}
		if _, err := l.Create(t.Context(), Meta{Name: "test"}); !errors.Is(err, want) {
			t.Fatal(err)
		}
	}
}

// A removal that the disk refuses leaves the collection as it was, whether the store has closed its
// table or not. Queries, followers and notes of that time get their answers once the table is open
// again.
func TestRefusedDrop(t *testing.T) {
	for _, closes := range []bool{false, true} {
		r := newMendRig(t)
		l, c := r.l, r.c
		r.set(func() { r.closes = closes })
		for range 3 {
			begun, goOn := make(chan struct{}), make(chan struct{})
			r.refuse(func(op, _ string) error {
				if op != "drop" {
					return nil
				}
				close(begun)
				<-goOn
				return r.failed
			})
			dropped := make(chan error)
			go func() { dropped <- l.Drop(t.Context(), "test") }()
			<-begun
			if err := l.Drop(t.Context(), "test"); !errors.Is(err, ErrClosed) {
				t.Error(err)
			}
			asked := make(chan error, 3)
			go func() { asked <- get(t, c, "1") }()
			go func() { asked <- c.Follow(t.Context(), 0, func(*Event) error { return context.Canceled }) }()
			go func() { asked <- c.SetNote(t.Context(), "n", []byte("x"), cellstore.Sync) }()
			time.Sleep(10 * time.Millisecond) // so that they probably find the closed table
			close(goOn)
			if err := <-dropped; !errors.Is(err, cellstore.ErrNoSpace) {
				t.Fatal(err)
			}
			for range cap(asked) {
				if err := <-asked; err != nil && !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
			}
			if n := countOf(t, c); n != 1 || l.Collection("test") != c {
				t.Fatalf("%d points", n)
			}
			eventually(t, "writes are taken", func() bool { return writeOne(t, c, putNumber(1)) == nil })
		}
		r.set(func() { r.closes, r.refuses = false, nil })
		if err := l.Drop(t.Context(), "test"); err != nil || l.Collection("test") != nil {
			t.Fatal(err)
		}
		if err := writeOne(t, c, putNumber(1)); !errors.Is(err, ErrClosed) {
			t.Fatal(err)
		}
		must.Get(l.Create(t.Context(), Meta{Name: "test"})).In(t)
	}
}

// A write waits while the table is opened again. It ends with its context, and is not done.
func TestWriteEndsWithItsContext(t *testing.T) {
	r := newMendRig(t)
	c := r.c
	r.fill(true)
	_ = writeOne(t, c, putNumber(1))
	opens := make(chan struct{})
	r.refuse(func(string, string) error { <-opens; return nil })
	var waiting sync.WaitGroup
	defer waiting.Wait()
	eventually(t, "a write waits", func() bool {
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		waiting.Go(func() { ended <- c.Write(ctx, []Write{putNumber(2)}, make([]Outcome, 1)) })
		time.Sleep(time.Millisecond)
		cancel()
		return errors.Is(<-ended, context.Canceled) // otherwise it was answered before
	})
	r.fill(false)
	close(opens)
	eventually(t, "writes are taken", func() bool { return writeOne(t, c, putNumber(3)) == nil })
	if err := get(t, c, "2"); !errors.Is(err, ErrNotFound) {
		t.Fatal(err)
	}
}

// A table without a description is damaged if it has any rows, and none of them is removed; the
// other collections are served. An empty table was never a collection, and the next collection with
// the name takes it over.
func TestMissingDescription(t *testing.T) {
	ctx := t.Context()
	store := buildtest.NewStore(t)
	l := must.Get(OpenLive(ctx, store)).In(t)
	for _, name := range []string{"damaged", "whole"} {
		mustWrite(t, must.Get(l.Create(ctx, Meta{Name: name})).In(t), putNumber(1))
	}
	must.Do(t, l.Close())
	table := must.Get(store.Table(ctx, tablePrefix+"damaged")).In(t)
	drop(ctx, t, table, []byte{rowMeta}, famMeta)
	must.Do(t, store.CreateTable(ctx, (&liveMeta{Meta: Meta{Name: "unfinished"}}).tableSchema()))
	l, notices := openOn(t, store)
	if list := notices.all(); len(list) != 2 || !errors.Is(list[0].Err, ErrDamaged) || !errors.Is(list[1].Err, ErrUnfinished) {
		t.Fatalf("notices: %v", list)
	}
	if l.Collection("damaged") != nil || len(l.Troubles()) != 1 || countOf(t, l.Collection("whole")) != 1 {
		t.Fatalf("troubles: %v", l.Troubles())
	}
	_, found := l.Find("damaged")
	_, made := l.Create(ctx, Meta{Name: "damaged"})
	for _, err := range []error{found, made, l.Drop(ctx, "damaged")} {
		if !errors.Is(err, ErrDamaged) {
			t.Error(err)
		}
	}
	var row cellstore.Row
	if found, err := table.Get(ctx, appendIDKey(nil, "1"), selectID, &row); err != nil || !found {
		t.Fatal("rows were removed", err)
	}
	c := must.Get(l.Create(ctx, Meta{Name: "unfinished", HistoryRetention: Duration(time.Hour)})).In(t)
	for range 3 {
		mustWrite(t, c, putNumber(1))
	}
	if stops, _, err := c.Track(ctx, "1", time.Time{}, time.Time{}, 10); err != nil || len(stops) != 3 {
		t.Fatalf("%d stops: %v", len(stops), err)
	}
}
