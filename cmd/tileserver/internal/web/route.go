package web

import (
	"net/http"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"
)

// Parameters that many endpoints take, for Takes.
var (
	Position = []string{"lat", "lon"}
	Paging   = []string{"limit", "cursor", "format"}
)

// Route declares an endpoint. Whatever the server does for a request because of
// the endpoint it is for is said here, never found out from its path.
type Route struct {
	Path   string // the router's pattern
	Handle echo.HandlerFunc
	Cost   Cost
	Query  Query
	// Methods are GET and HEAD where none are listed. Any means every method there
	// is, known to the router or not.
	Methods []string
	Any     bool
	// Keys says who may ask.
	Keys KeyRule
	// Refuse answers a request that is turned away before it is handled, in the
	// words of the service that the endpoint stands in for; nil is ours.
	Refuse func(c echo.Context, err error)
	// Scoped says that GET checks the scope of the key, as other methods may anyway.
	Scoped bool
	// Body says that the endpoint reads a body, or bears one, and bounds it itself.
	Body bool
	// Label names the route in metrics; "" is by its path.
	Label string
}

// Cost is the class of an endpoint by what its dearest question takes, which
// TestCosts of package httpapi finds out. The places of --max-concurrent are given out by it.
type Cost uint8

const (
	// Light requests take at most 20 ms of a processor, whatever they ask.
	Light Cost = iota + 1
	// Heavy requests may take more. They share a quarter of the places, so that
	// tiles and lookups go on when heavy requests are at their limit.
	Heavy
	// Mixed requests are light but for some, and the handler takes a heavy place
	// for those by BeginHeavy, once it knows.
	Mixed
	// Streamed requests run for as long as their client sends lines.
	Streamed
	// Followed requests are answered for as long as their client listens, and hardly
	// work. They have places of their own, of which a client address gets a few.
	Followed
	// Vital requests take no place: they are needed most when the service is at
	// its limit.
	Vital
)

// add makes the routes of a declaration.
func (s *Kit) add(e *echo.Echo, r *Route) {
	h := r.Query.checked(r.Handle)
	switch r.Cost {
	case Light, Mixed:
		h = s.guard(r, &s.running, h)
	case Heavy:
		h = s.guard(r, &s.running, s.guardHeavy(r, h))
	case Streamed:
		h = s.guard(r, &s.running, s.guard(r, &s.streams, h))
	case Followed:
		h = s.guard(r, &s.followers, h)
	case Vital:
	default:
		panic("web: the route " + r.Path + " has no class of cost")
	}
	if !r.Body {
		h = bodiless(h)
	}
	h = s.watch(r, s.answering(h))
	if r.Cost == Heavy {
		for _, method := range r.offered() {
			s.heavy[[2]string{method, r.Path}] = true
		}
	}
	switch {
	case r.Any:
		e.Any(r.Path, h)
		e.RouteNotFound(r.Path, h)
	default:
		for _, method := range r.offered() {
			e.Add(method, r.Path, h)
		}
	}
}

// offered are the methods of a route that is not for Any.
func (r *Route) offered() []string {
	if r.Methods == nil {
		return methods[:2]
	}
	return r.Methods
}

// turnAway answers a request that is not handled.
func (r *Route) turnAway(c echo.Context, err error) error {
	if r.Refuse == nil {
		return err
	}
	r.Refuse(c, err)
	return nil
}

// bodiless refuses large bodies of requests whose body nobody reads.
func bodiless(h echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		LeaveBody(c)
		if c.Request().ContentLength > maxRequestBody {
			return errBodyTooLarge
		}
		return h(c)
	}
}

// LeaveBody answers without waiting for a body that nobody reads: proxies announce those of
// the requests they ask about, and do not send them. What would follow on the connection
// could be the body or the next request, so it ends with the answer.
func LeaveBody(c echo.Context) {
	if r := c.Request(); r.ContentLength != 0 && r.ProtoMajor == 1 {
		c.Response().Header()["Connection"] = []string{"close"}
	}
}

// methods are those that routes are for, in the order in which headers tell them.
var methods = []string{http.MethodGet, http.MethodHead, http.MethodPut, http.MethodPost, http.MethodPatch, http.MethodDelete}

// allowed returns the methods of each path, as the header Allow has them.
func allowed(routes []Route) map[string]string {
	offered := make(map[string][]string)
	for _, r := range routes {
		if !r.Any {
			offered[r.Path] = append(offered[r.Path], r.offered()...)
		}
	}
	allow := make(map[string]string, len(offered))
	for path, list := range offered {
		for _, m := range methods {
			if slices.Contains(list, m) {
				allow[path] += m + ", "
			}
		}
		allow[path] += http.MethodOptions
	}
	return allow
}

// addAllowed makes the routes that follow from what the others allow: the answers to
// OPTIONS, and refusals of what would otherwise be taken for a path of another route,
// such as /ip/batch for an address.
func (s *Kit) addAllowed(e *echo.Echo, allow map[string]string) {
	for path, list := range allow {
		s.add(e, &Route{Path: path, Methods: []string{http.MethodOptions}, Handle: s.preflight(list),
			Cost: Vital, Query: Anything, Keys: KeysUnasked, Label: "preflight"})
		for _, m := range methods[:2] {
			if !slices.Contains(strings.Split(list, ", "), m) {
				e.Add(m, path, func(echo.Context) error { return echo.ErrMethodNotAllowed })
			}
		}
	}
}
