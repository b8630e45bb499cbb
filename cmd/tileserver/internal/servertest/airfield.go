package servertest

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"quadrille/ask"
	"quadrille/cellstore/dataset"
	"quadrille/cmd/internal/toyworld"
	"quadrille/cmd/tileserver/internal/httpapi"
	"quadrille/cmd/tileserver/internal/web"
)

// noon is the time on the clock of these tests.
var noon = time.Date(2026, 7, 1, 12, 0, 0, 999, time.UTC)

// airfieldData returns the directory of the toy world with airports and time zones. It is published
// once for all tests that only read.
var airfieldData = sync.OnceValues(func() (string, error) {
	dir, err := toyData()
	if err != nil {
		return "", err
	}
	return dir, publishAirfield(dir)
})

func publishAirfield(dir string) error {
	c, err := dataset.Open(dir, toyworld.Open)
	if err != nil {
		return err
	}
	ctx := context.Background()
	return errors.Join(toyworld.PublishAirports(ctx, c), toyworld.PublishTimeZones(ctx, c))
}

// NewAirfield serves the toy world's places, airports and time zones, without the data sets in
// missing.
func NewAirfield(t testing.TB, missing ...string) *Server {
	t.Helper()
	dir, err := airfieldData()
	if err != nil {
		t.Fatal(err)
	}
	return ServeAirfield(t, dir, missing...)
}

func ServeAirfield(t testing.TB, dir string, missing ...string) *Server {
	t.Helper()
	c, err := dataset.Open(dir, toyworld.Open)
	if err != nil {
		t.Fatal(err)
	}
	nothing, err := dataset.Open(t.TempDir(), toyworld.Open)
	if err != nil {
		t.Fatal(err)
	}
	f := &Server{T: t, Catalog: c}
	all, none := ask.PublishedSets(c.Generations), ask.PublishedSets(nothing.Generations)
	f.Config = httpapi.Config{
		Sets:               ask.Sets{Places: all.Places, Airports: all.Airports, TimeZones: all.TimeZones},
		Config:             web.Config{Version: "v1", Now: func() time.Time { return noon }},
		ResponseCacheBytes: 1 << 20,
	}
	for _, name := range missing {
		switch name {
		case ask.Places.Name:
			f.Config.Places = none.Places
		case ask.Airports.Name:
			f.Config.Airports = none.Airports
		case ask.TimeZones.Name:
			f.Config.TimeZones = none.TimeZones
		}
	}
	t.Cleanup(func() {
		if err := f.Config.Sets.Close(); err != nil {
			t.Error(err)
		}
	})
	f.Poll()
	f.Serve()
	return f
}

// Republish publishes a data set of the toy world and takes it into service.
func (f *Server) Republish(name string) {
	f.T.Helper()
	ctx := f.T.Context()
	publish := map[string]func(context.Context, *dataset.Catalog) error{
		ask.Places.Name:    toyworld.PublishPlaces,
		ask.Airports.Name:  toyworld.PublishAirports,
		ask.TimeZones.Name: toyworld.PublishTimeZones,
	}[name]
	if err := publish(ctx, f.Catalog); err != nil {
		f.T.Fatal(err)
	}
	f.Poll()
}
