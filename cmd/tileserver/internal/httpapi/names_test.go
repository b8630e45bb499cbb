//go:build !race

package httpapi_test

import (
	"strings"
	"testing"

	"quadrille/ask"
	"quadrille/cellstore/dataset"
	"quadrille/cmd/tileserver/internal/httpapi"
	"quadrille/cmd/tileserver/internal/servertest"
	"quadrille/feature"
)

// TestNamesOfLayers tests that Compose refuses a name of a layer with which a path of the server
// begins, or which would give the layer's operations the names of another's. If the face with that
// path is switched off, the name is accepted.
func TestNamesOfLayers(t *testing.T) {
	refused := func(name string, faces []httpapi.Face) (words any) {
		of := &yards{}
		fixed := dataset.NewFixedLive[feature.Layer](of, dataset.Manifest{Dataset: name, Generation: 1})
		cfg := httpapi.Config{}
		cfg.ExtraLayers = []ask.LayerKind{ask.SingleLayer(name, func(*ask.Sets) *dataset.Live[feature.Layer] { return fixed })}
		defer func() { words = recover() }()
		httpapi.Compose(&cfg, faces)
		return nil
	}
	words := map[string]bool{}
	for _, e := range httpapi.Compose(&httpapi.Config{}, httpapi.Faces()).Endpoints() {
		word, _, _ := strings.Cut(strings.TrimPrefix(e.Path, "/"), "/")
		if word != "" && strings.Trim(word, "abcdefghijklmnopqrstuvwxyz-_") == "" {
			words[word] = true
		}
	}
	for _, word := range []string{"points", "regions", "tiles", "ip", "geoip", "ogc", "places", "airports", "stations", "status", "docs"} {
		if !words[word] {
			t.Errorf("no path begins with %s", word)
		}
	}
	words["collection"] = true // its operations would be those of a collection
	for word := range words {
		if refused(word, httpapi.Faces()) == nil {
			t.Errorf("a layer may be called %s", word)
		}
	}
	for name, faces := range map[string][]httpapi.Face{
		"yards": httpapi.Faces(), "a-b-1": httpapi.Faces(), "photon": servertest.FacesWithout("photon"),
	} {
		if got := refused(name, faces); got != nil {
			t.Errorf("a layer may not be called %s: %v", name, got)
		}
	}
}
