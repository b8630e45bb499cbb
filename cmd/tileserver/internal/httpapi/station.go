package httpapi

import (
	"context"
	"net/http"
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

// Stations is what the handlers ask of a generation of weather stations.
// *stations.Finder answers it.
type Stations interface {
	Nearest(ctx context.Context, lat, lon float64) (stations.Near, error)
	Nearby(ctx context.Context, q stations.NearbyQuery, dst []stations.Hit) ([]stations.Hit, error)
	Within(ctx context.Context, q stations.WithinQuery, dst []stations.Hit) (hits []stations.Hit, next string, err error)
	Record(ctx context.Context, id stations.ID, dst []byte) ([]byte, error)
	Tiles(ctx context.Context, id stations.ID) ([]quadkey.Tile, error)
}

// StationsDataset is the name of the data set, as ingest publishes it.
const StationsDataset = "stations"

// OpenStations makes the reader of a generation of weather stations.
func OpenStations(g *dataset.Generation) (Stations, error) {
	meta, err := metaOf[stations.Meta](g, stations.SchemaVersion)
	if err != nil {
		return nil, err
	}
	return stations.Open(context.Background(), g.Store, meta)
}

// stationHits is reused memory for the hits of one answer.
var stationHits = sync.Pool{New: func() any { return new([]stations.Hit) }}

// getNearestStation answers GET /stations/nearest?lat=&lon=: the nearest
// station there has ever been, one read for which and one for its record.
func (s *server) getNearestStation(c echo.Context) error {
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
func (s *server) answerFromStations(c echo.Context, form form, byAccept bool, fill func(context.Context, Stations, *scratch) error) error {
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
func (s *server) getNearbyStations(c echo.Context) error {
	q := queryParams(c.Request())
	query := stations.NearbyQuery{}
	query.Lat, query.Lon = q.position()
	query.RadiusM = q.optional("radius", "metres", 1, maxRadius, 0)
	query.Limit = int(q.integer("limit", 1, places.MaxLimit, places.DefaultLimit))
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
func (s *server) getStationsWithin(c echo.Context) error {
	q := queryParams(c.Request())
	query := stations.WithinQuery{}
	query.Box = q.box("bbox")
	query.Limit = int(q.integer("limit", 1, places.MaxLimit, places.DefaultLimit))
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
func (s *server) getStation(c echo.Context) error {
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
func (s *server) getStationTiles(c echo.Context) error {
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

// format reads the form of an answer: what format says, or else what the
// client prefers.
func (p *params) format(r *http.Request) form {
	switch p.oneOf("format", "json", "geojson") {
	case "json":
		return formJSON
	case "geojson":
		return formGeoJSON
	}
	if prefersGeoJSON(r) {
		return formGeoJSON
	}
	return formJSON
}

// country reads the code of one country, "" when it is absent.
func (p *params) country(name string) string {
	if !p.has(name) {
		return ""
	}
	v := strings.ToUpper(p.text(name, 64))
	if !isCode(v, 2, 2, false) {
		p.refuse(name, "Set "+name+" to the two letters of an ISO 3166-1 country code, such as FR.")
		return ""
	}
	return v
}

// day reads a day, or the day of a time, in UTC; zero when it is absent.
func (p *params) day(name string) time.Time {
	t, _ := p.time(name)
	return t
}

// time reads a day or a time, and says whether it was only a day; both are zero
// when it is absent.
func (p *params) time(name string) (t time.Time, dayOnly bool) {
	if !p.has(name) {
		return t, false
	}
	text := p.text(name, 64)
	t, err := time.Parse(time.DateOnly, text)
	dayOnly = err == nil
	if err != nil {
		t, err = time.Parse(time.RFC3339, text)
	}
	if t = t.UTC(); err != nil || t.Year() < 1 || t.Year() > 6000 || t.IsZero() {
		p.refuse(name, "Set "+name+" to a day such as 2024-01-31 or a time such as 2024-01-31T06:00:00Z, of the years 1 to 6000; write a + as %2B.")
		return time.Time{}, false
	}
	return t, dayOnly
}

// span reads from and to. A day as to is meant to its end.
func (p *params) span() (from, to time.Time) {
	from, _ = p.time("from")
	to, dayOnly := p.time("to")
	if dayOnly {
		to = to.AddDate(0, 0, 1).Add(-time.Second) // the whole day
	}
	if !from.IsZero() && !to.IsZero() && from.After(to) {
		p.refuse("from", "Set from to a time that is not after to.")
	}
	return from, to
}
