package tile

import (
	"context"

	"quadrille/feature"
	"quadrille/internal/jsontext"
	"quadrille/quadkey"
	"quadrille/tiles/layertile"
)

// appendTileGeoJSON appends what a tile shows of a layer as GeoJSON features. The layer may have a
// Drawing.
func appendTileGeoJSON(ctx context.Context, dst []byte, d *feature.Drawing, from feature.Tiler, t quadkey.Tile,
	by feature.Filter, names layertile.Names, fields []string) ([]byte, error) {
	var memory []byte
	w := feature.Writer{GeoJSON: true, NestProperties: true, NumericIDs: d != nil}
	for f, err := range from.Tile(ctx, t, by) {
		if err != nil {
			return dst, err
		}
		if f.ClusterSize > 0 {
			f.Properties = feature.PropertiesOf(feature.Property{Name: "cluster", Value: feature.BooleanValue(true)}, feature.Property{
				Name:  "point_count",
				Value: feature.IntegerValue(f.ClusterSize),
			},
				feature.Property{Name: "point_count_abbreviated", Value: feature.TextValue([]byte(layertile.ShortCount(f.ClusterSize)))},
				feature.Property{Name: "cluster_id", Value: feature.TextValue([]byte(f.ID))})
		}
		if d == nil && f.ClusterSize == 0 {
			f.Properties = only(fields, f.Properties)
		}
		local, err := names.Of(ctx, from, d, f.Number)
		if err != nil {
			return dst, err
		}
		if local != "" {
			memory = append(f.Properties.AppendMembers(memory[:0]), ',')
			memory = jsontext.AppendString(append(jsontext.AppendString(memory, names.Key()), ':'), local)
			f.Properties = feature.CompactProperties(memory)
		}
		if dst, err = w.Append(jsontext.Next(dst), f, ""); err != nil {
			return dst, err
		}
	}
	return dst, nil
}
