package basemaps

import "testing"

func TestMaps(t *testing.T) {
	if all := Maps(nil).All(); all != nil {
		t.Errorf("nobody's maps are %v", all)
	}
	maps := Maps(func() []Map {
		return []Map{{Name: "a", Format: "pbf"}, {Name: "b", Format: MLT}, {Name: "c", Format: "webp"}}
	})
	var pictures string
	for _, m := range maps.All() {
		if m.IsPicture() {
			pictures += m.Name
		}
	}
	if pictures != "c" {
		t.Errorf("pictures are those of %q", pictures)
	}
}
