package servertest

import (
	"testing"
	"time"

	"quadrille/ask"
	"quadrille/cellstore/dataset"
	"quadrille/cmd/internal/toyworld"
	"quadrille/cmd/tileserver/internal/httpapi"
	"quadrille/cmd/tileserver/internal/webhook"
	"quadrille/places/live"
	"quadrille/places/points"
)

// Shops is a service with real boundaries, a published collection and two live collections.
type Shops struct {
	*World
	Published *dataset.Live[*points.Collection]
	Live      *live.Store
	Composed  *httpapi.Server
}

// ShopNumber is the number of points in the published collection.
const ShopNumber = 3000

func NewShops(t testing.TB) *Shops { return NewShopsOf(t, ShopNumber) }

func NewShopsOf(t testing.TB, number int) *Shops {
	t.Helper()
	c, err := dataset.Open(t.TempDir(), toyworld.Open)
	if err != nil {
		t.Fatal(err)
	}
	if err := toyworld.PublishShops(t.Context(), c, number); err != nil {
		t.Fatal(err)
	}
	w := &Shops{World: NewWorld(t), Published: ask.CollectionOf(toyworld.ShopsCollection).Live(c.Generations)}
	if err := w.Published.Poll(t.Context()); err != nil {
		t.Fatal(err)
	}
	store, err := toyworld.Open("live", t.TempDir(), false)
	if err != nil {
		t.Fatal(err)
	}
	if w.Live, err = live.Open(t.Context(), store, points.LiveKind); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, err := range []error{w.Published.Close(), w.Live.Close(), store.Close()} {
			if err != nil {
				t.Error(err)
			}
		}
	})
	for _, meta := range []live.Meta{
		{Name: "drivers", Title: "Drivers", HistoryRetention: live.Duration(24 * time.Hour)},
		{Name: "secret", Private: true},
	} {
		l, err := w.Live.Create(t.Context(), meta)
		if err != nil {
			t.Fatal(err)
		}
		w.Write(l,
			live.Write{ID: "d-1", Lat: 48, Lon: 6, Properties: []byte(`{"name":"Ann","price":3,"category":"cafe"}`)},
			live.Write{ID: "d-2", Lat: 47, Lon: 9.5, Properties: []byte(`{"name":"Bob","busy":true}`), Expires: time.Now().Add(time.Hour)})
	}
	w.Config.Collections = &ask.Collections{Live: w.Live}
	w.Config.Collections.Add(toyworld.ShopsCollection, w.Published)
	// Hooks are stored with their collection, so the server finds those of an earlier sender.
	earlier := webhook.Start(t.Context(), webhook.Config{Live: w.Live, Views: ask.NewViews(ask.Sets{Boundaries: w.Config.Boundaries})})
	for _, name := range []string{"first", "second"} {
		// Names in the domain .invalid never resolve.
		if _, _, err := earlier.Put(t.Context(), w.Live.Collection("drivers"), name,
			webhook.Definition{URL: "https://hooks.invalid/"}); err != nil {
			t.Fatal(err)
		}
	}
	earlier.Close()
	SetFlag(t, &w.Config, "hooks-private")
	w.Composed = httpapi.Compose(&w.Config, httpapi.Faces())
	w.Handler = w.Composed.Handler()
	return w
}

func (w *Shops) Write(l *live.Collection, writes ...live.Write) {
	w.T.Helper()
	outcomes := make([]live.Outcome, len(writes))
	if err := l.Write(w.T.Context(), writes, outcomes); err != nil {
		w.T.Fatal(err)
	}
	for _, o := range outcomes {
		if o.Err != nil {
			w.T.Fatal(o.Err)
		}
	}
}
