package web

import (
	"net/http"
	"net/url"

	"github.com/labstack/echo/v4"
)

// moved is the error of a handler whose address ends in another spelling of an id.
type moved struct{ id string }

// Error returns a text with the published id.
func (m *moved) Error() string { return "the id is " + m.id }

// IsAt returns nil if an address ends in the published spelling of an id. Otherwise the error
// redirects the client to the address that does, with the same query.
func IsAt(asked, published string) error {
	if asked == published {
		return nil
	}
	return &moved{published}
}

// redirect sends the client on. The address is relative, so that it is right behind any proxy.
func (m *moved) redirect(c echo.Context) {
	to := url.PathEscape(m.id)
	if query := c.Request().URL.RawQuery; query != "" {
		to += "?" + query
	}
	h := c.Response().Header()
	onlySurvivors(h)
	h["Cache-Control"] = NoStore // the next generation may write the id in another way
	h["Location"] = []string{to}
	c.Response().WriteHeader(http.StatusPermanentRedirect)
}
