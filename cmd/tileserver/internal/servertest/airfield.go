package servertest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"quadrille/ask"
	"quadrille/cellstore/dataset"
	"quadrille/cmd/internal/catalogue"
	"quadrille/cmd/internal/toyworld"
	"quadrille/cmd/tileserver/internal/httpapi"
	"quadrille/cmd/tileserver/internal/web"
)

// noon is what the clock of these tests shows.
var noon = time.Date(2026, 7, 1, 12, 0, 0, 999, time.UTC)

// airfieldData is the toy world with airports and time zones, published once for
// all tests that only read.
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

// NewAirfield serves the toy world's places, airports and time zones, of which
// some may be missing.
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
	open := func(dir string) *dataset.Catalog {
		c, err := dataset.Open(dir, toyworld.Open)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	full, empty := open(dir), open(t.TempDir())
	of := func(name string) *dataset.Catalog {
		if slices.Contains(missing, name) {
			return empty
		}
		return full
	}
	f := &Server{T: t, Catalog: full}
	f.Config = httpapi.Config{
		Sets: ask.Sets{
			Places:    catalogue.Live[ask.Places](of(catalogue.Places.Name).Generations, catalogue.Places),
			Airports:  catalogue.Live[ask.Airports](of(catalogue.Airports.Name).Generations, catalogue.Airports),
			TimeZones: catalogue.Live[ask.TimeZones](of(catalogue.TimeZones.Name).Generations, catalogue.TimeZones),
		},
		Config:             web.Config{Version: "v1", Now: func() time.Time { return noon }},
		ResponseCacheBytes: 1 << 20,
	}
	t.Cleanup(func() {
		for _, err := range []error{f.Config.Places.Close(), f.Config.Airports.Close(), f.Config.TimeZones.Close()} {
			if err != nil {
				t.Error(err)
			}
		}
	})
	ctx := context.Background()
	for _, err := range []error{f.Config.Places.Poll(ctx), f.Config.Airports.Poll(ctx), f.Config.TimeZones.Poll(ctx)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	f.Serve()
	return f
}

// Republish publishes a data set of the toy world and takes it into service.
func (f *Server) Republish(name string) {
	f.T.Helper()
	ctx := f.T.Context()
	var err error
	switch name {
	case catalogue.Places.Name:
		if err = toyworld.PublishPlaces(ctx, f.Catalog); err == nil {
			err = f.Config.Places.Poll(ctx)
		}
	case catalogue.Airports.Name:
		if err = toyworld.PublishAirports(ctx, f.Catalog); err == nil {
			err = f.Config.Airports.Poll(ctx)
		}
	case catalogue.TimeZones.Name:
		if err = toyworld.PublishTimeZones(ctx, f.Catalog); err == nil {
			err = f.Config.TimeZones.Poll(ctx)
		}
	}
	if err != nil {
		f.T.Fatal(err)
	}
}
