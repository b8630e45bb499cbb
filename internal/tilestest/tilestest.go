// Package tilestest has shared code for tests of boundaries: stores, real borders, and shapes with
// a reference implementation of point-in-polygon. Only tests import it.
package tilestest

import (
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/paulmach/orb"
	"github.com/paulmach/orb/geojson"

	"quadrille/cellstore/pebblestore"
)

// Full is set if the tests that take minutes should run.
var Full = os.Getenv("QUADRILLE_FULL") != ""

// OpenStore opens an empty store that is closed with the test.
func OpenStore(t testing.TB) *pebblestore.Store {
	t.Helper()
	s, err := pebblestore.Open(filepath.Join(t.TempDir(), "store"), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// Square returns the polygon of a box in degrees.
func Square(w, s, e, n float64) orb.Polygon {
	return orb.Polygon{{{w, s}, {e, s}, {e, n}, {w, n}, {w, s}}}
}

// A Shape is a feature of the real data.
type Shape struct {
	ID, Name string
	Geometry orb.Geometry
}

var validID = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,127}$`)

// NaturalEarth reads a file of the real data, either all features or only those with the given ids.
// Without the data it skips the test.
func NaturalEarth(t testing.TB, file, id, name string, only ...string) (shapes []Shape) {
	t.Helper()
	data := "../../shared/data/natural-earth" // beside the repository
	for range 3 {
		if _, err := os.Stat(data); err == nil {
			break
		}
		data = "../" + data
	}
	f, err := os.Open(filepath.Join(data, file))
	if err != nil {
		t.Skipf("no real data: %v", err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	fc, err := geojson.UnmarshalFeatureCollection(text)
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range fc.Features {
		if len(only) > 0 && !slices.Contains(only, fmt.Sprint(f.Properties[id])) {
			continue
		}
		s := Shape{strings.ToLower(fmt.Sprint(f.Properties[id])), fmt.Sprint(f.Properties[name]), f.Geometry}
		if !validID.MatchString(s.ID) {
			s.ID = fmt.Sprintf("x%d", i)
		}
		shapes = append(shapes, s)
	}
	return shapes
}

// Polygons returns the polygons of a Polygon or MultiPolygon, and none for any other geometry.
func Polygons(g orb.Geometry) orb.MultiPolygon {
	switch g := g.(type) {
	case orb.Polygon:
		return orb.MultiPolygon{g}
	case orb.MultiPolygon:
		return g
	}
	return nil
}
