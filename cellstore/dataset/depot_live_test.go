package dataset

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"quadrille/cellstore"
	"quadrille/internal/must"
)

// depotReader is the value of a Live in these tests: a store and the text it must hold.
type depotReader struct {
	g    *Generation
	want string
}

func bindDepot(g *Generation) (depotReader, error) {
	text, err := read(context.Background(), g.Store)
	return depotReader{g, text}, err
}

func liveDepot(t testing.TB, d *Depot) *Live[depotReader] {
	t.Helper()
	l := NewLive(d, "ip", bindDepot)
	l.interval = 10 * time.Millisecond
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

// TestDepotSwaps publishes and prunes under the readers of two servers.
func TestDepotSwaps(t *testing.T) {
	c, r := newPebbleCatalog(t), newRemote(t)
	d := depotAt(t, r)
	mustIngest(t, c, "ip", "text 0")
	pushed(t, d, c, "ip")
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	var requests atomic.Int64
	var lives []*Live[depotReader]
	for range 2 {
		l := liveDepot(t, depotAt(t, r))
		must.Do(t, l.Poll(ctx))
		lives = append(lives, l)
		wg.Go(func() { l.Run(ctx) })
		wg.Go(func() {
			for ctx.Err() == nil {
				h, err := l.Acquire()
				if err != nil {
					t.Error(err)
					return
				}
				x := h.Value()
				if got, err := read(t.Context(), x.g.Store); err != nil || got != x.want {
					t.Errorf("read %q, %v from generation %d of %q", got, err, h.Manifest().Generation, x.want)
				}
				h.Release()
				requests.Add(1)
				time.Sleep(time.Millisecond)
			}
		})
	}
	for i := range 6 {
		mustIngest(t, c, "ip", fmt.Sprint("text ", i+1))
		m := pushed(t, d, c, "ip").Manifest
		for _, l := range lives {
			eventually(t, "the swap", func() bool { s := l.Status(); return s.Serving != nil && s.Serving.Generation == m.Generation })
		}
		if _, err := d.Prune(t.Context(), 2, pruneGrace); err != nil {
			t.Fatal(err)
		}
	}
	cancel()
	wg.Wait()
	if requests.Load() == 0 {
		t.Error("no request was made")
	}
}

// TestDepotDown: while the store cannot be reached, servers can start, and the generation in
// service stays in service.
func TestDepotDown(t *testing.T) {
	c, r := newPebbleCatalog(t), newRemote(t)
	mustIngest(t, c, "ip", "one")
	pushed(t, depotAt(t, r), c, "ip")
	r.fail(errDown)
	l := liveDepot(t, depotAt(t, r))
	wantErr(t, l.Poll(t.Context()), cellstore.ErrUnavailable)
	if st := l.Status(); st.Err == nil || st.Serving != nil {
		t.Errorf("status %+v", st)
	}
	_, err := l.Acquire()
	wantErr(t, err, cellstore.ErrUnavailable)
	_, err = l.AcquireGeneration(1)
	wantErr(t, err, cellstore.ErrUnavailable)
	if errors.Is(err, ErrNoGeneration) || errors.Is(err, ErrPruned) {
		t.Errorf("a store that is down is taken for one without the generation: %v", err)
	}
	r.fail(nil)
	go l.Run(t.Context())
	eventually(t, "recovery", func() bool { return l.Status().Serving != nil })
	r.fail(errDown)
	eventually(t, "the outage in the status", func() bool { return l.Err() != nil })
	h, err := l.Acquire()
	must.Do(t, err)
	h.Release()
	r.fail(nil)
	eventually(t, "recovery", func() bool { return l.Err() == nil })
}

// TestDepotFiles: files beside the store are kept for the next start, fetched again if they differ
// from the published ones, and removed with their generation.
func TestDepotFiles(t *testing.T) {
	c, r := newPebbleCatalog(t), newRemote(t)
	mustIngest(t, c, "ip", "one")
	d := depotAt(t, r)
	pushed(t, d, c, "ip")
	inDepot(t, d, "ip")
	path, err := filepath.Glob(filepath.Join(d.opts.Dir, "ip", "g0000000001-*", "extra", "index"))
	if err != nil || len(path) != 1 {
		t.Fatal(path, err)
	}
	before, err := os.Stat(path[0])
	must.Do(t, err)
	inDepot(t, d, "ip")
	if after, err := os.Stat(path[0]); err != nil || !os.SameFile(before, after) {
		t.Error("a file that was there was fetched again", err)
	}
	must.Do(t, os.WriteFile(path[0], []byte("index of two"), 0o644))
	inDepot(t, d, "ip") // which compares
	// The files of an open generation stay, even if it is not listed any more.
	g, err := d.OpenCurrent(t.Context(), "ip")
	must.Do(t, err)
	d.now = func() time.Time { return time.Now().Add(-time.Hour) }
	mustIngest(t, c, "ip", "two")
	pushed(t, d, c, "ip")
	d.now = time.Now
	if _, err := d.Prune(t.Context(), 1, pruneGrace); err != nil {
		t.Fatal(err)
	}
	inDepot(t, d, "ip")
	if _, err := os.Stat(path[0]); err != nil {
		t.Error("the file of an open generation is gone", err)
	}
	g.Close()
	inDepot(t, d, "ip")
	if _, err := os.Stat(path[0]); !os.IsNotExist(err) {
		t.Error("the file of a generation that is gone is there", err)
	}

	// Damage in the store is reported, and files that were fetched earlier do not hide it.
	t2, err := d.table(t.Context())
	must.Do(t, err)
	err = t2.Apply(t.Context(), cellstore.Mutation{Row: chunkRow("ip", 2, "extra/index", 0),
		Ops: []cellstore.Op{cellstore.Put(familyFile, columnChunk, []byte("index of six"))}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = depotAt(t, r).OpenCurrent(t.Context(), "ip")
	wantErr(t, err, cellstore.ErrCorrupt)
	skips := depotAt(t, r)
	skips.opts.Skip = []string{"extra/index"}
	g, err = skips.OpenCurrent(t.Context(), "ip")
	must.Do(t, err)
	defer g.Close()
	if err := g.Verify(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestDepotDamagedTable tests that Verify, and the check of a push, find that a table has lost a
// row.
func TestDepotDamagedTable(t *testing.T) {
	c, r := newPebbleCatalog(t), newRemote(t)
	mustIngest(t, c, "ip", "one")
	d := depotAt(t, r)
	lose := func() {
		s, err := r.open(t.Context(), tablePrefix("ip", 1))
		must.Do(t, err)
		tab, err := s.Table(t.Context(), "t")
		must.Do(t, err)
		must.Do(t, tab.Apply(t.Context(), cellstore.Mutation{Row: rowKey(7),
			Ops: []cellstore.Op{cellstore.DeleteRow(cellstore.AllVersions)}}))
	}
	d.onStep = func(step string) error {
		if step == "loaded" {
			lose()
		}
		return nil
	}
	_, err := pushCurrent(t.Context(), d, c, "ip", PushOptions{})
	wantErr(t, err, cellstore.ErrCorrupt)
	_, err = d.OpenCurrent(t.Context(), "ip")
	wantErr(t, err, ErrNoGeneration)
	d.onStep = nil
	p := pushed(t, d, c, "ip") // all anew
	if p.Resumed || p.Manifest.Generation != 2 {
		t.Errorf("pushed %+v", p)
	}
	if err := d.Verify(t.Context(), "ip", 0, nil); err != nil {
		t.Error(err)
	}
	must.Do(t, r.DropTable(t.Context(), "ip.g0000000002.t"))
	wantErr(t, d.Verify(t.Context(), "ip", 0, nil), cellstore.ErrCorrupt)
}

// TestDepotPointer tests that an unreadable pointer is restored from the manifests.
func TestDepotPointer(t *testing.T) {
	c, r := newPebbleCatalog(t), newRemote(t)
	d := depotAt(t, r)
	mustIngest(t, c, "ip", "one")
	pushed(t, d, c, "ip")
	tab, err := d.table(t.Context())
	must.Do(t, err)
	for _, bad := range []string{"{", `{"version":99}`, `{"version":1,"current":5,"last":5}`} {
		must.Do(t, tab.Apply(t.Context(), cellstore.Mutation{
			Row: []byte("ip"),
			Ops: []cellstore.Op{cellstore.Put(familyPointer, columnCurrent, []byte(bad))},
		}))
		if _, err := d.OpenCurrent(t.Context(), "ip"); err == nil {
			t.Errorf("%s was taken", bad)
		}
		if list, err := d.List(t.Context()); err != nil || len(list) != 1 || list[0].Err == nil {
			t.Error(list, err)
		}
		_, err := d.Activate(t.Context(), "ip", 1)
		if bad == `{"version":99}` {
			wantErr(t, err, cellstore.ErrNewer)
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		inDepot(t, d, "ip")
	}
}
