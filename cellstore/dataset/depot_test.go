package dataset

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"quadrille/cellstore"
	"quadrille/cellstore/pebblestore"
)

// remote is a store that several depots share, as if it were far away: a Pebble
// store whose tables have prefixes, and which fails when it is told to.
type remote struct {
	cellstore.Store
	down atomic.Pointer[error] // what every call answers
	left atomic.Int64          // calls until it goes down; below 0 never
	caps cellstore.Capabilities
	// onCheck, unless nil, is called once, before a CheckAndMutate of the pointer.
	onCheck atomic.Pointer[func()]
}

var errDown = fmt.Errorf("test: %w", cellstore.ErrUnavailable)

func newRemote(t testing.TB) *remote {
	t.Helper()
	s, err := pebblestore.Open(filepath.Join(tempDir(t), "remote"), &pebblestore.Options{CacheBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	r := &remote{Store: s}
	r.left.Store(-1)
	return r
}

func (r *remote) fail(err error) {
	if err == nil {
		r.down.Store(nil)
		return
	}
	r.down.Store(&err)
}

func (r *remote) err() error {
	if n := r.left.Load(); n >= 0 && r.left.Add(-1) < 0 {
		r.fail(errDown)
	}
	if e := r.down.Load(); e != nil {
		return *e
	}
	return nil
}

func (r *remote) open(_ context.Context, prefix string) (cellstore.Store, error) {
	if err := r.err(); err != nil {
		return nil, err
	}
	return &prefixed{r, prefix}, nil
}

// prefixed is a remote store whose tables have a prefix. It has the capabilities
// of HBase: none.
type prefixed struct {
	*remote
	prefix string
}

func (p *prefixed) Capabilities() cellstore.Capabilities { return p.caps }
func (p *prefixed) Close() error                         { return nil }

func (p *prefixed) CreateTable(ctx context.Context, s cellstore.Schema) error {
	if err := p.err(); err != nil {
		return err
	}
	s.Table = p.prefix + s.Table
	return p.Store.CreateTable(ctx, s)
}

func (p *prefixed) DropTable(ctx context.Context, name string) error {
	if err := p.err(); err != nil {
		return err
	}
	return p.Store.DropTable(ctx, p.prefix+name)
}

func (p *prefixed) Tables(ctx context.Context) ([]string, error) {
	if err := p.err(); err != nil {
		return nil, err
	}
	all, err := p.Store.Tables(ctx)
	var names []string
	for _, name := range all {
		if own, ok := strings.CutPrefix(name, p.prefix); ok {
			names = append(names, own)
		}
	}
	return names, err
}

func (p *prefixed) Table(ctx context.Context, name string) (cellstore.Table, error) {
	if err := p.err(); err != nil {
		return nil, err
	}
	t, err := p.Store.Table(ctx, p.prefix+name)
	return &remoteTable{t, p.remote}, err
}

type remoteTable struct {
	cellstore.Table
	r *remote
}

func (t *remoteTable) Get(ctx context.Context, key []byte, sel *cellstore.Selection, row *cellstore.Row) (bool, error) {
	if err := t.r.err(); err != nil {
		return false, err
	}
	return t.Table.Get(ctx, key, sel, row)
}

func (t *remoteTable) Apply(ctx context.Context, ms ...cellstore.Mutation) error {
	if err := t.r.err(); err != nil {
		return err
	}
	for i := range ms {
		for j := range ms[i].Ops {
			if ms[i].Ops[j].Timestamp != ms[i].Ops[0].Timestamp {
				return fmt.Errorf("%w: two timestamps in one mutation", errors.ErrUnsupported)
			}
		}
	}
	return t.Table.Apply(ctx, ms...)
}

func (t *remoteTable) CheckAndMutate(ctx context.Context, c cellstore.Check, m cellstore.Mutation) (bool, error) {
	if err := t.r.err(); err != nil {
		return false, err
	}
	if string(c.Qualifier) == string(columnCurrent) {
		if f := t.r.onCheck.Swap(nil); f != nil {
			(*f)()
		}
	}
	return t.Table.CheckAndMutate(ctx, c, m)
}

// depotAt is a depot of a program of its own, with its own files.
func depotAt(t testing.TB, r *remote) *Depot {
	t.Helper()
	d, err := OpenDepot(DepotOptions{Open: r.open, Dir: filepath.Join(tempDir(t), "cache"), Name: "test"})
	if err != nil {
		t.Fatal(err)
	}
	d.patience = 0
	t.Cleanup(func() { d.Close() })
	return d
}

// pushed pushes what is published.
func pushed(t testing.TB, d *Depot, c *Catalog, dataset string) Pushed {
	t.Helper()
	p, err := pushCurrent(t.Context(), d, c, dataset, PushOptions{PartBytes: 1 << 10})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func pushCurrent(ctx context.Context, d *Depot, c *Catalog, dataset string, o PushOptions) (Pushed, error) {
	g, err := c.OpenCurrent(dataset)
	if err != nil {
		return Pushed{}, err
	}
	defer g.Close()
	return d.Push(ctx, g, o)
}

// inDepot reads what a depot has published, file included.
func inDepot(t testing.TB, d *Depot, dataset string) string {
	t.Helper()
	g, err := d.OpenCurrent(t.Context(), dataset)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	text, err := read(t.Context(), g.Store)
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(g.Dir, "extra", "index"))
	if err != nil || string(b) != "index of "+text {
		t.Fatalf("the file beside %q holds %q, %v", text, b, err)
	}
	if err := g.Verify(t.Context()); err != nil {
		t.Fatal(err)
	}
	return text
}

func depotNumbers(t testing.TB, d *Depot) string {
	t.Helper()
	list, err := d.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var s []string
	for _, in := range list {
		n := fmt.Sprint(in.Dataset, in.Generation)
		if in.Current {
			n += "*"
		}
		if in.Err != nil {
			n += "!"
		}
		s = append(s, n)
	}
	return strings.Join(s, " ")
}

func TestDepot(t *testing.T) {
	c, r := newPebbleCatalog(t), newRemote(t)
	d := depotAt(t, r)
	if names, err := d.Datasets(t.Context()); err != nil || names != nil {
		t.Errorf("an empty depot has %v, %v", names, err)
	}
	_, err := d.OpenCurrent(t.Context(), "ip")
	wantErr(t, err, ErrNoGeneration)
	_, err = d.Rollback(t.Context(), "ip")
	wantErr(t, err, ErrNoGeneration)

	mustIngest(t, c, "ip", "one")
	local := mustIngest(t, c, "ip", "two")
	p := pushed(t, d, c, "ip")
	if p.Already || p.Resumed || p.Rows != tableRows || p.Manifest.Generation != local.Generation || len(p.Manifest.Tables) != 1 || p.Manifest.Tables[0].Rows != tableRows {
		t.Errorf("pushed %+v", p)
	}
	if got := inDepot(t, depotAt(t, r), "ip"); got != "two" {
		t.Errorf("the depot has %q", got)
	}
	// Again is nothing.
	if p := pushed(t, d, c, "ip"); !p.Already || p.Rows != 0 {
		t.Errorf("pushed again: %+v", p)
	}
	mustIngest(t, c, "ip", "three")
	pushed(t, d, c, "ip")
	if got := depotNumbers(t, d); got != "ip2 ip3*" {
		t.Errorf("generations %s", got)
	}
	if m, err := d.Rollback(t.Context(), "ip"); err != nil || m.Generation != 2 {
		t.Fatal(m.Generation, err)
	}
	if got := inDepot(t, d, "ip"); got != "two" {
		t.Errorf("rolled back to %q", got)
	}
	// Asked for new ones only, a rollback stays; asked for this one, not.
	if p, err := pushCurrent(t.Context(), d, c, "ip", PushOptions{OnlyNew: true}); err != nil || !p.Already || depotNumbers(t, d) != "ip2* ip3" {
		t.Error(p, err, depotNumbers(t, d))
	}
	if p := pushed(t, d, c, "ip"); !p.Already || depotNumbers(t, d) != "ip2 ip3*" {
		t.Error(p, depotNumbers(t, d))
	}
	if _, err := d.Activate(t.Context(), "ip", 2); err != nil {
		t.Fatal(err)
	}
	_, err = d.Activate(t.Context(), "ip", 9)
	wantErr(t, err, ErrNoGeneration)
	if err := d.Verify(t.Context(), "ip", 3, nil); err != nil {
		t.Error(err)
	}
	if m, err := d.Current(t.Context(), "ip"); err != nil || m.Generation != 2 {
		t.Error(m.Generation, err)
	}
}

func TestDepotPrune(t *testing.T) {
	c, r := newPebbleCatalog(t), newRemote(t)
	d := depotAt(t, r)
	now := when
	d.now = func() time.Time { return now }
	for i := range 4 {
		mustIngest(t, c, "ip", fmt.Sprint("text ", i))
		pushed(t, d, c, "ip")
		now = now.Add(4 * time.Minute)
	}
	// Of 1 to 4: 1 was replaced 12 minutes ago, 2 8 and 3 4.
	done, err := d.Prune(t.Context(), 1, 10*time.Minute)
	if err != nil || len(done.Removed) != 1 || len(done.InUse) != 2 || depotNumbers(t, d) != "ip2 ip3 ip4*" {
		t.Fatal(done, err, depotNumbers(t, d))
	}
	now = now.Add(time.Hour)
	if _, err := d.Rollback(t.Context(), "ip"); err != nil { // to 3; 4 is replaced now
		t.Fatal(err)
	}
	done, err = d.Prune(t.Context(), 0, 10*time.Minute, "ip")
	if err != nil || depotNumbers(t, d) != "ip3* ip4" {
		t.Fatal(done, err, depotNumbers(t, d))
	}
	tables, err := r.Tables(t.Context())
	if err != nil || strings.Join(tables, " ") != "datasets ip.g0000000003.t ip.g0000000004.t" {
		t.Error(tables, err)
	}
	n, err := d.generationRows(t.Context(), "ip")
	if err != nil || len(n) != 2 {
		t.Error(n, err)
	}
	// The number of one that is gone is not used again.
	mustIngest(t, c, "ip", "another")
	if p := pushed(t, d, c, "ip"); p.Manifest.Generation != 5 {
		t.Errorf("generation %d", p.Manifest.Generation)
	}
}

// TestDepotCrash kills a push at every step, by a program that does nothing more
// from there on, its lease included; the next one finishes it.
func TestDepotCrash(t *testing.T) {
	c := newPebbleCatalog(t)
	mustIngest(t, c, "ip", "old")
	old, err := c.OpenCurrent("ip")
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()
	mustIngest(t, c, "ip", "new")
	o := PushOptions{PartBytes: 1 << 10, Workers: 1}
	var names []string
	for crash := 0; ; crash++ {
		r := newRemote(t)
		d := depotAt(t, r)
		if _, err := d.Push(t.Context(), old, o); err != nil {
			t.Fatal(err)
		}
		n, dead := 0, false
		d.onStep = func(step string) error {
			if n++; n > crash {
				if !dead {
					names = append(names, step)
				}
				dead = true
				return errInjected
			}
			return nil
		}
		_, err := pushCurrent(t.Context(), d, c, "ip", o)
		if !dead {
			if err != nil {
				t.Fatal(err)
			}
			break
		}
		step := names[len(names)-1]
		other := depotAt(t, r)
		got := inDepot(t, other, "ip")
		visible := got == "new"
		if got != "old" && !visible || visible != (step == "pointer replaced" || step == "lease released") {
			t.Errorf("after %s the depot has %q", step, got)
		}
		if step != "lease released" {
			wantErr(t, err, errInjected)
			_, err = pushCurrent(t.Context(), other, c, "ip", o)
			if !visible || err != nil {
				wantErr(t, err, ErrBuilding) // the lease still holds
			}
		}
		later := func() time.Time { return time.Now().Add(time.Hour) }
		other.now = later
		p, err := pushCurrent(t.Context(), other, c, "ip", o)
		if err != nil {
			t.Fatalf("after %s: %v", step, err)
		}
		if want := !visible && step != "leased"; p.Resumed != want || p.Already != visible {
			t.Errorf("after %s the push is %+v", step, p)
		}
		if got := inDepot(t, other, "ip"); got != "new" {
			t.Errorf("after %s and another push the depot has %q", step, got)
		}
		// Something else instead takes away what was left.
		if crash%3 != 0 {
			continue
		}
		if tables, err := r.Tables(t.Context()); err != nil || len(tables) != 3 {
			t.Errorf("after %s and another push there are %v, %v", step, tables, err)
		}
	}
	for _, want := range []string{"leased", "noted", "table made", "batch sent", "part noted", "loaded", "piece copied", "files copied", "checked", "manifest written", "pointer replaced", "lease released"} {
		if !strings.Contains(strings.Join(names, ","), want) {
			t.Errorf("no crash after %q", want)
		}
	}
}

// TestDepotLeftovers: what a killed push left goes with the next push of other
// data, and with a prune.
func TestDepotLeftovers(t *testing.T) {
	for _, by := range []string{"push", "prune"} {
		c, r := newPebbleCatalog(t), newRemote(t)
		d := depotAt(t, r)
		mustIngest(t, c, "ip", "one")
		pushed(t, d, c, "ip")
		mustIngest(t, c, "ip", "two")
		d.onStep = func(step string) error {
			if step == "checked" || step == "lease released" {
				return errInjected
			}
			return nil
		}
		_, err := pushCurrent(t.Context(), d, c, "ip", PushOptions{})
		wantErr(t, err, errInjected)
		d.onStep = nil
		d.now = func() time.Time { return time.Now().Add(time.Hour) }
		want := "datasets ip.g0000000001.t"
		if by == "push" {
			mustIngest(t, c, "ip", "three")
			pushed(t, d, c, "ip")
			want += " ip.g0000000003.t"
		} else if _, err := d.Prune(t.Context(), 2, PruneGrace); err != nil {
			t.Fatal(err)
		}
		tables, err := r.Tables(t.Context())
		if err != nil || strings.Join(tables, " ") != want {
			t.Errorf("after %s there are %v, %v", by, tables, err)
		}
	}
}

// TestDepotOutage: the store goes away at every call of a push in turn, and the
// push is finished by another.
func TestDepotOutage(t *testing.T) {
	c := newPebbleCatalog(t)
	mustIngest(t, c, "ip", "new")
	step := int64(1)
	if testing.Short() {
		step = 5
	}
	for calls := int64(0); ; calls += step {
		r := newRemote(t)
		d := depotAt(t, r)
		r.left.Store(calls)
		_, err := pushCurrent(t.Context(), d, c, "ip", PushOptions{PartBytes: 1 << 10, Workers: 2})
		r.left.Store(-1)
		went := r.down.Load() != nil
		r.fail(nil)
		if err != nil {
			wantErr(t, err, cellstore.ErrUnavailable)
			d.now = func() time.Time { return time.Now().Add(time.Hour) }
			pushed(t, d, c, "ip")
		}
		if got := inDepot(t, d, "ip"); got != "new" {
			t.Fatalf("after %d calls the depot has %q", calls, got)
		}
		if !went {
			return
		}
	}
}

// TestDepotTwoPushers: of two at once, one is turned away or both leave one
// state.
func TestDepotTwoPushers(t *testing.T) {
	r := newRemote(t)
	var catalogs []*Catalog
	for i := range 3 {
		c := newPebbleCatalog(t)
		mustIngest(t, c, "ip", fmt.Sprint("by ", i))
		catalogs = append(catalogs, c)
	}
	var wg sync.WaitGroup
	var won atomic.Int64
	for _, c := range catalogs {
		d := depotAt(t, r)
		wg.Go(func() {
			_, err := pushCurrent(t.Context(), d, c, "ip", PushOptions{PartBytes: 1 << 10})
			if err == nil {
				won.Add(1)
			} else if !errors.Is(err, ErrBuilding) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if won.Load() == 0 {
		t.Error("nobody could push")
	}
	d := depotAt(t, r)
	if got := inDepot(t, d, "ip"); !strings.HasPrefix(got, "by ") {
		t.Errorf("the depot has %q", got)
	}
	if got := len(strings.Fields(depotNumbers(t, d))); got != int(won.Load()) {
		t.Errorf("%d generations of %d pushes", got, won.Load())
	}
}

// TestDepotLeaseLost: a push that is taken for dead ends, and does not publish.
func TestDepotLeaseLost(t *testing.T) {
	c, r := newPebbleCatalog(t), newRemote(t)
	mustIngest(t, c, "ip", "slow")
	fast := newPebbleCatalog(t)
	mustIngest(t, fast, "ip", "fast")
	d, other := depotAt(t, r), depotAt(t, r)
	other.now = func() time.Time { return time.Now().Add(time.Hour) }
	d.onStep = func(step string) error {
		if step == "checked" {
			pushed(t, other, fast, "ip")
		}
		return nil
	}
	_, err := pushCurrent(t.Context(), d, c, "ip", PushOptions{})
	wantErr(t, err, ErrBuilding)
	if got := inDepot(t, other, "ip"); got != "fast" {
		t.Errorf("the depot has %q", got)
	}
}

// TestDepotLeaseAhead: a lease that was taken by a clock a year ahead keeps
// nobody out for a year once its program is dead, and whoever renews it keeps it.
func TestDepotLeaseAhead(t *testing.T) {
	r := newRemote(t)
	ahead, d := depotAt(t, r), depotAt(t, r)
	ahead.now = func() time.Time { return time.Now().AddDate(1, 0, 0) }
	ahead.leaseFor, d.leaseFor = 100*time.Millisecond, 2*time.Second // it is renewed often while the other looks
	tab, err := d.create(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	alive, stop := context.WithCancel(t.Context())
	_, l, err := ahead.lease(alive, tab, "ip", "ahead")
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := d.lease(t.Context(), tab, "ip", "me"); !errors.Is(err, ErrBuilding) {
		t.Errorf("a lease that is renewed: %v", err)
	}
	stop() // it is renewed no more, nor given back
	l.stopped.Wait()
	_, mine, err := d.lease(t.Context(), tab, "ip", "me")
	if err != nil {
		t.Fatal(err)
	}
	mine.release(t.Context())
}

// TestDepotPruneAhead: what was replaced by a clock a year ahead is pruned once
// the grace has passed since the clock is right.
func TestDepotPruneAhead(t *testing.T) {
	c, r := newPebbleCatalog(t), newRemote(t)
	d := depotAt(t, r)
	now := when.AddDate(1, 0, 0)
	d.now = func() time.Time { return now }
	for _, text := range []string{"one", "two"} {
		mustIngest(t, c, "ip", text)
		pushed(t, d, c, "ip")
	}
	now = when
	for range 2 {
		if _, err := d.Prune(t.Context(), 1, 10*time.Minute, "ip"); err != nil {
			t.Fatal(err)
		}
		now = now.Add(11 * time.Minute)
	}
	if got := depotNumbers(t, d); got != "ip2*" {
		t.Errorf("generations %s", got)
	}
}

func TestDepotCancel(t *testing.T) {
	c, r := newPebbleCatalog(t), newRemote(t)
	mustIngest(t, c, "ip", "one")
	d := depotAt(t, r)
	ctx, cancel := context.WithCancel(t.Context())
	d.onStep = func(step string) error {
		if step == "batch sent" {
			cancel()
		}
		return nil
	}
	_, err := pushCurrent(ctx, d, c, "ip", PushOptions{})
	wantErr(t, err, context.Canceled)
	d.onStep = nil
	if p := pushed(t, d, c, "ip"); !p.Resumed { // at once: the lease was given back
		t.Errorf("pushed %+v", p)
	}
}
