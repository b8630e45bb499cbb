package servertest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"

	orbmvt "github.com/paulmach/orb/encoding/mvt"
	"github.com/paulmach/orb/geojson"

	"quadrille/ask"
	"quadrille/cellstore"
	"quadrille/cellstore/pebblestore"
	"quadrille/cmd/tileserver/internal/httpapi"
	"quadrille/cmd/tileserver/internal/ops"
	"quadrille/cmd/tileserver/internal/servertest"
	"quadrille/cmd/tileserver/internal/tile"
	"quadrille/internal/testrace"
	"quadrille/places/live"
	"quadrille/places/points"
)

// pointsOf counts the points of a layer in a vector tile: single points, and those in clusters.
func pointsOf(t *testing.T, tile, layer string) (single, clustered int) {
	t.Helper()
	layers, err := orbmvt.Unmarshal([]byte(tile))
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range layers {
		if l.Name != layer {
			continue
		}
		for _, f := range l.Features {
			if f.Properties["cluster"] == true {
				clustered += int(f.Properties["point_count"].(float64))
			} else {
				single++
			}
		}
	}
	return single, clustered
}

// Every tile, as vectors and as GeoJSON, shows all points, either as single points or in clusters.
func TestCollectionTilesShowAllPoints(t *testing.T) {
	testrace.SkipUnderRace(t, "one request after the other, which TestEverythingAtOnce sends at once")
	w, _ := servertest.NewCollections(t)
	for zoom := range 8 {
		sum, side := 0, 1<<zoom
		for x := side / 2; x < min(side, side/2+max(1, side/4)); x++ {
			for y := range side {
				single, clustered := pointsOf(t, servertest.Body(t, w.Get(fmt.Sprintf("/tiles/points:shops/%d/%d/%d.mvt", zoom, x, y))), "points:shops")
				sum += single + clustered
				text := servertest.Body(t, w.Get(fmt.Sprintf("/tiles/points:shops/%d/%d/%d.geojson", zoom, x, y)))
				fc, err := geojson.UnmarshalFeatureCollection([]byte(text))
				if err != nil {
					t.Fatal(err)
				}
				for _, f := range fc.Features {
					if f.Properties["cluster"] == true {
						clustered -= int(f.Properties["point_count"].(float64))
					} else {
						single--
						if f.ID == nil || f.Properties["tags"] == nil {
							t.Fatalf("a point without its id or properties: %v", f)
						}
					}
				}
				if single != 0 || clustered != 0 {
					t.Errorf("%d/%d/%d: vectors and GeoJSON differ by %d points and %d in clusters", zoom, x, y, single, clustered)
				}
			}
		}
		if sum != 5000 {
			t.Errorf("zoom %d shows %d points of 5000", zoom, sum)
		}
	}
}

// Tiles of a published collection may be cached until a new generation is published; tiles of a
// live one may not.
func TestCollectionTilesAreKeptAsLongAsTrue(t *testing.T) {
	w, cars := servertest.NewCollections(t)
	for _, path := range []string{"/tiles/points:shops/3/4/3.mvt", "/tiles/country,points:shops/3/4/3.geojson",
		"/tiles/points:shops/3/4/3.png", "/tiles/points:shops.json"} {
		res := w.Get(path)
		tag := res.Header.Get("Etag")
		if res.StatusCode != 200 || tag == "" || strings.Contains(res.Header.Get("Cache-Control"), "no-store") {
			t.Errorf("%s: %d, tag %q, %q", path, res.StatusCode, tag, res.Header.Get("Cache-Control"))
		}
		if res := w.Get(path, "If-None-Match", tag); res.StatusCode != http.StatusNotModified {
			t.Errorf("%s with its tag: %d, want 304", path, res.StatusCode)
		}
	}
	moments := []string{"/tiles/points:cars/3/4/3.mvt", "/tiles/points:cars,points:shops/3/4/3.mvt",
		"/tiles/country,points:cars/3/4/3.geojson", "/tiles/points:cars/3/4/3.png", "/tiles/points:cars.json"}
	before := map[string]string{}
	for _, path := range moments {
		res := w.Get(path)
		before[path] = servertest.Body(t, res)
		if res.StatusCode != 200 || res.Header.Get("Etag") != "" || res.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %d, tag %q, %q", path, res.StatusCode, res.Header.Get("Etag"), res.Header.Get("Cache-Control"))
		}
		if res := w.Get(path, "If-None-Match", "*"); res.StatusCode != 200 {
			t.Errorf("%s with a condition: %d, want 200", path, res.StatusCode)
		}
	}
	servertest.Drive(t, cars, "two", 2, 21)
	for _, path := range moments[:4] {
		if servertest.Body(t, w.Get(path)) == before[path] {
			t.Errorf("%s is what it was before a point came", path)
		}
	}
	if res := w.Get("/tiles/points:cars/3/0/0.mvt"); res.StatusCode != http.StatusNoContent || res.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("an empty tile: %d, %q", res.StatusCode, res.Header.Get("Cache-Control"))
	}
}

// A missing or private collection is not a layer, and "all" includes no collections.
func TestCollectionsThatAreNoLayers(t *testing.T) {
	testrace.SkipUnderRace(t, "one request after the other, which TestEverythingAtOnce sends at once")
	w, _ := servertest.NewCollections(t)
	for _, path := range []string{
		"/tiles/points:none/0/0/0.mvt", "/tiles/points:secret/0/0/0.mvt", "/tiles/points:secret.json", "/tiles/points:/0/0/0.mvt",
		"/style.json?layers=points:secret", "/tiles/country,points:secret/0/0/0.png",
	} {
		res := w.Get(path)
		text := servertest.Body(t, res)
		if res.StatusCode != http.StatusNotFound || !strings.Contains(text, "unknown-layer") ||
			!strings.Contains(text, "points:shops") || strings.Contains(text, "secret,") {
			t.Errorf("%s: %d %s", path, res.StatusCode, text)
		}
	}
	if text := servertest.Body(t, w.Get("/tiles/all.json")); strings.Contains(text, "points:") {
		t.Errorf("all has collections: %s", text)
	}
	var doc tile.TileJSON
	if err := json.Unmarshal([]byte(servertest.Body(t, w.Get("/tiles/country.json?pinned=true"))), &doc); err != nil {
		t.Fatal(err)
	}
	pinned := strings.NewReplacer("{z}", "0", "{x}", "0", "{y}", "0", "country",
		"country,points:shops").Replace(doc.Tiles[0][strings.Index(doc.Tiles[0], "/g/"):])
	if res := w.Get(pinned); res.StatusCode != http.StatusNotFound {
		t.Errorf("%s: %d, want 404", pinned, res.StatusCode)
	}
}

// Tiles contain texts unchanged, except that long ones are shortened. A property cannot replace the
// layer's own attributes.
func TestCollectionTilesOfHostilePoints(t *testing.T) {
	testrace.SkipUnderRace(t, "one request after the other, which TestEverythingAtOnce sends at once")
	w, _ := servertest.NewCollections(t)
	layers, err := orbmvt.Unmarshal([]byte(servertest.Body(t, w.Get("/tiles/points:shops_label/9/284/255.mvt"))))
	if err != nil || len(layers) != 1 || layers[0].Name != "points:shops_label" || len(layers[0].Features) != 2 {
		t.Fatalf("%v, %v", layers, err)
	}
	for _, f := range layers[0].Features {
		switch f.Properties["id"] {
		case `"><script>`:
			long, _ := f.Properties["long"].(string)
			delete(f.Properties, "long")
			if len(long) > 200 || !strings.HasSuffix(long, "ü…") {
				t.Errorf("a long text became %q", long)
			}
			if want := map[string]any{
				"id":    `"><script>`,
				"name":  servertest.HostileName,
				"whole": -42.0,
				"big":   1e300,
			}; !maps.Equal(f.Properties, want) {
				t.Errorf("%v, want %v", f.Properties, want)
			}
		case "many":
			if n := len(f.Properties); n != 22 || f.Properties["name"] != "last" {
				t.Errorf("%d properties, name %v; want the id, the name and 20", n, f.Properties["name"])
			}
		default:
			t.Errorf("a point %v", f.Properties["id"])
		}
		if id, _ := f.ID.(float64); id <= 0 || id >= 1<<53 || id != math.Trunc(id) {
			t.Errorf("the number %v of a feature", f.ID)
		}
	}
	fc, err := geojson.UnmarshalFeatureCollection([]byte(servertest.Body(t, w.Get("/tiles/points:shops_label/9/284/255.geojson"))))
	if err != nil || len(fc.Features) != 2 {
		t.Fatal(fc, err)
	}
	i := slices.IndexFunc(fc.Features, func(f *geojson.Feature) bool { return f.ID == `"><script>` })
	if i < 0 || fc.Features[i].Properties["id"] != "not mine" || fc.Features[i].Properties["name"] != servertest.HostileName {
		t.Errorf("%v", fc.Features)
	}
	if !servertest.HasVisiblePixels(servertest.DecodePNG(t, w.Get("/tiles/points:shops_label/9/284/255.png"))) {
		t.Error("no dot in the picture")
	}
}

// TestCollectionsInDocuments tests that the documents that describe tiles also name the collections
// of points.
func TestCollectionsInDocuments(t *testing.T) {
	testrace.SkipUnderRace(t, "one request after the other, which TestEverythingAtOnce sends at once")
	w, _ := servertest.NewCollections(t)
	var doc tile.TileJSON
	if err := json.Unmarshal([]byte(servertest.Body(t, w.Get("/tiles/points:shops.json?pinned=true"))), &doc); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"id":                      "String",
		"cluster":                 "Boolean",
		"point_count":             "Number",
		"point_count_abbreviated": "String",
		"cluster_id":              "String",
		"name":                    "String",
		"open":                    "Boolean",
		"stars":                   "Number",
	}
	if len(doc.VectorLayers) != 1 || !maps.Equal(doc.VectorLayers[0].Fields, want) ||
		!strings.Contains(doc.VectorLayers[0].Description, "The shops") {
		t.Errorf("%+v, want the fields %v", doc.VectorLayers, want)
	}
	if doc.MaxZoom != 22 || doc.Attribution != "&lt;b&gt;Us&lt;/b&gt;" || doc.Bounds[0] < 0 || doc.Bounds[2] > 40 ||
		!strings.Contains(doc.Tiles[0], "/tiles/points:shops/{z}") || strings.Contains(doc.Tiles[0], "/g/") {
		t.Errorf("%+v", doc)
	}

	var style tile.MapStyle
	for path, sources := range map[string][]string{
		"/style.json":                                  {"points:cars", "points:shops", "points:shops_label", "quadrille", "quadrille_from_3"},
		"/style.json?layers=points:shops":              {"points:shops", "quadrille"}, // with land below it
		"/style.json?layers=points:shops&theme=plain":  {"points:shops"},              // it lies over another map
		"/style.json?layers=country&theme=dark":        {"quadrille"},
		"/style.json?layers=country,points:cars":       {"points:cars", "quadrille"},
		"/style.json?layers=points:shops,points:shops": {"points:shops", "quadrille"},
	} {
		res := w.Get(path)
		if tag := res.Header.Get("Etag"); tag == "" {
			t.Errorf("%s has no tag", path)
		}
		style = tile.MapStyle{}
		if err := json.Unmarshal([]byte(servertest.Body(t, res)), &style); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(path, "layers=points") && style.Center != [2]float64(doc.Center[:2]) {
			t.Errorf("%s opens at %v, want the points at %v", path, style.Center, doc.Center)
		}
		if got := slices.Sorted(maps.Keys(style.Sources)); !slices.Equal(got, sources) {
			t.Errorf("%s: sources %q, want %q", path, got, sources)
		}
		ids, drawn := map[string]bool{}, map[string]int{}
		for _, l := range style.Layers {
			if ids[l.ID] || l.Source != "" && style.Sources[l.Source].URL == "" {
				t.Errorf("%s: the layer %s is there twice, or of no source", path, l.ID)
			}
			ids[l.ID] = true
			drawn[l.Source]++
		}
		for _, source := range sources {
			if strings.HasPrefix(source, "points:") && drawn[source] != 4 {
				t.Errorf("%s: %d layers of %s, want dots, clusters, names and counts", path, drawn[source], source)
			}
		}
	}
	w.Handler = httpapi.New(httpapi.Config{Sets: ask.Sets{Collections: w.Config.Collections}})
	if res := w.Get("/style.json"); res.StatusCode != 200 {
		t.Errorf("a style of collections alone: %d %s", res.StatusCode, servertest.Body(t, res))
	}
}

// In a tile with a live layer, only this layer is made again. The others come from the cache.
func TestLiveTilesKeepOtherLayers(t *testing.T) {
	w, cars := servertest.NewCollections(t)
	servertest.WithMetrics(&w.Config)
	w.Serve()
	for _, form := range []string{"mvt", "geojson"} {
		address := func(layers string) string { return "/tiles/" + layers + "/3/4/3." + form }
		hits := w.Scrape()["quadrille_response_cache_hits_total{cache=tiles}"]
		others := servertest.Body(t, w.Get(address("country,points:shops"), "Accept-Encoding", "identity"))
		for i := range 2 {
			servertest.Drive(t, cars, fmt.Sprint(form, i), 1, 20+float64(i))
			text := servertest.Body(t, w.Get(address("country,points:shops,points:cars")))
			live := servertest.Body(t, w.Get(address("points:cars")))
			want := others + live
			if form == "geojson" {
				const head, tail = `{"type":"FeatureCollection","features":[`, `]}`
				want = strings.TrimSuffix(others, tail) + "," + strings.TrimPrefix(live, head)
			}
			if text != want {
				t.Errorf("%s: %d bytes of all layers, want %d of others and %d of the live one", form, len(text), len(others), len(live))
			}
		}
		if got := w.Scrape()["quadrille_response_cache_hits_total{cache=tiles}"] - hits; got != 2 {
			t.Errorf("%s: %v tiles came from the cache, want 2", form, got)
		}
		// Requested alone, they give the same answer as before, and an empty part causes no error.
		if again := servertest.Body(t, w.Get(address("country,points:shops"), "Accept-Encoding", "identity")); again != others {
			t.Errorf("%s: the layers that are kept have changed", form)
		}
		if text := servertest.Body(t, w.Get("/tiles/country,points:cars/3/0/7."+form)); form == "geojson" && !json.Valid([]byte(text)) {
			t.Errorf("a tile of nothing: %s", text)
		}
	}
}

// A style includes the existing collections while others are created and dropped.
func TestStyleWhileCollectionsGo(t *testing.T) {
	w, _ := servertest.NewCollections(t)
	gone := make(chan error, 1)
	stop := make(chan struct{})
	go func() {
		var err error
		for err == nil {
			select {
			case <-stop:
				gone <- nil
				return
			default:
			}
			if _, err = w.Config.Collections.Live.Create(context.Background(), live.Meta{Name: "brief"}); err == nil {
				err = w.Config.Collections.Live.Drop(context.Background(), "brief")
			}
		}
		gone <- err
	}()
	for range 200 {
		if res := w.Get("/style.json"); res.StatusCode != http.StatusOK {
			t.Fatalf("%d %s", res.StatusCode, servertest.Body(t, res))
		}
	}
	close(stop)
	if err := <-gone; err != nil {
		t.Error(err)
	}
}

// Only the operator sees private collections in the state of the service.
func TestStatusOfPrivateCollections(t *testing.T) {
	w, _ := servertest.NewCollections(t)
	if text := servertest.Body(t, w.Get("/status")); strings.Contains(text, "points-secret") || !strings.Contains(text, "points-shops") {
		t.Error(text)
	}
	w.Handler = ops.ForOperator(w.Handler)
	if text := servertest.Body(t, w.Get("/status")); !strings.Contains(text, "points-secret") || !strings.Contains(text, "points-shops") {
		t.Error(text)
	}
	if res := w.Get("/readyz"); res.StatusCode != http.StatusOK {
		t.Errorf("%d %s", res.StatusCode, servertest.Body(t, res))
	}
}

// To clients that may not read it, a damaged private collection looks like one that never existed.
func TestDamagedPrivateCollection(t *testing.T) {
	w, _ := servertest.NewCollections(t)
	store, err := pebblestore.Open(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	hidden, err := live.Open(t.Context(), store, points.LiveKind)
	if err == nil {
		_, err = hidden.Create(t.Context(), live.Meta{Name: "hidden", Private: true})
	}
	if err = errors.Join(err, hidden.Close()); err != nil {
		t.Fatal(err)
	}
	table, err := store.Table(t.Context(), points.LiveKind.Table("hidden"))
	if err == nil {
		err = table.Apply(t.Context(), cellstore.Mutation{Row: []byte("p"), Ops: []cellstore.Op{cellstore.Put("point", nil, []byte("spoiled"))}})
	}
	if err != nil {
		t.Fatal(err)
	}
	if hidden, err = live.Open(t.Context(), store, points.LiveKind); err != nil || len(hidden.Troubles()) != 1 ||
		!hidden.Troubles()[0].Private {
		t.Fatal(err, hidden.Troubles())
	}
	t.Cleanup(func() {
		if err := errors.Join(hidden.Close(), store.Close()); err != nil {
			t.Error(err)
		}
	})
	w.Config.Collections.Live = hidden
	for _, path := range []string{"/points/%s", "/points/%s/nearby?lat=1&lon=1", "/points/%s/events",
		"/ogc/collections/points:%s", "/ogc/collections/points:%s/items", "/ogc/collections/points:%s/tiles",
		"/ogc/tiles/WebMercatorQuad/0/0/0?collections=points:%s", "/tiles/points:%s/0/0/0.mvt", "/tiles/points:%s.json"} {
		known, never := w.Get(fmt.Sprintf(path, "hidden")), w.Get(fmt.Sprintf(path, "never0"))
		if got, want := strings.ReplaceAll(servertest.Body(t, known), "hidden", "never0"), servertest.Body(t,
			never); known.StatusCode != never.StatusCode || got != want || strings.Contains(got, "secret") {
			t.Errorf("%s: %d %s, want %d %s", path, known.StatusCode, got, never.StatusCode, want)
		}
	}
}
