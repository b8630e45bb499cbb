// Package smallworld publishes two countries with a few places, an airport and a weather station,
// for examples of queries that need several data sets. Names are real, and borders are boxes.
package smallworld

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	_ "time/tzdata" // for machines without a zone database

	"github.com/paulmach/orb"

	"quadrille/ask"
	"quadrille/cellstore"
	"quadrille/cellstore/dataset"
	"quadrille/cellstore/published"
	"quadrille/places"
	"quadrille/places/airports"
	"quadrille/places/names"
	"quadrille/places/search"
	"quadrille/places/stations"
	"quadrille/places/zones"
	"quadrille/tiles"
	"quadrille/tiles/build"
)

// Publish publishes all data sets in a directory, like ingest.
func Publish(ctx context.Context, dir string) error {
	c, err := published.OpenCatalog(dir)
	if err != nil {
		return err
	}
	return errors.Join(
		publish(ctx, c, ask.BoundariesName, tiles.SchemaVersion, func(s cellstore.Store) (tiles.Meta, error) {
			meta, _, err := build.Run(ctx, s, Layers(), build.Options{})
			return meta, err
		}),
		publish(ctx, c, ask.PlacesName, places.SchemaVersion, func(s cellstore.Store) (places.Meta, error) {
			meta, _, err := places.Build(ctx, s, places.Source{Places: each(towns)}, places.BuildOptions{})
			return meta, err
		}),
		publish(ctx, c, ask.TimeZonesName, zones.SchemaVersion, func(s cellstore.Store) (zones.Meta, error) {
			meta, _, err := zones.Build(ctx, s, []string{"Europe/Zurich", "Europe/Rome"},
				map[string]string{"CH": "Europe/Zurich", "IT": "Europe/Rome"})
			return meta, err
		}),
		publish(ctx, c, ask.AirportsName, airports.SchemaVersion, func(s cellstore.Store) (airports.Meta, error) {
			meta, _, err := airports.Build(ctx, s, each([]airports.Airport{
				{
					ID:       1,
					Ident:    "LSZH",
					IATA:     "ZRH",
					ICAO:     "LSZH",
					Type:     airports.Large,
					Name:     "Zürich Airport",
					Country:  "CH",
					Lat:      47.4581,
					Lon:      8.5481,
					TimeZone: "Europe/Zurich",
				},
			}), airports.BuildOptions{})
			return meta, err
		}),
		publish(ctx, c, ask.StationsName, stations.SchemaVersion, func(s cellstore.Store) (stations.Meta, error) {
			id, err := stations.ParseID("06660099999")
			if err != nil {
				return stations.Meta{}, err
			}
			meta, _, err := stations.Build(ctx, s, each([]stations.Station{{
				ID:      id,
				Name:    "ZURICH-FLUNTERN",
				Country: "CH",
				Lat:     47.378,
				Lon:     8.566,
			}}), stations.BuildOptions{})
			return meta, err
		}),
		publish(ctx, c, ask.NamesName, names.SchemaVersion, func(s cellstore.Store) (names.Meta, error) {
			return names.Build(ctx, s, each(regions), names.Options{})
		}),
	)
}

// Layers returns the boundaries. The result can be used for one build.
func Layers() []build.Layer {
	return []build.Layer{
		{Type: "country", Features: []build.Feature{
			{ID: "ch", Name: "Switzerland", Geometry: box(6, 45.9, 10.5, 47.8)},
			{ID: "it", Name: "Italy", Geometry: box(6.6, 36.6, 18.5, 45.9)},
		}},
		{Type: "state", Features: []build.Feature{
			{ID: "ch-zh", Name: "Zürich", Geometry: box(8.3, 47.1, 9, 47.7)},
			{ID: "ch-ti", Name: "Ticino", Geometry: box(8.3, 45.9, 9.2, 46.6)},
		}},
	}
}

func box(west, south, east, north float64) orb.Polygon {
	return orb.Polygon{{{west, south}, {east, south}, {east, north}, {west, north}, {west, south}}}
}

var towns = []places.Place{
	{
		ID:             2657896,
		Name:           "Zürich",
		AlternateNames: "Zurich",
		Class:          "P",
		Code:           "PPLA",
		Country:        "CH",
		Lat:            47.36667,
		Lon:            8.55,
		Population:     341_730,
		TimeZone:       "Europe/Zurich",
	},
	{
		ID:         2659836,
		Name:       "Lugano",
		Class:      "P",
		Code:       "PPL",
		Country:    "CH",
		Lat:        46.01008,
		Lon:        8.96004,
		Population: 63_000,
		TimeZone:   "Europe/Zurich",
	},
	{
		ID:         3178229,
		Name:       "Como",
		Class:      "P",
		Code:       "PPLA2",
		Country:    "IT",
		Lat:        45.80819,
		Lon:        9.0832,
		Population: 83_000,
		TimeZone:   "Europe/Rome",
	},
}

var regions = []names.Feature{
	{Kind: names.Region,
		Type:             "country",
		ID:               "ch",
		Name:             "Switzerland",
		Country:          "CH",
		Lat:              46.8,
		Lon:              8.2,
		Bounds:           [4]float64{6, 45.9, 10.5, 47.8},
		PlacesPopulation: 8_500_000,
		Names:            []search.Name{{Text: "Schweiz", Lang: "de"}}},
	{Kind: names.Region,
		Type:             "state",
		ID:               "ch-ti",
		Name:             "Ticino",
		Country:          "CH",
		Level:            1,
		Lat:              46.2,
		Lon:              8.8,
		Bounds:           [4]float64{8.3, 45.9, 9.2, 46.6},
		PlacesPopulation: 350_000,
		Parents:          []names.Parent{{Type: "country", ID: "ch", Name: "Switzerland"}}},
}

// publish publishes a generation of a data set.
func publish[M any](ctx context.Context, c *dataset.Catalog, name string, schema int, write func(cellstore.Store) (M, error)) (err error) {
	b, err := c.Begin(ctx, name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Abort()) }() // a no-op after Publish
	meta, err := write(b.Store())
	if err != nil {
		return err
	}
	m := dataset.Manifest{SchemaVersion: schema}
	if m.Meta, err = json.Marshal(meta); err != nil {
		return err
	}
	_, err = b.Publish(ctx, m)
	return err
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
