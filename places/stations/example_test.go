package stations_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"quadrille/cellstore/pebblestore"
	"quadrille/feature"
	"quadrille/places"
	"quadrille/places/stations"

	"github.com/cockroachdb/pebble/v2/vfs"
)

func Example() {
	store, err := pebblestore.Open("stations", &pebblestore.Options{FS: vfs.NewMem()})
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	ctx := context.Background()
	list := []stations.Station{
		{ID: stations.ID([]byte("06660099999")), Name: "ZURICH/FLUNTERN", Country: "CH", Lat: 47.377, Lon: 8.566},
		{ID: stations.ID([]byte("06670099999")), Name: "ZURICH KLOTEN", Country: "CH", Lat: 47.465, Lon: 8.549},
	}
	meta, _, err := stations.Build(ctx, store, func(yield func(stations.Station, error) bool) {
		for _, s := range list {
			if !yield(s, nil) {
				return
			}
		}
	}, stations.BuildOptions{})
	if err != nil {
		log.Fatal(err)
	}
	finder, err := stations.Open(ctx, store, meta)
	if err != nil {
		log.Fatal(err)
	}

	near, err := finder.Nearest(ctx, 47.45, 8.56)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s at %.1f km\n", near.ID, near.DistanceM/1000)

	swiss, err := stations.Filter{Country: "CH"}.FeatureFilter()
	if err != nil {
		log.Fatal(err)
	}
	for s, err := range finder.Features(ctx, &feature.Query{Near: feature.NearTo(47.38, 8.54, 0), Filter: swiss, Limit: 10}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s at %.1f km\n", s.ID, s.DistanceM/1000)
	}

	for _, err := range finder.Features(ctx, &feature.Query{Near: feature.NearTo(100, 0, 0), Limit: 10}) {
		fmt.Println(errors.Is(err, places.ErrQuery))
	}
	// Output:
	// 06670099999 at 1.9 km
	// 06660099999 at 2.0 km
	// 06670099999 at 9.5 km
	// true
}
