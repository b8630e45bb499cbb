package points_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"quadrille/cellstore/pebblestore"
	"quadrille/feature"
	"quadrille/internal/must"
	"quadrille/places/points"
	"quadrille/quadkey"
)

func TestConditions(t *testing.T) {
	_, c := openLive(t)
	put := points.Write{Kind: points.Put, ID: "a", Lat: 1, Lon: 2, Properties: []byte(`{"n":1}`)}
	first := write(t, c, put)[0]
	if first.Err != nil || !first.Created || first.Version == 0 {
		t.Fatalf("%+v", first)
	}
	for name, step := range map[string]struct {
		write points.Write
		want  error
	}{
		"there":           {points.Write{Kind: points.Put, ID: "a", IfAbsent: true}, points.ErrExists},
		"other version":   {points.Write{Kind: points.Put, ID: "a", IfVersions: []int64{first.Version + 1}}, points.ErrChanged},
		"none to compare": {points.Write{Kind: points.Put, ID: "b", IfVersions: []int64{5}}, points.ErrChanged},
		"none to patch":   {points.Write{Kind: points.Patch, ID: "b"}, points.ErrNotFound},
		"none to delete":  {points.Write{Kind: points.Delete, ID: "b"}, points.ErrNotFound},
		"delete changed":  {points.Write{Kind: points.Delete, ID: "a", IfVersions: []int64{1}}, points.ErrChanged},
		"no id":           {points.Write{Kind: points.Put}, points.ErrInvalidPoint},
		"long id":         {points.Write{Kind: points.Put, ID: strings.Repeat("x", 257)}, points.ErrInvalidPoint},
		"control":         {points.Write{Kind: points.Put, ID: "a\n"}, points.ErrInvalidPoint},
		"not UTF-8":       {points.Write{Kind: points.Put, ID: "\xff"}, points.ErrInvalidPoint},
		"swapped":         {points.Write{Kind: points.Put, ID: "c", Lat: -94, Lon: 39}, points.ErrInvalidPoint},
		"far":             {points.Write{Kind: points.Put, ID: "c", Lat: 95, Lon: 200}, points.ErrInvalidPoint},
		"no object":       {points.Write{Kind: points.Put, ID: "c", Properties: []byte(`[1]`)}, feature.ErrProperties},
		"broken":          {points.Write{Kind: points.Put, ID: "c", Properties: []byte(`{"a":`)}, feature.ErrProperties},
		"broken patch":    {points.Write{Kind: points.Patch, ID: "a", Properties: []byte(`{"a":`)}, feature.ErrProperties},
		"patch far":       {points.Write{Kind: points.Patch, ID: "a", Move: true, Lat: 91}, points.ErrInvalidPoint},
		"many properties": {points.Write{Kind: points.Put, ID: "c", Properties: many(10_000)}, feature.ErrProperties},
		"large properties": {
			points.Write{Kind: points.Put, ID: "c", Properties: []byte(`{"a":"` + strings.Repeat("x", 1<<20) + `"}`)},
			feature.ErrProperties,
		},
	} {
		if o := write(t, c, step.write)[0]; !errors.Is(o.Err, step.want) || o.Version != 0 || o.Created {
			t.Errorf("%s: %+v, want %v", name, o, step.want)
		}
	}
	var h points.Hit
	if err := c.GetAt(t.Context(), "a", time.Time{}, &h); err != nil || h.Version != first.Version || string(h.Properties) != `{"n":1}` {
		t.Fatalf("%+v, %v", h, err)
	}
	swapped := write(t, c, points.Write{Kind: points.Put, ID: "c", Lat: -94, Lon: 39})[0].Err
	if !strings.Contains(swapped.Error(), "swapped") {
		t.Error(swapped)
	}
	// Several writes of one point in one commit apply in their order.
	outcomes := write(t, c,
		points.Write{Kind: points.Patch, ID: "a", IfVersions: []int64{first.Version}, Properties: []byte(`{"m":[1, 2],"n":null}`)},
		points.Write{Kind: points.Patch, ID: "a", Move: true, Lat: 3, Lon: 4},
		points.Write{Kind: points.Delete, ID: "a"},
		points.Write{Kind: points.Patch, ID: "a"},
		points.Write{Kind: points.Put, ID: "a", IfAbsent: true, Lat: 5, Lon: 6},
		points.Write{Kind: points.Patch, ID: "a", Properties: []byte(`{"k":"v"}`)},
	)
	for i, want := range []error{nil, nil, nil, points.ErrNotFound, nil, nil} {
		if !errors.Is(outcomes[i].Err, want) || outcomes[i].Created != (i == 4) {
			t.Errorf("%d: %+v", i, outcomes[i])
		}
	}
	if err := c.GetAt(t.Context(), "a", time.Time{}, &h); err != nil || h.Lat != 5 || string(h.Properties) != `{"k":"v"}` ||
		h.Version != outcomes[5].Version {
		t.Fatalf("%+v, %v", h, err)
	}
	if n, err := c.CountIn(t.Context(), feature.Tile{}, nil, time.Time{}); err != nil || n != 1 {
		t.Fatal(n, err)
	}
	must.Do(t, c.Each(t.Context(), points.WithinQuery{Area: feature.Box(quadkey.World)}, func(h *points.Hit) error {
		if h.Lat != 5 {
			return fmt.Errorf("%+v", h)
		}
		return nil
	}))
}

func many(n int) []byte {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"p%d":%d`, i, i)
	}
	return []byte("{" + b.String()[1:] + "}")
}

// Declared types hold. Others are inferred, and filters use them at once.
func TestSchemaOfLive(t *testing.T) {
	l, _ := openLive(t)
	c, err := l.Create(t.Context(), points.Meta{
		Name:   "typed",
		Schema: feature.Schema{{Name: "price", Kind: feature.Number}, {Name: "at", Kind: feature.Time}},
	})
	if err != nil {
		t.Fatal(err)
	}
	o := write(t, c,
		points.Write{Kind: points.Put, ID: "a", Properties: []byte(`{"price":"12.50","at":"2026-01-01","kind":"cafe"}`)},
		points.Write{Kind: points.Put, ID: "b", Properties: []byte(`{"price":"1,5"}`)},
		points.Write{Kind: points.Patch, ID: "a", Properties: []byte(`{"price":"dear"}`)},
	)
	if o[0].Err != nil || !errors.Is(o[1].Err, feature.ErrType) || !errors.Is(o[2].Err, feature.ErrType) ||
		!strings.Contains(o[1].Err.Error(), "comma") {
		t.Fatalf("%+v", o)
	}
	var h points.Hit
	if err := c.GetAt(t.Context(), "a", time.Time{}, &h); err != nil ||
		string(h.Properties) != `{"price":12.5,"at":"2026-01-01T00:00:00Z","kind":"cafe"}` {
		t.Fatalf("%s, %v", h.Properties, err)
	}
	f, err := feature.ParseFilter(c.Meta().Schema, []feature.Term{
		{Name: "kind", Values: []string{"cafe"}},
		{Name: "price", Op: "lt", Values: []string{"13"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if n, err := c.CountIn(t.Context(), feature.Tile{}, f, time.Time{}); n != 1 || err != nil {
		t.Fatal(n, err)
	}
}

func TestCreate(t *testing.T) {
	l, _ := openLive(t)
	for name, m := range map[string]points.Meta{
		"taken":   {Name: "test"},
		"no name": {}, "upper": {Name: "Shops"}, "slash": {Name: "a/b"}, "long": {Name: strings.Repeat("a", 41)},
		"history": {Name: "a", HistoryRetention: -1},
		"title":   {Name: "a", Title: strings.Repeat("x", 2000)},
		"schema":  {Name: "a", Schema: feature.Schema{{Name: "x", Kind: feature.Null}}},
	} {
		if c, err := l.Create(t.Context(), m); err == nil || c != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := l.Drop(t.Context(), "none"); !errors.Is(err, points.ErrNoCollection) {
		t.Error(err)
	}
	c := l.Collection("test")
	write(t, c, points.Write{Kind: points.Put, ID: "a"})
	must.Do(t, l.Drop(t.Context(), "test"))
	if err := c.Write(t.Context(), []points.Write{{ID: "a"}}, make([]points.Outcome, 1)); !errors.Is(err, points.ErrClosed) {
		t.Error(err)
	}
	if _, _, err := c.Nearby(t.Context(), points.NearbyQuery{}, nil); err == nil {
		t.Error("a dropped collection answers")
	}
	again := must.Get(l.Create(t.Context(), points.Meta{Name: "test"})).In(t)
	if n, err := again.CountIn(t.Context(), feature.Tile{}, nil, time.Time{}); n != 0 || err != nil {
		t.Error(n, err)
	}
}

// Events are complete and in order over 20 restarts, for a follower that continues after the last
// event that it has read.
func TestFollow(t *testing.T) {
	dir := t.TempDir()
	last := uint64(0)
	n, seen := 0, 0
	for range 20 {
		store := must.Get(pebblestore.Open(dir, nil)).In(t)
		l := must.Get(points.OpenLive(t.Context(), store)).In(t)
		c := l.Collection("test")
		if c == nil {
			c = must.Get(l.Create(t.Context(), points.Meta{Name: "test"})).In(t)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() {
			err := c.Follow(ctx, last, func(e *points.Event) error {
				if e.Seq <= last || e.ID != "van" || e.To == nil || e.To[0] != float64(seen+1)/10 || (e.From == nil) != (seen == 0) ||
					seen > 0 && e.From[0] != float64(seen)/10 {
					return fmt.Errorf("event %+v after %d", e, seen)
				}
				last = e.Seq
				if seen++; seen%7 == 0 {
					return errors.New("enough")
				}
				return nil
			})
			if err != nil && err.Error() != "enough" && !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		})
		for range 10 {
			n++
			write(t, c, points.Write{Kind: points.Put, ID: "van", Lat: 1, Lon: float64(n) / 10})
		}
		wg.Wait()
		cancel()
		must.Do(t, errors.Join(l.Close(), store.Close()))
		if t.Failed() {
			return
		}
	}
	if seen < 130 {
		t.Errorf("%d events of %d", seen, n)
	}
}

func TestEventsGone(t *testing.T) {
	_, c := openLive(t)
	write(t, c, points.Write{Kind: points.Put, ID: "a"})
	if err := c.Follow(t.Context(), 1, func(*points.Event) error { return nil }); !errors.Is(err, points.ErrEventsGone) {
		t.Error(err)
	}
}

// A follower that has read all events has missed none, however long ago it read the last one.
func TestFollowAfterQuiet(t *testing.T) {
	l, _ := openLive(t)
	c := must.Get(l.Create(t.Context(), points.Meta{Name: "quiet", EventRetention: points.Duration(time.Second)})).In(t)
	write(t, c, points.Write{Kind: points.Put, ID: "a"})
	last, err := c.LastEvent(t.Context())
	if err != nil || last == 0 {
		t.Fatal(last, err)
	}
	time.Sleep(1100 * time.Millisecond) // until the event has expired
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := c.Follow(ctx, last, func(*points.Event) error { return nil }); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	if err := c.Follow(t.Context(), last-1, func(*points.Event) error { return nil }); !errors.Is(err, points.ErrEventsGone) {
		t.Error(err)
	}
}

// A follower that returns learns which events are missing: none as long as the next event is still
// stored, and all if the collection has been created again.
func TestEventsKnowTheOneBefore(t *testing.T) {
	l, _ := openLive(t)
	meta := points.Meta{Name: "again", EventRetention: points.Duration(time.Second)}
	c, err := l.Create(t.Context(), meta)
	if err != nil {
		t.Fatal(err)
	}
	write(t, c, points.Write{Kind: points.Put, ID: "a"})
	last, _ := c.LastEvent(t.Context())
	time.Sleep(1100 * time.Millisecond) // longer than events are kept
	write(t, c, points.Write{Kind: points.Put, ID: "b"})
	stop := errors.New("stop")
	err = c.Follow(t.Context(), last, func(e *points.Event) error {
		if e.ID != "b" || e.Before != last {
			t.Errorf("%+v", e)
		}
		return stop
	})
	if !errors.Is(err, stop) || c.CheckEventsAfter(t.Context(), last) != nil {
		t.Error(err)
	}
	must.Do(t, l.Drop(t.Context(), meta.Name))
	c = must.Get(l.Create(t.Context(), meta)).In(t)
	for range 2 {
		if err := c.CheckEventsAfter(t.Context(), last); !errors.Is(err, points.ErrEventsGone) {
			t.Error(err)
		}
		write(t, c, points.Write{Kind: points.Put, ID: "a"})
	}
}

// A collection that is dropped while it is read ends the answer with an error.
func TestDropWhileRead(t *testing.T) {
	l, c := openLive(t)
	var writes []points.Write
	for i := range 100 {
		writes = append(writes, points.Write{Kind: points.Put, ID: fmt.Sprint(i), Lat: float64(i % 50)})
	}
	write(t, c, writes...)
	dropped := false
	_ = c.Each(t.Context(), points.WithinQuery{Area: feature.Tile{}}, func(*points.Hit) error {
		if !dropped {
			dropped = true
			return l.Drop(t.Context(), "test")
		}
		return nil
	})
	if !dropped {
		t.Error("nothing was read")
	}
}

// Any text is either a cursor of an earlier answer or an error.
func FuzzCursor(f *testing.F) {
	_, c := openLive(f)
	var writes []points.Write
	for i := range 50 {
		writes = append(writes, points.Write{Kind: points.Put, ID: fmt.Sprint(i), Lat: 1, Lon: float64(i % 7)})
	}
	write(f, c, writes...)
	_, next := must.Two(c.Nearby(f.Context(), points.NearbyQuery{}, nil)).In(f)
	f.Add(next)
	f.Add(next + "\r\n")
	f.Add("")
	f.Fuzz(func(t *testing.T, cursor string) {
		hits, _, err := c.Nearby(t.Context(), points.NearbyQuery{Cursor: cursor}, nil)
		if err != nil && !errors.Is(err, points.ErrCursor) || err == nil && len(hits) > 10 {
			t.Fatal(err)
		}
	})
}
