package web

import (
	"net/http"
	"net/url"

	"github.com/labstack/echo/v4"
)

// moved is the error for a request whose address ends with another spelling of an id.
type moved struct{ id string }

// Error returns a text with the published id.
func (m *moved) Error() string { return "the id is " + m.id }

// IsAt returns nil if an address ends with the published spelling of an id. Otherwise its error
// redirects the client to the address with this spelling and the same query.
func IsAt(asked, published string) error {
	if asked == published {
		return nil
	}
	return &moved{published}
}

// redirect answers with a redirect. The address is relative, so that it is correct behind any
// proxy.
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
