package recipes_test

import (
	"context"
	"fmt"
	"log"

	"quadrille/cellstore"
	"quadrille/cellstore/recipes"
	"quadrille/cellstore/storetest"
)

// tables is a store with the tables of a recipe; any driver does.
func tables(ctx context.Context, name string) cellstore.Store {
	s := storetest.NewModel()
	for _, r := range recipes.All() {
		if r.Name != name {
			continue
		}
		for _, schema := range r.Schemas {
			if err := s.CreateTable(ctx, schema); err != nil {
				log.Fatal(err)
			}
		}
	}
	return s
}

// The latest session is the first row at or after the visitor's cookie.
func ExampleVisitLog() {
	ctx := context.Background()
	store := tables(ctx, "visit log")
	defer store.Close()
	visits, err := recipes.OpenVisitLog(ctx, store)
	if err != nil {
		log.Fatal(err)
	}
	ann := recipes.Cookie{'a', 'n', 'n'}
	for i, product := range []string{"kettle", "teapot", "kettle", "cosy"} {
		start := int64(1000 + i/3*1000) // the fourth begins a session
		if err := visits.Visit(ctx, ann, start, "product", product, start+int64(i)); err != nil {
			log.Fatal(err)
		}
	}
	sessions, err := visits.Latest(ctx, ann, 2)
	if err != nil {
		log.Fatal(err)
	}
	for _, s := range sessions {
		fmt.Println(s.Start, s.Product)
	}
	// Output:
	// 2000 [cosy]
	// 1000 [kettle teapot]
}

// The count is the timestamp, so the largest count is the newest version.
func ExampleFavourites() {
	ctx := context.Background()
	store := tables(ctx, "favourites")
	defer store.Close()
	favourites, err := recipes.OpenFavourites(ctx, store)
	if err != nil {
		log.Fatal(err)
	}
	for i, url := range []string{"/a", "/b", "/a", "/c"} {
		if err := favourites.Visit(ctx, "ann", url, int64(i)); err != nil {
			log.Fatal(err)
		}
	}
	top, n, last, err := favourites.Get(ctx, "ann")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("most often %s, %d times; last %s\n", top, n, last)
	// Output:
	// most often /a, 2 times; last /c
}
