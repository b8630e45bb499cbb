package export_test

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/paulmach/orb"

	"quadrille/cellstore/dataset"
	"quadrille/cmd/ingest/internal/export"
	"quadrille/cmd/ingest/internal/export/pmtiles/pmtilestest"
	"quadrille/internal/tilestest"
	"quadrille/tiles"
	"quadrille/tiles/build"
)

// The metadata of an archive of lines describes the layer of lines. It mentions no polygons or
// labels, because there are none.
func TestLayerOfLines(t *testing.T) {
	store := tilestest.OpenStore(t)
	river := build.Layer{Type: "river", Features: []build.Feature{{ID: "aa", Name: "Aa", Geometry: orb.LineString{{5, 47}, {6, 47.5}}}}}
	meta, _, err := build.Run(t.Context(), store, []build.Layer{river}, build.Options{Timestamp: 1})
	if err != nil {
		t.Fatal(err)
	}
	r, err := tiles.Open(t.Context(), store, meta)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "a.pmtiles")
	o := export.Options{Layers: []tiles.Selector{{Type: "river"}}, MaxZoom: 3}
	if _, err := export.Write(t.Context(), r, &dataset.Manifest{SchemaVersion: tiles.SchemaVersion}, path, o); err != nil {
		t.Fatal(err)
	}
	a, err := pmtilestest.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	var metadata struct {
		VectorLayers []struct {
			ID     string
			Fields map[string]string
		} `json:"vector_layers"`
	}
	if err := json.Unmarshal(a.Metadata, &metadata); err != nil {
		t.Fatal(err)
	}
	if l := metadata.VectorLayers; len(l) != 1 || l[0].ID != "river_line" || len(l[0].Fields) != 2 ||
		l[0].Fields["id"] != "String" || l[0].Fields["name"] != "String" {
		t.Errorf("%s", a.Metadata)
	}
}
