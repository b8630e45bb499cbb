package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"

	orbmvt "github.com/paulmach/orb/encoding/mvt"
	"github.com/paulmach/orb/geojson"

	"quadrille/ask"
	"quadrille/cellstore"
	"quadrille/cellstore/dataset"
	"quadrille/cellstore/pebblestore"
	"quadrille/cmd/internal/catalogue"
	"quadrille/cmd/internal/toyworld"
	"quadrille/cmd/tileserver/internal/ops"
	"quadrille/cmd/tileserver/internal/tile"
	"quadrille/internal/testrace"
	"quadrille/places/points"
)

// publishPoints publishes a collection of points.
func publishPoints(t testing.TB, c *dataset.Catalog, name string, seq iter.Seq[points.Point]) {
	t.Helper()
	b, err := c.Begin(t.Context(), catalogue.PointsPrefix+name)
	if err != nil {
		t.Fatal(err)
	}
	meta, err := points.Build(t.Context(), b.Store(), func(yield func(points.Point, error) bool) {
		for p := range seq {
			if !yield(p, nil) {
				return
			}
		}
	}, points.BuildOptions{Name: name, TempDir: t.TempDir(), Timestamp: 1})
	if err != nil {
		t.Fatal(err)
	}
	meta.Title = "The " + name
	meta.Private = name == "secret"
	raw, err := json.Marshal(meta)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Publish(t.Context(), dataset.Manifest{
		SchemaVersion: points.SchemaVersion, Meta: raw, Bounds: meta.Bounds[:], Built: toyworld.Modified,
		Sources: []dataset.Source{{Name: name, Attribution: "<b>Us</b>"}},
	}); err != nil {
		t.Fatal(err)
	}
}

// scattered are points around a middle.
func scattered(n int, lat, lon, spread float64) iter.Seq[points.Point] {
	return func(yield func(points.Point) bool) {
		r := rand.New(rand.NewPCG(1, uint64(n)))
		for i := range n {
			p := points.Point{
				ID: fmt.Sprintf("p%d", i), Lat: lat + r.NormFloat64()*spread, Lon: lon + r.NormFloat64()*spread,
				Properties: fmt.Appendf(nil, `{"name":"Shop %d","open":%v,"stars":%v,"tags":["a"]}`, i, i%2 == 0, float64(i%10)/2),
			}
			if !yield(p) {
				return
			}
		}
	}
}

const hostileName = `<img src=x onerror=alert(1)>","x":"`

// hostile are points whose texts are of no good will, or collide with the layer's own.
func hostile(yield func(points.Point) bool) {
	properties, err := json.Marshal(map[string]any{
		"name": hostileName, "id": "not mine", "cluster": true, "point_count": 7, "long": strings.Repeat("ü", 300),
		"big": 1e300, "whole": json.Number("-42"), "nothing": nil, "inner": map[string]int{"a": 1},
	})
	if err != nil {
		panic(err)
	}
	many := []byte(`{"a":1`)
	for i := range 100 {
		many = fmt.Appendf(many, `,"m%d":%d`, i, i)
	}
	_ = yield(points.Point{ID: `"><script>`, Lat: 0.5, Lon: 20, Properties: properties}) &&
		yield(points.Point{ID: "many", Lat: 0.4, Lon: 20, Properties: append(many, `,"name":"last"}`...)})
}

// newCollections is the toy world with collections: shops and secret, which is private,
// are published, cars takes writes.
func newCollections(t *testing.T) (w *world, cars *points.LiveCollection) {
	t.Helper()
	w = newWorld(t)
	c, err := dataset.Open(t.TempDir(), toyworld.Open)
	if err != nil {
		t.Fatal(err)
	}
	w.cfg.Collections = &ask.Collections{}
	for name, seq := range map[string]iter.Seq[points.Point]{"shops": scattered(5000, 1, 20, 3), "shops_label": hostile, "secret": scattered(3, 1, 20, 1)} {
		publishPoints(t, c, name, seq)
		live := catalogue.Live[ask.Collection](c.Generations, catalogue.Points(name))
		if err := live.Poll(t.Context()); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := live.Close(); err != nil {
				t.Error(err)
			}
		})
		w.cfg.Collections.Follow(name, live)
	}
	store, err := pebblestore.Open(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if w.cfg.Collections.Live, err = points.OpenLive(t.Context(), store); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(w.cfg.Collections.Live.Close(), store.Close()); err != nil {
			t.Error(err)
		}
	})
	if cars, err = w.cfg.Collections.Live.Create(t.Context(), points.Meta{Name: "cars"}); err != nil {
		t.Fatal(err)
	}
	drive(t, cars, "one", 1, 20)
	w.cfg.ResponseCacheBytes = 1 << 20
	w.handler = New(w.cfg)
	return w, cars
}

func drive(t *testing.T, cars *points.LiveCollection, id string, lat, lon float64) {
	t.Helper()
	write := []points.Write{{Kind: points.Put, ID: id, Lat: lat, Lon: lon, Properties: []byte(`{"speed":3.5}`)}}
	if err := cars.Write(context.Background(), write, make([]points.Outcome, 1)); err != nil {
		t.Fatal(err)
	}
}

// pointsOf counts what a vector tile shows of a layer: points, and those in clusters.
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

// Every tile, as vectors and as GeoJSON, shows all points: themselves or in clusters.
func TestCollectionTilesShowAllPoints(t *testing.T) {
	testrace.Plain(t, "one request after the other, which TestEverythingAtOnce sends at once")
	w, _ := newCollections(t)
	for zoom := range 8 {
		sum, side := 0, 1<<zoom
		for x := side / 2; x < min(side, side/2+max(1, side/4)); x++ {
			for y := range side {
				single, clustered := pointsOf(t, body(t, w.get(fmt.Sprintf("/tiles/points:shops/%d/%d/%d.mvt", zoom, x, y))), "points:shops")
				sum += single + clustered
				text := body(t, w.get(fmt.Sprintf("/tiles/points:shops/%d/%d/%d.geojson", zoom, x, y)))
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

// What a published collection shows may be kept until it is published anew; what a live
// one shows may not.
func TestCollectionTilesAreKeptAsLongAsTrue(t *testing.T) {
	w, cars := newCollections(t)
	for _, path := range []string{"/tiles/points:shops/3/4/3.mvt", "/tiles/country,points:shops/3/4/3.geojson", "/tiles/points:shops/3/4/3.png", "/tiles/points:shops.json"} {
		res := w.get(path)
		tag := res.Header.Get("Etag")
		if res.StatusCode != 200 || tag == "" || strings.Contains(res.Header.Get("Cache-Control"), "no-store") {
			t.Errorf("%s: %d, tag %q, %q", path, res.StatusCode, tag, res.Header.Get("Cache-Control"))
		}
		if res := w.get(path, "If-None-Match", tag); res.StatusCode != http.StatusNotModified {
			t.Errorf("%s with its tag: %d, want 304", path, res.StatusCode)
		}
	}
	moments := []string{"/tiles/points:cars/3/4/3.mvt", "/tiles/points:cars,points:shops/3/4/3.mvt", "/tiles/country,points:cars/3/4/3.geojson", "/tiles/points:cars/3/4/3.png", "/tiles/points:cars.json"}
	before := map[string]string{}
	for _, path := range moments {
		res := w.get(path)
		before[path] = body(t, res)
		if res.StatusCode != 200 || res.Header.Get("Etag") != "" || res.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %d, tag %q, %q", path, res.StatusCode, res.Header.Get("Etag"), res.Header.Get("Cache-Control"))
		}
		if res := w.get(path, "If-None-Match", "*"); res.StatusCode != 200 {
			t.Errorf("%s with a condition: %d, want 200", path, res.StatusCode)
		}
	}
	drive(t, cars, "two", 2, 21)
	for _, path := range moments[:4] {
		if body(t, w.get(path)) == before[path] {
			t.Errorf("%s is what it was before a point came", path)
		}
	}
	if res := w.get("/tiles/points:cars/3/0/0.mvt"); res.StatusCode != http.StatusNoContent || res.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("an empty tile: %d, %q", res.StatusCode, res.Header.Get("Cache-Control"))
	}
}

// A collection that is not there or is private is no layer, and "all" has none.
func TestCollectionsThatAreNoLayers(t *testing.T) {
	testrace.Plain(t, "one request after the other, which TestEverythingAtOnce sends at once")
	w, _ := newCollections(t)
	for _, path := range []string{
		"/tiles/points:none/0/0/0.mvt", "/tiles/points:secret/0/0/0.mvt", "/tiles/points:secret.json", "/tiles/points:/0/0/0.mvt",
		"/style.json?layers=points:secret", "/tiles/country,points:secret/0/0/0.png",
	} {
		res := w.get(path)
		text := body(t, res)
		if res.StatusCode != http.StatusNotFound || !strings.Contains(text, "unknown-layer") || !strings.Contains(text, "points:shops") || strings.Contains(text, "secret,") {
			t.Errorf("%s: %d %s", path, res.StatusCode, text)
		}
	}
	if text := body(t, w.get("/tiles/all.json")); strings.Contains(text, "points:") {
		t.Errorf("all has collections: %s", text)
	}
	var doc tile.TileJSON
	if err := json.Unmarshal([]byte(body(t, w.get("/tiles/country.json?pinned=true"))), &doc); err != nil {
		t.Fatal(err)
	}
	pinned := strings.NewReplacer("{z}", "0", "{x}", "0", "{y}", "0", "country", "country,points:shops").Replace(doc.Tiles[0][strings.Index(doc.Tiles[0], "/g/"):])
	if res := w.get(pinned); res.StatusCode != http.StatusNotFound {
		t.Errorf("%s: %d, want 404", pinned, res.StatusCode)
	}
}

// Texts are told as they are and shortened, names of the layer's own attributes are its own.
func TestCollectionTilesOfHostilePoints(t *testing.T) {
	testrace.Plain(t, "one request after the other, which TestEverythingAtOnce sends at once")
	w, _ := newCollections(t)
	layers, err := orbmvt.Unmarshal([]byte(body(t, w.get("/tiles/points:shops_label/0/0/0.mvt"))))
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
			if want := map[string]any{"id": `"><script>`, "name": hostileName, "whole": -42.0, "big": 1e300}; !maps.Equal(f.Properties, want) {
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
	fc, err := geojson.UnmarshalFeatureCollection([]byte(body(t, w.get("/tiles/points:shops_label/0/0/0.geojson"))))
	if err != nil || len(fc.Features) != 2 {
		t.Fatal(fc, err)
	}
	i := slices.IndexFunc(fc.Features, func(f *geojson.Feature) bool { return f.ID == `"><script>` })
	if i < 0 || fc.Features[i].Properties["id"] != "not mine" || fc.Features[i].Properties["name"] != hostileName {
		t.Errorf("%v", fc.Features)
	}
	if !visible(decodePNG(t, w.get("/tiles/points:shops_label/0/0/0.png"))) {
		t.Error("no dot in the picture")
	}
}

// The documents about tiles tell of collections.
func TestCollectionsInDocuments(t *testing.T) {
	testrace.Plain(t, "one request after the other, which TestEverythingAtOnce sends at once")
	w, _ := newCollections(t)
	var doc tile.TileJSON
	if err := json.Unmarshal([]byte(body(t, w.get("/tiles/points:shops.json?pinned=true"))), &doc); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"id": "String", "cluster": "Boolean", "point_count": "Number", "name": "String", "open": "Boolean", "stars": "Number"}
	if len(doc.VectorLayers) != 1 || !maps.Equal(doc.VectorLayers[0].Fields, want) || !strings.Contains(doc.VectorLayers[0].Description, "The shops") {
		t.Errorf("%+v, want the fields %v", doc.VectorLayers, want)
	}
	if doc.MaxZoom != 22 || doc.Attribution != "&lt;b&gt;Us&lt;/b&gt;" || doc.Bounds[0] < 0 || doc.Bounds[2] > 40 || !strings.Contains(doc.Tiles[0], "/tiles/points:shops/{z}") || strings.Contains(doc.Tiles[0], "/g/") {
		t.Errorf("%+v", doc)
	}

	var style tile.MapStyle
	for path, sources := range map[string][]string{
		"/style.json":                                  {"points:cars", "points:shops", "points:shops_label", "quadrille"},
		"/style.json?layers=points:shops":              {"points:shops"},
		"/style.json?layers=country&theme=dark":        {"quadrille"},
		"/style.json?layers=country,points:cars":       {"points:cars", "quadrille"},
		"/style.json?layers=points:shops,points:shops": {"points:shops"},
	} {
		res := w.get(path)
		if tag := res.Header.Get("Etag"); tag == "" {
			t.Errorf("%s has no tag", path)
		}
		style = tile.MapStyle{}
		if err := json.Unmarshal([]byte(body(t, res)), &style); err != nil {
			t.Fatal(err)
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
	w.handler = New(Config{Sets: ask.Sets{Collections: w.cfg.Collections}})
	if res := w.get("/style.json"); res.StatusCode != 200 {
		t.Errorf("a style of collections alone: %d %s", res.StatusCode, body(t, res))
	}
}

// Of a tile with a live layer only that is made anew. The others are those that are kept.
func TestLiveTilesKeepOtherLayers(t *testing.T) {
	w, cars := newCollections(t)
	measured(&w.cfg)
	w.handler = New(w.cfg)
	for _, form := range []string{"mvt", "geojson"} {
		address := func(layers string) string { return "/tiles/" + layers + "/3/4/3." + form }
		hits := w.scrape()["quadrille_response_cache_hits_total{cache=tiles}"]
		others := body(t, w.get(address("country,points:shops"), "Accept-Encoding", "identity"))
		for i := range 2 {
			drive(t, cars, fmt.Sprint(form, i), 1, 20+float64(i))
			text := body(t, w.get(address("country,points:shops,points:cars")))
			live := body(t, w.get(address("points:cars")))
			want := others + live
			if form == "geojson" {
				const head, tail = `{"type":"FeatureCollection","features":[`, `]}`
				want = strings.TrimSuffix(others, tail) + "," + strings.TrimPrefix(live, head)
			}
			if text != want {
				t.Errorf("%s: %d bytes of all layers, want %d of others and %d of the live one", form, len(text), len(others), len(live))
			}
		}
		if got := w.scrape()["quadrille_response_cache_hits_total{cache=tiles}"] - hits; got != 2 {
			t.Errorf("%s: %v tiles came from the cache, want 2", form, got)
		}
		// Alone they are answered as before, and an empty part does no harm.
		if again := body(t, w.get(address("country,points:shops"), "Accept-Encoding", "identity")); again != others {
			t.Errorf("%s: the layers that are kept have changed", form)
		}
		if text := body(t, w.get("/tiles/country,points:cars/3/0/7."+form)); form == "geojson" && !json.Valid([]byte(text)) {
			t.Errorf("a tile of nothing: %s", text)
		}
	}
}

// A style is made of the collections that are there while others come and go.
func TestStyleWhileCollectionsGo(t *testing.T) {
	w, _ := newCollections(t)
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
			if _, err = w.cfg.Collections.Live.Create(context.Background(), points.Meta{Name: "brief"}); err == nil {
				err = w.cfg.Collections.Live.Drop(context.Background(), "brief")
			}
		}
		gone <- err
	}()
	for range 200 {
		if res := w.get("/style.json"); res.StatusCode != http.StatusOK {
			t.Fatalf("%d %s", res.StatusCode, body(t, res))
		}
	}
	close(stop)
	if err := <-gone; err != nil {
		t.Error(err)
	}
}

// Private collections are in the state of the service for its operator alone.
func TestStatusOfPrivateCollections(t *testing.T) {
	w, _ := newCollections(t)
	if text := body(t, w.get("/status")); strings.Contains(text, "points-secret") || !strings.Contains(text, "points-shops") {
		t.Error(text)
	}
	w.handler = ops.ForOperator(w.handler)
	if text := body(t, w.get("/status")); !strings.Contains(text, "points-secret") || !strings.Contains(text, "points-shops") {
		t.Error(text)
	}
	if res := w.get("/readyz"); res.StatusCode != http.StatusOK {
		t.Errorf("%d %s", res.StatusCode, body(t, res))
	}
}

// A private collection that is damaged is like one that has never been to those who may not
// read it.
func TestDamagedPrivateCollection(t *testing.T) {
	w, _ := newCollections(t)
	store, err := pebblestore.Open(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	live, err := points.OpenLive(t.Context(), store)
	if err == nil {
		_, err = live.Create(t.Context(), points.Meta{Name: "hidden", Private: true})
	}
	if err = errors.Join(err, live.Close()); err != nil {
		t.Fatal(err)
	}
	table, err := store.Table(t.Context(), points.LiveTable("hidden"))
	if err == nil {
		err = table.Apply(t.Context(), cellstore.Mutation{Row: []byte("p"), Ops: []cellstore.Op{cellstore.Put("point", nil, []byte("spoiled"))}})
	}
	if err != nil {
		t.Fatal(err)
	}
	if live, err = points.OpenLive(t.Context(), store); err != nil || len(live.Troubles()) != 1 || !live.Troubles()[0].Private {
		t.Fatal(err, live.Troubles())
	}
	t.Cleanup(func() {
		if err := errors.Join(live.Close(), store.Close()); err != nil {
			t.Error(err)
		}
	})
	w.cfg.Collections.Live = live
	for _, path := range []string{"/points/%s", "/points/%s/nearby?lat=1&lon=1", "/points/%s/events", "/ogc/collections/points:%s", "/ogc/collections/points:%s/items", "/ogc/collections/points:%s/tiles", "/ogc/tiles/WebMercatorQuad/0/0/0?collections=points:%s", "/tiles/points:%s/0/0/0.mvt", "/tiles/points:%s.json"} {
		hidden, never := w.get(fmt.Sprintf(path, "hidden")), w.get(fmt.Sprintf(path, "never0"))
		if got, want := strings.ReplaceAll(body(t, hidden), "hidden", "never0"), body(t, never); hidden.StatusCode != never.StatusCode || got != want || strings.Contains(got, "secret") {
			t.Errorf("%s: %d %s, want %d %s", path, hidden.StatusCode, got, never.StatusCode, want)
		}
	}
}
