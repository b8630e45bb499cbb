package shapefile

import "testing"

// TestPlain tests that plain keeps a multiple of ten as an unknown type. If such a type became 0,
// its shapes would be taken for null shapes and left out without a message.
func TestPlain(t *testing.T) {
	for typ, want := range map[int32]int32{
		0:   typeNull,
		1:   typePoint,
		15:  typePolygon,
		28:  typeMultiPoint,
		13:  typeLines,
		31:  typeSurfaces,
		10:  10,
		20:  20,
		30:  30,
		-10: -10,
		-5:  -5,
		35:  35,
	} {
		if got := plain(typ); got != want {
			t.Errorf("%d: %d, want %d", typ, got, want)
		}
	}
}
