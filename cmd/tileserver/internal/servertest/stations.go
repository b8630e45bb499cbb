package servertest

import (
	"context"
	"encoding/json"
	"iter"
	"testing"
	"time"

	"quadrille/ask"
	"quadrille/cellstore/dataset"
	"quadrille/cmd/internal/catalogue"
	"quadrille/cmd/internal/toyworld"
	"quadrille/cmd/tileserver/internal/httpapi"
	"quadrille/cmd/tileserver/internal/web"
	"quadrille/places/stations"
)

// NewStations is a service over real tables of made-up stations and weather.
func NewStations(t testing.TB, published ...string) *Server {
	t.Helper()
	c, err := dataset.Open(t.TempDir(), toyworld.Open)
	if err != nil {
		t.Fatal(err)
	}
	f := &Server{T: t, Catalog: c}
	f.Config = httpapi.Config{
		Sets: ask.Sets{
			Stations: catalogue.Live[ask.Stations](c.Generations, catalogue.Stations),
			Weather:  catalogue.Live[ask.Weather](c.Generations, catalogue.Weather),
		},
		Config: web.Config{Version: "test"},
	}
	t.Cleanup(func() {
		if err := f.Config.Stations.Close(); err != nil {
			t.Error(err)
		}
		if err := f.Config.Weather.Close(); err != nil {
			t.Error(err)
		}
	})
	for _, name := range published {
		PublishToy(t, f, name)
	}
	f.Serve()
	return f
}

func PublishToy(t testing.TB, f *Server, name string) {
	t.Helper()
	b, err := f.Catalog.Begin(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	m := dataset.Manifest{SchemaVersion: stations.SchemaVersion, Records: map[string]int64{"stations": 4}}
	var meta any
	if name == catalogue.Stations.Name {
		meta, _, err = stations.Build(t.Context(), b.Store(), each(toyStations()), stations.BuildOptions{})
	} else {
		var finder *stations.Finder
		if finder, err = toyFinder(t); err != nil {
			t.Fatal(err)
		}
		meta, _, err = stations.BuildWeather(t.Context(), b.Store(), finder, each(toyWeather(t)), stations.BuildOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
	if m.Meta, err = json.Marshal(meta); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Publish(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	if err := f.Config.Stations.Poll(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := f.Config.Weather.Poll(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func toyFinder(t testing.TB) (*stations.Finder, error) {
	store, err := toyworld.Open("", t.TempDir(), false)
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() { store.Close() })
	meta, _, err := stations.Build(t.Context(), store, each(toyStations()), stations.BuildOptions{})
	if err != nil {
		return nil, err
	}
	return stations.Open(context.WithoutCancel(t.Context()), store, meta)
}

func each[T any](list []T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, v := range list {
			if !yield(v, nil) {
				return
			}
		}
	}
}

func toyStations() []stations.Station {
	id := func(s string) stations.ID {
		id, err := stations.ParseID(s)
		if err != nil {
			panic(err)
		}
		return id
	}
	high := 431.9
	day := func(y int) time.Time { return time.Date(y, 1, 2, 0, 0, 0, 0, time.UTC) }
	return []stations.Station{
		{ID: id("066600-99999"), Name: "ZÜRICH <b>", Country: "CH", ICAO: "LSZX", Lat: 47.383, Lon: 8.567, ElevationM: &high, Begin: day(1949), End: day(2025)},
		{ID: id("066700-99999"), Name: "KLOTEN", Country: "CH", Lat: 47.48, Lon: 8.536, Begin: day(1931), End: day(1990)},
		{ID: id("916900-99999"), Name: "SUVA", Country: "FJ", Lat: -18.05, Lon: 178.567},
		{ID: id("A00001-00001"), Name: "DATE LINE", Lat: -17, Lon: -179.9},
	}
}

func toyWeather(t testing.TB) []stations.Observation {
	var list []stations.Observation
	for i, s := range toyStations()[:2] {
		for h := range 30 {
			o := stations.Observation{Station: s.ID, Time: time.Date(2024, 1, 1, h, 0, 0, 0, time.UTC)}
			if err := o.Set(stations.Temperature, 10*h+i); err != nil {
				t.Fatal(err)
			}
			list = append(list, o)
		}
	}
	return list
}
