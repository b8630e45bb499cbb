package tiles_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/paulmach/orb"

	"quadrille/cellstore/pebblestore"
	"quadrille/quadkey"
	"quadrille/tiles"
	"quadrille/tiles/build"
)

// twoCountries builds two countries into a store of a temporary directory and opens them. The
// caller closes them.
func twoCountries(ctx context.Context) (r *tiles.Reader, closeAll func()) {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	store, err := pebblestore.Open(filepath.Join(dir, "store"), nil)
	if err != nil {
		log.Fatal(err)
	}

	west := orb.Polygon{{{0, 0}, {10, 0}, {10, 10}, {0, 10}, {0, 0}}}
	east := orb.Polygon{{{10, 0}, {20, 0}, {20, 10}, {10, 10}, {10, 0}}}
	meta, _, err := build.Run(ctx, store, []build.Layer{{Type: "country", Features: []build.Feature{
		{ID: "w", Name: "Westland", Geometry: west},
		{ID: "e", Name: "Eastland", Geometry: east},
	}}}, build.Options{})
	if err != nil {
		log.Fatal(err)
	}

	if r, err = tiles.Open(ctx, store, meta); err != nil {
		log.Fatal(err)
	}
	return r, func() {
		store.Close()
		os.RemoveAll(dir)
	}
}

// This looks up a point in two countries.
func ExampleReader_At() {
	ctx := context.Background()
	r, closeAll := twoCountries(ctx)
	defer closeAll()
	found, err := r.At(ctx, 5, 12) // latitude, longitude
	if err != nil {
		log.Fatal(err)
	}
	for _, region := range found {
		fmt.Println(region.Type, region.ID, region.Name)
	}
	// Output:
	// country e Eastland
}

// This finds the countries of many points. A column of numbers has the answers, and the join knows
// what each number means.
func ExampleReader_PointJoin() {
	ctx := context.Background()
	r, closeAll := twoCountries(ctx)
	defer closeAll()
	points := []quadkey.Position{{Lat: 5, Lon: 2}, {Lat: 5, Lon: 12}, {Lat: -5, Lon: 12}, {Lat: 6, Lon: 3}, {Lat: 91, Lon: 3}}

	join, err := r.PointJoin("country")
	if err != nil {
		log.Fatal(err)
	}
	answers := make([]int32, len(points))
	if err := join.Find(ctx, points, [][]int32{answers}); err != nil {
		log.Fatal(err)
	}
	for i, answer := range answers {
		switch regions := join.Regions(0, answer); {
		case answer == tiles.NoPoint:
			fmt.Println(points[i], "is no point")
		case len(regions) == 0:
			fmt.Println(points[i], "is at sea")
		default:
			fmt.Println(points[i], regions[0].Name)
		}
	}
	// Output:
	// {5 2} Westland
	// {5 12} Eastland
	// {-5 12} is at sea
	// {6 3} Westland
	// {91 3} is no point
}
