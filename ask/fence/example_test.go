package fence_test

import (
	"context"
	"fmt"
	"log"

	"github.com/cockroachdb/pebble/v2/vfs"

	"quadrille/ask"
	"quadrille/ask/fence"
	"quadrille/cellstore/dataset"
	"quadrille/cellstore/pebblestore"
	"quadrille/internal/smallworld"
	"quadrille/places/live"
	"quadrille/tiles"
	"quadrille/tiles/build"
)

// A program watches borders with a reader of boundaries and no generations.
func Example() {
	ctx := context.Background()
	store, err := pebblestore.Open("boundaries", &pebblestore.Options{FS: vfs.NewMem()})
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	meta, _, err := build.Run(ctx, store, smallworld.Layers(), build.Options{})
	if err != nil {
		log.Fatal(err)
	}
	reader, err := tiles.Open(ctx, store, meta)
	if err != nil {
		log.Fatal(err)
	}
	views := ask.NewViews(ask.Sets{Boundaries: dataset.NewFixedLive[*tiles.Reader](reader, dataset.Manifest{})})

	set, err := fence.New(fence.Fences{
		Enter:   []fence.Region{{Type: "country"}}, // any country
		Leave:   []fence.Region{{Type: "state", ID: "ch-ti"}},
		Circles: []fence.Circle{{Name: "depot", Lat: 45.81, Lon: 9.08, RadiusM: 2_000}},
	})
	if err != nil {
		log.Fatal(err)
	}
	if err := set.Check(ctx, views); err != nil {
		log.Fatal(err)
	}
	lugano, como := [2]float64{8.96, 46.01}, [2]float64{9.08, 45.81} // longitude, latitude
	crossed, err := set.AppendCrossings(ctx, nil, &live.Event{ID: "van-1", From: &lugano, To: &como}, views)
	if err != nil {
		log.Fatal(err)
	}
	for _, e := range crossed {
		fmt.Println(e.Event.ID, e.Type, e.Fence)
	}
	// Output:
	// van-1 leave state:ch-ti
	// van-1 enter country:it
	// van-1 enter depot
}
