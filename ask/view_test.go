package ask_test

import (
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"quadrille/ask"
	"quadrille/cellstore/dataset"
	"quadrille/cellstore/published"
	"quadrille/feature"
	"quadrille/feature/layertest"
	"quadrille/internal/buildtest"
	"quadrille/internal/must"
	"quadrille/places/live"
	"quadrille/places/points"
	"quadrille/quadkey"
)

// numbered is a layer with the number of its generation, and the count of open ones.
type numbered struct {
	feature.Tiler
	number uint64
	open   *atomic.Int64
}

func (n *numbered) Close() error {
	n.open.Add(-1)
	return nil
}

// follow starts to follow a data set.
func follow(t *testing.T, c *dataset.Catalog, name string, open *atomic.Int64) *dataset.Live[*numbered] {
	live := dataset.NewLive(c, name, func(g *dataset.Generation) (*numbered, error) {
		open.Add(1)
		return &numbered{&layertest.Memory{LayerInfo: feature.Info{Name: name, Bounds: quadkey.World, AllPoints: true}},
			g.Manifest.Generation, open}, nil
	})
	must.Close(t, live)
	return live
}

func publish(t *testing.T, c *dataset.Catalog, live *dataset.Live[*numbered], name string) {
	b := must.Get(c.Begin(t.Context(), name)).In(t)
	must.Get(b.Publish(t.Context(), dataset.Manifest{
		SchemaVersion: 1,
		Meta:          json.RawMessage(`{}`),
		Records:       map[string]int64{"rows": 1},
	})).In(t)
	must.Do(t, live.Poll(t.Context()))
}

func numberOf(t *testing.T, v ask.View, name string) uint64 {
	l := must.Get(v.Layer(name)).In(t)
	return l.Layer.(*numbered).number
}

// A view is one moment: two data sets are published alternately, A before B, and no view has a new
// B without the new A. A view keeps its generations open, and all others are closed.
func TestViewIsOneMoment(t *testing.T) {
	c := must.Get(published.OpenCatalog(t.TempDir())).In(t)
	var open atomic.Int64
	first, second := follow(t, c, "first", &open), follow(t, c, "second", &open)
	views := ask.NewViews(ask.Sets{ExtraLayers: []ask.LayerKind{
		ask.SingleLayer("first", func(*ask.Sets) *dataset.Live[*numbered] { return first }),
		ask.SingleLayer("second", func(*ask.Sets) *dataset.Live[*numbered] { return second }),
	}})
	none := views.Take(time.Time{})
	if _, err := none.Layer("first"); !errors.Is(err, ask.ErrMissing) || len(none.LayerNames()) != 0 {
		t.Errorf("before anything is published: %v, %v", err, none.LayerNames())
	}
	publish(t, c, first, "first")
	publish(t, c, second, "second")
	if _, err := none.Layer("first"); !errors.Is(err, ask.ErrMissing) {
		t.Errorf("a view sees what was published after it: %v", err)
	}
	none.Release()

	held := views.Take(time.Time{})
	var asking sync.WaitGroup
	var done atomic.Bool
	for range 4 {
		asking.Go(func() {
			for !done.Load() {
				v := views.Take(time.Time{})
				b := numberOf(t, v, "second")
				a := numberOf(t, v, "first")
				if again := numberOf(t, v, "second"); a != b && a != b+1 || b != again {
					t.Errorf("one view sees %d of the first, and %d and %d of the second", a, b, again)
				}
				v.Release()
			}
		})
	}
	for range 20 {
		publish(t, c, first, "first")
		publish(t, c, second, "second")
	}
	done.Store(true)
	asking.Wait()
	if a, b := numberOf(t, held, "first"), numberOf(t, held, "second"); a != 1 || b != 1 {
		t.Errorf("what is held is %d and %d now", a, b)
	}
	held.Release()
	for n := 0; open.Load() != 2; n++ { // they are closed in the background
		if n > 2000 {
			t.Fatalf("%d generations stay open", open.Load())
		}
		time.Sleep(time.Millisecond)
	}

	older := views.TakeGenerations(map[string]uint64{"first": 20}, time.Time{})
	if n := numberOf(t, older, "first"); n != 20 {
		t.Errorf("generation 20 is %d", n)
	}
	if l, err := older.Layer("second"); !errors.Is(err, ask.ErrMissing) {
		t.Errorf("what is not named is %v, %v", l, err)
	}
	older.Release()
	gone := views.TakeGenerations(map[string]uint64{"first": 99}, time.Time{})
	if _, err := gone.Layer("first"); !errors.Is(err, dataset.ErrNoGeneration) {
		t.Errorf("a generation that never was: %v", err)
	}
	gone.Release()
}

// TestGenerationsHaveNoCollections tests that a view of given generations has no live collections,
// because these have only a present state.
func TestGenerationsHaveNoCollections(t *testing.T) {
	store := must.Get(live.Open(t.Context(), buildtest.NewStore(t), points.LiveKind)).In(t)
	must.Close(t, store)
	must.Get(store.Create(t.Context(), live.Meta{Name: "vans"})).In(t)
	views := ask.NewViews(ask.Sets{Collections: &ask.Collections{Live: store}})
	now, older := views.Take(time.Time{}), views.TakeGenerations(nil, time.Time{})
	defer now.Release()
	defer older.Release()
	if _, err := now.Layer("points:vans"); err != nil || !slices.Equal(now.CollectionNames(), []string{"vans"}) {
		t.Error(err, now.CollectionNames())
	}
	if _, err := older.Layer("points:vans"); !errors.Is(err, ask.ErrNoLayer) || len(older.CollectionNames()) > 0 {
		t.Error(err, older.CollectionNames())
	}
}

// TestViewsOfClosed tests that a view taken after a data set was closed has an error for it.
func TestViewsOfClosed(t *testing.T) {
	m := &layertest.Memory{LayerInfo: feature.Info{Name: "toys", Bounds: quadkey.World, AllPoints: true}}
	live := dataset.NewFixedLive[feature.Tiler](m, dataset.Manifest{Dataset: "toys"})
	views := ask.NewViews(ask.Sets{ExtraLayers: []ask.LayerKind{ask.SingleLayer("toys",
		func(*ask.Sets) *dataset.Live[feature.Tiler] { return live })}})
	v := views.Take(time.Time{})
	if got := v.LayerNames(); !slices.Equal(got, []string{"toys"}) {
		t.Error(got)
	}
	v.Release()
	must.Do(t, live.Close()) // it waits for all handles
	v = views.Take(time.Time{})
	defer v.Release()
	if _, err := v.Layer("toys"); !errors.Is(err, ask.ErrFailed) {
		t.Error(err)
	}
}

// Goroutines take views without allocating, and all share one Memory.
func TestMemory(t *testing.T) {
	type counted struct{ n atomic.Int64 }
	views := ask.NewViews(ask.Sets{})
	var asking sync.WaitGroup
	for range 4 {
		asking.Go(func() {
			for range 1000 {
				v := views.Take(time.Time{})
				ask.Memory[counted](v).n.Add(1)
				v.Release()
			}
		})
	}
	asking.Wait()
	v := views.Take(time.Time{})
	defer v.Release()
	if n := ask.Memory[counted](v).n.Load(); n != 4000 {
		t.Error(n)
	}
}

func BenchmarkTake(b *testing.B) {
	views := ask.NewViews(ask.Sets{})
	b.ReportAllocs()
	for b.Loop() {
		views.Take(time.Time{}).Release()
	}
}
