package hbasestore_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"quadrille/cellstore"
	"quadrille/cellstore/hbasestore"
)

// This example keeps a counter of visits and the last page on a cluster. It is compiled but not
// run, because it needs gateways.
func Example() {
	ctx := context.Background()
	store, err := hbasestore.Open(ctx, hbasestore.Options{
		Gateways:  []string{"gateway-1:9090", "gateway-2:9090"},
		Namespace: "shop",
		Timeout:   5 * time.Second,
	})
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	err = store.CreateTable(ctx, cellstore.Schema{Table: "visitors", Families: []cellstore.Family{
		{Name: "n"}, {Name: "last", TTL: 24 * time.Hour}}})
	if err != nil && !errors.Is(err, cellstore.ErrTableExists) {
		log.Fatal(err)
	}
	visitors, err := store.Table(ctx, "visitors")
	if err != nil {
		log.Fatal(err)
	}

	// A put with a timestamp of its own is sent again if a gateway fails.
	err = visitors.Apply(ctx, cellstore.Mutation{Row: []byte("ann"), Ops: []cellstore.Op{
		cellstore.PutAt("last", nil, time.Now().UnixMilli(), []byte("/teapots"))}})
	if err != nil {
		log.Fatal(err)
	}
	// An increment is not sent again, because it could count twice.
	_, err = visitors.Increment(ctx, cellstore.Increment{Row: []byte("ann"), Deltas: []cellstore.Delta{
		{Family: "n", Qualifier: []byte("/teapots"), By: 1}}}, nil)
	switch {
	case errors.Is(err, cellstore.ErrUnknownOutcome):
		log.Print("the visit may have been counted")
	case errors.Is(err, cellstore.ErrUnavailable):
		log.Print("the visit has not been counted: no gateway answered")
	case err != nil:
		log.Fatal(err)
	}

	// This is a call per family, both at once.
	rows := make([]cellstore.Row, 2)
	if err := visitors.NextEach(ctx, []byte("ann"), nil, []string{"n", "last"}, rows); err != nil {
		log.Fatal(err)
	}
	for _, row := range rows {
		for _, c := range row.Cells {
			fmt.Printf("%s %s:%s %x\n", row.Key, c.Family, c.Qualifier, c.Value)
		}
	}
}

func ExampleParseURL() {
	o, err := hbasestore.ParseURL("hbase://gateway-1,gateway-2:9091/shop?transport=framed&timeout=5s")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(o.Gateways, o.Namespace, o.FramedTransport, o.Timeout)
	// Output:
	// [gateway-1:9090 gateway-2:9091] shop true 5s
}
