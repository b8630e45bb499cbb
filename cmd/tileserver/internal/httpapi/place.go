package httpapi

import (
	"context"
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"

	"quadrille/cellstore/dataset"
	"quadrille/internal/jsontext"
	"quadrille/places"
	"quadrille/places/search"
)

// placeConfig says what the room of places serves. CacheBytes bounds the cache of
// answers to searches; 0 keeps none.
type placeConfig struct {
	Places     *dataset.Live[Places]
	Airports   *dataset.Live[Airports]
	TimeZones  *dataset.Live[TimeZones]
	CacheBytes int64
}

// placeRoom answers which places are near, within or called, and with one place.
type placeRoom struct {
	*kit
	placeConfig
	searches *responseCache[searchKey]
}

func newPlaceRoom(k *kit, cfg placeConfig) *placeRoom {
	s := &placeRoom{kit: k, placeConfig: cfg, searches: newResponseCache[searchKey](cfg.CacheBytes)}
	watchCache(k, "searches", s.searches)
	return s
}

func (s *placeRoom) routes() []route {
	filter := []string{"class", "code", "country", "min_population"}
	return []route{
		{path: "/places/nearby", handle: s.getNearby, cost: mixed, query: takes(position, "radius", "lang", filter, paging)},
		{path: "/places/within", handle: s.getPlacesWithin, cost: heavy, query: takes("bbox", "tile", "lang", filter, paging)},
		{path: "/places/search", handle: s.getSearch, cost: heavy, query: takes("q", "limit", "lang", filter, "bbox", position, "format")},
		{path: "/places/:id", handle: s.getPlace, cost: light, query: takes("lang")},
		{path: "/places/:id/offset", handle: s.getPlaceOffset, cost: light, query: takes("at")},
	}
}

var placeKinds = []kind{
	{err: places.ErrNotFound, status: http.StatusNotFound, typ: "place-not-found", title: "There is no such place",
		detail: "Check the GeoNames id; this server may hold only part of GeoNames."},
	{err: places.ErrQuery, status: http.StatusBadRequest, typ: "bad-parameter", title: "A parameter is not valid",
		detail: "Correct the parameters of the search and send the request again."},
	{err: search.ErrQuery, status: http.StatusBadRequest, typ: "bad-parameter", title: "A parameter is not valid",
		detail: "Correct the parameters of the search and send the request again."},
	{err: places.ErrCursor, status: http.StatusBadRequest, typ: "bad-parameter", title: "A parameter is not valid",
		detail: "Send the cursor exactly as the page before gave it in next, with the same parameters, or none to begin again."},
	{err: places.ErrCursorExpired, status: http.StatusGone, typ: "cursor-expired", title: "The cursor has expired",
		detail: "The places have been published anew since the page before. Begin again without a cursor."},
	{err: places.ErrTooMuchWork, status: http.StatusUnprocessableEntity, typ: "search-too-wide", title: "The search is too wide",
		detail: "Too few places pass the filters to find that many. Add a radius, lower the limit or drop a filter."},
}

// getNearby answers GET /places/nearby: the k nearest places that pass the
// filters, ordered by distance and then by id, as JSON or GeoJSON. With lang
// they are called as in that language, where such a name is known.
func (s *placeRoom) getNearby(c echo.Context) error {
	r := c.Request()
	q := queryParams(r)
	query := places.NearbyQuery{}
	query.Lat, query.Lon = q.position()
	query.RadiusM = q.optional("radius", "metres", 1, maxRadius, 0)
	query.Limit = int(q.integer("limit", 1, places.MaxLimit, places.DefaultLimit))
	f := readFilter(&q)
	query.Classes, query.Codes, query.Countries, query.MinPopulation = f.classes, f.codes, f.countries, f.minPopulation
	query.Cursor = q.cursor()
	lang := q.language("lang")
	form := q.format(r)
	if q.err != nil {
		return q.err
	}
	if f.dear(query.Limit) {
		if !s.beginHeavy() {
			return errBusy
		}
		defer s.heavy.Add(-1)
	}
	return sendHits(s.kit, c, s.Places, form, func(ctx context.Context, f Places, dst []places.Hit) ([]places.Hit, string, error) {
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
			h.JSON = appendRenamed(nil, h.JSON, name)
		}
	}
	return nil
}

// getPlace answers GET /places/{id}: the record of a GeoNames id, with lang
// called as in that language.
func (s *placeRoom) getPlace(c echo.Context) error {
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
	p := pin(s.Places)
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
		out.body = appendRenamed(out.body, record, name)
		return err
	})
}

// readFilter reads the filters that endpoints of places have in common.
func readFilter(p *params) (f placeFilter) {
	f.classes = p.codes("class", "one letter of GeoNames' feature classes, such as P", 1, 1, false)
	f.codes = p.codes("code", "a GeoNames feature code, such as PPLC", 1, 10, true)
	f.countries = p.codes("country", "the two letters of an ISO 3166-1 country code, such as FR", 2, 2, false)
	f.minPopulation = p.integer("min_population", 0, 1<<53, 0)
	return f
}

// getPlaceOffset answers GET /places/{id}/offset?at=: what clocks at a place
// show at an instant.
func (s *placeRoom) getPlaceOffset(c echo.Context) error {
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
	v := pinZoned(s.Places, s.Airports, s.TimeZones)
	defer v.release()
	return sendOffset(s.kit, c, &v, v.places.id, func(ctx context.Context, dst []byte) ([]byte, string, error) {
		finder, err := v.places.get()
		if err != nil {
			return dst, "", err
		}
		record, err := finder.Place(ctx, uint32(id))
		if err != nil {
			return dst, "", err
		}
		doc, err := readPlace(record)
		if err != nil {
			return dst, "", err
		}
		dst = strconv.AppendUint(append(dst, `{"id":`...), id, 10)
		if doc.TimeZone == "" {
			var source string
			if doc.TimeZone, source, err = v.zoneOf(ctx, &doc); err != nil {
				return dst, "", err
			}
			dst = jsontext.AppendString(append(dst, `,"timezone_source":`...), source)
		}
		return dst, doc.TimeZone, nil
	})
}
