package enrich

import (
	"testing"

	"quadrille/quadkey"
)

// What is kept of tiles is bounded in bytes, however large the properties of features are, and what is asked for
// again stays.
func TestMemoIsBounded(t *testing.T) {
	m := newMemo(1<<16, maxMemoBytes)
	text := make([]byte, 200<<10)
	often := quadkey.Position{Lat: 80, Lon: 80}
	for i := range 2000 {
		for _, p := range []quadkey.Position{often, {Lat: float64(i % 50), Lon: float64(i / 50)}} {
			for range 2 { // the second point in a tile builds
				if _, tile, build := m.take(p); build {
					c := &tileCandidates{at: make([]quadkey.Position, 1)}
					c.cells.AddBytes(text)
					m.put(tile, c)
				}
			}
			if again, _, _ := m.take(p); again == nil {
				t.Fatalf("%d: the tile that was asked for is forgotten", i)
			}
		}
		if again, _, _ := m.take(often); again == nil {
			t.Fatalf("%d: the tile that is asked for again and again is forgotten", i)
		}
	}
	kept := 0
	for _, of := range []map[uint64]*tileCandidates{m.tiles, m.older} {
		for _, c := range of {
			kept += c.size()
		}
	}
	if most := 2*maxMemoBytes + 2*len(text); kept > most || kept < maxMemoBytes {
		t.Errorf("%d bytes are kept, want up to %d", kept, most)
	}
}
