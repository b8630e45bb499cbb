package httpapi

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/labstack/echo/v4"

	"quadrille/cellstore/dataset"
	"quadrille/internal/jsontext"
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
// filters, ordered by distance and then by id, as JSON or GeoJSON. With lang
// they are called as in that language, where such a name is known.
func (s *server) getNearby(c echo.Context) error {
	r := c.Request()
	q := queryParams(r)
	query := places.NearbyQuery{}
	query.Lat, query.Lon = q.position()
	query.RadiusM = q.optional("radius", "metres", 1, maxRadius, 0)
	query.Limit = int(q.integer("limit", 1, places.MaxLimit, places.DefaultLimit))
	f := q.places()
	query.Classes, query.Codes, query.Countries, query.MinPopulation = f.classes, f.codes, f.countries, f.minPopulation
	query.Cursor = q.cursor()
	lang := q.language("lang")
	form := q.listForm(r)
	if q.err != nil {
		return q.err
	}
	if f.dear(query.Limit) {
		if !s.beginHeavy() {
			return errBusy
		}
		defer s.heavy.Add(-1)
	}
	return sendHits(s, c, s.places, form, func(ctx context.Context, f Places, dst []places.Hit) ([]places.Hit, string, error) {
		return f.Nearby(ctx, query, dst)
	}, func(ctx context.Context, f Places, dst []byte, hits []places.Hit, next string) ([]byte, error) {
		if err := renameHits(ctx, f, hits, lang); err != nil {
			return dst, err
		}
		if form == formGeoJSON {
			return appendHitFeatures(dst, hits, next), nil
		}
		return appendHits(dst, hits, next), nil
	})
}

// renameHits gives places the names they have in a language; without one, or
// without such a name, they keep their own.
func renameHits(ctx context.Context, finder Places, hits []places.Hit, lang string) error {
	if lang == "" {
		return nil
	}
	for i := range hits {
		h := &hits[i]
		name, found, err := finder.NameIn(ctx, h.ID, lang)
		if err != nil {
			return inside(err)
		}
		if found {
			h.JSON = places.AppendNamed(nil, h.JSON, name)
		}
	}
	return nil
}

// sendHits answers with a page of places or airports of a data set: ask finds
// them and write appends them to the body, both in one generation.
func sendHits[F any](s *server, c echo.Context, live *dataset.Live[F], form form,
	ask func(ctx context.Context, f F, dst []places.Hit) (hits []places.Hit, next string, err error),
	write func(ctx context.Context, f F, dst []byte, hits []places.Hit, next string) ([]byte, error)) error {
	p := pin(live)
	defer p.release()
	finder, err := p.get()
	if err != nil {
		return err
	}
	return s.reply(c, answer{form: form, byAccept: true}, []uint64{p.id}, func(ctx context.Context, out *scratch) error {
		memory := nearbyHits.Get().(*[]places.Hit)
		defer nearbyHits.Put(memory)
		hits, next, err := ask(ctx, finder, (*memory)[:0])
		if err != nil {
			return err
		}
		*memory = hits
		out.body, err = write(ctx, finder, out.body, hits, next)
		return err
	})
}

// placesHead begins a list of places.
const placesHead = `{"places":[`

// appendHits writes {"places":[…],"next":"…"}.
func appendHits(dst []byte, hits []places.Hit, next string) []byte {
	dst = append(dst, placesHead...)
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
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendFeatureHead(dst, hits[i].ID, hits[i].Lon, hits[i].Lat)
		dst = append(appendHit(dst, &hits[i]), '}')
	}
	return appendNext(append(dst, ']'), next)
}

// appendFeatureHead writes a point feature up to its properties.
func appendFeatureHead(dst []byte, id uint32, lon, lat float64) []byte {
	dst = append(dst, `{"type":"Feature","id":`...)
	dst = strconv.AppendUint(dst, uint64(id), 10)
	return append(appendPoint(append(dst, ','), lon, lat), `,"properties":`...)
}

// appendPoint writes the geometry member of a point.
func appendPoint(dst []byte, lon, lat float64) []byte {
	dst = append(dst, `"geometry":{"type":"Point","coordinates":[`...)
	dst = strconv.AppendFloat(dst, lon, 'f', -1, 64)
	dst = append(dst, ',')
	dst = strconv.AppendFloat(dst, lat, 'f', -1, 64)
	return append(dst, `]}`...)
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
		dst = jsontext.AppendString(dst, next)
	}
	return append(dst, '}')
}

// getPlace answers GET /places/{id}: the record of a GeoNames id, with lang
// called as in that language.
func (s *server) getPlace(c echo.Context) error {
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
	q := queryParams(c.Request())
	lang := q.language("lang")
	if q.err != nil {
		return q.err
	}
	p := pin(s.places)
	defer p.release()
	finder, err := p.get()
	if err != nil {
		return err
	}
	return s.reply(c, answer{form: formJSON}, []uint64{p.id}, func(ctx context.Context, out *scratch) error {
		record, err := finder.Place(ctx, uint32(id))
		name := ""
		if err == nil && lang != "" {
			if name, _, err = finder.NameIn(ctx, uint32(id), lang); err != nil {
				err = inside(err)
			}
		}
		out.body = places.AppendNamed(out.body, record, name)
		return err
	})
}

// listForm reads format: a list of places is JSON or, if that or the Accept
// header says so, GeoJSON.
func (p *params) listForm(r *http.Request) form {
	format := p.oneOf("format", "json", "geojson")
	if format == "geojson" || format == "" && prefersGeoJSON(r) {
		return formGeoJSON
	}
	return formJSON
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
