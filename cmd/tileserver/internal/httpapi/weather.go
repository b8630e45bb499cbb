package httpapi

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"quadrille/cellstore/dataset"
	"quadrille/places"
	"quadrille/places/stations"
	"quadrille/quadkey"
)

// Weather is what the handlers ask of a generation of observations.
// *stations.Weather answers it.
type Weather interface {
	Span() (first, last time.Time)
	Observations(ctx context.Context, q stations.ObservationQuery, dst []stations.Observation) (page []stations.Observation, next string, err error)
	Tile(ctx context.Context, t quadkey.Tile, at time.Time, dst *stations.TileWeather) error
}

// WeatherDataset is the name of the data set, as ingest publishes it.
const WeatherDataset = "weather"

// OpenWeather makes the reader of a generation of observations.
func OpenWeather(g *dataset.Generation) (Weather, error) {
	meta, err := metaOf[stations.WeatherMeta](g, stations.SchemaVersion)
	if err != nil {
		return nil, err
	}
	return stations.OpenWeather(context.Background(), g.Store, meta)
}

// getObservations answers GET /stations/{id}/observations: a page of what a
// station observed, the newest first.
func (s *server) getObservations(c echo.Context) error {
	r := c.Request()
	id, err := stationID(c)
	if err != nil {
		return err
	}
	q := queryParams(r)
	query := stations.ObservationQuery{Station: id}
	query.From, query.To = q.span()
	query.Limit = int(q.integer("limit", 1, places.MaxLimit, defaultObservations))
	query.Cursor = q.cursor()
	if q.err != nil {
		return q.err
	}
	where, what := pin(s.stations), pin(s.weather)
	defer where.release()
	defer what.release()
	f, err := where.get()
	if err != nil {
		return err
	}
	w, err := what.get()
	if err != nil {
		return err
	}
	return s.reply(c, answer{form: formJSON}, []uint64{where.id, what.id}, func(ctx context.Context, out *scratch) error {
		page, next, err := w.Observations(ctx, query, nil)
		if err != nil {
			return err
		}
		if len(page) == 0 {
			// Nothing observed, or no such station: two answers.
			if out.body, err = f.Record(ctx, id, out.body); err != nil {
				return err
			}
			out.body = out.body[:0]
		}
		out.body = append(append(out.body, `{"station":"`...), id[:]...)
		out.body = append(out.body, `","observations":[`...)
		for i := range page {
			if i > 0 {
				out.body = append(out.body, ',')
			}
			out.body = page[i].AppendJSON(out.body)
		}
		out.body = appendNext(append(out.body, ']'), next)
		return nil
	})
}

// defaultObservations is a day of hours.
const defaultObservations = 24

// weatherTile reads the tile of a path.
func weatherTile(z, x, file string) (quadkey.Tile, error) {
	y, ok := strings.CutSuffix(file, ".json")
	if !ok {
		return quadkey.Tile{}, refuse(errFormat, "", "End the address in .json.")
	}
	zn, ok := whole(z)
	if !ok {
		return quadkey.Tile{}, notWhole("z")
	}
	xn, ok := whole(x)
	if !ok {
		return quadkey.Tile{}, notWhole("x")
	}
	yn, ok := whole(y)
	if !ok {
		return quadkey.Tile{}, notWhole("y")
	}
	t, err := quadkey.NewTile(zn, xn, yn)
	if err != nil || t.Z > stations.MaxWeatherZoom {
		return quadkey.Tile{}, refuse(errTileOutside, "", "Ask for z from 0 to "+strconv.Itoa(stations.MaxWeatherZoom)+", and x and y from 0 to 2^z - 1.")
	}
	return t, nil
}

// tileWeathers is reused memory for the weather of one tile.
var tileWeathers = sync.Pool{New: func() any { return new(stations.TileWeather) }}

// getWeather answers GET /weather/{z}/{x}/{y}.json?at=: what the stations in a
// tile observed in the hour of at, or in the newest hour there is, of the whole
// tile and of its 4×4 parts.
func (s *server) getWeather(c echo.Context) error {
	r := c.Request()
	if runsOn(c) {
		return errNoRoute
	}
	values, err := pathParams(c)
	if err != nil {
		return err
	}
	t, err := weatherTile(values[0], values[1], values[2])
	if err != nil {
		return err
	}
	q := queryParams(r)
	at, _ := q.time("at")
	if q.err != nil {
		return q.err
	}
	p := pin(s.weather)
	defer p.release()
	w, err := p.get()
	if err != nil {
		return err
	}
	if at.IsZero() {
		_, at = w.Span()
	}
	return s.reply(c, answer{form: formJSON}, []uint64{p.id}, func(ctx context.Context, out *scratch) error {
		weather := tileWeathers.Get().(*stations.TileWeather)
		defer tileWeathers.Put(weather)
		if err := w.Tile(ctx, t, at, weather); err != nil {
			return err
		}
		out.body = appendWeather(out.body, t, weather)
		return nil
	})
}

// appendWeather writes {"tile":"z/x/y","hour":"…","observations":…,…,
// "side":4,"parts":[{"x":0,"y":0,"observations":…},…]}.
func appendWeather(dst []byte, t quadkey.Tile, w *stations.TileWeather) []byte {
	dst = append(append(dst, `{"tile":"`...), t.String()...)
	dst = w.Hour.AppendFormat(append(dst, `","hour":"`...), time.RFC3339)
	dst = w.Total.AppendMembers(append(dst, `",`...))
	dst = strconv.AppendInt(append(dst, `,"side":`...), int64(w.Side), 10)
	dst = append(dst, `,"parts":[`...)
	for i := range w.Parts {
		p := &w.Parts[i]
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = strconv.AppendInt(append(dst, `{"x":`...), int64(p.X), 10)
		dst = strconv.AppendInt(append(dst, `,"y":`...), int64(p.Y), 10)
		dst = append(p.AppendMembers(append(dst, ',')), '}')
	}
	return append(dst, `]}`...)
}
