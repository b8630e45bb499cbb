package points_test

import (
	"context"
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"quadrille/cellstore"
	"quadrille/internal/buildtest"
	"quadrille/internal/must"
	"quadrille/places/points"
)

// TestNotes tests that notes are stored with their collection, and that they change nothing else in
// the collection.
func TestNotes(t *testing.T) {
	store := buildtest.NewStore(t)
	l := must.Get(points.OpenLive(t.Context(), store)).In(t)
	c := must.Get(l.Create(t.Context(), points.Meta{Name: "test", Title: "T"})).In(t)
	write(t, c, points.Write{ID: "a", Lat: 1, Lon: 2, Properties: []byte("{}")})
	set := func(name, value string) {
		t.Helper()
		var b []byte
		if value != "" {
			b = []byte(value)
		}
		must.Do(t, c.SetNote(t.Context(), name, b, cellstore.Sync))
	}
	want := func(prefix string, want map[string]string) {
		t.Helper()
		notes, err := c.Notes(t.Context(), prefix)
		got := map[string]string{}
		for name, value := range notes {
			got[name] = string(value)
		}
		if err != nil || !maps.Equal(got, want) {
			t.Errorf("%q: %v, %v, want %v", prefix, got, err, want)
		}
	}
	want("", map[string]string{})
	set("hook:a", "1")
	set("hook:a", "2")
	set("hook:b", "3")
	set("hook:c", "4")
	set("hook:c", "")
	set("other", "5")
	want("hook:", map[string]string{"hook:a": "2", "hook:b": "3"})
	want("", map[string]string{"hook:a": "2", "hook:b": "3", "other": "5"})
	for _, name := range []string{"", strings.Repeat("x", points.MaxNote+1)} {
		if err := c.SetNote(t.Context(), name, nil, cellstore.Sync); err == nil {
			t.Errorf("a note has the name %q", name)
		}
	}
	must.Do(t, l.Close())
	<-c.Done()
	l = must.Get(points.OpenLive(t.Context(), store)).In(t)
	t.Cleanup(func() { l.Close() })
	c = l.Collection("test")
	want("", map[string]string{"hook:a": "2", "hook:b": "3", "other": "5"})
	var h points.Hit
	if err := c.GetAt(t.Context(), "a", time.Time{}, &h); err != nil || c.Meta().Title != "T" {
		t.Errorf("%+v: %v", c.Meta(), err)
	}
	must.Do(t, l.Drop(t.Context(), "test"))
	if err := c.SetNote(t.Context(), "late", []byte("x"), cellstore.Sync); !errors.Is(err, points.ErrClosed) {
		t.Errorf("a dropped collection takes a note: %v", err)
	}
	if _, err := c.Notes(t.Context(), ""); !errors.Is(err, points.ErrClosed) {
		t.Errorf("a dropped collection has notes: %v", err)
	}
	c = must.Get(l.Create(t.Context(), points.Meta{Name: "test"})).In(t)
	want("", map[string]string{})
}

// A follower that is made again at once, with its last event, continues after that event.
func TestFollowAgainAtOnce(t *testing.T) {
	_, c := openLive(t)
	const n = 500
	go func() {
		for i := range n {
			var o [1]points.Outcome
			_ = c.Write(context.Background(), []points.Write{{ID: "a", Lat: float64(i) / 10, Properties: []byte("{}")}}, o[:]) // unseen by Follow
		}
	}()
	enough := errors.New("enough")
	var last uint64
	for i := range n {
		err := c.Follow(t.Context(), last, func(e *points.Event) error {
			if last = e.Seq; e.To[1] != float64(i)/10 {
				t.Errorf("event %d: %v", i, e.To)
			}
			return enough
		})
		if err != enough {
			t.Fatalf("event %d: %v", i, err)
		}
	}
}
