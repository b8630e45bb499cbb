package points_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"quadrille/cellstore"
	"quadrille/cellstore/pebblestore"
	"quadrille/feature"
	"quadrille/internal/buildtest"
	"quadrille/internal/must"
	"quadrille/internal/testrace"
	"quadrille/places/live"
	"quadrille/places/points"
)

func openLive(t testing.TB) (*points.LiveStore, *points.LiveCollection) {
	t.Helper()
	return openLiveIn(t, buildtest.NewStore(t))
}

func openLiveIn(t testing.TB, store cellstore.Store) (*points.LiveStore, *points.LiveCollection) {
	t.Helper()
	l := must.Get(points.OpenLive(t.Context(), store)).In(t)
	must.Close(t, l)
	c := must.Get(l.Create(t.Context(), points.Meta{Name: "test"})).In(t)
	return l, c
}

func write(t testing.TB, c *points.LiveCollection, writes ...points.Write) []points.Outcome {
	t.Helper()
	outcomes := make([]points.Outcome, len(writes))
	must.Do(t, c.Write(t.Context(), writes, outcomes))
	return outcomes
}

func putOf(p points.Point) points.Write {
	return points.Write{Kind: points.Put, ID: p.ID, Lat: p.Lat, Lon: p.Lon, Properties: p.Properties}
}

// randomWrite returns a write that puts p or a part of it, or removes it, and applies the same
// change to a model.
func randomWrite(r *rand.Rand, p points.Point, model map[string]points.Point) points.Write {
	old, there := model[p.ID]
	w := putOf(p)
	switch k := r.IntN(10); {
	case k == 0:
		delete(model, p.ID)
		return points.Write{Kind: points.Delete, ID: p.ID}
	case k < 3:
		w.Kind, w.Move = points.Patch, true
	case k < 4:
		w.Kind = points.Patch
		p.Lat, p.Lon = old.Lat, old.Lon
	}
	if there || w.Kind == points.Put {
		model[p.ID] = p
	}
	return w
}

// failed reports whether a write has failed for a reason other than a missing point.
func failed(w *points.Write, err error) bool {
	return err != nil && (w.Kind == points.Put || !errors.Is(err, points.ErrNotFound))
}

func inOrder(model map[string]points.Point) reference {
	return slices.SortedFunc(maps.Values(model), func(a, b points.Point) int { return strings.Compare(a.ID, b.ID) })
}

// Create refuses collections beyond the bound. Existing ones stay.
func TestMaxCollections(t *testing.T) {
	l, _ := openLive(t)
	create := func(name string, want error) {
		t.Helper()
		if _, err := l.Create(t.Context(), points.Meta{Name: name}); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", name, err, want)
		}
	}
	l.SetMaxCollections(2)
	create("second", nil)
	create("third", points.ErrTooMany)
	create("test", points.ErrExists)
	create("Third", points.ErrName)
	l.SetMaxCollections(1)
	if err := l.Drop(t.Context(), "test"); err != nil || l.Len() != 1 || l.Collection("second") == nil {
		t.Error(l.Len(), err)
	}
	create("third", points.ErrTooMany)
	if err := l.Drop(t.Context(), "second"); err != nil {
		t.Error(err)
	}
	create("third", nil)
	l.SetMaxCollections(0)
	create("fourth", nil)
}

// A live collection with random changes answers like a list with the same changes, also after a
// restart.
func TestLiveAgainstReference(t *testing.T) {
	testrace.SkipUnderRace(t, "one question or write after the other, which others do at once")
	for name, at := range distributions {
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(2, uint64(len(name))))
			dir := t.TempDir()
			var l *points.LiveStore
			var c *points.LiveCollection
			open := func() func() {
				store := must.Get(pebblestore.Open(dir, nil)).In(t)
				l = must.Get(points.OpenLive(t.Context(), store)).In(t)
				if c = l.Collection("test"); c == nil {
					c = must.Get(l.Create(t.Context(), points.Meta{Name: "test"})).In(t)
				}
				return func() {
					must.Do(t, errors.Join(l.Close(), store.Close()))
				}
			}
			model := map[string]points.Point{}
			rounds, questions := 6, 30
			if testing.Short() {
				rounds, questions = 3, 8
			}
			for round := range rounds {
				shut := open()
				for range 12 {
					var writes []points.Write
					for range r.IntN(150) {
						writes = append(writes, randomWrite(r, randomPoint(r, r.IntN(1000), at), model))
					}
					for i, o := range write(t, c, writes...) {
						if failed(&writes[i], o.Err) {
							t.Fatal(o.Err)
						}
					}
					ref := inOrder(model)
					for range questions / 10 {
						compare(t, c.Collection(), ref, r, at)
					}
				}
				ref := inOrder(model)
				for range questions {
					compare(t, c.Collection(), ref, r, at)
				}
				if shut(); round%2 == 0 {
					shut = open()
					for range questions {
						compare(t, c.Collection(), ref, r, at)
					}
					shut()
				}
			}
		})
	}
}

// While points move, every query sees each point exactly once, at one of its two possible
// positions.
func TestQuestionsWhilePointsMove(t *testing.T) {
	_, c := openLive(t)
	const n = 400
	place := func(r *rand.Rand, i int) points.Write {
		lat, lon := distributions["cities"](r)
		return points.Write{Kind: points.Put, ID: fmt.Sprint("p-", i), Lat: lat, Lon: lon, Properties: []byte(`{"category":"zoo"}`)}
	}
	r := rand.New(rand.NewPCG(3, 3))
	var first []points.Write
	for i := range n {
		first = append(first, place(r, i))
	}
	write(t, c, first...)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(4, uint64(w)))
			outcomes := make([]points.Outcome, 20)
			for {
				select {
				case <-stop:
					return
				default:
				}
				var writes []points.Write
				for range outcomes {
					writes = append(writes, place(r, r.IntN(n)))
				}
				if err := c.Write(t.Context(), writes, outcomes); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	zoo := filters[1].parse(t, c.Meta().Schema)
	questions := 400
	if testing.Short() {
		questions = 100
	}
	for q := range questions {
		seen := map[string]bool{}
		take := func(id string) {
			if seen[id] {
				t.Fatalf("question %d: %s is there twice", q, id)
			}
			seen[id] = true
		}
		switch q % 3 {
		case 0:
			lat, lon := distributions["cities"](r)
			hits, _ := must.Two(c.Nearby(t.Context(), points.NearbyQuery{Lat: lat, Lon: lon, Limit: n}, nil)).In(t)
			for i := range hits {
				take(hits[i].ID)
				if i > 0 && hits[i].DistanceM < hits[i-1].DistanceM {
					t.Fatal("not in order")
				}
			}
		case 1:
			q := points.WithinQuery{Area: feature.Tile{}, Filter: zoo}
			must.Do(t, c.Each(t.Context(), q, func(h *points.Hit) error { take(h.ID); return nil }))
		case 2:
			for i := range n {
				var h points.Hit
				must.Do(t, c.GetAt(t.Context(), fmt.Sprint("p-", i), time.Time{}, &h))
				take(h.ID)
			}
		}
		if len(seen) != n {
			t.Fatalf("question %d: %d points of %d", q, len(seen), n)
		}
	}
	close(stop)
	wg.Wait()
	if got, err := c.CountIn(t.Context(), feature.Tile{}, nil, time.Time{}); err != nil || got != n {
		t.Fatalf("counted %d: %v", got, err)
	}
}

// turns counts steps, and records whether the last step was not yet followed by a pause.
type turns struct {
	steps atomic.Int64
	held  atomic.Bool
}

func (t *turns) Step()  { t.steps.Add(1); t.held.Store(true) }
func (t *turns) Pause() { t.held.Store(false) }

// Commits take a processor for each write, and release it while the disk writes.
func TestCommitsTakeTurns(t *testing.T) {
	var work turns
	l := must.Get(points.OpenLiveWith(t.Context(), buildtest.NewStore(t), live.Options{Turn: func() points.Turn { return &work }})).In(t)
	defer func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}()
	c := must.Get(l.Create(t.Context(), points.Meta{Name: "test"})).In(t)
	for i := range 10 {
		write(t, c, points.Write{Kind: points.Put, ID: "a", Lat: float64(i)}, points.Write{Kind: points.Put, ID: "b"})
		if steps := work.steps.Load(); steps != int64(2*(i+1)) || work.held.Load() {
			t.Fatalf("%d steps after %d writes; a processor is kept: %v", steps, 2*(i+1), work.held.Load())
		}
	}
}

// A follower is behind until it has read all events, and is notified of new ones.
func TestFollower(t *testing.T) {
	_, c := openLive(t)
	move := func(n int) {
		for i := range n {
			write(t, c, points.Write{Kind: points.Put, ID: "a", Lat: float64(i)}, points.Write{Kind: points.Put, ID: "a", Lat: -1})
		}
	}
	move(50)
	f := c.Follower(0)
	read := 0
	for f.HasMore() {
		<-f.Changed()
		events := must.Get(f.Next(t.Context())).In(t)
		read += len(events)
	}
	if read != 100 {
		t.Errorf("%d events of 100", read)
	}
	select {
	case <-f.Changed():
		t.Error("told of an event that is none")
	default:
	}
	move(1)
	<-f.Changed()
	if events, err := f.Next(t.Context()); len(events) != 2 || err != nil || f.HasMore() {
		t.Error(events, err, f.HasMore())
	}
}
