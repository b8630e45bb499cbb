package web

import (
	"github.com/labstack/echo/v4"

	"quadrille/cmd/tileserver/internal/endpoint"
)

// LinkNext sets the header Link to the address of the next page of a list: the address of the
// request with another value of a parameter, such as the cursor. It is for forms whose body cannot
// contain the address. form is the form's name in the parameter format, so a client that follows the
// link need not send the same Accept header.
func (s *Kit) LinkNext(c echo.Context, parameter, value, form string) {
	r := c.Request()
	base, err := s.BaseURL(r)
	if err != nil {
		base = s.RootPath(r) // a relative address needs no host
	}
	values := r.URL.Query()
	values.Set(parameter, value)
	values.Set("format", form)
	if key := KeyOfQuery(c); key != "" {
		values.Set(endpoint.KeyParameter, key)
	}
	c.Response().Header()["Link"] = NextLink(base + r.URL.EscapedPath() + "?" + values.Encode())
}

// KeyOfQuery returns the key in the query of a request, or "" if there is none. The query that
// handlers read no longer contains it.
func KeyOfQuery(c echo.Context) string {
	key, _ := c.Get(queryKey).(string)
	return key
}

// NextLink returns the value of Link for the address of the next page, as a value for a header map.
func NextLink(address string) []string { return []string{"<" + address + `>; rel="next"`} }
