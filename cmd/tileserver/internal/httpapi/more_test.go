//go:build !race

package httpapi_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	orbmvt "github.com/paulmach/orb/encoding/mvt"
	"github.com/paulmach/orb/geojson"

	"quadrille/ask"
	"quadrille/cellstore/dataset"
	"quadrille/cmd/tileserver/internal/servertest"
	"quadrille/feature"
	"quadrille/feature/layertest"
	"quadrille/internal/must"
	"quadrille/quadkey"
)

// Every interface for features includes a layer once it is registered.
func TestLayerOfTheCallers(t *testing.T) {
	w := servertest.NewWorld(t)
	toys := &layertest.Memory{
		LayerInfo: feature.Info{
			Name:        "toys",
			Title:       "Toys",
			Attribution: "Toy & makers",
			AllPoints:   true,
			Count:       1,
			Bounds:      quadkey.Box{West: 19, South: 0, East: 21, North: 2},
			Schema:      feature.Schema{{Name: "name", Kind: feature.Text}, {Name: "wheels", Kind: feature.Integer}},
		},
		List: []feature.Feature{{
			ID: "car", Position: quadkey.Position{Lat: 1, Lon: 20},
			Properties: feature.PropertiesOf(feature.Property{Name: "name", Value: feature.TextValue([]byte("Red car"))},
				feature.Property{Name: "wheels", Value: feature.IntegerValue(4)}),
		}},
	}
	live := dataset.NewFixedLive[feature.Tiler](toys, dataset.Manifest{Dataset: "toys", Generation: 7, Digest: strings.Repeat("7", 64)})
	w.Config.ExtraLayers = []ask.LayerKind{ask.SingleLayer("toys", func(*ask.Sets) *dataset.Live[feature.Tiler] { return live })}
	w.Serve()

	ask := func(path string) string {
		t.Helper()
		a := w.Get(path)
		text := servertest.Body(t, a)
		if a.StatusCode != http.StatusOK {
			t.Fatalf("%s: %d %s", path, a.StatusCode, text)
		}
		return text
	}
	var doc struct {
		Version      string
		Attribution  string
		Tiles        []string
		MaxZoom      int
		Bounds       []float64
		VectorLayers []struct {
			ID     string
			Fields map[string]string
		} `json:"vector_layers"`
	}
	if err := json.Unmarshal([]byte(ask("/tiles/toys.json?pinned=true")), &doc); err != nil {
		t.Fatal(err)
	}
	if len(doc.VectorLayers) != 1 || doc.VectorLayers[0].ID != "toys" || doc.VectorLayers[0].Fields["wheels"] != "Number" ||
		doc.Attribution != "Toy &amp; makers" || doc.Version != "0.0.7" || !slices.Equal(doc.Bounds, []float64{19, 0, 21, 2}) {
		t.Errorf("TileJSON: %+v", doc)
	}
	pinned := strings.NewReplacer("http://example.com", "", "{z}/{x}/{y}", "0/0/0").Replace(doc.Tiles[0])
	if !strings.HasPrefix(pinned, "/g/toys.7-") {
		t.Errorf("pinned tiles: %s", pinned)
	}

	for _, path := range []string{"/tiles/toys/0/0/0.mvt", pinned, "/tiles/all/0/0/0.mvt",
		"/ogc/collections/toys/tiles/WebMercatorQuad/0/0/0?f=mvt"} {
		layers, err := orbmvt.Unmarshal([]byte(ask(path)))
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(layers, func(l *orbmvt.Layer) bool { return l.Name == "toys" })
		if i < 0 || len(layers[i].Features) != 1 || layers[i].Features[0].Properties["name"] != "Red car" ||
			layers[i].Features[0].Properties["wheels"] != 4.0 {
			t.Errorf("%s has no toys", path)
		}
	}
	list, err := geojson.UnmarshalFeatureCollection([]byte(ask("/tiles/toys/0/0/0.geojson")))
	if err != nil || len(list.Features) != 1 || list.Features[0].ID != "car" || list.Features[0].Properties["name"] != "Red car" {
		t.Errorf("GeoJSON: %v %+v", err, list)
	}
	if ask("/tiles/toys/0/0/0.png") == ask("/tiles/toys/2/0/0.png") {
		t.Error("a picture without toys")
	}
	for path, want := range map[string]string{
		"/style.json":                                       `"source-layer":"toys"`,
		"/style.json?layers=toys":                           `"url":"http://example.com/tiles/toys.json?pixels=512"`,
		"/ogc/tiles/WebMercatorQuad?f=json":                 `"id":"toys"`,
		"/ogc/collections/toys/tiles?f=json":                `/ogc/collections/toys/tiles/WebMercatorQuad/{tileMatrix}/{tileRow}/{tileCol}`,
		"/ogc/collections?f=json":                           `"id":"toys"`,
		"/ogc/collections/toys?f=json":                      "tilesets-vector",
		"/ogc/collections/toys/items?f=json":                "Red car",
		"/openapi.json":                                     "`" + strings.Join(w.Config.TiledLayerNames(), "`, `") + "`",
		"/toys/nearby?lat=1&lon=20":                         `{"toys":[{"id":"car","lat":1,"lon":20,"distance_m":0.0,"version":0,"properties":{"name":"Red car","wheels":4}}]}`,
		"/toys/nearby?lat=1&lon=20&wheels.gt=4":             `{"toys":[]}`,
		"/toys/within?bbox=19,0,21,2&format=geojson":        `"properties":{"name":"Red car","wheels":4}`,
		"/toys/within?tile=0/0/0&format=ndjson&fields=name": `"properties":{"name":"Red car"}`,
		"/toys/count?wheels=4":                              `{"count":1}`,
		"/toys/car":                                         `"type":"Feature","id":"car"`,
	} {
		if text := ask(path); !strings.Contains(text, want) && !strings.Contains(strings.ReplaceAll(text, " ", ""), want) {
			t.Errorf("%s lacks %s", path, want)
		}
	}
	servertest.WantProblem(t, w.Get("/ogc/collections/toys/items/none"), 404, "not-found")
	servertest.WantProblem(t, w.Get("/toys/none"), 404, "not-found")
	servertest.WantProblem(t, w.Get("/toys/within?bbox=0,0,1,1&sort=wheels"), 400, "bad-parameter")
	servertest.WantProblem(t, w.Get("/toys/nearby?lat=1&lon=20&color=red"), 400, "bad-parameter")
	if !strings.Contains(ask("/openapi.json"), `"/toys/within/{region_type}/{region_id}"`) {
		t.Error("lists of toys are not described")
	}
	if text := servertest.Body(t, w.Get("/tiles/none/0/0/0.mvt")); !strings.Contains(text, "toys") {
		t.Errorf("the layers that there are: %s", text)
	}
}

// A region type gives way to a registered layer of its name in every list of layers, tile and style.
func TestLayerOfTheNameOfAType(t *testing.T) {
	for _, name := range []string{"country", "county"} {
		w := servertest.NewWorld(t)
		toys := &layertest.Memory{
			LayerInfo: feature.Info{Name: name, AllPoints: true, Count: 1, Schema: feature.Schema{{Name: "name", Kind: feature.Text}}},
			List: []feature.Feature{{
				ID: "car", Position: quadkey.Position{Lat: 1, Lon: 20},
				Properties: feature.PropertiesOf(feature.Property{Name: "name", Value: feature.TextValue([]byte("Red car"))}),
			}},
		}
		live := dataset.NewFixedLive[feature.Tiler](toys, dataset.Manifest{Dataset: name, Generation: 7, Digest: strings.Repeat("7", 64)})
		w.Config.ExtraLayers = []ask.LayerKind{ask.SingleLayer(name, func(*ask.Sets) *dataset.Live[feature.Tiler] { return live })}
		w.Serve()
		for _, list := range []string{"all", name} {
			var doc struct {
				Layers []struct{ ID string } `json:"vector_layers"`
			}
			must.Do(t, json.Unmarshal([]byte(servertest.Body(t, w.Get("/tiles/"+list+".json"))), &doc))
			times := 0
			for _, l := range doc.Layers {
				if l.ID == name {
					times++
				}
			}
			if times != 1 {
				t.Errorf("%s is %d times in %s.json", name, times, list)
			}
		}
		layers, err := orbmvt.Unmarshal([]byte(servertest.Body(t, w.Get("/tiles/all/0/0/0.mvt"))))
		must.Do(t, err)
		for _, l := range layers {
			if l.Name == name && (len(l.Features) != 1 || l.Features[0].Properties["name"] != "Red car") {
				t.Errorf("the layer %s has %d features, the first with %v", name, len(l.Features), l.Features[0].Properties)
			}
		}
		if res := w.Get("/tiles/" + name + ":ch.json"); res.StatusCode != http.StatusNotFound {
			t.Errorf("a region of a type that gave way: %d", res.StatusCode)
		}
		var style struct {
			Sources map[string]any
			Layers  []struct {
				ID, Source string
				Of         string `json:"source-layer"`
			}
		}
		must.Do(t, json.Unmarshal([]byte(servertest.Body(t, w.Get("/style.json"))), &style))
		drawn := false
		for _, l := range style.Layers {
			drawn = drawn || l.Of == name
			if l.Of == name && (l.Source != name || style.Sources[name] == nil) {
				t.Errorf("layer %s of the style draws from the source %s", l.ID, l.Source)
			}
		}
		if !drawn {
			t.Errorf("the style does not draw %s", name)
		}
	}
}
