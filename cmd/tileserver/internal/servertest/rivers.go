package servertest

import (
	"testing"

	"github.com/paulmach/orb"

	"quadrille/ask"
	"quadrille/cellstore/dataset"
	"quadrille/cmd/internal/toyworld"
	"quadrille/tiles/build"
)

// NewRivers returns the toy world with two rivers instead of its regions. aa is one line from 5 to
// 7 east, and bb several lines across ±180°.
func NewRivers(t testing.TB) *World {
	t.Helper()
	c, err := dataset.Open(t.TempDir(), toyworld.Open)
	if err != nil {
		t.Fatal(err)
	}
	Regions(build.Layer{Type: "river", Features: []build.Feature{
		{ID: "aa", Name: "Aa", Geometry: orb.LineString{{5, 47}, {6, 47.5}, {7, 47.25}}},
		{ID: "bb", Name: "Bb", Geometry: orb.LineString{{179, 1}, {181, 2}}},
	}}).PublishInto(t, c)
	w := NewWorld(t)
	if err := w.Config.Boundaries.Close(); err != nil {
		t.Fatal(err)
	}
	w.Config.Boundaries = ask.PublishedSets(c.Generations).Boundaries
	w.Poll()
	w.Serve()
	return w
}
