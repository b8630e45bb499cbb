//go:build !race

package servertest_test

import (
	"encoding/json"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"quadrille/cmd/tileserver/internal/servertest"
	"quadrille/cmd/tileserver/internal/tile"
)

// A MapLibre Tile has the layers and the features of the vector tile, also with live collections.
func TestMLTIsTheTile(t *testing.T) {
	f, _ := servertest.NewCollections(t)
	for _, path := range []string{"all/5/16/11", "country/0/0/0", "places/5/16/11", "airports/5/16/11",
		"country,points:shops,points:cars/5/17/15", "points:cars/5/17/15", "country:nowhere/5/16/11", "country/23/0/0"} {
		want, got := f.Get("/tiles/"+path+".mvt"), f.Get("/tiles/"+path+".mlt")
		if got.StatusCode != want.StatusCode || got.Header.Get("Cache-Control") != want.Header.Get("Cache-Control") {
			t.Errorf("%s: %d, %q; of the vector tile %d, %q", path, got.StatusCode, got.Header.Get("Cache-Control"), want.StatusCode,
				want.Header.Get("Cache-Control"))
		}
		if want.StatusCode != http.StatusOK {
			continue
		}
		if got.Header.Get("Content-Type") != "application/vnd.maplibre-tile" ||
			got.Header.Get("Etag") != "" && got.Header.Get("Etag") == want.Header.Get("Etag") {
			t.Errorf("%s: %v", path, got.Header)
		}
		of := func(b, extension string) any {
			layers := servertest.VectorLayers(t, b, extension)
			text, err := json.Marshal(func() (all []any) {
				for _, l := range layers {
					all = append(all, l.Name, l.Features)
				}
				return all
			}())
			if err != nil {
				t.Fatal(err)
			}
			var plain any
			if err := json.Unmarshal(text, &plain); err != nil {
				t.Fatal(err)
			}
			return plain
		}
		if w, g := of(servertest.Body(t, want), ".mvt"), of(servertest.Body(t, got), ".mlt"); w == nil || !reflect.DeepEqual(g, w) {
			t.Errorf("%s:\n got  %v\n want %v", path, g, w)
		}
	}
}

// Documents about tiles contain links to MapLibre Tiles, if the request selects this encoding.
func TestMLTIsDescribed(t *testing.T) {
	f, _ := servertest.NewCollections(t)
	var doc tile.TileJSON
	if err := json.Unmarshal([]byte(servertest.Body(t, f.Get("/tiles/country,places.mlt.json"))), &doc); err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(doc.Tiles[0], "/tiles/country,places/{z}/{x}/{y}.mlt") || doc.Encoding != "mlt" || len(doc.VectorLayers) == 0 {
		t.Errorf("%+v", doc)
	}
	var style tile.MapStyle
	if err := json.Unmarshal([]byte(servertest.Body(t, f.Get("/style.json?encoding=mlt"))), &style); err != nil {
		t.Fatal(err)
	}
	for id, source := range style.Sources {
		if source.Encoding != "mlt" || !strings.HasSuffix(strings.TrimSuffix(source.URL, "?pixels=512"), ".mlt.json") {
			t.Errorf("%s: %+v", id, source)
		}
		_, path, _ := strings.Cut(strings.TrimPrefix(source.URL, "http://"), "/")
		if res := f.Get("/" + path); res.StatusCode != http.StatusOK {
			t.Errorf("%s: %d", source.URL, res.StatusCode)
		}
	}
	if len(style.Sources) < 2 {
		t.Errorf("%d sources", len(style.Sources))
	}
	a, b := f.Get("/style.json"), f.Get("/style.json?encoding=mlt")
	if a.Header.Get("Etag") == b.Header.Get("Etag") {
		t.Error("styles of both encodings have one entity tag")
	}
	servertest.WantProblem(t, f.Get("/style.json?encoding=pbf"), 400, "bad-parameter")
	servertest.WantProblem(t, f.Get("/tiles/country.mlt.png.json"), 404, "not-found")
}
