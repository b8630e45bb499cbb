package toyworld

import (
	"context"

	"github.com/paulmach/orb"

	"quadrille/ask"
	"quadrille/cellstore"
	"quadrille/cellstore/dataset"
	"quadrille/places/names"
	"quadrille/tiles/build"
)

// DistrictsDataset is the name of a data set of layers that users name. DistrictLayer is the name of its layer.
const (
	DistrictsDataset = "sales"
	DistrictLayer    = "district"
)

// PublishDistricts publishes the data set Districts: districts with the given names from west to
// east across the toy world. The names are also the ids.
func PublishDistricts(ctx context.Context, c *dataset.Catalog, districts ...string) error {
	return publish(ctx, c, ask.RegionSetOf(DistrictsDataset).Dataset, func(s cellstore.Store) (any, error) {
		layer := build.Layer{Type: DistrictLayer}
		index := make([]names.Feature, len(districts))
		width := (East - West) / float64(len(districts))
		for i, name := range districts {
			west := West + float64(i)*width
			b := orb.Bound{Min: orb.Point{west, South}, Max: orb.Point{west + width, North}}
			layer.Features = append(layer.Features, build.Feature{ID: name, Name: name, Geometry: b.ToPolygon()})
			index[i] = names.Feature{Kind: names.Region, Type: DistrictLayer, ID: name, Name: name, Lat: b.Center()[1], Lon: b.Center()[0]}
		}
		meta, _, err := build.Run(ctx, s, []build.Layer{layer}, build.Options{Timestamp: Modified.UnixMilli()})
		if err != nil {
			return nil, err
		}
		all := func(yield func(names.Feature, error) bool) {
			for _, f := range index {
				if !yield(f, nil) {
					return
				}
			}
		}
		of, err := names.Build(ctx, s, all, names.Options{Timestamp: Modified.UnixMilli()})
		return ask.RegionSetMeta{Meta: meta, Names: &of}, err
	})
}
