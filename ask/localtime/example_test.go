package localtime_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"

	"quadrille/ask"
	"quadrille/ask/localtime"
	"quadrille/cellstore/published"
	"quadrille/internal/smallworld"
)

// A program looks up the local time, on land and at sea.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "data")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := smallworld.Publish(ctx, dir); err != nil {
		log.Fatal(err)
	}

	catalog, err := published.OpenCatalog(dir)
	if err != nil {
		log.Fatal(err)
	}
	sets := ask.PublishedSets(catalog.Generations)
	defer sets.Close()
	if err := sets.Poll(ctx); err != nil {
		log.Fatal(err)
	}
	at := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	view := ask.NewViews(sets).Take(at) // one view for each question
	defer view.Release()
	local := localtime.ViewOf(view)
	for _, p := range [][2]float64{{47.37, 8.54}, {45.81, 9.08}, {30, -40}} {
		zone, err := local.Zone(ctx, p[0], p[1], at)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(zone.ID, "by", zone.Source, zone.Local(at).Format("15:04 MST"))
	}
	// Output:
	// Europe/Zurich by country 14:00 CEST
	// Europe/Rome by country 14:00 CEST
	// Etc/GMT+3 by longitude 09:00 -03
}
