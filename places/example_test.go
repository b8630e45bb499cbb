package places_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log"
	"maps"
	"os"
	"slices"

	"quadrille/cellstore/dataset"
	"quadrille/cellstore/pebblestore"
	"quadrille/cellstore/published"
	"quadrille/feature"
	"quadrille/places"
	"quadrille/quadkey"
)

// withoutErrors returns a list as the sequence that Build takes.
func withoutErrors(list []places.Place) iter.Seq2[places.Place, error] {
	return func(yield func(places.Place, error) bool) {
		for _, p := range list {
			if !yield(p, nil) {
				return
			}
		}
	}
}

func Example() {
	dir, err := os.MkdirTemp("", "places")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	store, err := pebblestore.Open(dir, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()

	ctx := context.Background()
	meta, _, err := places.Build(ctx, store, places.Source{Places: withoutErrors([]places.Place{
		{ID: 2198148, Name: "Suva", Lat: -18.14161, Lon: 178.44149, Class: "P", Code: "PPLC", Country: "FJ", Population: 77366},
		{ID: 4035413, Name: "Apia", Lat: -13.83333, Lon: -171.76666, Class: "P", Code: "PPLC", Country: "WS", Population: 40407},
		{ID: 2193733, Name: "Auckland", Lat: -36.84853, Lon: 174.76349, Class: "P", Code: "PPLA", Country: "NZ", Population: 417910},
		{ID: 2179537, Name: "Wellington", Lat: -41.28664, Lon: 174.77557, Class: "P", Code: "PPLC", Country: "NZ", Population: 381900},
	})}, places.BuildOptions{TempDir: dir})
	if err != nil {
		log.Fatal(err)
	}
	finder, err := places.Open(ctx, store, meta)
	if err != nil {
		log.Fatal(err)
	}

	// This finds the nearest capitals to a ship just east of the antimeridian.
	capitals, err := places.Filter{Codes: []string{"PPLC"}}.FeatureFilter()
	if err != nil {
		log.Fatal(err)
	}
	hits, err := places.CollectHits(nil, finder.Features(ctx, &feature.Query{Near: feature.NearTo(-17, -179.5, 0), Filter: capitals,
		Limit: 2}))
	if err != nil {
		log.Fatal(err)
	}
	for _, h := range hits {
		fmt.Printf("%.0f km {%s}\n", h.DistanceM/1000, h.JSON)
	}

	tile, err := quadkey.TileAt(174.8, -41.3, 2)
	if err != nil {
		log.Fatal(err)
	}
	names := map[string]bool{}
	for p, err := range finder.Tile(ctx, tile, nil) {
		if err != nil {
			log.Fatal(err)
		}
		names[p.Name()] = true
	}
	fmt.Println(tile, slices.Sorted(maps.Keys(names)))
	// Output:
	// 252 km {"id":2198148,"name":"Suva","country":"FJ","class":"P","code":"PPLC","population":77366,"lat":-18.14161,"lon":178.44149}
	// 900 km {"id":4035413,"name":"Apia","country":"WS","class":"P","code":"PPLC","population":40407,"lat":-13.83333,"lon":-171.76666}
	// 2/3/2 [Auckland Suva Wellington]
}

// publish publishes a place like ingest.
func publish(ctx context.Context, dir string) (err error) {
	c, err := published.OpenCatalog(dir)
	if err != nil {
		return err
	}
	b, err := c.Begin(ctx, "places")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Abort()) }()
	meta, _, err := places.Build(ctx, b.Store(), places.Source{Places: withoutErrors([]places.Place{
		{ID: 2198148, Name: "Suva", Lat: -18.14161, Lon: 178.44149, Class: "P", Code: "PPLC", Country: "FJ", Population: 77366},
	})}, places.BuildOptions{TempDir: dir})
	if err != nil {
		return err
	}
	m := dataset.Manifest{SchemaVersion: places.SchemaVersion}
	if m.Meta, err = json.Marshal(meta); err != nil {
		return err
	}
	_, err = b.Publish(ctx, m)
	return err
}

// A program reads the places that ingest has published, without a server.
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

	g, err := published.Open(ctx, dir, "places")
	if err != nil {
		log.Fatal(err)
	}
	defer g.Close()
	finder, err := places.OpenPublished(ctx, g)
	if err != nil {
		log.Fatal(err)
	}
	hits, err := places.CollectHits(nil, finder.Features(ctx, &feature.Query{Near: feature.NearTo(-17, -179.5, 0), Limit: 1}))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.0f km {%s}\n", hits[0].DistanceM/1000, hits[0].JSON)
	// Output:
	// 252 km {"id":2198148,"name":"Suva","country":"FJ","class":"P","code":"PPLC","population":77366,"lat":-18.14161,"lon":178.44149}
}
