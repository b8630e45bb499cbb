package published_test

import (
	"errors"
	"path/filepath"
	"testing"

	"quadrille/cellstore"
	"quadrille/cellstore/dataset"
	"quadrille/cellstore/published"
)

func TestOpen(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	if _, err := published.Open(t.Context(), dir, "boundaries"); !errors.Is(err, dataset.ErrNoGeneration) {
		t.Errorf("nothing is published: %v", err)
	}
	c, err := published.OpenCatalog(dir)
	if err != nil {
		t.Fatal(err)
	}
	b, err := c.Begin(t.Context(), "boundaries")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Publish(t.Context(), dataset.Manifest{SchemaVersion: 2, Meta: []byte(`{"types":3}`)}); err != nil {
		t.Fatal(err)
	}
	g, err := published.Open(t.Context(), dir, "boundaries")
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	var meta struct{ Types int }
	if store, err := g.Contents(2, &meta); err != nil || store != g.Store || meta.Types != 3 {
		t.Errorf("Contents = %v, %v, %v", store, meta, err)
	}
	if _, err := g.Contents(1, &meta); !errors.Is(err, cellstore.ErrNewer) {
		t.Errorf("of a newer layout: %v", err)
	}
	if _, err := g.Contents(2, &[]string{}); err == nil {
		t.Error("a description of another shape was taken")
	}
}
