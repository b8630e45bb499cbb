package httpapi

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/labstack/echo/v4"

	"quadrille/places"
)

// Limits of nearby answers. A radius of half the Earth's circumference holds
// every place.
const (
	maxRadius = 20_037_508 // metres
	maxCursor = 512        // bytes
)

// nearbyHits is reused memory for the hits of one answer.
var nearbyHits = sync.Pool{New: func() any { return new([]places.Hit) }}

// getNearby answers GET /places/nearby: the k nearest places that pass the
// filters, ordered by distance and then by id, as JSON or GeoJSON.
func (s *server) getNearby(c echo.Context) error {
	r := c.Request()
	q := queryParams(r)
	query := places.NearbyQuery{}
	query.Lat, query.Lon = q.position()
	query.RadiusM = q.optional("radius", "metres", 1, maxRadius, 0)
	query.Limit = int(q.integer("limit", 1, places.MaxLimit, places.DefaultLimit))
	query.Class = q.code("class", "one letter of GeoNames' feature classes, such as P", 1, 1, false)
	query.Code = q.code("code", "a GeoNames feature code, such as PPLC", 1, 10, true)
	query.Country = q.code("country", "the two letters of an ISO 3166-1 country code, such as FR", 2, 2, false)
	query.MinPopulation = q.integer("min_population", 0, 1<<53, 0)
	query.Cursor = q.text("cursor", maxCursor)
	if query.Cursor == "" && q.has("cursor") {
		// A client that lost its cursor must not read page one for ever.
		q.refuse("cursor", "Leave cursor out for the first page; for the next one give it the answer's next.")
	}
	format := q.oneOf("format", "json", "geojson")
	if q.err != nil {
		return q.err
	}
	a := answer{form: formJSON, cache: s.cacheControl, byAccept: true, coding: accepted(r)}
	if format == "geojson" || format == "" && prefersGeoJSON(r) {
		a.form = formGeoJSON
	}
	p := pin(s.places)
	defer p.release()
	finder, err := p.get()
	if err != nil {
		return err
	}
	etag := s.requestTag(r, p.id, a)
	a.tag = &etag
	if matches(r, a.tag, false) {
		return s.notModified(c, a)
	}

	ctx, cancel := context.WithTimeout(r.Context(), s.timeout)
	defer cancel()
	memory := nearbyHits.Get().(*[]places.Hit)
	defer nearbyHits.Put(memory)
	hits, next, err := finder.Nearby(ctx, query, (*memory)[:0])
	if err != nil {
		return err
	}
	*memory = hits
	out := getScratch()
	defer out.release()
	if a.form == formGeoJSON {
		out.body = appendHitFeatures(out.body, hits, next)
	} else {
		out.body = appendHits(out.body, hits, next)
	}
	return s.send(c, a, out)
}

// appendHits writes {"places":[…],"next":"…"}.
func appendHits(dst []byte, hits []places.Hit, next string) []byte {
	dst = append(dst, `{"places":[`...)
	for i := range hits {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendHit(dst, &hits[i])
	}
	return appendNext(append(dst, ']'), next)
}

// appendHitFeatures writes a FeatureCollection of points; next is a foreign
// member of it.
func appendHitFeatures(dst []byte, hits []places.Hit, next string) []byte {
	dst = append(dst, collectionHead...)
	for i := range hits {
		h := &hits[i]
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, `{"type":"Feature","id":`...)
		dst = strconv.AppendUint(dst, uint64(h.ID), 10)
		dst = append(dst, `,"geometry":{"type":"Point","coordinates":[`...)
		dst = strconv.AppendFloat(dst, h.Lon, 'f', -1, 64)
		dst = append(dst, ',')
		dst = strconv.AppendFloat(dst, h.Lat, 'f', -1, 64)
		dst = append(dst, `]},"properties":`...)
		dst = appendHit(dst, h)
		dst = append(dst, '}')
	}
	return appendNext(append(dst, ']'), next)
}

// appendHit writes a place with its distance in metres, to the decimetre.
func appendHit(dst []byte, h *places.Hit) []byte {
	dst = append(append(dst, '{'), h.JSON...)
	dst = append(dst, `,"distance_m":`...)
	dst = strconv.AppendFloat(dst, h.DistanceM, 'f', 1, 64)
	return append(dst, '}')
}

// appendNext closes an answer, with the cursor of the next page if there is
// one.
func appendNext(dst []byte, next string) []byte {
	if next != "" {
		dst = append(dst, `,"next":`...)
		dst = appendString(dst, next)
	}
	return append(dst, '}')
}

// getPlace answers GET /places/{id}: the record of a GeoNames id.
func (s *server) getPlace(c echo.Context) error {
	r := c.Request()
	if runsOn(c) {
		return errNoRoute
	}
	values, err := pathParams(c)
	if err != nil {
		return err
	}
	id, err := strconv.ParseUint(values[0], 10, 32)
	if err != nil {
		return refuse(errParameter, "id", "Give a GeoNames id, a whole number such as 2988507.")
	}
	p := pin(s.places)
	defer p.release()
	finder, err := p.get()
	if err != nil {
		return err
	}
	a := answer{form: formJSON, cache: s.cacheControl, coding: accepted(r)}
	etag := s.requestTag(r, p.id, a)
	a.tag = &etag
	if matches(r, a.tag, false) {
		return s.notModified(c, a)
	}
	ctx, cancel := context.WithTimeout(r.Context(), s.timeout)
	defer cancel()
	record, err := finder.Place(ctx, uint32(id))
	if err != nil {
		return err
	}
	out := getScratch()
	defer out.release()
	out.body = append(out.body, record...)
	return s.send(c, a, out)
}

// prefersGeoJSON reports whether the Accept header gives GeoJSON more weight
// than plain JSON. Wildcards mean neither: who wants GeoJSON says so.
func prefersGeoJSON(r *http.Request) bool {
	var geo, plain float64
	for _, v := range r.Header["Accept"] {
		for len(v) > 0 {
			var item string
			item, v, _ = strings.Cut(v, ",")
			name, params, _ := strings.Cut(item, ";")
			name = strings.TrimSpace(name)
			switch {
			case strings.EqualFold(name, "application/geo+json"):
				geo = max(geo, weight(params))
			case strings.EqualFold(name, "application/json"):
				plain = max(plain, weight(params))
			}
		}
	}
	return geo > 0 && geo >= plain
}
