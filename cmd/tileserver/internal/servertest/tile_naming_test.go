package servertest_test

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	orbmvt "github.com/paulmach/orb/encoding/mvt"

	"quadrille/cmd/tileserver/internal/servertest"
	"quadrille/places/names"
	"quadrille/places/search"
)

// Tiles of every form accept names=, and their ETags depend on it.
func TestNamesInALanguage(t *testing.T) {
	f, _ := servertest.NewCollections(t)
	for _, form := range []string{".mvt", ".mlt", ".geojson", ".png"} {
		path := "/tiles/places/5/16/11" + form
		local, named := f.Get(path), f.Get(path+"?names=fr")
		if named.StatusCode != 200 || named.Header.Get("Etag") == local.Header.Get("Etag") {
			t.Errorf("%s: %d, tag %s; without names the tag is %s, want another", path, named.StatusCode, named.Header.Get("Etag"),
				local.Header.Get("Etag"))
		}
		servertest.WantProblem(t, f.Get(path+"?names=de,fr"), 400, "bad-parameter")
		servertest.WantProblem(t, f.Get(path+"?names=-"), 400, "bad-parameter")
	}
	doc := servertest.Body(t, f.Get("/tiles/places.json?names=fr"))
	if !strings.Contains(doc, "{y}.mvt?names=fr") || !strings.Contains(doc, `"name:fr":"String"`) {
		t.Errorf("TileJSON: %s, want its tiles to have names=fr, and places name:fr", doc)
	}
	// None of these layers has names in languages.
	for _, path := range []string{"/tiles/points:shops/5/16/11.mvt", "/tiles/country/5/16/11.mvt", "/tiles/country/5/16/11.png",
		"/tiles/points:shops.json", "/tiles/country.json"} {
		local, named := f.Get(path), f.Get(path+"?names=fr")
		if named.Header.Get("Etag") == "" || named.Header.Get("Etag") != local.Header.Get("Etag") {
			t.Errorf("%s: tag %q with names=fr, want %q as without", path, named.Header.Get("Etag"), local.Header.Get("Etag"))
		}
	}
}

// A tileset in a language links to tiles and documents in this language.
func TestTilesetsInALanguage(t *testing.T) {
	f, _ := servertest.NewCollections(t)
	for path, want := range map[string][]string{
		"/ogc/collections/places/tiles?f=json&names=fr":                     {`?f=mvt&names=fr"`, `places.json?names=fr"`},
		"/ogc/collections/places/tiles/WebMercatorQuad?f=json&names=fr":     {`?f=mvt&names=fr"`, `"name:fr":{"type":"string"}`},
		"/ogc/collections/places/map/tiles/WebMercatorQuad?f=json&names=fr": {`?f=png&names=fr"`, `places.png.json?names=fr"`},
		"/ogc/tiles/WebMercatorQuad?f=json&collections=places&names=fr":     {`?f=mvt&collections=places&names=fr"`},
	} {
		named := f.Get(path)
		text := strings.ReplaceAll(servertest.Body(t, named), `\u0026`, "&")
		for _, part := range want {
			if !strings.Contains(text, part) {
				t.Errorf("%s: %s, want %s in it", path, text, part)
			}
		}
		local := f.Get(strings.TrimSuffix(path, "&names=fr"))
		if tag := local.Header.Get("Etag"); tag == "" || tag == named.Header.Get("Etag") {
			t.Errorf("%s has the tag %q, as without names", path, tag)
		}
		servertest.WantProblem(t, f.Get(path+"-"), 400, "bad-parameter")
	}
	if text := servertest.Body(t,
		f.Get("/ogc/collections/points:shops/tiles/WebMercatorQuad?f=json&names=fr")); strings.Contains(text, "names") {
		t.Errorf("a collection of points: %s, want no names=", text)
	}
}

// Labels of regions get their names in the language, and the rest of the tile does not change.
func TestNamesOfRegions(t *testing.T) {
	w := servertest.NewWorld(t)
	named := servertest.New(t, nil)
	publish := func(of map[string]string) {
		var list []names.Feature
		for id, name := range of {
			list = append(list, names.Feature{Kind: names.Region, Type: "country", ID: id, Name: id, Names: []search.Name{{Text: name, Lang: "de"}}})
		}
		named.PublishRows(servertest.Names(list...))
		w.Config.Names = named.Config.Names
		w.Serve()
	}
	publish(map[string]string{"wl": "Westland, deutsch", "el": strings.Repeat("ü", 300)})
	layers := func(path string) (tag string, all orbmvt.Layers) {
		t.Helper()
		res := w.Get(path)
		all, err := orbmvt.Unmarshal([]byte(servertest.Body(t, res)))
		if err != nil || res.StatusCode != 200 {
			t.Fatalf("%s: %d, %v", path, res.StatusCode, err)
		}
		return res.Header.Get("Etag"), all
	}
	for _, path := range []string{"/tiles/country,state/0/0/0", "/tiles/country:wl,state/2/2/1"} {
		local, want := layers(path + ".mvt")
		named, got := layers(path + ".mvt?names=de")
		known := 0
		for _, l := range want {
			for _, f := range l.Features {
				switch id := f.Properties["region"]; {
				case l.Name == "country_label" && id == "wl":
					f.Properties["name:de"] = "Westland, deutsch"
					known++
				case l.Name == "country_label" && id == "el":
					f.Properties["name:de"] = strings.Repeat("ü", 98) + "…" // 200 bytes at most
					known++
				}
			}
		}
		if known == 0 || !reflect.DeepEqual(got, want) || named == local {
			t.Errorf("%s: %d labels have names, tags %s and %s; want some, else the same layers, and another tag", path, known, local, named)
		}
		if _, again := layers(path + ".mvt?names=fr"); strings.Contains(fmt.Sprint(again), "name:") {
			t.Errorf("%s has names in a language that no region has a name in", path)
		}
		if a, b := servertest.Body(t, w.Get(path+".png")), servertest.Body(t, w.Get(path+".png?names=de")); a == b {
			t.Errorf("%s: a picture is the same in German, want other names on it", path)
		}
		// GeoJSON has no labels, so the language has no effect.
		if a, b := w.Get(path+".geojson").Header.Get("Etag"), w.Get(path+".geojson?names=de").Header.Get("Etag"); a != b {
			t.Errorf("%s: GeoJSON has the tag %s in German, want %s", path, b, a)
		}
	}
	const path = "/tiles/country,state/0/0/0"
	if mlt := servertest.Body(t, w.Get(path+".mlt?names=de")); !strings.Contains(mlt, "name:de") {
		t.Error("a MapLibre Tile has no name:de")
	}
	doc := servertest.Body(t, w.Get("/tiles/country.json?names=de&pinned=true"))
	if !strings.Contains(doc, `/tiles/country/{z}/{x}/{y}.mvt?names=de`) || strings.Contains(doc, "/g/") ||
		strings.Count(doc, `"name:de"`) != 1 {
		t.Errorf("TileJSON: %s, want tiles with names=de that name no generations, and one layer with name:de", doc)
	}

	// Another generation of names gives other tiles, even if the old ones are cached.
	local, _ := layers(path + ".mvt")
	was, _ := layers(path + ".mvt?names=de")
	publish(map[string]string{"wl": "Neuland"})
	if now, tile := layers(path + ".mvt?names=de"); now == was ||
		!strings.Contains(fmt.Sprint(tile[2].Features[0], tile[2].Features[1]), "Neuland") {
		t.Errorf("with other names the tag is %s, and was %s", now, was)
	}
	if now, _ := layers(path + ".mvt"); now != local {
		t.Error("other names change the tag of tiles without them")
	}
	publish(map[string]string{"wl": "Altland"})
	named.Names.ReadErr = errors.New("no reads")
	servertest.WantProblem(t, w.Get(path+".mvt?names=de"), 500, "internal")
}
