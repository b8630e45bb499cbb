package httpapi

import (
	"testing"
	"time"

	"quadrille/cellstore/dataset"
	"quadrille/cmd/internal/catalogue"
	"quadrille/cmd/internal/toyworld"
	"quadrille/cmd/tileserver/internal/datasets"
	"quadrille/places/points"
)

// shopWorld is a service over real boundaries, a published collection and two live ones.
type shopWorld struct {
	*world
	shops  *dataset.Live[datasets.Collection]
	live   *points.Live
	server *server
}

// shopNumber is how many points the published collection has.
const shopNumber = 3000

func newShops(t testing.TB) *shopWorld { return newShopsOf(t, shopNumber) }

func newShopsOf(t testing.TB, number int) *shopWorld {
	t.Helper()
	c, err := dataset.Open(t.TempDir(), toyworld.Open)
	if err != nil {
		t.Fatal(err)
	}
	if err := toyworld.PublishShops(t.Context(), c, number); err != nil {
		t.Fatal(err)
	}
	w := &shopWorld{world: newWorld(t), shops: catalogue.Live[datasets.Collection](c.Generations, catalogue.Points(toyworld.Shops))}
	if err := w.shops.Poll(t.Context()); err != nil {
		t.Fatal(err)
	}
	store, err := toyworld.Open("live", t.TempDir(), false)
	if err != nil {
		t.Fatal(err)
	}
	if w.live, err = points.OpenLive(t.Context(), store); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, err := range []error{w.shops.Close(), w.live.Close(), store.Close()} {
			if err != nil {
				t.Error(err)
			}
		}
	})
	for _, meta := range []points.Meta{{Name: "drivers", Title: "Drivers", History: points.Duration(24 * time.Hour)}, {Name: "secret", Private: true}} {
		l, err := w.live.Create(t.Context(), meta)
		if err != nil {
			t.Fatal(err)
		}
		w.write(l,
			points.Write{ID: "d-1", Lat: 48, Lon: 6, Properties: []byte(`{"name":"Ann","price":3,"category":"cafe"}`)},
			points.Write{ID: "d-2", Lat: 47, Lon: 9.5, Properties: []byte(`{"name":"Bob","busy":true}`), Expires: time.Now().Add(time.Hour)})
	}
	w.cfg.Collections = &datasets.Collections{Live: w.live}
	w.cfg.Collections.Follow(toyworld.Shops, w.shops)
	w.server = newServer(&w.cfg)
	w.handler = w.server.handler()
	return w
}

func (w *shopWorld) write(l *points.LiveCollection, writes ...points.Write) {
	w.t.Helper()
	outcomes := make([]points.Outcome, len(writes))
	if err := l.Write(w.t.Context(), writes, outcomes); err != nil {
		w.t.Fatal(err)
	}
	for _, o := range outcomes {
		if o.Err != nil {
			w.t.Fatal(o.Err)
		}
	}
}
