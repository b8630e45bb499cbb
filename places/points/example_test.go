package points_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"quadrille/cellstore/pebblestore"
	"quadrille/feature"
	"quadrille/places/points"
)

// A live collection answers with a point as soon as it is written.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "points")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	store, err := pebblestore.Open(dir, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	live, err := points.OpenLive(ctx, store)
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = live.Close() }()
	cafes, err := live.Create(ctx, points.Meta{Name: "cafes"})
	if err != nil {
		log.Fatal(err)
	}
	writes := []points.Write{
		{Kind: points.Put, ID: "odeon", Lat: 47.367, Lon: 8.5455, Properties: []byte(`{"name":"Odeon","open":true}`)},
		{Kind: points.Put, ID: "henrici", Lat: 47.3716, Lon: 8.5438, Properties: []byte(`{"name":"Henrici","open":false}`)},
	}
	outcomes := make([]points.Outcome, len(writes))
	if err := cafes.Write(ctx, writes, outcomes); err != nil {
		log.Fatal(err)
	}
	for i := range outcomes {
		if outcomes[i].Err != nil {
			log.Fatal(outcomes[i].Err)
		}
	}
	term, err := cafes.Meta().Schema.ParseTerm("open", "true")
	if err != nil {
		log.Fatal(err)
	}
	open, err := feature.ParseFilter(cafes.Meta().Schema, []feature.Term{term})
	if err != nil {
		log.Fatal(err)
	}
	hits, _, err := cafes.Nearby(ctx, points.NearbyQuery{Lat: 47.372, Lon: 8.543, Filter: open}, nil)
	if err != nil {
		log.Fatal(err)
	}
	for i := range hits {
		fmt.Printf("%s, %.0f m: %s\n", hits[i].ID, hits[i].DistanceM, hits[i].Properties)
	}
	// Output: odeon, 587 m: {"name":"Odeon","open":true}
}
