package web

import (
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"

	"quadrille/cmd/tileserver/internal/endpoint"
)

// Origins returns the origins whose pages may read answers: "*" alone means all.
func (s *Kit) Origins() []string { return s.origins }

// allowOrigin lets pages of other origins read an answer. With a list of origins the header depends
// on the origin of the request. Then every answer has Vary: Origin, even for a request without an
// origin. Otherwise a cache would use this answer for all origins.
func (s *Kit) allowOrigin(c echo.Context) {
	res := c.Response()
	switch len(s.origins) {
	case 0:
	case 1:
		res.Header()[allowOriginHeader], res.Header()[exposeHeadersHeader] = s.origins, exposed
	default:
		origin := c.Request().Header["Origin"]
		res.Before(func() { // all other parts of Vary are known by then
			res.Header().Add("Vary", "Origin")
			if len(origin) == 1 && slices.Contains(s.origins, origin[0]) {
				res.Header()[allowOriginHeader], res.Header()[exposeHeadersHeader] = origin, exposed
			}
		})
	}
}

// allowResource lets pages of all sites show an answer that they load without CORS, if all origins
// may read it. The policy supports only all sites or none: with a list of origins, pages must use
// CORS.
func (s *Kit) allowResource(h http.Header) {
	if len(s.origins) == 1 && s.origins[0] == "*" {
		h["Cross-Origin-Resource-Policy"] = crossOrigin
	}
}

// preflight answers the CORS preflight request, which browsers send before a cross-origin request
// with additional headers. Pages of any origin may send requests, because writes need a key, which
// no browser sends automatically.
func (s *Kit) preflight(methods string) endpoint.Handler {
	return func(c echo.Context, _ *endpoint.Params) error {
		h := c.Response().Header()
		if s.origins != nil {
			h["Access-Control-Allow-Methods"] = []string{methods}
			h["Access-Control-Allow-Headers"] = []string{"*, Authorization"} // which * is not
			h["Access-Control-Max-Age"] = []string{"86400"}
		}
		h["Allow"] = []string{methods}
		c.Response().WriteHeader(http.StatusNoContent)
		return nil
	}
}
