package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/labstack/echo/v4"

	"quadrille/cellstore"
	"quadrille/cellstore/dataset"
	"quadrille/internal/jsontext"
	"quadrille/places"
	"quadrille/places/airports"
)

// airportConfig says what the room of airports serves.
type airportConfig struct {
	Airports  *dataset.Live[Airports]
	Places    *dataset.Live[Places]
	TimeZones *dataset.Live[TimeZones]
}

// airportRoom answers with airports by code, and which are near or within.
type airportRoom struct {
	*kit
	airportConfig
}

func newAirportRoom(k *kit, cfg airportConfig) *airportRoom { return &airportRoom{k, cfg} }

func (s *airportRoom) routes() []route {
	filter := []string{"type", "country", "scheduled", "closed"}
	return []route{
		{path: "/airports/within", handle: s.getAirportsWithin, cost: heavy, query: takes("bbox", filter, paging)},
		{path: "/airports/nearby", handle: s.getAirportsNearby, cost: light, query: takes(position, "radius", filter, paging)},
		{path: "/airports/:code", handle: s.getAirport, cost: light, query: takes("local")},
		{path: "/airports/:code/offset", handle: s.getAirportOffset, cost: light, query: takes("at")},
	}
}

var airportKinds = []kind{
	{err: airports.ErrNotFound, status: http.StatusNotFound, typ: "airport-not-found", title: "There is no such airport",
		detail: "Check the code: IATA, ICAO or the airport's local code; this server may hold only the largest airports."},
	{err: airports.ErrBadCode, status: http.StatusBadRequest, typ: "bad-parameter", title: "A parameter is not valid",
		detail: "Give the code of an airport: 1 to 16 letters, digits and hyphens, such as ZRH or LSZH."},
}

// airportRecords is reused memory for the record of one answer.
var airportRecords = sync.Pool{New: func() any { return new(airports.Record) }}

// getAirport answers GET /airports/{code}: the record of the airport with an
// IATA, ICAO or local code.
//
// With local=true it says what clocks there show now, and may not be kept.
// /airports/{code}/offset?at= says it for any instant.
func (s *airportRoom) getAirport(c echo.Context) error {
	r := c.Request()
	code, err := pathCode(c)
	if err != nil {
		return err
	}
	q := queryParams(r)
	local := q.oneOf("local", "true", "false") == "true"
	if q.err != nil {
		return q.err
	}
	v := pinZoned(s.Places, s.Airports, s.TimeZones)
	defer v.release()
	finder, err := v.airports.get()
	if err != nil {
		return err
	}
	from := []uint64{v.airports.id}
	if local {
		from = nil
	}
	return s.reply(c, answer{form: formJSON}, from, func(ctx context.Context, out *scratch) error {
		record := airportRecords.Get().(*airports.Record)
		defer airportRecords.Put(record)
		if err := finder.Lookup(ctx, code, record); err != nil {
			return badCode(err)
		}
		out.body = append(out.body, record.JSON...)
		if local {
			at := s.clock()
			o, err := v.offset(ctx, record.TimeZone, at)
			if err != nil {
				return err
			}
			out.body = append(out.body[:len(out.body)-1], ',') // the record is an object
			out.body = append(appendClock(out.body, at, o), '}')
		}
		return nil
	})
}

// pathCode is the first parameter of the path, the code of an airport. Whether
// it can be one is for the airports to say.
func pathCode(c echo.Context) (string, error) {
	if runsOn(c) {
		return "", errNoRoute
	}
	values, err := pathParams(c)
	if err != nil {
		return "", err
	}
	return values[0], nil
}

// badCode names the parameter in the refusal of a code.
func badCode(err error) error {
	if errors.Is(err, airports.ErrBadCode) {
		return refuse(errParameter, "code", "Give the code of an airport: 1 to 16 letters, digits and hyphens, such as ZRH or LSZH.")
	}
	return err
}

// airportTypes are the values of the parameter type. The last word of a type
// of two may be left out.
var airportTypes = func() map[string]string {
	m := map[string]string{}
	for _, t := range airports.Types() {
		m[t] = t
		short, _, _ := strings.Cut(t, "_")
		m[short] = t
	}
	return m
}()

// readAirportFilter reads the filters that searches for airports have in common.
func readAirportFilter(p *params) (f airports.Filter) {
	for _, word := range p.list("type", len(airportTypes)) {
		t, ok := airportTypes[word]
		if !ok {
			p.refuse("type", "Set type to one of these, or to several with commas between them: "+strings.Join(airports.Types(), ", ")+".")
			return f
		}
		if !slices.Contains(f.Types, t) {
			f.Types = append(f.Types, t)
		}
	}
	f.Countries = p.codes("country", "the two letters of an ISO 3166-1 country code, such as FR", 2, 2, false)
	f.Scheduled = p.oneOf("scheduled", "true", "false") == "true"
	f.Closed = p.oneOf("closed", "true", "false") == "true"
	return f
}

// getAirportsNearby answers GET /airports/nearby: the k nearest airports that
// pass the filters, ordered by distance and then by id, as JSON or GeoJSON.
func (s *airportRoom) getAirportsNearby(c echo.Context) error {
	q := queryParams(c.Request())
	query := airports.NearbyQuery{}
	query.Lat, query.Lon = q.position()
	query.RadiusM = q.optional("radius", "metres", 1, maxRadius, 0)
	query.Limit = int(q.integer("limit", 1, places.MaxLimit, places.DefaultLimit))
	query.Filter = readAirportFilter(&q)
	query.Cursor = q.cursor()
	return s.sendAirports(c, &q, appendHit, func(ctx context.Context, f Airports, dst []places.Hit) ([]places.Hit, string, error) {
		return f.Nearby(ctx, query, dst)
	})
}

// getAirportsWithin answers GET /airports/within?bbox=: a page of the airports
// in a box that pass the filters, the most important first, as JSON or GeoJSON.
func (s *airportRoom) getAirportsWithin(c echo.Context) error {
	q := queryParams(c.Request())
	query := airports.WithinQuery{}
	query.Box = q.box("bbox")
	query.Limit = int(q.integer("limit", 1, places.MaxLimit, places.DefaultLimit))
	query.Filter = readAirportFilter(&q)
	query.Cursor = q.cursor()
	return s.sendAirports(c, &q, appendMembers, func(ctx context.Context, f Airports, dst []places.Hit) ([]places.Hit, string, error) {
		return f.Within(ctx, query, dst)
	})
}

// sendAirports answers with a page of airports, each written by appendOne.
func (s *airportRoom) sendAirports(c echo.Context, q *params, appendOne func([]byte, *places.Hit) []byte,
	search func(context.Context, Airports, []places.Hit) ([]places.Hit, string, error)) error {
	form := q.format(c.Request())
	if q.err != nil {
		return q.err
	}
	return sendHits(s.kit, c, s.Airports, form, search, func(_ context.Context, _ Airports, dst []byte, hits []places.Hit, next string) ([]byte, error) {
		return appendAirports(dst, form, hits, next, appendOne), nil
	})
}

// appendAirports writes {"airports":[…],"next":"…"} or a FeatureCollection.
func appendAirports(dst []byte, f form, hits []places.Hit, next string, appendOne func([]byte, *places.Hit) []byte) []byte {
	if f == formGeoJSON {
		dst = append(dst, collectionHead...)
	} else {
		dst = append(dst, `{"airports":[`...)
	}
	for i := range hits {
		h := &hits[i]
		if i > 0 {
			dst = append(dst, ',')
		}
		if f != formGeoJSON {
			dst = appendOne(dst, h)
			continue
		}
		dst = appendFeatureHead(dst, h.ID, h.Lon, h.Lat)
		dst = append(appendOne(dst, h), '}')
	}
	return appendNext(append(dst, ']'), next)
}

// getAirportOffset answers GET /airports/{code}/offset?at=: what clocks at an
// airport show at an instant.
func (s *airportRoom) getAirportOffset(c echo.Context) error {
	code, err := pathCode(c)
	if err != nil {
		return err
	}
	v := pinZoned(s.Places, s.Airports, s.TimeZones)
	defer v.release()
	return sendOffset(s.kit, c, &v, v.airports.id, func(ctx context.Context, dst []byte) ([]byte, string, error) {
		finder, err := v.airports.get()
		if err != nil {
			return dst, "", err
		}
		record := airportRecords.Get().(*airports.Record)
		defer airportRecords.Put(record)
		if err := finder.Lookup(ctx, code, record); err != nil {
			return dst, "", badCode(err)
		}
		dst = jsontext.AppendString(append(dst, `{"code":`...), strings.ToUpper(code))
		var doc struct {
			Source string `json:"timezone_source"`
		}
		if err := json.Unmarshal(record.JSON, &doc); err != nil {
			return dst, "", fmt.Errorf("%w: the record of an airport cannot be read: ingest the airports again", cellstore.ErrCorrupt)
		}
		if doc.Source != "" {
			dst = jsontext.AppendString(append(dst, `,"timezone_source":`...), doc.Source)
		}
		return dst, record.TimeZone, nil
	})
}
