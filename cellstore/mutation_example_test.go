package cellstore_test

import (
	"context"
	"fmt"
	"log"

	"quadrille/cellstore"
	"quadrille/cellstore/storetest"
)

// A row mutation moves a page from one category to another: no reader finds it
// in both, or in neither.
func ExampleMutation() {
	ctx := context.Background()
	store := storetest.NewModel() // or any driver
	defer store.Close()
	schema := cellstore.Schema{Table: "pages", Families: []cellstore.Family{{Name: "category"}, {Name: "moves"}}}
	if err := store.CreateTable(ctx, schema); err != nil {
		log.Fatal(err)
	}
	pages, err := store.Table(ctx, "pages")
	if err != nil {
		log.Fatal(err)
	}
	row := []byte("chimpanzee")
	if err := pages.Apply(ctx, cellstore.Mutation{Row: row, Ops: []cellstore.Op{
		cellstore.PutAt("category", []byte("primates"), 1, []byte("yes")),
	}}); err != nil {
		log.Fatal(err)
	}

	moved, err := pages.CheckAndMutate(ctx,
		cellstore.Check{Family: "category", Qualifier: []byte("primates"), Op: cellstore.Present},
		cellstore.Mutation{Row: row, Ops: []cellstore.Op{
			cellstore.DeleteColumn("category", []byte("primates"), cellstore.AllVersions),
			cellstore.PutAt("category", []byte("great-apes"), 2, []byte("yes")),
		}})
	if err != nil {
		log.Fatal(err)
	}
	counts, err := pages.Increment(ctx, cellstore.Increment{Row: row, Deltas: []cellstore.Delta{{Family: "moves", By: 1}}}, nil)
	if err != nil {
		log.Fatal(err)
	}

	var page cellstore.Row
	if _, err := pages.Get(ctx, row, &cellstore.Selection{Families: []string{"category"}}, &page); err != nil {
		log.Fatal(err)
	}
	for _, c := range page.Cells {
		fmt.Printf("%s %s:%s@%d = %s\n", page.Key, c.Family, c.Qualifier, c.Timestamp, c.Value)
	}
	fmt.Println("moved:", moved, "times:", counts)
	// Output:
	// chimpanzee category:great-apes@2 = yes
	// moved: true times: [1]
}
