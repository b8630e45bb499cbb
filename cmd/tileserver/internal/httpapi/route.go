package httpapi

import (
	"github.com/labstack/echo/v4"
)

// Parameters that many endpoints take, for takes.
var (
	position = []string{"lat", "lon"}
	paging   = []string{"limit", "cursor", "format"}
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
func (s *kit) add(e *echo.Echo, r *route) {
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
func (s *kit) guard(r *route, h echo.HandlerFunc) echo.HandlerFunc {
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
func (s *kit) guardHeavy(r *route, h echo.HandlerFunc) echo.HandlerFunc {
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
func (s *kit) beginHeavy() bool {
	if s.heavy.Add(1) > max(s.maxRunning/heavyShare, 1) {
		s.heavy.Add(-1)
		return false
	}
	return true
}

// streamShare is the part of all places that streamed requests may take: they run
// longer than others.
const streamShare = 8

// guardStreamed does the same for streamed requests.
func (s *kit) guardStreamed(h echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		defer s.streams.Add(-1)
		if s.streams.Add(1) > max(s.maxRunning/streamShare, 1) {
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

// preflightLabel is the name of answers to OPTIONS, of every path.
const preflightLabel = "preflight"

// refuseMethod tells the methods there are.
func refuseMethod(allow string) echo.HandlerFunc {
	return func(c echo.Context) error {
		c.Response().Header()["Allow"] = []string{allow}
		return errMethod
	}
}
