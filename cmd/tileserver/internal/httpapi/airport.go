package httpapi

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"quadrille/internal/jsontext"
	"quadrille/places"
	"quadrille/places/airports"
	"quadrille/places/zones"
	"quadrille/quadkey"
	"quadrille/tiles/mvt"
)

// airportRecords is reused memory for the record of one answer.
var airportRecords = sync.Pool{New: func() any { return new(airports.Record) }}

// getAirport answers GET /airports/{code}: the record of the airport with an
// IATA, ICAO or local code.
//
// With local=true it says what clocks there show now, and may not be kept.
// /airports/{code}/offset?at= says it for any instant.
func (s *server) getAirport(c echo.Context) error {
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
	v := s.pinZoned()
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

// airports reads the filters that searches for airports have in common.
func (p *params) airports() (f airports.Filter) {
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
func (s *server) getAirportsNearby(c echo.Context) error {
	q := queryParams(c.Request())
	query := airports.NearbyQuery{}
	query.Lat, query.Lon = q.position()
	query.RadiusM = q.optional("radius", "metres", 1, maxRadius, 0)
	query.Limit = int(q.integer("limit", 1, places.MaxLimit, places.DefaultLimit))
	query.Filter = q.airports()
	query.Cursor = q.cursor()
	return s.sendAirports(c, &q, appendHit, func(ctx context.Context, f Airports, dst []places.Hit) ([]places.Hit, string, error) {
		return f.Nearby(ctx, query, dst)
	})
}

// getAirportsWithin answers GET /airports/within?bbox=: a page of the airports
// in a box that pass the filters, the most important first, as JSON or GeoJSON.
func (s *server) getAirportsWithin(c echo.Context) error {
	q := queryParams(c.Request())
	query := airports.WithinQuery{}
	query.Box = q.box("bbox")
	query.Limit = int(q.integer("limit", 1, places.MaxLimit, places.DefaultLimit))
	query.Filter = q.airports()
	query.Cursor = q.cursor()
	return s.sendAirports(c, &q, appendMembers, func(ctx context.Context, f Airports, dst []places.Hit) ([]places.Hit, string, error) {
		return f.Within(ctx, query, dst)
	})
}

// sendAirports answers with a page of airports, each written by appendOne.
func (s *server) sendAirports(c echo.Context, q *params, appendOne func([]byte, *places.Hit) []byte,
	search func(context.Context, Airports, []places.Hit) ([]places.Hit, string, error)) error {
	form := q.listForm(c.Request())
	if q.err != nil {
		return q.err
	}
	return sendHits(s, c, s.airports, form, search, func(_ context.Context, _ Airports, dst []byte, hits []places.Hit, next string) ([]byte, error) {
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

// appendMembers writes a hit that has no distance.
func appendMembers(dst []byte, h *places.Hit) []byte {
	return append(append(append(dst, '{'), h.JSON...), '}')
}

// getAirportOffset answers GET /airports/{code}/offset?at=: what clocks at an
// airport show at an instant.
func (s *server) getAirportOffset(c echo.Context) error {
	code, err := pathCode(c)
	if err != nil {
		return err
	}
	v := s.pinZoned()
	defer v.release()
	return s.sendOffset(c, &v, v.airports.id, func(ctx context.Context, dst []byte) ([]byte, string, error) {
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
		if record.TimeZoneSource != "" {
			dst = jsontext.AppendString(append(dst, `,"timezone_source":`...), record.TimeZoneSource)
		}
		return dst, record.TimeZone, nil
	})
}

// zoned is what a request for local time sees.
type zoned struct {
	places    pinned[Places]
	airports  pinned[Airports]
	timeZones pinned[TimeZones]
}

func (s *server) pinZoned() zoned {
	return zoned{pin(s.places), pin(s.airports), pin(s.timeZones)}
}

func (v *zoned) release() {
	v.places.release()
	v.airports.release()
	v.timeZones.release()
}

// offset reads what clocks in a zone show.
func (v *zoned) offset(ctx context.Context, zone string, at time.Time) (zones.Offset, error) {
	if zone == "" {
		return zones.Offset{}, errNoTimeZone
	}
	r, err := v.timeZones.get()
	if err != nil {
		return zones.Offset{}, err
	}
	return r.Offset(ctx, zone, at)
}

// airportFields describes the attributes of the airports layer, for TileJSON.
var airportFields = map[string]string{
	"id":        "Number",
	"name":      "String",
	"type":      "String",
	"iata":      "String",
	"icao":      "String",
	"scheduled": "Boolean",
	"rank":      "Number",
}

// encodedBool are the value messages of booleans in a vector tile: field 7, a
// varint.
var encodedBool = map[bool][]byte{false: {7 << 3, 0}, true: {7 << 3, 1}}

// appendAirportsLayer appends the vector layer of the airports in a tile.
func appendAirportsLayer(ctx context.Context, dst []byte, v *view, t quadkey.Tile) ([]byte, error) {
	finder, err := v.airports.get()
	if err != nil {
		return dst, err
	}
	l := placeLayers.Get().(*mvt.Layer)
	defer placeLayers.Put(l)
	l.Reset(airportsLayer)
	n := float64(uint64(1) << t.Z)
	err = finder.TileAirports(ctx, t, func(a airports.Shown) error {
		x, y := quadkey.Project(a.Lon, a.Lat)
		l.Begin(uint64(a.ID), mvt.Point)
		l.TagInt("id", int64(a.ID))
		l.TagString("name", a.Name)
		l.TagString("type", a.Type)
		if a.IATA != "" {
			l.TagString("iata", a.IATA)
		}
		if a.ICAO != "" {
			l.TagString("icao", a.ICAO)
		}
		l.TagValue("scheduled", encodedBool[a.Scheduled])
		l.TagInt("rank", int64(a.Rank()))
		l.Point(mvt.XY{X: unit(x*n - float64(t.X)), Y: unit(y*n - float64(t.Y))})
		l.End()
		return nil
	})
	if err != nil {
		return dst, err
	}
	return l.AppendTo(dst), nil
}
