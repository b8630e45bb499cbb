package geocoder_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"

	"quadrille/ask"
	"quadrille/ask/geocoder"
	"quadrille/cellstore/published"
	"quadrille/internal/smallworld"
)

// A program geocodes with the published data and without a server.
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
	if err := sets.Poll(ctx); err != nil { // call again, or Run each set, to follow new generations
		log.Fatal(err)
	}
	view := ask.NewViews(sets).Take(time.Now()) // one view for each question, or a few
	defer view.Release()
	session := geocoder.Session{View: view}
	for _, text := range []string{"Zurich", "lugano, schweiz", "ticino", "46°00'N 8°57'E"} {
		results, err := session.Search(ctx, geocoder.Query{Text: text, Limit: 1})
		if err != nil {
			log.Fatal(err)
		}
		for _, r := range results {
			fmt.Printf("%s: %s %s at %.2f %.2f\n", text, r.Kind, r.Label, r.Lat, r.Lon)
		}
	}
	around, err := session.Reverse(ctx, geocoder.ReverseQuery{Lat: 46.02, Lon: 8.97})
	if err != nil {
		log.Fatal(err)
	}
	for _, r := range around {
		fmt.Println("at the point:", r.Kind, r.Label)
	}
	// Output:
	// Zurich: place Zürich, Switzerland at 47.37 8.55
	// lugano, schweiz: place Lugano, Ticino, Switzerland at 46.01 8.96
	// ticino: region Ticino, Switzerland at 46.20 8.80
	// 46°00'N 8°57'E: position 46, 8.95, Ticino, Switzerland at 46.00 8.95
	// at the point: place Lugano, Ticino, Switzerland
	// at the point: region Ticino, Switzerland
	// at the point: region Switzerland
}
