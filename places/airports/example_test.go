package airports_test

import (
	"context"
	"fmt"
	"iter"
	"log"
	"slices"

	"quadrille/cellstore/pebblestore"
	"quadrille/feature"
	"quadrille/places"
	"quadrille/places/airports"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// withoutErrors returns a list as the sequence that Build takes.
func withoutErrors(list ...airports.Airport) iter.Seq2[airports.Airport, error] {
	return func(yield func(airports.Airport, error) bool) {
		for a := range slices.Values(list) {
			if !yield(a, nil) {
				return
			}
		}
	}
}

func Example() {
	store, err := pebblestore.Open("airports", &pebblestore.Options{FS: vfs.NewMem()})
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	ctx := context.Background()
	meta, _, err := airports.Build(ctx, store, withoutErrors(
		airports.Airport{
			ID: 4464, Ident: "LSZH", IATA: "ZRH", ICAO: "LSZH", Type: airports.Large, Name: "Zürich Airport", Country: "CH", Scheduled: true,
			Lat: 47.458057, Lon: 8.548056, TimeZone: "Europe/Zurich", TimeZoneSource: "country",
		},
		airports.Airport{
			ID:      29090,
			Ident:   "LSMD",
			ICAO:    "LSMD",
			Type:    airports.Medium,
			Name:    "Dübendorf",
			Country: "CH",
			Lat:     47.398601,
			Lon:     8.64823,
		},
	), airports.BuildOptions{})
	if err != nil {
		log.Fatal(err)
	}
	finder, err := airports.Open(ctx, store, meta)
	if err != nil {
		log.Fatal(err)
	}

	var record airports.Record
	if err := finder.Lookup(ctx, "zrh", &record); err != nil {
		log.Fatal(err)
	}
	airport, err := record.Airport()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(airport.Name, record.TimeZone, record.TimeZoneSource)

	open, err := airports.Filter{}.FeatureFilter()
	if err != nil {
		log.Fatal(err)
	}
	hits, err := places.CollectHits(nil, finder.Features(ctx, &feature.Query{Near: feature.NearTo(47.4, 8.6, 0), Filter: open, Limit: 10}))
	if err != nil {
		log.Fatal(err)
	}
	for _, h := range hits {
		fmt.Printf("%.1f km %s\n", h.DistanceM/1000, h.Name)
	}
	// Output:
	// Zürich Airport Europe/Zurich country
	// 3.6 km Dübendorf
	// 7.5 km Zürich Airport
}
