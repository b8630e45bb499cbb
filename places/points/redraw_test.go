package points

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"quadrille/cellstore/pebblestore"
	"quadrille/internal/must"
)

// zone returns the area of a position in an edition: areas are stripes that move from edition to
// edition.
func zone(edition uint64, lon float64) int { return int(math.Floor((lon + 7*float64(edition)) / 20)) }

// between returns a function that reports whether two editions have a position in different zones.
func between(from, to uint64) Differs {
	return func(_ context.Context, _, lon float64) (bool, error) { return zone(from, lon) != zone(to, lon), nil }
}

// watcher derives the zone of each point from events alone.
type watcher struct {
	t       *testing.T
	last    uint64
	zones   map[string]int
	redrawn int
}

// take applies an event.
func (w *watcher) take(e *Event) {
	was := e.Edition
	if e.PreviousEdition != 0 {
		was = e.PreviousEdition
		if w.redrawn++; e.From == nil || e.To == nil || *e.From != *e.To {
			w.t.Errorf("an area was redrawn around a point that moves: %+v", e)
		}
	}
	known, is := w.zones[e.ID]
	if is != (e.From != nil) || is && known != zone(was, e.From[0]) {
		w.t.Errorf("%+v, and the point was in %d (%v)", e, known, is)
	}
	if delete(w.zones, e.ID); e.To != nil {
		w.zones[e.ID] = zone(e.Edition, e.To[0])
	}
	w.last = e.Seq
}

// follow applies all new events.
func (w *watcher) follow(c *LiveCollection) {
	for f := c.Follower(w.last); f.HasMore(); {
		events := must.Get(f.Next(w.t.Context())).In(w.t)
		for i := range events {
			w.take(&events[i])
		}
	}
}

// While points move and the server is killed, areas are redrawn again and again. Each crossing
// gives one event: a point always leaves the area that it entered last.
func TestRedrawWhilePointsMove(t *testing.T) {
	for _, history := range []Duration{0, Duration(time.Hour)} {
		d := newDisk(t)
		l, _ := openOn(t, d)
		c := must.Get(l.Create(t.Context(), Meta{Name: "test", HistoryRetention: history})).In(t)
		must.Get(c.Redraw(t.Context(), Edition{}, Edition{Number: 1, Identity: 1}, nil)).In(t)
		r := rand.New(rand.NewPCG(1, uint64(history)))
		const ids = 3*redrawn + 10
		model := map[string]float64{}
		moves := func(r *rand.Rand, n int) {
			for range n {
				w := Write{Kind: Put, ID: fmt.Sprintf("p%03d", r.IntN(ids)), Lat: 1, Lon: float64(r.IntN(3600)-1800) / 10}
				if r.IntN(8) == 0 {
					w.Kind = Delete
				}
				switch err := writeOne(t, c, w); {
				case err != nil && !errors.Is(err, ErrNotFound):
					t.Error(err)
				case w.Kind == Put:
					model[w.ID] = w.Lon
				default:
					delete(model, w.ID)
				}
			}
		}
		moves(r, 2*ids)
		w := &watcher{t: t, zones: map[string]int{}}
		restarts := 0
		for edition := uint64(2); edition < 8; edition++ {
			for done := false; !done; {
				var wg sync.WaitGroup
				wg.Go(func() { moves(rand.New(rand.NewPCG(r.Uint64(), 1)), 40) })
				now, next := c.Editions()
				if now.Number != edition-1 || next.Number != 0 && next.Number != edition {
					t.Fatalf("at %d the editions are %v and %v", edition, now, next)
				}
				from, to := Edition{Number: edition - 1, Identity: edition - 1}, Edition{Number: edition, Identity: edition}
				done = must.Get(c.Redraw(t.Context(), from, to, between(from.Number, to.Number))).In(t)
				wg.Wait()
				if w.follow(c); r.IntN(3) == 0 { // the state of the disk after a kill
					left := d.mem.CrashClone(vfs.CrashCloneCfg{})
					must.Do(t, l.Close())
					d.crash(left)
					l, _ = openOn(t, d)
					c = l.Collection("test")
					restarts++
				}
			}
			for id, lon := range model {
				if got, is := w.zones[id]; !is || got != zone(edition, lon) {
					t.Errorf("edition %d: %s at %v is in %d (%v), want %d", edition, id, lon, got, is, zone(edition, lon))
				}
			}
			if len(w.zones) != len(model) {
				t.Errorf("%d points of %d", len(w.zones), len(model))
			}
		}
		if w.redrawn < 500 || restarts == 0 {
			t.Errorf("%d events, %d restarts", w.redrawn, restarts)
		}
	}
}

// A failed step changes nothing, and the next step repeats it.
func TestRedrawFails(t *testing.T) {
	r := newMendRig(t)
	ctx, c := t.Context(), r.c
	must.Get(c.Redraw(ctx, Edition{}, Edition{Number: 1, Identity: 1}, between(0, 1))).In(t) // none before: no events
	last := must.Get(c.LastEvent(ctx)).In(t)
	differs := between(1, 4)
	broken := errors.New("cannot be read")
	fails := func(context.Context, float64, float64) (bool, error) { return false, broken }
	if _, err := c.Redraw(ctx, Edition{Number: 1, Identity: 1}, Edition{Number: 4, Identity: 4}, fails); !errors.Is(err, broken) {
		t.Fatal(err)
	}
	// For a point that has just moved, differs is called while writes wait, for a second at most.
	// An error of differs does not affect the following write.
	asked := 0
	_, err := c.Redraw(ctx, Edition{Number: 1, Identity: 1}, Edition{Number: 4, Identity: 4},
		func(ctx context.Context, lat, lon float64) (bool, error) {
			if asked++; asked == 1 {
				mustWrite(t, c, putNumber(81)) // not checked yet
				w := putNumber(1)
				w.Lon++
				mustWrite(t, c, w)
				return differs(ctx, lat, lon)
			}
			if end, is := ctx.Deadline(); !is || time.Until(end) > redrawWait {
				t.Error("it may take any time")
			}
			return false, broken
		})
	if now, next := c.Editions(); !errors.Is(err, broken) || asked != 2 || now.Number != 1 || next.Number != 0 {
		t.Fatalf("%v, asked %d times, %v and %v", err, asked, now, next)
	}
	mustWrite(t, c, putNumber(1), Write{Kind: Delete, ID: "81"}, putNumber(3))
	if now, next := c.Editions(); now.Number != 1 || next.Number != 0 {
		t.Fatalf("%v and %v", now, next)
	}
	if done, err := c.Redraw(ctx, Edition{Number: 2, Identity: 2}, Edition{Number: 4, Identity: 4}, differs); done || err != nil {
		t.Fatalf("from another edition: %v, %v", done, err)
	}
	r.set(func() { r.trouble = r.failed })
	if _, err := c.Redraw(ctx, Edition{Number: 1, Identity: 1}, Edition{Number: 4, Identity: 4}, differs); !errors.Is(err, ErrRefused) {
		t.Fatal(err)
	}
	eventually(t, "writes are taken", func() bool { return writeOne(t, c, putNumber(1)) == nil })
	if done, err := c.Redraw(ctx, Edition{Number: 1, Identity: 1}, Edition{Number: 4, Identity: 4}, differs); !done || err != nil {
		t.Fatal(done, err)
	}
	told := map[string]int{}
	f := c.Follower(last)
	for f.HasMore() {
		for _, e := range must.Get(f.Next(ctx)).In(t) {
			if e.PreviousEdition == 1 && e.Edition == 4 {
				if told[e.ID]++; e.Version == 0 {
					t.Errorf("%+v", e)
				}
			}
		}
	}
	if len(told) != 2 || told["1"] != 1 || told["3"] != 1 {
		t.Errorf("told of %v", told)
	}
	if _, err := c.Describe(ctx, func(m *Meta) error { m.Title = "Other"; return nil }); err != nil {
		t.Fatal(err)
	}
	r.shut()
	l, _ := openOn(t, r)
	c = l.Collection("test")
	if now, next := c.Editions(); now != (Edition{Number: 4, Identity: 4}) || next != (Edition{}) || c.Meta().Title != "Other" {
		t.Errorf("%v and %v", now, next)
	}
	canceled, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := c.Redraw(canceled, Edition{Number: 4, Identity: 4}, Edition{Number: 5, Identity: 5},
		between(4, 5)); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	must.Do(t, l.Close())
	if _, err := c.Redraw(ctx, Edition{Number: 4, Identity: 4}, Edition{Number: 5, Identity: 5}, between(4, 5)); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
}

// TestRedrawInTurn tests that a redraw to one edition is completed before a redraw to the next
// edition begins.
func TestRedrawInTurn(t *testing.T) {
	store := must.Get(pebblestore.Open("", &pebblestore.Options{FS: vfs.NewMem()})).In(t)
	must.Close(t, store)
	l, _ := openOn(t, store)
	c := must.Get(l.Create(t.Context(), Meta{Name: "test"})).In(t)
	var writes []Write
	for n := range 2 * redrawn {
		writes = append(writes, putNumber(n))
	}
	mustWrite(t, c, writes...)
	must.Get(c.Redraw(t.Context(), Edition{}, Edition{Number: 1, Identity: 1}, nil)).In(t)
	if done, err := c.Redraw(t.Context(), Edition{Number: 1, Identity: 1}, Edition{Number: 2, Identity: 2},
		between(1, 2)); done || err != nil {
		t.Fatal(done, err)
	}
	_, err := c.Redraw(t.Context(), Edition{Number: 1, Identity: 1}, Edition{Number: 3, Identity: 3}, between(1, 3))
	if err == nil || !strings.Contains(err.Error(), "before edition 3") {
		t.Error(err)
	}
	if now, next := c.Editions(); now.Number != 1 || next.Number != 2 {
		t.Errorf("%v and %v", now, next)
	}
	// The earlier editions cannot be read.
	if done, err := c.Redraw(t.Context(), Edition{Number: 1, Identity: 1}, Edition{Number: 3, Identity: 3}, nil); !done || err != nil {
		t.Error(done, err)
	}
}

// A step that runs out of time writes the events of the points checked so far.
func TestRedrawSlowly(t *testing.T) {
	r := newMendRig(t)
	c := r.c
	for n := 2; n < 10; n++ {
		mustWrite(t, c, putNumber(n))
	}
	must.Get(c.Redraw(t.Context(), Edition{}, Edition{Number: 1, Identity: 1}, nil)).In(t)
	last := must.Get(c.LastEvent(t.Context())).In(t)
	steps, asked := 0, 0
	for done := false; !done; steps++ {
		ctx, cancel := context.WithCancel(t.Context())
		n := 0
		done = must.Get(c.Redraw(ctx, Edition{Number: 1, Identity: 1}, Edition{Number: 2, Identity: 2},
			func(context.Context, float64, float64) (bool, error) {
				if n++; n == 4 {
					cancel()
					return false, ctx.Err()
				}
				asked++
				return true, nil
			})).In(t)
		cancel()
	}
	told := 0
	for f := c.Follower(last); f.HasMore(); {
		told += len(must.Get(f.Next(t.Context())).In(t))
	}
	if steps != 3 || asked != 9 || told != 9 {
		t.Errorf("%d steps, %d questions, %d events", steps, asked, told)
	}
}
