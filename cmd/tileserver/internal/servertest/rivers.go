package servertest

import (
	"encoding/json"
	"testing"

	"github.com/paulmach/orb"

	"quadrille/ask"
	"quadrille/cellstore/dataset"
	"quadrille/cmd/internal/catalogue"
	"quadrille/cmd/internal/toyworld"
	"quadrille/tiles"
	"quadrille/tiles/build"
)

// NewRivers is the toy world with two rivers in place of its regions: aa, of one line from
// 5 to 7 east, and bb, of several across ±180°.
func NewRivers(t testing.TB) *World {
	t.Helper()
	c, err := dataset.Open(t.TempDir(), toyworld.Open)
	if err != nil {
		t.Fatal(err)
	}
	b, err := c.Begin(t.Context(), catalogue.Boundaries.Name)
	if err != nil {
		t.Fatal(err)
	}
	meta, _, err := build.Run(t.Context(), b.Store(), []build.Layer{{Type: "river", Features: []build.Feature{
		{ID: "aa", Name: "Aa", Geometry: orb.LineString{{5, 47}, {6, 47.5}, {7, 47.25}}},
		{ID: "bb", Name: "Bb", Geometry: orb.LineString{{179, 1}, {181, 2}}},
	}}}, build.Options{Timestamp: 1})
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(meta)
	if err != nil {
		t.Fatal(err)
	}
	m := dataset.Manifest{SchemaVersion: tiles.SchemaVersion, Meta: raw, Built: toyworld.Modified, Sources: []dataset.Source{{Name: "rivers"}}}
	if _, err := b.Publish(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	w := NewWorld(t)
	if err := w.Config.Boundaries.Close(); err != nil {
		t.Fatal(err)
	}
	w.Config.Boundaries = catalogue.Live[ask.Boundaries](c.Generations, catalogue.Boundaries)
	w.Poll()
	w.Serve()
	return w
}
