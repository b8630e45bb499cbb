package toyworld

import (
	"context"
	"fmt"
	"iter"
	_ "time/tzdata" // for machines without a zone database

	"quadrille/ask"
	"quadrille/cellstore"
	"quadrille/cellstore/dataset"
	"quadrille/places/airports"
	"quadrille/places/zones"
)

// Zones are the time zones of PublishTimeZones.
var Zones = []string{"Europe/Zurich", "Europe/Berlin", "Pacific/Kiritimati", "America/New_York", "Europe/Amsterdam", "UTC"}

// Countries are the countries in PublishTimeZones with a single time zone.
var Countries = map[string]string{"EE": "Europe/Berlin"}

// PublishTimeZones publishes the offsets of a few time zones. Publish does not
// call it.
func PublishTimeZones(ctx context.Context, c *dataset.Catalog) error {
	return publish(ctx, c, ask.TimeZones.Dataset, func(s cellstore.Store) (any, error) {
		meta, _, err := zones.Build(ctx, s, Zones, Countries)
		return meta, err
	})
}

// AirportCount is the number of airports of the toy world: three with names, and grass strips.
const AirportCount = 203

// PublishAirports publishes the airports. Publish does not call it.
func PublishAirports(ctx context.Context, c *dataset.Catalog) error {
	return publish(ctx, c, ask.Airports.Dataset, func(s cellstore.Store) (any, error) {
		meta, _, err := airports.Build(ctx, s, eachAirport(), airports.BuildOptions{Modified: Modified})
		return meta, err
	})
}

func eachAirport() iter.Seq2[airports.Airport, error] {
	elevation := 431.9
	list := []airports.Airport{
		{ID: 1,
			Ident:        "TWWL",
			IATA:         "WLD",
			ICAO:         "TWWL",
			Type:         airports.Large,
			Name:         `Westland "Main" <intl>`,
			Municipality: "Weston",
			Country:      "WS",
			Region:       "WL-S",
			Lat:          47,
			Lon:          5,
			ElevationM:   &elevation,
			Scheduled:    true,
			Keywords:     []string{"WLX"},
			Home:         "https://example.org/",
			TimeZone:     "Europe/Zurich"},
		{
			ID:             2,
			Ident:          "TWEL",
			IATA:           "ELD",
			ICAO:           "TWEL",
			Type:           airports.Medium,
			Name:           "Eastland",
			Country:        "EE",
			Lat:            47.5,
			Lon:            7,
			TimeZone:       "Europe/Berlin",
			TimeZoneSource: "nearest",
		},
		{
			ID:       3,
			Ident:    "TWIS",
			ICAO:     "TWIS",
			Type:     airports.Seaplane,
			Name:     "Lagoon",
			Country:  "IS",
			Lat:      0,
			Lon:      180,
			TimeZone: "Antarctica/Nowhere",
		},
	}
	for i := len(list); i < AirportCount; i++ {
		a := airports.Airport{
			ID:      uint32(i + 1),
			Ident:   fmt.Sprintf("WL-%04d", i),
			Local:   fmt.Sprintf("G%d", i),
			Type:    airports.Small,
			Name:    fmt.Sprintf("Strip %d", i),
			Country: "WS", Lat: South + float64(i%20)/5, Lon: West + float64(i)/100,
		}
		switch i % 10 {
		case 0:
			a.Type = airports.Closed
		case 5:
			a.Type = airports.Heliport
		}
		list = append(list, a)
	}
	return func(yield func(airports.Airport, error) bool) {
		for _, a := range list {
			if !yield(a, nil) {
				return
			}
		}
	}
}
