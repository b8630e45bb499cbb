package pebblestore_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"quadrille/cellstore"
	"quadrille/cellstore/pebblestore"
)

// This example is a table of address blocks keyed by their upper bound. The block of an address is
// the next row, if the row's lower bound is not above the address.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "pebblestore")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)

	store, err := pebblestore.Open(dir, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	err = store.CreateTable(ctx, cellstore.Schema{
		Table:    "ip",
		Families: []cellstore.Family{{Name: "f", Bloom: cellstore.BloomNone}},
	})
	if err != nil {
		log.Fatal(err)
	}
	table, err := store.Table(ctx, "ip")
	if err != nil {
		log.Fatal(err)
	}

	load, err := table.Bulk(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer load.Abort() // does nothing after Commit
	for _, block := range []struct{ upper, owner string }{
		{"50.60.a1.08", "A"}, {"50.60.a1.d0", "B"}, {"50.60.a1.ff", "C"},
	} {
		c := cellstore.Cell{Family: "f", Timestamp: 1, Value: []byte(block.owner)}
		if err := load.Add([]byte(block.upper), c); err != nil {
			log.Fatal(err)
		}
	}
	if err := load.Commit(ctx); err != nil {
		log.Fatal(err)
	}

	var row cellstore.Row
	for _, address := range []string{"50.60.a1.09", "50.60.a2.00"} {
		found, err := table.Next(ctx, []byte(address), nil, nil, &row)
		switch {
		case err != nil:
			log.Fatal(err)
		case !found:
			fmt.Println(address, "is in no block")
		default:
			fmt.Printf("%s is in the block of %s up to %s\n", address, row.Cells[0].Value, row.Key)
		}
	}
	// Output:
	// 50.60.a1.09 is in the block of B up to 50.60.a1.d0
	// 50.60.a2.00 is in no block
}
