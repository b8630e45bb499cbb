package place

import (
	"context"
	"strconv"

	"github.com/labstack/echo/v4"

	"quadrille/ask"
	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/listing"
	"quadrille/cmd/tileserver/internal/web"
	"quadrille/internal/jsontext"
	"quadrille/places"
	"quadrille/quadkey"
)

// getPlacesWithin answers GET /places/within?bbox= or ?tile=: a page of the
// places in a box or a tile that pass the filters, the most important first,
// as JSON or GeoJSON. The first page of a tile up to zoom 10 has also how many
// places of each class the tile holds, whatever the filters.
func (s *Room) getPlacesWithin(c echo.Context, q *endpoint.Params) error {
	r := c.Request()
	query := places.WithinQuery{JSONOnly: true}
	switch {
	case endpoint.BBox.Given(q) && endpoint.Tile.Given(q):
		q.Refuse("tile", "Give either bbox or tile, not both.")
	case endpoint.Tile.Given(q):
		query.Tile = endpoint.Tile.Of(q)
	case endpoint.BBox.Given(q):
		query.Box = endpoint.BBox.Of(q)
	default:
		q.Refuse("bbox", "Add bbox, west,south,east,north in degrees, or tile, z/x/y.")
	}
	query.Limit = int(listing.Limit.Of(q))
	f := readFilter(q)
	query.Classes, query.Codes, query.Countries, query.MinPopulation = f.Classes, f.Codes, f.Countries, f.MinPopulation
	query.Cursor = endpoint.Cursor.Of(q)
	lang := endpoint.Lang.Of(q)
	form := web.FormOf(r, endpoint.Format.Of(q))
	if q.Err != nil {
		return q.Err
	}
	list := listing.List{Name: "places", Form: form}
	return listing.SendHits(s.Kit, c, s.Places, list, func(ctx context.Context, f ask.Places, dst []places.Hit) ([]places.Hit, string, error) {
		hits, next, err := f.Within(ctx, query, dst)
		if err == nil {
			err = renameHits(ctx, f, hits, lang)
		}
		return hits, next, err
	}, func(ctx context.Context, f ask.Places, dst []byte) ([]byte, error) {
		if t := query.Tile; t != nil && t.Z <= places.CountedZoom && query.Cursor == "" {
			return appendCounts(ctx, dst, f, *t)
		}
		return dst, nil
	})
}

// appendCounts adds the member counts to a finished object; places without a
// class are counted under "".
func appendCounts(ctx context.Context, dst []byte, finder ask.Places, t quadkey.Tile) ([]byte, error) {
	dst = append(dst[:len(dst)-1], `,"counts":{`...)
	first := true
	err := finder.Counts(ctx, t, func(class string, count int64) {
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = append(jsontext.AppendString(dst, class), ':')
		dst = strconv.AppendInt(dst, count, 10)
	})
	return append(dst, "}}"...), err
}
