package tiles_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"

	"github.com/paulmach/orb"

	"quadrille/cellstore/dataset"
	"quadrille/cellstore/published"
	"quadrille/tiles"
	"quadrille/tiles/build"
)

// publish publishes a country as ingest does.
func publish(ctx context.Context, dir string) (err error) {
	c, err := published.OpenCatalog(dir)
	if err != nil {
		return err
	}
	b, err := c.Begin(ctx, "boundaries")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Abort()) }()
	meta, _, err := build.Run(ctx, b.Store(), []build.Layer{{Type: "country", Features: []build.Feature{
		{ID: "wl", Name: "Westland", Geometry: orb.Polygon{{{4, 46}, {9, 46}, {9, 50}, {4, 50}, {4, 46}}}},
	}}}, build.Options{})
	if err != nil {
		return err
	}
	m := dataset.Manifest{SchemaVersion: tiles.SchemaVersion}
	if m.Meta, err = json.Marshal(meta); err != nil {
		return err
	}
	_, err = b.Publish(ctx, m)
	return err
}

// Query published boundaries without a server.
func ExampleOpenPublished() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "data")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := publish(ctx, dir); err != nil {
		log.Fatal(err)
	}

	g, err := published.Open(ctx, dir, "boundaries")
	if err != nil {
		log.Fatal(err)
	}
	defer g.Close()
	r, err := tiles.OpenPublished(ctx, g)
	if err != nil {
		log.Fatal(err)
	}
	regions, err := r.At(ctx, 47.37, 8.54)
	if err != nil {
		log.Fatal(err)
	}
	for _, region := range regions {
		fmt.Println(region.Type, region.ID, region.Name)
	}
	// Output:
	// country wl Westland
}
