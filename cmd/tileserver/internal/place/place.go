// Package place serves the endpoints for places: near a point, within a box, by name, and a single
// place.
package place

import (
	"context"
	"strconv"

	"github.com/labstack/echo/v4"

	"quadrille/ask"
	"quadrille/ask/localtime"
	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/listing"
	"quadrille/cmd/tileserver/internal/timezone"
	"quadrille/cmd/tileserver/internal/web"
	"quadrille/internal/jsontext"
	"quadrille/places"
)

// Handlers has the handlers of places: near a point, within an area, by name and by id.
type Handlers struct {
	*web.Kit
	kept *web.ResponseCache[searchKey]
	form *endpoint.Value[string] // of a search
}

// New returns the handlers. It caches finished searches in up to cacheBytes of memory, or none if
// cacheBytes is 0.
func New(k *web.Kit, cacheBytes int64) *Handlers {
	return &Handlers{Kit: k, kept: web.NewResponseCache[searchKey](k, "searches", cacheBytes), form: listing.FormatParam(false)}
}

// getPlace answers GET /places/{id} with the record of a GeoNames id. With lang the name is in that
// language.
func (s *Handlers) getPlace(c echo.Context, q *endpoint.Params) error {
	id, err := placeID(c)
	if err != nil {
		return err
	}
	lang := endpoint.Lang.Of(q)
	if q.Err != nil {
		return q.Err
	}
	finder, err := q.View().Places.Get()
	if err != nil {
		return err
	}
	return s.Reply(c, web.Answer{Format: web.FormatJSON}, []uint64{q.View().Places.ID}, func(ctx context.Context, out *web.Scratch) error {
		record, err := finder.Place(ctx, id)
		name := ""
		if err == nil && lang != "" {
			if name, _, err = finder.NameIn(ctx, id, lang); err != nil {
				err = ask.NotFoundAsDamage(err)
			}
		}
		out.Body = places.AppendNamed(out.Body, record, name)
		return err
	})
}

// placeID reads the GeoNames id in the path.
func placeID(c echo.Context) (uint32, error) {
	values, err := endpoint.WholePath(c)
	if err != nil {
		return 0, err
	}
	id, err := strconv.ParseUint(values[0], 10, 32)
	if err != nil {
		return 0, endpoint.Refuse(endpoint.ErrParameter, "id", "Give a GeoNames id, a whole number such as 2988507.")
	}
	return uint32(id), nil
}

// getPlaceOffset answers GET /places/{id}/offset?at= with the local time at a place at an instant.
func (s *Handlers) getPlaceOffset(c echo.Context, q *endpoint.Params) error {
	id, err := placeID(c)
	if err != nil {
		return err
	}
	v := localtime.ViewOf(q.View())
	return timezone.SendOffset(s.Kit, c, q, &v, v.Places.ID, func(ctx context.Context, dst []byte) ([]byte, string, error) {
		finder, err := v.Places.Get()
		if err != nil {
			return dst, "", err
		}
		var record places.Record
		if err := finder.Record(ctx, id, &record); err != nil {
			return dst, "", err
		}
		dst = strconv.AppendUint(append(dst, `{"id":`...), uint64(id), 10)
		if record.TimeZone == "" {
			var source string
			if record.TimeZone, source, err = v.ZoneOf(ctx, &record.Hit); err != nil {
				return dst, "", err
			}
			dst = jsontext.AppendString(append(dst, `,"timezone_source":`...), source)
		}
		return dst, record.TimeZone, nil
	})
}
