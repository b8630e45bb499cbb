package httpapi

import (
	"net/http"

	"github.com/labstack/echo/v4"
)

// route declares an endpoint. Whatever the server does for a request because of
// the endpoint it is for is said here, never found out from its path.
type route struct {
	path   string // the router's pattern
	handle echo.HandlerFunc
	cost   cost
	query  query
	// methods are GET and HEAD where none are listed; any is every method there
	// is, known to the router or not.
	methods []string
	any     bool
	// keys says who may ask.
	keys keyRule
	// refuse answers a request that is turned away before it is handled, in the
	// words of the service that the endpoint stands in for; nil is ours.
	refuse func(c echo.Context, err error)
	// body says that the endpoint reads a body, or bears one, and bounds it itself.
	body bool
	// label names the route in metrics; "" is by its path.
	label string
}

// cost is the class of an endpoint by what its dearest question takes, which
// TestCosts finds out. The places of --max-concurrent are given out by it.
type cost uint8

const (
	// light requests take at most 20 ms of a processor, whatever they ask.
	light cost = iota + 1
	// heavy requests may take more. They share a quarter of the places, so that
	// tiles and lookups go on when heavy requests are at their limit.
	heavy
	// mixed requests are light but for some, and the handler takes a heavy place
	// for those by beginHeavy, once it knows.
	mixed
	// streamed requests run for as long as their client sends lines.
	streamed
	// vital requests take no place: they are needed most when the service is at
	// its limit.
	vital
)

// add makes the routes of a declaration.
func (s *server) add(e *echo.Echo, r *route) {
	h := r.query.checked(r.handle)
	switch r.cost {
	case light, mixed:
		h = s.guard(r, h)
	case heavy:
		h = s.guard(r, s.guardHeavy(r, h))
	case streamed:
		h = s.guard(r, s.guardStreamed(h))
	case vital:
	default:
		panic("httpapi: the route " + r.path + " has no class of cost")
	}
	if !r.body {
		h = bodiless(h)
	}
	h = s.watch(r, s.answering(h))
	switch {
	case r.any:
		e.Any(r.path, h)
		e.RouteNotFound(r.path, h)
	case r.methods == nil:
		e.GET(r.path, h)
		e.HEAD(r.path, h)
	default:
		for _, method := range r.methods {
			e.Add(method, r.path, h)
		}
	}
}

// turnAway answers a request that is not handled.
func (r *route) turnAway(c echo.Context, err error) error {
	if r.refuse == nil {
		return err
	}
	r.refuse(c, err)
	return nil
}

// guard bounds the number of requests that run at once.
func (s *server) guard(r *route, h echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if s.running.Add(1) > s.maxRunning {
			s.running.Add(-1)
			return r.turnAway(c, errBusy)
		}
		defer s.running.Add(-1)
		return h(c)
	}
}

// guardHeavy keeps requests that may take long from taking all places.
func (s *server) guardHeavy(r *route, h echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if !s.beginHeavy() {
			return r.turnAway(c, errBusy)
		}
		defer s.heavy.Add(-1)
		return h(c)
	}
}

// heavyShare is the part of all places that heavy requests may take.
const heavyShare = 4

// beginHeavy takes a place of a heavy request, if there is one. Whoever has it
// subtracts 1 from heavy in the end.
func (s *server) beginHeavy() bool {
	if s.heavy.Add(1) > max(s.maxRunning/heavyShare, 1) {
		s.heavy.Add(-1)
		return false
	}
	return true
}

// guardStreamed does the same for batches.
func (s *server) guardStreamed(h echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		defer s.batches.Add(-1)
		if s.batches.Add(1) > max(s.maxRunning/batchShare, 1) {
			return errBusy
		}
		return h(c)
	}
}

// bodiless refuses large bodies of requests whose body nobody reads.
func bodiless(h echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if c.Request().ContentLength > maxRequestBody {
			return errBodyTooLarge
		}
		return h(c)
	}
}

// routes is the table of endpoints.
func (s *server) routes() []route {
	at, place := []string{"lat", "lon"}, []string{"class", "code", "country", "min_population"}
	page := []string{"limit", "cursor", "format"}
	airport := []string{"type", "country", "scheduled", "closed"}
	list := []route{
		{path: "/tiles/:layers/:z/:x/:file", handle: s.getTile, cost: mixed},
		{path: "/tiles/:file", handle: s.getTileJSON, cost: light, query: takes("pinned")},
		{path: "/g/:generations/tiles/:layers/:z/:x/:file", handle: s.getPinnedTile, cost: mixed},
		{path: "/style.json", handle: s.getStyle, cost: light, query: takes("layers", "theme", "names")},
		{path: "/regions/at", handle: s.getRegionsAt, cost: light, query: takes(at, "types", "snap")},
		{path: "/regions/within", handle: s.getRegionsWithin, cost: heavy, query: takes("bbox", "types", "id", "limit", "cursor")},
		{path: "/regions/:type/:id", handle: s.getRegion, cost: mixed, query: takes("geometry")},
		{path: "/at", handle: s.getAt, cost: light, query: takes(at, "types", "lang", "at")},
		{path: "/places/nearby", handle: s.getNearby, cost: mixed, query: takes(at, "radius", "lang", place, page)},
		{path: "/places/within", handle: s.getPlacesWithin, cost: heavy, query: takes("bbox", "tile", "lang", place, page)},
		{path: "/places/search", handle: s.getSearch, cost: heavy, query: takes("q", "limit", "lang", place, "bbox", at, "format")},
		{path: "/places/:id", handle: s.getPlace, cost: light, query: takes("lang")},
		{path: "/places/:id/offset", handle: s.getPlaceOffset, cost: light, query: takes("at")},
		{path: "/airports/within", handle: s.getAirportsWithin, cost: heavy, query: takes("bbox", airport, page)},
		{path: "/airports/nearby", handle: s.getAirportsNearby, cost: light, query: takes(at, "radius", airport, page)},
		{path: "/airports/:code", handle: s.getAirport, cost: light, query: takes("local")},
		{path: "/airports/:code/offset", handle: s.getAirportOffset, cost: light, query: takes("at")},
		{path: "/stations/nearest", handle: s.getNearestStation, cost: light, query: takes(at, "format")},
		{path: "/stations/nearby", handle: s.getNearbyStations, cost: light, query: takes(at, "radius", "limit", "at", "country", "format")},
		{path: "/stations/within", handle: s.getStationsWithin, cost: heavy, query: takes("bbox", "at", "country", page)},
		{path: "/stations/:id", handle: s.getStation, cost: light},
		{path: "/stations/:id/tiles", handle: s.getStationTiles, cost: light},
		{path: "/stations/:id/observations", handle: s.getObservations, cost: light, query: takes("from", "to", "limit", "cursor")},
		{path: "/weather/:z/:x/:file", handle: s.getWeather, cost: light, query: takes("at")},
		{path: "/ip/me", handle: s.getOwnAddress, cost: light, query: takes("fields", "lang")},
		{path: "/ip/:addr", handle: s.getAddress, cost: light, query: takes("fields", "lang")},
		{path: batchPath, methods: []string{http.MethodPost}, handle: s.postBatch, cost: streamed, query: takes("fields", "lang"), body: true},
		// Otherwise it would be an address that cannot be read.
		{path: batchPath, handle: refuseMethod("POST, OPTIONS"), cost: vital, query: anything},
		{path: batchPath, methods: []string{http.MethodOptions}, handle: s.preflight("POST, OPTIONS"), cost: vital, query: anything, keys: keysUnasked, label: preflightLabel},
		// Proxies ask about requests of every method, with the query of the
		// request they ask about.
		{path: "/ip/headers", any: true, handle: s.getHeaders, cost: light, query: anything, keys: keysOfProxy, refuse: s.refuseHeaders, body: true},
		{path: "/ip/headers/*", any: true, handle: s.getHeaders, cost: light, query: anything, keys: keysOfProxy, refuse: s.refuseHeaders, body: true},
	}
	list = append(list, s.geonamesRoutes()...)
	list = append(list, s.geoIPRoutes()...)
	// Documents and the page are found by links, to which others add parameters.
	list = append(list, s.documentRoutes()...)
	list = append(list,
		route{path: "/*", handle: s.getPage, cost: light, query: anything, keys: keysUnasked},
		route{path: "/*", methods: []string{http.MethodOptions}, handle: s.preflight("GET, HEAD, OPTIONS"), cost: vital, query: anything, keys: keysUnasked, label: preflightLabel},
		// Probes and scrapers have parameters of their own.
		route{path: "/healthz", handle: s.getHealth, cost: vital, query: anything, keys: keysUnasked},
		route{path: "/readyz", handle: s.getReady, cost: vital, query: anything, keys: keysUnasked},
		route{path: "/status", handle: s.getStatus, cost: vital, query: anything, keys: keysUnasked},
	)
	if s.metricsHandler != nil {
		list = append(list, route{path: "/metrics", methods: []string{http.MethodGet}, handle: servePlain(s.metricsHandler), cost: vital, query: anything, keys: keysUnasked})
	}
	if s.guarding != nil && s.guarding.Keys != nil {
		list = append(list, route{path: "/usage", handle: s.getUsage, cost: light, keys: keysUnasked})
	}
	return list
}

// preflightLabel is the name of answers to OPTIONS, of every path.
const preflightLabel = "preflight"

// refuseMethod tells the methods there are.
func refuseMethod(allow string) echo.HandlerFunc {
	return func(c echo.Context) error {
		c.Response().Header()["Allow"] = []string{allow}
		return errMethod
	}
}
