package web

import (
	"net/http"
	"slices"
	"sync"

	"github.com/labstack/echo/v4"

	"quadrille/ask"
	"quadrille/cmd/tileserver/internal/endpoint"
)

// asking passes the declared parameters to the handler of an endpoint, and refuses queries with
// other parameters.
func (s *Kit) asking(of *endpoint.Endpoint) echo.HandlerFunc {
	query := of.ParamNames()
	take := func() ask.View { return s.Views.Take(s.Clock()) }
	if of.Cost == endpoint.LongLived {
		take = nil
	}
	return func(c echo.Context) error {
		raw := c.Request().URL.RawQuery
		if raw != "" && !query.AnyName {
			if err := query.Check(raw); err != nil {
				return err
			}
		}
		q := params.Get().(*endpoint.Params)
		defer params.Put(q)
		*q = endpoint.ParamsOf(of, raw)
		if s.OnParamRead != nil {
			q.OnRead = func(name string) { s.OnParamRead(of, name) }
		}
		q.Sees(take)
		defer q.Release()
		return of.Handle(c, q)
	}
}

// params has memory that is reused, because handlers do not keep their parameters.
var params = sync.Pool{New: func() any { return new(endpoint.Params) }}

// turnAway answers a request that is not handled.
func turnAway(r *endpoint.Endpoint, c echo.Context, err error) error {
	if r.Refuse == nil {
		return err
	}
	r.Refuse(c, err)
	return nil
}

// bodiless refuses large bodies of requests whose endpoint does not read a body.
func bodiless(h echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		LeaveBody(c)
		if c.Request().ContentLength > maxRequestBody {
			return ErrBodyTooLarge
		}
		return h(c)
	}
}

// LeaveBody lets the server answer without waiting for an unread body, because proxies announce the
// body of the original request but do not send it. The next bytes on the connection could be the
// body or the next request, so the connection is closed after the answer.
func LeaveBody(c echo.Context) {
	if r := c.Request(); r.ContentLength != 0 && r.ProtoMajor == 1 {
		c.Response().Header()["Connection"] = []string{"close"}
	}
}

// methods are the methods that endpoints can have, in the order in which headers list them.
var methods = []string{http.MethodGet, http.MethodHead, http.MethodPut, http.MethodPost, http.MethodPatch, http.MethodDelete}

// allowed returns the methods of each path, in the form of the header Allow.
func allowed(all []endpoint.Endpoint) map[string]string {
	offered := make(map[string][]string)
	for i := range all {
		if e := &all[i]; !e.Any && e.Handle != nil {
			for _, route := range e.Routes() {
				offered[route] = append(offered[route], e.OfferedMethods()...)
			}
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

// maxRequestBody is the greatest size in bytes of a body that a request may announce to an endpoint
// that reads no body. Batches have separate limits.
const maxRequestBody = 64 << 10
