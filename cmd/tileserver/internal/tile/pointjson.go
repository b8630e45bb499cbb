package tile

import (
	"context"

	"quadrille/feature"
	"quadrille/quadkey"
)

// appendTileGeoJSON appends what a tile shows of a layer as GeoJSON features joined by commas.
func appendTileGeoJSON(ctx context.Context, dst []byte, name string, from feature.Tiler, t quadkey.Tile) ([]byte, error) {
	start := len(dst)
	w := feature.Writer{GeoJSON: true, Nested: true, Numbers: known[name] != nil}
	for f, err := range from.Tile(ctx, t) {
		if err != nil {
			return dst, err
		}
		if len(dst) > start {
			dst = append(dst, ',')
		}
		if f.Members > 0 {
			f.Properties = feature.Of(feature.Property{Name: "cluster", Value: feature.BooleanValue(true)}, feature.Property{Name: "point_count", Value: feature.IntegerValue(f.Members)},
				feature.Property{Name: "point_count_abbreviated", Value: feature.TextValue([]byte(shortCount(f.Members)))})
		}
		if dst, err = w.Append(dst, f, ""); err != nil {
			return dst, err
		}
	}
	return dst, nil
}
