package httpapi

import (
	"context"
	"net/http"
	"strconv"
	"sync"

	"github.com/labstack/echo/v4"

	"quadrille/cellstore/dataset"
	"quadrille/places/stations"
)

// stationRoom answers with weather stations and what they observed.
type stationRoom struct {
	*kit
	stations *dataset.Live[Stations]
	weather  *dataset.Live[Weather]
}

func newStationRoom(k *kit, stations *dataset.Live[Stations], weather *dataset.Live[Weather]) *stationRoom {
	return &stationRoom{k, stations, weather}
}

func (s *stationRoom) routes() []route {
	return []route{
		{path: "/stations/nearest", handle: s.getNearestStation, cost: light, query: takes(position, "format")},
		{path: "/stations/nearby", handle: s.getNearbyStations, cost: light, query: takes(position, "radius", "limit", "at", "country", "format")},
		{path: "/stations/within", handle: s.getStationsWithin, cost: heavy, query: takes("bbox", "at", "country", paging)},
		{path: "/stations/:id", handle: s.getStation, cost: light},
		{path: "/stations/:id/tiles", handle: s.getStationTiles, cost: light},
		{path: "/stations/:id/observations", handle: s.getObservations, cost: light, query: takes("from", "to", "limit", "cursor")},
		{path: "/weather/:z/:x/:file", handle: s.getWeather, cost: light, query: takes("at")},
	}
}

var stationKinds = []kind{
	{err: stations.ErrNotFound, status: http.StatusNotFound, typ: "station-not-found", title: "There is no such station",
		detail: "Check the station's id, its USAF and WBAN numbers, such as 066600-99999."},
	{err: stations.ErrQuery, status: http.StatusBadRequest, typ: "bad-parameter", title: "A parameter is not valid",
		detail: "Correct the parameters of the search and send the request again."},
	{err: stations.ErrCursor, status: http.StatusBadRequest, typ: "bad-parameter", title: "A parameter is not valid",
		detail: "Send the cursor exactly as the page before gave it in next, with the same parameters, or none to begin again."},
	{err: stations.ErrCursorExpired, status: http.StatusGone, typ: "cursor-expired", title: "The cursor has expired",
		detail: "The data has been published anew since the page before. Begin again without a cursor."},
}

// stationHits is reused memory for the hits of one answer.
var stationHits = sync.Pool{New: func() any { return new([]stations.Hit) }}

// getNearestStation answers GET /stations/nearest?lat=&lon=: the nearest
// station there has ever been, one read for which and one for its record.
func (s *stationRoom) getNearestStation(c echo.Context) error {
	q := queryParams(c.Request())
	lat, lon := q.position()
	form := q.format(c.Request())
	if q.err != nil {
		return q.err
	}
	return s.answerFromStations(c, form, true, func(ctx context.Context, f Stations, out *scratch) error {
		near, err := f.Nearest(ctx, lat, lon)
		if err != nil {
			return err
		}
		hit := stations.Hit{ID: near.ID, Lat: near.Lat, Lon: near.Lon, DistanceM: near.DistanceM}
		if hit.JSON, err = f.Record(ctx, near.ID, nil); err != nil {
			return err
		}
		if form == formGeoJSON {
			out.body = appendStationFeature(out.body, &hit, true)
			return nil
		}
		out.body = appendStation(append(out.body, `{"station":`...), &hit, true)
		out.body = append(out.body, '}')
		return nil
	})
}

// answerFromStations does what all answers from one generation of stations
// share. byAccept says that the Accept header may choose the form.
func (s *stationRoom) answerFromStations(c echo.Context, form form, byAccept bool, fill func(context.Context, Stations, *scratch) error) error {
	p := pin(s.stations)
	defer p.release()
	f, err := p.get()
	if err != nil {
		return err
	}
	return s.reply(c, answer{form: form, byAccept: byAccept}, []uint64{p.id}, func(ctx context.Context, out *scratch) error {
		return fill(ctx, f, out)
	})
}

// getNearbyStations answers GET /stations/nearby: the k nearest stations that
// pass the filters, ordered by distance and then by id.
func (s *stationRoom) getNearbyStations(c echo.Context) error {
	q := queryParams(c.Request())
	query := stations.NearbyQuery{}
	query.Lat, query.Lon = q.position()
	query.RadiusM = q.optional("radius", "metres", 1, maxRadius, 0)
	query.Limit = int(q.integer("limit", 1, stations.MaxLimit, stations.DefaultLimit))
	query.At = q.day("at")
	query.Country = q.country("country")
	form := q.format(c.Request())
	if q.err != nil {
		return q.err
	}
	return s.answerFromStations(c, form, true, func(ctx context.Context, f Stations, out *scratch) error {
		memory := stationHits.Get().(*[]stations.Hit)
		defer stationHits.Put(memory)
		hits, err := f.Nearby(ctx, query, (*memory)[:0])
		if err != nil {
			return err
		}
		*memory = hits
		out.body = appendStations(append(out.body, '{'), form, hits, true, "")
		return nil
	})
}

// getStationsWithin answers GET /stations/within?bbox=: a page of the stations
// in the box.
func (s *stationRoom) getStationsWithin(c echo.Context) error {
	q := queryParams(c.Request())
	query := stations.WithinQuery{}
	query.Box = q.box("bbox")
	query.Limit = int(q.integer("limit", 1, stations.MaxLimit, stations.DefaultLimit))
	query.At = q.day("at")
	query.Country = q.country("country")
	query.Cursor = q.cursor()
	form := q.format(c.Request())
	if q.err != nil {
		return q.err
	}
	return s.answerFromStations(c, form, true, func(ctx context.Context, f Stations, out *scratch) error {
		memory := stationHits.Get().(*[]stations.Hit)
		defer stationHits.Put(memory)
		hits, next, err := f.Within(ctx, query, (*memory)[:0])
		if err != nil {
			return err
		}
		*memory = hits
		out.body = appendBounds(append(out.body, '{'), [4]float64{query.Box.West, query.Box.South, query.Box.East, query.Box.North})
		out.body = appendStations(append(out.body, ','), form, hits, false, next)
		return nil
	})
}

// appendStations writes the rest of an object: "stations":[…], or a
// FeatureCollection, and "next".
func appendStations(dst []byte, form form, hits []stations.Hit, distance bool, next string) []byte {
	one := appendStation
	if form == formGeoJSON {
		dst, one = append(dst, `"type":"FeatureCollection","features":[`...), appendStationFeature
	} else {
		dst = append(dst, `"stations":[`...)
	}
	for i := range hits {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = one(dst, &hits[i], distance)
	}
	return appendNext(append(dst, ']'), next)
}

// appendStation writes a station, with its distance in metres to the decimetre
// where it has one.
func appendStation(dst []byte, h *stations.Hit, distance bool) []byte {
	dst = append(append(dst, '{'), h.JSON...)
	if distance {
		dst = append(dst, `,"distance_m":`...)
		dst = strconv.AppendFloat(dst, h.DistanceM, 'f', 1, 64)
	}
	return append(dst, '}')
}

func appendStationFeature(dst []byte, h *stations.Hit, distance bool) []byte {
	dst = append(append(dst, `{"type":"Feature","id":"`...), h.ID[:]...)
	dst = append(dst, `","geometry":{"type":"Point","coordinates":[`...)
	dst = strconv.AppendFloat(dst, h.Lon, 'f', -1, 64)
	dst = append(dst, ',')
	dst = strconv.AppendFloat(dst, h.Lat, 'f', -1, 64)
	dst = append(dst, `]},"properties":`...)
	return append(appendStation(dst, h, distance), '}')
}

// stationID reads the id in a path.
func stationID(c echo.Context) (stations.ID, error) {
	values, err := pathParams(c)
	if err != nil {
		return stations.ID{}, err
	}
	id, err := stations.ParseID(values[0])
	if err != nil {
		return stations.ID{}, refuse(errParameter, "id", "Give the USAF and WBAN numbers of a station, such as 066600-99999.")
	}
	return id, nil
}

// getStation answers GET /stations/{id}: the record of a station.
func (s *stationRoom) getStation(c echo.Context) error {
	if runsOn(c) {
		return errNoRoute
	}
	id, err := stationID(c)
	if err != nil {
		return err
	}
	return s.answerFromStations(c, formJSON, false, func(ctx context.Context, f Stations, out *scratch) error {
		if out.body, err = f.Record(ctx, id, append(out.body, '{')); err != nil {
			return err
		}
		out.body = append(out.body, '}')
		return nil
	})
}

// getStationTiles answers GET /stations/{id}/tiles: the tiles in which a
// station may be the nearest.
func (s *stationRoom) getStationTiles(c echo.Context) error {
	id, err := stationID(c)
	if err != nil {
		return err
	}
	return s.answerFromStations(c, formJSON, false, func(ctx context.Context, f Stations, out *scratch) error {
		tiles, err := f.Tiles(ctx, id)
		if err != nil {
			return err
		}
		out.body = append(append(out.body, `{"id":"`...), id[:]...)
		out.body = append(out.body, `","tiles":[`...)
		for i, t := range tiles {
			if i > 0 {
				out.body = append(out.body, ',')
			}
			out.body = append(append(append(out.body, '"'), t.String()...), '"')
		}
		out.body = append(out.body, `]}`...)
		return nil
	})
}
