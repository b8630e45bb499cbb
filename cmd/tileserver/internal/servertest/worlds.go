package servertest

import (
	"errors"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"quadrille/ask"
	"quadrille/cellstore/dataset"
	"quadrille/cmd/internal/toyworld"
	"quadrille/cmd/tileserver/internal/httpapi"
	"quadrille/cmd/tileserver/internal/ops"
	"quadrille/cmd/tileserver/internal/quota"
)

// This file has requests for the paths of the description.

// contractWorlds are servers that together have all data. Each is made at its first use. One
// goroutine uses them.
type contractWorlds struct {
	t    *testing.T
	made map[string]*Server
}

// NewWorlds returns the worlds of one test.
func NewWorlds(t *testing.T) *contractWorlds {
	return &contractWorlds{t, map[string]*Server{}}
}

func (w *contractWorlds) one(name string, begin func() *Server) *Server {
	if w.made[name] == nil {
		w.made[name] = begin()
	}
	return w.made[name]
}

// Tiles returns a server with regions and places.
func (w *contractWorlds) Tiles() *Server {
	return w.one("tiles", func() *Server { return &NewWorld(w.t).Server })
}

// Globe returns a server with the gazetteer.
func (w *contractWorlds) Globe() *Server {
	return w.one("globe", func() *Server { return NewGlobe(w.t, nil) })
}

// Whole returns the server that NewWhole makes.
func (w *contractWorlds) Whole() *Server {
	return w.one("whole", func() *Server { return NewWhole(w.t) })
}

func (w *contractWorlds) airfield() *Server {
	return w.one("airfield", func() *Server { return NewAirfield(w.t) })
}

func (w *contractWorlds) stations() *Server {
	return w.one("stations", func() *Server { return NewStations(w.t, ask.Stations.Name, ask.Weather.Name) })
}

func (w *contractWorlds) addresses() *Server {
	return w.one("addresses", func() *Server { return NewAddresses(w.t, nil) })
}

func (w *contractWorlds) shops() *Server {
	return w.one("shops", func() *Server { return &NewShops(w.t).Server })
}

func (w *contractWorlds) writers() *Server {
	return w.one("writers", func() *Server { return NewWriters(w.t) })
}

func (w *contractWorlds) guarded() *Server {
	return w.one("guarded", func() *Server { return New(w.t, NewGuarded(w.t, false, quota.Limits{})) })
}

func (w *contractWorlds) admin() *Server {
	return w.one("admin", func() *Server { return NewAdmin(w.t) })
}

func (w *contractWorlds) maps() *Server {
	return w.one("maps", func() *Server { return NewBaseMaps(w.t, nil).Server })
}

// NewWhole returns a server with regions, and with layers of points in them. All data sets of
// points have the same points.
func NewWhole(t *testing.T) *Server {
	ctx := t.Context()
	c, err := dataset.Open(t.TempDir(), toyworld.Open)
	if err != nil {
		t.Fatal(err)
	}
	f := &Server{T: t, Catalog: c}
	f.Config.Sets = ask.PublishedSets(c.Generations)
	shops := ask.CollectionOf(toyworld.ShopsCollection).Live(c.Generations)
	f.Config.Collections = &ask.Collections{}
	f.Config.Collections.Add(toyworld.ShopsCollection, shops)
	t.Cleanup(func() {
		if err := errors.Join(f.Config.Sets.Close(), shops.Close()); err != nil {
			t.Error(err)
		}
	})
	StationRows()[ask.Stations.Name].PublishInto(t, c)
	for _, d := range ask.Datasets {
		if ask.IsPoints(d.Name) {
			err = errors.Join(err, toyworld.PublishShopsAs(ctx, c, d, 300))
		}
	}
	err = errors.Join(err, toyworld.PublishBoundaries(ctx, c), toyworld.PublishPlaces(ctx, c), toyworld.PublishAirports(ctx, c),
		toyworld.PublishShops(ctx, c, 300), f.Config.Sets.Poll(ctx), shops.Poll(ctx))
	if err != nil {
		t.Fatal(err)
	}
	f.Serve()
	return f
}

// NewWriters returns a server with collections that testKey may write.
func NewWriters(t *testing.T) *Server {
	w := NewShops(t)
	NewGuarded(t, true, quota.Limits{})(&w.Config)
	keys, err := quota.ReadKeys(strings.NewReader(quota.FormatLine("acme", quota.HashOf(TestKey), nil,
		quota.Scope{Write: true, Collection: quota.AnyCollection})))
	if err != nil {
		t.Fatal(err)
	}
	w.Config.Guard.Keys = func() *quota.Keys { return keys }
	w.Handler = httpapi.Compose(&w.Config, httpapi.Faces()).Handler()
	return &w.Server
}

// Servers returns the worlds that are servers.
func (w *contractWorlds) Servers() []*Server {
	return []*Server{w.Tiles(), w.Globe(), w.airfield(), w.stations(), w.addresses(), w.shops(), w.writers(), w.guarded(), w.maps(), w.Whole()}
}

func (w *contractWorlds) of(path string) *Server {
	for _, c := range []struct {
		prefix string
		world  func() *Server
	}{
		{"/basemap/", w.maps}, {"/tiles/", w.Tiles}, {"/g/", w.Tiles}, {"/style", w.Tiles}, {"/ogc/", w.Tiles}, {"/regions/", w.Tiles},
		{"/places/within/{", w.Tiles}, {"/airports/within/{", w.Whole}, {"/stations/within/{", w.Whole}, {"/airports/", w.airfield},
		{"/stations/", w.stations}, {"/weather/", w.stations}, {"/ip/", w.addresses}, {"/geoip/", w.addresses}, {"/places/nearby",
			w.Tiles}, {"/points/{collection}/hooks", w.writers}, {"/points", w.shops},
		{"/usage/top", w.admin}, {"/usage", w.guarded}, {"/metrics", w.guarded},
	} {
		if strings.HasPrefix(path, c.prefix) {
			return c.world()
		}
	}
	if openLayer(path) != "" {
		return w.Whole()
	}
	return w.Globe()
}

// NewAdmin returns a server with the endpoints of the operator's listener.
func NewAdmin(t *testing.T) *Server {
	m, err := quota.Open(t.Context(), quota.Options{})
	if err != nil {
		t.Fatal(err)
	}
	m.CountAddress(quota.ClientAddrOf(netip.MustParseAddr("192.0.2.1")), &quota.Limits{})
	mux := http.NewServeMux()
	mux.Handle("GET /usage/top", ops.TopHandler(m))
	return &Server{T: t, Handler: mux}
}

// CallsOf returns the requests for an operation.
func (w *contractWorlds) CallsOf(o *Operation) (calls []string, f *Server) {
	if calls := writeCalls[o.Method+" "+o.Path]; calls != nil {
		return calls, w.writers()
	}
	if calls := contractCalls[o.Method+" "+o.Path]; calls != nil {
		return calls, w.of(o.Path)
	}
	return declaredCalls(o), w.of(o.Path)
}
