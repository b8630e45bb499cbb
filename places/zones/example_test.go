package zones_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"quadrille/cellstore/pebblestore"
	"quadrille/places/zones"

	"github.com/cockroachdb/pebble/v2/vfs"
)

func Example() {
	store, err := pebblestore.Open("zones", &pebblestore.Options{FS: vfs.NewMem()})
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	ctx := context.Background()
	meta, _, err := zones.Build(ctx, store, []string{"Europe/Zurich", "Asia/Kathmandu"}, map[string]string{"NP": "Asia/Kathmandu"})
	if err != nil {
		log.Fatal(err)
	}
	reader, err := zones.Open(ctx, store, meta)
	if err != nil {
		log.Fatal(err)
	}

	at := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	offset, err := reader.Offset(ctx, "Europe/Zurich", at)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(offset.Abbreviation, offset.DST, string(zones.AppendLocal(nil, at, offset)))

	zone, err := reader.CountryZone(ctx, "NP")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(zone)
	// Output:
	// CEST true 2026-07-01T14:00:00+02:00
	// Asia/Kathmandu
}
