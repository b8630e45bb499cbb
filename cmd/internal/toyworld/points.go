package toyworld

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"

	"quadrille/ask"
	"quadrille/cellstore"
	"quadrille/cellstore/dataset"
	"quadrille/places/points"
)

// ShopsCollection is the name of the collection of points in the toy world.
const ShopsCollection = "shops"

// PublishShops publishes the collection of shops: number points with the ids s-0, s-1 and so on.
// Most of them are in the countries of the toy world.
func PublishShops(ctx context.Context, c *dataset.Catalog, number int) error {
	return PublishShopsAs(ctx, c, ask.CollectionOf(ShopsCollection).Dataset, number)
}

// PublishShopsAs publishes the same points as another data set of points.
func PublishShopsAs(ctx context.Context, c *dataset.Catalog, d ask.Dataset, number int) error {
	return publish(ctx, c, d, func(s cellstore.Store) (any, error) {
		meta, err := points.Build(ctx, s, EachShop(number), points.BuildOptions{Name: ShopsCollection, Timestamp: Modified.UnixMilli()})
		meta.Title, meta.Attribution, meta.Licence = `Shops <b>&`, "© shop & keepers", "CC0-1.0"
		return meta, err
	})
}

// EachShop returns the points of the collection of shops. Some of their properties have the names
// of parameters.
func EachShop(number int) iter.Seq2[points.Point, error] {
	return func(yield func(points.Point, error) bool) {
		r := rand.New(rand.NewPCG(5, 6))
		for i := range number {
			p := points.Point{
				ID: fmt.Sprint("s-", i), Line: int64(i),
				Lat: South - 1 + (North-South+2)*r.Float64(), Lon: West - 1 + (East-West+2)*r.Float64(),
			}
			switch i {
			case 0:
				p.ID, p.Lat, p.Lon = "count", 0, 180
			case 1:
				p.ID, p.Lat, p.Lon = `a/b "ü" <i>`, 90, 10
			}
			p.Properties = fmt.Appendf(nil, `{"name":"Shop <%d>","category":%q,"price":%d,"open":%v,"limit":%d,"since":"20%02d-01-31"}`,
				i, [...]string{"cafe", "bakery", "zoo"}[i%7%3], r.IntN(50), i%3 > 0, i%5, i%30)
			if !yield(p, nil) {
				return
			}
		}
	}
}
