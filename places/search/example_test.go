package search_test

import (
	"context"
	"fmt"
	"log"

	"quadrille/cellstore/pebblestore"
	"quadrille/places/search"

	"github.com/cockroachdb/pebble/v2/vfs"
)

func Example() {
	store, err := pebblestore.Open("names", &pebblestore.Options{FS: vfs.NewMem()})
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	ctx := context.Background()
	builder, err := search.NewBuilder(ctx, store, search.Options{
		Lookup: func(id uint32, dst []byte) ([]byte, error) { return fmt.Appendf(dst, `"id":%d`, id), nil },
	})
	if err != nil {
		log.Fatal(err)
	}
	defer builder.Close()
	for _, e := range []search.Entry{
		{ID: 2657896, Name: "Zürich", ASCIIName: "Zurich", Class: 'P', Code: "PPLA", Country: "CH", Population: 436_332},
		{ID: 6295533, Name: "Zürich Flughafen", Class: 'S', Code: "AIRP", Country: "CH"},
	} {
		if err := builder.Add(&e); err != nil {
			log.Fatal(err)
		}
	}
	meta, err := builder.Finish()
	if err != nil {
		log.Fatal(err)
	}
	reader, err := search.Open(ctx, store, meta)
	if err != nil {
		log.Fatal(err)
	}

	hits, total, err := reader.Search(ctx, search.Query{Text: "zuri"}, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(total)
	for _, h := range hits {
		fmt.Println(h.ID)
	}
	// Output:
	// 2
	// 2657896
	// 6295533
}
