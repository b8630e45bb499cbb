package tiles

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"

	"quadrille/feature"
	"quadrille/quadkey"
)

// Tile implements feature.Tiler: it yields the regions of a tile, each with its geometry cut to the
// tile as in AppendGeoJSON. The regions whose parts in the tile have the largest bounds come first.
// Bounds and position describe the part: in the one tile of zoom 0 the bounds go around the world
// if a region crosses ±180°. Properties are type, id and name. A polygon that represents several
// regions is not a region of the layer. It has the number of regions in the property merged and in
// Members, and passes a filter as the largest of them does.
func (l *layer) Tile(ctx context.Context, t quadkey.Tile, f feature.Filter) iter.Seq2[*feature.Feature, error] {
	if !t.Valid() {
		return feature.SeqOfError(errNoTile(t))
	}
	return feature.SeqOf(func(fn func(*feature.Feature) error) error {
		of := Selector{Type: l.rt.Name}
		if f != nil {
			var err error
			if of.Only, err = l.r.Passing(ctx, l.rt.Name, f, nil, 1); err != nil {
				return err
			}
		}
		text, err := l.r.AppendGeoJSON(ctx, []byte{'['}, t, []Selector{of})
		if err != nil {
			return err
		}
		var parts []feature.Feature
		for object := range feature.Elements(append(text, ']')) {
			f, err := partOf(object)
			if err != nil {
				return fmt.Errorf("%w: %s in tile %v", err, l.rt.Name, t)
			}
			parts = append(parts, f)
		}
		slices.SortStableFunc(parts, func(a, b feature.Feature) int { return cmp.Compare(b.Bounds.SquareDegrees(), a.Bounds.SquareDegrees()) })
		for i := range parts {
			if err := fn(&parts[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

func errNoTile(t quadkey.Tile) error {
	return feature.BadQuery("tile %v: there is none with this number: give a zoom from 0 to %d, and x and y below 2 to its power",
		t, quadkey.MaxZoom)
}

// partOf parses a feature from GeoJSON.
func partOf(object []byte) (f feature.Feature, err error) {
	properties, some := feature.Member(object, "properties")
	geometry, shaped := feature.Member(object, "geometry")
	if !some || !shaped || len(properties) < 2 {
		return f, fmt.Errorf("%w: a region that is no feature", ErrCorrupt)
	}
	b := [4]float64{180, 90, -180, -90}
	_, err = eachPosition(geometry, func(lon, lat float64) bool {
		b = [4]float64{min(b[0], lon), min(b[1], lat), max(b[2], lon), max(b[3], lat)}
		return false
	})
	f.Bounds, f.Position = boxOf(b), middle(b)
	f.Properties, f.Geometry = feature.CompactProperties(properties[1:len(properties)-1]), feature.GeoJSONGeometry(geometry)
	f.ID = f.Properties.Text("id")
	if merged, ok := f.Properties.Lookup("merged"); ok {
		f.ClusterSize, _ = merged.Integer()
	}
	f.Mark = feature.Mark(f.ID)
	return f, err
}
