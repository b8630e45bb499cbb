package pointinfo_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"

	"quadrille/ask"
	"quadrille/ask/localtime"
	"quadrille/ask/pointinfo"
	"quadrille/cellstore/published"
	"quadrille/internal/smallworld"
)

// A program looks up everything about a point.
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
	var a pointinfo.Answer // the next Ask reuses its memory
	if err := a.Ask(ctx, &local, pointinfo.Query{Lat: 47.37, Lon: 8.54, At: at}); err != nil {
		log.Fatal(err)
	}
	for _, r := range a.Regions {
		fmt.Println(r.Type, r.Name)
	}
	fmt.Println(a.Zone.ID, a.Zone.Local(at).Format("15:04"))
	fmt.Printf("%s at %.0f m, %d people\n", a.Place.Name, a.Place.DistanceM, a.Place.Population)
	fmt.Printf("%s at %.0f m\n", a.Airport.Name, a.Airport.DistanceM)
	fmt.Printf("weather station %s at %.0f m\n", a.Station.ID, a.Station.DistanceM)
	fmt.Println("missing:", len(a.Missing))
	// Output:
	// country Switzerland
	// state Zürich
	// Europe/Zurich 14:00
	// Zürich at 839 m, 341730 people
	// Zürich Airport at 9815 m
	// weather station 06660099999 at 2150 m
	// missing: 0
}
