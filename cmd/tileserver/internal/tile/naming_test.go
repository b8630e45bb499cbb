package tile_test

import (
	"strings"
	"testing"

	"quadrille/cmd/tileserver/internal/servertest"
)

// Tiles of every form take names=, and their entity tags differ by it.
func TestNamesInALanguage(t *testing.T) {
	f, _ := servertest.NewCollections(t)
	for _, form := range []string{".mvt", ".mlt", ".geojson", ".png"} {
		path := "/tiles/places/5/16/11" + form
		local, named := f.Get(path), f.Get(path+"?names=fr")
		if named.StatusCode != 200 || named.Header.Get("Etag") == local.Header.Get("Etag") {
			t.Errorf("%s: %d, tag %s; without names the tag is %s, want another", path, named.StatusCode, named.Header.Get("Etag"), local.Header.Get("Etag"))
		}
		servertest.WantProblem(t, f.Get(path+"?names=de,fr"), 400, "bad-parameter")
		servertest.WantProblem(t, f.Get(path+"?names=-"), 400, "bad-parameter")
	}
	doc := servertest.Body(t, f.Get("/tiles/places.json?names=fr"))
	if !strings.Contains(doc, "{y}.mvt?names=fr") {
		t.Errorf("TileJSON: %s, want its tiles to have names=fr", doc)
	}
}
