package basemap

import (
	"testing"

	"quadrille/cmd/tileserver/internal/archive"
)

// The name in an archive's TileJSON is its title, or else the name of the base map. Only vector
// tiles have layers, and only MapLibre Tiles have an encoding.
func TestDescribe(t *testing.T) {
	for format, want := range map[archive.Format]struct{ address, encoding string }{
		archive.MVT: {"https://example.org/basemap/world/{z}/{x}/{y}.mvt", ""},
		archive.MLT: {"https://example.org/basemap/world/{z}/{x}/{y}.mlt", "mlt"},
		archive.PNG: {"https://example.org/basemap/world/{z}/{x}/{y}.png", ""},
	} {
		a := &archive.Archive{}
		a.Format = format
		doc := describe("world", a, "https://example.org")
		if doc.Name != "world" || doc.Tiles[0] != want.address || doc.Encoding != want.encoding ||
			(doc.VectorLayers == nil) != format.IsPicture() {
			t.Errorf("%v: %+v", format, doc)
		}
		a.Title = "The world"
		if doc := describe("world", a, ""); doc.Name != a.Title {
			t.Errorf("%v: the name is %q", format, doc.Name)
		}
	}
}
