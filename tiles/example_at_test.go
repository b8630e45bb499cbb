package tiles_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/paulmach/orb"

	"quadrille/cellstore/pebblestore"
	"quadrille/tiles"
	"quadrille/tiles/build"
)

// This builds two countries into a store and looks up a point.
func ExampleReader_At() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	store, err := pebblestore.Open(filepath.Join(dir, "store"), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()

	west := orb.Polygon{{{0, 0}, {10, 0}, {10, 10}, {0, 10}, {0, 0}}}
	east := orb.Polygon{{{10, 0}, {20, 0}, {20, 10}, {10, 10}, {10, 0}}}
	meta, _, err := build.Run(ctx, store, []build.Layer{{Type: "country", Features: []build.Feature{
		{ID: "w", Name: "Westland", Geometry: west},
		{ID: "e", Name: "Eastland", Geometry: east},
	}}}, build.Options{})
	if err != nil {
		log.Fatal(err)
	}

	r, err := tiles.Open(ctx, store, meta)
	if err != nil {
		log.Fatal(err)
	}
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
