package station

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/listing"
	"quadrille/cmd/tileserver/internal/web"
	"quadrille/internal/jsontext"
	"quadrille/places/stations"
	"quadrille/quadkey"
)

// getObservations answers GET /stations/{id}/observations with a page of a station's observations,
// the newest first.
func (s *Handlers) getObservations(c echo.Context, q *endpoint.Params) error {
	id, err := stationID(c)
	if err != nil {
		return err
	}
	query := stations.ObservationQuery{Station: id}
	query.From, query.To = fromParam.Of(q), toParam.Of(q)
	if !query.From.IsZero() && !query.To.IsZero() && query.From.After(query.To) {
		q.Refuse("from", "Set from to a time that is not after to.")
	}
	query.Limit = int(limitParam.Of(q))
	query.Cursor = endpoint.Cursor.Of(q)
	if q.Err != nil {
		return q.Err
	}
	f, err := q.View().Stations.Get()
	if err != nil {
		return err
	}
	w, err := q.View().Weather.Get()
	if err != nil {
		return err
	}
	from := []uint64{q.View().Stations.ID, q.View().Weather.ID}
	return s.Reply(c, web.Answer{Format: web.FormatJSON}, from, func(ctx context.Context, out *web.Scratch) error {
		page, next, err := w.Observations(ctx, query, nil)
		if err != nil {
			return err
		}
		if len(page) == 0 {
			// A station without observations and an unknown station have different answers.
			if out.Body, err = f.Record(ctx, id, out.Body); err != nil {
				return err
			}
			out.Body = out.Body[:0]
		}
		out.Body = append(append(append(out.Body, `{"station":"`...), id[:]...), `","observations":[`...)
		for i := range page {
			out.Body = page[i].AppendJSON(jsontext.Next(out.Body))
		}
		out.Body = listing.End(out.Body, next)
		return nil
	})
}

// defaultObservations is the number of hourly observations in a day.
const defaultObservations = 24

// weatherTile reads the tile of a path.
func weatherTile(z, x, file string) (quadkey.Tile, error) {
	y, ok := strings.CutSuffix(file, ".json")
	if !ok {
		return quadkey.Tile{}, endpoint.Refuse(web.ErrFormat, "", "End the address in .json.")
	}
	t, err := endpoint.ParseGridTile(z, x, y)
	if err != nil && !errors.Is(err, endpoint.ErrTileOutside) {
		return t, err
	}
	if err != nil || t.Z > stations.MaxWeatherZoom {
		return quadkey.Tile{}, endpoint.Refuse(endpoint.ErrTileOutside, "",
			"Ask for z from 0 to "+strconv.Itoa(stations.MaxWeatherZoom)+", and x and y from 0 to 2^z - 1.")
	}
	return t, nil
}

// tileWeathers has memory that is reused for the weather of one tile.
var tileWeathers = sync.Pool{New: func() any { return new(stations.TileWeather) }}

// getWeather answers GET /weather/{z}/{x}/{y}.json?at= with the observations of the stations in a
// tile, for the whole tile and for its 4×4 parts. at selects the hour of the observations. The
// default is the newest hour with data.
func (s *Handlers) getWeather(c echo.Context, q *endpoint.Params) error {
	values, err := endpoint.WholePath(c)
	if err != nil {
		return err
	}
	t, err := weatherTile(values[0], values[1], values[2])
	if err != nil {
		return err
	}
	at := hourParam.Of(q)
	if q.Err != nil {
		return q.Err
	}
	w, err := q.View().Weather.Get()
	if err != nil {
		return err
	}
	if at.IsZero() {
		_, at = w.Span()
	}
	return s.Reply(c, web.Answer{Format: web.FormatJSON}, []uint64{q.View().Weather.ID}, func(ctx context.Context, out *web.Scratch) error {
		weather := tileWeathers.Get().(*stations.TileWeather)
		defer tileWeathers.Put(weather)
		if err := w.Tile(ctx, t, at, weather); err != nil {
			return err
		}
		out.Body = appendWeather(out.Body, t, weather)
		return nil
	})
}

// appendWeather writes {"tile":"z/x/y","hour":"…","observations":…,…,
// "side":4,"parts":[{"x":0,"y":0,"observations":…},…]}.
func appendWeather(dst []byte, t quadkey.Tile, w *stations.TileWeather) []byte {
	dst = append(append(dst, `{"tile":"`...), t.String()...)
	dst = w.Hour.AppendFormat(append(dst, `","hour":"`...), time.RFC3339)
	dst = w.Total.AppendMembers(append(dst, `",`...))
	dst = append(strconv.AppendInt(append(dst, `,"side":`...), int64(w.PartsPerSide), 10), `,"parts":[`...)
	for i := range w.Parts {
		p := &w.Parts[i]
		dst = strconv.AppendInt(append(jsontext.Next(dst), `{"x":`...), int64(p.X), 10)
		dst = strconv.AppendInt(append(dst, `,"y":`...), int64(p.Y), 10)
		dst = append(p.AppendMembers(append(dst, ',')), '}')
	}
	return append(dst, "]}"...)
}
