// Package station serves the endpoints for weather stations and their observations.
package station

import (
	"context"
	"time"

	"github.com/labstack/echo/v4"

	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/listing"
	"quadrille/cmd/tileserver/internal/web"
	"quadrille/feature"
	"quadrille/internal/jsontext"
	"quadrille/places/stations"
)

// Handlers has the handlers of weather stations and their observations.
type Handlers struct {
	*web.Kit
	form *endpoint.Value[string]
}

// New returns the handlers.
func New(k *web.Kit) *Handlers { return &Handlers{k, listing.FormatParam(false)} }

// nearest describes the list of the nearest station. JSON and GeoJSON have the station without a
// list.
var nearest = listing.Spec{List: NearestStation{}, Features: StationFeature{}, Item: StationFeature{}}

// getNearestStation answers GET /stations/nearest?lat=&lon= with the nearest of all stations,
// including closed ones. One read finds the station, a second fetches its record.
func (s *Handlers) getNearestStation(c echo.Context, q *endpoint.Params) error {
	lat, lon := endpoint.Position(q)
	form := listing.FormatOf(c.Request(), s.form.Of(q))
	if q.Err != nil {
		return q.Err
	}
	return s.answerFromStations(c, q, form.Format, true, func(ctx context.Context, f *stations.Finder, out *web.Scratch) error {
		near, err := f.Nearest(ctx, lat, lon)
		if err != nil {
			return err
		}
		var station feature.Feature
		if err := f.Get(ctx, near.ID.String(), time.Time{}, &station); err != nil {
			return err
		}
		station.DistanceM = near.DistanceM
		l := listing.List{Spec: &nearest, Format: form, Schema: f.Info().Schema,
			Writer: feature.Writer{GeoJSON: form.GeoJSON, WithDistance: true}}
		switch form {
		case listing.GeoJSON:
			out.Body, err = l.Writer.Append(out.Body, &station, "")
			return err
		case listing.JSON:
			out.Body, err = l.Writer.Append(append(out.Body, `{"station":`...), &station, "")
			out.Body = append(out.Body, '}')
			return err
		}
		out.Body, err = l.Append(l.Begin(out.Body), &station, "")
		out.Body = l.End(out.Body, "")
		return err
	})
}

// answerFromStations does the common part of all answers from one generation of stations. byAccept
// is set if the Accept header may select the form.
func (s *Handlers) answerFromStations(
	c echo.Context, q *endpoint.Params, form web.Format, byAccept bool, fill func(context.Context, *stations.Finder, *web.Scratch) error,
) error {
	f, err := q.View().Stations.Get()
	if err != nil {
		return err
	}
	answer, from := web.Answer{Format: form, ByAccept: byAccept}, []uint64{q.View().Stations.ID}
	return s.Reply(c, answer, from, func(ctx context.Context, out *web.Scratch) error {
		return fill(ctx, f, out)
	})
}

// stationID reads the id in a path.
func stationID(c echo.Context) (stations.ID, error) {
	values, err := endpoint.WholePath(c)
	if err != nil {
		return stations.ID{}, err
	}
	id, err := stations.ParseID(values[0])
	if err != nil {
		return stations.ID{}, endpoint.Refuse(endpoint.ErrParameter, "id", "Give the USAF and WBAN numbers of a station, such as 066600-99999, or its GHCN id, such as SZM00006660.")
	}
	return id, nil
}

// getStation answers GET /stations/{id} with the record of a station.
func (s *Handlers) getStation(c echo.Context, q *endpoint.Params) error {
	id, err := stationID(c)
	if err != nil {
		return err
	}
	return s.answerFromStations(c, q, web.FormatJSON, false, func(ctx context.Context, f *stations.Finder, out *web.Scratch) error {
		if out.Body, err = f.Record(ctx, id, append(out.Body, '{')); err != nil {
			return err
		}
		out.Body = append(out.Body, '}')
		return nil
	})
}

// getStationTiles answers GET /stations/{id}/tiles with the tiles in which a station may be the
// nearest.
func (s *Handlers) getStationTiles(c echo.Context, q *endpoint.Params) error {
	id, err := stationID(c)
	if err != nil {
		return err
	}
	return s.answerFromStations(c, q, web.FormatJSON, false, func(ctx context.Context, f *stations.Finder, out *web.Scratch) error {
		tiles, err := f.Tiles(ctx, id)
		if err != nil {
			return err
		}
		out.Body = append(append(append(out.Body, `{"id":"`...), id[:]...), `","tiles":[`...)
		for _, t := range tiles {
			out.Body = append(append(append(jsontext.Next(out.Body), '"'), t.String()...), '"')
		}
		out.Body = append(out.Body, "]}"...)
		return nil
	})
}
