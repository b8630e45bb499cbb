package httpapi

import (
	"context"
	"strconv"

	"github.com/labstack/echo/v4"

	"quadrille/internal/jsontext"
	"quadrille/places"
	"quadrille/quadkey"
)

// getPlacesWithin answers GET /places/within?bbox= or ?tile=: a page of the
// places in a box or a tile that pass the filters, the most important first,
// as JSON or GeoJSON. The first page of a tile up to zoom 10 has also how many
// places of each class the tile holds, whatever the filters.
func (s *placeRoom) getPlacesWithin(c echo.Context) error {
	r := c.Request()
	q := queryParams(r)
	query := places.WithinQuery{}
	switch {
	case q.has("bbox") && q.has("tile"):
		q.refuse("tile", "Give either bbox or tile, not both.")
	case q.has("tile"):
		query.Tile = q.tile("tile")
	case q.has("bbox"):
		query.Box = q.box("bbox")
	default:
		q.refuse("bbox", "Add bbox, west,south,east,north in degrees, or tile, z/x/y.")
	}
	query.Limit = int(q.integer("limit", 1, places.MaxLimit, places.DefaultLimit))
	f := readFilter(&q)
	query.Classes, query.Codes, query.Countries, query.MinPopulation = f.classes, f.codes, f.countries, f.minPopulation
	query.Cursor = q.cursor()
	lang := q.language("lang")
	form := q.format(r)
	if q.err != nil {
		return q.err
	}
	return sendHits(s.kit, c, s.Places, form, func(ctx context.Context, f Places, dst []places.Hit) ([]places.Hit, string, error) {
		return f.Within(ctx, query, dst)
	}, func(ctx context.Context, f Places, dst []byte, hits []places.Hit, next string) ([]byte, error) {
		if err := renameHits(ctx, f, hits, lang); err != nil {
			return dst, err
		}
		dst = appendPlaces(dst, form, hits, next)
		if t := query.Tile; t != nil && t.Z <= places.CountedZoom && query.Cursor == "" {
			return appendCounts(ctx, dst, f, *t)
		}
		return dst, nil
	})
}

// appendCounts adds the member counts to a finished object; places without a
// class are counted under "".
func appendCounts(ctx context.Context, dst []byte, finder Places, t quadkey.Tile) ([]byte, error) {
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

// appendPlaces writes a page of places that were not looked for near a point.
func appendPlaces(dst []byte, f form, hits []places.Hit, next string) []byte {
	if f == formGeoJSON {
		dst = append(dst, collectionHead...)
	} else {
		dst = append(dst, placesHead...)
	}
	for i := range hits {
		h := &hits[i]
		if i > 0 {
			dst = append(dst, ',')
		}
		if f == formGeoJSON {
			dst = appendFeatureHead(dst, h.ID, h.Lon, h.Lat)
		}
		dst = append(append(append(dst, '{'), h.JSON...), '}')
		if f == formGeoJSON {
			dst = append(dst, '}')
		}
	}
	return appendNext(append(dst, ']'), next)
}
