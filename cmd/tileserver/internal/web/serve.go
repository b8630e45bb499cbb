package web

import (
	"cmp"
	"errors"
	"io"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"quadrille/cmd/tileserver/internal/endpoint"
)

// Handler makes the router of endpoints. It keeps references to them.
func (s *Kit) Handler(all []endpoint.Endpoint) http.Handler {
	e := echo.New()
	e.HideBanner, e.HidePort = true, true
	e.Logger.SetOutput(io.Discard) // everything worth saying goes to s.log
	// By default the framework trusts X-Forwarded-For of any client. Handlers use ClientAddr; this
	// line makes RealIP return the same address.
	e.IPExtractor = func(r *http.Request) string { return s.ClientAddr(r).String() }
	allow := allowed(all)
	e.HTTPErrorHandler = func(err error, c echo.Context) {
		if list, ok := allow[c.Path()]; ok && errors.Is(err, echo.ErrMethodNotAllowed) {
			c.Response().Header()["Allow"] = []string{list}
		}
		s.answerUnmatched(err, c)
		leaveRead(c)
	}
	for i := range all {
		if all[i].Handle == nil {
			continue
		}
		all[i].Prepare()
		for _, route := range all[i].Routes() {
			s.add(e, &all[i], route)
		}
	}
	s.addAllowed(e, allow)
	if s.basePath != "" {
		return &beneath{s: &s.proxies, e: e, base: s.basePath}
	}
	return e
}

// answerUnmatched answers a request that has no route.
func (s *Kit) answerUnmatched(err error, c echo.Context) {
	if s.tracer != nil {
		if span := s.beginSpan(c, ""); span != nil {
			defer endSpan(c, span)
		}
	}
	s.allowOrigin(c)
	s.Fail(err, c)
	if s.metrics != nil {
		s.metrics.unmatched.one(c.Response().Status, c.Response().Size)
	}
	s.logAccess(c, time.Time{})
}

// watch adds tracing and metrics to the handler of a route, if they are configured.
func (s *Kit) watch(r *endpoint.Endpoint, route string, h echo.HandlerFunc) echo.HandlerFunc {
	if s.tracer != nil {
		h = s.traced(routeLabel(route), h)
	}
	if s.metrics != nil {
		h = s.metrics.route(cmp.Or(r.Label, routeLabel(route))).counted(h)
	}
	return h
}

// beneath serves everything below a path, for a server that shares its host with others. Handlers
// get requests without the path, so cached answers and ETags do not depend on it.
type beneath struct {
	s    *proxies
	e    *echo.Echo
	base string // "/maps"
}

func (b *beneath) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	rest, ok := cutBase(r.URL.Path, b.base)
	raw, rawOK := rest, true
	if r.URL.RawPath != "" {
		raw, rawOK = cutBase(r.URL.RawPath, b.base)
	}
	switch {
	case !ok || !rawOK:
		c := b.e.AcquireContext()
		defer b.e.ReleaseContext(c)
		c.Reset(r, w)
		b.e.HTTPErrorHandler(echo.ErrNotFound, c)
	case rest == "":
		target := b.s.RootPath(r) + "/"
		if r.URL.RawQuery != "" {
			target += "?" + r.URL.RawQuery
		}
		w.Header()["Location"] = []string{target}
		w.WriteHeader(http.StatusPermanentRedirect)
	default:
		// Only the request uses the address, so no copy of it is needed.
		if r.URL.Path = rest; r.URL.RawPath != "" {
			r.URL.RawPath = raw
		}
		b.e.ServeHTTP(w, r)
	}
}

// cutBase removes the base from a path. The rest is empty or begins with a slash.
func cutBase(path, base string) (string, bool) {
	rest, ok := strings.CutPrefix(path, base)
	return rest, ok && (rest == "" || rest[0] == '/')
}

// traced makes a span of each request to a route that is traced. Its name and attributes come from
// the table of routes and from published data sets. Only the method, address and path come from the
// client, with bounded lengths.
func (s *Kit) traced(route string, h echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		span := s.beginSpan(c, route)
		if span == nil {
			return h(c)
		}
		// A handler that closes the connection panics. Its span must also end.
		defer endSpan(c, span)
		return h(c)
	}
}

// add makes the routes of a declaration.
func (s *Kit) add(e *echo.Echo, r *endpoint.Endpoint, route string) {
	h := s.asking(r)
	switch r.Cost {
	case endpoint.Light, endpoint.Mixed:
		h = s.guard(r, &s.running, h)
	case endpoint.Heavy:
		h = s.guard(r, &s.running, s.guard(r, &s.HeavyPlaces, h))
	case endpoint.Streamed:
		h = s.guard(r, &s.running, s.guard(r, &s.streams, h))
	case endpoint.LongLived:
		h = s.guard(r, &s.followers, h)
	case endpoint.Vital:
	default:
		panic("web: the endpoint " + r.Path + " has no class of cost")
	}
	if !r.Body {
		h = bodiless(h)
	}
	if s.Guard != nil {
		h = s.admitted(r, h)
	}
	h = lingering(s.watch(r, route, s.answering(h)))
	if r.Cost == endpoint.Heavy {
		for _, method := range r.OfferedMethods() {
			s.heavy[[2]string{method, route}] = true
		}
	}
	switch {
	case r.Any:
		e.Any(route, h)
		e.RouteNotFound(route, h)
	default:
		for _, method := range r.OfferedMethods() {
			e.Add(method, route, h)
		}
	}
}

// addAllowed makes routes that follow from the methods of other routes: the answers to OPTIONS, and
// refusals of requests that would otherwise match another route, for example /ip/batch as an IP
// address.
func (s *Kit) addAllowed(e *echo.Echo, allow map[string]string) {
	for path, list := range allow {
		s.add(e, &endpoint.Endpoint{Methods: []string{http.MethodOptions}, Handle: s.preflight(list),
			Cost: endpoint.Vital, IgnoresOthers: true, Keys: endpoint.KeysIgnored, Label: "preflight"}, path)
		for _, m := range methods[:2] {
			if !slices.Contains(strings.Split(list, ", "), m) {
				e.Add(m, path, func(echo.Context) error { return echo.ErrMethodNotAllowed })
			}
		}
	}
}

// answering converts errors and panics of a handler to problem responses, and writes the access
// log.
func (s *Kit) answering(h echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		s.allowOrigin(c)
		var start time.Time
		if s.access != nil {
			start = time.Now()
			s.requestID(c) // while the header can still have it
		}
		s.run(h, c)
		if s.access != nil {
			s.logAccess(c, start)
		}
		return nil
	}
}

func (s *Kit) run(h echo.HandlerFunc, c echo.Context) {
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		if err, ok := p.(error); ok && errors.Is(err, http.ErrAbortHandler) {
			panic(p)
		}
		if s.metrics != nil {
			s.metrics.panics.Add(1)
		}
		s.log.Error("handler panicked", "request_id", s.requestID(c), "path", c.Request().URL.Path, "panic", p, "stack", string(debug.Stack()))
		if c.Response().Committed {
			// A part of the answer has already been sent. Only closing the connection can show that
			// the answer is not complete.
			panic(http.ErrAbortHandler)
		}
		s.Fail(errPanic, c)
	}()
	if err := h(c); err != nil {
		s.Fail(err, c)
	}
}
