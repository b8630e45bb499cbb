package dataset_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"

	"quadrille/cellstore"
	"quadrille/cellstore/dataset"
	"quadrille/cellstore/pebblestore"
)

// greeter is the reader of a domain package: it says hello from one table.
type greeter struct{ table cellstore.Table }

func (g greeter) greet(ctx context.Context, who string) (string, error) {
	var row cellstore.Row
	ok, err := g.table.Get(ctx, []byte(who), nil, &row)
	if err != nil || !ok {
		return "", err
	}
	return string(row.Cells[0].Value), nil
}

func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "data")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	catalog, err := dataset.Open(dir, func(_, dir string, readOnly bool) (cellstore.Store, error) {
		return pebblestore.Open(dir, &pebblestore.Options{ReadOnly: readOnly})
	})
	if err != nil {
		log.Fatal(err)
	}

	// The ingesting program builds a generation and publishes it.
	publish := func(greeting string) error {
		build, err := catalog.Begin(ctx, "greetings")
		if err != nil {
			return err
		}
		defer build.Abort() // does nothing after Publish
		sources := []dataset.Source{{Name: "phrase book", Modified: time.Date(2026, 8, 1, 0, 0, 0, 0, time.UTC)}}
		schema := cellstore.Schema{Table: "hello", Families: []cellstore.Family{{Name: "f"}}}
		if err := build.Store().CreateTable(ctx, schema); err != nil {
			return err
		}
		table, err := build.Store().Table(ctx, "hello")
		if err != nil {
			return err
		}
		load, err := table.Bulk(ctx)
		if err != nil {
			return err
		}
		defer load.Abort()
		cell := cellstore.Cell{Family: "f", Timestamp: dataset.Timestamp(sources), Value: []byte(greeting)}
		if err := load.Add([]byte("world"), cell); err != nil {
			return err
		}
		if err := load.Commit(ctx); err != nil {
			return err
		}
		m, err := build.Publish(ctx, dataset.Manifest{SchemaVersion: 1, Records: map[string]int64{"greetings": 1}, Sources: sources})
		if err == nil {
			fmt.Println("published generation", m.Generation)
		}
		return err
	}
	if err := publish("hello, world"); err != nil {
		log.Fatal(err)
	}

	// The serving program reads the published generation. It would also call Run, in a goroutine,
	// to follow changes.
	live := dataset.NewLive(catalog, "greetings", func(g *dataset.Generation) (greeter, error) {
		if err := g.Manifest.CheckSchema(1); err != nil {
			return greeter{}, err
		}
		table, err := g.Store.Table(ctx, "hello")
		return greeter{table}, err
	})
	defer live.Close()
	serve := func() {
		if err := live.Poll(ctx); err != nil {
			log.Print(err) // the generation before stays in service
		}
		h, err := live.Acquire()
		if err != nil {
			log.Fatal(err)
		}
		defer h.Release()
		text, err := h.Value().greet(ctx, "world")
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("generation %d: %s\n", h.Manifest().Generation, text)
	}
	serve()
	if err := publish("good morning, world"); err != nil {
		log.Fatal(err)
	}
	serve()
	if _, err := catalog.Rollback(ctx, "greetings"); err != nil {
		log.Fatal(err)
	}
	serve()

	// Output:
	// published generation 1
	// generation 1: hello, world
	// published generation 2
	// generation 2: good morning, world
	// generation 1: hello, world
}
